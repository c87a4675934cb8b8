"""The clock of a trial: named phases, nested one deep, in milliseconds."""

from __future__ import annotations

from time import perf_counter_ns

REST = "overhead"  #: the part of a phase that is what its other parts leave of it


class PhaseTimer:
    """Times named phases of one trial with the host's monotonic clock.

    A phase entered inside another is recorded under it: `phases` maps `(under, name)` to milliseconds, `under`
    being '' at the top. A phase entered twice adds up. A phase `apart` is recorded at the top wherever it is
    entered, and its time is taken out of the phases around it. Device phases are measured with events by the
    implementation and handed in through `record`. What `with` gives has `ms`, the time of that entry, once it was left.

    A part recorded as `overhead` becomes, when its phase ends, what that has beyond its other parts, whatever was
    measured for it: what an implementation does before its own clock starts and after it stops is overhead too.
    """

    def __init__(self):
        self.phases: dict[tuple[str, str], float] = {}
        self._open: list[_Phase] = []

    def phase(self, name: str, apart: bool = False) -> _Phase:
        """A context manager that times its body as phase `name`, of the phase now open or `apart` from all."""
        return _Phase(self, name, apart)

    def record(self, name: str, ms: float) -> None:
        """Add `ms` milliseconds, measured elsewhere, to phase `name` of the phase now open."""
        self._add((self._open[-1].name if self._open else "", name), ms)

    def _add(self, key: tuple[str, str], ms: float) -> None:
        self.phases[key] = self.phases.get(key, 0.0) + ms

    def _settle(self, name: str) -> None:
        if (name, REST) in self.phases:
            others = sum(ms for (under, part), ms in self.phases.items() if under == name and part != REST)
            self.phases[name, REST] = self.phases["", name] - others


class _Phase:
    __slots__ = ("timer", "name", "apart", "start", "excluded", "ms")

    def __init__(self, timer: PhaseTimer, name: str, apart: bool):
        self.timer, self.name, self.apart, self.excluded = timer, name, apart, 0

    def __enter__(self) -> _Phase:
        self.timer._open.append(self)
        self.start = perf_counter_ns()
        return self

    def __exit__(self, *exc):
        elapsed = perf_counter_ns() - self.start
        around = self.timer._open
        around.pop()
        if self.apart:
            for phase in around:
                phase.excluded += elapsed - self.excluded
        self.ms = (elapsed - self.excluded) / 1e6
        if exc[0] is None:
            under = "" if self.apart or not around else around[-1].name
            self.timer._add((under, self.name), self.ms)
            if not under:
                self.timer._settle(self.name)
