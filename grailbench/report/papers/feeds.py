"""The columns of tables 2.4-2.6 and 6.1-6.6: which cells fill those in print, which others there are, and what must be
known to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from grailbench.harness import axes
from grailbench.harness.cells import NOT_FROM_EDGES, ON_DEVICE, Cell
from grailbench.problems import contract
from grailbench.report import published
from grailbench.report.papers.beside import NOT_RUN, Entry, Feed, asked, time, timed

#: the implementation that fills the printed columns of tables 6.1-6.6
THESIS_GPU = "gpu"


def label_free(impl: str) -> bool:
    """True for an implementation that answers without label pairs, and has columns in tables of searches."""
    known = contract.registered(impl, contract.USUAL)
    return known is not None and known.label_free


#: the columns of tables 2.4-2.6; the thesis uses two label pairs there
CPU = {
    "Positive Queries": Feed("sequential", "positives", 2, "dfs"),
    "Pure DFS": Feed("dfs", "query"),
    "Index CT": Feed("sequential", "label", 2),
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
    **{column: Feed(THESIS_GPU, f"label/{phase}", 1) for column, phase in WEIGHTS.items()},
    "Total": Feed(THESIS_GPU, "label", 1),
    "CPU ICT": Feed("sequential", "label", 1),
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


@dataclass(frozen=True)
class Series:
    """A configuration that has columns, or a panel, of its own beside the printed ones.

    impl    the implementation
    values  names and values of the axes that labels show, so that indexes with different filters are different series;
            without the child order, of which the usual one is preferred, without the label pairs, and without the one
            thread of those without labels, which is that of `sequential`
    dim     the number of label pairs; None for that of the table
    """

    impl: str
    values: tuple[tuple[str, Any], ...] = ()
    dim: int | None = None

    @classmethod
    def of(cls, cell: Cell, searching: bool) -> Series:
        """The series of a cell. Labels do not depend on the search order, so only tables of searches keep it."""
        left_out = ("dim", "order") if searching else ("dim", "order", "search")
        left_out += ("threads",) if cell.threads == 1 and cell.dim is None and label_free(cell.impl) else ()
        values = {axis.name: cell.axes[axis.name] for axis in axes.AXES if axis.name not in left_out
                  and cell.axes[axis.name] not in axis.unsaid}  # fmt: skip
        return cls(cell.impl, tuple(values.items()))

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The values by axis; an axis that labels do not show is absent."""
        return dict(self.values) | {"dim": self.dim}

    @property
    def name(self) -> str:
        """'parallel dfs, 16 threads', 'gpu-fused level,tree'."""
        return axes.label(self.impl, self.chosen, between=", ")

    @property
    def rank(self) -> tuple:
        """Orders series by implementation, then by axis."""
        return self.impl, *(axis.rank(self.chosen.get(axis.name)) for axis in axes.AXES)


GPU_TABLES = tuple(name for name in FEEDS if name[0] == "6")
LIKE = "-like"
OTHER_LABELS, OTHER_SEARCH = "gpu-labels-other-graphs", "gpu-search-other-graphs"  #: tables that were not printed
_OTHERS = {OTHER_LABELS: GPU_LABELS, OTHER_SEARCH: GPU_SEARCH}
_ALONE = ", device alone"  #: ends the names of columns with the part `ON_DEVICE` of a phase
_WHOLE = ", from edges"  #: ends the names of columns with the phase `ready`
_INDEX = ", index"  #: ends the names of columns with the phase `label`, in tables of indexes and searches
#: columns with the phases that we time separately and that print counts as overhead
_APART = {"gpu transfer": "transfer", "gpu allocate": "allocate"}


def feeds(name: str) -> Mapping[str, Feed]:
    """What fills the columns of a table in print, or those of a table that was not printed."""
    return FEEDS.get(name) or _OTHERS.get(name, CPU)


def on_gpu(cells: Iterable[Cell]) -> bool:
    """True when there is a cell of one of our implementations for GPUs, with a sound time or not."""
    return any(cell.impl.startswith(THESIS_GPU) or cell.impl.endswith(f"-{THESIS_GPU}") for cell in cells)


def in_print(name: str) -> Callable[[Cell], bool]:
    """Makes a test of cells: True when the graph, or the one that it looks like, has a row in table `name`. For a table
    of other graphs on a GPU, True when it has a row in none of the tables of the GPU; for others, always."""
    if name in FEEDS:
        rows = published.table(name).rows
        return lambda cell: cell.dataset.removesuffix(LIKE) in rows
    if name not in _OTHERS:
        return lambda cell: True
    rows = {dataset for each in GPU_TABLES for dataset in published.table(each).rows}
    return lambda cell: cell.dataset.removesuffix(LIKE) not in rows


