"""The library and the NetworkX backend from many threads at once: the program of `tests/faults` in small."""

from functools import cache

import callers
import pytest

from grailbench.graph import threads
from grailbench.problems.reachability.core import index as core

SHORT = [
    ("crowd", {"rounds": 7, "callers": 12, "calls": 3}, 51), ("networkx", {"rounds": 1, "callers": 6}, 51),
    pytest.param("signals", {"rounds": 9}, 9, marks=pytest.mark.processes),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("scene", "how", "least"), SHORT)
def test_many_callers_get_right_answers_also_after_interrupts(scene, how, least):
    tally = callers.Tally()
    callers.SCENES[scene](tally, **how)
    assert tally.faults == []
    assert tally.answers >= least


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
