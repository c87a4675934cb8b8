"""What one machine answered of one query set of one graph: the configurations that trade-offs are told of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from grailbench.compare.costs import Cost, Timed
from grailbench.harness.cells import Cell
from grailbench.harness.statistics import Stats
from grailbench.problems.contract import USUAL
from grailbench.report import frames
from grailbench.report.measured import median

NS = 1e6  #: ns in a ms
BUILDS = ("ready", "label")  #: the phases that a build is taken from: from edges, or of the labels alone


@dataclass(frozen=True, eq=False)
class Point:
    """A configuration of a group: its cell, and its name there."""

    cell: Cell
    name: str

    @property
    def asked(self) -> Stats:
        """The trials of its batch of queries, or of its solution."""
        return self.cell.stats(self.cell.last_phase)

    @property
    def pair_ns(self) -> float | None:
        """ns of one query of its batch."""
        return self.asked.median * NS / self.cell.queries if self.cell.queries else None

    def cost(self, build: str) -> Cost | None:
        """ms of a build and of each query; None if either was not timed."""
        once = median(self.cell, build)
        return None if once is None or not self.cell.queries else Cost(once, self.asked.median / self.cell.queries)

    def timed(self, build: str) -> Timed:
        """The trials behind `cost`."""
        return Timed(self.cell.times["", build], self.cell.times["", self.cell.last_phase], self.cell.queries)


@dataclass(frozen=True, eq=False)
class Group:
    """The configurations that one machine ran on one query set of one graph, those with a time of their answers.

    machine  its name where there are several, else ''
    queries  the query set as headings name it, '' for the usual
    """

    problem: str
    graph: str
    queries: str
    machine: str
    edges: int
    points: list[Point] = field(default_factory=list)

    @property
    def title(self) -> str:
        problem = "" if self.problem == USUAL else self.problem
        return ", ".join(filter(None, (problem, self.graph, self.queries, self.machine)))

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
        return next((b for b in BUILDS if sum(median(p.cell, b) is not None for p in self.points) > 1), BUILDS[-1])


def groups(cells: Iterable[Cell], machine: Callable[[Cell], str] | None = None) -> list[Group]:
    """The cells with a time of their answers, in groups in the order of `figures.ordered`.

    machine  names the machine of a cell, where cells of several are given
    """
    cells = frames.ordered(cells)
    found: dict[tuple, Group] = {}
    for head, cell in zip(frames.heads(cells), cells, strict=True):
        if not cell.sound or cell.stats(cell.last_phase) is None:
            continue
        where = machine(cell) if machine else ""
        key = (where, cell.problem, cell.dataset, cell.whole_set)
        queries = head["queries"] if cell.part is None and cell.query_set != "all" else ""
        group = found.setdefault(key, Group(cell.problem, cell.dataset, queries, where, cell.edges or 0))
        part = "" if cell.part is None else f" (first {cell.part:,} pairs)"
        group.points.append(Point(cell, head["config"] + part))
    return list(found.values())
