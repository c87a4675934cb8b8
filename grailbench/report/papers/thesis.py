"""The thesis's tables 2.1-2.6 and 6.1-6.6, and tables 1 and 2 of Computation 2020: measured beside printed values.

Only the graph with the canonical name of a published row fills that row. Look-alikes and generated and imported graphs
have tables of their own (`others`); in 6.1-6.6 and the tables of Computation 2020, look-alikes are extra, marked rows.
Tables 6.1-6.6 also have columns that were not printed: every other implementation of the run, in ms and as the ratio of
`sequential` in the same row to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from grailbench.errors import InputError
from grailbench.report import published
from grailbench.report.papers.beside import Entry, Filled, Row
from grailbench.report.papers.feeds import CPU, FEEDS, GPU_LABELS, GPU_SEARCH, THESIS_GPU, Feed, Series
from grailbench.report.papers.peers import PREFIX
from grailbench.report.published import COUNT_TABLES, PAPER_TABLES, PRINTED_QUERIES, PRINTED_THREADS
from grailbench.runs.cells import NOT_FROM_EDGES, ON_DEVICE, Cell, batches, together

TIME_TABLES = tuple(FEEDS)
GPU_TABLES = tuple(name for name in FEEDS if name[0] == "6")
NAMES = (*COUNT_TABLES[:3], *TIME_TABLES, *PAPER_TABLES)
NOT_RUN = "the graph is not in the run"
LIKE = "-like"
#: the counts shown in printed columns; those of the thesis include the super-root
_COUNTS = {
    "Vertices": ("vertices",), "Edges": ("edges",), "Avg Degree": ("vertices", "edges"),
    "# Vertices (n)": ("file_vertices",), "# Edges (m)": ("file_edges",),
    "Avg. Degree": ("file_vertices", "file_edges"),
}  # fmt: skip
_OTHER_LABELS, _OTHER_SEARCH = "gpu-labels-other-graphs", "gpu-search-other-graphs"  #: tables that were not printed
_ALONE = ", device alone"  #: ends the names of columns with the part `ON_DEVICE` of a phase
_WHOLE = ", from edges"  #: ends the names of columns with the phase `ready`
#: columns with the phases that we time separately and that print counts as overhead
_APART = {"gpu transfer": "transfer", "gpu allocate": "allocate"}


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
    ours = _Ours(name, cells) if name in GPU_TABLES else None
    of_row = together if ours and not ours.searching else list
    rows = []
    for dataset in printed.rows:
        own = of_row([cell for cell in cells if cell.dataset == dataset and cell.kind in (None, "real")])
        stand_in = next((cell.dataset for cell in cells if cell.stands_for == dataset), None)
        entries = {column: _time(own, FEEDS[name][column], _why_not(stand_in, name)) for column in printed.values}
        rows.append(_row(printed, dataset, entries, ours.entries(own, _why_not(stand_in, name)) if ours else {}))
    if ours is None:
        return _table(printed, rows, "ratio", _method_notes(rows))
    likes = _likes(printed, cells)
    for dataset, every in likes.items():
        own = of_row(every)
        entries = {column: _unprinted(own, FEEDS[name][column]) for column in printed.values}
        title = f"{printed.title(dataset.removesuffix(LIKE))}{LIKE} (generated)"
        rows.append(Row(dataset, title, {**entries, **ours.entries(own)}))
    notes = [*_gpu_notes(ours), *_method_notes(rows)]
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
    """True when a cell of the run fits a column of a table of times other than the positive queries, which any cell
    fills."""
    return any(entry.cell is not None for column, entry in row.entries.items() if column != "Positive Queries")


def of_graphs(table: Filled, cells: Iterable[Cell]) -> Filled:
    """A table without the rows of graphs that have no cell."""
    present = {cell.dataset for cell in cells}
    return replace(table, rows=[row for row in table.rows if row.dataset in present])


def on_gpu(cells: Iterable[Cell]) -> bool:
    """True when there is a cell of one of our implementations for GPUs, with a sound time or not."""
    return any(cell.impl.startswith(THESIS_GPU) for cell in cells)


class _Ours:
    """The columns of tables 6.1-6.6 that were not printed, for the series that the run has on the table's graphs.

    Each series has a column of ms and one of `sequential` / ms, with as many label pairs as the table or, if the run
    has none such, with the fewest. In tables of labels there are more columns: the phases in `_APART`; for a series on
    one GPU with a time by events, the time of the device alone and the time from edges; for other series on GPUs, the
    time from edges if it was measured.
    """

    def __init__(self, name: str, cells: Iterable[Cell]):
        self.searching = name in ("6.4", "6.5", "6.6") or name == _OTHER_SEARCH
        self.dim = next(iter(_feeds(name).values())).dim
        self.reference = _feeds(name)["Sequential DFS" if self.searching else "CPU ICT"]
        self.phase = "query" if self.searching else "label"
        printed = _in_print(name)
        dims: dict[Series, set[int]] = {}
        alone, whole, self.from_edges = set(), set(), False
        for cell in cells:
            if self._fits(cell) and printed(cell):
                series = Series.of(cell, self.searching)
                dims.setdefault(series, set()).add(cell.dim)
                if self.searching:
                    continue
                if (self.phase, ON_DEVICE) in cell.phases and cell.devices in (None, 1):
                    alone.add(series)
                    whole.add(series)
                if cell.stats("ready") and on_gpu([cell]):
                    whole.add(series)
                    self.from_edges = True
        found = [s if self.dim in has else replace(s, dim=min(has)) for s, has in dims.items()]
        self.series = sorted(found, key=lambda s: (not s.impl.startswith(THESIS_GPU), *s.rank))
        self.alone, self.whole = (
            {series for series in self.series if replace(series, dim=None) in some} for some in (alone, whole)
        )

    def _fits(self, cell: Cell) -> bool:
        """True for labels or searches to show beside printed ones: depth-first where the order can be chosen."""
        plain = cell.impl == "sequential" and not cell.filters
        return (
            cell.dim is not None and cell.random and not plain and not cell.impl.startswith(PREFIX)
            and (not self.searching or cell.search in (None, "dfs"))
        )  # fmt: skip

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in order, without the labeling of `gpu`, which is printed as 'Total'."""
        names = [name for series in self.series for name, *_ in self._parts(series)]
        apart = () if self.searching or Series(THESIS_GPU) not in self.series else tuple(_APART)
        printed = () if self.searching else (THESIS_GPU,)
        return (*apart, *(each for name in names for each in (name, f"sequential / {name}") if each not in printed))

    def _parts(self, series: Series) -> list[tuple[str, str, str]]:
        """For each time of a series: its name, its phase, and the phase of `sequential` to compare it with."""
        parts = [(series.name, self.phase, self.phase)]
        if series in self.alone:
            parts.append((f"{series.name}{_ALONE}", f"{self.phase}/{ON_DEVICE}", self.phase))
        if series in self.whole:
            parts.append((f"{series.name}{_WHOLE}", "ready", "ready"))
        return parts

    def entries(self, own: list[Cell], why: str = NOT_RUN) -> dict[str, Entry]:
        """The entries of one graph by column; without cells they are blank, for the reason `why`."""
        blank = Entry(status="missing", measured_notes=() if own else (why,))
        found = {
            column: _time(own, Feed(THESIS_GPU, phase, self.dim)) if own else blank for column, phase in _APART.items()
        }
        for series in self.series:
            dim, known = series.dim or self.dim, replace(series, dim=None)
            fit = [c for c in own if self._fits(c) and c.dim == dim and Series.of(c, self.searching) == known]
            for name, phase, against in self._parts(series):
                reference = _time(own, replace(self.reference, dim=dim, value=against))
                entry = _asked(_timed(fit, Feed(series.impl, phase, dim)), self.searching) if fit else blank
                found[name] = entry
                sound = entry.measured and reference.measured
                sound = sound and (not self.searching or entry.cell.query_set == reference.cell.query_set)
                status = "sampled" if "sampled" in (entry.status, reference.status) else "ok"
                ratio = Entry(reference.measured / entry.measured, status=status, cell=entry.cell) if sound else blank
                found[f"sequential / {name}"] = ratio
        return {column: found[column] for column in self.columns}


