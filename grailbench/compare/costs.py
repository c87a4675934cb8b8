"""What is worth its price: Pareto fronts, and from how many queries a longer build pays.

A configuration costs a straight line: its build once, and so much for each query (`Cost`). From how many queries one
pays against another is where two lines cross; its interval is a bootstrap of the four medians (the page 'statistics',
'From how many queries an index pays'). Only what one machine answered of one query set of one graph is compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from grailbench.compare.measures import NS, ONE, Trials, median, place
from grailbench.compare.ratios import FEW, span
from grailbench.harness.cells import Cell
from grailbench.harness.rows import grouped
from grailbench.harness.statistics import LEVEL, Interval, Stats, resampled
from grailbench.problems.contract import USUAL
from grailbench.util.words import count

T = TypeVar("T")
LEAST = 1  #: queries: for none nothing is built
NEVER = "never"
BUILDS = {"ready": "from edges", "label": "labels"}  #: the phases that a build is taken from, and their words
GRAPHS = 5  #: graphs of a query set that have a sentence, the largest
SWEEP = "sweep"  #: the implementation without an index that an index must beat


class Cost(NamedTuple):
    """What a configuration costs: `once` for its build, and `each` for every query, in the same unit."""

    once: float
    each: float

    def of(self, queries: float) -> float:
        """The build and so many queries."""
        return self.once + queries * self.each


def front(points: Sequence[Sequence[float]]) -> list[bool]:
    """Which points are on the Pareto front, of points with as many coordinates each, where less is better.

    A point is on it unless another one is nowhere more and somewhere less; of equal points all are, or none.
    """

    values = np.array(points, np.float64)
    return [not ((values <= own).all(axis=1) & (values < own).any(axis=1)).any() for own in values]


def break_even(own: Cost, other: Cost, least: int = 0) -> float:
    """The least whole number of queries, `least` or more, from which on `own` costs no more than `other`; `inf` if its
    queries take as long, so that it never pays for a longer build."""
    if own.each >= other.each:
        return math.inf
    crossing = (own.once - other.once) / (other.each - own.each)
    return max(least, math.ceil(crossing)) if math.isfinite(crossing) else math.inf


class Step(NamedTuple):
    """What is cheapest from so many queries on, up to the next step."""

    option: Any
    since: int


def envelope(items: Iterable[T], cost: Callable[[T], Cost], least: int = 0) -> list[Step]:
    """What is cheapest for how many queries, from `least` on: the lower envelope of the lines."""
    steps: list[Step] = []
    for item in sorted(items, key=cost):
        if steps and cost(item).each >= cost(steps[-1].option).each:
            continue  # dearer to build, and never cheaper to ask
        since: float = least
        while steps and (since := break_even(cost(item), cost(steps[-1].option), least)) <= steps[-1].since:
            steps.pop()
        if since < math.inf:
            steps.append(Step(item, int(since) if steps else least))
    return steps


class Timed(NamedTuple):
    """The trials behind a `Cost`: of the build, and of a batch of so many queries."""

    build: Trials
    batch: Trials
    queries: int

    @classmethod
    def of(cls, cell: Cell, build: str) -> Timed | None:
        """Those of a cell; None if its build or its batch was not timed."""
        times = cell.times.get(("", build)), cell.times.get(("", cell.last_phase))
        return cls(*times, cell.queries) if cell.sound and all(times) and cell.queries else None

    def cost(self, scale: float = 1.0) -> Cost:
        """What it costs, in ms times `scale`."""
        build, batch = (Stats(tuple(each.values())).median for each in (self.build, self.batch))
        return Cost(build * scale, batch * scale / self.queries)


def break_even_interval(own: Timed, other: Timed, least: int = 0) -> Interval | None:
    """The 95 % interval of `break_even` by bootstrap of the four medians; times of the same trials are drawn together.
    The upper bound is `inf` if too many draws never pay. None where a time has fewer than `FEW` trials."""
    times = (own.build, own.batch, other.build, other.batch)
    if min(map(len, times)) < FEW:
        return None
    seeds: dict[tuple[int, ...], int] = {}
    draws = [resampled(list(each.values()), seed=seeds.setdefault(tuple(each), len(seeds) + 1)) for each in times]
    saved = draws[3] / other.queries - draws[1] / own.queries
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.maximum(np.ceil((draws[0] - draws[2]) / saved), least)
    found = np.sort(np.where(saved > 0, crossing, np.inf))
    tail = (1.0 - LEVEL) / 2.0 * (found.size - 1)
    return Interval(float(found[math.floor(tail)]), float(found[found.size - 1 - math.floor(tail)]))


# ------------------------------------------------------------------ configurations of one graph


@dataclass(frozen=True, eq=False)
class Point:
    """A configuration of a group: its cell, and its name there."""

    cell: Cell
    name: str

    @property
    def batch(self) -> Stats:
        """The trials of its batch of queries, or of its solution."""
        return self.cell.stats(self.cell.last_phase)

    def cost(self, build: str) -> Cost | None:
        """ms of a build and of each query; None if either was not timed."""
        found = Timed.of(self.cell, build)
        return found and found.cost()


@dataclass(frozen=True, eq=False)
class Group:
    """The configurations that one machine ran on one query set of one graph, those with a time of their answers.

    queries  the query set as headings name it, '' for the usual
    """

    problem: str
    graph: str
    queries: str
    edges: int
    points: list[Point] = field(default_factory=list)

    @property
    def title(self) -> str:
        """'kegg, balanced'."""
        problem = "" if self.problem == USUAL else self.problem
        return ", ".join(filter(None, (problem, self.graph, self.queries)))

    @cached_property
    def alike(self) -> bool:
        """True if all were asked equally many queries; a time is that of the batch then, else that of a query."""
        return len({point.cell.queries for point in self.points}) == 1 or self.problem != USUAL

    def scale(self, point: Point) -> float:
        """What a time of a batch in ms is multiplied by in the group's panels."""
        return 1.0 if self.alike else NS / (point.cell.queries or 1)

    @property
    def axis(self) -> str:
        """The label of the axis of the times."""
        if self.problem != USUAL:
            return "median ms"
        return f"{self.points[0].cell.queries or '?':,} queries, ms" if self.alike else "a query, ns"

    @cached_property
    def build(self) -> str:
        """The phase of `BUILDS` that builds are compared in: from edges where two were timed so, else the labels."""
        timed = (b for b in BUILDS if sum(median(point.cell, b) is not None for point in self.points) > 1)
        return next(timed, [*BUILDS][-1])


