"""Measures the positive rate (the share of pairs with a path) and the triangles of a DAG."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag, Graph
from grailbench.graph.hashing import permutation, stream

SAMPLES = 20_000
BUDGET = 1_000_000_000  # edges that may be scanned
_SAMPLE = 1 << 40  # a random stream that no generator uses: some of those would give a topological order


@dataclass(frozen=True)
class Rate:
    """The share of ordered pairs (u, v), including u = v, with a path from u to v.

    `sources` is the number of vertices from which the graph was searched; `error` is the standard error, which is 0 if
    these were all vertices.
    """

    value: float
    error: float
    sources: int


def plain_graph(dag: Dag) -> Graph:
    """A condensed graph without its super-root; edges ascend by source and target."""
    return Graph(dag.vertices - 1, *dag.edges_without_super_root())


def positive_rate(graph: Graph, samples: int = SAMPLES, budget: int = BUDGET, seed: int = 1) -> Rate:
    """Measures the positive rate of a graph, whose edges must be grouped by source, by searches from random vertices.

    The searches start from all vertices if these scan at most `budget` edges, otherwise from `samples` vertices or as
    many as the budget allows.
    """
    n = graph.vertices
    if n == 0:
        return Rate(0.0, 0.0, 0)
    offsets = _offsets(graph)
    sources = permutation(n, stream(seed, _SAMPLE))
    found, scanned = reached_from(offsets, graph.targets, sources[: min(n, 2000)], budget)
    share = budget if scanned / found.size * n <= budget else max(0, budget - scanned)
    more = sources[found.size :] if share == budget else sources[found.size : samples]
    if found.size < n:
        found = np.concatenate((found, reached_from(offsets, graph.targets, more, share)[0]))
    error = 0.0 if found.size == n else float(found.std() / np.sqrt(found.size) / n)
    return Rate(float(found.mean() / n), error, int(found.size))


def _offsets(graph: Graph) -> np.ndarray:
    """Where the row of each vertex begins, int64[n + 1]."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(graph.sources, minlength=graph.vertices))))


@njit(cache=True, nogil=True)
def reached_from(offsets, children, sources, budget, sizes=None):
    """The number of vertices that each source reaches, including itself (int64), until the budget is used up; and the
    number of edges scanned. With `sizes` (int64[n]) each vertex counts as so many."""
    n = offsets.shape[0] - 1
    stamp = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    out = np.empty(sources.shape[0], np.int64)
    scanned = 0
    for k in range(sources.shape[0]):
        if scanned > budget:
            return out[:k], scanned
        top, seen = 1, np.int64(1) if sizes is None else sizes[sources[k]]
        stack[0] = sources[k]
        stamp[sources[k]] = k
        while top > 0:
            top -= 1
            u = stack[top]
            scanned += offsets[u + 1] - offsets[u]
            for e in range(offsets[u], offsets[u + 1]):
                v = children[e]
                if stamp[v] != k:
                    stamp[v] = k
                    seen += 1 if sizes is None else sizes[v]
                    stack[top] = v
                    top += 1
        out[k] = seen
    return out, scanned


def triangles(graph: Graph) -> int:
    """The number of triples u -> v -> w with an edge u -> w. Edges must be distinct and grouped by source."""
    return int(_triangles(_offsets(graph), graph.targets))


@njit(cache=True, nogil=True)
def _triangles(offsets, children):
    n = offsets.shape[0] - 1
    mark = np.full(n, -1, np.int32)
    found = 0
    for u in range(n):
        if offsets[u + 1] - offsets[u] < 2:
            continue
        for e in range(offsets[u], offsets[u + 1]):
            mark[children[e]] = u
        for e in range(offsets[u], offsets[u + 1]):
            v = children[e]
            for f in range(offsets[v], offsets[v + 1]):
                found += mark[children[f]] == u
    return found
