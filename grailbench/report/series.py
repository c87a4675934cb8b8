"""Cells over runs of one machine, and the steps in them.

Work counters are exact: any change is a step. Times have steps where E-divisive (`runs.changes`) finds them in the
medians by run and the gate of `compare` is passed; with fewer than `LEAST_RUNS` runs, and for the newest `TAIL` of
more, the rule of `compare` judges neighbours. A cell lost or found again, and other answers, are steps too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from grailbench.compare.gate import Gate
from grailbench.compare.ratios import Ratio
from grailbench.compare.runs import MIN_TRIALS, Clock, TimeChange, counter_changed, counter_verdict, group_of
from grailbench.harness import machines, statistics
from grailbench.harness.cells import Cell, Run, of_machine
from grailbench.harness.changes import e_divisive
from grailbench.harness.statistics import Interval

LEAST_RUNS = 12  #: fewer are too few for a permutation test
TAIL = 3  #: newest runs that are judged by the rule of `compare`, as they are too few for a segment
TIME, COUNTERS, STATUS = "time", "counters", "status"  #: kinds of steps
MOST_SPREAD = 3.0  #: a step by the rule of `compare` is larger than so many deviations of the other changes
LEAST_SPREAD = 5  #: runs from which on these are known
E_DIVISIVE, RULE, EXACT = "E-divisive", "compare", "exact"  #: how steps are found


class Point(NamedTuple):
    """A cell in a run."""

    run: Run
    cell: Cell


@dataclass(frozen=True, eq=False)
class Series:
    """A cell over the runs of one machine that have it, in the order in which they began."""

    machine: str
    points: tuple[Point, ...]

    dataset = property(lambda self: self.points[-1].cell.dataset)
    name = property(lambda self: self.points[-1].cell.name)

    def timed(self, phase: str) -> list[Point]:
        """The points with enough times of a phase to be compared."""
        return [each for each in self.points if each.cell.sound and each.cell.sample(phase).size >= MIN_TRIALS
                and (each.cell.sample(phase) > 0.0).all()]  # fmt: skip


@dataclass(frozen=True)
class Step:
    """A change between two runs.

    what    the phase, the counter, or 'status' or 'answers'
    before, after  the last run before it and the first after it that have the cell
    values  the texts or numbers of both sides: medians in ms of the segments, counters, statuses
    ratio   after / before; None where there is none, with `bounds`, its 95 % bootstrap interval
    p       of the permutation test; None for the other ways
    verdict 'regression', 'improvement' or 'changed'
    """

    series: Series
    kind: str
    what: str
    before: Run
    after: Run
    values: tuple[object, object]
    verdict: str
    how: str = EXACT
    ratio: float | None = None
    bounds: Interval | None = None
    p: float | None = None


@dataclass(frozen=True)
class Machine:
    """The runs of one machine in order, and the cells that two of them or more have."""

    name: str
    runs: list[Run]
    series: list[Series]


@dataclass(frozen=True)
class History:
    """Runs by machine; `apart` are runs that belong to no series, with the reason."""

    machines: list[Machine]
    apart: list[tuple[Run, str]] = field(default_factory=list)

    @cached_property
    def series(self) -> list[Series]:
        """All series."""
        return [each for machine in self.machines for each in machine.series]


def began(run: Run) -> str:
    """When a run began: the time of its first row, or of its environment; '' if unknown."""
    times = [at for row in run.rows if (at := row.get("at") or "")[:1].isdigit()]
    return min(times, default=run.environment.get("at") or "")


def history(runs: Iterable[Run], wanted=lambda cell: True) -> History:
    """The series of some runs. `wanted` says which cells are looked at."""
    groups: dict[str, list[Run]] = {}
    apart: list[tuple[Run, str]] = []
    for run in sorted((part for run in runs for part in _by_machine(run)), key=lambda run: (began(run), run.name)):
        if run.mixed and not run.environment.get("workers"):
            apart.append((run, "was measured on more than one machine"))
        elif run.fingerprint is None:
            apart.append((run, "does not say on which machine it was measured"))
        else:
            groups.setdefault(run.fingerprint, []).append(run)
    found = []
    for fingerprint, own in groups.items():
        series = list(_series(machines.named(fingerprint), own, wanted))
        found.append(Machine(machines.named(fingerprint), own, series))
        if len(own) == 1:
            apart.append((own[0], "is the only one of its machine"))
    return History([machine for machine in found if len(machine.runs) > 1], apart)


def _by_machine(run: Run) -> list[Run]:
    """A run as one of each machine whose workers measured it."""
    stored = run.environment if run.stored is None else run.stored
    if not stored.get("workers"):
        return [run]
    return [of_machine(run, machines.named(name)) for name in machines.by_machine(stored, run.rows)]


def _series(machine: str, runs: list[Run], wanted) -> Iterator[Series]:
    """The cells that two runs have; a graph that changed under its name makes another cell."""
    found: dict[tuple, list[Point]] = {}
    for run in runs:
        for cell in filter(wanted, run.cells):
            found.setdefault((cell.key, _graph(cell, found)), []).append(Point(run, cell))
    for points in found.values():
        if len(points) > 1:
            yield Series(machine, tuple(points))


def _graph(cell: Cell, found: dict[tuple, list[Point]]) -> str | None:
    """The graph's checksum; one that is not known is taken to be that of the last run with the cell."""
    if cell.graph_sha256:
        return cell.graph_sha256 if (cell.key, None) not in found else None
    known = [graph for key, graph in found if key == cell.key]
    return known[-1] if known else None


