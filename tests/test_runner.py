"""A run verifies before it times, interleaves, keeps every row, survives interrupts and kills, and resumes."""

import gc
import json
import os
import re
from collections import Counter

import pytest
from clock import Clock
from planned import planned
from toys import Toy
from watchers import Notes

from grailbench.compare import stability
from grailbench.data import imported
from grailbench.errors import CheckFailed, InputError
from grailbench.harness import environment, passes, prepare, runner, session
from grailbench.harness import folder as results
from grailbench.harness.cells import load
from grailbench.harness.folder import read_rows
from grailbench.harness.plan import config_from_flags, make_plan
from grailbench.harness.prepare import plan_of
from grailbench.harness.rows import DISTRIBUTION, FIELDS
from grailbench.harness.runner import run, verify
from grailbench.harness.tasks import cell_key


@pytest.fixture
def measured(toys, diamond, tmp_path):
    """Runs toys on the diamond in tmp_path/run; returns what came of it and the watcher."""

    def measure(*impls, resume=None, action=run, out="run", **block):
        whole = {"datasets": [diamond], "implementations": [f"toy:{i}" for i in impls], "count": 50, "trials": 3}
        plan, notes = planned(whole | block), Notes()
        where = {} if action is verify else {"resume": resume, "out": None if resume else tmp_path / out}
        return action(plan, notes, fetch=False, **where), notes

    return measure


def times(rows, phase="query"):
    return [row for row in rows if row["phase"] == phase and not row["under"]]


def test_a_cell_has_label_and_query_rows_for_every_trial(measured):
    done, notes = measured("right")
    done.check()
    assert read_rows(done.folder)[0] == done.rows == notes.printed
    for phase in ("label", "query"):
        assert [row["trial"] for row in times(done.rows, phase)] == [0, 1, 2]
    assert [(row["phase"], row["under"]) for row in done.rows[:3]] == [("label", ""), ("spoil", "query"), ("query", "")]
    assert notes.steps == notes.total == 1 + 1 + 3


def test_rows_say_everything_about_their_cell(measured):
    done, _ = measured("right", dim=3, trials=1)
    row = done.rows[-1]
    assert set(row) == {*FIELDS, DISTRIBUTION}  # the latter in rows of plug-ins alone, as toys are
    expected = {
        "run": "run", "dataset": "diamond", "kind": "imported", "impl": "toy:right", "dim": 3, "search": None,
        "filters": None, "threads": None, "order": None, "seed": 1, "query_set": "random-50-s1", "trial": 0,
        "planned": 1, "queries": 50, "status": "ok", "verified": "closure", "index_bytes": 8, "vertices": 7,
        "roots": 2, "host_peak_bytes": None, "read_ms": None,
        "counters": {"asked": 50},
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert 0 < row["positives"] < 50
    assert row["ms"] > 0


@pytest.mark.slow
def test_every_cell_is_verified_before_any_is_timed_and_trials_are_interleaved(measured, toys):
    done, _ = measured("right", "other", dim=[2, 5], trials=8, warmup=0)
    cells = {"right 2", "right 5", "other 2"}
    assert set(toys[:3]) == set(toys[3:6]) == cells  # verified, then built once more for the kernels that trials run
    turns = [toys[at : at + 3] for at in range(6, len(toys), 3)]
    assert len(turns) == 8
    assert all(set(turn) == cells for turn in turns)
    assert len(set(map(tuple, turns))) > 1
    assert len(times(done.rows)) == 24


@pytest.mark.parametrize(("warmup", "expected"), [(0, [("toy:right", 1), ("toy:right", 2)]), (1, [])])
def test_kernels_are_loaded_once_before_trials_that_nothing_warms_up(measured, monkeypatch, warmup, expected):
    primed = []
    monkeypatch.setattr(passes, "prime", lambda cell: primed.append((cell.impl, cell.dim)))
    measured("right", queries=["random", "balanced"], dim=[1, 2], warmup=warmup, trials=1)
    assert primed == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("toy", "status", "reason"),
    [
        ("wrong", "wrong", "1 of 50 answers are wrong"),
        ("labels", "wrong", "labels: pair 0"),
        ("crash", "failed", "ZeroDivisionError: by zero"),
        ("memory", "out of memory", "allocation"),
        ("lacks", "skipped", "needs a moon"),
    ],
)
def test_cell_that_cannot_be_verified_has_one_row_with_the_reason_and_no_time(measured, toys, toy, status, reason):
    done, notes = measured(toy, "right")
    (row,) = (row for row in done.rows if row["impl"] == f"toy:{toy}")
    assert (row["status"], row["phase"], row["ms"]) == (status, None, None)
    assert reason in row["reason"]
    assert len(times(done.rows)) == 3
    assert sum(call.startswith(toy) for call in toys) == 1
    assert [trouble[:2] for trouble in notes.troubles] == [(f"toy:{toy}", status)]
    if status in ("wrong", "failed"):
        with pytest.raises(CheckFailed):
            done.check()
    else:
        done.check()


