"""The records of tables as JSON Lines: one object per line."""

from __future__ import annotations

import json as library
from collections.abc import Iterator

from grailbench.report.table import Table


def records(table: Table) -> Iterator[dict]:
    """The table's records, each with the table's name as first key."""
    for record in table.records:
        yield {"table": table.name, **record}


def json(table: Table) -> Iterator[str]:
    """The records as text, one per line."""
    yield from map(library.dumps, records(table))
