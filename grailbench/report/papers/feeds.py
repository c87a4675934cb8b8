"""The columns of tables 2.4-2.6 and 6.1-6.6: which cells fill those in print, and which others there are.

A column is a function of the cells of one graph, and of the reason to give where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from grailbench.compare.measures import grouped
from grailbench.harness import axes
from grailbench.harness.cells import Cell, Stats
from grailbench.problems import contract
from grailbench.report.papers.beside import NOT_RUN, Entry, missing
from grailbench.report.published import PRINTED_QUERIES

#: the implementation that fills the printed columns of tables 6.1-6.6
THESIS_GPU = "gpu"
LIKE = "-like"
#: axes on which a printed column takes any value unless its feed names one
_FREE = ("dim", "search", "threads", "order")
Column = Callable[[list[Cell], str], Entry]


@dataclass(frozen=True)
class Feed:
    """The cells that fill a column, and the value that it shows.

    impl         the implementation
    value        a phase, of which the mean is shown: 'query', or 'query/cpu_filter' for a phase within another; or a
                 count: 'positives' or 'counter/NAME'
    dim, search  the number of label pairs and the search order; None for any
    order        the child order in which print seems to have been measured; others have columns of their own
    """

    impl: str
    value: str
    dim: int | None = None
    search: str | None = None
    order: str = "random"

    def takes(self, cell: Cell) -> bool:
        """True for a cell of this configuration, without filters, on one device, on uniform random queries."""
        return (
            cell.impl == self.impl
            and cell.random
            and self.dim in (None, cell.dim)
            and self.search in (None, cell.search)
            and all(cell.axes[axis.name] in axis.unsaid for axis in axes.AXES if axis.name not in _FREE)
        )

    @property
    def counts(self) -> bool:
        """True when the value is a count, False when it is a time."""
        return self.value == "positives" or self.value.startswith("counter/")

    def stats(self, cell: Cell) -> Stats | None:
        """The statistics of the phase that `value` names, or None."""
        under, _, phase = self.value.rpartition("/")
        return cell.phases.get((under, phase))

    def measured(self, cell: Cell) -> float | None:
        """The count or the mean that `value` names, or None if the cell has none."""
        if self.value == "positives":
            return cell.positives
        stats = self.stats(cell)
        return (cell.counters or {}).get(self.value.removeprefix("counter/")) if self.counts else stats and stats.mean

    def __call__(self, own: list[Cell], why: str = NOT_RUN) -> Entry:
        """The entry of the column from the cells of one graph; `why` is the reason if there are none."""
        if not own:
            return missing(why)
        fit = [cell for cell in own if self.takes(cell)]
        if self.value == "positives":  # the same for every sound cell on the same queries
            sound = [c for c in own if c.positives is not None and c.random and c.sound]
            fit = [c for c in sound if self.takes(c)] or sound or fit
        if not fit:
            skipped = own[0].reason if len(own) == 1 and own[0].status == "skipped" else None
            return missing(skipped or f"the run has no cell {axes.label(self.impl, vars(self))}, unfiltered")
        return self.best(fit)

    def best(self, fit: list[Cell]) -> Entry:
        """The entry of the best of some cells, as `_preference` orders them."""
        cell = min(fit, key=self._preference)
        if not cell.sound:
            return Entry(status=cell.status, measured_notes=(_reason(cell),), cell=cell)
        if (value := self.measured(cell)) is None:
            return Entry(status="missing", measured_notes=(f"{cell.label}: no {self.value} in its rows",), cell=cell)
        notes = () if self.counts or cell.status == "ok" else (_reason(cell),)
        if other_queries(cell) and (self.counts or self.value.startswith("query")):
            notes += (f"asked {cell.queries:,} queries, not {PRINTED_QUERIES:,}",)
        spread = cell.spread.get(self.value) if self.counts else None
        status = "ok" if self.counts else cell.status
        return Entry(value, status=status, measured_notes=notes, cell=cell, spread=spread)

    def _preference(self, cell: Cell) -> tuple:
        """Orders cells: sound ones first, then those on as many queries as print, depth-first, with most threads, in
        the child order of the column, with the smallest seed."""
        grave = {"ok": 0, "sampled": 0, "incomplete": 1}.get(cell.status, 2)
        queries, search, order = cell.queries != PRINTED_QUERIES, cell.search != "dfs", cell.order != self.order
        return grave, queries, search, -cell.threads, order, cell.seed or 0


def _reason(cell: Cell) -> str:
    if cell.status == "sampled":
        return f"sampled: {cell.reason}"  # one for all configurations on these queries
    return f"{cell.label}: {cell.status}" + (f", {cell.reason}" if cell.reason else "")


def other_queries(cell: Cell) -> bool:
    """True for a cell that was asked another number of queries than print's."""
    return cell.queries not in (None, PRINTED_QUERIES)


