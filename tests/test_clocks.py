"""The wall clock is set back and forth: nothing is swept, lost or misnamed for it, and no time becomes negative."""

import itertools
import os
import time
from datetime import datetime

import pytest
from watchers import Silent

from grailbench.harness import folder as results
from grailbench.harness import runner
from grailbench.harness.plan import config_from_flags, make_plan
from grailbench.util import paths, temporary

YEAR_S = 365 * 86_400
JUMPS = (0.0, -YEAR_S, YEAR_S, -3600.0, 3600.0, -60 * YEAR_S)  # DST, before 1970, and back


@pytest.fixture
def jumping(monkeypatch):
    """A wall clock that is set to another time at each look; the monotonic one goes on."""
    true, jumps = time.time, itertools.cycle(JUMPS)

    class Jumping(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(true() + next(jumps), tz)

    monkeypatch.setattr(time, "time", lambda: true() + next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: int((true() + next(jumps)) * 1e9))
    for module in ("grailbench.harness.folder", "grailbench.data.fetch"):
        monkeypatch.setattr(f"{module}.datetime", Jumping)


def test_a_run_while_the_clock_jumps_has_every_row_and_no_negative_time(jumping, cache, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "runs_dir", lambda: tmp_path / "runs")
    plan = make_plan(config_from_flags(datasets=["path-4"], implementations=["dfs"], count=10, trials=4))
    folders = [runner.run(plan, Silent()).folder for _ in range(3)]
    assert len({folder.name for folder in folders}) == 3
    for folder in folders:
        rows, damage = results.read_rows(folder)
        assert damage == results.Damage()
        times = [row["ms"] for row in rows if row["phase"]]
        assert len({row["trial"] for row in rows if row["phase"]}) == 4
        assert len(times) >= 4
        assert min(times) >= 0


@pytest.mark.parametrize("jump", JUMPS)
def test_age_is_told_by_the_clock_of_the_file_system(jump, tmp_path, monkeypatch):
    path = tmp_path / ".dag.npz.00000000-1-0123abcd.tmp"
    path.touch()
    true = time.time
    monkeypatch.setattr(time, "time", lambda: true() + jump)
    assert temporary.sweep(tmp_path) == []


def test_runs_are_in_the_order_of_their_names_whatever_the_dates_of_their_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "runs_dir", lambda: tmp_path)
    names = ["19691231-235959-a-0000", "20240101-000000-a-0000", "20240101-000000-a-0000-2", "20300101-000000-a-0000"]
    for at, name in enumerate(reversed(names)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.json").touch()
        os.utime(tmp_path / name, (at, at))
    assert [path.name for path in results.runs()] == names
