"""The work of others: how many of the cores that this process may use other programs take, and a hypervisor (steal).

The load average of the last minute has the work of this program too, and what ended long ago; this has neither.
"""

import os
from contextlib import suppress
from time import monotonic, sleep
from typing import NamedTuple

import psutil

LEAST = 1.0  #: seconds that a reading is the mean over; clocks of processors tick a hundred times a second
BUSY = 0.1  #: of the cores: above it, other work disturbs the times
FIRST_SECONDS = 0.1
_IDLE = ("idle", "iowait", "guest", "guest_nice")  # guests are in the user's time


class _Mark(NamedTuple):
    at: float
    busy: float
    own: float


class Others:
    """The work of others since the last reading."""

    def __init__(self, first: float | None = None):
        """first: what readings give until `LEAST` seconds have passed"""
        self._last, self._mark = first, _mark()

    def read(self) -> float | None:
        """Cores that others take, the mean over `LEAST` seconds or more; None if it is not known."""
        if self._mark is not None and monotonic() - self._mark.at >= LEAST:
            now = _mark()
            self._last, self._mark = None if now is None else _between(self._mark, now), now
        return self._last


def now() -> float | None:
    """Cores that others take, measured over `FIRST_SECONDS`; None if it is not known."""
    before = _mark()
    if before is None:
        return None
    sleep(FIRST_SECONDS)
    after = _mark()
    return None if after is None else _between(before, after)


def disturbs(others: float | None, cores: int | None) -> bool:
    """Whether other work of so many cores disturbs times that so many cores are for."""
    return others is not None and others > BUSY * (cores or 1)


def _between(before: _Mark, after: _Mark) -> float:
    return round(max(0.0, after.busy - before.busy - (after.own - before.own)) / (after.at - before.at), 3)


def _mark() -> _Mark | None:
    """The seconds for which the usable cores have been busy, and those of this process and what it started."""
    with suppress(psutil.Error, OSError, NotImplementedError):
        each = psutil.cpu_times(percpu=True)
        usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(len(each))
        busy = sum(value for core in usable for name, value in each[core]._asdict().items() if name not in _IDLE)
        this = psutil.Process()
        own = sum(this.cpu_times()[:4])
        for child in this.children(recursive=True):
            with suppress(psutil.Error):
                own += sum(child.cpu_times()[:4])
        return _Mark(monotonic(), busy, own)
    return None
