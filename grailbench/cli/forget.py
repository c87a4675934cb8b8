"""The command `grailbench forget`."""

import click

from grailbench.cli import options
from grailbench.cli.printing import show
from grailbench.util.words import decimal_size


@click.command
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=options.STORED)
@options.as_json
def forget(names, as_json):
    """Remove graphs that were imported, or generated under names of their own, from the cache. NAME may be a path too,
    that a graph was imported from.

    The files they were imported from stay, and so do runs. What was made of them, such as condensed graphs, goes when
    the cache is above its bound (see 'grailbench cache').

    \b
    Examples:
      grailbench forget mine
    """
    from grailbench.data.imported import forget as remove

    for name in names:
        entry = remove(name)
        record = {"name": name, "path": str(entry.path), "bytes": entry.bytes}
        show(as_json, [record], [f"removed: {name}, {decimal_size(entry.bytes)}"])
