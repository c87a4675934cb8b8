"""The tables of reports by paper.

A module here has the tables of a paper in `PARTS`; that is all that a report needs to know of them. A problem without a
part has only the table of all its cells.
"""

import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from typing import Any

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
