"""The cells of a site by graph and by implementation, in the order in which their pages are made."""

from __future__ import annotations

from collections.abc import Iterable

from grailbench.problems.contract import PROBLEMS
from grailbench.report.site.entries import Entry


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
