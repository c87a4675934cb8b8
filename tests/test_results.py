"""Rows survive kills: whole trials stay, torn ones go, and the newest word on a cell counts."""

import json
import os

import pytest

from grailbench.bench import results
from grailbench.bench.results import FIELDS, Writer, current, find_run, finished, load_run, read_rows, repair
from grailbench.errors import InputError


def row(phase="query", trial=0, key="k", status="ok", under="", **more):
    base = dict.fromkeys(FIELDS) | {"phase": phase, "trial": trial, "key": key, "status": status, "under": under}
    return base | {"dataset": "kegg", "impl": "dfs", "ms": 1.5} | more


def trial(number=0, key="k", **more):
    return [
        row("build", number, key, under="label", **more),
        row("label", number, key, **more),
        row(trial=number, key=key, **more),
    ]


@pytest.fixture
def run(tmp_path):
    writer = Writer(tmp_path)
    writer.append(trial(0))
    writer.append(trial(1))
    writer.close()
    (tmp_path / results.ENVIRONMENT).write_text("{}")
    return tmp_path


def test_rows_come_back_as_they_were_written(run):
    assert read_rows(run) == (trial(0) + trial(1), results.Damage())


def test_a_trial_is_one_write(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(results.os, "write", lambda file, text: written.append(text) or len(text))
    writer = Writer(tmp_path)
    writer.append(trial(0))
    assert [text.count(b"\n") for text in written] == [3]


def test_every_cut_of_the_file_leaves_whole_trials_only(run):
    path = run / results.ROWS
    content = path.read_bytes()
    first = len("".join(json.dumps(r) + "\n" for r in trial(0)))
    for cut in {first, *range(0, len(content), 13)}:
        path.write_bytes(content[:cut])
        rows, damage = read_rows(run)
        assert rows == (trial(0) if cut >= first else [])
        assert (damage.torn or damage.rows > 0) == (cut not in (0, first))


def test_repair_rewrites_the_file_once_and_appending_goes_on(run):
    path = run / results.ROWS
    path.write_bytes(path.read_bytes()[:-40])
    rows, damage = repair(run)
    assert damage == results.Damage(torn=True, rows=2)
    writer = Writer(run)
    writer.append(trial(1))
    writer.close()
    assert read_rows(run) == (trial(0) + trial(1), results.Damage())
    assert rows == trial(0)
    assert [p.name for p in run.iterdir() if p.name.endswith(".tmp")] == []


def test_repair_leaves_a_whole_file_alone(run):
    before = os.stat(run / results.ROWS)
    repair(run)
    assert os.stat(run / results.ROWS).st_ino == before.st_ino


def test_a_broken_line_in_the_middle_is_an_error_at_its_line(run):
    lines = (run / results.ROWS).read_text().splitlines(keepends=True)
    (run / results.ROWS).write_text("".join([*lines[:2], "{oops\n", *lines[2:]]))
    with pytest.raises(InputError, match="no measurement row") as caught:
        read_rows(run)
    assert caught.value.line == 3


def test_full_disk_leaves_no_torn_trial(run, monkeypatch):
    writer, real = Writer(run), os.write
    monkeypatch.setattr(results.os, "write", lambda file, text: real(file, text[:30]))
    with pytest.raises(OSError, match="only 30 of"):
        writer.append(trial(2))
    assert read_rows(run) == (trial(0) + trial(1), results.Damage())


def test_a_row_without_a_phase_is_whole_by_itself(tmp_path):
    writer = Writer(tmp_path)
    writer.append([row(None, None, status="failed")])
    assert len(read_rows(tmp_path)[0]) == 1


def test_two_processes_never_write_one_run(run):
    with results.only_writer(run), pytest.raises(InputError, match="another process"), results.only_writer(run):
        pass
    with results.only_writer(run):
        pass


def test_only_ok_trials_of_a_key_are_finished():
    rows = [*trial(0), *trial(1), *trial(0, "other"), row(None, None, "bad", "wrong")]
    assert finished(rows) == {"k": 2, "other": 1}
    assert results.settled(rows) == {"bad"}


def test_newer_key_of_a_cell_replaces_the_older():
    assert current(trial(0, "old") + trial(1, "old") + trial(0, "new")) == trial(0, "new")


def test_failure_is_forgotten_once_the_cell_was_measured_but_not_before():
    failure = row(None, None, status="failed")
    assert current([failure, *trial(0)]) == trial(0)
    assert current([*trial(0), failure]) == [*trial(0), failure]


def test_cells_that_differ_in_an_axis_stand_side_by_side():
    rows = [*trial(0, "a", dim=2), *trial(0, "b", dim=5)]
    assert current(rows) == rows


def test_load_run_gives_a_frame_with_every_field_and_the_environment(run):
    (run / results.ENVIRONMENT).write_text('{"cpu": "an abacus"}')
    frame, environment = load_run(run)
    assert list(frame.columns) == list(FIELDS)
    assert len(frame) == 6
    assert frame["ms"].sum() == 9.0
    assert environment == {"cpu": "an abacus"}


def test_load_run_reads_a_torn_run_without_touching_it(run):
    path = run / results.ROWS
    path.write_bytes(path.read_bytes()[:-5])
    torn = path.read_bytes()
    assert len(load_run(run)[0]) == 3
    assert path.read_bytes() == torn


@pytest.fixture
def stored(tmp_path, monkeypatch):
    monkeypatch.setattr(results.paths, "runs_dir", lambda: tmp_path / "runs")
    for name, digest in (
        ("20250101-000000-a-1111", "x"),
        ("20250102-000000-b-2222", "y"),
        ("20250101-120000-a-1111", "x"),
    ):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / results.PLAN).write_text(json.dumps({"digest": digest}))
    return tmp_path / "runs"


def test_runs_are_found_by_name_beginning_and_plan(stored):
    assert results.latest_run().name == "20250102-000000-b-2222"
    assert results.latest_run("x").name == "20250101-120000-a-1111"
    assert find_run("20250102").name == "20250102-000000-b-2222"
    assert find_run(stored / "20250101-000000-a-1111").name == "20250101-000000-a-1111"
    with pytest.raises(InputError, match="2 runs begin with"):
        find_run("20250101")
    with pytest.raises(InputError, match="no run 'nothing'"):
        find_run("nothing")
    with pytest.raises(InputError, match="no stored run has this plan"):
        results.latest_run("z")


def test_new_runs_never_share_a_folder(stored, tmp_path):
    one, two = (results.new_run("a", "123456", None) for _ in range(2))
    assert one != two
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / results.PLAN).write_text("{}")
    with pytest.raises(InputError, match="holds a run already"):
        results.new_run("a", "1", tmp_path / "taken")
