"""`grailbench import`: a user's own graph, under a name of its own."""

from __future__ import annotations

import click

FORMATS = ("gra", "edges", "adjlist", "mtx", "metis", "tuwien", "npz")


@click.command("import")
@click.argument("path", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--name", required=True, metavar="NAME", help="What the graph is called from now on.")
@click.option("--format", type=click.Choice(FORMATS), help="Default: told from content and name.")
@click.option("--vertices", type=click.IntRange(1), metavar="N", help="Of an edge list: as a header that says so.")
@click.option(
    "--renumber", is_flag=True, help="Of an edge list: the ids that occur are the vertices, and no other number is."
)
@click.option("--replace", is_flag=True, help="Replace another graph imported under this name.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(path, name, format, vertices, renumber, replace, as_json):
    """Import the graph in the file PATH (also .gz; - is the standard input), so that it can be run under NAME.

    \b
    Formats:
      gra    GRAIL's adjacency lists, with or without the line graph_for_greach
      edges  'source target [weight [time]]' a line; SNAP and KONECT headers are checked
      adjlist a line a vertex: its id, then all that it has edges to (networkx.write_adjlist)
      mtx    Matrix Market, coordinate; symmetric gives both directions
      metis  METIS, undirected: both directions
      tuwien 'vertices edges directed' on the first line, then 'source destination weight' a line
      npz    CSR arrays 'offsets' and 'targets', or scipy.sparse.save_npz

    A file that is cut off, or that disagrees with its own header, is refused, with its line. So is an edge list whose
    greatest id makes many times more vertices than edges, unless a header or --vertices states the count. Query files
    and messages speak the ids of the file. Weights that are whole and positive are kept for shortest paths; others are
    said not to be used.

    \b
    Examples:
      grailbench import my-graph.gra --name mine
      grailbench import web-Google.txt.gz --name web-google --json
      sort edges.txt | grailbench import - --name sorted --renumber
    """
    from grailbench.cli.views import put_json
    from grailbench.cli.views.imported import show
    from grailbench.datasets.imported import import_graph
    from grailbench.screen import put

    if vertices is not None and renumber:
        raise click.UsageError("--vertices and --renumber: one of them")
    result = import_graph(path, name, format, replace, vertices, renumber)
    if as_json:
        put_json([result.record()])
    else:
        put(show(result))
