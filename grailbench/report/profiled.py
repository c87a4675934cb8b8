"""The figures of a graph's outline: level widths, degrees, components, trees at the ends and core; and of what answers
its pairs."""

from collections.abc import Iterable, Mapping

import pandas as pd

from grailbench.graph.profile import Outline, bit_range, level_bins
from grailbench.report.figure import Axis, Figure, alone, marks, stacked
from grailbench.util.words import count, share

STAGES = {
    "component": "one component", "level": "level", "labels": "labels", "tree": "tree", "hubs": "hubs",
    "search": "search",
}  # fmt: skip
_NONE = "Unavailable: the graph has no vertices."


def of_outline(outline: Outline) -> list[Figure]:
    """The figures of an outline; one without data says so."""
    degrees = {"in-degree": outline.incoming, "out-degree": outline.outgoing}
    no_cycles = outline.vertices and outline.largest == 1
    cyclic = f"{share(outline.cyclic, outline.vertices)} of the vertices lie in components of several; the largest " \
             f"has {outline.largest:,}." if outline.vertices else _NONE  # fmt: skip
    if no_cycles:
        cyclic = "Unavailable: the graph has no cycles, so every vertex is a strong component of its own."
    return [
        _levels(outline),
        _binned("outline-degrees", degrees, "degree", "vertices", "", "Unavailable: the graph has no edges."),
        _binned("outline-components", {"components": outline.strong}, "vertices", "components", cyclic, cyclic,
                not no_cycles),
        _ends(outline),
    ]  # fmt: skip


def _levels(outline: Outline) -> Figure:
    """The mean number of components of each bin of levels."""
    cuts = level_bins(outline.depth).tolist()
    rows = [(low + 1, high, number, number / (high - low))
            for low, high, number in zip(cuts[:-1], cuts[1:], outline.levels, strict=True)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["first_level", "last_level", "components", "mean"])
    names = [f"level {low:,}" if low == high else f"levels {low:,} to {high:,}" for low, high, *_ in rows]
    plotted = frame.assign(of="components", at=(frame.first_level + frame.last_level) / 2, name=names)
    found = marks(plotted, "of", "at", "mean", name="name", bounds=None, unit=" each")
    form = alone(found, Axis("level", "linear"), Axis("components a level"), lines=True)
    widest = f"{count(outline.depth, 'level')}, the widest of {count(outline.widest, 'component')}."
    return Figure("outline-levels", frame, form, widest if rows else _NONE)


def _binned(
    name: str, sides: Mapping[str, tuple[int, ...]], of: str, counted: str, note: str, none: str, drawn: bool = True
) -> Figure:
    """Numbers of what is counted by the powers of two that a size of it lies between; 0 has no place on a log axis."""
    rows = [(side, *bit_range(bits), number) for side, numbers in sides.items() for bits, number in enumerate(numbers)
            if number]  # fmt: skip
    least, most = f"least_{of}", f"most_{of}"
    frame = pd.DataFrame(rows, columns=["of", least, most, counted])
    plotted = frame[(frame[least] > 0) & drawn]
    plotted = plotted.assign(
        name=[f"{of} {low:,} to {high:,}" for low, high in zip(plotted[least], plotted[most], strict=True)]
    )
    found = marks(plotted, "of", least, counted, name="name", bounds=None, unit=f" {counted}")
    return Figure(name, frame, alone(found, Axis(of), Axis(counted)), note if found else none)


def _ends(outline: Outline) -> Figure:
    """A bar with the shares of the trees at the ends and of the core."""
    sizes = {"trees above": outline.above, "trees below": outline.below, "core": outline.core}
    rows = [(name, number, number / outline.components) for name, number in sizes.items() if outline.components]
    frame = pd.DataFrame(rows, columns=["part", "components", "share"])
    form = stacked(frame[frame.share > 0].assign(panel="", bar=f"components, core {outline.core:,}"), "panel", "bar")
    return Figure("outline-ends", frame, form, "" if rows else _NONE)


def of_answers(settled: Iterable[Mapping]) -> Figure:
    """The shares of the pairs that each step answers, of the fields of each `Settled` of a profile by name."""
    rows = [(each["kind"], stage, each[stage], each[stage] / each["pairs"], name,
             f"{each['kind']}: {each['positives'] / each['pairs']:.1%} reachable")
            for each in settled for stage, name in STAGES.items()]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["pairs", "step", "number", "share", "name", "bar"])
    form = stacked(frame[frame.number > 0].assign(panel=""), "panel", "bar", "name")
    return Figure("profile-settled", frame.drop(columns=["name", "bar"]), form, "" if rows else _NONE)