def _feeds(name: str) -> dict[str, Feed]:
    return FEEDS.get(name) or (GPU_SEARCH if name == _OTHER_SEARCH else GPU_LABELS)


def _in_print(name: str):
    """Makes a test of cells: True when the graph, or the one that it looks like, has a row in table `name`. For a table
    of other graphs, True when it has a row in none of the tables of the GPU."""
    if name in GPU_TABLES:
        rows = published.table(name).rows
        return lambda cell: cell.dataset.removesuffix(LIKE) in rows
    rows = {dataset for each in GPU_TABLES for dataset in published.table(each).rows}
    return lambda cell: cell.dataset.removesuffix(LIKE) not in rows


def _gpu_notes(ours: _Ours) -> list[str]:
    what = "DFS search" if ours.searching else "labeling"
    any_gpu = any(series.impl.startswith(THESIS_GPU) for series in ours.series)
    notes = {
        "Two label pairs: the sequential times printed are those of tables 2.4-2.6. "
        "Positive queries are those found on the GPU.": ours.searching,
        "One label pair. Print counts all transfers and allocation as overhead; here uploading the graph and "
        "allocating the buffers are timed apart, in no total, and overhead has what passes between phases.":
            not ours.searching,
        f"Columns after the printed ones are this run's alone: sequential / X is the time of the sequential {what}, "
        "unfiltered, over that of X with as many label pairs on the same machine; filters, and label pairs other than "
        "the table's, are named.": ours.series,
        "Device alone: by the GPU's events, for a graph that lies there; the columns before it have the host's time of "
        "the same labeling, from call to return.": ours.alone,
        "From edges: all from the file's edges in memory to an index that can be asked, by the host's clock, "
        "condensing, renumbering, transfer and allocation included, over the same of sequential.": ours.from_edges,
        f"From edges: {NOT_FROM_EDGES}.": any_gpu and not ours.searching and not ours.from_edges,
    }  # fmt: skip
    return [note for note, fits in notes.items() if fits]


