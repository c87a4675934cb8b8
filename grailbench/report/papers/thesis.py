"""The thesis's tables 2.1-2.6 and 6.1-6.6, and tables 1 and 2 of Computation 2020, from what was measured, cell by
cell beside print.

A published row is filled only by the graph of that canonical name. Look-alikes, generated and imported graphs have
tables of their own (`others`); in 6.1-6.6 and the paper's tables look-alikes come as extra rows, marked. 6.1-6.6 also
have columns that print has not: every other implementation of the run, in ms and against `sequential` of the same row.
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
#: printed columns to the counts they show: (with the super-root); the paper counts without
_COUNTS = {
    "Vertices": "vertices", "Edges": "edges", "Avg Degree": ("vertices", "edges"),
    "# Vertices (n)": "file_vertices", "# Edges (m)": "file_edges", "Avg. Degree": ("file_vertices", "file_edges"),
}  # fmt: skip
_ALONE = ", device alone"  #: what columns of `ON_DEVICE` are called
_WHOLE = ", from edges"  #: what columns of `ready` are called
#: columns of ours to the phases apart that print counts as overhead
_APART = {"gpu transfer": "transfer", "gpu allocate": "allocate"}


def build(name: str, cells: Iterable[Cell], graphs: Mapping[str, Mapping | str]) -> Filled:
    """Table `name` ('2.1' to '2.6', '6.1' to '6.6') with every printed row, measured or not.

    `cells` feed the tables of times. `graphs` feeds 2.1-2.3: canonical name to its `vertices` and `edges` with the
    super-root, or to the reason (a text) why there are none. Raises InputError for other tables.
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
    notes = [*_gpu_notes(name, ours), *_method_notes(rows)]
    if likes:
        notes.append("Rows marked as generated are look-alikes; they are never compared with print.")
    return _table(printed, rows, "ratio", notes, ours.columns)


def _count_table(printed: published.Published, graphs: Mapping[str, Mapping | str]) -> Filled:
    """A table of counts; in the paper's a look-alike has a row after that of its graph."""
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
    """The cells of look-alikes of a table's graphs, in printed order."""
    wanted = [f"{dataset}{LIKE}" for dataset in printed.rows]
    found = {name: [cell for cell in cells if cell.dataset == name] for name in wanted}
    return {name: own for name, own in found.items() if own}


def _why_not(stand_in: str | None, name: str) -> str:
    """Why a row has no cells. `stand_in`: the look-alike run in its place."""
    where = "below, marked" if name in GPU_TABLES else "among the look-alikes"
    return f"not to be had; {stand_in} ran in its place and stands {where}" if stand_in else NOT_RUN


def fits(row: Row) -> bool:
    """True when a column of a table of times is of a cell of the run; positive queries can be had from any cell."""
    return any(entry.cell is not None for column, entry in row.entries.items() if column != "Positive Queries")


def of_graphs(table: Filled, cells: Iterable[Cell]) -> Filled:
    """A table without the rows of graphs that no cell is of."""
    present = {cell.dataset for cell in cells}
    return replace(table, rows=[row for row in table.rows if row.dataset in present])


def on_gpu(cells: Iterable[Cell]) -> bool:
    """True when a cell is of one of our implementations for GPUs, whatever became of it."""
    return any(cell.impl.startswith(THESIS_GPU) for cell in cells)


class _Ours:
    """The columns that tables 6.1-6.6 have beyond print: of the implementations that the run has on a table's graphs.

    Each has two, ms and `sequential` / it, of as many label pairs as the table or, where it ran with none such, of the
    fewest it has; labels have what print counts as overhead and we time apart, too, those that one GPU timed by events
    have two more of the device alone and two of the way from edges, and those of any GPU the latter where it was timed.
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
                if (self.phase, ON_DEVICE) in cell.phases and not self.searching and series.devices == 1:
                    alone.add(series)
                    whole.add(series)
                if cell.stats("ready") and not self.searching and on_gpu([cell]):
                    whole.add(series)
                    self.from_edges = True
        found = [s if self.dim in has else replace(s, dim=min(has)) for s, has in dims.items()]
        self.series = sorted(
            found, key=lambda s: (not s.impl.startswith(THESIS_GPU), s.impl, s.filters, s.threads, s.devices)
        )
        self.alone, self.whole = (
            {series for series in self.series if replace(series, dim=None) in some} for some in (alone, whole)
        )

    def _fits(self, cell: Cell) -> bool:
        """Labels or a search that may stand beside print's: dfs where the search can be chosen."""
        plain = cell.impl == "sequential" and not cell.filters
        return (
            cell.dim is not None and cell.random and not plain and not cell.impl.startswith(PREFIX)
            and (not self.searching or cell.search in (None, "dfs"))
        )  # fmt: skip

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names, in order; `gpu` has its label's total in a printed column."""
        both = (
            (self._ms(series, name), f"sequential / {name}")
            for series in self.series
            for name, *_ in self._parts(series)
        )
        apart = () if self.searching or Series(THESIS_GPU) not in self.series else tuple(_APART)
        return (*apart, *(column for pair in both for column in pair if column))

    def _ms(self, series: Series, name: str) -> str | None:
        return None if name == THESIS_GPU and not self.searching else name

    def _parts(self, series: Series) -> list[tuple[str, str, str]]:
        """The names of a series' times, the phases that they are, and the phases of `sequential` that stand against."""
        parts = [(series.name, self.phase, self.phase)]
        if series in self.alone:
            parts.append((f"{series.name}{_ALONE}", f"{self.phase}/{ON_DEVICE}", self.phase))
        if series in self.whole:
            parts.append((f"{series.name}{_WHOLE}", "ready", "ready"))
        return parts

    def entries(self, own: list[Cell], why: str = NOT_RUN) -> dict[str, Entry]:
        """The entries of one graph, from its cells."""
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
                sound = entry.measured and reference.measured and _same_batch(entry, reference, self.searching)
                status = "sampled" if "sampled" in (entry.status, reference.status) else "ok"
                ratio = Entry(reference.measured / entry.measured, status=status, cell=entry.cell) if sound else blank
                found[f"sequential / {name}"] = ratio
        return {column: found[column] for column in self.columns}


