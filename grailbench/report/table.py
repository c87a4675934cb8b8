"""A table as data: what a report says, before it is known who reads it. `report.render` has the renderers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grailbench.runs import axes

if TYPE_CHECKING:
    import pandas

#: headers of columns of words, which stand on the left
WORDS = ("", "graph", "implementation", "configuration", "problem",
         *(axis.header for axis in axes.AXES if not axis.number), "query set", "queries", "phase", "checked by",
         "bound", "status")  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    """A table that any renderer takes.

    name     what records call it: '2.4', 'cells', 'closure'
    title    what stands above it
    headers  of its columns; '' for one without
    lines    its cells as text, a list a line
    right    headers of right-aligned columns, those of numbers
    keys     how many columns, the first ones, say what a line is about
    ends     numbers of the lines that end a group of lines: a graph measured, printed and their ratio
    notes    sentences below it
    values   what each cell is sorted by (a number, a text, None), a list a line, where the texts do not say it
    records  typed values: a dictionary a JSON object
    file     name of its files, without their ending; tables of one file stand in it one after the other. '' for none
    data     typed values of its CSV file, a row a line; None for a table that has no CSV file
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

    def groups(self) -> list[list[list[str]]]:
        """The lines, parted after each of `ends`."""
        found: list[list[list[str]]] = [[]]
        for number, line in enumerate(self.lines):
            found[-1].append(line)
            if number in self.ends and number < len(self.lines) - 1:
                found.append([])
        return found


def numbers(headers: Iterable[str], words: Iterable[str] = WORDS) -> frozenset[str]:
    """The headers of columns of numbers: all but the first and those of words."""
    words = set(words)
    return frozenset(name for i, name in enumerate(headers) if i and name not in words)
