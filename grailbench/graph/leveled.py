"""A DAG renumbered by level, for algorithms that work level by level.

Vertex x is `vertex[x]` of the DAG, where `vertex` is `Dag.order`: levels are contiguous and ascend, and the super-root
is vertex 0. An edge is *deep* if it leads to the next level; every vertex except the super-root has a deep parent.
"""

from collections import namedtuple

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.graph.rows import transpose
from grailbench.util.compiled import njit

_FIELDS = "vertex rank level_starts starts sources targets deep_starts deep_sources deep_targets"


class Leveled(namedtuple("Leveled", _FIELDS)):
    """The renumbered graph; edges are ordered by source, and each row has the order of the row in the DAG.

    vertex         int32[n]          the id of each vertex in the DAG
    rank           int32[n]          the inverse of `vertex`
    level_starts   int32[depth + 1]  the first vertex of each level
    starts         int64[n + 1]      where the rows of `targets` begin
    sources        int32[m]          the source of each edge
    targets        int32[m]          the target of each edge
    deep_starts, deep_sources, deep_targets
                   int64[n + 1], int32[md], int32[md]: the same for the deep edges only
    """

    def parents(self) -> tuple[np.ndarray, np.ndarray]:
        """The CSR of parents (int64[n + 1], int32[m]) with ascending rows, so the deepest parents come last."""
        return transpose(self.starts, self.targets)


def by_level(dag: Dag) -> Leveled:
    """Renumbers a DAG by level."""
    return Leveled(dag.order, *_by_level(dag.offsets, dag.children, dag.levels, dag.order, dag.depth))


@njit(cache=True, nogil=True)
def _by_level(offsets, children, levels, order, depth):
    """Returns the fields of `Leveled` after the first."""
    n, m = order.shape[0], children.shape[0]
    rank, level_starts = np.empty(n, np.int32), np.zeros(depth + 1, np.int32)
    for x in range(n):
        rank[order[x]] = x
        level_starts[levels[x] + 1] += 1
    for level in range(depth):
        level_starts[level + 1] += level_starts[level]
    starts, deep_starts = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    sources, targets = np.empty(m, np.int32), np.empty(m, np.int32)
    deep_sources, deep_targets = np.empty(m, np.int32), np.empty(m, np.int32)
    at = deep = 0
    for level in range(depth):
        below = level_starts[level + 2] if level + 2 <= depth else 0
        for x in range(level_starts[level], level_starts[level + 1]):
            for k in range(offsets[order[x]], offsets[order[x] + 1]):
                y = rank[children[k]]
                sources[at], targets[at] = x, y
                at += 1
                if y < below:
                    deep_sources[deep], deep_targets[deep] = x, y
                    deep += 1
            starts[x + 1], deep_starts[x + 1] = at, deep
    deep_sources, deep_targets = deep_sources[:deep].copy(), deep_targets[:deep].copy()
    return rank, level_starts, starts, sources, targets, deep_starts, deep_sources, deep_targets
