"""Trade-offs: the time of the answers against build, memory and energy.

Only what one machine answered of one query set of one graph stands in one panel. On the Pareto front is what no other
configuration beats in one of the two without being beaten in the other (`compare.costs`). For problems without a build
and queries the time is that of a solution.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import pandas

from grailbench.compare.costs import BUILDS, Group, Point, front, largest
from grailbench.compare.measures import NS, median
from grailbench.harness.cells import NOT_FROM_EDGES, Cell, Run
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report import frames
from grailbench.report.break_even import groups_of
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel, bounded
from grailbench.util.words import listing, short, size

MOST = 3  #: graphs of a query set that are drawn, the largest; the data has all
#: on the dashed lines of a panel of builds, the build takes as long as so many queries
_QUERIES = (1, 100, 10_000, 1_000_000, 100_000_000)
MIXED = "Unavailable: the rows of the run were measured on different machines, which no panel may show together."


class Measure(NamedTuple):
    """What the time of the answers is set against.

    name     of its column in the data
    title    in words
    axis     the label of its axis
    value    takes a cell to a number of 0 or more, or None if it was not measured
    why      the reason why a cell has none
    batch    True if it is of a batch of queries, so that it is divided by them where batches differ
    """

    name: str
    title: str
    axis: str
    value: Callable[[Cell], float | None]
    why: str
    batch: bool = False


def _device_peak(cell: Cell) -> int | None:
    """The device peak of a cell; None for implementations on a CPU, which older rows give that of their process."""
    known = contract.registered(cell.impl, cell.problem)
    return None if known is not None and "gpu" not in known.needs else cell.device_peak_bytes


def _build_joules(cell: Cell) -> float | None:
    return next((spent for phase in BUILDS if (spent := cell.joules(phase)) is not None), None)


_NO_ENERGY = "not measured, add --energy"
#: what each figure is of
MEASURES = {
    "tradeoff-build": (
        Measure("label_ms", "labels", "labels, ms", lambda cell: median(cell, "label"), "not timed"),
        Measure("ready_ms", "from edges", "from edges to a ready index, ms", lambda cell: median(cell, "ready"),
                NOT_FROM_EDGES),
    ),
    "tradeoff-memory": (
        Measure("index_bytes", "held", "held, bytes", lambda cell: cell.index_bytes, "not known"),
        Measure("host_peak_bytes", "host peak", "host peak, bytes", lambda cell: cell.host_peak_bytes,
                "measured of cells in a process of their own"),
        Measure("device_peak_bytes", "device peak", "device peak, bytes", _device_peak, "measured of GPU cells"),
    ),
    "tradeoff-energy": (
        Measure("answer_joules", "energy of the answers", "the answers, J", lambda cell: cell.joules(cell.last_phase),
                _NO_ENERGY, True),
        Measure("build_joules", "energy of the build", "the build, J", _build_joules, _NO_ENERGY),
    ),
}  # fmt: skip
NAMES = tuple(MEASURES)


def of_run(run: Run) -> list[Figure]:
    """The figures of a run; without marks, and with the reason, if its rows are of several machines."""
    if not run.mixed:
        return figures(run.cells)
    return [Figure(each.name, each.frame, Marks(), MIXED) for each in figures(run.cells) if each.drawable]


def figures(cells: Iterable[Cell], link: Callable[[Cell], str] | None = None) -> list[Figure]:
    """A figure of cells of one machine for each of `NAMES`; one without data has an empty form. `link` gives the
    address behind a cell's mark."""
    cells = list(cells)
    found = groups_of(cells)
    return [_figure(name, cells, found, link) for name in NAMES]


class _Placed(NamedTuple):
    """A configuration with a value of a measure (`x`), its time (`y`) in its panel's units, and whether it is on the
    front."""

    point: Point
    x: float
    y: float
    best: bool


def _placed(group: Group, measure: Measure) -> list[_Placed]:
    """The configurations of a group that have a value of a measure; none of fewer than two."""
    each = measure.batch and not group.alike
    found = [(point, float(value) * (group.scale(point) if each else 1.0), point.batch.median * group.scale(point))
             for point in group.points if (value := measure.value(point.cell)) is not None]  # fmt: skip
    best = front([(x, y) for _, x, y in found])
    return [_Placed(*one, on_front) for one, on_front in zip(found, best, strict=True)] if len(found) > 1 else []


