"""The clock of a trial: named phases, nested one deep, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

REST = "overhead"  #: the part of a phase that is its time less its other parts


class PhaseTimer:
    """Times named phases of one trial with the monotonic clock of the host.

    `phases` maps `(under, name)` to milliseconds; `under` is the phase in which a phase was entered, or '' at the top.
    Times of a phase that is entered several times are added. An `excluded` phase is recorded at the top wherever it is
    entered, and subtracted from the phases around it. Times of a device, taken with events, are passed to `record`. The
    context manager of a phase has `ms`, the time of that entry, after its end.

    A `whole` phase is the time from entry to exit, with nothing subtracted. An `excluded` phase inside it is a part of
    it, and subtracted from the other parts around it alone. Parts of its parts are not recorded.

    A part recorded as `overhead` is replaced, when its phase ends, by the time of the phase less its other parts.
    """

    def __init__(self, clock: Callable[[], int] | None = None, tidy: Callable[[], None] = lambda: None):
        """clock: returns monotonic nanoseconds; by default the clock of the host. tidy: called before a whole phase
        begins, so that memory of earlier phases is not freed during it."""
        self.phases: dict[tuple[str, str], float] = {}
        self._clock, self._tidy = clock or perf_counter_ns, tidy
        self._open: list[_Phase] = []

    def phase(self, name: str, excluded: bool = False) -> _Phase:
        """A context manager that times its body as phase `name`, in the current phase or `excluded` from all."""
        return _Phase(self, name, excluded)

    def whole(self, name: str) -> _Phase:
        """A context manager that times its whole body as phase `name` at the top. Raises ValueError inside a phase."""
        if self._open:
            raise ValueError(f"phase {name!r} is whole: it cannot be part of {self._open[-1].name!r}")
        self._tidy()
        return _Phase(self, name, whole=True)

    def record(self, name: str, ms: float, excluded: bool = False) -> None:
        """Add `ms` milliseconds, measured by the caller, to phase `name` in the current phase or, if
        `excluded`, where an excluded phase is recorded. Nothing is subtracted from the phases around it."""
        around = self._open[-1] if self._open else None
        if excluded:
            self._add((self._open[0].name if around and self._open[0].whole else "", name), ms)
        elif around is None or around.whole or not self._open[0].whole:
            self._add((around.name if around else "", name), ms)

    def _add(self, key: tuple[str, str], ms: float) -> None:
        self.phases[key] = self.phases.get(key, 0.0) + ms

    def _under(self, excluded: bool) -> str | None:
        """The phase under which a phase that just ended is recorded; None for a part of a part of a whole phase."""
        whole = self._open[0] if self._open and self._open[0].whole else None
        if whole is not None:
            return whole.name if excluded or len(self._open) == 1 else None
        return "" if excluded or not self._open else self._open[-1].name

    def _fill_rest(self, name: str) -> None:
        if (name, REST) in self.phases:
            others = sum(ms for (under, part), ms in self.phases.items() if under == name and part != REST)
            self.phases[name, REST] = self.phases["", name] - others


class _Phase:
    __slots__ = ("timer", "name", "excluded", "whole", "start", "inner", "ms")

    def __init__(self, timer: PhaseTimer, name: str, excluded: bool = False, whole: bool = False):
        self.timer, self.name, self.excluded, self.whole = timer, name, excluded, whole
        self.inner = 0  # ns of excluded phases inside

    def __enter__(self) -> _Phase:
        self.timer._open.append(self)
        self.start = self.timer._clock()
        return self

    def __exit__(self, *exc):
        elapsed = self.timer._clock() - self.start
        around = self.timer._open
        around.pop()
        if self.excluded:
            for phase in around:
                phase.inner += 0 if phase.whole else elapsed - self.inner
        self.ms = (elapsed - self.inner) / 1e6
        under = self.timer._under(self.excluded)
        if exc[0] is None and under is not None:
            self.timer._add((under, self.name), self.ms)
            if not under:
                self.timer._fill_rest(self.name)
