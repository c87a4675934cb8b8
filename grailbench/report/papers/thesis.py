"""The thesis's tables 2.1-2.6 and 6.1-6.6, and tables 1 and 2 of Computation 2020: measured beside printed values.

Only the graph with the canonical name of a published row fills that row. Look-alikes and generated and imported graphs
have tables of their own (`others`); in 6.1-6.6 and the tables of Computation 2020, look-alikes are extra, marked rows.
Tables 6.1-6.6 also have columns that were not printed: every other implementation of the run, in ms and as the ratio of
`sequential` in the same row to it. Tables 2.4-2.6 have such columns for `core`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from grailbench.errors import GrailbenchError, InputError
from grailbench.harness.cells import Cell, batches, together
from grailbench.report import published
from grailbench.report.papers import Part, Place, beside
from grailbench.report.papers.beside import NOT_RUN, Entry, Filled, Row, other_queries, time, unprinted
from grailbench.report.papers.computation import of_paper
from grailbench.report.papers.feeds import (
    CPU,
    FEEDS,
    GPU_TABLES,
    LIKE,
    OTHER_LABELS,
    OTHER_SEARCH,
    OurColumns,
    feeds,
    in_print,
    on_gpu,
)
from grailbench.report.published import COUNT_TABLES, PAPER_TABLES, PRINTED_QUERIES, PRINTED_THREADS

TIME_TABLES = tuple(FEEDS)
NAMES = (*COUNT_TABLES[:3], *TIME_TABLES, *PAPER_TABLES)
#: the counts shown in printed columns; those of the thesis include the super-root
_COUNTS = {
    "Vertices": ("vertices",), "Edges": ("edges",), "Avg Degree": ("vertices", "edges"),
    "# Vertices (n)": ("file_vertices",), "# Edges (m)": ("file_edges",),
    "Avg. Degree": ("file_vertices", "file_edges"),
}  # fmt: skip


#: the printed columns of times, and of counts that not every cell has
_PRINTED = {column for feeds_of in FEEDS.values() for column in feeds_of} - {"Positive Queries"}


def build(name: str, cells: Iterable[Cell], graphs: Mapping[str, Mapping | str]) -> Filled:
    """The table called `name`, one of `NAMES`, with every printed row, measured or not.

    cells   the measurements, for the tables of times
    graphs  for the tables of counts: canonical name to the counts of `_COUNTS`, or to the reason why there are none

    Raises InputError for any other table.
    """
    if name not in NAMES:
        raise InputError(f"no report of table {name!r}", remedy=f"choose among {', '.join(NAMES)}")
    printed = published.table(name)
    cells = list(cells)
    if name in COUNT_TABLES:
        return _count_table(printed, graphs)
    ours = OurColumns(name, cells)
    of_row = list if ours.searching else together
    rows = []
    for dataset in printed.rows:
        own = of_row([cell for cell in cells if cell.dataset == dataset and cell.kind in (None, "real")])
        stand_in = next((cell.dataset for cell in cells if cell.stands_for == dataset), None)
        entries = {column: time(own, FEEDS[name][column], _why_not(stand_in, name)) for column in printed.values}
        rows.append(_row(printed, dataset, entries, ours.entries(own, _why_not(stand_in, name))))
    if name not in GPU_TABLES:
        return _table(printed, rows, "ratio", [*_method_notes(rows), *ours.notes()], ours.columns)
    likes = _likes(printed, cells)
    for dataset, every in likes.items():
        own = of_row(every)
        entries = {column: unprinted(own, FEEDS[name][column]) for column in printed.values}
        title = f"{printed.title(dataset.removesuffix(LIKE))}{LIKE} (generated)"
        rows.append(Row(dataset, title, {**entries, **ours.entries(own)}))
    notes = [*ours.notes(), *_method_notes(rows)]
    if likes:
        notes.append("Rows marked as generated are look-alikes; they are never compared with print.")
    return _table(printed, rows, "ratio", notes, ours.columns)


def _count_table(printed: published.Published, graphs: Mapping[str, Mapping | str]) -> Filled:
    """A table of counts; in those of Computation 2020 a look-alike has a row after that of its graph."""
    rows = []
    for dataset in printed.rows:
        like = f"{dataset}{LIKE}" if printed.name in PAPER_TABLES and f"{dataset}{LIKE}" in graphs else None
        graph = graphs.get(dataset, f"not in the run; {like} is, and stands below" if like else NOT_RUN)
        rows.append(_row(printed, dataset, {c: _count(graph, c) for c in printed.values}))
        if like:
            entries = {c: _beside(_count(graphs[like], c), printed, dataset, c) for c in printed.values}
            rows.append(Row(like, f"{printed.title(dataset)}{LIKE} (generated)", entries))
    generated = any(row.dataset.endswith(LIKE) for row in rows)
    notes = ["Rows marked as generated are graphs made here with the printed counts."] if generated else []
    return _table(printed, rows, "difference", notes)


def _row(printed: published.Published, dataset: str, entries: dict[str, Entry], more: Mapping = {}) -> Row:  # noqa: B006
    beside = {column: _beside(entry, printed, dataset, column) for column, entry in entries.items()}
    return Row(dataset, printed.title(dataset), {**beside, **more})


def _table(printed, rows: list[Row], third: str, notes: Iterable[str], more: Iterable[str] = ()) -> Filled:
    notes = [*(e.note for e in printed.errata if not e.row), *notes]
    return Filled(printed.name, printed.caption, ("Data set", *printed.values, *more), rows, third, notes)


def _likes(printed: published.Published, cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """The cells of look-alikes of a table's graphs by graph, in printed order."""
    found = _by_graph(cells)
    return {like: found[like] for dataset in printed.rows if (like := f"{dataset}{LIKE}") in found}


