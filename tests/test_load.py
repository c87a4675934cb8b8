"""The work of others on the cores of this process, beside its own."""

import subprocess
import sys
from time import monotonic

import pytest

from grailbench.harness import load

SPIN = "import time; end = time.monotonic() + 30\nwhile time.monotonic() < end: pass"


@pytest.mark.processes
def test_own_work_and_that_of_children_is_not_of_others():
    with subprocess.Popen([sys.executable, "-c", SPIN]) as child:
        try:
            before = load._mark()
            while monotonic() - before.at < 1.0:
                pass
            after = load._mark()
        finally:
            child.kill()
    assert after.own - before.own > 0.5 * (after.busy - before.busy - load._between(before, after))
    assert after.own > before.own + 0.3
    assert load._between(before, after) < (after.busy - before.busy) / (after.at - before.at) - 0.3


def test_what_others_take_is_what_is_busy_and_not_own(monkeypatch):
    marks = iter([load._Mark(0.0, 10.0, 1.0), load._Mark(2.0, 13.0, 2.0), load._Mark(4.0, 14.0, 4.0)])
    monkeypatch.setattr(load, "_mark", lambda: next(marks))
    clock = iter([0.5, 2.0, 2.5, 4.0])
    monkeypatch.setattr(load, "monotonic", lambda: next(clock))
    others = load.Others(0.25)
    assert [others.read() for _ in range(4)] == [0.25, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("others", "cores", "disturbed"),
    [(0.2, 2, False), (0.21, 2, True), (1.5, 16, False), (1.7, 16, True), (None, 2, False)],
)
def test_a_tenth_of_the_cores_disturbs(others, cores, disturbed):
    assert load.disturbs(others, cores) == disturbed


def test_where_clocks_cannot_be_read_nothing_is_said(monkeypatch):
    def refuse(**how):
        raise OSError

    monkeypatch.setattr(load.psutil, "cpu_times", refuse)
    assert load.now() is None
    assert load.Others().read() is None
