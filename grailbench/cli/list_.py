"""`grailbench list`: what there is to run, and what was run."""

from __future__ import annotations

import json

import click

KINDS = ("datasets", "implementations", "configs", "runs")


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def command(kind, as_json):
    """List datasets, implementations, configs or runs; without KIND all four.

    Vertices and edges are counted with the super-root, as the thesis counts them, for the graphs that are in
    the cache; 'matches' says whether they are the published ones.

    \b
    Examples:
      grailbench list
      grailbench list datasets
      grailbench list implementations --json
    """
    from grailbench.cli.views import inventory

    kinds = (kind,) if kind else KINDS
    if as_json:
        for each in kinds:
            for record in inventory.records(each):
                click.echo(json.dumps(record))
        return
    from grailbench.screen import put

    for each in kinds:
        put(inventory.show(each))
