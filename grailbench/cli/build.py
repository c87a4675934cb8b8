"""`grailbench build`: an index of a graph, saved to a file."""

from __future__ import annotations

import click

from grailbench.cli import complete, options


@click.command("build")
@click.argument("graph", type=complete.GRAPH_OR_FILE)
@click.option("--out", type=options.Output(dir_okay=False, index=True), required=True, metavar="FILE",
              help="Save the index there.")  # fmt: skip
@options.index
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N", help="Of random choices.")
@click.option("--memory", type=options.Size(), metavar="SIZE",
              help="Bytes, also as 500MB, that streamed may use, or the closure of core. [default: a quarter of what "
                   "is free]")  # fmt: skip
@click.option("--vertices", type=click.IntRange(0), metavar="N",
              help="Of streamed: their number, where more than the greatest id says.")  # fmt: skip
@click.option("--folder", type=options.Output(file_okay=False), metavar="DIR",
              help="Of streamed: a new or empty folder for its files until all is saved. [default: "
                   "FILE.build]")  # fmt: skip
@click.option("--resume", is_flag=True, help="Of streamed: go on with a build of the same edges that was ended there.")
@options.as_json
def command(graph, out, **flags):
    """Build an index of GRAPH, a name or a file, and save it to a file for `grailbench ask` and `grailbench.load`.

    With --impl streamed the edges of a file (an edge list or Parquet), or of a name as random-n4000000-k150-s1, are
    never held in memory: they are sorted on disk and pass by, and --memory bounds what is held. It needs about 48 bytes
    a vertex, on disk about 20 bytes an edge, and a graph without cycles. A build that was killed goes on with --resume.
    'grailbench generate random --stream FILE' writes such a file, 'grailbench ask INDEX U V' asks the index.

    \b
    Examples:
      grailbench build kegg-like --out kegg.index
      grailbench build edges.txt --impl streamed --memory 500MB --out edges.index
    """
    from grailbench.cli.views.built import build

    build(graph, out, **flags)
