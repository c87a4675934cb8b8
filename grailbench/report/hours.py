"""How long whole configs would take on the machine of recorded runs that have a part of them.

A pass of a cell takes what it took there: the sum of its top phases, by the mean of its trials. Of a graph that was not
run it is scaled from others, by a power of the number of vertices: through the two nearest sizes of the same family
(`erdos-renyi-3000-0.1` is of `erdos-renyi-#-0.1`), or else from the nearest graph of any family by the power that fits
all of them. A cell takes one pass to be verified, its warm-ups and its trials; from edges a pass takes twice its time
where that way was not timed. No cell takes more than its time limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

from grailbench.bench.plan import Cell as Planned
from grailbench.bench.plan import load_config, make_plan
from grailbench.contract import USUAL
from grailbench.datasets.locate import look_up
from grailbench.graph.generate import expected_vertices
from grailbench.report.table import Table, numbers
from grailbench.runs import axes
from grailbench.runs.cells import Cell
from grailbench.words import brief, grouped

LEAST_HOURS = 0.05  #: of a line of its own
_NUMBER = re.compile(r"\d+")
_NONE = (None, "", 0, "none")  #: values of an axis that mean the same
_FREE = ("threads",)  #: axes that are all cores of a machine unless a config says otherwise


@dataclass(frozen=True)
class Estimate:
    """The cells of one implementation in a config, and the hours of those that have a basis.

    recorded  cells that a run has, on the same graph; `scaled` from other graphs; `unknown` without a basis
    """

    config: str
    impl: str
    cells: int = 0
    recorded: int = 0
    scaled: int = 0
    unknown: int = 0
    hours: float = 0.0

    def and_(self, other: Estimate) -> Estimate:
        """Both together, under the name of this one."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in
                ("cells", "recorded", "scaled", "unknown", "hours")}  # fmt: skip
        return replace(self, **sums)


@dataclass(frozen=True)
class _Pass:
    """A recorded cell: its graph, its vertices, and the seconds of a pass with and without the way from edges."""

    graph: str
    vertices: int
    seconds: float
    ready: float | None


def estimates(names: Iterable[str], measured: Sequence[Cell]) -> list[Estimate]:
    """An estimate for each implementation of each config (a name or a file), longest first in a config."""
    known: dict[tuple, list[_Pass]] = {}
    for cell in measured:
        if (found := _pass(cell)) is not None:
            known.setdefault(_kind(cell.problem, cell.impl, cell.axes, cell.query_set), []).append(found)
    out = []
    for name in names:
        of: dict[str, Estimate] = {}
        for cell in make_plan(load_config(name)).cells:
            impl = cell.impl if cell.problem == USUAL else f"{cell.impl} ({cell.problem})"
            values = {axis: getattr(cell, axis) for axis in axes.NAMES}
            one = _estimate(name, impl, cell, known.get(_kind(cell.problem, cell.impl, values, cell.queries.name), ()))
            of[impl] = of.get(impl, Estimate(name, impl)).and_(one)
        out += sorted(of.values(), key=lambda each: -each.hours)
    return out


def _kind(problem: str, impl: str, values: Mapping, queries: str) -> tuple:
    """What recorded and planned cells have in common, but for the graph."""
    chosen = (values[axis] for axis in axes.NAMES if axis not in _FREE)
    return problem, impl, queries, *(None if value in _NONE else value for value in chosen)


def _pass(cell: Cell) -> _Pass | None:
    """The pass of a recorded cell; None of one that was not timed."""
    means = {phase: fmean(times.values()) / 1e3 for (under, phase), times in cell.times.items() if not under and times}
    if not cell.sound or not means or not cell.vertices:
        return None
    ready = means.pop("ready", None)
    return _Pass(cell.stands_for or cell.dataset, cell.vertices, sum(means.values()), ready)


def _estimate(config: str, impl: str, cell: Planned, known: Sequence[_Pass]) -> Estimate:
    same = next((each for each in known if each.graph == cell.dataset), None)
    if same is not None:
        one, seconds = Estimate(config, impl, 1, recorded=1), same.seconds
        ready = (same.ready or seconds) if cell.from_edges else 0.0
    else:
        found = _scaled(cell.dataset, known)
        one = Estimate(config, impl, 1, scaled=found is not None, unknown=found is None)
        seconds, ready = found or 0.0, (found or 0.0) if cell.from_edges else 0.0
    total = seconds + (cell.warmup + cell.trials) * (seconds + ready)
    return replace(one, hours=min(total, cell.time_limit or math.inf) / 3600)


def _scaled(graph: str, known: Sequence[_Pass]) -> float | None:
    """The seconds of a pass on a graph that was not run, None without a basis."""
    vertices = _vertices(graph)
    if vertices is None:
        return None
    alike = [each for each in known if _family(each.graph) == _family(graph)]
    for some in (alike, known):
        near = sorted({each.vertices: each for each in some}.values(), key=lambda each: _apart(each.vertices, vertices))
        if len(near) > 1:
            power = _power(near[:2] if some is alike else near)
            return near[0].seconds * (vertices / near[0].vertices) ** power
    return None


def _family(name: str) -> str:
    """The name with '#' for its first number; numbers after that, such as a density, are the family's."""
    return _NUMBER.sub("#", name, count=1)


def _apart(one: int, other: int) -> float:
    return abs(math.log(one / other))


def _power(points: Sequence[_Pass]) -> float:
    """The power of the number of vertices that fits the seconds best (least squares of the logarithms), from 0 to 3."""
    across, up = ([math.log(value) for value in values] for values in
                  zip(*((each.vertices, max(each.seconds, 1e-9)) for each in points), strict=True))  # fmt: skip
    middle, level = fmean(across), fmean(up)
    square = sum((x - middle) ** 2 for x in across)
    return min(max(sum((x - middle) * (y - level) for x, y in zip(across, up, strict=True)) / square, 0.0), 3.0)


@cache
def _vertices(graph: str) -> int | None:
    """The vertices of a graph by its name alone, whether it is here or not."""
    found = look_up(graph)
    return found.vertices if found is not None and found.dataset is not None else expected_vertices(graph)


def table(names: Sequence[str], measured: Sequence[Cell]) -> Table:
    """A line per config, and below it one per implementation that takes more than three minutes."""
    lines, found = [], estimates(names, measured)
    for name in names:
        own = [each for each in found if each.config == name]
        whole = Estimate(name, "all")
        for each in own:
            whole = whole.and_(each)
        few, rest = [], Estimate(name, f"{sum(each.hours < LEAST_HOURS for each in own)} others")
        for each in own:
            if each.hours >= LEAST_HOURS:
                few.append(each)
            else:
                rest = rest.and_(each)
        for each in (whole, *few, *([rest] if rest.cells else [])):
            hours = ("at least " if each.unknown else "") + brief(each.hours)
            lines.append([f"`{name}`" if each is whole else "", each.impl, grouped(each.cells), grouped(each.recorded),
                          grouped(each.scaled), grouped(each.unknown), hours])  # fmt: skip
    headers = ["config", "implementation", "cells", "recorded", "by size", "without a basis", "hours"]
    return Table("hours", "", headers, lines, numbers(headers, ("config", "implementation")), notes=[
        "Estimated, not measured: a verifying pass, the warm-ups and the trials of each cell, each as long as the "
        "recorded passes on the same graph, or scaled by a power of the vertices that recorded sizes show. Reading, "
        "generating and checking graphs come on top.",
    ])  # fmt: skip
