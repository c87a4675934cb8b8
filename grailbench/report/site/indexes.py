"""The pages that list graphs and implementations, and the order in which the others are made."""

from __future__ import annotations

from collections.abc import Iterable

from grailbench.contract import PROBLEMS
from grailbench.report.site.entries import Entry
from grailbench.report.table import Table
from grailbench.words import grouped, some

SHOWN = 4  #: names of problems in a cell of a table


def by_graph(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries by graph, in alphabetical order."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.cell.dataset, []).append(entry)
    return dict(sorted(found.items()))


def by_implementation(entries: Iterable[Entry]) -> dict[tuple[str, str], list[Entry]]:
    """The entries by problem and implementation, in the order of the problems and then in alphabetical order."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault((entry.cell.problem, entry.cell.impl), []).append(entry)
    problems = list(PROBLEMS)
    return dict(sorted(found.items(), key=lambda each: (problems.index(each[0][0]), each[0][1])))


def graphs(found: dict[str, list[Entry]], up: str) -> Table:
    """A line a graph, with links to its page."""
    lines, links = [], []
    for name, own in found.items():
        sizes = [_first(own, field) for field in ("vertices", "edges")]
        lines.append([name, _first(own, "kind") or "", *(grouped(value) for value in sizes), *_counts(own),
                      str(len({entry.cell.impl for entry in own}))])  # fmt: skip
        links.append([up + own[0].graph_address, *[None] * 6])
    headers = ["graph", "kind", "vertices", "edges", "problem", "cells", "implementations"]
    return Table(
        "graphs", "The graphs of this site", headers, lines, frozenset(headers[2:4] + headers[5:]), links=links
    )


def implementations(found: dict[tuple[str, str], list[Entry]], up: str) -> Table:
    """A line an implementation, with links to its page."""
    lines, links = [], []
    for (_, name), own in found.items():
        runs = {entry.source.name for entry in own}
        lines.append([name, *_counts(own), str(len({entry.cell.dataset for entry in own})), str(len(runs))])
        links.append([up + own[0].implementation_address, *[None] * 4])
    headers = ["implementation", "problem", "cells", "graphs", "runs"]
    title = "The implementations of this site"
    return Table("implementations", title, headers, lines, frozenset(headers[2:]), links=links)


def _counts(own: list[Entry]) -> list[str]:
    """The problems of some entries, and how many they are."""
    return [some(dict.fromkeys(entry.cell.problem for entry in own), SHOWN), f"{len(own):,}"]


def _first(own: list[Entry], field: str):
    """The first value of a field of the cells, None without any."""
    return next((value for entry in own if (value := getattr(entry.cell, field)) is not None), None)
