"""`grailbench export`: a graph, or its transitive closure, as a file in the closure report's format."""

from __future__ import annotations

import json

import click


@click.command("export")
@click.argument("name")
@click.argument("path", type=click.Path(dir_okay=False))
@click.option("--closure", is_flag=True, help="Write the transitive closure instead: an edge a pair with a path.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(name, path, closure, as_json):
    """Write the graph NAME to the file PATH: 'vertices edges directed', then 'source destination weight' a line.

    Edges are in strict order and each stands once, so files of equal graphs are equal. `grailbench import` reads them.

    \b
    Examples:
      grailbench export custom-200-0.05 graph.tuwien
      grailbench export custom-200-0.05 closure.tuwien --closure --json
    """
    from grailbench.closure.export import export

    record = export(name, path, closure)
    click.echo(json.dumps(record) if as_json else f"{path}: {record['vertices']:,} vertices, {record['edges']:,} edges")
