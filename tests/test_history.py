"""Histories: planted steps are found at their run, noise has none, unlike machines are never joined."""

import json
from pathlib import Path

import numpy as np
import pytest
from commands import call
from compared import HERE, THERE, cell, steady, writer
from stored import HOSTILE

from grailbench.compare.gate import Gate
from grailbench.harness.cells import Run, read
from grailbench.harness.changes import LEAST, Change, divergences, e_divisive
from grailbench.report import draw, history, series
from grailbench.report.series import E_DIVISIVE, RULE, time_steps


@pytest.fixture
def stored(tmp_path):
    return writer(tmp_path)


def at(day):
    return f"2026-01-{day + 1:02d}T00:00:00"


def made(medians, seed=0, machine=HERE, commits=None, **other):
    """A run for each median, with twenty trials of a noise of 2 %."""
    runs = []
    for i, ms in enumerate(medians):
        rows = cell(ms=steady(ms, (seed, i)), at=at(i), **other)
        commit = f"{i:040x}" if commits is None else commits[i]
        runs.append(Run(Path(f"r{i:02d}"), {"fingerprint": machine, "commit": commit}, rows))
    return runs


def noise(runs, seed, sd=0.03):
    return 10.0 * np.exp(sd * np.random.default_rng((seed, runs)).normal(size=runs))


def found(medians, seed=0):
    (one,) = history.of_runs(made(medians, seed)).history.series
    return time_steps(one, "query", Gate())


# ------------------------------------------------------------------ E-divisive


def test_the_scores_are_the_energy_distances_of_the_two_parts():
    x = np.random.default_rng(1).normal(size=9)
    apart = np.abs(x[:, None] - x[None, :])
    (scores,) = divergences(apart[None])
    for place, score in enumerate(scores):
        a, b = x[: place + LEAST], x[place + LEAST :]
        between = 2 * np.abs(a[:, None] - b).mean()
        within = [np.abs(p[:, None] - p).sum() / (p.size * (p.size - 1)) for p in (a, b)]
        assert score == pytest.approx((between - sum(within)) * a.size * b.size / 9)


def test_steps_are_found_where_they_are_and_noise_has_none():
    draw_ = np.random.default_rng(3)
    alarms = sum(bool(e_divisive(draw_.normal(size=20))) for _ in range(60))
    assert alarms <= 4  # level 0.01: more than 4 of 60 is one case in 2,500
    x = np.r_[np.zeros(9), np.full(8, 3.0), np.full(10, -2.0)] + 0.3 * draw_.normal(size=27)
    assert [each.at for each in e_divisive(x)] == [9, 17]
    assert e_divisive(x) == e_divisive(x)
    assert (e_divisive([]), e_divisive([1.0] * 30)) == ([], [])
    with pytest.raises(ValueError, match="finite"):
        e_divisive([1.0, np.nan])


# ------------------------------------------------------------------ steps of times


@pytest.mark.parametrize(("runs", "place", "how"), [(2, 1, RULE), (6, 3, RULE), (20, 12, E_DIVISIVE), (20, 19, RULE)])
def test_a_planted_step_is_found_at_its_run(runs, place, how):
    hits = []
    for seed in range(8):
        medians = noise(runs, seed, 0.01)
        medians[place:] *= 1.4
        hits += [(step.after.name, step.how, step.verdict) for step in found(medians, seed)]
    assert hits == [(f"r{place:02d}", how, "regression")] * 8


def test_a_step_has_its_ratio_with_an_interval_and_a_p_value():
    medians = noise(20, 1, 0.01)
    medians[8:] *= 0.5
    (step,) = found(medians)
    assert step.verdict == "improvement"
    assert step.bounds.low < step.ratio < step.bounds.high
    assert step.ratio == pytest.approx(0.5, abs=0.02)
    assert step.p <= 0.01


def test_a_step_whose_interval_has_1_in_it_is_none(monkeypatch):
    """'SLOWER' stood beside an interval with 1 in it."""
    medians = [10.0] * 10 + [8.0, 16.0] * 5
    monkeypatch.setattr(series, "e_divisive", lambda values: [Change(10, 0.01)])
    assert not [step for step in found(medians) if step.how == E_DIVISIVE]
    (step,) = found([10.0] * 10 + [14.0, 16.0] * 5)
    assert (step.how, step.bounds.low > 1) == (E_DIVISIVE, True)