def others(cells: Iterable[Cell]) -> list[Filled]:
    """The graphs that are in no published table, in the thesis's columns without printed values: real and imported
    graphs, then generated ones, which include look-alikes, then the tables of the GPU. Empty tables are left out."""
    cells = list(cells)
    in_print = {d for name in ("2.4", "2.5", "2.6") for d in published.table(name).rows}
    out = []
    for generated, name, caption in (
        (False, "other-graphs", "Graphs that no thesis table has (all times in ms)"),
        (True, "look-alikes", "Look-alikes and other generated graphs, never compared with print (all times in ms)"),
    ):
        graphs = _by_graph(cell for cell in cells if cell.generated == generated and cell.dataset not in in_print)
        rows = [
            Row(dataset, dataset + asked, {column: _unprinted(part, feed) for column, feed in CPU.items()})
            for dataset, own in graphs.items()
            for asked, part in _batches(own, lambda part: any(feed.takes(c) for feed in CPU.values() for c in part))
        ]
        rows = [row for row in rows if fits(row)]
        if rows:
            out.append(Filled(name, caption, ("Data set", *CPU), rows, "", _method_notes(rows)))
    return [*out, *_gpu_others(cells)]


def _gpu_others(cells: list[Cell]) -> list[Filled]:
    """The columns of tables 6.1-6.6 for graphs that are not in these tables and are no look-alikes of theirs."""
    out = []
    for name, caption in (
        (_OTHER_LABELS, "GPU labeling of graphs that no thesis table has (all times in ms)"),
        (_OTHER_SEARCH, "GPU search on graphs that no thesis table has (all times in ms)"),
    ):
        graphs = _by_graph(filter(_in_print(name), cells))
        graphs = {dataset: own for dataset, own in graphs.items() if on_gpu(own)}
        ours = _Ours(name, [cell for own in graphs.values() for cell in own])
        rows = [
            Row(
                dataset,
                f"{dataset} (generated){asked}" if own[0].generated else dataset + asked,
                {**{column: _unprinted(part, feed) for column, feed in _feeds(name).items()}, **ours.entries(part)},
            )
            for dataset, own in graphs.items()
            for asked, part in (_batches(own, on_gpu) if ours.searching else [("", together(own))])
        ]
        columns = [c for c in (*_feeds(name), *ours.columns) if any(row.entries[c].cell is not None for row in rows)]
        if columns:
            notes = [*_gpu_notes(ours), *_method_notes(rows)]
            out.append(Filled(name, caption, ("Data set", *columns), rows, "", notes))
    return out


def _batches(own: list[Cell], belongs: Callable[[list[Cell]], bool]) -> list[tuple[str, list[Cell]]]:
    """The cells of one graph for each of its rows, and what the row's title says of the queries: a row per batch of
    random queries, the largest first, or one row for all cells if at most one batch `belongs` in the table."""
    parts = {size: part for size, part in batches(own).items() if belongs(part)}
    if len(parts) < 2:
        return [("", own)]
    return [("" if size is None else f", {size:,} queries", part) for size, part in parts.items()]


def _unprinted(own: list[Cell], feed: Feed) -> Entry:
    """The entry of a column in a row without printed values."""
    return _asked(_time(own, feed), feed.asks)


def _asked(entry: Entry, asks: bool) -> Entry:
    """The entry, with a note on the number of queries if it depends on them and the number differs from print's."""
    if not asks or not _other_queries(entry):
        return entry
    note = f"asked {entry.cell.queries:,} queries, not {PRINTED_QUERIES:,}"
    return replace(entry, measured_notes=(*entry.measured_notes, note))


def _other_queries(entry: Entry) -> bool:
    """True for a value that was measured on another number of queries than print's."""
    return entry.measured is not None and entry.cell is not None and entry.cell.queries not in (None, PRINTED_QUERIES)


def _time(own: list[Cell], feed: Feed, why: str = NOT_RUN) -> Entry:
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
    return _timed(fit, feed)


def _timed(fit: list[Cell], feed: Feed) -> Entry:
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
    elif _other_queries(entry) and FEEDS[printed.name][column].asks:
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
