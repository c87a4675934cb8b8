"""Rows survive kills: whole trials stay, torn ones go, and the newest word on a cell counts."""

import hashlib
import json
import os

import pytest

from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.harness.cells import load
from grailbench.harness.folder import (
    Writer,
    current,
    find_run,
    finished,
    given_up,
    new_run,
    only_writer,
    read_rows,
    repair,
)
from grailbench.harness.rows import FIELDS
from grailbench.util.records import sealed


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


def test_a_trial_is_one_write(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(results.os, "write", lambda file, text: written.append(text) or len(text))
    writer = Writer(tmp_path)
    writer.append(trial(0))
    assert [text.count(b"\n") for text in written] == [3]


def test_every_cut_of_the_file_leaves_whole_trials_only(run):
    path = run / results.ROWS
    content = path.read_bytes()
    first = len(b"".join(content.splitlines(keepends=True)[: len(trial(0))]))
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


def broken(run):
    """Line and message of the error that reading a run gives."""
    with pytest.raises(InputError) as caught:
        read_rows(run)
    assert caught.value.path == run / results.ROWS
    return caught.value.line, str(caught.value)


def test_a_broken_line_is_an_error_at_its_line(run):
    lines = (run / results.ROWS).read_text().splitlines(keepends=True)
    for at in (2, len(lines)):
        (run / results.ROWS).write_text("".join([*lines[:at], "{oops\n", *lines[at:]]))
        line, said = broken(run)
        assert line == at + 1
        assert "is not a measurement row" in said


def test_a_changed_row_says_so_and_what_to_do(run):
    path = run / results.ROWS
    path.write_text(path.read_text().replace('"ms": 1.5', '"ms": 1.4', 1))
    line, said = broken(run)
    assert line == 1
    assert "changed after it was written" in said
    assert "--resume measures it again" in said


def test_checksums_cannot_be_dropped_from_some_rows_nor_from_a_run_of_format_2(run):
    path = run / results.ROWS
    lines = path.read_text().splitlines(keepends=True)
    bare = [json.dumps({k: v for k, v in json.loads(line).items() if k != "sum"}) + "\n" for line in lines]
    path.write_text("".join([*lines[:4], bare[4], *lines[5:]]))
    assert (broken(run)[0], "checksum is missing" in broken(run)[1]) == (5, True)
    path.write_text("".join(bare))
    assert read_rows(run)[0] == trial(0) + trial(1)  # a run of an older version
    results.write_json(run / results.PLAN, {"format": 2})
    assert broken(run)[0] == 1


def test_plan_and_environment_cannot_be_changed_unseen(run):
    for name in (results.PLAN, results.ENVIRONMENT):
        results.write_json(run / name, {"format": 2, "cores": 2})
        text = (run / name).read_text()
        assert results.read_json(run / name) == {"format": 2, "cores": 2}
        (run / name).write_text(text.replace('"cores": 2', '"cores": 3'))
        with pytest.raises(InputError, match="changed after it was written"):
            results.read_json(run / name)


def test_a_run_of_a_later_format_is_not_read(run):
    results.write_json(run / results.PLAN, {"format": 3})
    with pytest.raises(InputError, match="is of format 3"):
        read_rows(run)


def test_a_run_that_was_begun_without_checksums_goes_on_without(tmp_path):
    (tmp_path / results.ROWS).write_text("".join(json.dumps(each) + "\n" for each in trial(0)))
    writer = Writer(tmp_path)
    writer.append(trial(1))
    writer.close()
    assert read_rows(tmp_path)[0] == trial(0) + trial(1)


CONTRADICTIONS = {
    "a phase twice": (trial(0) + trial(0), 4, "again, unlike line 1"),
    "a row twice": (trial(0) + [row(None, None, "bad", "wrong", at="now")] * 2, 5, "the same row again"),
    "other answers": (trial(0, checksum="a") + trial(1, checksum="b"), 4, "checksum 'b', unlike line 1"),
    "other positives": (trial(0, positives=1) + trial(1, positives=2), 4, "positives 2"),
    "another graph": (trial(0, graph_sha256="a") + trial(1, graph_sha256="b"), 4, "graph_sha256 'b'"),
    "other counters": (trial(0, counters={"n": 1}) + trial(1, counters={"n": 2}), 4, "counters {'n': 2}"),
    "another cell": (trial(0) + trial(1, dim=5), 4, "another configuration"),
    "beyond what was planned": (trial(0, planned=2) + trial(2, planned=2), 4, "trial 2 of 2"),
    "a trial without its end": (trial(0)[:-1] + trial(1), 2, "trial 0 has no end"),
    "a trial without a phase": (trial(0) + trial(1)[2:], 4, "trial 1 has other phases"),
}


@pytest.mark.parametrize("sums", [True, False])
@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_rows_of_a_cell_that_contradict_are_an_error_at_the_line(tmp_path, what, sums):
    rows, line, said = CONTRADICTIONS[what]
    written = [sealed(each) if sums else each for each in rows]
    (tmp_path / results.ROWS).write_text("".join(json.dumps(each) + "\n" for each in written))
    assert broken(tmp_path)[0] == line
    assert said in broken(tmp_path)[1]


WRONG_TYPES = {
    "key": 7, "dataset": None, "status": "fine", "ms": "1.5", "trial": 1.0, "planned": True, "positives": -1,
    "counters": {"n": "many"}, "dim": [2], "vertices": 2**70, "reason": {}, "phase": 3, "impl": ["dfs"],
    "rate": 10**400,
}  # fmt: skip


@pytest.mark.parametrize("field", WRONG_TYPES)
def test_a_field_of_another_type_is_no_row(tmp_path, field):
    (tmp_path / results.ROWS).write_text(json.dumps(row() | {field: WRONG_TYPES[field]}) + "\n")
    line, said = broken(tmp_path)
    assert line == 1
    assert f"field {field!r} cannot be" in said


@pytest.mark.parametrize("text", ['{"ms": NaN}', "[]", "7", "[" * 100_000, '{"a": "\\ud800"}', '{"a": 1' + "0" * 5000])
def test_what_is_no_plain_json_is_no_row(tmp_path, text):
    (tmp_path / results.ROWS).write_text(text + "\n")
    assert broken(tmp_path)[0] == 1
    (tmp_path / results.PLAN).write_text(text)
    with pytest.raises(InputError, match="plan.json"):
        results.read_json(tmp_path / results.PLAN)


@pytest.mark.parametrize(
    "odd",
    [{"cores": "2"}, {"gpus": [["H200"]]}, {"memory_bytes": 2**70}, {"packages": []}, {"earlier": [{"cpu": 3}]},
     {"dirty": "no"}, {"load_average": [None]}, {"command": [{}]}],
)  # fmt: skip
def test_an_environment_of_other_types_is_an_error_that_names_the_field(run, odd):
    results.write_json(run / results.ENVIRONMENT, odd)
    with pytest.raises(InputError, match=rf"environment.json: field '{next(iter(odd))}.*' is wrong in an environment"):
        load(run)


def test_a_record_nested_deeper_than_any_is_refused(run):
    deep = "[" * 40 + "]" * 40
    (run / results.ENVIRONMENT).write_text(f'{{"more": {deep}}}')
    with pytest.raises(InputError, match="nested too deep"):
        load(run)


def test_full_disk_leaves_no_torn_trial(run, monkeypatch):
    writer, real = Writer(run), os.write
    monkeypatch.setattr(results.os, "write", lambda file, text: real(file, text[:30]))
    with pytest.raises(OSError, match="only 30 of"):
        writer.append(trial(2))
    assert read_rows(run) == (trial(0) + trial(1), results.Damage())


def test_two_processes_never_write_one_run(run):
    with only_writer(run), pytest.raises(InputError, match="another process"), only_writer(run):
        pass
    with only_writer(run):
        pass


def test_only_ok_trials_of_a_key_are_finished():
    rows = [*trial(0), *trial(1), *trial(0, "other"), row(None, None, "bad", "wrong")]
    assert finished(rows) == {"k": {0, 1}, "other": {0}}
    assert given_up(rows) == {"bad"}


def test_the_current_rows_of_a_cell_are_those_of_its_newest_key():
    assert current(trial(0, "old") + trial(1, "old") + trial(0, "new")) == trial(0, "new")
    failure = row(None, None, status="failed")  # forgotten once the cell was measured, and not before
    assert current([failure, *trial(0)]) == trial(0)
    assert current([*trial(0), failure]) == [*trial(0), failure]
    unlike = [*trial(0, "a", dim=2), *trial(0, "b", dim=5)]  # other cells
    assert current(unlike) == unlike


def test_a_run_is_read_with_its_rows_cells_and_environment(run):
    (run / results.ENVIRONMENT).write_text('{"cpu": "an abacus", "cores": 2}')
    found = load(run)
    assert set(found.rows[0]) == set(FIELDS)
    assert [sum(times.values()) for times in found.cells[0].times.values()] == [3.0, 3.0, 3.0]
    assert (found.name, found.machine) == (run.name, "an abacus, 2 cores")


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


def test_recorded_runs_are_found_by_name_and_named_where_none_is_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(results.paths, "runs_dir", lambda: tmp_path)
    assert find_run("h200/thesis-gpu") == results.paths.checkout() / "results/baselines/h200/thesis-gpu"
    with pytest.raises(InputError, match="of a recorded one: grailbench report h200/thesis-gpu"):
        results.latest_results()
    assert results.recorded_with(("gpu",), ("kegg",)) == "h200/thesis-gpu"
    assert results.recorded_with(("gpu",), ("mine",)) is None
    monkeypatch.setattr(results.paths, "checkout", lambda: None)
    with pytest.raises(InputError, match=r"no run is stored \(runs are in [^;]*\)"):
        results.latest_results()


def test_a_run_that_failed_before_its_first_row_is_not_the_latest_to_show(stored):
    with pytest.raises(InputError, match="none of the 3 stored runs has a row"):
        results.latest_results()
    older = stored / "20250101-000000-a-1111"
    (older / results.ROWS).write_text(json.dumps(row(None, None, status="failed")) + "\n")
    (stored / "20250102-000000-b-2222" / results.ROWS).write_text("")
    assert results.latest_results() == older
    assert results.latest_run().name == "20250102-000000-b-2222"  # that --resume goes on with


def test_new_runs_never_share_a_folder(stored, tmp_path):
    one, two = (new_run("a", "123456", None) for _ in range(2))
    assert one != two
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / results.PLAN).write_text("{}")
    with pytest.raises(InputError, match="contains a run already"):
        new_run("a", "1", tmp_path / "taken")


@pytest.fixture
def recorded(run):
    """A run as it is recorded: its rows are compressed."""
    rows = (run / results.ROWS).read_bytes()
    (run / results.COMPRESSED).write_bytes(results.compressed(rows))
    (run / results.ROWS).unlink()
    return run


def test_the_compressed_rows_of_a_recorded_run_are_read_as_they_were(recorded):
    assert read_rows(recorded) == (trial(0) + trial(1), results.Damage())
    rows = results.content(recorded, results.ROWS)
    assert results.checksums(recorded, [results.ROWS]) == {results.ROWS: hashlib.sha256(rows).hexdigest()}
    assert results.compressed(rows) == (recorded / results.COMPRESSED).read_bytes()


def test_nothing_is_added_to_a_recorded_run(recorded):
    with pytest.raises(InputError, match="is a recorded run, to which nothing is added"):
        repair(recorded)


def test_damaged_compressed_rows_are_refused_by_name(recorded):
    path = recorded / results.COMPRESSED
    whole = path.read_bytes()
    for damaged in (whole[:-5], whole[: len(whole) // 2], whole[:10] + b"\xff\xff" + whole[12:]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=results.COMPRESSED):
            read_rows(recorded)
