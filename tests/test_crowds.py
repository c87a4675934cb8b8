"""Processes at once on one cache and one run leave what one alone leaves (`tests/faults/crowds.py`)."""

import json
from datetime import datetime

import crowds
import pytest
from commands import ROOT, python_program

from grailbench.errors import InputError
from grailbench.harness import folder as results
from grailbench.util import paths


def test_two_processes_leave_what_one_alone_leaves():
    program = ROOT / "tests" / "faults" / "crowds.py"
    code, out, err = python_program(program, "--crowd", "2", "--only", "cold", "--only", "one_name")
    assert (code, err) == (0, "")
    assert out.startswith("2 crowds of 2 processes, 0 differences from one process alone, ")


def test_a_wrong_answer_and_a_second_import_are_seen():
    ended = crowds.Ended
    right, wrong = (ended(("ask", "up0/g.csv", "0", "40"), 0, f"0 40 {answer}\n", "") for answer in (1, 0))
    refused = ended(right.words, 2, "", "error: 'g' was imported before, from x\n")
    assert crowds.wrong_answers([right, refused]) == []
    assert crowds.wrong_answers([right, wrong])
    assert crowds.wrong_answers([ended(right.words, 2, "", "error: other\n")])
    assert crowds.wrong_answers([ended(right.words, 1, "", "Traceback\n")])
    one = ended(("import", "up0/g.csv", "--name", "foo"), 0, "", "")
    two = ended(("import", "down1/g.csv", "--name", "foo"), 0, "", "")
    assert crowds.wrong_answers([one, one]) == []
    assert crowds.wrong_answers([one, two]) == ["2 graphs have one name"]


def test_rows_that_are_lost_or_twice_and_files_that_differ_are_seen(tmp_path):
    def run(name, trials):
        (tmp_path / name).mkdir()
        rows = [{"key": "k", "trial": trial, "phase": "query", "status": "ok"} for trial in trials]
        (tmp_path / name / "trials.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path / name

    alone = run("alone", [0, 1])
    assert crowds._once(run("right", [1, 0]), alone) == []
    assert "lost" in crowds._once(run("lost", [0]), alone)[0]
    assert "2 times" in crowds._once(run("twice", [0, 1, 1]), alone)[0]
    assert crowds._unlike({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == ["b is another", "c is missing"]
    assert crowds._refused([crowds.Ended((), 2, "", "error: x: another process is at work on this run\n")]) == []
    assert crowds._refused([crowds.Ended((), 1, "", "error: x\n")])
    cache = tmp_path / "cache"
    (cache / "graphs").mkdir(parents=True)
    (cache / "graphs" / "a.gra.json").write_text('{"fetched": "now", "sha256": "1"}')
    before = crowds.tree(cache)
    (cache / "graphs" / "a.gra.json").write_text('{"fetched": "then", "sha256": "1"}')
    assert crowds.tree(cache) == before
    (cache / "graphs" / "a.gra.json").write_text('{"fetched": "then", "sha256": "2"}')
    assert crowds.tree(cache) != before


def test_runs_of_one_second_have_folders_of_their_own_also_when_the_clock_goes_back(tmp_path, monkeypatch):
    class Stopped(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(1969, 12, 31, 23, 59, 59, tzinfo=tz)

    monkeypatch.setattr(results, "datetime", Stopped)
    monkeypatch.setattr(paths, "runs_dir", lambda: tmp_path)
    names = [results.new_run("plan", "abcdef").name for _ in range(3)]
    assert names == ["19691231-235959-plan-abcd" + ending for ending in ("", "-2", "-3")]


def test_a_run_that_another_process_made_meanwhile_is_not_written_to(tmp_path, monkeypatch):
    from grailbench.harness import runner
    from grailbench.harness.plan import config_from_flags, make_plan

    plan = make_plan(config_from_flags(datasets=["path-4"], implementations=["sequential"]))
    made = runner.new_run

    def slow(*args):
        folder = made(*args)
        (folder / "plan.json").write_text("{}")  # the other one, which ended in between
        return folder

    monkeypatch.setattr(runner, "new_run", slow)
    with pytest.raises(InputError, match="contains a run already .*--resume"):
        runner.run(plan, None, out=tmp_path / "run")
    assert (tmp_path / "run" / "plan.json").read_text() == "{}"
