"""The figures of a graph: level widths, degrees, components, trees at the ends and core, and what answers its pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from grailbench.graph.profile import Outline, bit_range, level_bins
from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Panel, Part
from grailbench.util.words import count, grouped, share

ENDS = ("trees above", "trees below", "core")
STAGES = {
    "component": "one component", "level": "level", "labels": "labels", "tree": "tree", "hubs": "hubs",
    "search": "search",
}  # fmt: skip
_NONE = "Unavailable: the graph has no vertices."


def figures(outline: Outline) -> list[Figure]:
    """The figures of an outline; one without data says so."""
    cuts = level_bins(outline.depth).tolist()
    bins = list(zip(cuts[:-1], cuts[1:], outline.levels, strict=True))
    degrees = [*_powers("in-degree", outline.incoming), *_powers("out-degree", outline.outgoing)]
    sizes = dict(zip(ENDS, (outline.above, outline.below, outline.core), strict=True))
    return [
        _levels(bins, f"{count(outline.depth, 'level')}, the widest of {count(outline.widest, 'component')}."),
        _degrees(degrees),
        _components(outline),
        _ends(sizes if outline.components else {}, f"core {outline.core:,}"),
    ]


def _levels(bins: list[tuple[int, int, int]], note: str) -> Figure:
    """Of bins of levels: the level before the first, the last, and how many components they have."""
    rows = [(low + 1, high, number, number / (high - low)) for low, high, number in bins]
    frame = pd.DataFrame(rows, columns=["first_level", "last_level", "components", "mean"])
    marks = tuple(
        Mark("components", (low + high) / 2, mean, f"level {low:,}: {grouped(number)}" if low == high else
             f"levels {low:,} to {high:,}: {grouped(mean)} each")
        for low, high, number, mean in rows
    )  # fmt: skip
    form = _one(marks, ("components",), Axis("level", "linear"), Axis("components a level"), lines=True)
    return Figure("outline-levels", frame, form, note if marks else _NONE)


def _degrees(rows: list[tuple]) -> Figure:
    """Of lines as of `_powers`."""
    frame = pd.DataFrame(rows, columns=["of", "least_degree", "most_degree", "vertices"])
    marks = _marks(rows, "vertices with {side} {span}")
    form = _one(marks, tuple(dict.fromkeys(frame.of)), Axis("degree"), Axis("vertices"))
    return Figure("outline-degrees", frame, form, "" if marks else "Unavailable: the graph has no edges.")


def _components(outline: Outline) -> Figure:
    rows = list(_powers("components", outline.strong))
    frame = pd.DataFrame(rows, columns=["of", "least_vertices", "most_vertices", "components"])
    marks = _marks(rows, "components of {span} vertices")
    note = "" if marks else _NONE
    if outline.vertices and outline.largest == 1:
        note, marks = "Unavailable: the graph has no cycles, so every vertex is a strong component of its own.", ()
    elif marks:
        cyclic = f"{share(outline.cyclic, outline.vertices)} of the vertices lie in components of several"
        note = f"{cyclic}; the largest has {outline.largest:,}."
    form = _one(marks, ("components",), Axis("vertices of it"), Axis("components"))
    return Figure("outline-components", frame, form, note)


def _ends(sizes: Mapping[str, int], label: str) -> Figure:
    whole = sum(sizes.values())
    rows = [(name, number, number / whole) for name, number in sizes.items()]
    frame = pd.DataFrame(rows, columns=["part", "components", "share"])
    parts = tuple(Part(name, part, f"{name}: {number:,}") for name, number, part in rows if number)
    panels = (Panel("", (Bar("components", parts, label),)),) if parts else ()
    form = Bars(panels, ENDS, whole=True, across=1)
    return Figure("outline-ends", frame, form, "" if parts else _NONE)


def of_pairs(settled: Iterable[Mapping]) -> Figure:
    """The figure of what answered pairs, of the fields of each `Settled` by name; without any it says so."""
    settled = list(settled)
    rows = [(each["kind"], stage, each[stage], each[stage] / each["pairs"]) for each in settled for stage in STAGES]
    frame = pd.DataFrame(rows, columns=["pairs", "step", "number", "share"])
    bars = tuple(
        Bar(f"{each['kind']}: {each['positives'] / each['pairs']:.1%} reachable", tuple(
            Part(name, each[stage] / each["pairs"], f"{each['kind']}, {name}: {each[stage] / each['pairs']:.1%}")
            for stage, name in STAGES.items() if each[stage]
        ))
        for each in settled
    )  # fmt: skip
    form = Bars((Panel("", bars),) if bars else (), tuple(STAGES.values()), whole=True, across=1)
    return Figure("outline-pairs", frame, form, "" if bars else _NONE)


def _powers(side: str, numbers: tuple[int, ...]) -> list[tuple[str, int, int, int]]:
    """Numbers by powers of two: the side, the least and the greatest value of the bin, the number."""
    return [(side, *bit_range(bits), number) for bits, number in enumerate(numbers) if number]


def _marks(rows: Iterable[tuple[str, int, int, int]], words: str) -> tuple[Mark, ...]:
    """A mark for each line of `_powers` whose least value is not 0, which has no place on a log axis."""
    return tuple(
        Mark(side, float(least), float(number), f"{number:,} {words}".format(
            side=side, span=f"{least:,}" if least == most else f"{least:,} to {most:,}"))
        for side, least, most, number in rows if least
    )  # fmt: skip


def _one(marks: tuple[Mark, ...], names: tuple[str, ...], x: Axis, y: Axis, lines: bool = False) -> Marks:
    return Marks((Panel("", marks),) if marks else (), names, x, y, lines=lines, across=1)
