"""Which cell of a run fills which column of a printed table."""

from __future__ import annotations

from dataclasses import dataclass

from grailbench.runs import axes
from grailbench.runs.cells import Cell, Stats

#: the implementation whose columns tables 6.1-6.6 print
THESIS_GPU = "gpu"


@dataclass(frozen=True)
class Feed:
    """Which cell fills a printed column: implementation, label pairs, search (None: any), and its value.

    `value` is a phase, whose mean is shown as the thesis shows it ('query', or 'query/cpu_filter' for one within),
    'positives', or 'counter/NAME'.
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
            and (cell.devices or 1) == 1
            and cell.random
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
        """The count that `value` names; None when it names a phase, or the cell has not counted."""
        if self.value == "positives":
            return cell.positives
        kind, _, name = self.value.partition("/")
        return (cell.counters or {}).get(name) if kind == "counter" else None

    @property
    def counts(self) -> bool:
        """True when the value is a count and no time."""
        return self.value == "positives" or self.value.startswith("counter/")

    def __str__(self) -> str:
        parts = (self.impl, self.dim and f"d={self.dim}", self.search)
        return " ".join(part for part in parts if part)


#: the columns of tables 2.4-2.6; the thesis shows two label pairs
CPU = {
    "Positive Queries": Feed("sequential", "positives", 2, "dfs"),
    "Pure DFS": Feed("dfs", "query"),
    "Index CT": Feed("sequential", "label", 2),
    "Sequential DFS": Feed("sequential", "query", 2, "dfs"),
    "Parallel DFS": Feed("parallel", "query", 2, "dfs"),
    "Sequential BFS": Feed("sequential", "query", 2, "bfs"),
    "Parallel BFS": Feed("parallel", "query", 2, "bfs"),
}
#: the phases of the thesis's labeling as its tables and rows call them, in order
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
#: the columns of tables 6.4-6.6: two label pairs, as their sequential times are those of tables 2.4-2.6
GPU_SEARCH = {
    "CPU Filter": Feed(THESIS_GPU, "query/cpu_filter", 2),
    "GPU Search": Feed(THESIS_GPU, "query/gpu_search", 2),
    "Queries on GPU": Feed(THESIS_GPU, "counter/queries_on_gpu", 2),
    "Positive Queries": Feed(THESIS_GPU, "counter/positives", 2),
    "Sequential DFS": Feed("sequential", "query", 2, "dfs"),
    "Sequential BFS": Feed("sequential", "query", 2, "bfs"),
}
FEEDS = {
    **dict.fromkeys(("2.4", "2.5", "2.6"), CPU),
    **dict.fromkeys(("6.1", "6.2", "6.3"), GPU_LABELS),
    **dict.fromkeys(("6.4", "6.5", "6.6"), GPU_SEARCH),
}


@dataclass(frozen=True)
class Series:
    """An implementation that print does not have, as columns beside print: its name, and what tells it from others.

    Its filters are part of it: no two indexes are taken for one. `dim` is None where it has the table's label pairs.
    """

    impl: str
    filters: str = ""
    search: str | None = None
    threads: int = 0
    devices: int = 1
    dim: int | None = None

    @classmethod
    def of(cls, cell: Cell, searching: bool) -> Series:
        """The series of a cell; labels do not depend on the search."""
        return cls(cell.impl, cell.filters, cell.search if searching else None, cell.threads, cell.devices or 1)

    @property
    def name(self) -> str:
        """'parallel dfs, 16 threads', 'gpu-fused level,tree'."""
        return axes.label(self.impl, vars(self), between=", ")
