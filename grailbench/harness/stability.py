"""Whether the times of a cell can be trusted: the verdict, by stated rules. docs/measuring.md ('Stability') has the
rates of false alarms and the power of each, as measured.

load       the machine had other work when the run, or a session of it, began (`environment.busy`)
drift      the last third of the trials differs from the first (`statistics.drift`)
two modes  the trials fall into groups: Hartigan's dip test (`dip`), and the groups are `MODES_APART` apart
wide interval  the interval of the median is wider than `MOST_WIDTH` of it

Only phases that tables show and that are longer than `LEAST_MS` are judged: shorter ones are noise of the clock. With
fewer than `LEAST_TRIALS` trials nothing is known but the load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grailbench.harness.cells import Cell
from grailbench.harness.dip import p_value
from grailbench.harness.environment import busy
from grailbench.harness.machines import sessions
from grailbench.harness.statistics import Stats
from grailbench.problems.contract import problem
from grailbench.util.words import count, fine_ratio

LEAST_TRIALS = 10  #: fewer are too few to tell
LEAST_MS = 0.05  #: phases with a shorter median are not judged, as a gate takes smaller differences for noise
MODES_LEVEL = 0.05  #: a p-value of the dip test up to this is no chance
MODES_APART = 0.05  #: the least distance of two modes that matters, relative to the median
MOST_WIDTH = 0.2  #: the widest interval of a median, relative to it: known to 10 % either way, the gate of `compare`
LOAD, DRIFT, MODES, WIDE = "load", "drift", "two modes", "wide interval"  #: the rules
RULES = (LOAD, DRIFT, MODES, WIDE)
STABLE, UNSTABLE, UNKNOWN = "stable", "unstable", "unknown"


class Finding(NamedTuple):
    """What a rule found: the rule, the phase ('' for the whole cell), and the reason as a sentence."""

    rule: str
    phase: str
    reason: str


@dataclass(frozen=True)
class Verdict:
    """The verdict on a cell.

    findings  what the rules found: none for a cell that is stable or not known to be
    unknown   why nothing can be said of its times, '' if something can
    few       the number of its trials, if that is why; else 0
    """

    findings: tuple[Finding, ...] = ()
    unknown: str = ""
    few: int = 0

    @property
    def stable(self) -> bool:
        """False if the times are not to be trusted; True also where nothing speaks against them because too little is
        known (`unknown`)."""
        return not self.findings

    @property
    def reasons(self) -> tuple[str, ...]:
        """Sentences on what was found."""
        return tuple(each.reason for each in self.findings)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that found something, each once, in the order of `RULES`."""
        return tuple(rule for rule in RULES if any(each.rule == rule for each in self.findings))

    @property
    def word(self) -> str:
        """'stable', 'unstable' or 'unknown'."""
        return UNSTABLE if self.findings else UNKNOWN if self.unknown else STABLE

    def of(self, phase: str) -> tuple[str, ...]:
        """The rules that speak against the times of one phase, among them those against the whole cell."""
        return tuple(dict.fromkeys(each.rule for each in self.findings if each.phase in ("", phase)))


def verdict(cell: Cell, environment: Mapping | None = None) -> Verdict:
    """The verdict on a cell of a run with this environment.

    'unknown' without sound times, with too few trials, and if all its phases are too short.
    """
    judged = {name: found for name in judged_phases(cell) if (found := cell.stats(name)) is not None}
    if not cell.sound or not judged:
        return Verdict(unknown="it has no times")
    busy_at = ", later ".join(loads(environment or {}))
    found = [Finding(LOAD, "", f"the machine had other work: {busy_at}")] if busy_at else []
    long = {name: stats for name, stats in judged.items() if stats.median >= LEAST_MS}
    if not long:
        return Verdict(tuple(found), f"its phases take less than {LEAST_MS:g} ms, which is noise of the clock")
    trials = max(stats.trials for stats in long.values())
    if trials < LEAST_TRIALS:
        return Verdict(tuple(found), f"{count(trials, 'trial')}, {LEAST_TRIALS} are needed to tell", trials)
    for name, stats in long.items():
        if stats.trials >= LEAST_TRIALS:
            found += _of_phase(name, stats)
    return Verdict(tuple(found))


def judged_phases(cell: Cell) -> tuple[str, ...]:
    """The phases of a cell that are judged if they are long enough: those of its problem, and `ready`."""
    return (*problem(cell.problem).phases, "ready")


def loads(environment: Mapping) -> list[str]:
    """'load average 3.1 on 2 cores' for each session of a run, also on workers, that began while the machine had other
    work."""
    return [load for each in sessions(environment) if (load := busy(each))]


def _of_phase(phase: str, stats: Stats) -> Iterator[Finding]:
    if (by := stats.drift) is not None:
        how = f"{abs(by):.0%} {'slower' if by > 0 else 'faster'}"
        yield Finding(DRIFT, phase, f"{phase} drifts: the last third of its trials is {how} than the first")
    if (modes := two_modes(stats.ms)) is not None:
        yield Finding(MODES, phase, f"{phase} has two modes, the slower takes {fine_ratio(modes)} times the faster")
    if (wide := width(stats)) > MOST_WIDTH:
        yield Finding(WIDE, phase, f"{phase} varies: the interval of its median is {wide:.0%} of it wide")


def width(stats: Stats) -> float:
    """The width of the 95 % interval of the median, relative to the median; 0 for a median of 0."""
    return (stats.median_high - stats.median_low) / stats.median if stats.median > 0 else 0.0


def two_modes(times: np.ndarray) -> float | None:
    """The ratio of the medians of two groups of times, the slower over the faster, if the times have two modes or more.

    They have if the dip test says so at `MODES_LEVEL`, and the medians differ by more than `MODES_APART` of the median
    of all. The groups are those with the least sum of squares within them. None otherwise.
    """
    ms = np.sort(np.asarray(times, dtype=np.float64))
    at = _cut(ms)
    fast, slow, middle = (float(np.median(part)) for part in (ms[:at], ms[at:], ms))
    if fast <= 0.0 or slow - fast <= MODES_APART * middle or p_value(ms) > MODES_LEVEL:
        return None
    return slow / fast


def _cut(ms: np.ndarray) -> int:
    """The size of the first of the two groups of ascending times with the least sum of squares within the groups."""
    size = np.arange(1, ms.size)
    sums = np.cumsum(ms)[:-1]
    between = sums**2 / size + (ms.sum() - sums) ** 2 / (ms.size - size)
    return int(between.argmax()) + 1
