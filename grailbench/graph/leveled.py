"""A DAG renumbered by level: what machines that work level by level read.

Vertex x of it is `vertex[x]` of the DAG, at place x of `Dag.order`: levels are contiguous and ascend, the super-root
is 0. An edge is *deep* when it leads one level down; every vertex but the super-root has one, from a deepest parent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag, transpose


class Leveled(NamedTuple):
    """Edges by source, each row in the order of the DAG's row.

    vertex         int32[n]          the DAG's id of each vertex
    rank           int32[n]          its inverse
    level_starts   int32[depth + 1]  where the levels begin
    starts         int64[n + 1]      rows of `targets`
    sources        int32[m]          the source of each edge
    targets        int32[m]
    deep_starts    int64[n + 1]      rows of the deep edges
    deep_sources   int32[md]
    deep_targets   int32[md]
    """

    vertex: np.ndarray
    rank: np.ndarray
    level_starts: np.ndarray
    starts: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    deep_starts: np.ndarray
    deep_sources: np.ndarray
    deep_targets: np.ndarray

    def parents(self) -> tuple[np.ndarray, np.ndarray]:
        """int64[n + 1], int32[m]: the rows of parents, each ascending, so that the deepest come last."""
        return transpose(self.starts, self.targets)


def by_level(dag: Dag) -> Leveled:
    """Renumber a DAG by level."""
    counts = np.bincount(dag.levels, minlength=dag.depth)
    level_starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    rank = np.empty(dag.vertices, np.int32)
    rank[dag.order] = np.arange(dag.vertices, dtype=np.int32)
    starts, deep_starts = _row_starts(dag.offsets, dag.children, dag.levels, dag.order)
    rest = _rows(dag.offsets, dag.children, dag.levels, dag.order, rank, starts, deep_starts)
    sources, targets, deep_sources, deep_targets = rest
    return Leveled(
        dag.order, rank, level_starts, starts, sources, targets, deep_starts, deep_sources, deep_targets
    )


@njit(cache=True, nogil=True)
def _row_starts(offsets, children, levels, order):
    n = order.shape[0]
    starts, deep_starts = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    edges, deep = np.int64(0), np.int64(0)
    for x in range(n):
        starts[x], deep_starts[x] = edges, deep
        u = order[x]
        edges += offsets[u + 1] - offsets[u]
        for k in range(offsets[u], offsets[u + 1]):
            deep += levels[children[k]] == levels[u] + 1
    starts[n], deep_starts[n] = edges, deep
    return starts, deep_starts


@njit(cache=True, nogil=True)
def _rows(offsets, children, levels, order, rank, starts, deep_starts):
    n, m, deep = order.shape[0], starts[-1], deep_starts[-1]
    sources, targets = np.empty(m, np.int32), np.empty(m, np.int32)
    deep_sources, deep_targets = np.empty(deep, np.int32), np.empty(deep, np.int32)
    at, deep_at = 0, 0
    for x in range(n):
        u = order[x]
        for k in range(offsets[u], offsets[u + 1]):
            y = rank[children[k]]
            sources[at], targets[at] = x, y
            at += 1
            if levels[children[k]] == levels[u] + 1:
                deep_sources[deep_at], deep_targets[deep_at] = x, y
                deep_at += 1
    return sources, targets, deep_sources, deep_targets
