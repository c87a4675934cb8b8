"""The figures of a graph's profile: its ends and core, level widths, degrees, and what answers its pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from grailbench.graph.profile import Structure
from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Panel, Part
from grailbench.util.words import size

ENDS = {"sources": "trees above", "sinks": "trees below", "core": "core"}
_MOST = 400  # marks of the figure of levels
NAMES = {
    "component": "one component", "level": "level", "labels": "labels", "tree": "tree", "hubs": "hubs",
    "search": "search",
}  # fmt: skip


def figures(structure: Structure, ends: Mapping | None, settled: Iterable[Mapping]) -> list[Figure]:
    """The figures; one without data says so. `ends` and `settled` are the fields of the profile's `Ends`, if it has
    any, and of each `Settled` by name."""
    return [_ends(ends), _levels(structure), _degrees(structure), _settled(list(settled))]


def _ends(ends: Mapping | None) -> Figure:
    import pandas

    rows = [] if ends is None else [(name, ends[part], ends[part] / ends["vertices"]) for part, name in ENDS.items()]
    frame = pandas.DataFrame(rows, columns=["part", "vertices", "share"])
    parts = tuple(Part(name, share, f"{name}: {number:,}") for name, number, share in rows if number)
    panels = (Panel("", (Bar("components", parts, f"closure {size(ends['closure_bytes'])}"),)),) if parts else ()
    form = Bars(panels, tuple(ENDS.values()), whole=True, across=1)
    return Figure("profile-ends", frame, form, "" if parts else "Unavailable: the graph has no vertices.")


def _levels(structure: Structure) -> Figure:
    import pandas

    depth = structure.depth
    cuts = np.linspace(0, depth, min(_MOST, depth) + 1).round().astype(np.int64) if depth else np.zeros(1, np.int64)
    rows = [(int(low) + 1, int(high), float(structure.widths[low:high].mean()))
            for low, high in zip(cuts[:-1], cuts[1:], strict=True)]  # fmt: skip
    frame = pandas.DataFrame(rows, columns=["first_level", "last_level", "mean_vertices"])
    marks = tuple(Mark("vertices", (low + high) / 2, mean, f"level {low}: {mean:,.10g}" if low == high else
                       f"levels {low} to {high}: {mean:,.1f} each") for low, high, mean in rows)  # fmt: skip
    panels = (Panel("", marks),) if marks else ()
    form = Marks(panels, ("vertices",), Axis("level", "linear"), Axis("vertices"), lines=True, across=1)
    return Figure("profile-levels", frame, form, "" if marks else "Unavailable: the graph has no vertices.")


def _degrees(structure: Structure) -> Figure:
    import pandas

    rows = [(side, int(degree), int(number)) for side in ("parents", "children")
            for degree, number in getattr(structure, side).counts]  # fmt: skip
    frame = pandas.DataFrame(rows, columns=["of", "degree", "vertices"])
    marks = tuple(
        Mark(side, float(degree), float(number), f"{number:,} vertices with {degree:,} {side}")
        for side, degree, number in rows
        if degree
    )
    panels = (Panel("", marks),) if marks else ()
    form = Marks(panels, ("parents", "children"), Axis("parents or children"), Axis("vertices"), across=1)
    return Figure("profile-degrees", frame, form, "" if marks else "Unavailable: no edge joins two components.")


def _settled(settled: list[Mapping]) -> Figure:
    import pandas

    rows = [(each["kind"], stage, each[stage], each[stage] / each["pairs"]) for each in settled for stage in NAMES]
    frame = pandas.DataFrame(rows, columns=["pairs", "step", "number", "share"])
    bars = tuple(
        Bar(f"{each['kind']}: {each['positives'] / each['pairs']:.1%} reachable", tuple(
            Part(name, each[stage] / each["pairs"], f"{each['kind']}, {name}: {each[stage] / each['pairs']:.1%}")
            for stage, name in NAMES.items() if each[stage]
        ))
        for each in settled
    )  # fmt: skip
    form = Bars((Panel("", bars),) if bars else (), tuple(NAMES.values()), whole=True, across=1)
    return Figure("profile-settled", frame, form, "" if bars else "Unavailable: the graph has no vertices.")
