"""Processes at once on one cache and one run leave what one alone leaves (`tests/faults/crowds.py`)."""

from datetime import datetime

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
