"""Measures times on the device in milliseconds, by events on the default stream.

The simulator has no events; there the time of the host is used, and `meaningful` is False.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import check

#: False in the simulator, whose times are meaningless and never recorded
meaningful: bool = not simulated


class _HostEvent:
    """Replaces an event in the simulator, where a launch returns only when its work is done."""

    def record(self) -> None:
        self.ns = perf_counter_ns()

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, later: _HostEvent) -> float:
        return (later.ns - self.ns) / 1e6


class _DriverEvent:
    """An event of numba's, used by the driver's own calls: those of numba take 8 us each."""

    def __init__(self):
        from cuda.bindings import driver

        self._driver, self._event = driver, cuda.event()
        self.handle = int(self._event.handle)

    def record(self) -> None:
        check(self._driver.cuEventRecord(self.handle, 0), "record an event")

    def synchronize(self) -> None:
        check(self._driver.cuEventSynchronize(self.handle), "wait for an event")

    def elapsed_time(self, later: _DriverEvent) -> float:
        result = self._driver.cuEventElapsedTime(self.handle, later.handle)
        check(result, "read the time between events")
        return result[1]


class Span:
    """Measures the time on the device of a `with` block, from when all work queued before has ended, without waiting.
    It can be used again and then has the last time."""

    def __init__(self):
        make = _HostEvent if simulated else _DriverEvent
        self._start, self._stop = make(), make()

    def __enter__(self) -> Span:
        self._start.record()
        return self

    def __exit__(self, *exc) -> None:
        self._stop.record()

    @property
    def ms(self) -> float:
        """The time in milliseconds; waits until the device has finished the block."""
        self._stop.synchronize()
        return self._start.elapsed_time(self._stop)


class Phases:
    """The named spans of a trial, which are read together at its end, so that no phase waits for the device."""

    def __init__(self):
        self._spans: list[tuple[str, Span]] = []

    def phase(self, name: str) -> Span:
        """A new span for a phase, to be used in a `with`. The times of spans with equal names are added."""
        span = Span()
        self._spans.append((name, span))
        return span

    def hand_over(self, record: Callable[[str, float], None]) -> None:
        """Calls `record(name, ms)` (`PhaseTimer.record`) for each span in order; waits for the device."""
        for name, span in self._spans:
            record(name, span.ms)
        self._spans.clear()
