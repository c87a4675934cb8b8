"""`grailbench fetch`: download graphs, check them, and compare their counts with the published ones."""

from __future__ import annotations

import click

from grailbench.cli import complete


@click.command("fetch")
@click.argument("names", nargs=-1, type=complete.FETCHED)
@click.option(
    "--set", "sets", type=complete.SET, multiple=True, metavar="SET", help="A whole set, as small-sparse; may repeat."
)
@click.option("--all", "everything", is_flag=True, help="Every graph, about 425 MB.")
@click.option("--mirror", metavar="DIR-or-URL", help="Try this source first (default: GRAILBENCH_MIRROR).")
@click.option("--offline", is_flag=True, help="Use the cache and folders only, no network.")
@click.option("--jobs", type=click.IntRange(1), default=4, show_default=True, help="Downloads side by side.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=10, show_default=True, metavar="SECONDS",
              help="How long to wait for the next bytes of a server.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, one a graph.")
def command(names, sets, everything, mirror, offline, jobs, timeout, as_json):
    """Fetch graphs by NAME or alias, then count them beside the published tables.

    Without names, the 36 graphs whose checksums are known (8 MB, and 25 MB of the set datalog).
    What is held already is not fetched again.
    A file whose checksum nobody knows yet is never called verified: its checksum goes to a lock file.
    A download ends at the size that is registered (4 GiB where none is), when nothing comes for --timeout seconds,
    and after an hour at most; then the next source is tried. From a server that asks to wait, is silent or
    cannot be reached, nothing more is asked.

    \b
    Exit codes: 1 when a count differs from the published one, 2 when a graph could not be had.

    \b
    Examples:
      grailbench fetch
      grailbench fetch kegg human --mirror ~/graphs
      grailbench fetch --set large --jobs 2
    """
    from grailbench.cli.views import datasets as view
    from grailbench.cli.views import note, put_json
    from grailbench.data.fetch import fetch
    from grailbench.data.locate import choose
    from grailbench.data.sources import Hosts
    from grailbench.util.screen import apart, put

    with view.Bars(apart()) as bars:
        results = fetch(choose(names, sets, everything), mirror, offline, jobs, bars, hosts=Hosts(read=timeout))
    found = view.rows(results)
    if as_json:
        put_json(found)
    else:
        put(view.show(found))
    for line in view.complaints(found):
        note(line)
    view.verdict(found)