#: the columns of tables 2.4-2.6; the thesis uses two label pairs there. Which order fits print: 'Decisions' of the docs
LEXICOGRAPHIC = "lexicographic"
CPU = {
    "Positive Queries": Feed("sequential", "positives", 2, "dfs"),
    "Pure DFS": Feed("dfs", "query"),
    "Index CT": Feed("sequential", "label", 2, order=LEXICOGRAPHIC),
    "Sequential DFS": Feed("sequential", "query", 2, "dfs"),
    "Parallel DFS": Feed("parallel", "query", 2, "dfs"),
    "Sequential BFS": Feed("sequential", "query", 2, "bfs"),
    "Parallel BFS": Feed("parallel", "query", 2, "bfs"),
}
#: the phases of the thesis's labeling in order: their names in its tables and in rows
WEIGHTS = {
    "Subsizes DAG": "subsizes_dag",
    "Parent SSSP": "parent_sssp",
    "Edges RC": "edges_rc",
    "Subsizes DT": "subsizes_dt",
    "Post-order": "post_order",
    "Min P.O.": "min_post",
    "Overhead": "overhead",
}
#: the columns of tables 6.1-6.3: one label pair
GPU_LABELS = {
    **{column: Feed(THESIS_GPU, f"label/{phase}", 1, order=LEXICOGRAPHIC) for column, phase in WEIGHTS.items()},
    "Total": Feed(THESIS_GPU, "label", 1, order=LEXICOGRAPHIC),
    "CPU ICT": Feed("sequential", "label", 1, order=LEXICOGRAPHIC),
}
#: the columns of tables 6.4-6.6: two label pairs, because their sequential times are those of tables 2.4-2.6
GPU_SEARCH = {
    "CPU Filter": Feed(THESIS_GPU, "query/cpu_filter", 2),
    "GPU Search": Feed(THESIS_GPU, "query/gpu_search", 2),
    "Queries on GPU": Feed(THESIS_GPU, "counter/queries_on_gpu", 2),
    "Positive Queries": Feed(THESIS_GPU, "counter/positives", 2),
    "Sequential DFS": CPU["Sequential DFS"],
    "Sequential BFS": CPU["Sequential BFS"],
}
FEEDS = {
    **dict.fromkeys(("2.4", "2.5", "2.6"), CPU),
    **dict.fromkeys(("6.1", "6.2", "6.3"), GPU_LABELS),
    **dict.fromkeys(("6.4", "6.5", "6.6"), GPU_SEARCH),
}
GPU_TABLES = tuple(name for name in FEEDS if name[0] == "6")
#: printed columns that stand there in the other child order too; labels of the GPU are a series of their own
BOTH_ORDERS = ("Index CT", "Sequential DFS", "Parallel DFS", "Sequential BFS", "Parallel BFS", "CPU ICT", "GPU Search",
               "Queries on GPU")  # fmt: skip


# ------------------------------------------------------------------ columns that were not printed


def label_free(impl: str) -> bool:
    """True for an implementation that answers without label pairs, and has columns in tables of searches."""
    known = contract.registered(impl, contract.USUAL)
    return known is not None and known.label_free


