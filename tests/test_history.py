"""Histories: changes are marked at their run, noise and repeated runs are not, unlike machines are never joined."""

import json
from pathlib import Path

import pytest
from commands import call
from compared import HERE, THERE, cell, steady, writer
from stored import HOSTILE

from grailbench.compare import history
from grailbench.harness.cells import Run
from grailbench.report.history import tables


def at(day):
    return f"2026-01-{day + 1:02d}T00:00:00"


def made(medians, seed=0, machine=HERE, commits=None, **other):
    """A run for each median, with twenty trials of a noise of 2 %."""
    runs = []
    for i, ms in enumerate(medians):
        rows = cell(ms=steady(ms, (seed, i)), at=at(i), **other)
        commit = f"{i:040x}" if commits is None else commits[i] * 40
        runs.append(Run(Path(f"r{i:02d}"), {"fingerprint": machine, "commit": commit}, rows))
    return runs


def of_rows(*rows):
    """The history of runs of these rows, of one machine and a commit each."""
    runs = made([10.0] * len(rows))
    return history.of_runs([Run(run.folder, run.environment, own) for run, own in zip(runs, rows, strict=True)])


def marked(runs):
    return [(mark.after.found[0][0].name, mark.verdict) for mark in history.of_runs(runs).marks if mark.kind == "time"]


# ------------------------------------------------------------------ times


def test_a_change_is_marked_at_its_run_with_an_interval():
    (mark,) = history.of_runs(made([10.0, 10.1, 5.0, 5.05])).marks
    assert (mark.after.found[0][0].name, mark.verdict) == ("r02", "improvement")
    assert marked(made([10.0, 10.3, 9.8, 10.7, 10.0])) == [], "within the gate"
    assert mark.ratio == pytest.approx(0.5, abs=0.02)
    assert mark.interval.low < mark.ratio < mark.interval.high < 1


def test_runs_are_in_the_order_in_which_they_began_and_the_worst_is_first():
    runs = made([10.0, 10.0, 15.0, 15.0, 45.0])
    assert marked([runs[i] for i in (4, 0, 3, 1, 2)]) == [("r04", "regression"), ("r02", "regression")]


def test_runs_of_one_commit_are_one_point_with_its_spread():
    found = history.of_runs(made([10.0, 20.0, 11.0, 12.0], commits="aabb"))
    (series,) = found.series
    first, second = series.timed("query")
    assert [len(point.found) for point, _ in (first, second)] == [2, 2]
    assert first[0].spread("query") == pytest.approx((10.0, 20.0), rel=0.02)
    assert first[1] == pytest.approx(15.0, rel=0.02)
    assert found.marks == [], "12 is within what the first commit took"
    assert marked(made([10.0, 11.0, 20.0, 24.0], commits="aabb")) == [("r02", "regression")]


def test_cells_that_runs_lack_are_compared_over_the_gap_and_other_graphs_are_other_cells():
    runs = made([10.0, 10.0, 10.0, 30.0])
    runs[1] = Run(runs[1].folder, runs[1].environment, cell("dfs", at=at(1)))
    assert marked(runs) == [("r03", "regression")]
    assert marked([*runs[:3], *made([10.0] * 3 + [30.0], graph_sha256="another")[3:]]) == []


# ------------------------------------------------------------------ machines, counters, lost cells


def test_unlike_machines_and_mixed_runs_are_never_one_series():
    here, there = made([10.0, 10.0]), made([20.0, 20.0], machine=THERE)
    lone, unknown = made([30.0], machine="c" * 16), made([30.0], machine=None)
    mixed = made([40.0])[0]
    mixed = Run(mixed.folder, {**mixed.environment, "earlier": [{"fingerprint": THERE}]}, mixed.rows)
    found = history.of_runs([*here, *there, *lone, *unknown, mixed])
    assert [len(machine.runs) for machine in found.machines] == [2, 2]
    assert found.marks == []
    assert sorted(reason for _, reason in found.excluded) == [
        "does not say on which machine it was measured", "is the only one of its machine",
        "was measured on more than one machine",
    ]  # fmt: skip


def test_counters_lost_cells_and_other_answers_are_marked():
    less = {"counters": {"edges_scanned": 900}}  # excluded_by_labels is counted no more, which is no change of a cell
    found = of_rows(cell(at=at(0)), cell(at=at(1)), cell(at=at(2), **less), cell(status="timeout", at=at(3)),
                    cell(at=at(4), **less), cell(at=at(5), checksum="other", **less))  # fmt: skip
    assert [(mark.kind, mark.what, mark.verdict, mark.after.found[0][0].name) for mark in found.marks] == [
        ("status", "answers", "regression", "r05"), ("status", "status", "regression", "r03"),
        ("status", "status", "improvement", "r04"), ("counters", "edges_scanned", "improvement", "r02"),
    ]  # fmt: skip
    assert history.of_runs(made([10.0, 30.0]), kinds=["counters"]).marks == []


