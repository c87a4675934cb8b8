"""The leaderboard of a site: the fastest configuration of each problem, graph and query set."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from grailbench.contract import problem as problem_of
from grailbench.report.measured import median
from grailbench.report.render.html import html
from grailbench.report.site.entries import Entry
from grailbench.report.table import Table
from grailbench.words import short

HEADERS = ["graph", "problem", "queries", "configuration", "ms", "run", "status"]


def block(entries: Iterable[Entry], up: str = "") -> Markup:
    """A table with the fastest of each, whose cells lead to rows and pages."""
    best: dict[tuple, Entry] = {}
    for entry in entries:
        cell = entry.cell
        key = (cell.problem, cell.dataset, cell.query_set)
        time = last(entry)
        if time is not None and (key not in best or time < last(best[key])):
            best[key] = entry
    return html(listing("Fastest of each graph", [best[key] for key in sorted(best)], up))


def files(entries: Iterable[Entry]) -> dict[str, bytes]:
    """Further files of the leaderboard by address: none."""
    return {}


def script() -> str:
    """The JavaScript of a page with a leaderboard: none."""
    return ""


def styles() -> str:
    """The CSS of a page with a leaderboard: none."""
    return ""


def last(entry: Entry) -> float | None:
    """The median of the phase that ends a trial."""
    return median(entry.cell, problem_of(entry.cell.problem).phases[-1])


def listing(title: str, entries: Iterable[Entry], up: str) -> Table:
    """A table with a line an entry."""
    lines, links = [], []
    for entry in entries:
        cell, time = entry.cell, last(entry)
        lines.append([cell.dataset, cell.problem, cell.query_set, cell.label, short(time) if time is not None else "",
                      entry.source.name, cell.status])  # fmt: skip
        links.append([up + entry.graph_address, None, None, up + entry.implementation_address, up + entry.address,
                      up + entry.source.address, None])  # fmt: skip
    return Table("listing", title, HEADERS, lines, frozenset({"ms"}), links=links)
