"""The library and the NetworkX backend from many threads at once: the program of `tests/faults` in small."""

import time
from functools import cache

import callers
import pytest

from grailbench.graph import threads
from grailbench.problems.reachability.core import index as core
from grailbench.problems.reachability.cpu.grail import GrailIndex

SHORT = {
    "crowd": {"rounds": 7, "callers": 12, "calls": 3},
    "builders": {"rounds": 1, "callers": 12},
    "networkx": {"rounds": 1, "callers": 6},
    "tasks": {"rounds": 1, "callers": 12},
}


@pytest.mark.slow
@pytest.mark.parametrize("scene", SHORT)
def test_many_callers_get_right_answers(scene):
    tally = callers.Tally()
    callers.SCENES[scene](tally, **SHORT[scene])
    assert tally.faults == []
    assert tally.answers > 50


def test_an_index_that_is_wrong_only_beside_another_caller_is_found(monkeypatch):
    right, inside = GrailIndex.query_batch, []

    def wrong(self, sources, targets, timer):
        inside.append(1)
        time.sleep(0.02)  # the others come in
        answers = right(self, sources, targets, timer) ^ (len(inside) > 1)
        inside.pop()
        return answers

    monkeypatch.setattr(GrailIndex, "query_batch", wrong)
    monkeypatch.setattr(callers, "IMPLEMENTATIONS", ("parallel",))
    tally = callers.Tally()
    callers.crowd(tally, 1, callers=6, calls=8)
    assert any("reaches_many" in fault for fault in tally.faults)


@pytest.mark.slow
def test_a_forked_process_answers_and_one_that_waits_for_threads_that_it_has_not_is_found(monkeypatch):
    monkeypatch.setattr(callers, "STORED", ("core",))
    tally = callers.Tally()
    callers.forked(tally, 1, ways=("fork",))
    assert tally.faults == []
    assert tally.answers > 100_000
    monkeypatch.setattr(core, "helpers", cache(threads.helpers.__wrapped__))  # nothing clears it in the child
    monkeypatch.setattr(callers, "PATIENCE", 1)
    callers.forked(tally, 1, ways=("fork",))
    assert tally.faults == ["core, fork: hangs"]


@pytest.mark.processes
@pytest.mark.slow
def test_interrupts_come_out_and_what_is_asked_next_is_right():
    tally = callers.Tally()
    callers.signals(tally, 9)
    assert tally.faults == []
    assert tally.answers >= 9