# ------------------------------------------------------------------ steps


def steps(series: Series, gate: Gate, phases: Iterable[str], kinds: Iterable[str] = (TIME, COUNTERS, STATUS)):
    """The steps of a series: of status and answers, of counters, then of the times of these phases."""
    kinds, pairs = set(kinds), list(zip(series.points, series.points[1:], strict=False))
    if STATUS in kinds:
        yield from (step for a, b in pairs if (step := _status(series, a, b)))
    if COUNTERS in kinds:
        yield from (step for a, b in pairs if a.cell.sound and b.cell.sound for step in _counters(series, a, b))
    if TIME in kinds:
        for phase in phases:
            yield from time_steps(series, phase, gate)


def _status(series: Series, a: Point, b: Point) -> Step | None:
    def step(what, values, verdict):
        return Step(series, STATUS, what, a.run, b.run, values, verdict)

    if a.cell.sound != b.cell.sound:
        return step("status", (a.cell.status, b.cell.status), "regression" if a.cell.sound else "improvement")
    checks = a.cell.checksum, b.cell.checksum
    if a.cell.sound and all(checks) and checks[0] != checks[1]:
        return step("answers", tuple(check[:8] for check in checks), "regression")
    return None


def _counters(series: Series, a: Point, b: Point) -> Iterator[Step]:
    before, after = a.cell.counters or {}, b.cell.counters or {}
    for name in before if after else ():
        old, new = before[name], after.get(name)
        if counter_changed(b.cell, name, old, new):
            ratio = new / old if old and new is not None else None
            verdict = counter_verdict(name, old, new, False)
            yield Step(series, COUNTERS, name, a.run, b.run, (old, new), verdict, ratio=ratio)


def time_steps(series: Series, phase: str, gate: Gate) -> list[Step]:
    """The steps in the times of a phase."""
    points = series.timed(phase)
    allowed = gate.allowed(group_of(points[0].cell)) if points else None
    medians = np.array([float(np.median(each.cell.sample(phase))) for each in points])
    if len(points) < 2 or medians.max() <= medians.min() * allowed.ratio:
        return []
    if len(points) < LEAST_RUNS:
        return [_ruled(series, phase, a, b, change) for a, b, change in _neighbours(points, phase, gate)]
    cuts = {change.at: change.p for change in e_divisive(np.log(medians))}
    cuts = _passing(cuts, medians, allowed)
    ends = [0, *cuts, len(points)]
    found = []
    for low, at, high in zip(ends, ends[1:], ends[2:], strict=False):
        sides = points[low:at], points[at:high]
        draws = [_drawn(side, phase, seed) for seed, side in enumerate(sides, 3)]
        values = float(np.median(medians[low:at])), float(np.median(medians[at:high]))
        ratio = Ratio(values[1] / values[0], statistics.interval_of(draws[1] / draws[0]))
        if ratio.order:
            found.append(Step(
                series, TIME, phase, points[at - 1].run, points[at].run, values,
                "regression" if ratio.order > 0 else "improvement", E_DIVISIVE, ratio.value, ratio.interval, cuts[at],
            ))  # fmt: skip
    if (tail := _tail(points, medians, ends[-2], phase, gate)) is not None:
        found.append(_ruled(series, phase, *tail))
    return found


