"""The charts of the slides of Pathak et al. with ours beside: searches, shortest paths, all pairs, coarsening, rates.

Marks are medians over the trials of a cell, with their 95 % bootstrap intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from grailbench.report.figure import Axis, Figure, Mark, Marks, Panel
from grailbench.report.papers import traversals
from grailbench.runs.cells import Cell
from grailbench.words import short

if TYPE_CHECKING:
    import pandas

_MILLION = 1e6


def figures(measured: Iterable[Cell]) -> dict[str, Figure]:
    """Every figure of a run by name; one without data has an empty form."""
    found = traversals.cells(measured, full=True)
    timed = found[found.ms.notna()]
    times = {f"traversal-{problem}": timed[timed.problem == problem] for problem in traversals.PROBLEMS}
    made = {name: (frame, _times(frame)) for name, frame in times.items()}
    coarse = _coarsening(timed)
    made["traversal-coarsening"] = coarse, _coarse(coarse)
    rated = timed[timed.rate.notna()]
    made["traversal-teps"] = rated, _rates(rated)
    notes = {"traversal-sssp": "; ".join(traversals.wrong_shares(found))}
    return {
        name: Figure(name, frame.drop(columns=list(traversals.MORE)), form, notes.get(name, ""))
        for name, (frame, form) in made.items()
    }


def _times(frame: pandas.DataFrame) -> Marks:
    """A line a graph, a mark an implementation."""
    marks = [
        Mark(row.impl, row.ms, row.dataset, f"{row.impl} on {row.dataset}: {short(row.ms)} ms (95 %: "
             f"{short(row.low)} to {short(row.high)})", row.low, row.high)
        for row in frame.itertuples()
    ]  # fmt: skip
    return _one(frame, marks, "ms")


def _rates(frame: pandas.DataFrame) -> Marks:
    """A line a problem and graph, a mark an implementation, in million edges a second."""
    marks = [
        Mark(row.impl, row.rate / _MILLION, f"{row.problem} {row.dataset}",
             f"{row.impl}, {row.problem} on {row.dataset}: {short(row.rate / _MILLION)} million edges a second",
             row.rate_low / _MILLION, row.rate_high / _MILLION)
        for row in frame.itertuples()
    ]  # fmt: skip
    return _one(frame, marks, "million edges a second")


def _one(frame: pandas.DataFrame, marks: list[Mark], unit: str) -> Marks:
    """One panel, where there is a mark."""
    panels = (Panel("", tuple(marks)),) if marks else ()
    return Marks(panels, _order(frame.impl), Axis(unit), Axis(scale="names"), across=1)


def _coarsening(timed: pandas.DataFrame) -> pandas.DataFrame:
    """The coarsened cells with `factor` and `relative`, the time over that of factor 1 on the same graph."""
    part = timed[timed.impl.str.startswith("coarsened-")].copy()
    part["factor"] = [int(impl.rpartition("-")[2]) for impl in part.impl]
    one = part[part.factor == 1].set_index("dataset").ms.to_dict()
    part["relative"] = [ms / one[name] if name in one else None for name, ms in zip(part.dataset, part.ms, strict=True)]
    return part[part.relative.notna()]


def _coarse(frame: pandas.DataFrame) -> Marks:
    """A line a graph; the bounds are those of its time, over the median with one vertex a thread."""
    marks = [
        Mark(row.dataset, float(row.factor), row.relative, f"{row.dataset}, {row.factor} vertices a thread: "
             f"{row.relative:.2f}", row.low * row.relative / row.ms, row.high * row.relative / row.ms)
        for row in frame.itertuples()
    ]  # fmt: skip
    panels = (Panel("", tuple(marks)),) if marks else ()
    y = Axis("time over that of one vertex a thread", "linear")
    return Marks(
        panels, tuple(dict.fromkeys(frame.dataset)), Axis("vertices a thread", "log2"), y, lines=True, across=1
    )


def _order(names) -> tuple[str, ...]:
    order = traversals.ORDER
    return tuple(sorted(set(names), key=lambda name: (order.index(name) if name in order else len(order), name)))
