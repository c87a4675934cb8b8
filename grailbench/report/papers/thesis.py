"""The thesis's tables 2.1-2.6 and 6.1-6.6, and tables 1 and 2 of Computation 2020: measured beside printed values.

Only the graph with the canonical name of a published row fills that row. In 6.1-6.6 and the tables of Computation 2020,
look-alikes are extra, marked rows. All else stands in the table of all cells.
Tables 6.1-6.6 also have columns that were not printed: every other implementation of the run, in ms and as the ratio of
`sequential` in the same row to it. Tables 2.4-2.6 have such columns for `core`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from grailbench.compare.measures import grouped
from grailbench.harness.cells import Cell, together
from grailbench.report import published
from grailbench.report.papers import Part, Place, beside
from grailbench.report.papers.beside import NOT_RUN, Entry, Filled, Row, missing
from grailbench.report.papers.computation import of_paper
from grailbench.report.papers.feeds import FEEDS, GPU_LABELS, GPU_TABLES, LIKE, Column, other_queries, our_columns

TIME_TABLES = tuple(FEEDS)
NAMES = (*published.COUNT_TABLES[:3], *TIME_TABLES, *published.PAPER_TABLES)
#: the printed columns of times, and of counts that not every cell has
_PRINTED = {column for feeds in FEEDS.values() for column in feeds} - {"Positive Queries"}
_GENERATED = "Rows marked as generated are look-alikes; no time of them is compared with print."


def build(name: str, cells: Iterable[Cell]) -> Filled:
    """The table called `name`, one of `NAMES`, with every printed row, measured or not."""
    printed, feeds = published.table(name), FEEDS.get(name)
    graphs = grouped(cells, lambda cell: cell.dataset)
    columns: dict[str, Column] = {each: partial(_count, each) for each in printed.values}
    notes = [each.note for each in printed.errata if not each.row]
    if feeds:
        shown = (cell for graph in graphs if graph.removesuffix(LIKE) in printed.rows for cell in graphs[graph])
        ours, remarks = our_columns(feeds, shown)
        columns = {**{each: feeds[each] for each in printed.values}, **ours}
    with_likes, rows = name in (*GPU_TABLES, *published.PAPER_TABLES), []
    for dataset in printed.rows:
        own = [cell for cell in graphs.get(dataset, ()) if cell.kind in (None, "real")]
        like = next((cell.dataset for each in graphs.values() for cell in each if cell.stands_for == dataset), None)
        like = f"{dataset}{LIKE}" if f"{dataset}{LIKE}" in graphs and with_likes else like
        why = f"not in the run; {like} is, {'below' if with_likes else 'among all cells'}" if like else NOT_RUN
        entries = _entries(columns, own, why)
        rows.append(Row(dataset, printed.title(dataset), _printed(entries, printed, dataset)))
        if with_likes and like in graphs:
            entries = _entries(columns, graphs[like])
            entries = entries if feeds else _printed(entries, printed, dataset)
            rows.append(Row(like, f"{printed.title(dataset)}{LIKE} (generated)", entries))
    notes += [*remarks, *_method_notes(rows)] if feeds else []
    notes += [_GENERATED] if any(row.dataset.endswith(LIKE) for row in rows) else []
    return Filled(name, printed.caption, ("Data set", *columns), rows, "ratio" if feeds else "difference", notes)


def _entries(columns: Mapping[str, Column], own: list[Cell], why: str = NOT_RUN) -> dict[str, Entry]:
    """The entries of a row. Labels do not depend on the queries, so those of one batch stand together."""
    own = together(own) if set(columns) >= set(GPU_LABELS) else own
    return {name: column(own, why) for name, column in columns.items()}


def _count(column: str, own: list[Cell], why: str) -> Entry:
    """A count of vertices or edges, or the degree. The thesis counts the super-root and its edges, Computation 2020
    does not."""
    if not own:
        return missing(why)
    cell = next((cell for cell in reversed(own) if cell.vertices is not None), own[-1])
    if cell.vertices is None or cell.edges is None:
        return missing(cell.reason or "the run has no counts of it")
    vertices, edges = cell.vertices, cell.edges
    if column in published.table("computation-1").values:
        if cell.roots is None:
            return missing("the run does not say how many roots the graph has")
        vertices, edges = vertices - 1, edges - cell.roots
    return Entry(vertices if "Vertices" in column else edges if "Edges" in column else edges / vertices)


def _printed(entries: Mapping[str, Entry], printed: published.Published, dataset: str) -> dict[str, Entry]:
    """The entries with the printed values and their errata, and with ratios where two values can be compared: none to a
    printed time that is an erratum."""
    found = dict(entries)
    for column in printed.values:
        entry, text, value = entries[column], printed.rows[dataset][column], printed.number(dataset, column)
        ratio = None
        if entry.measured is not None and printed.name in published.COUNT_TABLES:
            ratio = round(entry.measured, len(text.partition(".")[2])) - value
        elif entry.measured is not None and value > 0 and not printed.notes(dataset, column):
            by_labels = FEEDS[printed.name][column].value.startswith("label")
            ratio = entry.measured / value if by_labels or not other_queries(entry.cell) else None
        found[column] = replace(
            entry, printed=text, ratio=ratio, printed_notes=tuple(printed.notes(dataset, column)),
            reason="" if ratio is None else printed.reason(dataset, column, ratio),
        )  # fmt: skip
    return found


def _method_notes(rows: list[Row]) -> list[str]:
    """Notes on how the configurations shown differ from the thesis's: filters, threads, and child order."""
    shown = [(column, entry.cell) for row in rows for column, entry in row.entries.items()
             if entry.cell is not None and entry.measured is not None]  # fmt: skip
    entries = [entry for row in rows for entry in row.entries.values()]
    notes = ["In brackets: the least and the most over the seeds."] if any(each.spread for each in entries) else []
    if any(column in _PRINTED | {"Positive Queries"} and cell.dim is not None for column, cell in shown):
        notes.append("Filters in the thesis's columns: none, as there.")
    if threads := sorted({cell.threads for column, cell in shown if column in ("Parallel DFS", "Parallel BFS")}):
        here = " or ".join(map(str, threads))
        notes.append(f"Parallel columns: measured with {here} threads; the thesis used {published.PRINTED_THREADS}.")
    for each in dict.fromkeys(cell.order for column, cell in shown if cell.order and column in _PRINTED):
        columns = dict.fromkeys(column for column, cell in shown if cell.order == each and column in _PRINTED)
        notes.append(f"Children visited in {each} order: {', '.join(columns)}.")
    if any(cell.order for _, cell in shown):
        notes.append(
            "The thesis's GPU visits children in lexicographic order (section 2.3), its CPU in both: times of building "
            "the index fit that order, and only random order leaves as many queries to search as printed."
        )
    return notes


