"""Trade-offs: the time of the answers against build, memory and energy, and from how many queries a build pays.

Only what one machine answered of one query set of one graph stands in one panel. On the Pareto front is what no other
configuration beats in one of the two without being beaten in the other (`report.paying`). For problems without a build
and queries the time is that of a solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from grailbench.compare.costs import BUILDS, Group, Point, front, largest
from grailbench.compare.measures import GPU, NS, median, place
from grailbench.harness.cells import NOT_FROM_EDGES, Cell, Run
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report import frames
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel
from grailbench.report.paying import groups_of
from grailbench.util.words import listing, short, size

if TYPE_CHECKING:
    import pandas

NAMES = ("tradeoff-build", "tradeoff-memory", "tradeoff-energy")
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


_LABEL = Measure("label_ms", "labels", "labels, ms", lambda c: median(c, "label"), "not timed")
_READY = Measure("ready_ms", "from edges", "from edges to a ready index, ms", lambda c: median(c, "ready"),
                 NOT_FROM_EDGES)  # fmt: skip
_MEMORY = (
    Measure("index_bytes", "held", "held, bytes", lambda c: c.index_bytes, "not told"),
    Measure("host_peak_bytes", "host peak", "host peak, bytes", lambda c: c.host_peak_bytes,
            "measured of cells in a process of their own"),
    Measure("device_peak_bytes", "device peak", "device peak, bytes",
            _device_peak, "measured of cells on a device"),
)  # fmt: skip
_NO_ENERGY = "not measured, add --energy"
_ENERGY = (
    Measure("answer_joules", "energy of the answers", "the answers, J",
            lambda c: c.joules(c.last_phase), _NO_ENERGY, True),
    Measure("build_joules", "energy of the build", "the build, J",
            lambda c: _first(c.joules(phase) for phase in BUILDS), _NO_ENERGY),
)  # fmt: skip
#: what each figure is of
MEASURES = {"tradeoff-build": (_LABEL, _READY), "tradeoff-memory": _MEMORY, "tradeoff-energy": _ENERGY}


def _first(values: Iterable[float | None]) -> float | None:
    return next((value for value in values if value is not None), None)


# ------------------------------------------------------------------ figures


def of_run(run: Run) -> list[Figure]:
    """The figures of a run; without marks, and with the reason, if its rows are of several machines."""
    if not run.mixed:
        return figures(run.cells)
    return [Figure(each.name, each.frame, Marks((), ()), MIXED) for each in figures(run.cells) if each.drawable]


def figures(cells: Iterable[Cell], link: Callable[[Cell], str] | None = None) -> list[Figure]:
    """A figure of cells of one machine for each of `NAMES`; one without data has an empty form. `link` gives the
    address behind a cell's mark."""
    cells = list(cells)
    found = groups_of(cells)
    return [_figure(name, cells, found, link) for name in NAMES]


def _figure(name: str, cells: list[Cell], found: list[Group], link: Callable[[Cell], str] | None) -> Figure:
    measures = [m for m in MEASURES[name] if any(len(placed(each, m)) > 1 for each in found)]
    if name == "tradeoff-build":
        found = [each for each in found if each.problem == USUAL]
    found = [each for each in found if any(len(placed(each, m)) > 1 for m in measures)]
    frame = _frame(cells, found, MEASURES[name])
    drawn = largest(found, lambda group: group, MOST)
    left = [each for each in found if each not in drawn]
    panels = [_panel(each, m, link) for each in drawn for m in measures if len(placed(each, m)) > 1]
    series = {mark.series: None for panel in panels for mark in panel.items}
    form = Marks(tuple(panels), tuple(series), Axis(zero=True), Axis(zero=True))
    notes = []
    if left:
        graphs = dict.fromkeys(each.graph for each in left)
        notes.append(f"Drawn are the {MOST} largest graphs of a query set; left out: {listing(graphs, 6, 'graph')}.")
    if name == "tradeoff-build" and (alone := _alone(found)):
        notes.append(alone)
    missing = [frames.missing(frame), *(_lacking(drawn, m) for m in measures)] if panels else []
    return Figure(name, frame, form, " ".join(notes), " ".join(filter(None, missing)))