def _by_graph(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.dataset, []).append(cell)
    return found


def _why_not(stand_in: str | None, name: str) -> str:
    """The reason why a row has no cells. `stand_in` is the look-alike that replaced the graph in the run, if any."""
    where = "below, marked" if name in GPU_TABLES else "among the look-alikes"
    return f"not to be had; {stand_in} ran in its place and stands {where}" if stand_in else NOT_RUN


def fits(row: Row) -> bool:
    """True when a cell of the run fits a printed column of a table of times other than the positive queries, which any
    cell fills."""
    return any(entry.cell is not None for column, entry in row.entries.items() if column in _PRINTED)


def of_graphs(table: Filled, cells: Iterable[Cell]) -> Filled:
    """A table without the rows of graphs that have no cell."""
    present = {cell.dataset for cell in cells}
    return replace(table, rows=[row for row in table.rows if row.dataset in present])


#: tables of graphs that are in no published one: their names and captions
_OTHERS = {
    "other-graphs": "Graphs that no thesis table has (all times in ms)",
    "look-alikes": "Look-alikes and other generated graphs, never compared with print (all times in ms)",
    OTHER_LABELS: "GPU labeling of graphs that no thesis table has (all times in ms)",
    OTHER_SEARCH: "GPU search on graphs that no thesis table has (all times in ms)",
}


def others(cells: Iterable[Cell]) -> list[Filled]:
    """The graphs that are in no published table, in the thesis's columns without printed values: real and imported
    graphs, then generated ones, which include look-alikes, then the tables of the GPU, with the columns that have a
    cell. Empty tables are left out."""
    cells = list(cells)
    printed = {d for name in ("2.4", "2.5", "2.6") for d in published.table(name).rows}
    out = []
    for name, caption in _OTHERS.items():
        gpu, fed = name in (OTHER_LABELS, OTHER_SEARCH), feeds(name)
        if gpu:
            graphs = {graph: own for graph, own in _by_graph(filter(in_print(name), cells)).items() if on_gpu(own)}
        else:
            generated = name == "look-alikes"
            graphs = _by_graph(c for c in cells if c.generated == generated and c.dataset not in printed)
        belongs = on_gpu if gpu else _any_taken
        ours = OurColumns(name, [cell for own in graphs.values() for cell in own])
        rows = [
            Row(
                dataset,
                f"{dataset} (generated){asked}" if gpu and own[0].generated else dataset + asked,
                {**{column: unprinted(part, feed) for column, feed in fed.items()}, **ours.entries(part)},
            )
            for dataset, own in graphs.items()
            for asked, part in (_batches(own, belongs) if ours.searching else [("", together(own))])
        ]
        columns = (*fed, *ours.columns)
        if gpu:
            columns = tuple(c for c in columns if any(row.entries[c].cell is not None for row in rows))
        else:
            rows = [row for row in rows if fits(row)]
        if rows and columns:
            notes = [*ours.notes(), *_method_notes(rows)] if gpu else [*_method_notes(rows), *ours.notes()]
            out.append(Filled(name, caption, ("Data set", *columns), rows, "", notes))
    return out


def _any_taken(cells: list[Cell]) -> bool:
    """Whether a cell fills a column of the tables of the CPU."""
    return any(feed.takes(cell) for feed in CPU.values() for cell in cells)


def _batches(own: list[Cell], belongs: Callable[[list[Cell]], bool]) -> list[tuple[str, list[Cell]]]:
    """The cells of one graph for each of its rows, and what the row's title says of the queries: a row per batch of
    random queries, the largest first, or one row for all cells if at most one batch `belongs` in the table."""
    parts = {size: part for size, part in batches(own).items() if belongs(part)}
    if len(parts) < 2:
        return [("", own)]
    return [("" if size is None else f", {size:,} queries", part) for size, part in parts.items()]


