"""A table as data, independent of its output format. `report.render` has the renderers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grailbench.harness import axes

if TYPE_CHECKING:
    import pandas

#: headers of columns of text, which are left-aligned
WORDS = ("", "graph", "implementation", "configuration", "problem",
         *(axis.header for axis in axes.AXES if not axis.number), "query set", "queries", "phase", "checked by",
         "bound", "stability", "status")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    """A table that any renderer takes.

    name     its name in records: '2.4', 'cells', 'closure'
    title    the heading above it
    headers  of its columns; '' for a column without one
    lines    its cells as text, one list per line
    right    headers of the right-aligned columns, which hold numbers
    keys     number of leading columns that identify a line
    ends     indices of the lines that end a group, such as a graph's measured, printed and ratio lines
    notes    sentences below it
    values   sort keys of the cells (number, text or None), one list per line; None if the texts are the keys
    links    addresses that the cells lead to, one list per line like `lines`, with None for a cell without; None if no
             cell has one. A page makes links of them, other formats have the text alone
    records  typed values, one dictionary per JSON object
    file     name of its files without the ending, '' for its own name; tables with the same name share a file
    data     typed values of its CSV file; None if it has no CSV file
    units    of columns by their header, where the header does not say it: 'ms'
    """

    name: str
    title: str
    headers: list[str]
    lines: list[list[str]]
    right: frozenset[str] = frozenset()
    keys: int = 1
    ends: frozenset[int] = frozenset()
    notes: list[str] = field(default_factory=list)
    values: list[list[object]] | None = None
    records: list[dict] = field(default_factory=list)
    file: str = ""
    data: pandas.DataFrame | None = None
    links: list[list[str | None]] | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    def groups(self) -> list[list[list[str]]]:
        """The lines, split after each of `ends`."""
        found: list[list[list[str]]] = [[]]
        for number, line in enumerate(self.lines):
            found[-1].append(line)
            if number in self.ends and number < len(self.lines) - 1:
                found.append([])
        return found


def numbers(headers: Iterable[str], words: Iterable[str] = WORDS) -> frozenset[str]:
    """The headers of columns of numbers: all except the first column and the columns of `words`."""
    words = set(words)
    return frozenset(name for i, name in enumerate(headers) if i and name not in words)