def groups(named: Iterable[tuple[Cell, str, str]]) -> list[Group]:
    """The cells with a time of their answers, in groups, in their order; each comes with the names that headings have
    for its configuration and its query set."""
    found: dict[tuple, Group] = {}
    for cell, name, queries in named:
        if not cell.sound or cell.stats(cell.last_phase) is None:
            continue
        key = cell.problem, cell.dataset, cell.whole_set
        queries = queries if cell.part is None and cell.query_set != "all" else ""
        group = found.setdefault(key, Group(cell.problem, cell.dataset, queries, cell.edges or 0))
        part = "" if cell.part is None else f" (first {cell.part:,} pairs)"
        group.points.append(Point(cell, name + part))
    return list(found.values())


def largest(found: Iterable[T], group_of: Callable[[T], Group], most: int) -> list[T]:
    """Those of the so many largest graphs of each problem and query set, in their order."""
    found = list(found)
    kinds = grouped(found, lambda each: (group_of(each).problem, group_of(each).queries))
    chosen = {id(e) for own in kinds.values() for e in sorted(own, key=lambda each: -group_of(each).edges)[:most]}
    return [each for each in found if id(each) in chosen]


# ------------------------------------------------------------------ from how many queries a build pays


class BreakEven(NamedTuple):
    """From how many queries on one configuration costs no more than another: `inf` for never; its 95 % interval, None
    with too few trials."""

    against: Point
    queries: float
    interval: Interval | None

    @property
    def text(self) -> str:
        """'39,800', or 'never'."""
        return number(self.queries)


def number(queries: float) -> str:
    """A number of queries with three significant digits: '39,800', or 'never'."""
    return NEVER if queries == math.inf else f"{float(f'{queries:.3g}'):,.0f}"


def between(interval: Interval) -> str:
    """Bounds of such numbers: '38,000 to 42,000'."""
    return span(interval, number)


class Front(NamedTuple):
    """The front of a group: its configurations, those faster to build first, what is cheapest for how many queries, and
    the best method without an index."""

    group: Group
    points: list[Point]
    steps: list[Step]
    search: Point | None

    def break_even(self, point: Point, other: Point | None) -> BreakEven | None:
        """From how many queries on the longer build of `point` pays against `other`; None for itself or nothing."""
        if other is None or other is point:
            return None
        own, base = (Timed.of(each.cell, self.group.build) for each in (point, other))
        return BreakEven(other, break_even(own.cost(), base.cost(), LEAST), break_even_interval(own, base, LEAST))

    @property
    def indexed(self) -> bool:
        """True if it has both a searching method and an index."""
        return self.search is not None and any(point.cell.index_bytes for point in self.group.points)


