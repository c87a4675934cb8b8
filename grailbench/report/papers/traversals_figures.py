"""The charts in the slides of Pathak et al. with our results: searches, shortest paths, all pairs, coarsening, rates.

A mark is the median over the trials of a cell, with its 95 % bootstrap interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from grailbench.harness.cells import Cell
from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel
from grailbench.report.papers import traversals
from grailbench.util.words import short

if TYPE_CHECKING:
    import pandas

_MILLION = 1e6


def figures(measured: Iterable[Cell]) -> dict[str, Figure]:
    """Every figure of a run by name; a figure without data has an empty form."""
    found = traversals.cells(measured, full=True)
    timed = found[found.ms.notna()]
    shown = [(f"traversal-{problem}", timed[timed.problem == problem], _times) for problem in traversals.PROBLEMS]
    shown += [("traversal-coarsening", _coarsening(timed), _coarse)]
    shown += [("traversal-teps", timed[timed.rate.notna()], _rates)]
    notes = {"traversal-sssp": "; ".join(traversals.wrong_shares(found))}
    return {
        name: Figure(name, frame.drop(columns=list(traversals.MORE)), form(frame), notes.get(name, ""))
        for name, frame, form in shown
    }


def _times(frame: pandas.DataFrame) -> Marks:
    """A line per graph with a mark per implementation, in ms."""
    marks = [
        Mark(row.impl, row.ms, row.dataset, f"{row.impl} on {row.dataset}: {short(row.ms)} ms (95 %: "
             f"{short(row.low)} to {short(row.high)})", row.low, row.high)
        for row in frame.itertuples()
    ]  # fmt: skip
    return _by_implementation(frame, marks, "ms")


def _rates(frame: pandas.DataFrame) -> Marks:
    """A line per problem and graph with a mark per implementation, in million edges a second."""
    marks = [
        Mark(row.impl, row.rate / _MILLION, f"{row.problem} {row.dataset}",
             f"{row.impl}, {row.problem} on {row.dataset}: {short(row.rate / _MILLION)} million edges a second",
             row.rate_low / _MILLION, row.rate_high / _MILLION)
        for row in frame.itertuples()
    ]  # fmt: skip
    return _by_implementation(frame, marks, "million edges a second")


def _by_implementation(frame: pandas.DataFrame, marks: list[Mark], unit: str) -> Marks:
    """One panel with a series per implementation; no panel if there are no marks."""
    panels = (Panel("", tuple(marks)),) if marks else ()
    names = tuple(sorted(set(frame.impl), key=traversals.rank))
    return Marks(panels, names, Axis(unit), Axis(scale="names"), across=1)


def _coarsening(timed: pandas.DataFrame) -> pandas.DataFrame:
    """The cells of the coarsened implementations, with `factor` and with `relative`, the time divided by that with
    factor 1 on the same graph."""
    part = timed[timed.impl.str.startswith("coarsened-")].copy()
    part["factor"] = [int(impl.rpartition("-")[2]) for impl in part.impl]
    one = part[part.factor == 1].set_index("dataset").ms.to_dict()
    part["relative"] = [ms / one[name] if name in one else None for name, ms in zip(part.dataset, part.ms, strict=True)]
    return part[part.relative.notna()]


def _coarse(frame: pandas.DataFrame) -> Marks:
    """A line per graph of relative times, whose bounds are those of the time divided by the median with factor 1."""
    marks = [
        Mark(row.dataset, float(row.factor), row.relative, f"{row.dataset}, {row.factor} vertices a thread: "
             f"{row.relative:.2f}", row.low * row.relative / row.ms, row.high * row.relative / row.ms)
        for row in frame.itertuples()
    ]  # fmt: skip
    panels = (Panel("", tuple(marks)),) if marks else ()
    x, y = Axis("vertices a thread", "log2"), Axis("time over that of one vertex a thread", "linear")
    return Marks(panels, tuple(dict.fromkeys(frame.dataset)), x, y, lines=True, across=1)
