"""A history of runs as tables, a figure, and blocks of a page: what `compare` marks, worst first, and all medians."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from grailbench.compare.gate import Gate
from grailbench.compare.history import COUNTERS, STATUS, TIME, History, Mark, Point, Series, began, commit, of_runs
from grailbench.compare.ratios import span
from grailbench.harness.cells import Cell, Run
from grailbench.report import figure
from grailbench.report.figure import Axis, Figure, Marks, Panel
from grailbench.report.page.sections import Block
from grailbench.report.render.csv import csv
from grailbench.report.table import Table
from grailbench.util import words

if TYPE_CHECKING:
    import pandas

Link = Callable[[Run, Cell], str]  #: the address of a cell of a run, for pages
TITLE = "History"
_PANELS = 12  # of the figure
_CELLS = 40  # cells without a mark that the table of all has
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
        marked = len({id(mark.series) for mark in own})
        lines.append(
            f"machine {machine.name} ({words.machine(machine.runs[-1].environment, whole=False)}): "
            f"{words.count(len(machine.runs), 'run')}, {words.count(len(machine.series), 'cell')} in two or more; "
            f"marked: {', '.join(f'{number} {word}' for word, number in tally.items()) or 'none'}; "
            f"{words.count(len(machine.series) - marked, 'cell')} without a mark"
        )
    return lines + [f"compared with no other: {run.name} {reason}" for run, reason in found.excluded]


def records(found: History) -> Iterator[dict]:
    """A record a mark, worst first, then one a point of each cell and phase, one a machine, and one a run that is
    compared with no other."""
    yield from map(_record, found.marks)
    for line in frame(found).to_dict("records"):
        yield {"kind": "point", **{name: None if value != value else value for name, value in line.items()}}
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


# ------------------------------------------------------------------ tables


def marks_table(found: History, link: Link | None = None) -> Table:
    """A line a mark: the cell, what changed, between which codes, and by how much. With `link` the values of both sides
    lead to their cells."""
    import pandas

    several = len(found.machines) > 1
    heads = ["graph", "configuration", *(["machine"] if several else []), "what", "mark", "from", "to", "before",
             "after", "ratio", "95 %"]  # fmt: skip
    lines, links = [], []
    for mark in found.marks:
        names = [mark.series.dataset, mark.series.name, *([mark.series.machine] if several else []), mark.what,
                 WORDS[mark.kind, mark.verdict], mark.before.code, mark.after.code]  # fmt: skip
        ratio = "" if mark.ratio is None else words.fine_ratio(mark.ratio)
        bounds = "" if mark.interval is None else span(mark.interval, words.fine_ratio)
        lines.append([*names, *(_value(mark, value) for value in mark.values), ratio, bounds])
        sides = [link(*point.found[-1]) if link else None for point in (mark.before, mark.after)]
        links.append([*[None] * len(names), *sides, None, None])
    made = list(map(_record, found.marks))
    title = f"What 'grailbench compare' marks: {words.count(len(lines), 'change')}, worst first"
    return Table("marks", title, heads, lines, frozenset(("before", "after", "ratio", "95 %")), keys=2 + several,
                 records=made, file="marks", links=links if link else None, data=pandas.DataFrame(made))  # fmt: skip


def _value(mark: Mark, value: object) -> str:
    return f"{words.brief(value)} ms" if mark.kind == TIME else words.grouped(value)


def _ordered(found: History) -> list[Series]:
    """The cells: those that are marked first, the worst before others."""
    marked = {id(mark.series): mark.series for mark in found.marks}
    return [*marked.values(), *(series for series in found.series if id(series) not in marked)]


def _marked(found: History) -> dict[tuple, Mark]:
    """The marks of times by series, phase and the point that they end at."""
    return {(id(each.series), each.what, each.after): each for each in found.marks if each.kind == TIME}


def cells_table(found: History) -> Table:
    """Each cell over runs: a line a point of each phase, with its median, its spread and what is marked there; all
    cells with a mark, and `_CELLS` others."""
    several, marks = len(found.machines) > 1, _marked(found)
    heads = ["graph", "configuration", *(["machine"] if several else []), "phase", "code", "runs", "median ms",
             "spread", "mark"]  # fmt: skip
    lines, ends = [], set()
    cells = _ordered(found)
    most = len({id(mark.series) for mark in found.marks}) + _CELLS
    for series in cells[:most]:
        for phase in found.phases:
            for point, median in series.timed(phase):
                mark = marks.get((id(series), phase, point))
                said = "" if mark is None else f"{WORDS[TIME, mark.verdict]}: {span(mark.interval)} times as long"
                where = [series.dataset, series.name, *([series.machine] if several else []), phase]
                numbers = [str(len(point.medians(phase))), words.brief(median), span(point.spread(phase), words.brief)]
                lines.append([*where, point.code, *numbers, said])
            ends.add(len(lines) - 1)
    more = len(cells) - most
    notes = ["Spread: the 95 % interval of the median; of several runs of one code the least and the greatest median."]
    notes += [f"{words.count(more, 'more cell')} without a mark: --json and --out have them."] if more > 0 else []
    return Table("history", "Each cell over runs", heads, lines, frozenset(("runs", "median ms", "spread")),
                 keys=3 + several, ends=frozenset(ends), notes=notes)  # fmt: skip


def runs_table(found: History) -> Table:
    """A line a run in its order, with the number that the figure has for it."""
    lines = [
        [machine.name, str(number), run.name, began(run)[:19].replace("T", " "), commit(run), str(len(run.cells))]
        for machine in found.machines
        for number, run in enumerate(machine.runs, 1)
    ]
    heads = ["machine", "number", "run", "began", "commit", "cells"]
    return Table("runs", "Runs, in the order in which they began", heads, lines, frozenset(("number", "cells")), keys=2)


def tables(found: History, link: Link | None = None) -> list[Table]:
    """The tables that have a line: what is marked, each cell over runs, and the runs in their order."""
    return [each for each in (marks_table(found, link), cells_table(found), runs_table(found)) if each.lines]


# ------------------------------------------------------------------ figure


def _numbers(found: History) -> dict[tuple[str, str], int]:
    """The number of each run among those of its machine."""
    return {(each.name, run.name): n for each in found.machines for n, run in enumerate(each.runs, 1)}


def frame(found: History) -> pandas.DataFrame:
    """A line a cell, phase and point: the median ms and its spread; `change` is the ratio where one is marked."""
    import pandas

    numbers, marks, lines = _numbers(found), _marked(found), []
    for series in _ordered(found):
        for phase in found.phases:
            for point, median in series.timed(phase):
                first, mark = point.found[0][0], marks.get((id(series), phase, point))
                lines.append({
                    "machine": series.machine, "dataset": series.dataset, "configuration": series.name, "phase": phase,
                    "number": numbers[series.machine, first.name], "runs": " ".join(run.name for run, _ in point.found),
                    "began": began(first), "code": point.code, "median": median,
                    **dict(zip(("low", "high"), point.spread(phase) or (None, None), strict=True)),
                    "change": mark and mark.ratio,
                })  # fmt: skip
    columns = ["machine", "dataset", "configuration", "phase", "number", "runs", "began", "code", "median", "low",
               "high", "change"]  # fmt: skip
    return pandas.DataFrame(lines, columns=columns)


def figures(found: History, link: Link | None = None) -> list[Figure]:
    """Medians over runs of the cells with the worst marks of times, of any cells if there is none. With `link` they
    lead to their cells."""
    marked = dict.fromkeys((mark.series, mark.what) for mark in found.marks if mark.kind == TIME)
    others = ((series, phase) for series in found.series for phase in found.phases if (series, phase) not in marked)
    chosen = [each for each in (*marked, *others) if len(each[0].timed(each[1])) > 1][: max(len(marked), 4)]
    numbers, marks = _numbers(found), _marked(found)
    panels = []
    for series, phase in chosen[:_PANELS]:
        items, above = [], []
        for point, median in series.timed(phase):
            number = float(numbers[series.machine, point.found[0][0].name])
            if (mark := marks.get((id(series), phase, point))) is not None:
                above.append((number, f"{point.code} {words.times(mark.ratio)}"))
            low, high = point.spread(phase) or (None, None)
            items.append(figure.Mark(phase, number, median, _hint(point, median), low, high, open=mark is not None,
                                     link=link(*point.found[-1]) if link else ""))  # fmt: skip
        title = f"{series.dataset}: {series.name}, {phase}"
        several = f" ({series.machine})" if len(found.machines) > 1 else ""
        panels.append(Panel(title + several, tuple(items), above=tuple(above)))
    phases = tuple(phase for phase in found.phases if any(panel.items[0].series == phase for panel in panels))
    form = Marks(tuple(panels), phases, Axis("run", "linear"), Axis("ms"), lines=True)
    hidden = len(marked) - _PANELS
    missing = f"{words.count(hidden, 'more marked cell')}: see the tables and the CSV." if hidden > 0 else ""
    return [Figure("history", frame(found), form, "" if panels else "Unavailable: no times of two runs.", missing)]


def _hint(point: Point, median: float) -> str:
    return f"{', '.join(run.name for run, _ in point.found)} ({point.code}): {words.brief(median)} ms"


# ------------------------------------------------------------------ blocks of a page


def blocks(runs: Iterable[Run], gate: Gate | None = None, link: Link | None = None) -> list[Block]:
    """The history of some runs as blocks of a page; a text if there is none. `link` as for `marks_table`."""
    return blocks_of(of_runs(runs, gate), link)


def blocks_of(found: History, link: Link | None = None) -> list[Block]:
    """A history as blocks of a page."""
    lines: list[Block] = [("lines", summary(found))] if found.machines or found.excluded else []
    if not found.series:
        return [("text", "No cell is in two runs of one machine."), *lines]
    marks = marks_table(found, link)
    listed: list[Block] = [("table", marks), ("data", ("marks", csv([marks])))] if marks.lines else [
        ("text", "Nothing is marked: every cell is as it was.")]  # fmt: skip
    drawn = [("figure", each) for each in figures(found, link) if each.drawable]
    return [*lines, *listed, *drawn, ("table", cells_table(found)), ("table", runs_table(found))]