@pytest.mark.slow
def test_answers_to_a_large_graph_are_checked_by_a_sweep_of_which_one_wrong_one_makes_a_cell_wrong(
    measured, large, monkeypatch
):
    done, _ = measured("chains", datasets=[large], count=100_000, trials=1, action=verify)
    assert {(row["status"], row["verified"]) for row in done.rows} == {("ok", "sweep")}
    assert 10_000 < done.rows[-1]["positives"] < 90_000
    monkeypatch.setattr("toys.SPOILED", [99_999])
    done, _ = measured("chains", datasets=[large], count=100_000, trials=1, action=verify)
    assert [row["status"] for row in done.rows] == ["wrong"]
    assert "1 of 100,000 answers are wrong" in done.rows[0]["reason"]


@pytest.mark.slow
def test_answers_that_change_after_verification_make_the_cell_wrong(measured):
    done, _ = measured("fickle", warmup=0, trials=5)
    assert [row["status"] for row in times(done.rows)] == ["ok"]
    assert done.rows[-1]["status"] == "wrong"
    assert "differ from the verified ones" in done.rows[-1]["reason"]
    with pytest.raises(CheckFailed):
        done.check()


def test_graph_that_is_not_there_is_skipped_with_the_remedy(measured):
    done, _ = measured("right", datasets=["uniprotenc_150", "diamond"])
    done.check()
    (row,) = (row for row in done.rows if row["dataset"] == "uniprotenc_150")
    assert row["status"] == "skipped"
    assert "grailbench fetch uniprotenc_150" in row["reason"]


