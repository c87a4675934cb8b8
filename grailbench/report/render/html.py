"""A table as a fragment of an HTML page."""

from __future__ import annotations

import re
from html import escape

from grailbench.report.table import Table

_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


def html(table: Table) -> str:
    """Caption, header and body, the notes below. Each cell says in `data-by` what it is sorted by; lines of a group
    are a `tbody`. The classes `num` and `status` are for a style sheet."""
    head = "".join(f'<th scope="col"{_kind(table, i)}>{escape(header)}</th>' for i, header in enumerate(table.headers))
    bodies, number = [], 0
    for group in table.groups():
        lines = []
        for line in group:
            cells = "".join(_cell(table, number, i, text) for i, text in enumerate(line))
            lines.append(f"<tr>{cells}</tr>")
            number += 1
        bodies.append(f"<tbody>{''.join(lines)}</tbody>")
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    return f"<table><caption>{escape(table.title)}</caption><thead><tr>{head}</tr></thead>{''.join(bodies)}</table>" + (
        f'<ul class="notes">{notes}</ul>' if notes else ""
    )


def sort_value(table: Table, line: int, column: int) -> object:
    """What a cell is sorted by: its typed value where the table has one, else the number that a column of numbers
    shows, else its text; None sorts last."""
    if table.values is not None:
        return table.values[line][column]
    text = table.lines[line][column]
    if table.headers[column] not in table.right:
        return text.lower() or None
    found = _NUMBER.search(text)
    return float(found[0].replace(",", "")) if found else None


def _cell(table: Table, line: int, column: int, text: str) -> str:
    by = sort_value(table, line, column)
    name, scope = ("th", ' scope="row"') if column == 0 else ("td", "")
    value = "" if by is None else escape(str(by))
    return f'<{name}{scope}{_kind(table, column)} data-by="{value}">{escape(text)}</{name}>'


def _kind(table: Table, column: int) -> str:
    header = table.headers[column]
    kind = "num" if header in table.right else "status" if header == "status" else ""
    return f' class="{kind}"' if kind else ""