def fronts(found: Iterable[Group]) -> list[Front]:
    """The fronts of the groups of reachability in which at least two configurations have a build and a query."""
    made = []
    for group in found:
        points = [point for point in group.points if point.cost(group.build) is not None]
        if len(points) < 2 or group.problem != USUAL:
            continue
        cost = {point: point.cost(group.build) for point in points}.__getitem__
        best = [point for point, on_front in zip(points, front(list(map(cost, points))), strict=True) if on_front]
        none = [point for point in points if point.cell.index_bytes == 0]
        search = min(none, key=lambda point: cost(point)[::-1], default=None)
        made.append(Front(group, sorted(best, key=cost), envelope(points, cost, LEAST), search))
    return made


def sentences(found: Iterable[Front]) -> list[str]:
    """What is cheapest for how many queries, a sentence for each of the `GRAPHS` largest graphs of a query set."""
    lines = []
    for own in grouped(found, lambda each: each.group.queries).values():
        shown = largest(own, lambda each: each.group, GRAPHS)
        lines += map(_sentence, shown)
        if more := len(own) - len(shown):
            lines.append(f"{count(more, 'more graph')}: see the table.")
    return lines


def _sentence(found: Front) -> str:
    """'kegg, from edges: dfs for fewer; from 40,000 (95 %: 38,000 to 42,000) queries on gpu-fused d=2 pays, against
    dfs.'"""
    start = f"{found.group.title}, {BUILDS[found.group.build]}: "
    first, *later = found.steps
    if not later:
        return f"{start}{first.option.name} is the cheapest for any number of queries."
    parts = [f"{first.option.name} for fewer"]
    for before, step in zip(found.steps, later, strict=False):
        even = found.break_even(step.option, before.option)
        bounds = f" (95 %: {between(even.interval)})" if even.interval else ""
        perhaps = " if at all" if even.interval is not None and even.interval.high == math.inf else ""
        pays = f"{step.option.name} pays{perhaps}, against {before.option.name}"
        parts.append(f"from {even.text}{bounds} queries on {pays}")
    return f"{start}{'; '.join(parts)}."


class AgainstSweep(NamedTuple):
    """From how many pairs on an index pays against `sweep`, which keeps none, both at the time of a pair in its batch.

    threads  'one thread' or 'all threads', those of the sweep
    phase    what its build is taken from, of `BUILDS`
    pairs    `inf` if its pairs take as long as swept ones
    """

    cell: Cell
    swept: Cell
    threads: str
    phase: str
    pairs: float

    @property
    def beyond(self) -> bool:
        """True if it pays only from more pairs on than a batch of the run has."""
        return math.inf > self.pairs > self.swept.queries

    @property
    def text(self) -> str:
        """'1,234', '≥ 250,000' beyond the batch, 'never'."""
        return NEVER if self.pairs == math.inf else f"{'≥ ' if self.beyond else ''}{int(self.pairs):,}"


THREADS = ("one thread", "all threads")  #: an index on several threads or a GPU is compared with a sweep on all


def against_sweep(cells: Iterable[Cell]) -> list[AgainstSweep]:
    """Every index of every graph and query set, against the sweep of the same set on as many threads; against one on
    other threads where there is none."""
    cells = [cell for cell in cells if cell.sound and cell.queries and cell.stats("query") is not None]
    swept: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in cells:
        if cell.impl == SWEEP and cell.part is None:
            swept.setdefault((cell.dataset, cell.query_set), {}).setdefault(THREADS[place(cell) != ONE], cell)
    found = []
    for cell in cells:
        own, threads = swept.get((cell.dataset, cell.whole_set), {}), THREADS[place(cell) != ONE]
        threads = threads if threads in own else next(iter(own), "")
        if cell.impl == SWEEP or not threads or not cell.index_bytes:
            continue
        sides = ((phase, Timed.of(cell, phase), Timed.of(own[threads], phase)) for phase in BUILDS)
        if timed := next((each for each in sides if None not in each), None):
            phase, one, other = timed
            found.append(
                AgainstSweep(cell, own[threads], threads, phase, break_even(one.cost(NS), other.cost(NS), LEAST))
            )
    return found