def of_run(found: list[Cell]) -> list[Filled]:
    """The tables that the report on a run shows where none is asked for by name, without the rows of other graphs.

    Tables 2.1-2.3 need a graph of the table, 2.4-2.6 a cell for a printed column other than the positive queries, which
    any cell fills, 6.1-6.6 a cell of a GPU on a graph of the table, and those of Computation 2020 the graphs of that
    paper.
    """
    shown, present = [], {cell.dataset for cell in found}
    for table in (build(name, found) for name in NAMES) if found else ():
        rows = [row for row in table.rows if row.dataset in present]
        if table.name in published.PAPER_TABLES:
            belongs = of_paper(found)
        elif table.name in GPU_TABLES:
            graphs = {row.dataset for row in rows}
            own = {cell.impl for cell in found if cell.dataset in graphs}
            belongs = any(impl.startswith("gpu") or impl.endswith("-gpu") for impl in own)
        else:
            belongs = rows if table.name in published.COUNT_TABLES else any(
                entry.cell for row in rows for column, entry in row.entries.items() if column in _PRINTED)  # fmt: skip
        shown += [replace(table, rows=rows)] if belongs else []
    return shown


PARTS = (Part("printed", lambda report: map(beside.table, report.tables), place=Place.PRINTED,
              title="Printed against measured"),)  # fmt: skip
