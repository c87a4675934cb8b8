"""Search without an index, the baseline of every table: `dfs` and `bfs`."""

from __future__ import annotations

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.reachability.counters import named, with_traffic, zeros
from grailbench.reachability.cpu.search import BLOCK, NO_LEVELS, answer_blocks, scratch
from grailbench.reachability.index import Implementation, Index, Params, Timer, register

_COST = "nothing to build, a query O(n + m) at most; 8 bytes a vertex to search with"
_COUNTS = ("queries", "searches", "vertices_expanded", "edges_scanned")


class Unguided(Index):
    """No index at all: the DAG, and one visit stamp a vertex."""

    def __init__(self, dag: Dag, params: Params, breadth_first: bool):
        self.rows, self.breadth_first = (dag.offsets, dag.children, NO_LEVELS), breadth_first
        self.counts = zeros() if params.count else None
        self.scratch = scratch(dag.vertices)

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Search from every source until its target is found or nothing is left."""
        answers, whole = np.empty(sources.shape[0], np.bool_), (0, BLOCK, BLOCK)
        batch = sources, targets, answers
        answer_blocks(whole, batch, self.rows, None, None, self.scratch, self.breadth_first, self.counts)
        return answers

    def check_labels(self, dag: Dag) -> None:
        """There are none."""

    @property
    def counters(self) -> dict[str, int]:
        """Work so far by name, and its least traffic; empty unless it was built to count."""
        return with_traffic(named(self.counts), 0, 0, 0, 0) if self.counts is not None else {}

    @property
    def index_bytes(self) -> int:
        """No index, no bytes."""
        return 0


@register
class DepthFirst(Implementation):
    """Unguided depth-first search, the thesis's 'pure DFS': no index.

    From u along children, deepest first, until v is met or nothing is left. A stamp a vertex says which query
    visited it last, so that no vertex is expanded twice and nothing is cleared between queries.
    """

    name = "dfs"
    source = "Caiazza 2019, section 2.4.2 ('pure DFS')"
    cost = _COST
    counts = _COUNTS

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Unguided:
        """Nothing to build."""
        return Unguided(dag, params, breadth_first=False)


@register
class BreadthFirst(Implementation):
    """Unguided breadth-first search: no index.

    From u along children, level by level, until v is met or nothing is left; visits are stamped as by `dfs`.
    """

    name = "bfs"
    source = "Caiazza 2019, section 2.3"
    cost = _COST
    counts = _COUNTS

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Unguided:
        """Nothing to build."""
        return Unguided(dag, params, breadth_first=True)
