"""The tables of reports by paper, and what reports say of each problem.

A module here has the tables of a paper in `PARTS`; that is all that a report needs to know of them. A problem without a
part has only the table of all its cells.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Any

from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report.table import Table


class Place(IntEnum):
    """Places of parts in a report."""

    FIRST = 0
    PRINTED = 1
    CLAIMS = 2
    PROBLEMS = 3
    MORE = 4


@dataclass(frozen=True)
class Part:
    """Tables that stand together in a report, and in a section of its page.

    name      of the part
    tables    makes the tables of a `document.Report`; none if its run has nothing for them
    problems  the problems of which it is made; the part is left out of reports on runs without any
    place     its place among the parts
    title     of its section, '' for that of its first table
    figures   what the names of the figures begin with that stand there, '' for the name of the part
    """

    name: str
    tables: Callable[[Any], Iterable[Table]]
    problems: tuple[str, ...] = (USUAL,)
    place: Place = Place.MORE
    title: str = ""
    figures: str = ""


@cache
def parts() -> tuple[Part, ...]:
    """The parts of all modules here, in their order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [part for name in names for part in getattr(import_module(f"{__name__}.{name}"), "PARTS", ())]
    return tuple(sorted(found, key=lambda part: part.place))


@dataclass(frozen=True)
class Wording:
    """What reports say of a problem.

    ranked  the phases by which configurations are ranked, and their names in words: first the last phase of a trial,
            then `ready`, then phases that are used if `ready` was not timed
    title   its name as a heading, '' for the name that users type
    drawn   the function of `papers.figures` that makes the figures of cells; '' for none. Those of reachability are in
            `report.figures`
    """

    ranked: Mapping[str, str]
    title: str = ""
    drawn: str = ""

    @property
    def figures(self) -> Callable | None:
        """The function that makes the figures from cells."""
        return getattr(import_module(f"{__name__}.figures"), self.drawn) if self.drawn else None


def _solving(what: str, title: str, drawn: str = "") -> Wording:
    return Wording({"solve": what, "ready": f"{what} from edges"}, title, drawn)


_WORDINGS = {
    "reachability": Wording({"query": "queries", "ready": "edges to ready index", "label": "building the index"},
                            "Reachability"),
    "bfs": _solving("breadth-first searches", "Breadth-first searches", "traversals"),
    "sssp": _solving("shortest paths", "Shortest paths", "traversals"),
    "apsp": _solving("all pairs", "All pairs", "traversals"),
    "closure": _solving("closures", "Transitive closure", "closures"),
    "counts": _solving("counting", "Reachability counts"),
    "read": Wording({"solve": "reading"}, "Reading graphs", "reading"),
}  # fmt: skip


def wording(problem: str) -> Wording:
    """What reports say of a problem; of one that is not known here, with its last phase and `ready`."""
    return _WORDINGS.get(problem) or Wording({contract.problem(problem).phases[-1]: problem, "ready": "from edges"})