def _same_batch(one: Entry, other: Entry, searching: bool) -> bool:
    return not searching or one.cell.query_set == other.cell.query_set


_OTHER_LABELS, _OTHER_SEARCH = "gpu-labels-other-graphs", "gpu-search-other-graphs"


def _feeds(name: str) -> dict[str, Feed]:
    return FEEDS.get(name) or (GPU_SEARCH if name == _OTHER_SEARCH else GPU_LABELS)


def _in_print(name: str):
    """Whether a cell's graph, or the graph that it looks like, has a row in table `name`; in the tables of other
    graphs those that have none."""
    if name in GPU_TABLES:
        rows = published.table(name).rows
        return lambda cell: cell.dataset.removesuffix(LIKE) in rows
    rows = {dataset for each in GPU_TABLES for dataset in published.table(each).rows}
    return lambda cell: cell.dataset.removesuffix(LIKE) not in rows


def _gpu_notes(name: str, ours: _Ours) -> list[str]:
    if ours.searching:
        notes = [
            "Two label pairs: the sequential times printed are those of tables 2.4-2.6. "
            "Positive queries are those found on the GPU."
        ]
    else:
        notes = [
            "One label pair. Print counts all transfers and allocation as overhead; here uploading the graph and "
            "allocating the buffers are timed apart, in no total, and overhead has what passes between phases."
        ]
    if ours.series:
        what = "DFS search" if ours.searching else "labeling"
        notes.append(
            "Columns after the printed ones are this run's alone: sequential / X is the time of the sequential "
            f"{what}, unfiltered, over that of X with as many label pairs on the same machine; filters, and label "
            "pairs other than the table's, are named."
        )
    if ours.alone:
        notes.append(
            "Device alone: by the GPU's events, for a graph that lies there; the columns before it have the host's "
            "time of the same labeling, from call to return."
        )
    if ours.from_edges:
        notes.append(
            "From edges: all from the file's edges in memory to an index that can be asked, by the host's clock, "
            "condensing, renumbering, transfer and allocation included, over the same of sequential."
        )
    elif not ours.searching and any(series.impl.startswith(THESIS_GPU) for series in ours.series):
        notes.append(f"From edges: {NOT_FROM_EDGES}.")
    return notes


def others(cells: Iterable[Cell]) -> list[Filled]:
    """The graphs that stand in no published table, in the thesis's columns and without print: real and
    imported ones, then generated ones (look-alikes among them). Empty tables are left out."""
    cells = list(cells)
    in_print = {d for name in ("2.4", "2.5", "2.6") for d in published.table(name).rows}
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
            Row(dataset, dataset + asked, {column: _unprinted(part, feed) for column, feed in CPU.items()})
            for dataset, own in groups[like].items()
            for asked, part in _batches(own, lambda part: any(feed.takes(c) for feed in CPU.values() for c in part))
        ]
        rows = [row for row in rows if fits(row)]
        if rows:
            out.append(Filled(name, caption, ("Data set", *CPU), rows, "", _method_notes(rows)))
    return [*out, *_gpu_others(cells)]


def _gpu_others(cells: list[Cell]) -> list[Filled]:
    """As tables 6.1-6.6, for graphs that are not in them and do not look like one of theirs."""
    out = []
    for name, caption in (
        (_OTHER_LABELS, "GPU labeling of graphs that no thesis table has (all times in ms)"),
        (_OTHER_SEARCH, "GPU search on graphs that no thesis table has (all times in ms)"),
    ):
        fits = _in_print(name)
        groups: dict[str, list[Cell]] = {}
        for cell in cells:
            if fits(cell):
                groups.setdefault(cell.dataset, []).append(cell)
        groups = {dataset: own for dataset, own in groups.items() if on_gpu(own)}
        ours = _Ours(name, [cell for own in groups.values() for cell in own])
        rows = [
            Row(
                dataset,
                f"{dataset} (generated){asked}" if own[0].generated else dataset + asked,
                {**{column: _unprinted(part, feed) for column, feed in _feeds(name).items()}, **ours.entries(part)},
            )
            for dataset, own in groups.items()
            for asked, part in (_batches(own, on_gpu) if ours.searching else [("", together(own))])
        ]
        columns = [
            column
            for column in (*_feeds(name), *ours.columns)
            if any(row.entries[column].cell is not None for row in rows)
        ]
        if columns:
            notes = [*_gpu_notes(name, ours), *_method_notes(rows)]
            out.append(Filled(name, caption, ("Data set", *columns), rows, "", notes))
    return out


