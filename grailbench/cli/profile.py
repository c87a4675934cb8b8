"""`grailbench profile`: what of a graph decides which index suits it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from grailbench.cli import complete, options
from grailbench.cli.plot import FORMATS


@click.command("profile")
@click.argument("graphs", metavar="[GRAPH]...", nargs=-1, type=complete.GRAPH_OR_FILE)
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
    from grailbench.cli.views import note, put_json
    from grailbench.cli.views import profile as view
    from grailbench.data.imported import named
    from grailbench.data.library import open_graph
    from grailbench.problems.reachability.profile import profile, remarks
    from grailbench.report.render import terminal
    from grailbench.util.screen import put
    from grailbench.util.visible import quoted

    found = profile(open_graph(*named(graph, note)), seed)
    if as_json:
        put_json([found.record()])
    else:
        for table in view.tables(found):
            put([*terminal(table), *([""] if table.notes else [])])
        put([*([view.reached(found.reach)] if found.reach is not None else []), *remarks(found)])
        put([f"next: grailbench advise {quoted(found.name)}"] if found.structure.vertices else [])
    if out is not None:
        for path in view.draw(found, out, form):
            note(f"written: {path}")


def _record(graphs: Iterable[str], most_edges: int, path: Path) -> None:
    """Puts the outlines of graphs into a file, which is whole after each."""
    from grailbench.cli.views import note
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
    from grailbench.cli.views import note
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
