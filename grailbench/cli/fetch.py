"""The command `grailbench fetch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import click

from grailbench.cli import options
from grailbench.cli.printing import note, show, table
from grailbench.errors import CheckFailed, InputError
from grailbench.report.table import Table
from grailbench.util.visible import visible
from grailbench.util.words import grouped, listing

if TYPE_CHECKING:
    from rich.console import Console

    from grailbench.data.fetch import FetchResult
    from grailbench.data.sources import Tell

#: header -> key of the measured value in a record; the published value beside it is in 'published_' + key
COLUMNS = {
    "Vertices": "vertices", "Edges": "edges", "Degree": "degree", "Levels": "levels", "Roots": "roots",
    "Sinks": "sinks", "Max in": "max_in_degree", "Max out": "max_out_degree",
}  # fmt: skip


@click.command
@click.argument("names", nargs=-1, type=options.FETCHED)
@options.many("--set", options.SET, "A whole set, as small-sparse; may repeat.", "sets")
@click.option("--all", "everything", is_flag=True, help="Every graph, about 425 MB.")
@click.option("--mirror", metavar="DIR-or-URL", help="Try this source first (default: GRAILBENCH_MIRROR).")
@click.option("--offline", is_flag=True, help="Use the cache and folders only, no network.")
@click.option("--jobs", type=options.Whole(1), default=4, show_default=True, help="Downloads side by side.")
@click.option("--timeout", type=click.FloatRange(0.1, 3600), default=10, show_default=True, metavar="SECONDS",
              help="How long to wait for the next 64 KiB of a server.")  # fmt: skip
@options.as_json
def fetch(names, sets, everything, mirror, offline, jobs, timeout, as_json):
    """Fetch graphs by NAME or alias, then count them beside the published tables.

    Without names, the 36 graphs whose checksums are known (8 MB, and 25 MB of the set datalog).
    What is in the cache is not fetched again.
    A file without a known checksum is never called verified.
    A download ends at the registered size (4 GiB where there is none), when less than 64 KiB come in --timeout
    seconds, and after an hour at most; then the next source is tried. A server that asks to wait, is too slow or
    cannot be reached is not asked again.

    \b
    Exit codes: 1 when a count differs from the published one, 2 when a graph could not be had.

    \b
    Examples:
      grailbench fetch
      grailbench fetch kegg human --mirror ~/graphs
      grailbench fetch --set large --jobs 2
    """
    from grailbench.data import fetch
    from grailbench.data.locate import choose
    from grailbench.data.sources import Hosts
    from grailbench.util.screen import error_console

    chosen, hosts = choose(names, sets, everything), Hosts(timeout=timeout)
    with _bars(error_console()) as bars:
        found = [*map(_fetched, fetch.fetch(chosen, mirror, offline, jobs, bars, hosts=hosts))]
    show(as_json, found, _sets(found))
    lacking = [row for row in found if row["status"] in ("missing", "damaged")]
    for reasons in dict.fromkeys(tuple(row["reasons"]) for row in lacking):
        note(f"{', '.join(row['name'] for row in lacking if tuple(row['reasons']) == reasons)}:")
        for reason in reasons:
            note(f"  {reason}")
    if wrong := [row["name"] for row in found if row["matches"] is False]:
        raise CheckFailed(f"counts differ from the published ones: {', '.join(wrong)}")
    if lacking:
        names = listing((row["name"] for row in lacking), 8)
        raise InputError(
            f"{len(lacking)} of {len(found)} graphs could not be had: {names}",
            remedy="--mirror FOLDER-or-URL adds a source; look-alikes, as kegg-like, need none",
        )


def _fetched(result: FetchResult) -> dict:
    """The record of a result: that of `library.describe`, with `status` and `reasons` of the fetch.

    A file that was fetched but cannot be read has the status 'damaged', and its reasons say why.
    """
    from grailbench.data.library import describe

    reasons = list(result.reasons)
    try:
        return describe(result.dataset) | {"status": result.status, "reasons": reasons}
    except InputError as error:
        return {"name": result.dataset.name, "set": result.dataset.set, "matches": None,
                "status": "damaged", "reasons": [*reasons, str(error)]}  # fmt: skip


def _sets(found: list[dict]) -> Iterator[Table | str]:
    """A table for each set with its graphs that are in the cache, and remarks below it."""
    here = [row for row in found if row["status"] in ("held", "fetched")]
    for name in dict.fromkeys(row["set"] for row in here):
        of_set = [row for row in here if row["set"] == name]
        printed = any(row["published_vertices"] for row in of_set)
        columns = [("Graph", "name")]
        for header, key in COLUMNS.items():
            columns.append((header, lambda row, key=key: grouped(row[key], "-")))
            if printed and key in ("vertices", "edges", "degree"):
                columns.append(("printed", lambda row, key=key: grouped(row[f"published_{key}"], "-")))
        columns.append(("", lambda row: {True: "✓", False: "✗", None: ""}[row["matches"]]))
        columns.append(("Checksum", lambda row: "verified" if row["verified"] else row["checked"]))
        number = next((f"Table {row['table']}, " for row in of_set if row["table"]), "")
        remarks = [f"  {line}" for line in _remarks(of_set)]
        yield table(
            f"{number}{name}, with the super-root", columns, of_set, [*COLUMNS, "printed"], notes=[*remarks, ""]
        )


def _remarks(of_set: list[dict]) -> Iterator[str]:
    from grailbench.data.cache import CHECKS

    if doubled := [f"{row['name']} {more}" for row in of_set if (more := row["edges"] - row["distinct_edges"])]:
        yield f"duplicate edges, counted here as in print: {', '.join(doubled)}"
    for row in of_set:
        name = row["name"]
        if row["published_vertices"] is None and row["published_file_vertices"] is not None:
            yield (
                f"{name}: {row['published_file_in']} prints {row['published_file_vertices']:,} vertices and "
                f"{row['published_file_edges']:,} edges without the super-root; "
                f"measured {row['file_vertices']:,} and {row['file_edges']:,}"
            )
        if not row["verified"]:
            yield f"{name}: not verified; compared with {CHECKS[row['checked']]}"
        yield from (f"{name}: {erratum}" for erratum in row["errata"])


@contextmanager
def _bars(screen: Console) -> Iterator[Callable[[str], AbstractContextManager[Tell]]]:
    """In the block, a progress bar for each download on the terminal of `screen`, none if that is not a terminal; gives
    what begins the bar of a file."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Bars(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bars:

        @contextmanager
        def bar(name: str) -> Iterator[Tell]:
            task = bars.add_task(visible(name), total=None)
            try:
                yield lambda total, more: bars.update(task, total=total, advance=more)
            finally:
                bars.update(task, visible=False)

        yield bar