# ------------------------------------------------------------------ the command, tables, figure and page


@pytest.fixture
def runs(tmp_path):
    """Four runs with a slower cell, a lost one, and names that try to be markup."""
    return [
        writer(tmp_path)(
            f"run{i}", cell(ms=steady(10.0 if i < 2 else 20.0, i), at=at(i)), cell(HOSTILE, steady(5.0, i), at=at(i)),
            cell("dfs", at=at(i), status="ok" if i < 3 else "timeout"), commit=f"{i}" * 40)
        for i in range(4)
    ]  # fmt: skip


def test_medians_changes_and_ratios_of_unstable_times_or_too_few_trials_are_marked():
    """Of three runs the times of the middle one drift, as nothing marked them."""
    drifting = [cell(ms=[40.0] * 10 + [60.0] * 10, at=at(1))]
    found = of_rows(cell(ms=steady(10.0, 1), at=at(0)), *drifting, cell(ms=steady(10.0, 2), at=at(2)))
    marks, cells, _ = tables(found)
    column = cells.headers.index("median ms")
    assert ["†" in line[column] for line in cells.lines] == [False, True, False]
    sides = [tuple("†" in line[marks.headers.index(name)] for name in ("before", "after", "ratio"))
             for line in marks.lines]  # fmt: skip
    assert {*sides} == {(False, True, True), (True, False, True)}
    assert cells.notes[-1].startswith("†")
    few = of_rows(cell(ms=steady(10.0, 1), at=at(0)), cell(ms=steady(10.0, 2, trials=3), at=at(1)))
    assert [line[column][-1] == "‡" for line in tables(few)[0].lines] == [False, True]


def test_the_command_lists_the_worst_first_and_each_cell_and_never_fails_for_a_mark(capsys, runs):
    code, out, _ = call(capsys, "history", *reversed(runs), "--json")
    records = list(map(json.loads, out.splitlines()))
    marks = [each for each in records if "verdict" in each]
    assert (code, [each["verdict"] for each in marks]) == (0, ["regression"] * 2)
    assert [(each["what"], each["before_code"][:1], each["after_code"][:1]) for each in marks] == [
        ("status", "2", "3"), ("query", "1", "2"),
    ]  # fmt: skip
    medians = [each["median"] for each in records if each["kind"] == "point" and each["configuration"][:3] == "seq"]
    assert medians == pytest.approx([10.0, 10.0, 20.0, 20.0], rel=0.02)
    last = records[-1]
    assert (last["runs"], last["cells"], last["marks"]) == ([f"run{i}" for i in range(4)], 3, 2)
    code, out, _ = call(capsys, "history", *runs, runs[0])
    assert (code, "1 SLOWER" in out, "4 runs" in out, "1 cell without a mark" in out) == (0, True, True, True)
    assert "SLOWER: 1.9" in out


@pytest.mark.parametrize(
    ("flags", "marks"),
    [
        (["--impl", "sequential"], 1), (["--cell", "d=2 sequential"], 1), (["--dataset", "human"], None),
        (["--metric", "status"], 1), (["--phase", "label"], 1),
    ],
)  # fmt: skip
def test_filters_choose_cells_and_kinds_of_marks(capsys, runs, flags, marks):
    code, out, err = call(capsys, "history", *runs, "--json", *flags)
    found = [each for each in map(json.loads, out.splitlines()) if "verdict" in each]
    assert (code, len(found)) == ((3, 0) if marks is None else (0, marks)), err


@pytest.mark.slow
def test_figures_data_and_page_are_written_and_names_never_become_markup(capsys, runs, tmp_path):
    out = tmp_path / "out"
    assert call(capsys, "history", *runs, "--out", out, "--html")[0] == 0
    files = sorted(path.name for path in out.iterdir())
    assert files == ["history.csv", "history.html", "history.png", "history.svg", "marks.csv"]
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


def test_without_names_all_stored_runs_are_taken_and_damaged_ones_named(capsys, runs, tmp_path, monkeypatch):
    monkeypatch.setattr("grailbench.util.paths.runs_dir", lambda: tmp_path)
    (runs[1] / "environment.json").write_text("{")
    code, out, err = call(capsys, "history")
    assert (code, "3 runs" in out, "left out: " in err) == (0, True, True)
