"""The thesis's tables 2.1-2.6 from what was measured, cell by cell beside print.

A published row is filled only by the graph of that canonical name: look-alikes, generated and imported graphs
have tables of their own (`others`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from grailbench.errors import InputError
from grailbench.report import published
from grailbench.report.published import PRINTED_QUERIES, PRINTED_THREADS
from grailbench.report.summary import Cell

COUNT_TABLES = ("2.1", "2.2", "2.3")
TIME_TABLES = ("2.4", "2.5", "2.6")
NAMES = COUNT_TABLES + TIME_TABLES


@dataclass(frozen=True)
class Feed:
    """Which cell fills a printed column: implementation, label pairs, search (None: any), and its value.

    `value` is a phase, whose mean is shown as the thesis shows it, or 'positives'.
    """

    impl: str
    value: str
    dim: int | None = None
    search: str | None = None

    def takes(self, cell: Cell) -> bool:
        """True when the cell is of this configuration, without filters, on random queries."""
        return (
            cell.impl == self.impl
            and (self.dim is None or cell.dim == self.dim)
            and (self.search is None or cell.search == self.search)
            and not cell.filters
            and cell.random
        )

    def __str__(self) -> str:
        parts = (self.impl, self.dim and f"d={self.dim}", self.search)
        return " ".join(part for part in parts if part)


#: the columns of tables 2.4-2.6; the thesis shows two label pairs
FEEDS = {
    "Positive Queries": Feed("sequential", "positives", 2, "dfs"),
    "Pure DFS": Feed("dfs", "query"),
    "Index CT": Feed("sequential", "label", 2),
    "Sequential DFS": Feed("sequential", "query", 2, "dfs"),
    "Parallel DFS": Feed("parallel", "query", 2, "dfs"),
    "Sequential BFS": Feed("sequential", "query", 2, "bfs"),
    "Parallel BFS": Feed("parallel", "query", 2, "bfs"),
}
NOT_RUN = "the graph is not in the run"
_COUNTS = {"Vertices": "vertices", "Edges": "edges", "Avg Degree": "degree"}


@dataclass(frozen=True)
class Entry:
    """One column of one row.

    `measured` is None when there is no value, and `status` then says why in a word ('missing', 'failed',
    ...). `printed` is None outside the published rows. `ratio` is measured / printed, or measured - printed
    in the tables of counts, and None when either is missing or the two cannot be compared. `cell` is the cell
    it came from.
    """

    measured: float | None = None
    printed: str | None = None
    ratio: float | None = None
    status: str = "ok"
    measured_notes: tuple[str, ...] = ()
    printed_notes: tuple[str, ...] = ()
    cell: Cell | None = None


@dataclass(frozen=True)
class Row:
    """A graph: canonical name, name as shown, and its entries by column."""

    dataset: str
    title: str
    entries: dict[str, Entry]


@dataclass(frozen=True)
class Table:
    """A table to show. `third` names the third line of a row: 'ratio', 'difference', or '' without print."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: list[Row]
    third: str
    notes: list[str] = field(default_factory=list)

    @property
    def measured(self) -> int:
        """Number of rows that hold at least one measured value."""
        return sum(any(e.measured is not None for e in row.entries.values()) for row in self.rows)


def build(name: str, cells: Iterable[Cell], graphs: Mapping[str, Mapping | str]) -> Table:
    """Table `name` ('2.1' to '2.6') with every printed row, measured or not.

    `cells` feed 2.4-2.6. `graphs` feeds 2.1-2.3: canonical name to its `vertices` and `edges` with the
    super-root, or to the reason (a text) why there are none. Raises InputError for other tables.
    """
    if name not in NAMES:
        raise InputError(f"no report of table {name!r}", remedy=f"choose among {', '.join(NAMES)}")
    printed = published.table(name)
    cells = list(cells)
    rows = []
    for dataset in printed.rows:
        own = [cell for cell in cells if cell.dataset == dataset and cell.kind in (None, "real")]
        stand_in = next((cell.dataset for cell in cells if cell.stands_for == dataset), None)
        entries = {}
        for column in printed.values:
            entry = _count(graphs.get(dataset), column) if name in COUNT_TABLES else _time(own, column, stand_in)
            entries[column] = _beside(entry, printed, dataset, column)
        rows.append(Row(dataset, printed.title(dataset), entries))
    notes = [e.note for e in printed.errata if not e.row]
    third = "difference" if name in COUNT_TABLES else "ratio"
    if third == "ratio":
        notes += _method_notes(rows)
    return Table(name, printed.caption, ("Data set", *printed.values), rows, third, notes)