class OurColumns:
    """The columns of a table that were not printed, for the series that the run has on the table's graphs.

    Each series has a column of ms and one of `sequential` / ms, with as many label pairs as the table or, if the run
    has none such, with the fewest. Tables of the CPU have only series without labels, and two more columns for each,
    of building its index. Tables of the GPU have all series, those of searches also series without labels. In tables
    of labels there are more columns: the phases in `_APART`; for a series on one GPU with a time by events, the time
    of the device alone and the time from edges; for other series on GPUs, the time from edges if it was measured.
    """

    def __init__(self, name: str, cells: Iterable[Cell]):
        self.cpu = feeds(name) is CPU
        self.searching = feeds(name) is not GPU_LABELS
        self.dim = feeds(name)["Sequential DFS" if self.searching else "CPU ICT"].dim
        self.reference = feeds(name)["Sequential DFS" if self.searching else "CPU ICT"]
        self.phase = "query" if self.searching else "label"
        shown = in_print(name)
        dims: dict[Series, set[int | None]] = {}
        alone, whole, self.from_edges = set(), set(), False
        for cell in cells:
            if self._fits(cell) and shown(cell):
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
        found = [s if {self.dim, None} & has else replace(s, dim=min(has)) for s, has in dims.items()]
        self.series = sorted(found, key=lambda s: (not s.impl.startswith(THESIS_GPU), *s.rank))
        self.alone, self.whole = (
            {series for series in self.series if replace(series, dim=None) in some} for some in (alone, whole)
        )

    def _fits(self, cell: Cell) -> bool:
        """True for labels or searches to show beside printed ones: depth-first where the order can be chosen."""
        if not cell.random:
            return False
        if cell.dim is None:
            return self.searching and label_free(cell.impl)
        plain = cell.impl == "sequential" and not cell.filters
        return not self.cpu and not plain and cell.ours and (not self.searching or cell.search in (None, "dfs"))

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
        if self.cpu:
            parts.insert(0, (f"{series.name}{_INDEX}", "label", "label"))
        if series in self.alone:
            parts.append((f"{series.name}{_ALONE}", f"{self.phase}/{ON_DEVICE}", self.phase))
        if series in self.whole:
            parts.append((f"{series.name}{_WHOLE}", "ready", "ready"))
        return parts

    def entries(self, own: list[Cell], why: str = NOT_RUN) -> dict[str, Entry]:
        """The entries of one graph by column; without cells they are blank, for the reason `why`."""
        blank = Entry(status="missing", measured_notes=() if own else (why,))
        found = {
            column: time(own, Feed(THESIS_GPU, phase, self.dim)) if own else blank for column, phase in _APART.items()
        }
        for series in self.series:
            dim, known = series.dim or self.dim, replace(series, dim=None)
            has = None if label_free(series.impl) else dim
            fit = [c for c in own if self._fits(c) and c.dim == has and Series.of(c, self.searching) == known]
            for name, phase, against in self._parts(series):
                reference = time(own, replace(self.reference, dim=dim, value=against))
                queried = phase == "query"
                entry = asked(timed(fit, Feed(series.impl, phase, dim)), queried) if fit else blank
                found[name] = entry
                sound = entry.measured and reference.measured
                sound = sound and (not queried or entry.cell.query_set == reference.cell.query_set)
                status = "sampled" if "sampled" in (entry.status, reference.status) else "ok"
                ratio = Entry(reference.measured / entry.measured, status=status, cell=entry.cell) if sound else blank
                found[f"sequential / {name}"] = ratio
        return {column: found[column] for column in self.columns}

    def notes(self) -> list[str]:
        """What must be known to read the columns, and the printed ones of tables of the GPU."""
        exact = dict.fromkeys(series.impl for series in self.series if label_free(series.impl))
        what = "DFS search" if self.searching else "labeling"
        any_gpu = any(series.impl.startswith(THESIS_GPU) for series in self.series)
        notes = {
            "Two label pairs: the sequential times printed are those of tables 2.4-2.6. "
            "Positive queries are those found on the GPU.": self.searching and not self.cpu,
            "One label pair. Print counts all transfers and allocation as overhead; here uploading the graph and "
            "allocating the buffers are timed apart, in no total, and overhead has what passes between phases.":
                not self.searching,
            "Columns after the printed ones are this run's alone: sequential / X is the time of the sequential "
            f"{what}, unfiltered, over that of X with as many label pairs; filters, and label "
            "pairs other than the table's, are named.": self.series and not self.cpu,
            "Columns after the printed ones are this run's alone: sequential / X is the time of the sequential DFS "
            "search, or of its index, over that of X.": self.series and self.cpu,
            f"{' and '.join(exact)}: no label pairs and, where the closure of the core fits, no search, on one thread "
            "of the CPU unless more are named (docs/benchmark-graphs.md).": exact,
            "Device alone: by the GPU's events, for a graph that lies there; the columns before it have the host's "
            "time of the same labeling, from call to return.": self.alone,
            "From edges: all from the file's edges in memory to an index that can be asked, by the host's clock, "
            "condensing, renumbering, transfer and allocation included, over the same of sequential.": self.from_edges,
            f"From edges: {NOT_FROM_EDGES}.": any_gpu and not self.searching and not self.from_edges,
        }  # fmt: skip
        return [note for note, fits in notes.items() if fits]
