"""Cells over the runs of one machine, in the order in which they began, and what `compare` marks from one to the next.

Runs of one code are one point of a cell: its median is that of their medians, its spread goes from the least to the
greatest of them. The code is the commit and, for a cell of a plug-in or a program, the files of that too. Something is
marked between two points if `runs.changes` finds it, alike, between each run of the one and each of the other.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from grailbench.compare import runs as comparing
from grailbench.compare.runs import CellChange, Change, CounterChange, Gate, TimeChange
from grailbench.compare.stability import mark
from grailbench.errors import NothingMeasured
from grailbench.harness import machines, plugins
from grailbench.harness.cells import Cell, Run, of_machine
from grailbench.harness.rows import grouped
from grailbench.harness.statistics import Interval, median_interval

TIME, COUNTERS, STATUS = KINDS = ("time", "counters", "status")
_ORDER = {"regression": 0, "improvement": 1, "changed": 2}


@dataclass(frozen=True, eq=False)
class Point:
    """A cell in the runs of one code, in their order; `code` names that: 'abc1234, its-mine 0.2 1a2b3c4'."""

    code: str
    found: tuple[tuple[Run, Cell], ...]

    @property
    def sound(self) -> bool:
        """True if a run has times of it that may be shown."""
        return any(cell.sound for _, cell in self.found)

    def medians(self, phase: str) -> list[float]:
        """The median ms of a phase in each run that timed it."""
        samples = (cell.sample(phase) for _, cell in self.found if cell.sound)
        return [float(np.median(sample)) for sample in samples if sample.size]

    def mark(self, phase: str) -> str:
        """The mark of its times of a phase (`stability.mark`)."""
        return mark(*(cell for _, cell in self.found), phases=(phase,))

    def spread(self, phase: str) -> Interval | None:
        """From the least to the greatest of its medians; of a single run the 95 % interval of the median."""
        if len(medians := self.medians(phase)) > 1:
            return Interval(min(medians), max(medians))
        samples = [sample for _, cell in self.found if cell.sound and (sample := cell.sample(phase)).size > 1]
        return median_interval(samples[0]) if samples else None


@dataclass(frozen=True, eq=False)
class Series:
    """A cell over the runs of one machine that have it."""

    machine: str
    points: tuple[Point, ...]

    @property
    def cell(self) -> Cell:
        """The cell in the newest run."""
        return self.points[-1].found[-1][1]

    dataset = property(lambda self: self.cell.dataset)
    name = property(lambda self: self.cell.name)

    def timed(self, phase: str) -> list[tuple[Point, float]]:
        """The points with times of a phase, each with the median of its medians."""
        return [(point, float(np.median(found))) for point in self.points if (found := point.medians(phase))]


class Mark(NamedTuple):
    """What is marked between two points of a cell.

    kind     one of `KINDS`
    what     the phase, the counter, or 'status' or 'answers'
    values   of both sides: medians in ms, counters, statuses, or digits of checksums
    verdict  'regression', 'improvement' or 'changed'
    ratio    after / before, with `interval`, the least and the greatest bound that `compare` gives; None without
    """

    series: Series
    kind: str
    what: str
    before: Point
    after: Point
    values: tuple[object, object]
    verdict: str
    ratio: float | None = None
    interval: Interval | None = None


class Machine(NamedTuple):
    """The runs of one machine in their order, and the cells that two of them or more have."""

    name: str
    runs: list[Run]
    series: list[Series]


class History(NamedTuple):
    """Runs by machine, and what is marked in them, the worst first; `excluded` are runs that are compared with no
    other, with the reason."""

    machines: list[Machine]
    excluded: list[tuple[Run, str]]
    phases: tuple[str, ...]
    marks: list[Mark]

    @property
    def series(self) -> list[Series]:
        """All cells."""
        return [each for machine in self.machines for each in machine.series]

    def check(self) -> None:
        """Raises NothingMeasured if no cell is in two runs of one machine."""
        if not self.series:
            reasons = "; ".join(dict.fromkeys(f"{run.name} {reason}" for run, reason in self.excluded))
            raise NothingMeasured(f"no cell is in two runs of one machine{': ' if reasons else ''}{reasons}")


def of_runs(
    runs: Iterable[Run], gate: Gate | None = None, kinds: Iterable[str] = KINDS,
    wanted: Callable[[Cell], bool] = lambda cell: True, phases: Iterable[str] = (),
) -> History:  # fmt: skip
    """The history of some runs.

    gate    what is marked, as for `compare`
    kinds   of marks
    wanted  which cells are looked at
    phases  of the times, by default the gate's and the last ones of the runs' problems
    """
    runs, kinds, gate = list(runs), set(kinds), gate or Gate()
    chosen = tuple(phases) or tuple(comparing.with_last_phases(gate, *runs).metrics)
    gate = gate.model_copy(update={"metrics": list(chosen)})
    found, excluded = _by_machine(runs, wanted)
    marks = [mark for each in found for series in each.series for mark in _marks(series, gate) if mark.kind in kinds]
    return History(found, excluded, chosen, sorted(marks, key=_badness))


def began(run: Run) -> str:
    """When a run began: the time of its first row, or of its environment; '' if unknown."""
    times = [at for row in run.rows if (at := row.get("at") or "")[:1].isdigit()]
    return min(times, default=run.environment.get("at") or "")


def commit(run: Run) -> str:
    """The commit of a run in seven digits, with '+' if there were changes; 'unknown' without one."""
    found = run.environment.get("commit")
    return f"{found[:7]}{'+' if run.environment.get('dirty') else ''}" if found else "unknown"


def _by_machine(runs: Iterable[Run], wanted: Callable[[Cell], bool]) -> tuple[list[Machine], list[tuple[Run, str]]]:
    alone, excluded = [], []
    for run in sorted((part for run in runs for part in _parts(run)), key=lambda run: (began(run), run.name)):
        if run.mixed and not run.environment.get("workers"):
            excluded.append((run, "was measured on more than one machine"))
        elif run.fingerprint is None:
            excluded.append((run, "does not say on which machine it was measured"))
        else:
            alone.append(run)
    groups = grouped(alone, lambda run: run.fingerprint)
    excluded += [(own[0], "is the only one of its machine") for own in groups.values() if len(own) == 1]
    found = [(machines.named(fingerprint), own) for fingerprint, own in groups.items() if len(own) > 1]
    return [Machine(name, own, list(_series(name, own, wanted))) for name, own in found], excluded


def _parts(run: Run) -> list[Run]:
    """A run as one of each machine whose workers measured it."""
    stored = run.environment if run.stored is None else run.stored
    if not stored.get("workers"):
        return [run]
    return [of_machine(run, machines.named(name)) for name in machines.by_machine(stored, run.rows)]


def _series(machine: str, runs: list[Run], wanted: Callable[[Cell], bool]) -> Iterator[Series]:
    """The cells that two runs have; a graph that changed under its name makes another cell."""
    found: dict[tuple, list[tuple[Run, Cell]]] = {}
    for run in runs:
        for cell in filter(wanted, run.cells):
            found.setdefault((cell.key, _graph(cell, found)), []).append((run, cell))
    for own in found.values():
        if len(own) > 1:
            points = grouped(own, lambda each: _code(*each))
            yield Series(machine, tuple(Point(text, tuple(its)) for (text, *_), its in points.items()))


def _graph(cell: Cell, found: Iterable[tuple]) -> str | None:
    """The graph's checksum; one that is not known is taken to be that of the last run with the cell."""
    if cell.graph_sha256:
        return cell.graph_sha256 if (cell.key, None) not in found else None
    known = [graph for key, graph in found if key == cell.key]
    return known[-1] if known else None