def others(cells: Iterable[Cell]) -> list[Table]:
    """The graphs that stand in no published table, in the thesis's columns and without print: real and
    imported ones, then generated ones (look-alikes among them). Empty tables are left out."""
    in_print = {d for name in TIME_TABLES for d in published.table(name).rows}
    groups: dict[bool, dict[str, list[Cell]]] = {False: {}, True: {}}
    for cell in cells:
        if cell.dataset not in in_print:
            groups[cell.generated].setdefault(cell.dataset, []).append(cell)
    out = []
    for like, name, caption in (
        (False, "other-graphs", "Graphs that no thesis table has (all times in ms)"),
        (
            True,
            "look-alikes",
            "Look-alikes and other generated graphs, never compared with print (all times in ms)",
        ),
    ):
        rows = [
            Row(dataset, dataset, {column: _time(own, column) for column in FEEDS})
            for dataset, own in groups[like].items()
        ]
        if rows:
            out.append(Table(name, caption, ("Data set", *FEEDS), rows, "", _method_notes(rows)))
    return out


def _time(own: list[Cell], column: str, stand_in: str | None = None) -> Entry:
    """The entry of a column of tables 2.4-2.6 from the cells of one graph. `stand_in`: the look-alike run in
    its place."""
    feed = FEEDS[column]
    if not own:
        why = f"not to be had; {stand_in} ran in its place and stands among the look-alikes" if stand_in else NOT_RUN
        return Entry(status="missing", measured_notes=(why,))
    fit = [cell for cell in own if feed.takes(cell)]
    if feed.value == "positives":  # every sound cell on the same queries has the same count
        sound = [c for c in own if c.positives is not None and c.random and c.sound]
        fit = [c for c in sound if feed.takes(c)] or sound or fit
    if not fit:
        failed = {c.reason for c in own if c.status == "skipped" and c.reason}
        why = failed.pop() if len(failed) == 1 and len(own) == 1 else f"the run has no cell {feed}, unfiltered"
        return Entry(status="missing", measured_notes=(why,))
    cell = min(fit, key=_preference)
    if feed.value == "positives" and cell.sound and cell.positives is not None:
        return Entry(cell.positives, cell=cell)
    stats = cell.stats(feed.value)
    notes = (f"{cell.label}: {cell.status}" + (f", {cell.reason}" if cell.reason else ""),)
    if cell.sound and stats is None:
        return Entry(status="missing", measured_notes=(f"{cell.label}: no {feed.value} in its rows",), cell=cell)
    if cell.status == "ok":
        return Entry(stats.mean, cell=cell)
    if cell.status == "incomplete":
        return Entry(stats.mean, status="incomplete", measured_notes=notes, cell=cell)
    return Entry(status=cell.status, measured_notes=notes, cell=cell)


def _preference(cell: Cell) -> tuple:
    """Sound cells first, then those on as many queries as print, dfs, most threads, random child order, least
    seed."""
    grave = {"ok": 0, "incomplete": 1}.get(cell.status, 2)
    return (
        grave,
        cell.queries != PRINTED_QUERIES,
        cell.search != "dfs",
        -cell.threads,
        cell.order != "random",
        cell.seed or 0,
    )


def _count(graph: Mapping | str | None, column: str) -> Entry:
    """The entry of a column of tables 2.1-2.3."""
    if graph is None or isinstance(graph, str):
        return Entry(status="missing", measured_notes=(graph or NOT_RUN,))
    if column == "Avg Degree":
        return Entry(graph["edges"] / graph["vertices"])
    return Entry(graph[_COUNTS[column]])


def _beside(entry: Entry, printed: published.Published, dataset: str, column: str) -> Entry:
    """The entry with the printed value, its errata, and the ratio where the two can be compared."""
    text, value = printed.rows[dataset][column], printed.number(dataset, column)
    notes, ratio = entry.measured_notes, None
    if entry.measured is not None and printed.name in COUNT_TABLES:
        places = len(text.partition(".")[2])
        ratio = round(entry.measured, places) - value
    elif entry.measured is not None and entry.cell.queries not in (None, PRINTED_QUERIES) and column != "Index CT":
        notes = (
            *notes,
            f"measured on {entry.cell.queries:,} queries, print on {PRINTED_QUERIES:,}: no ratio",
        )
    elif entry.measured is not None and value > 0:
        ratio = entry.measured / value
    return Entry(entry.measured, text, ratio, entry.status, notes, tuple(printed.notes(dataset, column)), entry.cell)


def _method_notes(rows: list[Row]) -> list[str]:
    """How the cells shown differ from what the thesis ran: threads, and child order where it is not random."""
    shown = [
        (column, entry.cell)
        for row in rows
        for column, entry in row.entries.items()
        if entry.cell is not None and entry.measured is not None
    ]
    notes = []
    threads = sorted({cell.threads for column, cell in shown if column.startswith("Parallel")})
    if threads:
        here = " or ".join(str(count) for count in threads)
        notes.append(f"Parallel columns: measured with {here} threads; the thesis used {PRINTED_THREADS}.")
    orders = sorted({cell.order for column, cell in shown if cell.order not in (None, "random")})
    if orders:
        notes.append(f"Children visited in {' or '.join(orders)} order; the thesis visits them in random order.")
    return notes
