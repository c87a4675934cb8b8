"""A history of runs as tables, a figure, and blocks of a page: what `compare` marks, worst first, and all medians."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import pandas

from grailbench.compare.history import COUNTERS, STATUS, TIME, History, Mark, Point, Series, began, commit
from grailbench.compare.measures import grouped
from grailbench.compare.ratios import span
from grailbench.harness.cells import Cell, Run
from grailbench.report import figure
from grailbench.report.figure import Axis, Figure, Marks, Panel
from grailbench.report.page.sections import Block
from grailbench.report.render.csv import csv
from grailbench.report.table import Column, Table, of_rows
from grailbench.util import words

Link = Callable[[Run, Cell], str]  #: the address of a cell of a run, for pages
TITLE = "History"
_PANELS = 12  # of the figure
_CELLS = 40  # cells without a mark that the table of all has
COLUMNS = ("machine", "dataset", "configuration", "phase", "number", "runs", "began", "code", "median", "low", "high",
           "change")  # fmt: skip
WORDS = {
    (TIME, "regression"): "SLOWER", (TIME, "improvement"): "faster", (COUNTERS, "regression"): "MORE WORK",
    (COUNTERS, "improvement"): "less work", (COUNTERS, "changed"): "changed", (STATUS, "regression"): "LOST",
    (STATUS, "improvement"): "found again",
}  # fmt: skip


def summary(found: History) -> list[str]:
    """How many cells of how many runs were looked at, and what was marked, a line a machine."""
    lines = []
    for machine in found.machines:
        own = [mark for mark in found.marks if mark.series.machine == machine.name]
        tally = Counter(WORDS[mark.kind, mark.verdict] for mark in own)
        unmarked = len(machine.series) - len({id(mark.series) for mark in own})
        lines.append(
            f"machine {machine.name} ({words.machine(machine.runs[-1].environment, whole=False)}): "
            f"{words.count(len(machine.runs), 'run')}, {words.count(len(machine.series), 'cell')} in two or more; "
            f"marked: {', '.join(f'{number} {word}' for word, number in tally.items()) or 'none'}; "
            f"{words.count(unmarked, 'cell')} without a mark"
        )
    return lines + [f"compared with no other: {run.name} {reason}" for run, reason in found.excluded]


def records(found: History) -> Iterator[dict]:
    """A record a mark, worst first, then one a point of each cell and phase, one a machine, and one a run that is
    compared with no other."""
    yield from map(_record, found.marks)
    yield from ({"kind": "point", **line.record} for line in lines_of(found))
    for machine in found.machines:
        marks = sum(mark.series.machine == machine.name for mark in found.marks)
        yield {"kind": "machine", "machine": machine.name, "runs": [run.name for run in machine.runs],
               "cells": len(machine.series), "marks": marks}  # fmt: skip
    for run, reason in found.excluded:
        yield {"kind": "excluded", "run": run.name, "reason": reason}


def _record(mark: Mark) -> dict:
    low, high = mark.interval or (None, None)
    sides = {"before": mark.before, "after": mark.after}
    return {
        "kind": mark.kind, "machine": mark.series.machine, "dataset": mark.series.dataset,
        "configuration": mark.series.name, "what": mark.what, "verdict": mark.verdict,
        **{f"{side}_code": point.code for side, point in sides.items()},
        **{f"{side}_runs": " ".join(run.name for run, _ in point.found) for side, point in sides.items()},
        "before": mark.values[0], "after": mark.values[1], "ratio": mark.ratio, "low": low, "high": high,
    }  # fmt: skip


class Line(NamedTuple):
    """A point of a phase of a cell: the number of its first run, its median, and what is marked between it and the
    point before."""

    series: Series
    phase: str
    point: Point
    number: int
    median: float
    mark: Mark | None

    @property
    def record(self) -> dict:
        """Its typed values."""
        low, high = self.point.spread(self.phase) or (None, None)
        return {
            "machine": self.series.machine, "dataset": self.series.dataset, "configuration": self.series.name,
            "phase": self.phase, "number": self.number, "runs": " ".join(run.name for run, _ in self.point.found),
            "began": began(self.point.found[0][0]), "code": self.point.code, "median": self.median, "low": low,
            "high": high, "change": self.mark and self.mark.ratio,
        }  # fmt: skip


def lines_of(found: History) -> list[Line]:
    """All points of all cells: of those that are marked first, the worst before others."""
    numbers = {(each.name, run.name): n for each in found.machines for n, run in enumerate(each.runs, 1)}
    marks = {(id(each.series), each.what, each.after): each for each in found.marks if each.kind == TIME}
    ordered = dict.fromkeys([*(mark.series for mark in found.marks), *found.series])
    return [Line(series, phase, point, numbers[series.machine, point.found[0][0].name], median,
                 marks.get((id(series), phase, point)))
            for series in ordered for phase in found.phases for point, median in series.timed(phase)]  # fmt: skip


# ------------------------------------------------------------------ tables


def _cell_columns(found: History) -> list[Column]:
    """The columns that say which cell a line is of."""
    several = [Column("machine", "machine")] if len(found.machines) > 1 else []
    return [Column("graph", "dataset"), Column("configuration", "configuration"), *several]


def marks_table(found: History, link: Link | None = None) -> Table:
    """A line a mark: the cell, what changed, between which codes, and by how much. With `link` the values of both sides
    lead to their cells."""

    def its(mark: Mark, sides: Iterable[int] = (0, 1)) -> str:
        points = (mark.before, mark.after)
        return words.worst(points[at].mark(mark.what) for at in sides if mark.kind == TIME)

    def side(at: int) -> Column:
        to = (lambda mark: link(*(mark.before, mark.after)[at].found[-1])) if link else None

        def value(mark: Mark) -> str:
            return f"{words.brief(mark.values[at])} ms" if mark.kind == TIME else words.grouped(mark.values[at])

        return Column(("before", "after")[at], value, str, to, mark=lambda mark: its(mark, (at,)))

    cell = _cell_columns(found)
    columns = [
        *cell, Column("what", "what"), Column("mark", lambda mark: WORDS[mark.kind, mark.verdict]),
        Column("from", "before_code"), Column("to", "after_code"), side(0), side(1),
        Column("ratio", "ratio", words.fine_ratio, mark=its),
        Column("95 %", lambda mark: mark.interval, lambda bounds: span(bounds, words.fine_ratio)),
    ]  # fmt: skip
    title = f"What 'grailbench compare' marks: {words.count(len(found.marks), 'change')}, worst first"
    rows = list(map(_record, found.marks))
    return of_rows("marks", title, columns, rows, found.marks, keys=len(cell), file="marks")


def cells_table(found: History) -> Table:
    """Each cell over runs: a line a point of each phase, with its median, its spread and what is marked there; all
    cells with a mark, and `_CELLS` others."""
    lines, cell = lines_of(found), _cell_columns(found)
    every = list(dict.fromkeys(line.series for line in lines))
    most = len({id(mark.series) for mark in found.marks}) + _CELLS
    shown = [line for line in lines if line.series in every[:most]]
    columns = [
        *cell, Column("phase", "phase"), Column("code", "code"),
        Column("runs", lambda line: len(line.point.medians(line.phase)), str),
        Column("median ms", "median", words.brief, mark=lambda line: line.point.mark(line.phase)),
        Column("spread", lambda line: line.point.spread(line.phase), lambda bounds: span(bounds, words.brief)),
        Column("mark", lambda line: line.mark and f"{WORDS[TIME, line.mark.verdict]}: "
               f"{span(line.mark.interval)} times as long", none=""),
    ]  # fmt: skip
    keys = [(line.series, line.phase) for line in shown]
    ends = frozenset(at for at, key in enumerate(keys) if keys[at + 1 : at + 2] != [key])
    notes = ["Spread: the 95 % interval of the median; of several runs of one code the least and the greatest median."]
    if (more := len(every) - most) > 0:
        notes.append(f"{words.count(more, 'more cell')} without a mark: --json and --out have them.")
    rows = [line.record for line in shown]
    return of_rows("history", "Each cell over runs", columns, rows, shown, keys=1 + len(cell), ends=ends, notes=notes)


def runs_table(found: History) -> Table:
    """A line a run in its order, with the number that the figure has for it."""
    rows = [
        {"machine": machine.name, "number": number, "run": run.name, "began": began(run)[:19].replace("T", " "),
         "commit": commit(run), "cells": len(run.cells)}
        for machine in found.machines for number, run in enumerate(machine.runs, 1)
    ]  # fmt: skip
    columns = [Column(name, name, str if name in ("number", "cells") else None) for name in (rows or [{}])[0]]
    return of_rows("runs", "Runs, in the order in which they began", columns, rows, keys=2)


def tables(found: History, link: Link | None = None) -> list[Table]:
    """The tables that have a line: what is marked, each cell over runs, and the runs in their order."""
    return [each for each in (marks_table(found, link), cells_table(found), runs_table(found)) if each.lines]


# ------------------------------------------------------------------ figure and page


def medians(found: History, link: Link | None = None) -> Figure:
    """Medians over runs of the cells with the worst marks of times, of any cells if there is none. With `link` they
    lead to their cells."""
    lines = lines_of(found)
    groups = grouped(lines, lambda line: (line.series, line.phase))
    marked = dict.fromkeys((mark.series, mark.what) for mark in found.marks if mark.kind == TIME)
    chosen = [key for key in dict.fromkeys((*marked, *groups)) if len(groups[key]) > 1]
    panels = []
    for series, phase in chosen[: max(len(marked), 4)][:_PANELS]:
        items, above = [], []
        for line in groups[series, phase]:
            point, place = line.point, float(line.number)
            if line.mark is not None:
                above.append((place, f"{point.code} {words.times(line.mark.ratio)}"))
            runs = ", ".join(run.name for run, _ in point.found)
            items.append(figure.Mark(phase, place, line.median, f"{runs} ({point.code}): {words.brief(line.median)} ms",
                                     *(point.spread(phase) or (None, None)), open=line.mark is not None,
                                     link=link(*point.found[-1]) if link else ""))  # fmt: skip
        several = f" ({series.machine})" if len(found.machines) > 1 else ""
        panels.append(Panel(f"{series.dataset}: {series.name}, {phase}{several}", tuple(items), above=tuple(above)))
    phases = tuple(phase for phase in found.phases if any(panel.items[0].series == phase for panel in panels))
    form = Marks(tuple(panels), phases, Axis("run", "linear"), Axis("ms"), lines=True)
    hidden = len(marked) - _PANELS
    missing = f"{words.count(hidden, 'more marked cell')}: see the tables and the CSV." if hidden > 0 else ""
    data = pandas.DataFrame([line.record for line in lines], columns=COLUMNS)
    return Figure("history", data, form, "" if panels else "Unavailable: no times of two runs.", missing)


def blocks(found: History, link: Link | None = None) -> list[Block]:
    """A history as blocks of a page; a text if there is none. `link` as for `marks_table`."""
    lines: list[Block] = [("lines", summary(found))] if found.machines or found.excluded else []
    if not found.series:
        return [("text", "No cell is in two runs of one machine."), *lines]
    marks, drawn = marks_table(found, link), medians(found, link)
    listed: list[Block] = [("text", "Nothing is marked: every cell is as it was.")]
    if marks.lines:
        listed = [("table", marks), ("data", ("marks", csv([marks])))]
    figures = [("figure", drawn)] if drawn.drawable else []
    return [*lines, *listed, *figures, ("table", cells_table(found)), ("table", runs_table(found))]
