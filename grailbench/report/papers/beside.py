"""Printed tables filled with measured values: for each graph a line of measured values, a line of printed values, and
a line of their ratios or differences. A `Feed` says which cells fill a column, `time` which of them is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from grailbench.harness import axes
from grailbench.harness.cells import Cell, Stats
from grailbench.report import published
from grailbench.report.published import COUNT_TABLES, INTEGERS, PAPER_TABLES, PRINTED_QUERIES
from grailbench.report.table import Footnotes, Table, numbers
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
    """

    measured: float | None = None
    printed: str | None = None
    ratio: float | None = None
    status: str = "ok"
    measured_notes: tuple[str, ...] = ()
    printed_notes: tuple[str, ...] = ()
    reason: str = ""
    cell: Cell | None = None


#: axes on which a printed column takes any value unless its feed names one
_FREE = ("dim", "search", "threads", "order")


@dataclass(frozen=True)
class Feed:
    """The cells that fill a printed column, and the value that the column shows.

    impl         the implementation
    value        a phase, of which the mean is shown: 'query', or 'query/cpu_filter' for a phase within another; or a
                 count: 'positives' or 'counter/NAME'
    dim, search  the number of label pairs and the search order; None for any
    """

    impl: str
    value: str
    dim: int | None = None
    search: str | None = None

    def takes(self, cell: Cell) -> bool:
        """True for a cell of this configuration, without filters, on one device, on uniform random queries."""
        chosen = {"dim": self.dim, "search": self.search}
        return (
            cell.impl == self.impl
            and cell.random
            and all(value in (None, cell.axes[name]) for name, value in chosen.items())
            and all(cell.axes[axis.name] in axis.unsaid for axis in axes.AXES if axis.name not in _FREE)
        )

    @property
    def asks(self) -> bool:
        """True when the value depends on the queries."""
        return not self.value.startswith("label")

    def stats(self, cell: Cell) -> Stats | None:
        """The statistics of the phase that `value` names, or None."""
        under, _, phase = self.value.rpartition("/")
        return cell.phases.get((under, phase))

    def count(self, cell: Cell) -> int | None:
        """The count that `value` names, or None if `value` names a phase or the cell has no such count."""
        if self.value == "positives":
            return cell.positives
        return (cell.counters or {}).get(self.value.removeprefix("counter/")) if self.counts else None

    @property
    def counts(self) -> bool:
        """True when the value is a count, False when it is a time."""
        return self.value == "positives" or self.value.startswith("counter/")

    def __str__(self) -> str:
        return axes.label(self.impl, vars(self))


@dataclass(frozen=True)
class Row:
    """A graph: its canonical name, its name as shown, and its entries by column."""

    dataset: str
    title: str
    entries: dict[str, Entry]


