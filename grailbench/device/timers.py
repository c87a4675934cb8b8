"""Device milliseconds, by events on the default stream.

In the simulator there are no events: host time stands in so that the same code runs, and `meaningful` is False.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

from grailbench.device.gateway import cuda, simulated

#: False in the simulator: its times say nothing and are never recorded
meaningful: bool = not simulated


class _HostEvent:
    """The simulator's stand-in for an event: all work is done when a launch returns."""

    def record(self) -> None:
        self.ns = perf_counter_ns()

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, later: _HostEvent) -> float:
        return (later.ns - self.ns) / 1e6


class Span:
    """The device time between entering and leaving a `with`; may be used again, the last time counts.

    Entering and leaving do not wait for the device. The time starts when the work queued before has ended, so it
    includes what the host is late in queueing: a launch takes Python longer than a tiny kernel takes the device.
    """

    def __init__(self):
        make = _HostEvent if simulated else cuda.event
        self._start, self._stop = make(), make()

    def __enter__(self) -> Span:
        self._start.record()
        return self

    def __exit__(self, *exc) -> None:
        self._stop.record()

    @property
    def ms(self) -> float:
        """Milliseconds; waits until the device has got there."""
        self._stop.synchronize()
        return self._start.elapsed_time(self._stop)


class Phases:
    """Named spans of one trial, read together at its end, so that timing a phase makes nobody wait."""

    def __init__(self):
        self._spans: list[tuple[str, Span]] = []

    def phase(self, name: str) -> Span:
        """A span called `name`, to be entered by the caller; a name used twice adds up in `hand_over`."""
        span = Span()
        self._spans.append((name, span))
        return span

    def hand_over(self, record: Callable[[str, float], None]) -> None:
        """Call `record(name, ms)` for each span in order (`PhaseTimer.record`); waits for the device."""
        for name, span in self._spans:
            record(name, span.ms)
        self._spans.clear()
