"""A DAG renumbered by level, for algorithms that work level by level.

Vertex x is `vertex[x]` of the DAG, where `vertex` is `Dag.order`: levels are contiguous and ascend, and the super-root
is vertex 0. An edge is *deep* if it leads to the next level; every vertex except the super-root has a deep parent.
"""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag, transpose
from grailbench.graph.threads import ThreadPool

_SMALL = 200_000  #: with fewer edges, several threads are slower than one
_MANY = 6  #: with fewer threads, one thread is faster than several that each read all edges and use only their part


class Leveled(NamedTuple):
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

    vertex: np.ndarray
    rank: np.ndarray
    level_starts: np.ndarray
    starts: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    deep_starts: np.ndarray
    deep_sources: np.ndarray
    deep_targets: np.ndarray

    def parents(self, workers: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The CSR of parents (int64[n + 1], int32[m]) with ascending rows, so the deepest parents come last.

        `workers` is the number of threads, as in `by_level`; with few of them only one is used.
        """
        n, workers = self.vertex.shape[0], _workers(self.sources.shape[0], workers)
        if workers < _MANY:
            return transpose(self.starts, self.targets)
        counts = np.zeros(n, np.int64)
        with ThreadPool(workers) as pool:
            cuts = pool.cuts(n, 1)
            pool.each(partial(_count_targets, self.targets, counts), cuts[:-1], cuts[1:])
            starts = _starts(counts)
            counts[:] = starts[:-1]
            found = np.empty(self.sources.shape[0], np.int32)
            cuts = pool.even_cuts(starts[1:], 1)
            pool.each(partial(_sources_of, self.sources, self.targets, counts, found), cuts[:-1], cuts[1:])
        return starts, found


def by_level(dag: Dag, workers: int | None = None) -> Leveled:
    """Renumbers a DAG by level with `workers` threads; None stands for all cores, or one thread for a small graph."""
    workers = _workers(dag.edges, workers)
    if workers == 1:
        return Leveled(dag.order, *_by_level(dag.offsets, dag.children, dag.levels, dag.order, dag.depth))
    n, order = dag.vertices, dag.order
    level_starts = _starts(np.bincount(dag.levels, minlength=dag.depth)).astype(np.int32)
    rank, degrees, deep_counts = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)
    sources, targets = np.empty(dag.edges, np.int32), np.empty(dag.edges, np.int32)
    with ThreadPool(workers) as pool:
        cuts = pool.cuts(n, 1)
        pool.each(partial(_rank, dag.offsets, order, rank, degrees), cuts[:-1], cuts[1:])
        starts = _starts(degrees)
        cuts = pool.even_cuts(starts[1:], 1)
        rows = dag.offsets, dag.children, order, rank, level_starts, starts
        pool.each(partial(_renumber, *rows, sources, targets, deep_counts), cuts[:-1], cuts[1:])
        deep_starts = _starts(deep_counts)
        deep_sources, deep_targets = (np.empty(deep_starts[-1], np.int32) for _ in range(2))
        deep = starts, targets, level_starts, deep_starts, deep_sources, deep_targets
        pool.each(partial(_keep_deep, *deep), cuts[:-1], cuts[1:])
    return Leveled(order, rank, level_starts, starts, sources, targets, deep_starts, deep_sources, deep_targets)


@njit(cache=True, nogil=True)
def _by_level(offsets, children, levels, order, depth):
    """Returns the fields of `Leveled` after the first, by the same steps in one call: a small graph is done sooner."""
    n, m = order.shape[0], children.shape[0]
    level_starts = np.zeros(depth + 1, np.int32)
    for v in range(n):
        level_starts[levels[v] + 1] += 1
    for level in range(depth):
        level_starts[level + 1] += level_starts[level]
    rank, starts, deep_starts = np.empty(n, np.int32), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    _rank(offsets, order, rank, starts[1:], 0, n)
    for x in range(n):
        starts[x + 1] += starts[x]
    sources, targets = np.empty(m, np.int32), np.empty(m, np.int32)
    _renumber(offsets, children, order, rank, level_starts, starts, sources, targets, deep_starts[1:], 0, n)
    for x in range(n):
        deep_starts[x + 1] += deep_starts[x]
    deep_sources, deep_targets = np.empty(deep_starts[n], np.int32), np.empty(deep_starts[n], np.int32)
    _keep_deep(starts, targets, level_starts, deep_starts, deep_sources, deep_targets, 0, n)
    return rank, level_starts, starts, sources, targets, deep_starts, deep_sources, deep_targets


def _workers(edges: int, workers: int | None) -> int:
    if workers is not None:
        return workers
    return len(os.sched_getaffinity(0)) if edges > _SMALL else 1


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


@njit(cache=True, nogil=True)
def _rank(offsets, order, rank, degrees, begin, end):
    for x in range(begin, end):
        rank[order[x]] = x
        degrees[x] = offsets[order[x] + 1] - offsets[order[x]]


@njit(cache=True, nogil=True)
def _renumber(offsets, children, order, rank, level_starts, starts, sources, targets, deep_counts, begin, end):
    """Renumbers the edges of the rows begin to end - 1 and counts the deep ones of each row."""
    level = np.searchsorted(level_starts, begin, "right") - 1
    for x in range(begin, end):
        while x >= level_starts[level + 1]:
            level += 1
        below = _end_of_next(level_starts, level)
        u, at, deep = order[x], starts[x], 0
        for k in range(offsets[u], offsets[u + 1]):
            y = rank[children[k]]
            sources[at], targets[at] = x, y
            deep += y < below
            at += 1
        deep_counts[x] = deep


@njit(cache=True, nogil=True)
def _keep_deep(starts, targets, level_starts, deep_starts, deep_sources, deep_targets, begin, end):
    level = np.searchsorted(level_starts, begin, "right") - 1
    for x in range(begin, end):
        while x >= level_starts[level + 1]:
            level += 1
        below, at = _end_of_next(level_starts, level), deep_starts[x]
        for k in range(starts[x], starts[x + 1]):
            if targets[k] < below:
                deep_sources[at], deep_targets[at] = x, targets[k]
                at += 1


@njit(cache=True, nogil=True)
def _end_of_next(level_starts, level):
    """The end of the level after `level`; 0 if `level` is the last one."""
    return level_starts[level + 2] if level + 2 < level_starts.shape[0] else 0


@njit(cache=True, nogil=True)
def _count_targets(targets, counts, low, high):
    """Counts the edges to each vertex in [low, high). Every thread reads all edges and counts those of its range."""
    for k in range(targets.shape[0]):
        if low <= targets[k] < high:
            counts[targets[k]] += 1


@njit(cache=True, nogil=True)
def _sources_of(sources, targets, at, found, low, high):
    """Fills the rows of parents of the vertices in [low, high). at[v] is the start of row v and becomes its end."""
    for k in range(targets.shape[0]):
        v = targets[k]
        if low <= v < high:
            found[at[v]] = sources[k]
            at[v] += 1
