"""What a DAG's reachability looks like: the share of pairs with a path, and its triangles, by unguided counting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag, Graph
from grailbench.graph.hashing import permutation, stream

SAMPLES = 20_000
BUDGET = 1_000_000_000  # edges scanned
_SAMPLE = 1 << 40  # a stream no generator draws from: theirs would give the vertices in topological order


@dataclass(frozen=True)
class Rate:
    """The share of ordered pairs (u, v), u = v among them, with a path from u to v.

    `error` is its standard error: 0 when all vertices were searched from, and `sources` is how many were.
    """

    value: float
    error: float
    sources: int


def plain_graph(dag: Dag) -> Graph:
    """A condensed graph without its super-root, edges ascending by source, then target."""
    return Graph(dag.vertices - 1, *dag.edges_without_super_root())


def positive_rate(graph: Graph, samples: int = SAMPLES, budget: int = BUDGET, seed: int = 1) -> Rate:
    """Measure the positive rate of a graph whose edges are grouped by source, by search from random vertices.

    All vertices are searched from when that scans at most `budget` edges; otherwise `samples` of them, or as many as
    the budget allows.
    """
    n = graph.vertices
    if n == 0:
        return Rate(0.0, 0.0, 0)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(graph.sources, minlength=n))))
    sources = permutation(n, stream(seed, _SAMPLE))
    found, scanned = _descendants(offsets, graph.targets, sources[: min(n, 2000)], budget)
    share = budget if scanned / found.size * n <= budget else max(0, budget - scanned)
    more = sources[found.size :] if share == budget else sources[found.size : samples]
    if found.size < n:
        found = np.concatenate((found, _descendants(offsets, graph.targets, more, share)[0]))
    error = 0.0 if found.size == n else float(found.std() / np.sqrt(found.size) / n)
    return Rate(float(found.mean() / n), error, int(found.size))


@njit(cache=True, nogil=True)
def _descendants(offsets, children, sources, budget):
    """Vertices reached from each source, itself among them (int64), up to where the budget ended; edges scanned."""
    n = offsets.shape[0] - 1
    stamp = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    out = np.empty(sources.shape[0], np.int64)
    scanned = 0
    for k in range(sources.shape[0]):
        if scanned > budget:
            return out[:k], scanned
        top, seen = 1, 1
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
                    seen += 1
                    stack[top] = v
                    top += 1
        out[k] = seen
    return out, scanned


def triangles(graph: Graph) -> int:
    """Triples u -> v -> w with an edge u -> w. The graph's edges are grouped by source, none twice."""
    n = graph.vertices
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(graph.sources, minlength=n))))
    return int(_triangles(offsets, graph.targets))


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