@dataclass(frozen=True)
class Series:
    """A configuration that has columns, or a panel, of its own beside the printed ones.

    impl    the implementation
    values  names and values of the axes that labels show, so that indexes with different filters are different series;
            the child order if it is not that of the table; without the label pairs, and without the one thread of those
            without labels, which is that of `sequential`
    dim     the number of label pairs; None for that of the table
    """

    impl: str
    values: tuple[tuple[str, Any], ...] = ()
    dim: int | None = None

    @classmethod
    def of(cls, cell: Cell, searching: bool, order: str | None = None) -> Series:
        """The series of a cell, with its child order if that is not `order`. Only tables of searches have the search
        order, on which labels do not depend."""
        left_out = ("dim", "order") if searching else ("dim", "order", "search")
        left_out += ("threads",) if cell.threads == 1 and cell.dim is None and label_free(cell.impl) else ()
        values = {axis.name: cell.axes[axis.name] for axis in axes.AXES if axis.name not in left_out
                  and cell.axes[axis.name] not in axis.unsaid}  # fmt: skip
        values |= {"order": cell.order} if order is not None and cell.order not in (None, order) else {}
        return cls(cell.impl, tuple(values.items()))

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The values by axis; an axis that labels do not show is absent."""
        return dict(self.values) | {"dim": self.dim}

    @property
    def name(self) -> str:
        """'parallel dfs, 16 threads', 'gpu-fused level,tree', 'gpu, random order'."""
        order = self.chosen.get("order")
        label = axes.label(self.impl, {**self.chosen, "order": None}, between=", ")
        return f"{label}, {order} order" if order else label

    @property
    def rank(self) -> tuple:
        """Orders series by implementation, then by axis."""
        return self.impl, *(axis.rank(self.chosen.get(axis.name)) for axis in axes.AXES)


def our_columns(feeds: Mapping[str, Feed], cells: Iterable[Cell]) -> tuple[dict[str, Column], list[str]]:
    """The columns of a table that were not printed, for the series that the run has on the table's graphs, and what
    must be known to read the table.

    feeds  the printed columns: `CPU`, `GPU_LABELS` or `GPU_SEARCH`
    cells  those on the table's graphs

    Printed columns in the other child order, of a run that has both, come first (`BOTH_ORDERS`). Each series has a
    column of ms and one of `sequential` / ms, with as many label pairs as the table or, if the run has none such, with
    the fewest. Tables of the CPU have only series without labels, and two more columns for each, of building its index.
    Tables of the GPU have all series, those of searches also series without labels, those of labels also the phases
    that print counts as overhead.
    """
    cpu, searching = feeds is CPU, feeds is not GPU_LABELS
    reference = feeds["Sequential DFS" if searching else "CPU ICT"]
    cells = list(cells)
    several = any(cell.order == reference.order for cell in cells)
    order = reference.order if several else None
    fit = (cell for cell in cells if _fits(cell, cpu, searching))
    groups = grouped(fit, lambda cell: Series.of(cell, searching, order))
    found: dict[Series, list[Cell]] = {}
    for series, own in groups.items():
        dims = {cell.dim for cell in own}
        dim = None if dims & {reference.dim, None} else min(dims)
        has = None if label_free(series.impl) else dim or reference.dim
        found[replace(series, dim=dim)] = [cell for cell in own if cell.dim == has]
    parts = [(", index", "label"), ("", "query")] if cpu else [("", "query" if searching else "label")]
    columns = {f"{column}, {other} order": partial(_of_order, feed, other) for column in BOTH_ORDERS
               if (feed := feeds.get(column)) and len(orders := {c.order for c in cells if feed.takes(c)}) == 2
               for other in orders - {feed.order}}  # fmt: skip
    if not searching and Series(THESIS_GPU) in found:
        around = {f"{THESIS_GPU} {phase}": Feed(THESIS_GPU, phase, 1, order=reference.order)
                  for phase in ("transfer", "allocate")}  # fmt: skip
        columns |= around | {"Total + transfer + allocate": partial(_sum, [feeds["Total"], *around.values()])}
    ranked = sorted(found, key=lambda series: (not series.impl.startswith(THESIS_GPU), *series.rank))
    for series in ranked:
        dim, members = series.dim or reference.dim, frozenset(map(id, found[series]))
        child_order = series.chosen.get("order", reference.order)
        for ending, phase in parts:
            column = partial(_of_series, Feed(series.impl, phase, dim, order=child_order), members)
            if searching or series.name != THESIS_GPU:  # whose labeling is printed as 'Total'
                columns[series.name + ending] = column
            if not _plain(series.impl, series.chosen.get("filters")):
                base = replace(reference, dim=dim, value=phase, order=child_order)
                columns[f"sequential / {series.name}{ending}"] = partial(_over, base, column)
    exact = dict.fromkeys(series.impl for series in ranked if label_free(series.impl))
    over = "search, or of its index, over that of X" if cpu else (
        f"{'search' if searching else 'labeling'}, unfiltered, over that of X with as many label pairs; filters, and "
        "label pairs other than the table's, are named"
    )  # fmt: skip
    notes = {
        "Two label pairs: the sequential times printed are those of tables 2.4-2.6. "
        "Positive queries are those found on the GPU.": feeds is GPU_SEARCH,
        "One label pair, of a graph that a GPU has already. Print counts all transfers and allocation as overhead; "
        "here they are phases of their own, and a total with both stands beside Total. From edges to an index: phase "
        "ready, in the table of all cells.":
            not searching,
        "Columns after the printed ones are this run's alone: sequential / X is the time of the sequential "
        f"{'DFS ' * searching}{over}.": found,
        f"{' and '.join(exact)}: no label pairs and, where the closure of the core fits, no search, on one thread "
        "of the CPU unless more are named.": exact,
    }  # fmt: skip
    return columns, [note for note, holds in notes.items() if holds]


def _plain(impl: str, filters: str | None) -> bool:
    """True for the implementation of the printed sequential columns."""
    return impl == "sequential" and (filters or "none") == "none"


def _fits(cell: Cell, cpu: bool, searching: bool) -> bool:
    """True for labels or searches to show beside printed ones: depth-first where that can be chosen."""
    if not cell.random:
        return False
    if cell.dim is None:
        return searching and label_free(cell.impl)
    return (
        not cpu
        and not _plain(cell.impl, cell.filters)
        and cell.ours
        and (not searching or cell.search in (None, "dfs"))
    )


def _of_order(feed: Feed, order: str, own: list[Cell], why: str) -> Entry:
    """The entry of a printed column in a child order."""
    return replace(feed, order=order)([cell for cell in own if cell.order == order], why)


def _of_series(feed: Feed, members: frozenset[int], own: list[Cell], why: str) -> Entry:
    """The entry of a series; `members` are the ids of its cells."""
    fit = [cell for cell in own if id(cell) in members]
    return feed.best(fit) if fit else missing(*([] if own else [why]))


def _sum(columns: list[Column], own: list[Cell], why: str) -> Entry:
    """The entry of the sum of some columns of one cell."""
    parts = [column(own, why) for column in columns]
    if not all(part.measured for part in parts):
        return missing(*([] if own else [why]))
    return replace(parts[0], measured=sum(part.measured for part in parts))


def _over(reference: Feed, column: Column, own: list[Cell], why: str) -> Entry:
    """The entry of the reference's time over that of a column."""
    base, mine = reference(own, why), column(own, why)
    same = reference.value != "query" or (base.cell and mine.cell and base.cell.query_set == mine.cell.query_set)
    if not base.measured or not mine.measured or not same:
        return missing(*([] if own else [why]))
    status = "sampled" if "sampled" in (base.status, mine.status) else "ok"
    return Entry(base.measured / mine.measured, status=status, cell=mine.cell)
