"""Search without an index, the baseline of all tables: `dfs` and `bfs`."""

from functools import partial

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.graph.threads import Lender
from grailbench.problems.reachability.counters import named, with_traffic, zeros
from grailbench.problems.reachability.cpu.search import BLOCK, NO_LEVELS, answer_blocks, scratch
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer, register


class _Search(Index, Implementation):
    """No index: the DAG, and one visit stamp per vertex."""

    concurrent = rebuilt = True
    index_bytes = 0
    breadth_first = False
    cost = "nothing to build, a query O(n + m) at most; 8 bytes a vertex to search with"
    counts = ("queries", "searches", "vertices_expanded", "edges_scanned")

    def __init__(self, dag: Dag, params: Params):
        self.rows, self.counted = (dag.offsets, dag.children, NO_LEVELS), zeros() if params.count else None
        self.scratches = Lender(partial(scratch, dag.vertices), 1)

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Index:
        """Only allocates the stamps."""
        return cls(dag, params)

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Searches from every source until its target is found or no vertex is left."""
        answers, whole = np.empty(sources.shape[0], np.bool_), (0, BLOCK, BLOCK)
        batch = sources, targets, answers
        with self.scratches.lent() as scratch:
            answer_blocks(whole, batch, self.rows, None, None, None, scratch, self.breadth_first, self.counted)
        return answers

    @property
    def counters(self) -> dict[str, int]:
        return with_traffic(named(self.counted), 0, 0, 0, 0) if self.counted is not None else {}


@register
class DepthFirst(_Search):
    """Unguided depth-first search, the thesis's 'pure DFS': no index.

    From u along children, deepest first, until v is found or no vertex is left. A stamp per vertex, the number of the
    query that visited it last, spares clearing arrays.
    """

    name = "dfs"
    source = "Caiazza 2019, section 2.4.2 ('pure DFS')"


@register
class BreadthFirst(_Search):
    """Unguided breadth-first search: no index.

    From u along children, level by level, until v is found or no vertex is left; visits are stamped as in `dfs`.
    """

    name = "bfs"
    source = "Caiazza 2019, section 2.3"
    breadth_first = True