def _figure(name: str, cells: list[Cell], found: list[Group], link: Callable[[Cell], str] | None) -> Figure:
    placed = {(group, measure.name): own for group in found for measure in MEASURES[name]
              if (name != "tradeoff-build" or group.problem == USUAL) and (own := _placed(group, measure))}  # fmt: skip
    groups = list(dict.fromkeys(group for group, _ in placed))
    drawn = largest(groups, lambda group: group, MOST)
    panels = [_panel(group, measure, own, link) for group in drawn for measure in MEASURES[name]
              if (own := placed.get((group, measure.name)))]  # fmt: skip
    frame = _frame(cells, placed, MEASURES[name])
    series = dict.fromkeys(mark.series for panel in panels for mark in panel.items)
    form = Marks(tuple(panels), tuple(series), Axis(), Axis())
    left = dict.fromkeys(group.graph for group in groups if group not in drawn)
    note = f"Drawn are the {MOST} largest graphs of a query set; left out: {listing(left, 6, 'graph')}." if left else ""
    named = [m for m in MEASURES[name] if name == "tradeoff-build" or any(of == m.name for _, of in placed)]
    missing = [frames.missing(frame), *(_lacking(drawn, m) for m in named)] if panels else []
    return Figure(name, frame, form, note, " ".join(filter(None, missing)))


def _panel(group: Group, measure: Measure, placed: list[_Placed], link: Callable[[Cell], str] | None) -> Panel:
    marks = []
    for point, x, y, best in placed:
        scale, batch = group.scale(point), point.batch
        low, high = (batch.median_low * scale, batch.median_high * scale) if batch.trials > 1 else (None, None)
        value = size(int(x)) if measure.name.endswith("_bytes") else short(x)
        hint = f"{group.title}, {point.name}: {group.axis} {bounded(y, low, high, '')}; {measure.axis} {value}"
        hint += ", on the front" if best else ""
        marks.append(Mark(point.cell.impl, x, y, hint, low, high, not best, link=link(point.cell) if link else ""))
    steps = tuple(sorted({(x, y) for _, x, y, best in placed if best}))
    guides = ()
    if measure.name in ("label_ms", "ready_ms"):
        batch = (group.points[0].cell.queries or 1) if group.alike else NS
        guides = tuple((batch / n, f"{n:,} queries" if n > 1 else "1 query") for n in _QUERIES)
    axis = "a query, µJ" if measure.batch and not group.alike else measure.axis
    return Panel(group.title, tuple(marks), steps=steps, x=axis, y=group.axis, guides=guides)


def _lacking(found: list[Group], measure: Measure) -> str:
    """A sentence on the configurations of some groups without a value of a measure, with the reason."""
    lost = dict.fromkeys(p.name for each in found for p in each.points if measure.value(p.cell) is None)
    return f"Without {measure.title} ({measure.why}): {listing(lost, 3, 'configuration')}." if lost else ""


def _frame(
    cells: list[Cell], placed: dict[tuple[Group, str], list[_Placed]], measures: Iterable[Measure]
) -> pandas.DataFrame:
    """A row per cell of the problems and graphs that are shown: `frames.HEAD`, the time and the values, and for each
    value whether it is on the front."""
    best = {(id(each.point.cell), name): each.best for (_, name), own in placed.items() for each in own}
    shown = {(group.problem, group.graph) for group, _ in placed}
    lines = []
    for head, cell in frames.headed(frames.ordered(cells)):
        if (cell.problem, cell.dataset) in shown:
            s = cell.stats(cell.last_phase) if cell.sound else None
            line = {"problem": cell.problem, "impl": cell.impl, "query_set": cell.query_set, "asked": cell.queries}
            if s:
                line |= {"median_ms": s.median, "median_low": s.median_low, "median_high": s.median_high}
            for m in measures:
                line |= {m.name: m.value(cell) if s else None, f"{m.name}_front": best.get((id(cell), m.name))}
            lines.append(head | line)  # fmt: skip
    more = [name for m in measures for name in (m.name, f"{m.name}_front")]
    columns = [*frames.HEAD, "problem", "impl", "query_set", "asked", "median_ms", "median_low", "median_high", *more]
    counted = [name for name in ("vertices", "edges", "asked", *more) if not name.endswith(("_ms", "joules", "_front"))]
    return pandas.DataFrame(lines, columns=columns).astype(dict.fromkeys(counted, "Int64"))
