"""`grailbench cache`: what the caches hold, and removing what is of no use."""

from __future__ import annotations

import click

from grailbench.cli import options


@click.command("cache")
@click.option("--list", "listed", is_flag=True, help="Show what the caches hold; the default without --prune.")
@click.option("--prune", is_flag=True, help="Remove what no process needs, and what is above the bound.")
@click.option("--dry-run", is_flag=True, help="With --prune: only tell what would be removed.")
@options.as_json
def command(listed, prune, dry_run, as_json):
    """Show the caches of this machine: their folders, entries, sizes, last use and bound; with --prune, clear them.

    --prune removes temporary files and folders whose process is gone, condensed graphs, queries and compiled kernels
    of former versions, which nothing reads any more, and then what was used longest ago, until all that can be had
    again is within the bound: 64 GB, or what GRAILBENCH_CACHE_SIZE says, such as 20GB, or none. Every command that adds
    to the cache keeps the bound too. Graphs that were imported, or generated under a name of your own, and measured
    limits are never removed, nor is what a running process uses.

    With --list and --prune, the caches are shown after they were cleared.

    \b
    Exit codes: 2 when GRAILBENCH_CACHE_SIZE is no size, or something could not be removed.

    \b
    Examples:
      grailbench cache
      grailbench cache --prune --dry-run
      grailbench cache --list --prune --json
    """
    from grailbench.cli.views import caches as view
    from grailbench.cli.views import put_json
    from grailbench.errors import InputError
    from grailbench.util import caches
    from grailbench.util.screen import put

    if dry_run and not prune:
        raise InputError("--dry-run belongs to --prune")
    caches.bound()  # raises InputError
    gone = view.pruned(dry_run) if prune else []
    if prune:
        put_json(view.removals(gone, dry_run)) if as_json else put(view.told(gone, dry_run))
    if listed or not prune:
        put_json(view.records()) if as_json else put(view.show())
    view.verdict(gone)
