"""The clock of a trial: named phases, nested one deep, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

REST = "overhead"  #: the part of a phase that is its time less its other parts


class PhaseTimer:
    """Times named phases of one trial with the monotonic clock of the host.

    `phases` maps `(under, name)` to milliseconds; `under` is the phase in which a phase was entered, or '' at the top.
    Times of a phase that is entered several times are added. A phase with `apart` is recorded at the top wherever it is
    entered, and subtracted from the phases around it. Times of a device, taken with events, are passed to `record`. The
    context manager of a phase has `ms`, the time of that entry, after its end.

    A `whole` phase is the time from entry to exit, with nothing subtracted. A phase with `apart` inside it is a part of
    it, and subtracted from the other parts around it alone. Parts of its parts are not recorded.

    A part recorded as `overhead` is replaced, when its phase ends, by the time of the phase less its other parts.
    """

    def __init__(self, clock: Callable[[], int] | None = None, tidy: Callable[[], None] = lambda: None):
        """clock: returns monotonic nanoseconds; by default the clock of the host. tidy: called before a whole phase
        begins, so that memory of earlier phases is not freed during it."""
        self.phases: dict[tuple[str, str], float] = {}
        self._clock, self._tidy = clock or perf_counter_ns, tidy
        self._open: list[_Phase] = []

    def phase(self, name: str, apart: bool = False) -> _Phase:
        """A context manager that times its body as phase `name`, in the current phase or `apart` from all phases."""
        return _Phase(self, name, apart)

    def whole(self, name: str) -> _Phase:
        """A context manager that times its whole body as phase `name` at the top. Raises ValueError inside a phase."""
        if self._open:
            raise ValueError(f"phase {name!r} is whole: it cannot be part of {self._open[-1].name!r}")
        self._tidy()
        return _Phase(self, name, whole=True)

    def record(self, name: str, ms: float, apart: bool = False) -> None:
        """Add `ms` milliseconds, measured by the caller, to phase `name` in the current phase or, if `apart`, where a
        phase with `apart` is recorded. Nothing is subtracted from the phases around it."""
        around = self._open[-1] if self._open else None
        if apart:
            self._add((self._open[0].name if around and self._open[0].whole else "", name), ms)
        elif around is None or around.whole or not self._open[0].whole:
            self._add((around.name if around else "", name), ms)

    def _add(self, key: tuple[str, str], ms: float) -> None:
        self.phases[key] = self.phases.get(key, 0.0) + ms

    def _under(self, apart: bool) -> str | None:
        """The phase under which a phase that just ended is recorded; None for a part of a part of a whole phase."""
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