def _alone(found: list[Group]) -> str:
    """What is to be said of a GPU's labels that are not beside a time from edges; '' if all are."""
    gpu = [point.cell for each in found for point in each.points if place(point.cell) == GPU]
    alone = dict.fromkeys(cell.label for cell in gpu if median(cell, "label") is not None and not cell.stats("ready"))
    if not gpu:
        return ""
    from_edges = f" From edges: {NOT_FROM_EDGES} ({listing(alone, 3)})." if alone else ""
    return f"Labels on a GPU are of a graph that is there already.{from_edges}"


def placed(group: Group, measure: Measure) -> list[tuple[Point, float, float]]:
    """The configurations that have a value of a measure, with that value and their time, in the panel's units."""
    found = [(point, value) for point in group.points if (value := measure.value(point.cell)) is not None]
    apart = measure.batch and not group.alike
    return [(p, float(v) * (group.scale(p) if apart else 1.0), p.asked.median * group.scale(p)) for p, v in found]


def _panel(group: Group, measure: Measure, link: Callable[[Cell], str] | None) -> Panel:
    found = placed(group, measure)
    best = front([(x, y) for _, x, y in found])
    marks, bounded = [], measure.name.endswith("_bytes")
    for (point, x, y), kept in zip(found, best, strict=True):
        scale, asked = group.scale(point), point.asked
        low, high = (asked.median_low * scale, asked.median_high * scale) if asked.trials > 1 else (None, None)
        value = size(int(x)) if bounded else short(x)
        between = "" if low is None else f" (95 %: {short(low)} to {short(high)})"
        hint = (f"{group.title}, {point.name}: {group.axis} {short(y)}{between}; {measure.axis} {value}"
                f"{', on the front' if kept else ''}")  # fmt: skip
        address = link(point.cell) if link else ""
        marks.append(Mark(point.cell.impl, x, y, hint, low, high, not kept, link=address))
    steps = tuple(sorted({(x, y) for (_, x, y), kept in zip(found, best, strict=True) if kept}))
    guides = ()
    if measure in (_LABEL, _READY):
        batch = (group.points[0].cell.queries or 1) if group.alike else NS
        guides = tuple((batch / n, f"{n:,} queries" if n > 1 else "1 query") for n in _QUERIES)
    axis = "a query, µJ" if measure.batch and not group.alike else measure.axis
    return Panel(group.title, tuple(marks), steps=steps, x=axis, y=group.axis, guides=guides)


def _lacking(found: list[Group], measure: Measure) -> str:
    """A sentence on the configurations of some groups without a value of a measure, with the reason."""
    lost = dict.fromkeys(p.name for each in found for p in each.points if measure.value(p.cell) is None)
    return f"Without {measure.title} ({measure.why}): {listing(lost, 3, 'configuration')}." if lost else ""


def _frame(cells: list[Cell], found: list[Group], measures: Iterable[Measure]) -> pandas.DataFrame:
    """A row per cell of the problems that are shown: `figures.HEAD`, the time and the values, and for each value
    whether it is on the front."""
    import pandas

    kept: dict[tuple[int, str], bool] = {}
    for group in found:
        for measure in measures:
            own = placed(group, measure)
            best = front([(x, y) for _, x, y in own])
            kept |= {(id(p.cell), measure.name): each for (p, _, _), each in zip(own, best, strict=True)}
    shown = {(each.problem, each.graph) for each in found}
    cells = [cell for cell in frames.ordered(cells) if (cell.problem, cell.dataset) in shown]
    lines = []
    for head, cell in zip(frames.heads(cells), cells, strict=True):
        asked = cell.stats(cell.last_phase) if cell.sound else None
        line = head | {"problem": cell.problem, "impl": cell.impl, "query_set": cell.query_set, "asked": cell.queries}
        line |= {"median_ms": asked and asked.median, "median_low": asked and asked.median_low,
                 "median_high": asked and asked.median_high}  # fmt: skip
        for m in measures:
            value = m.value(cell) if asked else None
            line |= {m.name: value, f"{m.name}_front": kept.get((id(cell), m.name))}
        lines.append(line)
    more = [name for m in measures for name in (m.name, f"{m.name}_front")]
    columns = [*frames.HEAD, "problem", "impl", "query_set", "asked", "median_ms", "median_low", "median_high", *more]
    frame = pandas.DataFrame(lines, columns=columns)
    for name in ("vertices", "edges", "asked", *(m.name for m in measures if m.name.endswith("_bytes"))):
        frame[name] = frame[name].astype("Int64")
    return frame