def _tail(points: list[Point], medians: np.ndarray, start: int, phase: str, gate: Gate):
    """A change by the rule of `compare` from which on all of at most `TAIL` newest runs are off the level of their
    segment, which begins at `start`; None if there is none."""
    allowed = gate.allowed(group_of(points[0].cell))
    for newest in range(min(TAIL, len(points) - start - 2), 0, -1):
        at = len(points) - newest
        off = np.log(medians[at:] / float(np.median(medians[start:at])))
        least = max(np.log(allowed.ratio), _spread(medians[:at]))
        if (off > least).all() or (off < -least).all():
            change = _beyond(points[at - 1], points[at], phase, gate)
            if change is not None:
                return points[at - 1], points[at], change
    return None


def _passing(cuts: dict[int, float], medians: np.ndarray, allowed) -> dict[int, float]:
    """The cuts without those that the gate does not take for a change; the least is left out first, as segments grow
    when a cut is left out."""
    cuts = dict(cuts)
    while cuts:
        ends = [0, *cuts, medians.size]
        sizes = {}
        for low, at, high in zip(ends, ends[1:], ends[2:], strict=False):
            before, after = float(np.median(medians[low:at])), float(np.median(medians[at:high]))
            small = abs(after - before) < allowed.least_ms
            sizes[at] = 1.0 if small else max(after / before, before / after)
        least = min(sizes, key=lambda at: sizes[at])
        if sizes[least] > allowed.ratio:
            break
        del cuts[least]
    return cuts


def _drawn(points: list[Point], phase: str, seed: int) -> np.ndarray:
    """float64[RESAMPLES]: medians over runs that are drawn anew, of medians over trials that are drawn anew."""
    own = np.array([statistics.resampled(each.cell.sample(phase), seed=seed + i) for i, each in enumerate(points)])
    picks = np.random.default_rng(seed).integers(0, len(points), (statistics.RESAMPLES, len(points)))
    return statistics.medians(own[picks, np.arange(statistics.RESAMPLES)[:, None]])


def _neighbours(points: list[Point], phase: str, gate: Gate) -> Iterator[tuple[Point, Point, TimeChange]]:
    """The changes from one run to the next by the rule of `compare`, without those of a single run that is off: one
    whose neighbours are alike."""
    found = [_beyond(a, b, phase, gate) for a, b in zip(points, points[1:], strict=False)]
    at = 0
    medians = np.array([float(np.median(each.cell.sample(phase))) for each in points])
    for i, change in enumerate(found):
        if change and abs(np.log(change.ratio)) <= _spread(medians, i):
            found[i] = None
    while at < len(found):
        change, back = found[at], found[at + 1] if at + 1 < len(found) else None
        off = change and back and change.verdict != back.verdict
        if off and _beyond(points[at], points[at + 2], phase, gate) is None:
            at += 2
            continue
        if change:
            yield points[at], points[at + 1], change
        at += 1


def _spread(medians: np.ndarray, but: int | None = None) -> float:
    """`MOST_SPREAD` standard deviations of the changes (logarithms) from one run to the next, without the one numbered
    `but`, by their median; 0 of too few."""
    changes = np.abs(np.diff(np.log(medians)))
    others = changes if but is None else np.delete(changes, but)
    return MOST_SPREAD * 1.4826 * float(np.median(others)) if others.size >= LEAST_SPREAD - 2 else 0.0


def _beyond(a: Point, b: Point, phase: str, gate: Gate) -> TimeChange | None:
    """The change from one run to another if it is a regression or an improvement by the rule of `compare`."""
    change = Clock(a.run, b.run, gate).change(a.cell, b.cell, phase)
    alarm = isinstance(change, TimeChange) and change.verdict in ("regression", "improvement")
    return change if alarm else None


def _ruled(series: Series, phase: str, a: Point, b: Point, change: TimeChange) -> Step:
    values = change.base.ms, change.new.ms
    return Step(series, TIME, phase, a.run, b.run, values, change.verdict, RULE, change.ratio, change.bounds)
