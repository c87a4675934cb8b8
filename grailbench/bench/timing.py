"""The clock of a trial: named phases, nested one deep, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

REST = "overhead"  #: the part of a phase that is what its other parts leave of it


class PhaseTimer:
    """Times named phases of one trial with the host's monotonic clock.

    A phase entered inside another is recorded under it: `phases` maps `(under, name)` to milliseconds, `under`
    being '' at the top. A phase entered twice adds up. A phase `apart` is recorded at the top wherever it is
    entered, and its time is taken out of the phases around it. Device phases are measured with events by the
    implementation and handed in through `record`. What `with` gives has `ms`, the time of that entry, once it was left.

    A phase that is `whole` is the host's clock from entry to exit, whatever is entered inside: nothing is taken out of
    it. A phase apart inside becomes one of its parts, taken out of the parts around it only, so that parts never
    overlap. Parts of its parts are not recorded: they are those of the phases that a trial enters by themselves.

    A part recorded as `overhead` becomes, when its phase ends, what that has beyond its other parts, whatever was
    measured for it: what an implementation does before its own clock starts and after it stops is overhead too.
    """

    def __init__(self, clock: Callable[[], int] | None = None, tidy: Callable[[], None] = lambda: None):
        """clock: nanoseconds that never run back, the host's unless given. tidy: called before a whole phase begins, so
        that what earlier phases left to be freed is not freed in it."""
        self.phases: dict[tuple[str, str], float] = {}
        self._clock, self._tidy = clock or perf_counter_ns, tidy
        self._open: list[_Phase] = []

    def phase(self, name: str, apart: bool = False) -> _Phase:
        """A context manager that times its body as phase `name`, of the phase now open or `apart` from all."""
        return _Phase(self, name, apart)

    def whole(self, name: str) -> _Phase:
        """A context manager that times all of its body as phase `name` at the top; to be entered in no other phase."""
        if self._open:
            raise ValueError(f"phase {name!r} is whole: it cannot be part of {self._open[-1].name!r}")
        self._tidy()
        return _Phase(self, name, whole=True)

    def record(self, name: str, ms: float) -> None:
        """Add `ms` milliseconds, measured elsewhere, to phase `name` of the phase now open."""
        around = self._open[-1] if self._open else None
        if around is None or around.whole or not self._open[0].whole:
            self._add((around.name if around else "", name), ms)

    def _add(self, key: tuple[str, str], ms: float) -> None:
        self.phases[key] = self.phases.get(key, 0.0) + ms

    def _under(self, apart: bool) -> str | None:
        """What a phase that was just left is recorded under; None where it is a part of a whole phase's part."""
        whole = self._open[0] if self._open and self._open[0].whole else None
        if whole is not None:
            return whole.name if apart or len(self._open) == 1 else None
        return "" if apart or not self._open else self._open[-1].name

    def _fill_rest(self, name: str) -> None:
        if (name, REST) in self.phases:
            others = sum(ms for (under, part), ms in self.phases.items() if under == name and part != REST)
            self.phases[name, REST] = self.phases["", name] - others


class _Phase:
    __slots__ = ("timer", "name", "apart", "whole", "start", "excluded", "ms")

    def __init__(self, timer: PhaseTimer, name: str, apart: bool = False, whole: bool = False):
        self.timer, self.name, self.apart, self.whole, self.excluded = timer, name, apart, whole, 0

    def __enter__(self) -> _Phase:
        self.timer._open.append(self)
        self.start = self.timer._clock()
        return self

    def __exit__(self, *exc):
        elapsed = self.timer._clock() - self.start
        around = self.timer._open
        around.pop()
        if self.apart:
            for phase in around:
                phase.excluded += 0 if phase.whole else elapsed - self.excluded
        self.ms = (elapsed - self.excluded) / 1e6
        under = self.timer._under(self.apart)
        if exc[0] is None and under is not None:
            self.timer._add((under, self.name), self.ms)
            if not under:
                self.timer._fill_rest(self.name)
