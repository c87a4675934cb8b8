"""`grailbench list`: datasets, implementations, configs and runs."""

from __future__ import annotations

import click

from grailbench.cli import options

KINDS = ("datasets", "implementations", "configs", "runs")


@click.command("list")
@click.argument("kind", type=click.Choice(KINDS), required=False)
@options.as_json
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
    from grailbench.cli.views import inventory, put_json
    from grailbench.util.screen import put

    for each in (kind,) if kind else KINDS:
        if as_json:
            put_json(inventory.records(each))
        else:
            put(inventory.show(each))
