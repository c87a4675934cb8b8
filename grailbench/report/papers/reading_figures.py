"""The figure of runs of `--problem read`: the time to read a graph from its file."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from grailbench.harness.cells import Cell
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel
from grailbench.util.words import short

PROBLEM = "read"
_COLUMNS = ("dataset", "vertices", "edges", "impl", "status", "reason", "trials", "median", "median_low", "median_high",
            "rate")  # fmt: skip


def figures(measured: Iterable[Cell]) -> dict[str, Figure]:
    """The figure by its name; without data it has an empty form."""
    import pandas

    lines, marks = [], []
    for cell in measured:
        if cell.problem != PROBLEM:
            continue
        head = (cell.dataset, cell.vertices, cell.edges, cell.impl, cell.status, cell.reason)
        s = cell.stats("solve") if cell.sound else None
        if s is None:
            lines.append((*head, 0, None, None, None, None))
            continue
        rate = median(cell.rates.values()) if cell.rates else None
        lines.append((*head, s.trials, s.median, s.median_low, s.median_high, rate))
        hint = f"{cell.dataset}, {cell.impl}: {short(s.median)} ms" + (f", {short(rate)} MB/s" if rate else "")
        marks.append(Mark(cell.impl, float(cell.edges), s.median, hint, s.median_low, s.median_high))
    panels = (Panel("", tuple(marks)),) if marks else ()
    form = Marks(panels, tuple(sorted({mark.series for mark in marks})), Axis("edges"), Axis("median ms"), across=1)
    return {"reading": Figure("reading", pandas.DataFrame(lines, columns=list(_COLUMNS)), form)}
