"""A table as data, independent of its output format, and its columns; `report.render` has the renderers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from grailbench.harness import axes
from grailbench.util.words import BLANK, FEW, MARK

if TYPE_CHECKING:
    import pandas

#: what marks of values say
MARKED = {MARK: "unstable: measure again on a quiet machine.",
          FEW: "fewer than ten trials: too few to judge."}  # fmt: skip
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
    means    True if the last group is of means over the others
    notes    sentences below it
    values   sort keys of the cells (number, text or None), one list per line; None if the texts are the keys
    links    addresses that the cells lead to, one list per line like `lines`, with None for a cell without; None if no
             cell has one. A page makes links of them, other formats have the text alone
    records  typed values, one dictionary per JSON object
    file     name of its files without the ending, '' for its own name; tables with the same name share a file
    data     typed values of its CSV file; None if it has no CSV file
    """

    name: str
    title: str
    headers: list[str]
    lines: list[list[str]]
    right: frozenset[str] = frozenset()
    keys: int = 1
    ends: frozenset[int] = frozenset()
    means: bool = False
    notes: list[str] = field(default_factory=list)
    values: list[list[object]] | None = None
    records: list[dict] = field(default_factory=list)
    file: str = ""
    data: pandas.DataFrame | None = None
    links: list[list[str | None]] | None = None

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


@dataclass(frozen=True)
class Column:
    """A column of a table that has a line for each of some things: cells, graphs, comparisons, rows of typed values.

    header  its header
    value   the value of a thing, None where there is none; or a key of its row
    text    the text of a value; None for a column of texts
    link    the address that the cell of a thing leads to, or None; None for a column without links
    display the text of a thing, where it says more than the value
    none    the text of None; None for that of the table
    notes   notes on the value of a thing, which stand below the table
    usual   values that need not be shown: a column that has only these is left out
    mark    the mark of a thing whose value comes of times (`stability.mark`)
    key     True if it identifies a line
    """

    header: str
    value: str | Callable[[Any], object]
    text: Callable[[Any], str] | None = None
    link: Callable[[Any], str | None] | None = None
    display: Callable[[Any], str] | None = None
    none: str | None = None
    notes: Callable[[Any], Iterable[str]] | None = None
    usual: tuple = ()
    key: bool = False
    mark: Callable[[Any], str] | None = None

    def word(self, thing: object, value: object, none: str) -> str:
        """The text of a thing that has this value; `none` is that of None in the table."""
        if self.display is not None:
            text = self.display(thing)
        elif value is None:
            return none if self.none is None else self.none
        else:
            text = (self.text or str)(value)
        return text + self.mark(thing) if self.mark and value is not None else text


def tabulate(
    name: str,
    title: str,
    columns: Iterable[Column],
    things: Iterable[Any],
    *,
    rows: Sequence[Mapping[str, object]] = (),
    notes: Iterable[str] = (),
    after: Iterable[str] = (),
    words: Iterable[str] = WORDS,
    none: str = "",
    **more: Any,
) -> Table:
    """A table with a line for each thing and those of the columns that are needed.

    rows   the row of each thing, if columns have keys of rows
    notes  sentences below it; those of the columns follow, numbered, and then `after`
    words  the headers of columns of text
    none   the text of a missing value
    more   further fields of the `Table`; without `data` a table with a file has its records as CSV
    """
    columns, things = list(columns), list(things)
    found = [[row[column.value] if isinstance(column.value, str) else column.value(thing) for column in columns]
             for thing, row in zip(things, rows or [{}] * len(things), strict=True)]  # fmt: skip
    needed = [
        at for at, column in enumerate(columns)
        if not column.usual or any(line[at] not in column.usual for line in found)
    ]  # fmt: skip
    shown, values = [columns[at] for at in needed], [[line[at] for at in needed] for line in found]
    foot = Footnotes()
    lines, linked = [], []
    for thing, line in zip(things, values, strict=True):
        cells = [*zip(shown, line, strict=True)]
        lines.append([column.word(thing, value, none) + foot.mark(column.notes(thing) if column.notes else ())
                      for column, value in cells])  # fmt: skip
        linked.append([column.link(thing) if column.link and value is not None else None for column, value in cells])
    headers = [column.header for column in shown]
    more = {
        "right": numbers(headers, words), "keys": sum(column.key for column in shown) or 1, "values": values,
        "links": linked if any(column.link for column in shown) else None,
    } | more  # fmt: skip
    if "data" not in more and more.get("file"):
        import pandas

        more["data"] = pandas.DataFrame(more["records"])
    return Table(name, title, headers, lines, notes=[*notes, *foot.lines(), *after, *marked(lines)], **more)


def marked(lines: Iterable[Iterable[str]]) -> list[str]:
    """The notes of a table with marked values: a sentence on each mark."""
    there = {letter for line in lines for text in line for letter in text}
    return [f"{mark} {what}" for mark, what in MARKED.items() if mark in there]


def of_rows(
    name: str, title: str, columns: list[Column], rows: list[dict], things: Sequence[Any] = (), **more: Any
) -> Table:
    """A table with a line for each row, whose records and CSV are the rows; columns with a `text` are of numbers.

    things  what each row is of, by default the rows themselves
    more    further arguments of `tabulate`
    """
    made = tabulate(name, title, columns, things or rows, rows=rows, none=BLANK, **{"records": rows, **more})
    numeric = frozenset(column.header for column in columns if column.text)
    keys = [[_key(value) if header in numeric else None for header, value in zip(made.headers, line, strict=True)]
            for line in made.values]  # fmt: skip
    return replace(made, right=numeric, values=keys)


def _key(value: object) -> object:
    """What a value is sorted by: an interval by its low end, a word in place of a number by nothing."""
    return None if isinstance(value, str) else getattr(value, "low", value)


class Footnotes:
    """Numbered notes below a table, to which cells refer by number, so that a text appears once.

    Numbers notes in the order of their first use; equal notes have one number.
    """

    def __init__(self):
        self.numbers: dict[str, int] = {}

    def mark(self, notes: Iterable[str]) -> str:
        """' [1]' or ' [1,3]' for the notes, '' for none."""
        marks = [str(self.numbers.setdefault(note, len(self.numbers) + 1)) for note in notes]
        return f" [{','.join(marks)}]" if marks else ""

    def lines(self) -> list[str]:
        """'[1] note', in order."""
        return [f"[{number}] {note}" for note, number in self.numbers.items()]
