"""`grailbench advise`: a short tournament on a graph that ends in a recommendation."""

from __future__ import annotations

import click

from grailbench.cli import complete, options

DEFAULT_QUERIES = 1_000_000


class _Updates(click.ParamType):
    """'no', which is None, or a number of queries between two changes."""

    name = "updates"

    def convert(self, value, param, ctx):
        return None if value in ("no", None) else click.IntRange(1).convert(value, param, ctx)


@click.command("advise")
@click.argument("graph", type=complete.GRAPH_OR_FILE)
@click.option("--queries", type=click.IntRange(1), metavar="N", default=DEFAULT_QUERIES, show_default=True,
              help="How many pairs you will ask in all.")  # fmt: skip
@click.option("--pairs", type=complete.FILE, metavar="FILE", help="Pairs like those that you will ask, `u v [0|1]` a "
              "line. [default: random and balanced ones, half each]")  # fmt: skip
@click.option("--memory", type=options.Size(), metavar="SIZE", help="The most that the winner may need, as 500MB or "
              "2GiB: of its process, interpreter and graph included.")  # fmt: skip
@click.option("--updates", type=_Updates(), metavar="no|N", default="no", show_default=True,
              help="'no' if the graph stays as it is, else how many pairs you ask between two changes: each change "
              "needs a new build.")  # fmt: skip
@click.option("--gpu", is_flag=True, help="Implementations on a GPU take part too.")
@click.option("--impl", "implementations", type=complete.IMPLEMENTATION, multiple=True, metavar="NAME",
              help="Only this implementation takes part; may repeat. [default: all that are installed]")  # fmt: skip
@click.option("--budget", type=options.Seconds(1), metavar="SECONDS", default=60.0, show_default=True,
              help="About how long it may take; on a graph of millions of edges it takes longer.")  # fmt: skip
@click.option("--process", type=click.Choice(["own", "shared"]), default="own", show_default=True,
              help="'own': a process for each cell of the last round, which measures its memory.")  # fmt: skip
@click.option("--out", type=options.Output(), metavar="DIR",
              help="Folder of the run. [default: a new one in results/runs]")  # fmt: skip
@click.option("--no-fetch", is_flag=True, help="Do not fetch a graph that is missing.")
@options.as_json
def command(graph, queries, pairs, memory, updates, gpu, implementations, budget, process, out, no_fetch, as_json):
    """Say which index to take for GRAPH, a name or a file, and why.

    Every implementation and every installed peer is tried on this graph and these pairs, with a few settings: once
    with few pairs and little time, then the best again with many trials. What wins costs least for the number of
    queries that you expect: its build from edges, once, and its queries. Every answer is verified; what was wrong,
    failed or too slow is named and never recommended. Of candidates that differ by less than the noise, the one with
    the smallest index is taken.

    The rows, the figure and its data stay in the folder of the run, which all commands read.

    \b
    Exit codes: 2 bad input, or no candidate fits --memory; 3 when no candidate could be measured; 4 when --gpu is
    given and there is none.

    \b
    Examples:
      grailbench advise kegg
      grailbench advise edges.txt --queries 50000 --pairs mine.txt --memory 2GiB
      grailbench advise kegg --updates 1000 --impl sequential --impl parallel --budget 20
    """
    from grailbench.api.advise import tournament
    from grailbench.api.advise.costs import advise
    from grailbench.cli.views import advise as view
    from grailbench.cli.views import note
    from grailbench.data.imported import named

    name, sha256 = named(graph, note)
    entry = tournament.Entry(
        name, min(queries, updates or queries), pairs, implementations, gpu, memory, budget, process, sha256
    )
    held = tournament.hold(entry, view.Progress, out=out, fetch=not no_fetch)
    found = advise(held.last or held.first, entry.queries, memory)
    view.put(entry, held, found, queries, updates, as_json)