def _batches(own: list[Cell], belongs: Callable[[list[Cell]], bool]) -> list[tuple[str, list[Cell]]]:
    """The cells of one graph without print by the batch of random queries that they were asked, the largest first, and
    what the row's title says of it; all of them where but one batch has what `belongs` in the table."""
    parts = {size: part for size, part in batches(own).items() if belongs(part)}
    if len(parts) < 2:
        return [("", own)]
    return [("" if size is None else f", {size:,} queries", part) for size, part in parts.items()]


def _unprinted(own: list[Cell], feed: Feed) -> Entry:
    """The entry of a column in a row without print, which says how many queries were asked if not print's number."""
    return _asked(_time(own, feed), feed.asks)


def _asked(entry: Entry, asks: bool) -> Entry:
    queries = entry.cell and entry.cell.queries
    if not asks or entry.measured is None or queries in (None, PRINTED_QUERIES):
        return entry
    notes = (*entry.measured_notes, f"asked {queries:,} queries, not {PRINTED_QUERIES:,}")
    return replace(entry, measured_notes=notes)


def _time(own: list[Cell], feed: Feed, why: str = NOT_RUN) -> Entry:
    """The entry of a column of a table of times from the cells of one graph; `why` there are none."""
    if not own:
        return Entry(status="missing", measured_notes=(why,))
    fit = [cell for cell in own if feed.takes(cell)]
    if feed.value == "positives":  # every sound cell on the same queries has the same count
        sound = [c for c in own if c.positives is not None and c.random and c.sound]
        fit = [c for c in sound if feed.takes(c)] or sound or fit
    if not fit:
        failed = {c.reason for c in own if c.status == "skipped" and c.reason}
        why = failed.pop() if len(failed) == 1 and len(own) == 1 else f"the run has no cell {feed}, unfiltered"
        return Entry(status="missing", measured_notes=(why,))
    return _timed(fit, feed)


def _timed(fit: list[Cell], feed: Feed) -> Entry:
    """The entry of the best of some cells."""
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
    """Sound cells first, then those on as many queries as print, dfs, most threads, random child order, least
    seed."""
    grave = {"ok": 0, "sampled": 0, "incomplete": 1}.get(cell.status, 2)
    return (
        grave,
        cell.queries != PRINTED_QUERIES,
        cell.search != "dfs",
        -cell.threads,
        cell.order != "random",
        cell.seed or 0,
    )


def _count(graph: Mapping | str | None, column: str) -> Entry:
    """The entry of a column of a table of counts."""
    if graph is None or isinstance(graph, str):
        return Entry(status="missing", measured_notes=(graph or NOT_RUN,))
    name = _COUNTS[column]
    values = [graph.get(each) for each in ((name,) if isinstance(name, str) else name)]
    if None in values:
        return Entry(status="missing", measured_notes=("the run does not say how many roots the graph has",))
    return Entry(values[0] if len(values) == 1 else values[1] / values[0])


def _beside(entry: Entry, printed: published.Published, dataset: str, column: str) -> Entry:
    """The entry with the printed value, its errata, and the ratio where the two can be compared."""
    text, value = printed.rows[dataset][column], printed.number(dataset, column)
    notes, ratio = entry.measured_notes, None
    if entry.measured is not None and printed.name in COUNT_TABLES:
        places = len(text.partition(".")[2])
        ratio = round(entry.measured, places) - value
    elif (
        entry.measured is not None
        and entry.cell.queries not in (None, PRINTED_QUERIES)
        and FEEDS[printed.name][column].asks
    ):
        notes = (
            *notes,
            f"measured on {entry.cell.queries:,} queries, print on {PRINTED_QUERIES:,}: no ratio",
        )
    elif entry.measured is not None and value > 0:
        ratio = entry.measured / value
    reason = "" if ratio is None else printed.reason(dataset, column, ratio)
    known = tuple(printed.notes(dataset, column))
    return Entry(entry.measured, text, ratio, entry.status, notes, known, reason, entry.cell)


def _method_notes(rows: list[Row]) -> list[str]:
    """How the cells shown stand to what the thesis ran: no filters, threads, and child order where it is not random."""
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
        here = " or ".join(str(count) for count in threads)
        notes.append(f"Parallel columns: measured with {here} threads; the thesis used {PRINTED_THREADS}.")
    orders = sorted({cell.order for column, cell in shown if cell.order not in (None, "random")})
    if orders:
        notes.append(f"Children visited in {' or '.join(orders)} order; the thesis visits them in random order.")
    return notes
