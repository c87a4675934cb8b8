"""`grailbench info`: everything about one name, or the machine."""

from __future__ import annotations

import click

from grailbench.cli import completion
from grailbench.cli.printing import put_json, say


@click.command("info")
@click.argument("name", default="machine", type=completion.ANY)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, one for each thing of that name.")
def command(name, as_json):
    """Show all that is known of NAME: a dataset, an implementation, a config, a run, or 'machine' (the
    default).

    \b
    Examples:
      grailbench info
      grailbench info kegg
      grailbench info parallel --json
    """
    from grailbench.cli import list_ as inventory
    from grailbench.util.screen import console

    found = inventory.info(name)
    if as_json:
        put_json(found)
        return
    for i, record in enumerate(found):
        if i:
            click.echo()
        for line in inventory.sheet(record, console().width):
            say(line)
