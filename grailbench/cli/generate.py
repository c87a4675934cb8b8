"""The command `grailbench generate`."""

from pathlib import Path

import click

from grailbench.cli import options
from grailbench.cli.printing import show, table
from grailbench.report.table import Table
from grailbench.util.words import BLANK, grouped


@click.command
@click.argument("names", nargs=-1, type=options.LOOK_ALIKE)
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, another graph.")
@click.option("--vertices", type=int, metavar="N", help="Number of vertices of 'random' or 'citations'.")
@click.option("--degree", type=float, metavar="K", help="Edges per vertex of these.")
@click.option("--window", type=int, metavar="W", help="How many vertices back one may cite in 'citations'.")
@click.option("--name", metavar="NAME", help="Name of the graph, for these.")
@click.option("--compare/--no-compare", "compared", default=True, help="Measure the differences from the graph.")
@click.option("--list", "listed", is_flag=True, help="List the look-alikes.")
@click.option("--stream", type=options.Output(dir_okay=False, path_type=Path), help="Of 'random': write a Parquet file "
              "as edges are made, which may be more than memory holds.")  # fmt: skip
@options.as_json
def generate(names, seed, vertices, degree, window, name, compared, listed, stream, as_json):
    """Generate look-alikes (NAMES) or, as 'random', a uniform random DAG, as 'citations' a DAG of citations, and store
    them for runs.

    Graphs of the closure report are NAMES too: KIND-VERTICES, where KIND is path, cycle, star, complete, random-tree or
    scale-free, and KIND-VERTICES-DENSITY for custom and erdos-renyi. Runs make them when they need them.

    Graphs on which an index is needed are NAMES too, as dense-1m-8: 'grailbench list' shows their sets.

    A look-alike has its graph's vertices, edges, levels and degrees exactly; how near the rest comes is printed.
    The same name and seed give the same graph on every machine.

    \b
    Examples:
      grailbench generate --list
      grailbench generate kegg-like citeseer-like
      grailbench generate uniprotenc_150-like --no-compare
      grailbench generate random --vertices 250000 --degree 50 --seed 3 --name dense
      grailbench generate random --vertices 4000000 --degree 150 --stream edges.parquet
      grailbench generate citations --vertices 3800000 --degree 4.6 --window 500000
      grailbench generate erdos-renyi-1000-0.1 scale-free-1000
      grailbench generate commits-small layered-small
    """
    from grailbench.data import generating

    if listed:
        columns = {
            "name": "name", "vertices": "vertices", "edges": "edges",
            "positive pairs": lambda row: None if row["positive_rate"] is None else f"{row['positive_rate']:.4%}",
            "counts are": "basis",
        }  # fmt: skip
        title = "Look-alikes, counted as in print: those of the thesis with the super-root"
        found = list(generating.listing())
        show(as_json, found, [table(title, columns, found, list(columns)[1:4], BLANK)])
    elif stream:
        from grailbench.outofcore.streams import streamed

        record = streamed(names, seed, vertices, degree, stream)
        show(as_json, [record], [f"{stream}: {record['vertices']:,} vertices, {record['edges']:,} edges"])
    else:
        for record in generating.records(names, seed, vertices, degree, window, name, compared):
            show(as_json, [record], account(record))


def account(record: dict) -> list[Table | str]:
    """A generated graph, and a table of its differences from the wanted numbers if there are any."""
    counts, seconds = f"{record['name']}: {record['vertices']:,} vertices, {record['edges']:,} edges", record["seconds"]
    if not record["differences"]:
        return [f"{counts}, {seconds:.2f} s", record["path"]]

    def relative(row: dict) -> str | None:
        share = row["relative"]
        return f"{share:+.2%}" if share else None if share is None else "0"

    columns = {
        "quantity": "quantity", record["basis"] or "wanted": lambda row: grouped(row["wanted"], BLANK),
        "generated": lambda row: grouped(row["generated"], BLANK), "difference": relative,
    }  # fmt: skip
    counted, parts = {row["quantity"]: row["generated"] for row in record["differences"]}, []
    if counted["vertices"] > record["vertices"]:
        edges = f"{counted['edges'] - record['edges']:,} edges"
        parts = [f"Vertices and edges of this table: with the super-root and its {edges}, as print counts them."]
    title = f"{counts} in its file, {seconds:.2f} s"
    return [table(title, columns, record["differences"], list(columns)[1:], BLANK), *parts, record["path"]]
