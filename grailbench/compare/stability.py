"""Whether the times of a cell can be trusted: the verdict, by stated rules, the mark of numbers that are made of them,
and what is said of unstable times, with the commands that help. 'Stability' of the docs has the rates of false alarms
and the power of each.

load       other programs, or a hypervisor, took more than a tenth of the cores while the cell was timed
           (`harness.load`); of older runs: the load average was high when a session of it began (`environment.busy`)
drift      the last third of the trials differs from the first (`statistics.drift`)
two modes  the trials fall into groups: Hartigan's dip test (`dip_p_value`), and the groups are `MODES_APART` apart
wide interval  the interval of the median is wider than `MOST_WIDTH` of it

Trials of several seeds have queries and child orders of their own, by which their times differ: of such a cell only
load and drift are judged.

Only phases that tables show and that are longer than `LEAST_MS` are judged: shorter ones are noise of the clock. With
fewer than `LEAST_TRIALS` trials nothing is known but the load.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from grailbench.errors import InputError
from grailbench.harness.cells import Cell, Run
from grailbench.harness.statistics import Stats, medians
from grailbench.problems.contract import problem
from grailbench.util.visible import quoted
from grailbench.util.words import FEW, MARK, count, fine_ratio, listing, worst

LEAST_TRIALS = 10  #: fewer are too few to tell
LEAST_MS = 0.05  #: phases with a shorter median are not judged, as a gate takes smaller differences for noise
MODES_LEVEL = 0.05  #: a p-value of the dip test up to this is no chance
MODES_APART = 0.05  #: the least distance of two modes that matters, relative to the median
MODES_SHARE = 0.1  #: the least share of the trials in the smaller group, two trials or more: fewer are outliers
MOST_WIDTH = 0.2  #: the widest interval of a median, relative to it: known to 10 % either way, the gate of `compare`
LOAD, DRIFT, MODES, WIDE = "load", "drift", "two modes", "wide interval"  #: the rules
RULES = (LOAD, DRIFT, MODES, WIDE)
STABLE, UNSTABLE, UNKNOWN = "stable", "unstable", "unknown"
SAMPLES = 2000  #: uniform samples of which a p-value of the dip is made
WARNING = "UNSTABLE: run again."  #: how the first line of `warnings` begins
_LARGEST = 100  # times of a sample that is drawn; dips of larger ones are scaled, as sqrt(n) times the dip converges
_NAMED, _LOADS = 5, 3  # cells and loads that `warnings` names
_MOST_TRIALS = 200  # that are proposed


def is_unstable(cell: Cell, phases: tuple[str, ...] = (), load: bool = True) -> bool:
    """Whether a rule speaks against the times of some phases of a cell, by default against any; other work counts
    unless `load` is False."""
    return any(load or rule != LOAD for rule in verdict(cell).of(*phases))


def mark(*cells: Cell, phases: tuple[str, ...] = ()) -> str:
    """The mark of a number that is made of times of some phases of cells, by default of any: `words.MARK` if some are
    unstable, else `words.FEW` if a cell has too few trials to tell, else ''."""
    return worst(verdict(cell).mark(*phases) for cell in cells)


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
        return self.of()

    @property
    def word(self) -> str:
        """'stable', 'unstable' or 'unknown'."""
        return UNSTABLE if self.findings else UNKNOWN if self.unknown else STABLE

    def of(self, *phases: str) -> tuple[str, ...]:
        """The rules that speak against the times of some phases, by default of any, among them those against the whole
        cell; in the order of `RULES`."""
        found = {each.rule for each in self.findings if not phases or each.phase in ("", *phases)}
        return tuple(rule for rule in RULES if rule in found)

    def mark(self, *phases: str) -> str:
        """The mark of a number that is made of times of some phases, by default of any (`stability.mark`)."""
        return MARK if self.of(*phases) else FEW if self.few else ""


@lru_cache(None)
def verdict(cell: Cell) -> Verdict:
    """The verdict on a cell.

    'unknown' without sound times, with too few trials, and if all its phases are too short.
    """
    judged = {name: found for name in judged_phases(cell) if (found := cell.stats(name)) is not None}
    if not cell.sound or not judged:
        return Verdict(unknown="it has no times")
    found = [Finding(LOAD, "", f"the machine had other work: {cell.load}")] if cell.load else []
    trials = max(stats.trials for stats in judged.values())
    if trials < LEAST_TRIALS:
        return Verdict(tuple(found), f"{count(trials, 'trial')}, {LEAST_TRIALS} are needed to tell", trials)
    long = {name: stats for name, stats in judged.items() if stats.median >= LEAST_MS}
    if not long:
        return Verdict(tuple(found), f"its phases take less than {LEAST_MS:g} ms, which is noise of the clock")
    for name, stats in long.items():
        if stats.trials >= LEAST_TRIALS:
            found += _of_phase(name, stats, alike=cell.seed is not None)
    return Verdict(tuple(found))


def judged_phases(cell: Cell) -> tuple[str, ...]:
    """The phases of a cell that are judged if they are long enough: those of its problem, and `ready`."""
    return (*problem(cell.problem).phases, "ready")


def _of_phase(phase: str, stats: Stats, alike: bool) -> Iterator[Finding]:
    """What is found of a phase; `alike` is False if its trials differ in what they do."""
    if (by := stats.drift) is not None:
        how = f"{abs(by):.0%} {'slower' if by > 0 else 'faster'}"
        yield Finding(DRIFT, phase, f"{phase} drifts: the last third of its trials is {how} than the first")
    if not alike:
        return
    if (modes := two_modes(stats.ms)) is not None:
        yield Finding(MODES, phase, f"{phase} has two modes, the slower takes {fine_ratio(modes)} times the faster")
    if (wide := width(stats)) > MOST_WIDTH:
        yield Finding(WIDE, phase, f"{phase} varies: the interval of its median is {wide:.0%} of it wide")


def varies(times: Iterable[float]) -> bool:
    """True if times of equal work that no run has, in ms, are unstable by the rules that need no more than them."""
    stats = Stats(tuple(times))
    enough = stats.trials >= LEAST_TRIALS and stats.median >= LEAST_MS
    return enough and any(True for _ in _of_phase("", stats, alike=True))


def mark_of_record(record: Mapping) -> str:
    """The mark of the times of a record of what no run has: whether they are `unstable`, and whether they are `few`."""
    return MARK if record.get("unstable") else FEW if record.get("few") else ""


def width(stats: Stats) -> float:
    """The width of the 95 % interval of the median, relative to the median; 0 for a median of 0."""
    return (stats.median_high - stats.median_low) / stats.median if stats.median > 0 else 0.0


def two_modes(times: np.ndarray) -> float | None:
    """The ratio of the medians of two groups of times, the slower over the faster, if the times have two modes or more.

    They have if the dip test says so at `MODES_LEVEL`, and the medians differ by more than `MODES_APART` of the median
    of all. The groups are those with the least sum of distances to their medians, of those that leave `MODES_SHARE` of
    the trials and two on either side: one slow trial is an outlier, no mode. None otherwise.
    """
    ms = np.sort(np.asarray(times, dtype=np.float64))
    at = _cut(ms)
    fast, slow, middle = (float(medians(part[None])[0]) for part in (ms[:at], ms[at:], ms))
    if fast <= 0.0 or slow - fast <= MODES_APART * middle or dip_p_value(ms) > MODES_LEVEL:
        return None
    return slow / fast


def _cut(ms: np.ndarray) -> int:
    """The size of the first of the two groups of ascending times with the least sum of distances to their medians."""
    least = max(2, math.ceil(MODES_SHARE * ms.size))
    at = np.arange(least, ms.size - least + 1)
    sums = np.concatenate(([0.0], np.cumsum(ms)))
    return int(at[(_spread(sums, 0, at) + _spread(sums, at, ms.size)).argmin()])


def _spread(sums: np.ndarray, low: ArrayLike, high: ArrayLike) -> np.ndarray:
    """Distances of ascending times from places `low` to `high` to their median, summed; `sums`: up to each place."""
    half = (np.asarray(high) - low) // 2
    return sums[high] - sums[high - half] - (sums[low + half] - sums[low])


# ------------------------------------------------------------------ the dip test


def dip(times: ArrayLike) -> float:
    """Hartigan's dip: the largest distance between the distribution function of the times and the nearest unimodal one,
    1 / 2n at least, up to 1/4 for two modes that are well apart.

    J. A. Hartigan, P. M. Hartigan: The Dip Test of Unimodality, Annals of Statistics 13, 1985; the algorithm is AS 217,
    Applied Statistics 34, 1985, with the corrections of M. Maechler. Raises ValueError for an empty sample."""
    x = sorted(map(float, np.asarray(times).ravel()))
    n = len(x)
    if n == 0:
        raise ValueError("the dip is of one time or more")
    if n < 4 or x[0] == x[-1]:
        return 0.5 / n
    below, above = _hull(x), _hull([-value for value in reversed(x)])
    minorant, majorant = below, [n - 1 - at for at in reversed(above)]
    low, high, found = 0, n - 1, 1.0
    while True:
        gcm, lcm = _chain(minorant, high, low), _chain(majorant, low, high)
        distance, g, h = _widest(x, gcm, lcm)
        if distance < found:
            break
        found = max(found, _within(x, gcm[g:][::-1], 1), _within(x, lcm[h:], -1))
        if (low, high) == (gcm[g], lcm[h]):
            break
        low, high = gcm[g], lcm[h]
    return found / (2 * n)


def dip_p_value(times: ArrayLike) -> float:
    """How often a uniform sample of this size has a dip that is as large: the test of unimodality, as the uniform
    distribution is the unimodal one with the largest dips (asymptotically)."""
    size = np.asarray(times).size
    drawn = min(size, _LARGEST)
    scaled = dip(times) * (size / drawn) ** 0.5
    null = _uniform(drawn)
    return (1 + len(null) - bisect_left(null, scaled - 1e-12)) / (1 + len(null))


@lru_cache(None)
def _uniform(size: int) -> tuple[float, ...]:
    """The dips of `SAMPLES` uniform samples of this size, in ascending order."""
    return tuple(sorted(map(dip, np.random.default_rng(size).random((SAMPLES, size)))))


def _hull(x: list[float]) -> list[int]:
    """For each point of the distribution function the one before it on the greatest convex minorant up to it."""
    before = [0] * len(x)
    for j in range(1, len(x)):
        at = j - 1
        while at and (x[j] - x[at]) * (at - before[at]) >= (x[at] - x[before[at]]) * (j - at):
            at = before[at]
        before[j] = at
    return before


def _chain(following: list[int], start: int, end: int) -> list[int]:
    """The points from `start` to `end`, each followed by that which `following` has for it."""
    found = [start]
    while found[-1] != end:
        found.append(following[found[-1]])
    return found


def _widest(x: list[float], gcm: list[int], lcm: list[int]) -> tuple[float, int, int]:
    """The greatest distance of minorant (`gcm`, from its end on) and majorant, and the places in both where it is."""
    if len(gcm) == 2 and len(lcm) == 2:
        return 1.0, 1, 1
    distance, g, h = 0.0, len(gcm) - 1, len(lcm) - 1
    i, v = len(gcm) - 2, 1
    while True:
        a, b = gcm[i], lcm[v]
        if a > b:
            start = gcm[i + 1]
            found = (b - start + 1) - (x[b] - x[start]) * (a - start) / (x[a] - x[start])
            v += 1
            if found >= distance:
                distance, g, h = found, i + 1, v - 1
        else:
            start = lcm[v - 1]
            found = (x[a] - x[start]) * (b - start) / (x[b] - x[start]) - (a - start - 1)
            i -= 1
            if found >= distance:
                distance, g, h = found, i + 1, v
        i, v = max(i, 0), min(v, len(lcm) - 1)
        if gcm[i] == lcm[v]:
            return distance, g, h


def _within(x: list[float], chain: list[int], sign: int) -> float:
    """The greatest distance between the distribution function and the lines that join the points of a chain."""
    most = 0.0
    for start, end in zip(chain, chain[1:], strict=False):
        most = max(most, 1.0)
        if end - start > 1 and x[end] != x[start]:
            slope = (end - start) / (x[end] - x[start])
            for at in range(start, end + 1):
                most = max(most, sign * ((at - start) - (x[at] - x[start]) * slope) + 1)
    return most


# ------------------------------------------------------------------ what is said of unstable times


def verdicts(cells: Iterable[Cell]) -> dict[tuple, Verdict]:
    """The verdicts on the cells of a run, by `Cell.key`."""
    return {cell.key: verdict(cell) for cell in cells}


def warnings(cells: Iterable[Cell], run: str = "", found: Mapping | None = None) -> list[str]:
    """What is said of the cells of a run: which are unstable, why, and the commands that help; those with too few
    trials; nothing if all are stable. Lines that begin with spaces belong to the one above.

    run    its name or folder, for commands; '' for a run that cannot be gone on with, such as a recorded one
    found  the verdicts, if they are known already
    """
    cells = list(cells)
    found = verdicts(cells) if found is None else found
    return [*_unstable(cells, found, run), *_few(cells, found, run)]


def require_stable(run: Run) -> None:
    """Raises InputError if a cell of a run is unstable."""
    found = {key: each for key, each in verdicts(run.cells).items() if not each.stable}
    if found:
        rules = Counter(rule for each in found.values() for rule in each.rules)
        why = ", ".join(f"{rule} ({rules[rule]})" for rule in RULES if rules[rule])
        message = f"the times of {len(found)} of {count(len(run.cells), 'cell')} are unstable: {why}"
        remedy = f"measure again on a quiet machine, or --unstable, which marks each number with {MARK}"
        raise InputError(message, path=run.folder, remedy=remedy)


def _unstable(cells: list[Cell], found: Mapping[tuple, Verdict], run: str) -> Iterator[str]:
    bad = [cell for cell in cells if not found[cell.key].stable]
    if not bad:
        return
    rules = Counter(rule for cell in bad for rule in found[cell.key].rules)
    found_by = ", ".join(f"{rule} ({rules[rule]})" for rule in RULES if rules[rule])
    timed = sum(bool(cell.times) and cell.sound for cell in cells)
    yield f"{WARNING} The times of {len(bad)} of {count(timed, 'cell')} cannot be trusted: {found_by}."
    if rules[LOAD]:
        yield f"  The machine had other work: {listing(dict.fromkeys(cell.load for cell in bad if cell.load), _LOADS)}."
    named = [cell for cell in bad if found[cell.key].rules != (LOAD,)]
    for cell in named[:_NAMED]:
        why = [each.reason for each in found[cell.key].findings if each.rule != LOAD]
        yield f"  {cell.dataset} {cell.name}: {'; '.join(why)}."
    if (more := len(named) - _NAMED) > 0:
        yield f"  {count(more, 'more cell')}: see the column 'stability' of all cells (--details, report.md)."
    if rules.keys() - {WIDE}:
        yield "  Stop other work on the machine, let it rest, and measure again with the same plan."
    if rules[WIDE] and run:
        wide = [cell for cell in bad if WIDE in found[cell.key].rules]
        yield f"  More trials make intervals narrower: {_more(run, cells, max(map(_needed, wide)))}"


def _few(cells: list[Cell], found: Mapping[tuple, Verdict], run: str) -> Iterator[str]:
    if few := [cell for cell in cells if found[cell.key].few]:
        how = f": {_more(run, cells, LEAST_TRIALS)}" if run else ""
        yield (
            f"{count(len(few), 'cell')} of {len(cells)} {'has' if len(few) == 1 else 'have'} too few trials to tell if "
            f"{'it is' if len(few) == 1 else 'they are'} stable, {LEAST_TRIALS} are needed{how}"
        )


def _needed(cell: Cell) -> int:
    """The trials with which the interval of a cell's median would be narrow enough: its width falls with their root."""
    phases = [stats for name in judged_phases(cell) if (stats := cell.stats(name)) is not None]
    return max(math.ceil(each.trials * max(1.0, width(each) / MOST_WIDTH) ** 2) for each in phases)


def _more(run: str, cells: Iterable[Cell], trials: int) -> str:
    """The command that goes on with a run to so many trials, in tens, and no fewer than any cell was planned."""
    planned = max((cell.planned or 0 for cell in cells), default=0)
    wanted = max(planned, min(-(-trials // 10) * 10, _MOST_TRIALS))
    return f"grailbench run --resume={quoted(run)} --trials {wanted}"
