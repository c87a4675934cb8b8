"""A table in a terminal."""

from __future__ import annotations

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
