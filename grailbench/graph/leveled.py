"""A DAG renumbered by level: what machines that work level by level read.

Vertex x of it is `vertex[x]` of the DAG, at place x of `Dag.order`: levels are contiguous and ascend, the super-root
is 0. An edge is *deep* when it leads one level down; every vertex but the super-root has one, from a deepest parent.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag, transpose

_SMALL = 200_000  #: edges below which threads cost more than they give


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


def by_level(dag: Dag, workers: int | None = None) -> Leveled:
    """Renumber a DAG by level, on so many threads; None: as many as there are cores, one for a small graph."""
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if dag.edges > _SMALL else 1
    n, order = dag.vertices, dag.order
    counts = np.bincount(dag.levels, minlength=dag.depth)
    level_starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    rank = np.empty(n, np.int32)
    rank[order] = np.arange(n, dtype=np.int32)
    starts = _starts(np.diff(dag.offsets)[order])
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], workers + 1))  # parts of about as many edges each
    cuts[0], cuts[-1] = 0, n
    deep_counts = np.empty(n, np.int64)
    sources, targets = np.empty(dag.edges, np.int32), np.empty(dag.edges, np.int32)
    rows = dag.offsets, dag.children, dag.levels, order
    with ThreadPoolExecutor(workers) as threads:
        share_out = threads.map if workers > 1 else map  # a thread that is never asked for is never started
        list(share_out(partial(_count_deep, *rows, deep_counts), cuts[:-1], cuts[1:]))
        deep_starts = _starts(deep_counts)
        deep_sources, deep_targets = (np.empty(deep_starts[-1], np.int32) for _ in range(2))
        made = starts, sources, targets, deep_starts, deep_sources, deep_targets
        list(share_out(partial(_fill, *rows, rank, *made), cuts[:-1], cuts[1:]))
    return Leveled(order, rank, level_starts, *made)


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


@njit(cache=True, nogil=True)
def _count_deep(offsets, children, levels, order, deep_counts, begin, end):
    for x in range(begin, end):
        u = order[x]
        deep = 0
        for k in range(offsets[u], offsets[u + 1]):
            deep += levels[children[k]] == levels[u] + 1
        deep_counts[x] = deep


@njit(cache=True, nogil=True)
def _fill(
    offsets, children, levels, order, rank,
    starts, sources, targets, deep_starts, deep_sources, deep_targets, begin, end,
):  # fmt: skip
    for x in range(begin, end):
        u = order[x]
        at, deep_at = starts[x], deep_starts[x]
        for k in range(offsets[u], offsets[u + 1]):
            y = rank[children[k]]
            sources[at], targets[at] = x, y
            at += 1
            if levels[children[k]] == levels[u] + 1:
                deep_sources[deep_at], deep_targets[deep_at] = x, y
                deep_at += 1
