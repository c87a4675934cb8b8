"""`grailbench profile`: which index suits a graph, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import completion, options
from grailbench.cli.plot import FORMATS
from grailbench.cli.printing import note, put, put_json
from grailbench.report.table import Table
from grailbench.util.words import count, estimate, grouped, magnitude, share, short, size

if TYPE_CHECKING:
    from grailbench.graph.profile import Reach
    from grailbench.problems.reachability.profile import Profile, Settled


@click.command("profile")
@click.argument("graphs", metavar="GRAPH...", nargs=-1, required=True, type=completion.GRAPH_OR_FILE)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N",
              help="Of the vertices and pairs that are drawn.")  # fmt: skip
@click.option("--out", metavar="DIR", type=options.Output(file_okay=False, path_type=Path),
              help="Draw figures into DIR.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(FORMATS), default="both", show_default=True,
              help="Kind of the figures' files.")  # fmt: skip
@click.option("--record", metavar="FILE", type=options.Output(dir_okay=False, path_type=Path),
              help="Instead, put the outline of each GRAPH into FILE, a JSON line a graph.")  # fmt: skip
@options.as_json
def command(graphs, seed, out, form, record, as_json):
    """Show which index suits GRAPH, a name or a file.

    \b
    structure  vertices, edges, strong components, roots, sinks, and how near to a forest it is
    ends       the trees at its ends, the core between them, and the bytes of the core's closure
    levels     by longest path from a root, and how many vertices each has
    degrees    of the condensed graph, with their tails
    reach      how many vertices a vertex reaches, and the share of random pairs that are reachable
    pairs      which step of `sequential` answers random, near and balanced pairs, and what is left to a search

    A file is imported under its stem. The same seed gives the same profile. With --out also figures of the ends, the
    levels, the degrees, the components and the pairs, each with its data as CSV.

    An outline is sizes, components, trees, levels in at most 64 bins and degrees in powers of two, for pages about
    graphs that are not on this machine. Lines of other graphs stay in the file; one of the same graph is replaced.

    \b
    Examples:
      grailbench profile kegg
      grailbench profile my-graph.gra --out figures --format svg
      grailbench profile kegg-like --json
      grailbench profile kegg-like erdos-renyi-100-0.1 --record outlines.jsonl
    """
    for graph in graphs:
        if record is not None:
            _record(graph, record)
        else:
            _show(graph, seed, out if len(graphs) == 1 or out is None else out / Path(graph).stem, form, as_json)


def _show(graph: str, seed: int, out: Path | None, form: str, as_json: bool) -> None:
    from grailbench.data.imported import named
    from grailbench.data.library import open_graph
    from grailbench.problems.reachability.profile import profile, remarks
    from grailbench.report.render import terminal
    from grailbench.util.visible import quoted

    found = profile(open_graph(*named(graph, note)), seed)
    if as_json:
        put_json([found.record()])
    else:
        for table in tables(found):
            put([*terminal(table), *([""] if table.notes else [])])
        put([*([reached(found.reach)] if found.reach is not None else []), *remarks(found)])
        put([f"next: grailbench advise {quoted(found.name)}"] if found.vertices else [])
    if out is not None:
        for path in draw(found, out, form):
            note(f"written: {path}")


def _record(graph: str, path: Path) -> None:
    """Puts the outline of a graph into a file."""
    from grailbench.data.imported import named
    from grailbench.data.library import open_graph
    from grailbench.graph import profile as outlines
    from grailbench.problems.reachability.profile import profile

    found = outlines.read(path)
    opened = open_graph(*named(graph, note))
    outlines.write(path, (found | {opened.name: profile(opened, pairs=0)}).values())
    note(f"recorded: {opened.name}")


BINS = 16  #: most lines of the table of levels, a divisor of the bins of an outline
_BAR = 40  # characters of its longest bar


def tables(profile: Profile) -> Iterator[Table]:
    """The tables of a profile; those that would have no line are left out."""
    yield _structure(profile)
    if profile.vertices:
        yield _ends(profile)
        yield _levels(profile)
        yield _degrees(profile)
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


def _structure(graph: Profile) -> Table:
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
    return Table("structure", f"{graph.name}: structure", ["", "number", "share"], lines, frozenset({"number"}),
                 ends=frozenset(ends))  # fmt: skip


def _ends(graph: Profile) -> Table:
    from grailbench.problems.reachability.profile import FORESTS

    forest = f"an {graph.forest}: {FORESTS[graph.forest]}" if graph.forest else "no forest"
    parts = {
        "trees above, peeled from the sources": graph.above,
        "trees below, peeled from the sinks": graph.below,
        "core": graph.core,
    }
    lines = [[what, grouped(number), f"{share(number, graph.components)} of the components"]
             for what, number in parts.items()]  # fmt: skip
    verdict = "fits `core` here" if graph.fits else "more than `core` takes here"
    lines.append(["  closure of the core, as bits", size(graph.closure_bytes), verdict])
    notes = ["Peeled are sources with at most one child, again and again, then sinks with at most one parent."]
    title = f"trees at the ends: {forest}"
    return Table("ends", title, ["", "number", "share"], lines, frozenset({"number"}), notes=notes)


def _levels(graph: Profile) -> Table:
    import numpy as np

    from grailbench.graph.profile import level_bins

    depth = graph.depth
    cuts = level_bins(depth, BINS)
    inner = np.searchsorted(level_bins(depth), cuts)
    sums = np.concatenate(([0], np.cumsum(graph.levels)))[inner]
    means = (np.diff(sums) / np.diff(cuts)).tolist()
    lines = []
    for low, high, mean in zip(cuts[:-1], cuts[1:], means, strict=True):
        levels = f"{low + 1:,}" if high == low + 1 else f"{low + 1:,} to {high:,}"
        lines.append([levels, short(mean) if mean % 1 else grouped(int(mean)), "█" * round(_BAR * mean / max(means))])
    widths = f"widest {graph.widest:,}, median {graph.median_level:,.10g}"
    headers = ["level", "components" if depth <= BINS else "components a level", ""]
    return Table("levels", f"{count(depth, 'level')} by longest path from a root: {widths}", headers, lines,
                 frozenset(headers[:2]))  # fmt: skip


def _degrees(graph: Profile) -> Table:
    from grailbench.graph.profile import QUANTILES

    headers = ["", "mean", *(f"{q} %" for q in QUANTILES), "most", "of the edges at 1 %"]
    lines = [
        [side, f"{tail.mean:.2f}", *map(grouped, tail.quantiles.values()), grouped(tail.most), share(tail.top, 1)]
        for side, tail in (("parents", graph.parents), ("children", graph.children))
    ]
    notes = ["90 %: that many components have no more. At 1 %: at the components with most (at least one)."]
    return Table("degrees", "degrees of components", headers, lines, frozenset(headers[1:]), notes=notes)


def _settled(profile: Profile) -> Table:
    from grailbench.problems.reachability.profile import INDEX, PAIRS, STAGES, STEPS

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
    from grailbench.problems.reachability.profile import STAGES

    return [*(share(getattr(settled, stage), settled.pairs) for stage in STAGES), short(settled.edges_a_search)]


def draw(profile: Profile, folder: Path, form: str) -> list[Path]:
    """Draw the figures into a folder, as SVG, PNG or 'both', each with its data as CSV; returns the paths.

    Raises InputError if they cannot be written.
    """
    from grailbench.report import draw as drawing
    from grailbench.report import profiled
    from grailbench.report.destination import save

    source = f"{profile.name}, SHA-256 {profile.sha256[:16]}, seed {profile.seed}"
    drawn = [*profiled.figures(profile), profiled.of_pairs(each._asdict() for each in profile.settled)]
    return [save(folder / name, data) for each in drawn for name, data in drawing.files(each, source, form)]
