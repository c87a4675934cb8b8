"""What a report needs to know of each problem: the names of its phases, and the modules with its table and figures.

A problem without an entry has only the table of all cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from grailbench.problems import contract

_PAPERS = "grailbench.report.papers."


@dataclass(frozen=True)
class Shown:
    """How reports show a problem.

    title   its name as a heading, '' for the name that users type
    ranked  the phases by which configurations are ranked, and their names in words: first the last phase of a trial,
            then `ready`, then phases that are used if `ready` was not timed
    tables  the module in `papers` whose `table(cells, verdicts)` makes the table; problems with the same module share
            one. '' if `measured.table` makes it
    drawn   the function of `papers.figures` that makes the figures of cells; '' for none. Those of reachability are in
            `report.figures`
    beside  the module in `papers` whose `tables(cells)` makes further tables, of graphs that have some; '' for none
    """

    ranked: Mapping[str, str]
    tables: str = ""
    drawn: str = ""
    beside: str = ""
    title: str = ""

    @property
    def table(self) -> Callable | None:
        """The function that makes the table from cells and the verdicts on their stability."""
        return import_module(_PAPERS + self.tables).table if self.tables else None

    @property
    def more(self) -> Callable | None:
        """The function that makes further tables from cells."""
        return import_module(_PAPERS + self.beside).tables if self.beside else None

    @property
    def figures(self) -> Callable | None:
        """The function that makes the figures from cells."""
        return getattr(import_module(f"{_PAPERS}figures"), self.drawn) if self.drawn else None


def _traversal(what: str) -> Shown:
    words = {"solve": what, "ready": f"{what} from edges"}
    return Shown(words, "traversals", "traversals", title=what.capitalize())


SHOWN = {
    "reachability": Shown({"query": "queries", "ready": "edges to ready index", "label": "building the index"},
                          title="Reachability"),
    "bfs": _traversal("breadth-first searches"),
    "sssp": _traversal("shortest paths"),
    "apsp": _traversal("all pairs"),
    "closure": Shown({"solve": "closures", "ready": "closures from edges"}, "closures", "closures", "datalog",
                     title="Transitive closure"),
    "counts": Shown({"solve": "counting", "ready": "counting from edges"}, "counting", title="Reachability counts"),
    "read": Shown({"solve": "reading"}, drawn="reading", title="Reading graphs"),
}  # fmt: skip


def shown(problem: str) -> Shown:
    """The entry of a problem, or one with its last phase and `ready` if it has none."""
    return SHOWN.get(problem) or Shown({contract.problem(problem).phases[-1]: problem, "ready": "from edges"})
