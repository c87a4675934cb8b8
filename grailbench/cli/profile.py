"""`grailbench profile`: what of a graph decides which index suits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grailbench.cli import completion, options
from grailbench.cli.plot import FORMATS
from grailbench.cli.printing import note, put, put_json
from grailbench.report.table import Table
from grailbench.util.words import count, estimate, grouped, magnitude, share, short, size

if TYPE_CHECKING:
    from grailbench.graph.profile import Outline, Structure
    from grailbench.problems.reachability.profile import Ends, Profile, Reach, Settled


@click.command("profile")
@click.argument("graphs", metavar="[GRAPH]...", nargs=-1, type=completion.GRAPH_OR_FILE)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N",
              help="Of the vertices and pairs that are drawn.")  # fmt: skip
@click.option("--out", metavar="DIR", type=options.Output(file_okay=False, path_type=Path),
              help="Draw figures into DIR.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(FORMATS), default="both", show_default=True,
              help="Kind of the figures' files.")  # fmt: skip
@click.option("--record", metavar="FILE", type=options.Output(dir_okay=False, path_type=Path),
              help="Instead, put the outline of each GRAPH into FILE, a JSON line a graph; without GRAPH, of those of "
                   "the recorded runs that can be had here.")  # fmt: skip
@click.option("--most-edges", type=click.IntRange(0), default=20_000_000, show_default=True, metavar="N",
              help="With --record and no GRAPH, leave out graphs with more edges.")  # fmt: skip
@options.as_json
def command(graphs, seed, out, form, record, most_edges, as_json):
    """Show what of GRAPH, a name or a file, decides which index suits it.

    \b
    structure  vertices, edges, strong components, roots, sinks, and how near to a forest it is
    ends       the trees at its ends, the core between them, and the bytes of the core's closure
    levels     by longest path from a root, and how many vertices each has
    degrees    of the condensed graph, with their tails
    reach      how many vertices a vertex reaches, and the share of random pairs that are reachable
    pairs      which step of `sequential` answers random, near and balanced pairs, and what is left to a search

    A file is imported under its stem. The same seed gives the same profile. With --out also figures of the ends, the
    levels, the degrees and the pairs, each with its data as CSV.

    An outline is sizes, components, trees, levels in at most 64 bins and degrees in powers of two, for pages that show
    graphs which are not at hand. Lines of other graphs stay in the file, and one of the same graph is replaced.

    \b
    Examples:
      grailbench profile kegg
      grailbench profile my-graph.gra --out figures --format svg
      grailbench profile kegg-like --json
      grailbench profile kegg-like erdos-renyi-100-0.1 --record outlines.jsonl
    """
    if record is not None:
        _record(graphs, most_edges, record)
        return
    if not graphs:
        raise click.UsageError("Missing argument 'GRAPH'.")
    for graph in graphs:
        _show(graph, seed, out if len(graphs) == 1 or out is None else out / Path(graph).stem, form, as_json)


def _show(graph: str, seed: int, out: Path | None, form: str, as_json: bool) -> None:
    from grailbench.data.imported import named
    from grailbench.data.library import open_graph
    from grailbench.problems.reachability.profile import outline, profile, remarks
    from grailbench.report.render import terminal
    from grailbench.util.visible import quoted

    opened = open_graph(*named(graph, note))
    found = profile(opened, seed)
    if as_json:
        put_json([found.record()])
    else:
        for table in tables(found):
            put([*terminal(table), *([""] if table.notes else [])])
        put([*([reached(found.reach)] if found.reach is not None else []), *remarks(found)])
        put([f"next: grailbench advise {quoted(found.name)}"] if found.structure.vertices else [])
    if out is not None:
        for path in draw(found, outline(opened), out, form):
            note(f"written: {path}")


def _record(graphs: Iterable[str], most_edges: int, path: Path) -> None:
    """Puts the outlines of graphs into a file, which is whole after each."""
    from grailbench.data.imported import named
    from grailbench.data.library import open_graph
    from grailbench.graph import profile as outlines
    from grailbench.problems.reachability.profile import outline

    found = outlines.read(path)
    wanted = dict(named(graph, note) for graph in graphs) or dict(_recorded(most_edges))
    for name, sha256 in wanted.items():
        graph = open_graph(name)
        if sha256 not in (None, graph.sha256):
            note(f"left out: {name}, which is another graph here than in the recorded runs")
            continue
        found[name] = outline(graph)
        outlines.write(path, found.values())
        note(f"recorded: {name}")


def _recorded(most_edges: int) -> Iterator[tuple[str, str]]:
    """The graphs of recorded runs that can be had here and have at most so many edges: name and SHA-256."""
    from grailbench.data.locate import locate
    from grailbench.harness import provenance
    from grailbench.harness.cells import read

    runs = (read(provenance.baselines() / name) for name in provenance.manifest())
    cells = {cell.dataset: cell for run in runs for cell in run.cells if cell.graph_sha256}
    for name, cell in sorted(cells.items()):
        here = locate(name)
        if here.dataset is not None and not here.here:
            note(f"left out: {name}, which was not fetched: grailbench fetch {name}")
        elif (cell.edges or 0) > most_edges:
            note(f"left out: {name}, {cell.edges:,} edges")
        else:
            yield name, cell.graph_sha256


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
    from grailbench.problems.reachability.profile import FORESTS

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
    import numpy as np

    from grailbench.graph.profile import level_bins

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
    from grailbench.graph.profile import QUANTILES

    headers = ["", "mean", *(f"{q} %" for q in QUANTILES), "most", "of the edges at 1 %"]
    lines = [
        [side, f"{tail.mean:.2f}", *map(grouped, tail.quantiles), grouped(tail.most), share(tail.top, 1)]
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


def draw(profile: Profile, outline: Outline, folder: Path, form: str) -> list[Path]:
    """Draw the figures into a folder, as SVG, PNG or 'both', each with its data as CSV; returns the paths.

    Raises InputError if they cannot be written.
    """
    from grailbench.report import draw as drawing
    from grailbench.report.destination import save
    from grailbench.report.profiled import of_answers, of_outline

    source = f"{profile.name}, SHA-256 {profile.sha256[:16]}, seed {profile.seed}"
    drawn = [*of_outline(outline), of_answers(map(vars, profile.settled))]
    drawn = [each for each in drawn if each.drawable]
    return [save(folder / name, data) for each in drawn for name, data in drawing.files(each, source, form)]
