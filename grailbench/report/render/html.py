"""A table as a fragment of an HTML page, and the templates of pages, which escape all data."""

import base64
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from grailbench.harness.rows import STATUSES, TIMED
from grailbench.report import draw
from grailbench.report.figure import Figure, fewer
from grailbench.report.table import Table
from grailbench.util.visible import visible

TALL = 40  #: a table with more lines scrolls in a box of its own
LEGEND = 8  #: entries of a legend on a page, at most
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)
_MARKED = re.compile(r"(.*?)((?: ?\[[\d,]+\])?)", re.DOTALL)
#: '#id', or a path without protocol, host, root, query or blank, with '#id' after it or not
_RELATIVE = re.compile(r"(?:(?:\.\./)*[\w][\w./-]*)?(?:#[\w.-]+)?", re.ASCII)
SIGNS = {"good": "✓", "weak": "!", "bad": "✗"}


def html(table: Table) -> Markup:
    """The table in a box that scrolls sideways, with its notes below. The page's script sorts it at a click on a
    header."""
    return templates().get_template("table.html").module.table(table)


@cache
def templates() -> jinja2.Environment:
    """The templates of `grailbench/report/templates`, with autoescape; texts are as `visible` shows them."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("grailbench.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, finalize=_shown_text,
    )  # fmt: skip
    found.globals |= {"bodies": bodies, "data_url": data_url, "drawing": drawing, "linked": linked, "TALL": TALL}
    return found


def _shown_text(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def drawing(figure: Figure) -> Markup:
    """The drawings of a figure for a page, with at most `LEGEND` entries in its legend."""
    return Markup(draw.svg(fewer(figure, LEGEND)))  # noqa: S704 - serialized by ElementTree, which escapes names


class Cell(NamedTuple):
    """A cell of a table on a page.

    text  its text, and `note` the references to notes after it: ' [1]'
    by    its sort key, or None if the text is the key
    kind  its CSS classes
    sign  the sign before a status, '' for other cells
    rows  its rowspan
    link  the address that it leads to, '' for none
    """

    text: str
    note: str
    by: object
    kind: str
    sign: str
    rows: int
    link: str = ""


def bodies(table: Table) -> Iterator[list[list[Cell]]]:
    """The groups of lines of a table. If only the first line of a group has a first cell, that cell spans the group."""
    number = 0
    for group in table.groups():
        whole = len(group) > 1 and all(line[0] == "" for line in group[1:])
        body = []
        for i, line in enumerate(group):
            cells = [_shown(table, number, column) for column in range(len(line))]
            body.append(
                [cells[0]._replace(rows=len(group)), *cells[1:]] if whole and i == 0 else cells[whole and i > 0 :]
            )
            number += 1
        yield body


def _shown(table: Table, line: int, column: int) -> Cell:
    text = table.lines[line][column]
    name, note = _MARKED.fullmatch(text).groups()
    link = linked(table.links[line][column]) if table.links and text else ""
    kind = state(name.lower())
    if table.headers[column] == "status" and kind:
        return Cell(name, note, None, f"status {kind}", SIGNS[kind], 1, link)
    numeric = table.headers[column] in table.right
    kinds = ["num"] * numeric + ["bad"] * (numeric and kind == "bad")
    return Cell(text, "", _by(table, line, column, text) if numeric else None, " ".join(kinds), "", 1, link)


def linked(address: str | None) -> str:
    """The address if it is one of this site: a relative path or '#...'. '' for all else, such as other protocols, other
    hosts, and paths from the root."""
    return address if address and _RELATIVE.fullmatch(address) else ""


def state(status: str) -> str:
    """'good', 'weak' or 'bad' for a status, '' for any other word."""
    if status not in STATUSES:
        return ""
    return "good" if status == "ok" else "weak" if status in (*TIMED, "skipped") else "bad"


def _by(table: Table, line: int, column: int, text: str) -> object:
    """The sort key of a number, if the first number in its text differs from it; else None."""
    if table.values is None or (value := table.values[line][column]) is None:
        return None
    found = _NUMBER.search(text)
    return None if found and float(found[0].replace(",", "")) == value else value


def data_url(text: str, kind: str = "text/csv") -> str:
    """A data URL with the text as its content."""
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"
