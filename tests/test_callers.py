"""The library and the NetworkX backend from many threads at once: the program of `tests/faults` in small."""

from functools import cache

import callers
import pytest

from grailbench.graph import threads
from grailbench.problems.reachability.core import index as core

SHORT = {
    "crowd": {"rounds": 7, "callers": 12, "calls": 3},
    "networkx": {"rounds": 1, "callers": 6},
}


@pytest.mark.slow
@pytest.mark.parametrize("scene", SHORT)
def test_many_callers_get_right_answers(scene):
    tally = callers.Tally()
    callers.SCENES[scene](tally, **SHORT[scene])
    assert tally.faults == []
    assert tally.answers > 50


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