def _code(run: Run, cell: Cell) -> tuple:
    """The code that a cell was measured with: its text first, then what is equal for equal code."""
    environment = run.environment
    text, known = commit(run), bool(environment.get("commit"))
    known &= not environment.get("dirty") or environment.get("code") is not None
    plugin = (environment.get("implementations") or {}).get(plugins.key(cell.problem, cell.impl))
    if plugin is not None:
        text += f", {plugin.get('distribution') or cell.impl} {plugin.get('version') or ''}".rstrip()
        text += f" {plugin['files'][:7]}"
    elif cell.distribution is not None:
        text, known = f"{text}, {cell.impl} unknown", False
    files = plugin and plugin["files"]
    return text, environment.get("commit"), environment.get("code"), files, None if known else id(run)


# ------------------------------------------------------------------ marks


def _badness(mark: Mark) -> tuple:
    size = math.inf if not mark.ratio else abs(math.log(mark.ratio))
    place = (mark.series.machine, mark.series.dataset, mark.series.name, mark.what, began(mark.after.found[0][0]))
    return _ORDER[mark.verdict], mark.kind != STATUS, -size, place


def _marks(series: Series, gate: Gate) -> Iterator[Mark]:
    """What is marked from each point to the next; counters and times also over points without sound times."""
    sound = None
    for before, after in pairwise(series.points):
        sound = before if before.sound else sound
        yield from _between(series, before, after, gate)
        if sound not in (None, before) and after.sound:
            yield from (mark for mark in _between(series, sound, after, gate) if mark.kind != STATUS)


