"""The clock of a trial: named phases, nested one deep, in milliseconds."""

from __future__ import annotations

from time import perf_counter_ns


class PhaseTimer:
    """Times named phases of one trial with the host's monotonic clock.

    A phase entered inside another is recorded under it: `phases` maps `(under, name)` to milliseconds, `under`
    being '' at the top. A phase entered twice adds up. Device phases are measured with events by the
    implementation and handed in through `record`.
    """

    def __init__(self):
        self.phases: dict[tuple[str, str], float] = {}
        self._open: list[str] = []

    def phase(self, name: str) -> _Phase:
        """A context manager that times its body as phase `name` of the phase now open."""
        return _Phase(self, name)

    def record(self, name: str, ms: float) -> None:
        """Add `ms` milliseconds, measured elsewhere, to phase `name` of the phase now open."""
        key = (self._open[-1] if self._open else "", name)
        self.phases[key] = self.phases.get(key, 0.0) + ms


class _Phase:
    __slots__ = ("timer", "name", "start")

    def __init__(self, timer: PhaseTimer, name: str):
        self.timer, self.name = timer, name

    def __enter__(self):
        self.timer._open.append(self.name)
        self.start = perf_counter_ns()

    def __exit__(self, *exc):
        elapsed = perf_counter_ns() - self.start
        self.timer._open.pop()
        if exc[0] is None:
            self.timer.record(self.name, elapsed / 1e6)
