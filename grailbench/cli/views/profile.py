"""What `grailbench profile` shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from grailbench.graph.profile import QUANTILES, Structure, level_bins
from grailbench.problems.reachability.profile import (
    FORESTS,
    INDEX,
    PAIRS,
    STAGES,
    STEPS,
    Ends,
    Profile,
    Reach,
    Settled,
)
from grailbench.report.table import Table
from grailbench.util.words import count, estimate, grouped, magnitude, share, short, size

BINS = 12  #: most lines of the table of levels
_BAR = 40  # characters of its longest bar


def tables(profile: Profile) -> Iterator[Table]:
    """The tables of a profile; those that would have no line are left out."""
    yield _structure(profile.name, profile.structure)
    if profile.structure.vertices:
        yield _ends(profile.ends)
        yield _levels(profile.structure)
        yield _degrees(profile.structure)
        yield _settled(profile)


def reached(reach: Reach) -> str:
    """What the searches found, in a sentence."""
    others = estimate(reach.mean, None if reach.whole else reach.error)
    how = "all vertices" if reach.whole else f"{reach.sources:,} random vertices; standard errors"
    return (
        f"A vertex reaches {others} others on average and {reach.most:,} at most; of random pairs "
        f"{_rate(100 * reach.rate, 100 * reach.rate_error)} % are reachable (searched from {how})."
    )


def _rate(rate: float, error: float) -> str:
    """A percentage and its error in as many places as the first digit of the error needs: '0.00012747 ± 0.00000008'."""
    if error == 0:
        return short(rate)
    places = max(1, -magnitude(error))
    return f"{rate:.{places}f} ± {error:.{places}f}"


def _structure(name: str, graph: Structure) -> Table:
    lines: list[list[str]] = []

    def put(what: str, number: int, whole: int | None = None, of: str = "") -> None:
        lines.append([what, grouped(number), "" if whole is None or not whole else f"{share(number, whole)} {of}"])

    ends = set()
    put("vertices", graph.vertices)
    put("edges", graph.edges)
    put("  repeated", graph.duplicates, graph.edges, "of the edges")
    put("  self-loops", graph.loops, graph.edges, "of the edges")
    ends.add(len(lines) - 1)
    put("strong components", graph.components)
    put("  of more than one vertex", graph.nontrivial)
    put("  vertices in these", graph.cyclic, graph.vertices, "of the vertices")
    put("  vertices of the largest", graph.largest, graph.vertices, "of the vertices")
    ends.add(len(lines) - 1)
    put("edges between components, each once", graph.dag_edges)
    put("  beyond a forest", graph.beyond_forest, graph.dag_edges, "of these edges")
    put("components without parents (roots)", graph.roots, graph.components, "of the components")
    put("  without children (sinks)", graph.sinks, graph.components, "of the components")
    put("  without both", graph.isolated, graph.components, "of the components")
    put("  with at most one parent", graph.parents.at_most_one, graph.components, "of the components")
    put("  with at most one child", graph.children.at_most_one, graph.components, "of the components")
    put("weak components", graph.weak)
    put("  components of the largest", graph.widest_weak, graph.components, "of the components")
    return Table("structure", f"{name}: structure", ["", "number", "share"], lines, frozenset({"number"}),
                 ends=frozenset(ends))  # fmt: skip


def _ends(ends: Ends) -> Table:
    said = f"an {ends.forest}: {FORESTS[ends.forest]}" if ends.forest else "no forest"
    parts = {
        "trees above, peeled from the sources": ends.sources,
        "trees below, peeled from the sinks": ends.sinks,
        "core": ends.core,
    }
    lines = [[what, grouped(number), f"{share(number, ends.vertices)} of the components"]
             for what, number in parts.items()]  # fmt: skip
    verdict = "fits `core` here" if ends.fits else "more than `core` takes here"
    lines.append(["  closure of the core, as bits", size(ends.closure_bytes), verdict])
    notes = ["Peeled are sources with at most one child, again and again, then sinks with at most one parent."]
    title = f"trees at the ends: {said}"
    return Table("ends", title, ["", "number", "share"], lines, frozenset({"number"}), notes=notes)


def _levels(graph: Structure) -> Table:
    depth = graph.depth
    cuts = level_bins(depth, BINS)
    means = [float(graph.widths[low:high].mean()) for low, high in zip(cuts[:-1], cuts[1:], strict=True)]
    lines = []
    for low, high, mean in zip(cuts[:-1], cuts[1:], means, strict=True):
        levels = f"{low + 1:,}" if high == low + 1 else f"{low + 1:,} to {high:,}"
        lines.append([levels, short(mean) if mean % 1 else grouped(int(mean)), "█" * round(_BAR * mean / max(means))])
    widths = f"widest {graph.widths.max():,}, median {np.median(graph.widths):,.10g}"
    headers = ["level", "components" if depth <= BINS else "components a level", ""]
    return Table("levels", f"{count(depth, 'level')} by longest path from a root: {widths}", headers, lines,
                 frozenset(headers[:2]))  # fmt: skip


def _degrees(graph: Structure) -> Table:
    headers = ["", "mean", *(f"{q} %" for q in QUANTILES), "most", "of the edges at 1 %"]
    lines = [
        [side, f"{tail.mean:.2f}", *map(grouped, tail.quantiles), grouped(tail.most), share(tail.top, 1)]
        for side, tail in (("parents", graph.parents), ("children", graph.children))
    ]
    notes = ["90 %: that many components have no more. At 1 %: at the components with most (at least one)."]
    return Table("degrees", "degrees of components", headers, lines, frozenset(headers[1:]), notes=notes)


def _settled(profile: Profile) -> Table:
    headers = ["pairs", "asked", "reachable", *STAGES[:-1], "searched", "edges a search"]
    lines = [[each.kind, grouped(each.pairs), _positives(each), *_shares(each)] for each in profile.settled]
    notes = [
        f"Steps of `sequential` with d = {INDEX.dim} in their order, random child order: both ends in one component; "
        "level, labels: no; tree: yes; hubs: yes or no. "
        f"Near: the target is at the end of a walk of 1 to {STEPS} steps from the source, in either direction."
    ]
    if any(each.pairs < PAIRS for each in profile.settled):
        notes.append(f"Less than {PAIRS:,} pairs were asked where their searches scanned too many edges.")
    return Table("settled", "what answers the pairs", headers, lines, frozenset(headers[1:]), notes=notes)


def _positives(settled: Settled) -> str:
    if settled.kind == "balanced" or not settled.rate_error:
        return share(settled.positives, settled.pairs)
    return f"{_rate(100 * settled.positives / settled.pairs, 100 * settled.rate_error)} %"


def _shares(settled: Settled) -> list[str]:
    return [*(share(getattr(settled, stage), settled.pairs) for stage in STAGES), short(settled.edges_a_search)]


def draw(profile: Profile, folder: Path, form: str) -> list[Path]:
    """Draw the figures into a folder, as SVG, PNG or 'both', each with its data as CSV; returns the paths.

    Raises InputError if they cannot be written.
    """
    from grailbench.report import draw as drawing
    from grailbench.report.destination import save
    from grailbench.report.profiled import of_profile

    source = f"{profile.name}, SHA-256 {profile.sha256[:16]}, seed {profile.seed}"
    drawn = of_profile(profile.structure, profile.ends and vars(profile.ends), map(vars, profile.settled))
    return [save(folder / name, data) for each in drawn for name, data in drawing.files(each, source, form)]
