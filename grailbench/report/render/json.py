"""The typed values of tables as JSON: one object a line."""

from __future__ import annotations

import json as library
from collections.abc import Iterator

from grailbench.report.table import Table


def records(table: Table) -> Iterator[dict]:
    """The table's plain records, each with the table's name first."""
    for record in table.records:
        yield {"table": table.name, **record}


def json(table: Table) -> Iterator[str]:
    """The records as text, a line each."""
    yield from map(library.dumps, records(table))
