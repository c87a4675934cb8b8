"""The figures of a graph's outline (`graph.outline`): its levels, degrees, components, and trees at its ends."""

from __future__ import annotations

from grailbench.graph.outline import Outline, bit_range, level_bins
from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Panel, Part
from grailbench.report.profiled import ENDS
from grailbench.util.words import count, grouped, share

_NONE = "Unavailable: the graph has no vertices."


def figures(outline: Outline) -> list[Figure]:
    """The figures; one without data says so."""
    return [_levels(outline), _degrees(outline), _components(outline), _ends(outline)]


def _levels(outline: Outline) -> Figure:
    import pandas

    cuts = level_bins(outline.depth).tolist()
    rows = [(low + 1, high, number, number / (high - low))
            for low, high, number in zip(cuts[:-1], cuts[1:], outline.levels, strict=True)]  # fmt: skip
    frame = pandas.DataFrame(rows, columns=["first_level", "last_level", "components", "mean"])
    marks = tuple(
        Mark("components", (low + high) / 2, mean, f"level {low:,}: {number:,}" if low == high else
             f"levels {low:,} to {high:,}: {grouped(mean)} each")
        for low, high, number, mean in rows
    )  # fmt: skip
    form = _one(marks, ("components",), Axis("level", "linear"), Axis("components a level"), lines=True)
    note = f"{count(outline.depth, 'level')}, the widest of {count(outline.widest, 'component')}." if marks else _NONE
    return Figure("outline-levels", frame, form, note)


def _degrees(outline: Outline) -> Figure:
    sides = {"in-degree": outline.incoming, "out-degree": outline.outgoing}
    frame = _powers(sides, "of", "degree", "vertices")
    marks = _marks(frame, "vertices with {side} {span}")
    form = _one(marks, tuple(sides), Axis("degree"), Axis("vertices"))
    return Figure("outline-degrees", frame, form, "" if marks else "Unavailable: the graph has no edges.")


def _components(outline: Outline) -> Figure:
    frame = _powers({"components": outline.strong}, "of", "vertices", "components")
    marks = _marks(frame, "components of {span} vertices")
    note = "" if marks else _NONE
    if outline.vertices and outline.largest == 1:
        note, marks = "Unavailable: the graph has no cycles, so every vertex is a strong component of its own.", ()
    elif marks:
        cyclic = f"{share(outline.cyclic, outline.vertices)} of the vertices lie in components of several"
        note = f"{cyclic}; the largest has {outline.largest:,}."
    return Figure(
        "outline-components", frame, _one(marks, ("components",), Axis("vertices of it"), Axis("components")), note
    )


def _ends(outline: Outline) -> Figure:
    import pandas

    sizes = dict(zip(ENDS.values(), (outline.above, outline.below, outline.core), strict=True))
    rows = [(name, number, number / outline.components) for name, number in sizes.items() if outline.components]
    frame = pandas.DataFrame(rows, columns=["part", "components", "share"])
    parts = tuple(Part(name, part, f"{name}: {number:,}") for name, number, part in rows if number)
    panels = (Panel("", (Bar("components", parts, f"core {outline.core:,}"),)),) if parts else ()
    return Figure("outline-ends", frame, Bars(panels, tuple(sizes), whole=True, across=1), "" if parts else _NONE)


def _powers(sides: dict[str, tuple[int, ...]], head: str, what: str, counted: str):
    """A data frame of numbers by powers of two: the side, the least and the greatest value of the bin, the number."""
    import pandas

    rows = [(side, *bit_range(bits), number) for side, numbers in sides.items()
            for bits, number in enumerate(numbers) if number]  # fmt: skip
    return pandas.DataFrame(rows, columns=[head, f"least_{what}", f"most_{what}", counted])


def _marks(frame, words: str) -> tuple[Mark, ...]:
    """A mark for each line of `_powers` whose least value is not 0, which has no place on a log axis."""
    found = []
    for side, least, most, number in frame.itertuples(index=False):
        span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        if least:
            found.append(Mark(side, float(least), float(number), f"{number:,} {words.format(side=side, span=span)}"))
    return tuple(found)


def _one(marks: tuple[Mark, ...], names: tuple[str, ...], x: Axis, y: Axis, lines: bool = False) -> Marks:
    return Marks((Panel("", marks),) if marks else (), names, x, y, lines=lines, across=1)
