"""The clock of a trial."""

import time

import pytest

from grailbench.bench.timing import PhaseTimer


def test_a_nested_phase_is_recorded_under_its_parent_and_counted_in_it():
    timer = PhaseTimer()
    with timer.phase("label"), timer.phase("sizes"):
        time.sleep(0.01)
    assert timer.phases[("label", "sizes")] >= 10
    assert timer.phases[("", "label")] >= timer.phases[("label", "sizes")]


def test_a_phase_apart_is_recorded_at_the_top_and_not_counted_around():
    timer = PhaseTimer()
    with timer.phase("label"), timer.phase("sizes"), timer.phase("transfer", apart=True):
        time.sleep(0.03)
    assert timer.phases[("", "transfer")] >= 30
    assert timer.phases[("", "label")] < 15
    assert timer.phases[("label", "sizes")] < 15


def test_phases_apart_inside_each_other_are_taken_out_once():
    timer = PhaseTimer()
    with timer.phase("label"):
        time.sleep(0.02)
        with timer.phase("load", apart=True), timer.phase("copy", apart=True):
            time.sleep(0.02)
    assert timer.phases[("", "label")] >= 20
    assert timer.phases[("", "copy")] >= 20
    assert timer.phases[("", "load")] < 15


def test_overhead_is_what_the_other_parts_leave_of_a_phase():
    timer = PhaseTimer()
    for _ in range(2):
        with timer.phase("label"):
            timer.record("sizes", -3.0)
            timer.record("overhead", 500.0)
    assert timer.phases["label", "overhead"] == timer.phases["", "label"] + 6.0
    assert ("query", "overhead") not in timer.phases


def test_a_phase_entered_twice_adds_up():
    timer = PhaseTimer()
    timer.record("query", 2.0)
    timer.record("query", 3.0)
    assert timer.phases == {("", "query"): 5.0}


def test_a_phase_that_fails_is_not_recorded():
    timer = PhaseTimer()
    with pytest.raises(KeyError), timer.phase("label"):
        raise KeyError
    assert timer.phases == {}
