"""Renderers, each of which takes any `grailbench.report.table.Table`: those of a terminal and of JSON are here.

markdown  a section: heading, table, notes
csv       the typed values of a file
latex     a `table` environment, or a `longtable`
html      a fragment: `<table>` with its caption and notes
"""

import json as library
from collections.abc import Iterator

from grailbench.report.table import Table
from grailbench.util.screen import Grid


def terminal(table: Table) -> Iterator[Grid | str]:
    """The table, then its notes, for `grailbench.util.screen.put`; a table without lines becomes a line of text."""
    if not table.lines:
        yield f"{table.title}: {' '.join(table.notes) or 'nothing'}"
        return
    yield Grid(table.title, table.headers, table.lines, table.right, table.keys, table.ends)
    yield from table.notes


def records(table: Table) -> Iterator[dict]:
    """The table's records, each with the table's name as first key."""
    for record in table.records:
        yield {"table": table.name, **record}


def json(table: Table) -> Iterator[str]:
    """The records as text, one JSON object per line."""
    yield from map(library.dumps, records(table))
