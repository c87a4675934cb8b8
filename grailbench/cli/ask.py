"""`grailbench ask`: answers on one graph, in its own ids."""

from __future__ import annotations

import re

import click

from grailbench.cli import complete, options


class _WithNumbers(click.Command):
    """A command of vertices, which takes -3 for one of them and for no option."""

    def parse_args(self, ctx, args):
        ctx.ignore_unknown_options = any(re.fullmatch("-[0-9]+", arg) for arg in args)
        return super().parse_args(ctx, args)


@click.command("ask", cls=_WithNumbers)
@click.argument("graph", type=complete.GRAPH_OR_FILE)
@click.argument("source", metavar="[U", required=False)
@click.argument("target", metavar="V]", required=False)
@click.option(
    "--pairs",
    type=complete.FILE,
    metavar="FILE",
    help="Ask the pairs of a file, as --queries of run reads them (also .gz, .csv); - is the standard input.",
)
@click.option(
    "--source", "source_column", metavar="COLUMN", help="Of a table of pairs with a header: where a pair begins."
)
@click.option(
    "--target", "target_column", metavar="COLUMN", help="Of a table of pairs with a header: where a pair ends."
)
@click.option("--descendants", metavar="U", help="All other vertices that U reaches.")
@click.option("--ancestors", metavar="V", help="All other vertices that reach V.")
@click.option("--count", is_flag=True, help="Only how many; alone, the number of descendants of every vertex.")
@click.option("--path", is_flag=True, help="A shortest path for each pair, too.")
@click.option("--explain", is_flag=True, help="Which filter or search answered each pair, and what it looked at.")
@click.option("--out", type=options.Output(dir_okay=False, allow_dash=True), metavar="FILE",
              help="Write the answers there; .gz is packed.")  # fmt: skip
@options.index
@click.option("--index", "index_file", type=complete.FILE, metavar="FILE", help="Open an index that --save wrote.")
@click.option("--save", type=options.Output(dir_okay=False, index=True), metavar="FILE",
              help="Save the index for --index.")  # fmt: skip
@options.as_json
def command(graph, source, target, **flags):  # fmt: skip
    """Ask whether U reaches V in GRAPH, a name or a file, and print `U V 1` or `U V 0`.

    GRAPH may also be an index that --save or `grailbench build` wrote; with --impl another index is made of its graph,
    so that a GPU answers from what `streamed` saved.

    Answers are in the ids of the graph's file and in the order of the questions; --pairs reads them back. Every vertex
    reaches itself. The index is built first (see --save). If a file of pairs gives answers and one of them is wrong,
    the exit code is 1.

    \b
    Examples:
      grailbench ask kegg-like 17 1500 --explain
      grailbench ask kegg-like --descendants 17 --count
      echo "17 1500" | grailbench ask kegg-like --pairs - --path --json
      grailbench ask kegg-like 17 1500 --impl sequential --save kegg.index
      grailbench ask kegg-like 1500 17 --index kegg.index
      grailbench ask kegg.index 1500 17
    """
    from grailbench.cli.views.asked import Question, answer

    answer(graph, Question(source, target, **flags))