@dataclass(frozen=True)
class Filled:
    """A printed table filled with measured values, or a table of other graphs with the same columns.

    `third` names the third line of a row: 'ratio' or 'difference', or '' where nothing was printed.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: list[Row]
    third: str
    notes: list[str] = field(default_factory=list)


def heading(filled: Filled) -> str:
    """'Table 2.4: Sparse tests (all times in ms)'; the caption alone for a table that was not printed."""
    if filled.name in PAPER_TABLES:
        return f"Computation 2020, table {filled.name[-1]}: {filled.caption}"
    return f"Table {filled.name}: {filled.caption}" if filled.name[0].isdigit() else filled.caption


def table(filled: Filled) -> Table:
    """The table to show: records have one entry per row and column, the CSV has one line per graph with `measured`,
    `printed`, `ratio` (or `difference`) and `status` of each column."""
    foot = Footnotes()
    first, *columns = filled.columns
    lines: list[list[str]] = []
    values: list[list[object]] = []
    ends = set()
    for row in filled.rows:
        entries = [row.entries[column] for column in columns]
        blank = _shared_reason(entries)
        name = row.title + foot.mark(blank)
        measured = [
            _measured(column, e) + ("" if blank else foot.mark(e.measured_notes))
            for column, e in zip(columns, entries, strict=True)
        ]
        side = ["measured"] if filled.third else []
        group = [[name, *side, *measured]]
        if filled.third and any(e.printed for e in entries):  # False for look-alikes among published rows
            group.append(["", "printed", *(f"{e.printed or ''}{foot.mark(e.printed_notes)}" for e in entries)])
            if not blank:
                compare = difference if filled.third == "difference" else ratio
                known = [foot.mark([e.reason] if e.reason else []) for e in entries]
                ratios = [compare(e.ratio) if e.printed else "" for e in entries]
                group.append(["", filled.third, *map("".join, zip(ratios, known, strict=True))])
        lines += group
        values += [[name, *side, *(e.measured for e in entries)]] * len(group)
        ends |= {len(lines) - 1} if filled.third else set()
    headers = [first, *([""] if filled.third else []), *columns]
    return Table(
        filled.name, heading(filled), headers, lines, numbers(headers), ends=frozenset(ends - {len(lines) - 1}),
        notes=[*filled.notes, *foot.lines()], values=values, records=list(_records(filled)),
        file=f"table-{filled.name}" if filled.name in published.names() else filled.name, data=_data(filled),
        units=units(filled),
    )  # fmt: skip


def units(filled: Filled) -> dict[str, str]:
    """The unit of each column of times, by its header."""
    if not filled.caption.endswith("(all times in ms)"):
        return {}
    return {name: "ms" for name in filled.columns[1:] if name not in INTEGERS and " / " not in name}


def _shared_reason(entries: list[Entry]) -> tuple[str, ...]:
    """The only note of a row without any measured value, which explains the whole row; else ()."""
    notes = {e.measured_notes for e in entries}
    return notes.pop() if len(notes) == 1 and all(e.measured is None for e in entries) else ()


def _measured(column: str, entry: Entry) -> str:
    if entry.measured is None:
        return BLANK if entry.status == "missing" else entry.status.upper()
    text = f"{entry.measured:.0f}" if column in INTEGERS else ms(entry.measured)
    if entry.status == "ok":
        return text
    few = entry.cell.planned is not None and entry.cell.trials < entry.cell.planned
    words = ["sampled"] if entry.status == "sampled" else []
    return f"{text} ({', '.join(words + [f'{entry.cell.trials} of {entry.cell.planned}'] * few)})"


def _data(filled: Filled):
    import pandas

    sides = ("measured", "printed", filled.third) if filled.third else ("measured",)
    rows = []
    for row in filled.rows:
        line = {"dataset": row.dataset, filled.columns[0]: row.title}
        for column in filled.columns[1:]:
            entry = row.entries[column]
            values = {"measured": entry.measured, "printed": entry.printed, filled.third: entry.ratio}
            line |= {f"{column} {side}": values[side] for side in sides} | {f"{column} status": entry.status}
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
                filled.third or "ratio": entry.ratio, "status": entry.status,
                "notes": [*entry.measured_notes, *entry.printed_notes], **source,
            }  # fmt: skip


# ------------------------------------------------------------------ entries, from the cells of one graph


def unprinted(own: list[Cell], feed: Feed) -> Entry:
    """The entry of a column in a row without printed values."""
    return asked(time(own, feed), feed.asks)


def asked(entry: Entry, asks: bool) -> Entry:
    """The entry, with a note on the number of queries if it depends on them and the number differs from print's."""
    if not asks or not other_queries(entry):
        return entry
    note = f"asked {entry.cell.queries:,} queries, not {PRINTED_QUERIES:,}"
    return replace(entry, measured_notes=(*entry.measured_notes, note))


def other_queries(entry: Entry) -> bool:
    """True for a value that was measured on another number of queries than print's."""
    return entry.measured is not None and entry.cell is not None and entry.cell.queries not in (None, PRINTED_QUERIES)


def time(own: list[Cell], feed: Feed, why: str = NOT_RUN) -> Entry:
    """The entry of a column of a table of times from the cells of one graph; `why` is the reason if there are none."""
    if not own:
        return Entry(status="missing", measured_notes=(why,))
    fit = [cell for cell in own if feed.takes(cell)]
    if feed.value == "positives":  # the same for every sound cell on the same queries
        sound = [c for c in own if c.positives is not None and c.random and c.sound]
        fit = [c for c in sound if feed.takes(c)] or sound or fit
    if not fit:
        failed = {c.reason for c in own if c.status == "skipped" and c.reason}
        why = failed.pop() if len(failed) == 1 and len(own) == 1 else f"the run has no cell {feed}, unfiltered"
        return Entry(status="missing", measured_notes=(why,))
    return timed(fit, feed)


def timed(fit: list[Cell], feed: Feed) -> Entry:
    """The entry of the best of some cells, as `_preference` orders them."""
    cell = min(fit, key=_preference)
    if feed.counts and cell.sound and (count := feed.count(cell)) is not None:
        return Entry(count, cell=cell)
    stats = feed.stats(cell)
    notes = (f"{cell.label}: {cell.status}" + (f", {cell.reason}" if cell.reason else ""),)
    if cell.status == "sampled":
        notes = (f"sampled: {cell.reason}",)  # one for all configurations on these queries
    if cell.sound and stats is None:
        return Entry(status="missing", measured_notes=(f"{cell.label}: no {feed.value} in its rows",), cell=cell)
    if cell.status == "ok":
        return Entry(stats.mean, cell=cell)
    if cell.sound:
        return Entry(stats.mean, status=cell.status, measured_notes=notes, cell=cell)
    return Entry(status=cell.status, measured_notes=notes, cell=cell)


def _preference(cell: Cell) -> tuple:
    """Orders cells: sound ones first, then those on as many queries as print, depth-first, with most threads, with
    random child order, with the smallest seed."""
    grave = {"ok": 0, "sampled": 0, "incomplete": 1}.get(cell.status, 2)
    asked, search, order = cell.queries != PRINTED_QUERIES, cell.search != "dfs", cell.order != "random"
    return grave, asked, search, -cell.threads, order, cell.seed or 0
