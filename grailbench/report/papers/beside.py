"""Printed tables filled with measured values: for each graph a line of measured values, a line of printed values, and
a line of their ratios or differences."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas

from grailbench.compare.stability import mark
from grailbench.harness.cells import Cell
from grailbench.report.published import COUNT_TABLES, INTEGERS, PAPER_TABLES
from grailbench.report.table import Footnotes, Table, marked, numbers
from grailbench.util.words import BLANK, difference, ms, ratio

NOT_RUN = "the graph is not in the run"
_SOURCE = ("impl", "dim", "search", "filters", "threads", "trials", "queries")


@dataclass(frozen=True)
class Entry:
    """One column of one row.

    measured  the value, or None; then `status` gives the reason in a word ('missing', 'failed', ...)
    printed   as printed; None outside the published rows
    ratio     measured / printed, in tables of counts measured - printed; None if the two cannot be compared
    reason    the known reason for a ratio far from 1
    cell      the cell that was measured
    spread    the least and the greatest of a mean over seeds
    """

    measured: float | None = None
    printed: str | None = None
    ratio: float | None = None
    status: str = "ok"
    measured_notes: tuple[str, ...] = ()
    printed_notes: tuple[str, ...] = ()
    reason: str = ""
    cell: Cell | None = None
    spread: tuple[int, int] | None = None


def missing(*notes: str) -> Entry:
    """The entry of what was not measured."""
    return Entry(status="missing", measured_notes=notes)


@dataclass(frozen=True)
class Row:
    """A graph: its canonical name, its name as shown, and its entries by column."""

    dataset: str
    title: str
    entries: dict[str, Entry]


@dataclass(frozen=True)
class Filled:
    """A printed table filled with measured values. `third` names the third line of a row: 'ratio' or 'difference'."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: list[Row]
    third: str
    notes: list[str] = field(default_factory=list)


def table(filled: Filled) -> Table:
    """The table to show: records have one entry per row and column, the CSV has one line per graph with `measured`,
    `printed`, `ratio` (or `difference`) and `status` of each column."""
    foot = Footnotes()
    first, *columns = filled.columns
    lines: list[list[str]] = []
    values: list[list[object]] = []
    ends: list[int] = []
    for row in filled.rows:
        entries = [row.entries[column] for column in columns]
        notes = {e.measured_notes for e in entries}  # the only note of a row without a value explains the whole row
        blank = notes.pop() if len(notes) == 1 and all(e.measured is None for e in entries) else ()
        name = row.title + foot.mark(blank)
        measured = [
            _measured(column, e) + mark_of(filled.name, e) + ("" if blank else foot.mark(e.measured_notes))
            for column, e in zip(columns, entries, strict=True)
        ]
        group = [[name, "measured", *measured]]
        if any(e.printed for e in entries):  # False for look-alikes among published rows
            group.append(["", "printed", *(f"{e.printed or ''}{foot.mark(e.printed_notes)}" for e in entries)])
            if not blank:
                compare = difference if filled.third == "difference" else ratio
                known = [foot.mark([e.reason] if e.reason else []) for e in entries]
                ratios = [compare(e.ratio) + mark_of(filled.name, e) if e.printed else "" for e in entries]
                group.append(["", filled.third, *map("".join, zip(ratios, known, strict=True))])
        lines += group
        values += [[name, "measured", *(e.measured for e in entries)]] * len(group)
        ends.append(len(lines) - 1)
    headers = [first, "", *columns]
    of = f"Computation 2020, table {filled.name[-1]}" if filled.name in PAPER_TABLES else f"Table {filled.name}"
    return Table(
        filled.name, f"{of}: {filled.caption}", headers, lines, numbers(headers), ends=frozenset(ends[:-1]),
        notes=[*filled.notes, *foot.lines(), *marked(lines)], values=values, records=list(_records(filled)),
        file=f"table-{filled.name}", data=_data(filled),
    )  # fmt: skip


def mark_of(table: str, entry: Entry) -> str:
    """The mark of an entry of a table; '' of one that is no time."""
    counts = table in COUNT_TABLES or isinstance(entry.measured, int)
    return "" if entry.cell is None or entry.measured is None or counts else mark(entry.cell)


def _measured(column: str, entry: Entry) -> str:
    if entry.measured is None:
        return BLANK if entry.status == "missing" else entry.status.upper()
    text = f"{entry.measured:.0f}" if column in INTEGERS else ms(entry.measured)
    text += f" ({entry.spread[0]} to {entry.spread[1]})" if entry.spread else ""
    if entry.status == "ok":
        return text
    few = entry.cell.planned is not None and entry.cell.trials < entry.cell.planned
    words = ["sampled"] if entry.status == "sampled" else []
    return f"{text} ({', '.join(words + [f'{entry.cell.trials} of {entry.cell.planned}'] * few)})"


def _data(filled: Filled):
    rows = []
    for row in filled.rows:
        line = {"dataset": row.dataset, filled.columns[0]: row.title}
        for column in filled.columns[1:]:
            entry = row.entries[column]
            values = {"measured": entry.measured, "printed": entry.printed, filled.third: entry.ratio,
                      "status": entry.status}  # fmt: skip
            line |= {f"{column} {side}": value for side, value in values.items()}
        rows.append(line)
    return pandas.DataFrame(rows, dtype=object)  # with float64, counts in a column with gaps would become floats


def _records(filled: Filled) -> Iterator[dict]:
    for row in filled.rows:
        for column in filled.columns[1:]:
            entry, cell = row.entries[column], row.entries[column].cell
            source = {} if filled.name in COUNT_TABLES else {name: getattr(cell, name, None) for name in _SOURCE}
            yield {
                "dataset": row.dataset, "title": row.title, "column": column, "measured": entry.measured,
                "printed": None if entry.printed is None else float(entry.printed),
                filled.third: entry.ratio, "status": entry.status,
                "notes": [*entry.measured_notes, *entry.printed_notes], **source,
            }  # fmt: skip
