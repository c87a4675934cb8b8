"""Tables of a report as tests look at them."""

from __future__ import annotations

from grailbench.report.papers import beside
from grailbench.report.render.markdown import markdown


def parts(table):
    """Headers, lines and notes."""
    return table.headers, table.lines, table.notes


def table_markdown(filled):
    """A table beside print as Markdown."""
    return markdown(beside.table(filled))
