"""A table as data, independent of its output format. `report.render` has the renderers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from grailbench.harness import axes
from grailbench.harness.statistics import Interval
from grailbench.util.words import BLANK

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


class Column(NamedTuple):
    """A column of a table that is made of rows of typed values.

    header  of the column
    value   a key of the row, or a function of the thing that the row is of
    text    takes a value other than None to its text; the column is one of numbers then. None for a column of texts
    link    takes the thing to the address that the cell leads to, or None; None for a column without links
    """

    header: str
    value: str | Callable[[Any], object]
    text: Callable[[Any], str] | None = None
    link: Callable[[Any], str | None] | None = None


def of_rows(
    name: str, title: str, columns: list[Column], rows: list[dict], things: Sequence[Any] = (), **more: Any
) -> Table:
    """A table with a line for each row, whose records and CSV are the rows.

    things  what each row is of, by default the rows themselves
    more    further fields of the table
    """
    import pandas

    lines, values, links = [], [], []
    for row, thing in zip(rows, things or rows, strict=True):
        found = [(each, row[each.value] if isinstance(each.value, str) else each.value(thing)) for each in columns]
        lines.append([BLANK if value is None else (each.text or str)(value) for each, value in found])
        values.append([_key(value) if each.text else None for each, value in found])
        links.append([each.link(thing) if each.link and value is not None else None for each, value in found])
    numeric = frozenset(column.header for column in columns if column.text)
    return Table(
        name, title, [column.header for column in columns], lines, numeric, values=values, links=links,
        **{"records": rows, "data": pandas.DataFrame(rows), **more},
    )  # fmt: skip


def _key(value: object) -> object:
    """What a value is sorted by: an interval by its low end, a word in place of a number by nothing."""
    return value.low if isinstance(value, Interval) else None if isinstance(value, str) else value