def _between(series: Series, before: Point, after: Point, gate: Gate) -> Iterator[Mark]:
    phases = []  # whose medians differ by more than the gate allows
    for phase in gate.metrics:
        medians = before.medians(phase), after.medians(phase)
        if all(medians) and max(map(max, medians)) > gate.ratio * min(map(min, medians)):
            phases.append(phase)
    if not phases:
        gate = gate.model_copy(update={"times": "none"})  # the bootstrap of what is the same anyway takes most time
    gate = gate.model_copy(update={"metrics": phases})
    pairs = [(old, now) for old in before.found for now in after.found]
    found: dict[tuple, list[tuple[Change, Cell, Cell]]] = {}
    for (run, cell), (later, its) in pairs:
        for change in comparing.changes(cell, its, gate, comparing.Clock(run, later, gate)):
            if (name := _named(change, cell)) is not None:
                found.setdefault(name, []).append((change, cell, its))
    for (kind, what, verdict), own in found.items():
        if len(own) == len(pairs):
            yield _mark(series, kind, what, verdict, before, after, own)


def _named(change: Change, old: Cell) -> tuple[str, str, str] | None:
    """Kind, subject and verdict of what is marked; None for what is not, such as a counter that only one run has."""
    if isinstance(change, CellChange):
        what = "answers" if change.reason == comparing.OTHER_ANSWERS else "status"
        verdict = "improvement" if change.verdict == "note" and not old.sound else change.verdict
        found = STATUS, what, verdict
    elif isinstance(change, CounterChange):
        found = COUNTERS, change.counter, "note" if None in (change.base, change.new) else change.verdict
    elif isinstance(change, TimeChange):
        found = TIME, change.phase, change.verdict
    else:
        return None
    return found if found[-1] in _ORDER else None


def _mark(
    series: Series, kind: str, what: str, verdict: str, before: Point, after: Point,
    found: list[tuple[Change, Cell, Cell]],
) -> Mark:  # fmt: skip
    change, old, now = found[-1]
    if kind == TIME:
        values = float(np.median(before.medians(what))), float(np.median(after.medians(what)))
        bounds = [each.bounds for each, *_ in found]
        interval = Interval(min(low for low, _ in bounds), max(high for _, high in bounds))
        return Mark(series, kind, what, before, after, values, verdict, values[1] / values[0], interval)
    if kind == COUNTERS:
        ratio = change.new / change.base if change.base else None
        return Mark(series, kind, what, before, after, (change.base, change.new), verdict, ratio)
    values = (old.status, now.status) if what == "status" else (old.checksum[:8], now.checksum[:8])
    return Mark(series, kind, what, before, after, values, verdict)
