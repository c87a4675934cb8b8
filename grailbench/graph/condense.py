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
from grailbench.graph.csr import VERTEX, Dag, Graph
from grailbench.graph.instructions import prefetch
from grailbench.graph.threads import ThreadPool

_EDGES_PER_THREAD = 1 << 18  #: at least this many edges justify one more thread


def condense(graph: Graph, threads: int = 1) -> Dag:
    """Condenses a graph; see `Dag` for the result, whose CSR of parents is not computed yet.

    `threads` is the most that work on it: each has at least 262,144 edges, and strong components are one thread's. The
    result does not depend on it.
    """
    with ThreadPool(_useful(threads, graph)) as pool:
        n, sources, targets = graph.vertices, graph.sources, graph.targets
        offsets, children, loops = rows.sorted_rows(n, sources, targets, pool)
        component = np.arange(n, dtype=VERTEX)
        covered, *arrays = _rooted(offsets, children, pool)
        if not covered:
            n, component = strong_components(offsets[:-1], children[: offsets[-2]], arrays[2])
            sources, targets = _between(component, sources, targets, pool)
            offsets, children, _ = rows.sorted_rows(n, sources, targets, pool)
            loops = graph.edges - sources.shape[0]
            covered, *arrays = _rooted(offsets, children, pool)
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
    with ThreadPool(1) as pool:
        covered, *arrays = _rooted(wider, children, pool)
    if not covered:
        raise ValueError("the rows have a cycle")
    return Dag(*arrays, np.arange(n, dtype=VERTEX))


def simple_rows(graph: Graph, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The CSR (int64[n + 1], int32[k]) of a raw graph without duplicates and self-loops; rows ascend."""
    with ThreadPool(_useful(threads, graph)) as pool:
        offsets, children, _ = rows.sorted_rows(graph.vertices, graph.sources, graph.targets, pool)
    return offsets[:-1], children[: offsets[-2]]


def _between(component: np.ndarray, sources: np.ndarray, targets: np.ndarray, pool: ThreadPool):
    """The components at both ends of each edge, of edges between different ones: two int32[k]."""
    found = np.empty((2, sources.shape[0]), VERTEX)
    cuts = pool.cuts(sources.shape[0], _EDGES_PER_THREAD)
    ends = pool.each(partial(_find_between, component, sources, targets, *found), cuts[:-1], cuts[1:])
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


def _rooted(offsets, children, pool):
    """Adds a super-root to a CSR that has room for it (`sorted_rows`), and walks it.

    Returns (covered, offsets int64[n + 2], children int32[m'], levels int32[n + 1], order int32[n + 1]). If `covered`
    is False, the graph has a cycle, the CSR is as it was, and levels and order are as of `kahn`.
    """
    n, m = offsets.shape[0] - 2, int(offsets[-2])
    found, levels, order = kahn.kahn(n, offsets[:-1], children[:m], pool)
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


# ---------------------------------------------------------------------------------------- strong components, by Tarjan


_FEW = 16  #: children of a vertex that are asked for when it is entered
_DONE = np.iinfo(np.int32).max


def strong_components(offsets: np.ndarray, children: np.ndarray, levels: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strong components of a CSR (int64[n + 1], int32[m]), and the component of each vertex (int32[n]),
    numbered by least vertex. levels: as of `kahn`; a vertex that it took is a component, and is not searched from."""
    components, found = _ended(offsets, children, levels)
    _renumber_by_first(found, components)
    return components, found


def ordered_components(offsets: np.ndarray, children: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strong components of a CSR (int64[n + 1], int32[m]), and the component of each vertex (int32[n]),
    numbered in topological order: every edge stays in its component or leads to a later one."""
    components, found = _ended(offsets, children, np.full(offsets.shape[0] - 1, -1, np.int32))
    return components, np.int32(components - 1) - found


def _ended(offsets, children, levels):
    """The number of components, and the component of each vertex (int32[n]), numbered as they end."""
    n = offsets.shape[0] - 1
    least, found = np.zeros(n, np.int32), np.empty(n, np.int32)
    undecided, path, numbers = np.empty((3, n), np.int32)
    return _tarjan(offsets, children, levels, least, found, undecided, path, numbers, np.empty(n, np.int64)), found


@njit(cache=True, nogil=True)
def _tarjan(offsets, children, levels, least, found, undecided, path, numbers, places):
    """Sets the component of each vertex, numbered as they end, and returns how many there are.

    least[v]: 0 before v is entered, then the least number of a vertex on the path that is known to be reached from v,
    and _DONE when its component has ended. The path has a vertex, the number it got and its next edge at each depth.
    """
    components, entered, left = 0, np.int32(0), 0
    for root in range(least.shape[0]):
        if levels[root] >= 0:
            least[root], found[root] = _DONE, components
            components += 1
        if least[root] != 0:
            continue
        depth, path[0], new = 0, root, True
        while depth >= 0:
            u = path[depth]
            if new:
                entered += 1
                least[u] = numbers[depth] = entered
                undecided[left] = u
                left += 1
                places[depth] = offsets[u]
                for k in range(offsets[u], min(offsets[u + 1], offsets[u] + _FEW)):
                    prefetch(least, children[k])
                    prefetch(offsets, children[k])
            new, lowest, k = False, least[u], places[depth]
            while k < offsets[u + 1]:
                v = children[k]
                if least[v] == 0:
                    new = True
                    break
                lowest = min(lowest, least[v])
                k += 1
            least[u] = lowest
            if new:
                places[depth] = k  # the edge is looked at again when the path is back
                depth += 1
                path[depth] = children[k]
                continue
            if lowest == numbers[depth]:
                v = np.int32(-1)
                while v != u:
                    left -= 1
                    v = undecided[left]
                    least[v], found[v] = _DONE, components
                components += 1
            depth -= 1
    return components


@njit(cache=True)
def _renumber_by_first(found, components):
    number = np.full(components, -1, np.int32)
    known = 0
    for v in range(found.shape[0]):
        if number[found[v]] < 0:
            number[found[v]] = known
            known += 1
        found[v] = number[found[v]]