def test_noise_of_three_per_cent_between_runs_hardly_ever_makes_a_step():
    """docs/measuring.md has the rates: none in 300 histories of 12 runs or more, about 5 % with fewer."""
    assert sum(bool(found(noise(20, seed), seed)) for seed in range(20)) <= 1
    assert sum(bool(found(noise(6, seed), seed)) for seed in range(40)) <= 5


def test_a_single_run_that_is_off_is_no_step():
    assert found([10.0, 10.0, 15.0, 10.1, 10.0]) == []
    assert found([10.0, 10.0, 15.0, 15.1, 15.0])[0].after.name == "r02"


def test_changes_within_the_gate_are_no_steps():
    assert found([10.0] * 10 + [10.7] * 10) == []
    assert found([10.0] * 10 + [10.7] * 5 + [11.9] + [10.7] * 5) == []


def test_the_larger_of_two_steps_comes_first():
    runs = [*made([10.0, 10.0]), *made([10.0, 10.0])]
    rows = [[*cell(ms=steady(ms, i), at=at(i)), *cell("dfs", steady(2 * other, i), at=at(i))]
            for i, (ms, other) in enumerate([(10.0, 10.0), (15.0, 30.0)])]  # fmt: skip
    told = history.of_runs([Run(runs[i].folder, runs[i].environment, rows[i]) for i in range(2)])
    assert [step.series.name for step in told.steps] == ["dfs d=2 dfs", "sequential d=2 dfs"]


# ------------------------------------------------------------------ what makes a series


def test_unlike_machines_and_mixed_runs_are_never_one_series():
    here, there = made([10.0, 10.0]), made([20.0, 20.0], machine=THERE)
    lone, unknown = made([30.0], machine="c" * 16), made([30.0], machine=None)
    mixed = made([40.0])[0]
    mixed = Run(mixed.folder, {**mixed.environment, "earlier": [{"fingerprint": THERE}]}, mixed.rows)
    told = history.of_runs([*here, *there, *lone, *unknown, mixed])
    assert [len(machine.runs) for machine in told.history.machines] == [2, 2]
    assert told.steps == []
    reasons = [reason for _, reason in told.history.apart]
    assert sorted(reasons) == [
        "does not say on which machine it was measured", "is the only one of its machine",
        "was measured on more than one machine",
    ]  # fmt: skip


def test_runs_are_in_the_order_in_which_they_began():
    runs = made([10.0, 10.0, 10.0, 20.0, 20.0])
    steps = history.of_runs([runs[i] for i in (4, 0, 3, 1, 2)]).steps
    assert [(s.before.name, s.after.name) for s in steps if s.kind == "time"] == [("r02", "r03")]


def test_a_commit_measured_twice_is_not_blamed():
    told = history.of_runs(made([10.0, 20.0], commits=["a" * 40] * 2))
    table = history.steps_table(told)
    assert table.lines[0][table.headers.index("between")] == "aaaaaaa, twice"
    assert "one commit" in table.notes[0]


def test_cells_that_runs_lack_are_compared_over_the_gap_and_other_graphs_are_other_cells():
    runs = made([10.0, 10.0, 10.0, 30.0])
    runs[1] = Run(runs[1].folder, runs[1].environment, cell("dfs", at=at(1)))
    (step,) = [each for each in history.of_runs(runs).steps if each.kind == "time"]
    assert (step.before.name, step.after.name) == ("r02", "r03")
    runs[3] = made([10.0] * 3 + [30.0], graph_sha256="another")[3]
    assert [step for step in history.of_runs(runs).steps if step.kind == "time"] == []


def test_counters_lost_cells_and_other_answers_are_steps_exactly():
    runs = made([10.0] * 5)
    rows = [cell(at=at(i), **({} if i < 2 else {"counters": {"edges_scanned": 900}})) for i in range(5)]
    rows[3], rows[4] = cell(status="timeout", at=at(3)), cell(at=at(4), checksum="other")
    told = history.of_runs([Run(run.folder, run.environment, own) for run, own in zip(runs, rows, strict=True)])
    shown = [(step.kind, step.what, step.verdict, step.after.name) for step in told.steps]
    assert shown == [
        ("status", "status", "regression", "r03"), ("counters", "excluded_by_labels", "regression", "r02"),
        ("status", "status", "improvement", "r04"), ("counters", "edges_scanned", "improvement", "r02"),
    ]  # fmt: skip
    only = history.of_runs(made([10.0, 30.0]), kinds=["counters"])
    assert only.steps == []


