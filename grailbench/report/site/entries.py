"""What a site shows, cell by cell, and the addresses of its pages.

Addresses are relative to the site's folder and made of names that any file system and web server takes, so that a site
works from a folder as from a server. The same name always gives the same address.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from grailbench.harness.cells import Cell, Run
from grailbench.problems.contract import USUAL

_SAFE = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,58}[a-z0-9])?")
_OTHERS = re.compile(r"[^a-z0-9]+")
RECORDED, SUBMITTED, OWN = "recorded", "submitted", "own"  #: where a run of a site comes from


@dataclass(frozen=True, eq=False)
class Source:
    """A run of a site: cells of one machine.

    name    unique in the site: 'h200/fused', or the name of the run's folder
    run     the run, as `runs.cells.of_machine` gives it
    origin  one of `RECORDED`, `SUBMITTED` and `OWN`
    """

    name: str
    run: Run
    origin: str = OWN

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"runs/{slug(self.name)}.html"

    @cached_property
    def entries(self) -> list[Entry]:
        """Its cells, in the order of their first rows."""
        return [Entry(self, cell) for cell in self.run.cells]


@dataclass(frozen=True, eq=False)
class Entry:
    """A cell of a run of a site."""

    source: Source
    cell: Cell

    @property
    def address(self) -> str:
        """The address of its rows: an anchor on the page of its run."""
        return f"{self.source.address}#{anchor(self.cell)}"

    @property
    def graph_address(self) -> str:
        return graph_address(self.cell.dataset)

    @property
    def implementation_address(self) -> str:
        return implementation_address(self.cell.impl, self.cell.problem)


def entries(sources: Iterable[Source]) -> Iterator[Entry]:
    """The cells of all runs, run by run."""
    for source in sources:
        yield from source.entries


def slug(name: str) -> str:
    """A file name for any text: the text itself where it is one already (lower case letters, digits, '.', '_', '-'),
    else what is left of it and eight hex digits of its hash, so that no two texts have the same."""
    if _SAFE.fullmatch(name) and name != "index":
        return name
    left = _OTHERS.sub("-", name.lower()).strip("-")[:40].strip("-")
    digits = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{left}-{digits}" if left else digits


def anchor(cell: Cell) -> str:
    """The name of a cell on the page of its run, which depends on its problem, graph and configuration alone."""
    return f"c{hashlib.sha256(repr(cell.key).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def graph_address(name: str) -> str:
    """The address of the page of a graph."""
    return f"graphs/{slug(name)}.html"


def implementation_address(name: str, problem: str = USUAL) -> str:
    """The address of the page of an implementation; the same name may stand for other things in other problems."""
    return f"implementations/{slug(name if problem == USUAL else f'{problem}-{name}')}.html"
