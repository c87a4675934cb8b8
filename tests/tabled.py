"""Tables of a report as tests look at them."""

from __future__ import annotations

from grailbench.report.papers import beside
from grailbench.report.render.json import records
from grailbench.report.render.markdown import markdown


def parts(table):
    """Headers, lines and notes."""
    return table.headers, table.lines, table.notes


def table_markdown(filled):
    """A table beside print as Markdown."""
    return markdown(beside.table(filled))


def all_records(report):
    """The plain records of all tables of a report, as `--json` prints them."""
    return [record for table in report.shown for record in records(table)]
