"""The figures of a graph's profile and of its outline: level widths, degrees, components, trees at the ends and core,
and what answers its pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from grailbench.graph.profile import Outline, Structure, bit_range, level_bins
from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Panel, Part
from grailbench.util.words import count, grouped, share, size

ENDS = {"sources": "trees above", "sinks": "trees below", "core": "core"}
STAGES = {
    "component": "one component", "level": "level", "labels": "labels", "tree": "tree", "hubs": "hubs",
    "search": "search",
}  # fmt: skip
_MOST = 400  # marks of the figure of levels
_NONE = "Unavailable: the graph has no vertices."


def of_profile(structure: Structure, ends: Mapping | None, settled: Iterable[Mapping]) -> list[Figure]:
    """The figures of a profile; one without data says so. `ends` and `settled` are the fields of the profile's `Ends`,
    if it has any, and of each `Settled` by name."""
    cuts = level_bins(structure.depth, _MOST).tolist()
    bins = [(low, high, int(structure.widths[low:high].sum())) for low, high in zip(cuts[:-1], cuts[1:], strict=True)]
    degrees = [(side, int(degree), int(degree), int(number)) for side in ("parents", "children")
               for degree, number in getattr(structure, side).counts]  # fmt: skip
    sizes = {} if ends is None else {name: ends[part] for part, name in ENDS.items()}
    return [
        _ends("profile", sizes, "" if ends is None else f"closure {size(ends['closure_bytes'])}"),
        _levels("profile", bins, ""),
        _degrees(
            "profile", degrees, "vertices with {span} {side}", "parents or children", "no edge joins two components"
        ),
        _settled(list(settled)),
    ]  # fmt: skip


def of_outline(outline: Outline) -> list[Figure]:
    """The figures of an outline; one without data says so."""
    cuts = level_bins(outline.depth).tolist()
    bins = list(zip(cuts[:-1], cuts[1:], outline.levels, strict=True))
    degrees = [*_powers("in-degree", outline.incoming), *_powers("out-degree", outline.outgoing)]
    sizes = dict(zip(ENDS.values(), (outline.above, outline.below, outline.core), strict=True))
    widest = f"{count(outline.depth, 'level')}, the widest of {count(outline.widest, 'component')}."
    return [
        _levels("outline", bins, widest),
        _degrees("outline", degrees, "vertices with {side} {span}", "degree", "the graph has no edges"),
        _components(outline),
        _ends("outline", sizes if outline.components else {}, f"core {outline.core:,}"),
    ]


def _levels(kind: str, bins: list[tuple[int, int, int]], note: str) -> Figure:
    """Of bins of levels: the level before the first, the last, and how many components they have."""
    rows = [(low + 1, high, number, number / (high - low)) for low, high, number in bins]
    frame = pd.DataFrame(rows, columns=["first_level", "last_level", "components", "mean"])
    marks = tuple(
        Mark("components", (low + high) / 2, mean, f"level {low:,}: {grouped(number)}" if low == high else
             f"levels {low:,} to {high:,}: {grouped(mean)} each")
        for low, high, number, mean in rows
    )  # fmt: skip
    form = _one(marks, ("components",), Axis("level", "linear"), Axis("components a level"), lines=True)
    return Figure(f"{kind}-levels", frame, form, note if marks else _NONE)


def _degrees(kind: str, rows: list[tuple], words: str, axis: str, none: str) -> Figure:
    """Of lines as of `_powers`."""
    frame = pd.DataFrame(rows, columns=["of", "least_degree", "most_degree", "vertices"])
    marks = _marks(rows, words)
    form = _one(marks, tuple(dict.fromkeys(frame.of)), Axis(axis), Axis("vertices"))
    return Figure(f"{kind}-degrees", frame, form, "" if marks else f"Unavailable: {none}.")


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


def _ends(kind: str, sizes: Mapping[str, int], label: str) -> Figure:
    whole = sum(sizes.values())
    rows = [(name, number, number / whole) for name, number in sizes.items()]
    frame = pd.DataFrame(rows, columns=["part", "components", "share"])
    parts = tuple(Part(name, part, f"{name}: {number:,}") for name, number, part in rows if number)
    panels = (Panel("", (Bar("components", parts, label),)),) if parts else ()
    form = Bars(panels, tuple(ENDS.values()), whole=True, across=1)
    return Figure(f"{kind}-ends", frame, form, "" if parts else _NONE)


def _settled(settled: list[Mapping]) -> Figure:
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
    return Figure("profile-settled", frame, form, "" if bars else _NONE)


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
