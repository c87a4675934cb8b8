"""Limits of time: those that are hardly any, and those that no clock knows, leave nothing behind."""

import signal
import time

import pytest

from grailbench.util.guard import TimeLimit, deadline, guarded


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1e-300, 1e-7, 1e-6, 2e-6, 5e-6, 1e-5, 1e-4] * 3)
def test_a_limit_that_is_over_before_the_work_begins_leaves_no_timer_and_no_handler(seconds):
    before = signal.getsignal(signal.SIGALRM)
    outcome = guarded(lambda: time.sleep(5), seconds)
    assert outcome.status == "timeout"
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


@pytest.mark.parametrize("seconds", [1e9, 1e10, 1e18, 1e300, float("inf")])
def test_a_limit_longer_than_clocks_count_is_none(seconds):
    before = signal.getsignal(signal.SIGALRM)
    with deadline(seconds):
        assert guarded(lambda: 7, seconds).value == 7
    assert signal.getsignal(signal.SIGALRM) is before


def test_a_limit_of_nothing_is_over():
    with pytest.raises(TimeLimit), deadline(0):
        pytest.fail("no time was left")
