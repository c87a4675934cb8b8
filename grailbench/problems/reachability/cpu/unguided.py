"""Search without an index, the baseline of all tables: `dfs` and `bfs`."""

from functools import partial

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.graph.threads import Lender
from grailbench.problems.reachability.counters import named, with_traffic, zeros
from grailbench.problems.reachability.cpu.search import BLOCK, NO_LEVELS, answer_blocks, scratch
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer, register


class Unguided(Index):
    """No index: the DAG, and one visit stamp per vertex."""

    concurrent = True
    index_bytes = 0

    def __init__(self, dag: Dag, params: Params, breadth_first: bool):
        self.rows, self.breadth_first = (dag.offsets, dag.children, NO_LEVELS), breadth_first
        self.counts = zeros() if params.count else None
        self.scratches = Lender(partial(scratch, dag.vertices), 1)

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Searches from every source until its target is found or no vertex is left."""
        answers, whole = np.empty(sources.shape[0], np.bool_), (0, BLOCK, BLOCK)
        batch = sources, targets, answers
        with self.scratches.lent() as scratch:
            answer_blocks(whole, batch, self.rows, None, None, None, scratch, self.breadth_first, self.counts)
        return answers

    @property
    def counters(self) -> dict[str, int]:
        return with_traffic(named(self.counts), 0, 0, 0, 0) if self.counts is not None else {}

    def stored(self) -> dict[str, np.ndarray]:
        """Returns no array: the graph is all that is needed."""
        return {}


class _Search(Implementation):
    breadth_first = False
    cost = "nothing to build, a query O(n + m) at most; 8 bytes a vertex to search with"
    counts = ("queries", "searches", "vertices_expanded", "edges_scanned")

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Unguided:
        """Only allocates the stamps."""
        return Unguided(dag, params, cls.breadth_first)


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
