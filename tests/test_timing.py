"""The clock of a trial."""

import pytest
from clock import Clock

from grailbench.harness import timing
from grailbench.harness.timing import PhaseTimer


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Work moves the clock here, and nothing else does."""
    clock = Clock()
    monkeypatch.setattr(timing, "perf_counter_ns", clock)
    return clock


@pytest.fixture
def work(clock):
    """`work(3)` takes 3 ms."""
    return lambda ms: clock.sleep(ms / 1e3)


def test_a_nested_phase_is_recorded_under_its_parent_and_counted_in_it(work):
    timer = PhaseTimer()
    with timer.phase("label"), timer.phase("sizes"):
        work(10)
    assert timer.phases[("label", "sizes")] >= 10
    assert timer.phases[("", "label")] >= timer.phases[("label", "sizes")]


def test_a_time_recorded_apart_is_added_at_the_top_and_taken_out_of_nothing(work):
    timer = PhaseTimer()
    with timer.phase("label"):
        work(20)
    with timer.phase("query"), timer.phase("process", excluded=True):
        timer.record("label", 5, excluded=True)
        timer.record("query", 3, excluded=True)
        work(30)
    assert timer.phases == {("", "label"): 25, ("", "process"): 30, ("", "query"): 3}


def test_overhead_is_what_the_other_parts_leave_of_a_phase():
    timer = PhaseTimer()
    for _ in range(2):
        with timer.phase("label"):
            timer.record("sizes", -3.0)
            timer.record("overhead", 500.0)
    assert timer.phases["label", "overhead"] == timer.phases["", "label"] + 6.0
    assert ("query", "overhead") not in timer.phases


def test_a_phase_that_fails_is_not_recorded():
    timer = PhaseTimer()
    with pytest.raises(KeyError), timer.phase("label"):
        raise KeyError
    assert timer.phases == {}


def test_nothing_is_taken_out_of_a_whole_phase_and_what_is_apart_is_a_part_of_it(work):
    timer = PhaseTimer()
    with timer.whole("ready"):
        work(1)
        with timer.phase("condense"):
            work(2)
        with timer.phase("label"):
            work(4)
            for _ in range(2):
                with timer.phase("transfer", excluded=True):
                    work(8)
            with timer.phase("sizes"):
                work(16)
                with timer.phase("allocate", excluded=True), timer.phase("pin", excluded=True):
                    work(32)
            timer.record("on_device", 15.0)
            timer.record("overhead", 0.0)
    parts = {"condense": 2.0, "label": 20.0, "transfer": 16.0, "pin": 32.0, "allocate": 0.0}
    whole = {("", "ready"): 1 + sum(parts.values())}
    assert timer.phases == whole | {("ready", part): ms for part, ms in parts.items()}


def test_phases_beside_a_whole_one_are_as_without_it(work):
    timers = PhaseTimer(), PhaseTimer()
    for timer in timers:
        with timer.phase("label"), timer.phase("sizes"):
            work(2)
            with timer.phase("transfer", excluded=True):
                work(4)
            timer.record("overhead", 0.0)
    with timers[0].whole("ready"), timers[0].phase("label"), timers[0].phase("transfer", excluded=True):
        work(8)
    alone = {key: ms for key, ms in timers[0].phases.items() if "ready" not in key}
    assert alone == timers[1].phases
    assert timers[0].phases["", "ready"] == timers[0].phases["ready", "transfer"] == 8.0


def test_what_was_left_to_be_freed_is_freed_before_a_whole_phase(work, clock):
    timer = PhaseTimer(tidy=lambda: work(64))
    with timer.phase("label"):
        work(1)
    with timer.whole("ready"):
        work(2)
    assert timer.phases == {("", "label"): 1.0, ("", "ready"): 2.0}
    assert clock.ns == 67_000_000


def test_a_whole_phase_is_no_part_of_another():
    timer = PhaseTimer()
    with pytest.raises(ValueError, match="part of 'label'"), timer.phase("label"):
        timer.whole("ready")