@pytest.mark.parametrize(("impl", "steps"), [("near-far", []), ("coarsened-2", ["rounds"])])
def test_a_counter_that_the_timing_of_threads_changes_makes_no_step(impl, steps):
    runs = made([10.0] * 3)
    rows = [cell(impl, at=at(i), problem="sssp", counters={"launches": 16, "rounds": 200 + (i == 2)}) for i in range(3)]
    told = history.of_runs([Run(run.folder, run.environment, own) for run, own in zip(runs, rows, strict=True)])
    assert [step.what for step in told.steps] == steps


# ------------------------------------------------------------------ the command, tables, figure and page


@pytest.fixture
def runs(stored):
    """Four runs with a step, a lost cell, and names that try to be markup."""
    return [
        stored(f"run{i}", cell(ms=steady(10.0 if i < 2 else 20.0, i), at=at(i)),
               cell(HOSTILE, steady(5.0, i), at=at(i)),
               cell("dfs", at=at(i), status="ok" if i < 3 else "timeout"), commit=f"{i}" * 40)
        for i in range(4)
    ]  # fmt: skip


def test_the_command_tells_the_worst_first_and_never_fails_for_a_step(capsys, runs):
    code, out, _ = call(capsys, "history", *reversed(runs), "--json")
    *steps, last = map(json.loads, out.splitlines())
    assert (last["runs"], last["cells"], last["steps"]) == ([f"run{i}" for i in range(4)], 3, 2)
    assert (code, [step["verdict"] for step in steps]) == (0, ["regression"] * 2)
    assert [(each["what"], each["before_commit"][:1], each["after_commit"][:1]) for each in steps] == [
        ("status", "2", "3"), ("query", "1", "2"),
    ]  # fmt: skip
    code, out, _ = call(capsys, "history", *runs, runs[0])
    assert (code, "1 SLOWER" in out, "4 runs" in out, "1 cell without a step" in out) == (0, True, True, True)


@pytest.mark.parametrize(
    ("flags", "steps"),
    [
        (["--impl", "sequential"], 1), (["--cell", "d=2 sequential"], 1), (["--cell", "d=9"], None),
        (["--dataset", "kegg"], 2), (["--dataset", "human"], None), (["--metric", "status"], 1),
        (["--phase", "label"], 1),
    ],
)  # fmt: skip
def test_filters_choose_cells_and_kinds_of_steps(capsys, runs, flags, steps):
    code, out, err = call(capsys, "history", *runs, "--json", *flags)
    found = [each for each in map(json.loads, out.splitlines()) if "verdict" in each]
    assert (code, len(found)) == ((3, 0) if steps is None else (0, steps)), err


def test_figures_data_and_page_are_written_and_names_never_become_markup(capsys, runs, tmp_path):
    out = tmp_path / "out"
    assert call(capsys, "history", *runs, "--out", out, "--html")[0] == 0
    files = sorted(path.name for path in out.iterdir())
    assert files == ["history.csv", "history.html", "history.png", "history.svg", "steps.csv"]
    page = (out / "history.html").read_text()
    assert HOSTILE not in page
    assert "SLOWER" in page
    before = {name: (out / name).read_bytes() for name in files}
    assert call(capsys, "history", *runs[::-1], "--out", out, "--html")[0] == 0
    assert before == {name: (out / name).read_bytes() for name in files}
    _, text, _ = call(capsys, "history", *runs, "--format", "markdown")
    assert text.startswith("# History\n")


def test_bad_input_and_nothing_to_compare(capsys, runs, tmp_path, monkeypatch):
    assert call(capsys, "history", tmp_path / "none")[0] == 2
    code, _, err = call(capsys, "history", runs[0])
    assert (code, "is the only one of its machine" in err) == (3, True)
    assert call(capsys, "history", *runs, "--html=run")[0] == 2
    monkeypatch.setattr("grailbench.util.paths.runs_dir", lambda: tmp_path / "empty")
    assert call(capsys, "history")[0] == 3


def test_without_names_all_stored_runs_are_taken_and_damaged_ones_told(capsys, runs, tmp_path, monkeypatch):
    monkeypatch.setattr("grailbench.util.paths.runs_dir", lambda: tmp_path)
    (runs[1] / "environment.json").write_text("{")
    code, out, err = call(capsys, "history")
    assert (code, "3 runs" in out, "left out: " in err) == (0, True, True)


def test_blocks_are_those_of_a_page_whatever_the_runs(runs):
    kinds = [kind for kind, _ in history.blocks(map(read, runs))]
    assert kinds == ["lines", "table", "data", "figure", "table"]
    assert [kind for kind, _ in history.blocks([])] == ["text"]
    (figure,) = history.figures(history.of_runs(map(read, runs)))
    assert draw.svg(figure).count("<svg") >= 1