@pytest.mark.slow
def test_time_limit_ends_a_cell_and_keeps_its_trials(measured, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(session, "monotonic", clock.seconds)
    monkeypatch.setattr("time.sleep", clock.sleep)
    monkeypatch.setattr("toys.PAUSE_SECONDS", 100.0)
    done, _ = measured("slow", "right", warmup=0, trials=20, time_limit=800.0)
    slow, right = ([row for row in done.rows if row["impl"] == f"toy:{name}"] for name in ("slow", "right"))
    assert [row["trial"] for row in times(slow)] == [*range(7)]  # the pass that is verified takes its share
    assert slow[-1]["status"] == "timeout"
    assert [row["trial"] for row in times(right)] == [*range(20)]


def test_from_edges_times_ready_and_its_parts(measured):
    done, _ = measured("right", from_edges=True, trials=2)
    parts = Counter((row["phase"], row["under"]) for row in done.rows)
    assert parts["ready", ""] == parts["condense", "ready"] == parts["label", "ready"] == 2
    assert done.rows[-1]["phase"] == "query"


def test_garbage_collection_rests_while_phases_are_timed(measured, monkeypatch):
    seen = []
    monkeypatch.setattr(Toy, "index_bytes", 8)
    real = Toy.query_batch
    monkeypatch.setattr(Toy, "query_batch", lambda *args: seen.append(gc.isenabled()) or real(*args))
    measured("right", warmup=0, trials=2)
    assert seen == [True, True, False, False]  # the first two: the verification, the compiling of what trials run
    assert gc.isenabled()


def test_out_folder_with_a_run_is_refused_without_resume(measured):
    measured("right")
    with pytest.raises(InputError, match="contains a run already"):
        measured("right")


@pytest.mark.parametrize("name", ["environment.json", "errors.txt"])
def test_a_file_of_the_user_in_the_out_folder_is_not_replaced(measured, tmp_path, name):
    """The environment was."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text('{"mine": 1}')
    with pytest.raises(InputError, match=f"{name}: was not written by grailbench, and is not replaced"):
        measured("right")
    assert {path.name: path.read_text() for path in (tmp_path / "run").iterdir()} == {name: '{"mine": 1}'}


def test_a_run_whose_graph_is_another_now_is_measured_again(measured, tmp_path):
    """Rows of the graph before are no answer to what is asked of this one."""
    path, trials = tmp_path / "changing.edges", {}
    for number, text in enumerate(("0 1\n1 2\n", "0 1\n2 1\n")):
        path.write_text(text)
        os.utime(path, (1, 1))
        imported.import_graph(path, "changing", replace=True)
        resume = tmp_path / "run" if number else None
        done, _ = measured("right", datasets=["changing"], resume=resume)
        trials[number] = {(row["graph_sha256"], row["trial"]) for row in done.rows if row["trial"] is not None}
    assert (len(trials[0]), len(trials[1])) == (3, 3)
    assert not trials[0] & trials[1]


def test_resume_does_only_what_is_missing(measured, toys):
    done, _ = measured("right", "other", trials=2)
    before = files(done.folder)
    toys.clear()
    again, notes = measured("right", "other", trials=2, resume=done.folder)
    assert toys == []
    assert again.rows == done.rows
    assert notes.steps == notes.total
    assert any(note.startswith("already complete") for note in notes.notes)
    assert files(done.folder) == before
    more, notes = measured("right", "other", trials=5, resume=done.folder)
    assert results.read_json(done.folder / results.PLAN)["config"]["experiment"][0]["trials"] == 5
    assert not any("already complete" in note for note in notes.notes)
    for impl in ("toy:right", "toy:other"):
        assert [row["trial"] for row in times(more.rows) if row["impl"] == impl] == [0, 1, 2, 3, 4]


def files(folder):
    """Name to content and time of change."""
    return {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in folder.iterdir()}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trials": 2}, "trials: 3 in the run, 2 asked"),
        ({"count": 7, "trials": 1}, "count: 50 in the run, 7 asked"),
        ({"time_limit": 3.0}, "time-limit: none in the run, 3.0 asked"),
        ({"dim": (2, 3)}, "dim: 2 in the run, 2 3 asked"),
        ({"implementations": ("toy:right", "toy:other")}, "impl: toy:right in the run, toy:right toy:other asked"),
    ],
)
def test_resume_with_other_options_is_refused_and_changes_nothing(measured, toys, options, said):
    done, _ = measured("right", trials=3)
    before = files(done.folder)
    toys.clear()
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        run(plan_of(options, str(done.folder))[0], Notes(), fetch=False, resume=done.folder)
    assert caught.value.exit_code == 2
    assert "--resume without these options goes on with it" in str(caught.value)
    assert toys == []
    assert files(done.folder) == before


def test_resume_repairs_a_torn_trial_and_takes_it_again(measured):
    done, _ = measured("right", trials=3)
    path = done.folder / results.ROWS
    path.write_bytes(path.read_bytes()[:-30])
    again, notes = measured("right", trials=3, resume=done.folder)
    assert [row["trial"] for row in times(again.rows)] == [0, 1, 2]
    assert any("cut short" in note for note in notes.notes)


@pytest.mark.slow
def test_resume_tries_failures_again_but_not_wrong_cells(measured, toys):
    done, _ = measured("crash", "wrong")
    toys.clear()
    measured("crash", "wrong", resume=done.folder)
    assert toys == ["crash 2"]


def test_resume_with_other_code_measures_anew_and_keeps_both_environments(measured, monkeypatch):
    done, _ = measured("right", trials=2)
    monkeypatch.setattr(environment, "code_version", lambda: "0.0+other")
    again, notes = measured("right", trials=2, resume=done.folder)
    assert {row["key"] for row in again.rows}.isdisjoint(row["key"] for row in done.rows)
    assert len(times(again.rows)) == 2
    assert any("measured again" in note for note in notes.notes)
    assert len(json.loads((done.folder / results.ENVIRONMENT).read_text())["earlier"]) == 1


def test_key_moves_with_configuration_graph_code_and_machine(toys, diamond):
    def key(sha="a", env=None, **block):
        block = {"datasets": [diamond], "implementations": ["toy:right"]} | block
        (cell,) = planned(block).cells
        return cell_key(cell, sha, {"code": "c", "fingerprint": "f"} | (env or {}))

    changed = [key(sha="b"), key(env={"code": "d"}), key(env={"fingerprint": "g"}), key(dim=3), key(seed=2)]
    changed += [key(count=9), key(queries="balanced"), key(from_edges=True)]
    assert len({key(), *changed}) == 1 + len(changed)
    assert key(trials=4) == key(warmup=9) == key(time_limit=3) == key()


def test_verify_gives_one_row_a_cell_and_writes_nothing(measured, tmp_path):
    done, _ = measured("right", "wrong", "crash", action=verify)
    found = {(row["impl"], row["status"], row["phase"], row["ms"]) for row in done.rows}
    assert found == {
        ("toy:right", "ok", None, None),
        ("toy:wrong", "wrong", None, None),
        ("toy:crash", "failed", None, None),
    }
    assert len(done.rows) == 3
    assert not (tmp_path / "run").exists()
    with pytest.raises(CheckFailed):
        done.check()


def test_bad_query_file_ends_the_run_with_file_and_line(measured, tmp_path):
    (tmp_path / "pairs.txt").write_text("0 3 1\n3 0 1\n")
    with pytest.raises(InputError, match=r"pairs.txt, line 2: the answer 1 to 3 0 is wrong"):
        measured("right", queries=str(tmp_path / "pairs.txt"))


def test_every_session_of_a_resumed_run_counts_in_its_verdict(measured, monkeypatch):
    """A first session under load was dropped by --resume on the same machine, and the verdict 'UNSTABLE' with it."""
    monkeypatch.setattr(environment.os, "getloadavg", lambda: (640.0, 640.0, 640.0))
    monkeypatch.setattr(environment, "usable_cores", lambda: 8)
    monkeypatch.setattr(environment.load, "now", lambda: None)  # as where it is not known
    monkeypatch.setattr(session.Others, "read", lambda self: None)
    done, _ = measured("right", trials=2)
    monkeypatch.setattr(environment.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    for trials in (3, 4):
        again, _ = measured("right", trials=trials, resume=done.folder)
    run = load(done.folder)
    assert [each["load_average"][0] for each in run.environment["earlier"]] == [640.0, 0.0]
    assert environment.loads(run.environment) == ["load average 640.0 on 8 cores"]
    for found in (run.cells[0], again.by_machine[0][1][0]):
        assert found.load == "load average 640.0 on 8 cores"
        assert stability.verdict(found).rules == ("load",)


def test_the_work_of_others_while_a_cell_is_timed_decides_and_not_what_came_before(measured, monkeypatch):
    """With a load average of 1.5 of its own on two cores, the harness called every cell of its runs unstable."""
    monkeypatch.setattr(environment.os, "getloadavg", lambda: (640.0, 640.0, 640.0))
    monkeypatch.setattr(environment, "usable_cores", lambda: 8)
    for name, others, said in (("a", 0.7, ""), ("b", 1.26, "other work took 1.3 of 8 cores")):
        monkeypatch.setattr(session.Others, "read", lambda self, others=others: others)
        done, _ = measured("right", trials=2, out=name)
        assert {row["others"] for row in done.rows if row["ms"] is not None} == {others}
        assert done.cells[0].load == said


def test_plan_of_a_resumed_run_is_its_own_with_the_flags_given(measured, monkeypatch):
    done, _ = measured("right", trials=2)
    plan, folder = plan_of({"trials": 7, "datasets": (), "sets": (), "config": None}, str(done.folder))
    assert folder == done.folder
    assert [(cell.impl, cell.trials) for cell in plan.cells] == [("toy:right", 7)]
    monkeypatch.setattr(runner.results.paths, "runs_dir", lambda: done.folder.parent)
    assert plan_of({"trials": None}, "")[1] == done.folder
    with pytest.raises(InputError, match="two folders"):
        plan_of({}, "a", "b")
    with pytest.raises(InputError, match="nothing to run"):
        plan_of({"implementations": ("dfs",)})


def test_missing_graph_is_replaced_by_its_look_alike_under_its_own_name(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path))  # other tests may have fetched kegg into the session's
    monkeypatch.setattr(prepare, "_fetch", lambda names, note: note(f"tried {names}"))
    monkeypatch.setattr(prepare, "look_alike_of", lambda name: f"{name}-like")
    said = []
    like = make_plan(config_from_flags(datasets=("kegg",), fallback="like"))
    plain = make_plan(config_from_flags(datasets=("kegg",)))
    provided = prepare.provide(like, True, said.append)
    assert {(cell.dataset, cell.stands_for) for cell in provided.cells} == {("kegg-like", "kegg")}
    assert said[0] == "tried ['kegg']"
    assert "kegg" in said[1]
    assert "look-alikes" in said[1]
    assert {cell.dataset for cell in prepare.provide(plain, False, said.append).cells} == {"kegg"}
