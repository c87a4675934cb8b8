"""Condenses a graph into the DAG that indexes are built from.

Kahn's algorithm gives the levels and shows whether the graph is acyclic; strong components are computed only if it is
not, of what it leaves. Duplicate edges and self-loops are dropped, and a super-root with an edge to every root is
added, as in the thesis (section 2.4.1).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from grailbench.graph import kahn, rows
from grailbench.graph.components import strong_components
from grailbench.graph.csr import VERTEX, Dag, Graph
from grailbench.graph.team import Team

_EDGES_PER_THREAD = 1 << 18  #: at least this many edges justify one more thread


def condense(graph: Graph, threads: int = 1) -> Dag:
    """Condenses a graph; see `Dag` for the result, whose CSR of parents is not computed yet.

    `threads` is the most that work on it: each has at least 262,144 edges, and strong components are one thread's. The
    result does not depend on it.
    """
    with Team(_useful(threads, graph)) as team:
        n, sources, targets = graph.vertices, graph.sources, graph.targets
        offsets, children, loops = rows.sorted_rows(n, sources, targets, team)
        component = np.arange(n, dtype=VERTEX)
        covered, *arrays = _rooted(offsets, children, team)
        if not covered:
            n, component = strong_components(offsets[:-1], children[: offsets[-2]], arrays[2])
            sources, targets = _between(component, sources, targets, team)
            offsets, children, _ = rows.sorted_rows(n, sources, targets, team)
            loops = graph.edges - sources.shape[0]
            covered, *arrays = _rooted(offsets, children, team)
            if not covered:
                raise RuntimeError("the condensation that was made here has a cycle")
    kept = int(offsets[-2])
    return Dag(*arrays, component, int(graph.edges - loops - kept), int(loops))


def _useful(threads: int, graph: Graph) -> int:
    return max(1, min(threads, graph.edges // _EDGES_PER_THREAD))


def rooted(offsets: np.ndarray, inner: np.ndarray) -> Dag:
    """The `Dag` of a CSR (int64[n + 1], int32[m]) that is acyclic, with strictly ascending rows; ids are kept."""
    n, m = offsets.shape[0] - 1, inner.shape[0]
    wider, children = np.empty(n + 2, np.int64), np.empty(n + m, VERTEX)
    wider[:-1], children[:m] = offsets, inner
    with Team(1) as team:
        covered, *arrays = _rooted(wider, children, team)
    if not covered:
        raise ValueError("the rows have a cycle")
    return Dag(*arrays, np.arange(n, dtype=VERTEX))


def simple_rows(graph: Graph, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The CSR (int64[n + 1], int32[k]) of a raw graph without duplicates and self-loops; rows ascend."""
    with Team(_useful(threads, graph)) as team:
        offsets, children, _ = rows.sorted_rows(graph.vertices, graph.sources, graph.targets, team)
    return offsets[:-1], children[: offsets[-2]]


def _between(component: np.ndarray, sources: np.ndarray, targets: np.ndarray, team: Team):
    """The components at both ends of each edge, of edges between different ones: two int32[k]."""
    found = np.empty((2, sources.shape[0]), VERTEX)
    cuts = team.cuts(sources.shape[0], _EDGES_PER_THREAD)
    ends = team.each(partial(_find_between, component, sources, targets, *found), cuts[:-1], cuts[1:])
    return [np.concatenate([side[lo:end] for lo, end in zip(cuts, ends, strict=False)]) for side in found]


@njit(cache=True, nogil=True)
def _find_between(component, sources, targets, found_sources, found_targets, lo, hi):
    at = lo
    for k in range(lo, hi):
        found_sources[at], found_targets[at] = component[sources[k]], component[targets[k]]
        at += found_sources[at] != found_targets[at]
    return at


def load_kernels() -> None:
    """Compiles or loads every kernel of condensing, so that no later measurement includes that time."""
    rows.load_kernels()
    kahn.load_kernels()
    condense(Graph(3, np.array([0, 1, 1], VERTEX), np.array([1, 2, 0], VERTEX)))


def _rooted(offsets, children, team):
    """Adds a super-root to a CSR that has room for it (`sorted_rows`), and walks it.

    Returns (covered, offsets int64[n + 2], children int32[m'], levels int32[n + 1], order int32[n + 1]). If `covered`
    is False, the graph has a cycle, the CSR is as it was, and levels and order are as of `kahn`.
    """
    n, m = offsets.shape[0] - 2, int(offsets[-2])
    found, levels, order = kahn.kahn(n, offsets[:-1], children[:m], team)
    if found < n + 1:
        return False, offsets, children, levels, order
    roots = _roots(levels, order)
    offsets[n + 1] = m + roots
    children[m : m + roots] = order[1 : 1 + roots]
    children.resize(m + roots, refcheck=False)
    return True, offsets, children, levels, order


@njit(cache=True)
def _roots(levels, order):
    """The number of vertices of level 1."""
    roots = 0
    while 1 + roots < order.shape[0] and levels[order[1 + roots]] == 1:
        roots += 1
    return roots
