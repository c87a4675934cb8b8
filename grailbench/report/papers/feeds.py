"""Which cells of a run fill which columns of the printed tables, and which cells share a column of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grailbench.harness import axes
from grailbench.harness.cells import Cell, Stats
from grailbench.problems import contract

#: the implementation that fills the printed columns of tables 6.1-6.6
THESIS_GPU = "gpu"
#: axes on which a printed column takes any value unless its feed names one
_FREE = ("dim", "search", "threads", "order")


def label_free(impl: str) -> bool:
    """True for an implementation that answers without label pairs, and has columns in tables of searches."""
    known = contract.registered(impl, contract.USUAL)
    return known is not None and known.label_free


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
