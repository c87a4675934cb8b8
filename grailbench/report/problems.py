"""What a report needs of each problem, in one place: what its phases are called, and which modules make its table and
its figures.

A problem that is not here has the table of all cells alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from grailbench import contract

_PAPERS = "grailbench.report.papers."


@dataclass(frozen=True)
class Shown:
    """A problem as reports show it.

    ranked  the phases by which configurations are ranked, and what they are called: the last of a trial first, then
            `ready`, then what counts where `ready` was not timed
    tables  the module of papers whose `table(cells)` makes its table; problems of one module have one table. '' where
            `measured.table` does
    drawn   the module of papers whose `figures(cells)` makes its figures; those of reachability are of a report
    """

    ranked: Mapping[str, str]
    tables: str = ""
    drawn: str = ""

    @property
    def table(self) -> Callable | None:
        """The function that makes its table of cells."""
        return import_module(_PAPERS + self.tables).table if self.tables else None

    @property
    def figures(self) -> Callable | None:
        """The function that makes its figures of cells."""
        return import_module(_PAPERS + self.drawn).figures if self.drawn else None


def _traversal(what: str) -> Shown:
    return Shown({"solve": what, "ready": f"{what} from edges"}, "traversals", "traversals_figures")


SHOWN = {
    "reachability": Shown({"query": "queries", "ready": "edges to ready index", "label": "building the index"}),
    "bfs": _traversal("breadth-first searches"),
    "sssp": _traversal("shortest paths"),
    "apsp": _traversal("all pairs"),
    "closure": Shown({"solve": "closures", "ready": "closures from edges"}, "closures", "closures_figures"),
    "read": Shown({"solve": "reading"}, drawn="reading_figures"),
}


def shown(problem: str) -> Shown:
    """What there is of a problem."""
    return SHOWN.get(problem) or Shown({contract.problem(problem).phases[-1]: problem, "ready": "from edges"})