def _count(graph: Mapping | str | None, column: str) -> Entry:
    """The entry of a column of a table of counts."""
    if graph is None or isinstance(graph, str):
        return Entry(status="missing", measured_notes=(graph or NOT_RUN,))
    values = [graph.get(name) for name in _COUNTS[column]]
    if None in values:
        return Entry(status="missing", measured_notes=("the run does not say how many roots the graph has",))
    return Entry(values[0] if len(values) == 1 else values[1] / values[0])


def _beside(entry: Entry, printed: published.Published, dataset: str, column: str) -> Entry:
    """The entry with the printed value and its errata, and with the ratio if the two values can be compared."""
    text, value = printed.rows[dataset][column], printed.number(dataset, column)
    notes, ratio = entry.measured_notes, None
    if entry.measured is not None and printed.name in COUNT_TABLES:
        places = len(text.partition(".")[2])
        ratio = round(entry.measured, places) - value
    elif other_queries(entry) and FEEDS[printed.name][column].asks:
        notes = (*notes, f"measured on {entry.cell.queries:,} queries, print on {PRINTED_QUERIES:,}: no ratio")
    elif entry.measured is not None and value > 0:
        ratio = entry.measured / value
    reason = "" if ratio is None else printed.reason(dataset, column, ratio)
    known = tuple(printed.notes(dataset, column))
    return Entry(entry.measured, text, ratio, entry.status, notes, known, reason, entry.cell)


def _method_notes(rows: list[Row]) -> list[str]:
    """Notes on how the configurations shown differ from the thesis's: filters, threads, and child order."""
    shown = [
        (column, entry.cell)
        for row in rows
        for column, entry in row.entries.items()
        if entry.cell is not None and entry.measured is not None
    ]
    printed = {column for feeds in FEEDS.values() for column in feeds}
    plain = any(column in printed and cell.dim is not None for column, cell in shown)
    notes = ["Filters in the thesis's columns: none, as there."] if plain else []
    threads = sorted({cell.threads for column, cell in shown if column in ("Parallel DFS", "Parallel BFS")})
    if threads:
        here = " or ".join(map(str, threads))
        notes.append(f"Parallel columns: measured with {here} threads; the thesis used {PRINTED_THREADS}.")
    orders = sorted({cell.order for column, cell in shown if cell.order not in (None, "random")})
    if orders:
        notes.append(f"Children visited in {' or '.join(orders)} order; the thesis visits them in random order.")
    return notes


def belongs(table: Filled, found: list[Cell]) -> bool:
    """Whether the report on a run shows a table that was not asked for by name.

    Tables 2.1-2.3 need a graph of the table, 2.4-2.6 a cell for one of the columns, 6.1-6.6 a cell of a GPU on a graph
    of the table, and those of Computation 2020 the graphs of that paper.
    """
    if table.name in PAPER_TABLES:
        return of_paper(found)
    own = [cell for cell in found if cell.dataset in {row.dataset for row in table.rows}]
    if table.name in GPU_TABLES:
        return on_gpu(own)
    return bool(own) if table.name in COUNT_TABLES else any(map(fits, table.rows))


def left_out(built: Iterable[Filled], found: list[Cell]) -> list[str]:
    """Names of the tables that no cell of the run fits; those of the GPU only if the run has cells of a GPU."""
    gpu = on_gpu(found)
    asked = [t for t in built if t.name not in PAPER_TABLES and (gpu or t.name not in GPU_TABLES)]
    return [t.name for t in asked if not belongs(t, found)]


def graph_counts(found: Iterable[Cell], names: Iterable[str]) -> dict[str, Mapping | str]:
    """Vertices and edges of the run's published graphs, or the reason why they are unknown.

    They are counted in the graph's file here if its sha256 is that of the rows; else they come from the rows.
    """
    wanted = [name for name in names or COUNT_TABLES if name in COUNT_TABLES]
    printed = {dataset for name in wanted for dataset in published.table(name).rows}
    printed |= {f"{dataset}{LIKE}" for dataset in printed}
    newest: dict[str, Cell] = {}
    for cell in found:
        if cell.dataset in printed and (cell.vertices is not None or cell.dataset not in newest):
            newest[cell.dataset] = cell
    return {name: _counts(name, cell) for name, cell in newest.items()}


def _counts(name: str, cell: Cell) -> Mapping | str:
    from grailbench.data.library import describe
    from grailbench.data.registry import registry

    reason = "the run has no counts of it, and its file is not here to be counted"
    try:
        found = describe(registry()[name]) if name in registry() else {"vertices": None}
        if found["vertices"] is not None and found["sha256"] == cell.graph_sha256:
            return found
    except GrailbenchError as error:
        reason = str(error)
    if cell.vertices is None or cell.edges is None:
        return cell.reason or reason
    counts = {"vertices": cell.vertices, "edges": cell.edges}
    if cell.roots is not None:
        counts |= {"file_vertices": cell.vertices - 1, "file_edges": cell.edges - cell.roots}
    return counts


PARTS = (Part("printed", lambda report: map(beside.table, report.every_table), place=Place.PRINTED),)
