"""`grailbench profile`: what of a graph decides which index suits it."""

from __future__ import annotations

from pathlib import Path

import click

from grailbench.cli import complete, options
from grailbench.cli.plot import FORMATS


@click.command("profile")
@click.argument("graph", type=complete.GRAPH_OR_FILE)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N",
              help="Of the vertices and pairs that are drawn.")  # fmt: skip
@click.option("--out", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Draw figures into DIR.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="both", show_default=True,
              help="Kind of the figures' files.")  # fmt: skip
@options.as_json
def command(graph, seed, out, form, as_json):
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

    \b
    Examples:
      grailbench profile kegg
      grailbench profile my-graph.gra --out figures --format svg
      grailbench profile kegg-like --json
    """
    from grailbench.cli.views import note, put_json
    from grailbench.cli.views import profile as view
    from grailbench.datasets.imported import named
    from grailbench.datasets.library import open_graph
    from grailbench.reachability.profile import profile, remarks
    from grailbench.report.render.terminal import terminal
    from grailbench.screen import put

    found = profile(open_graph(named(graph, note)), seed)
    if as_json:
        put_json([found.record()])
    else:
        for table in view.tables(found):
            put([*terminal(table), *([""] if table.notes else [])])
        put([*([view.reached(found.reach)] if found.reach is not None else []), *remarks(found)])
        put([f"next: grailbench advise {found.name}"] if found.structure.vertices else [])
    if out is not None:
        for path in view.draw(found, out, form):
            note(f"written: {path}")
