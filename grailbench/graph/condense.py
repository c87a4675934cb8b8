"""Condenses a graph into the DAG that indexes are built from.

Kahn's algorithm gives the levels and shows whether the graph is acyclic; strong components (scipy) are computed only
if it is not. Duplicate edges and self-loops are dropped, and a super-root with an edge to every root is added, as in
the thesis (section 2.4.1).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from grailbench.graph.csr import VERTEX, Dag, Graph

_EDGES_PER_THREAD = 1 << 20  #: at least this many edges justify one more thread
_LARGE = 1 << 20  #: from this many edges, sorting each row is faster than a bucket sort, which exceeds the cache
_LONG = 4096  #: longer rows are sorted by numpy, because numba's quicksort is quadratic on some inputs


def condense(graph: Graph, threads: int = 1) -> Dag:
    """Condenses a graph; see `Dag` for the result, whose CSR of parents is not computed yet.

    `threads` is used only to sort the rows of large graphs whose edges are grouped by source.
    """
    component = np.arange(graph.vertices, dtype=VERTEX)
    covered, loops, *arrays = _rooted_dag(graph.vertices, graph.sources, graph.targets, threads)
    if not covered:
        components, component = _strong_components(graph.vertices, graph.sources, graph.targets)
        covered, loops, *arrays = _rooted_dag(components, component[graph.sources], component[graph.targets], threads)
        assert covered, "a condensation is acyclic"
    offsets, children, levels, order = arrays
    kept = children.shape[0] - (offsets[-1] - offsets[-2])
    return Dag(offsets, children, levels, order, component, int(graph.edges - loops - kept), int(loops))


def rooted(offsets: np.ndarray, rows: np.ndarray) -> Dag:
    """The `Dag` of a CSR (int64[n + 1], int32[m]) that is acyclic, with strictly ascending rows; ids are kept.

    The arrays are copied: NumPy asks for huge pages where kernels do not, and searches, which read them at random, take
    a third longer without.
    """
    n = offsets.shape[0] - 1
    covered, *arrays = _rooted(n, offsets, rows)
    assert covered, "the rows are acyclic"
    return Dag(*(array.copy() for array in arrays), np.arange(n, dtype=VERTEX))


def simple_rows(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The CSR (int64[n + 1], int32[k]) of a raw graph without duplicates and self-loops; rows ascend."""
    return _sorted_rows(graph.vertices, graph.sources, graph.targets)[:2]


def _strong_components(n: int, sources: np.ndarray, targets: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strong components, and the component of each vertex (int32[n]), numbered by least vertex."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    offsets, children, _ = _sorted_rows(n, sources, targets)
    adjacency = csr_array((np.ones(children.shape[0], np.int8), children, offsets), shape=(n, n))
    components, found = connected_components(adjacency, directed=True, connection="strong")
    return components, _renumber_by_first(found.astype(VERTEX, copy=False), components)


@njit(cache=True)
def _renumber_by_first(found, components):
    number = np.full(components, -1, np.int32)
    component = np.empty_like(found)
    known = 0
    for v in range(found.shape[0]):
        if number[found[v]] < 0:
            number[found[v]] = known
            known += 1
        component[v] = number[found[v]]
    return component


def load_kernels() -> None:
    """Compiles or loads every kernel of this module and scipy, so that no later measurement includes that time."""
    ends = np.array([0, 0, 0, 1, 1], VERTEX), np.array([2, 1, 1, 2, 0], VERTEX)
    condense(Graph(3, *ends))
    _sorted_rows(3, *ends, large=0)


def _sorted_rows(n, sources, targets, threads=1, large=_LARGE):
    """The CSR (int64[n + 1], int32[k]) of the edges with strictly ascending rows, and the number of self-loops.

    Duplicates and self-loops are dropped.
    """
    offsets, loops, in_order, grouped = _counted(n, sources, targets)
    if in_order and loops == 0:
        return offsets, targets.copy(), loops
    if not grouped or targets.shape[0] < large:
        return *_sort_and_drop(n, sources, targets, offsets), loops
    rows, kept = targets.copy(), np.empty(n, np.int64)
    for u in np.flatnonzero(np.diff(offsets) > _LONG):
        rows[offsets[u] : offsets[u + 1]].sort()
    shares = min(threads, 1 + rows.shape[0] // _EDGES_PER_THREAD)
    if shares == 1:
        _sort_rows(offsets, rows, kept, _LONG, 0, n)
    else:
        ends = [0, *np.searchsorted(offsets, np.arange(1, 4 * shares) * (rows.shape[0] // (4 * shares))).tolist(), n]
        with ThreadPoolExecutor(shares) as pool:
            list(pool.map(lambda lo, hi: _sort_rows(offsets, rows, kept, _LONG, lo, hi), ends[:-1], ends[1:]))
    if int(kept.sum()) == rows.shape[0]:
        return offsets, rows, loops
    return *_closed_up(offsets, rows, kept), loops


@njit(cache=True)
def _counted(n, sources, targets):
    """Returns row offsets (int64[n + 1]), the number of self-loops, and whether the edges strictly ascend by source
    and target, and whether they are grouped by ascending source."""
    offsets = np.zeros(n + 1, np.int64)
    loops = 0
    in_order = grouped = True
    last_source, last_target = np.int32(-1), np.int32(-1)
    for k in range(sources.shape[0]):
        u, v = sources[k], targets[k]
        offsets[u + 1] += 1
        in_order &= (u > last_source) | ((u == last_source) & (v > last_target))
        grouped &= u >= last_source
        loops += u == v
        last_source, last_target = u, v
    for u in range(n):
        offsets[u + 1] += offsets[u]
    return offsets, loops, in_order, grouped


@njit(cache=True, nogil=True)
def _sort_rows(offsets, rows, kept, long, lo, hi):
    """Sorts the rows lo to hi - 1 and moves what remains without duplicates and self-loops to the start of each row.

    Rows longer than `long` must be sorted already. kept: int64[n], set to the number of remaining edges of each row.
    """
    for u in range(lo, hi):
        first, last = offsets[u], offsets[u + 1]
        if 1 < last - first <= long:
            rows[first:last].sort()
        at = first
        for k in range(first, last):
            v = rows[k]
            if v != u and (at == first or rows[at - 1] != v):
                rows[at] = v
                at += 1
        kept[u] = at - first


@njit(cache=True)
def _closed_up(offsets, rows, kept):
    compact = np.empty(offsets.shape[0], np.int64)
    at = np.int64(0)
    for u in range(kept.shape[0]):
        compact[u] = at
        for k in range(offsets[u], offsets[u] + kept[u]):
            rows[at] = rows[k]
            at += 1
    compact[kept.shape[0]] = at
    return compact, rows[:at].copy()


@njit(cache=True)
def _sort_and_drop(n, sources, targets, offsets):
    # Two bucket sorts, by target and then by source, give ascending rows in O(n + m), with duplicates next to each
    # other.
    m = sources.shape[0]
    at = np.zeros(n + 1, np.int64)
    for k in range(m):
        at[targets[k] + 1] += 1
    for v in range(n):
        at[v + 1] += at[v]
    by_target = np.empty(m, np.int32)
    for k in range(m):
        v = targets[k]
        by_target[at[v]] = sources[k]
        at[v] += 1
    rows = np.empty(m, np.int32)
    filled = offsets[:n].copy()
    k = np.int64(0)
    for v in range(n):
        while k < at[v]:
            u = by_target[k]
            k += 1
            if u != v and (filled[u] == offsets[u] or rows[filled[u] - 1] != v):
                rows[filled[u]] = v
                filled[u] += 1
    kept = np.int64(0)
    compact = np.empty(n + 1, np.int64)
    for u in range(n):
        compact[u] = kept
        for j in range(offsets[u], filled[u]):
            rows[kept] = rows[j]
            kept += 1
    compact[n] = kept
    return compact, rows[:kept].copy()


def _rooted_dag(n, sources, targets, threads):
    """Builds the CSR with the super-root, and the levels.

    Returns (covered, self-loops, offsets int64[n + 2], children int32[m'], levels int32[n + 1], order int32[n + 1]).
    If `covered` is False, the graph has a cycle and the arrays are meaningless.
    """
    offsets, rows, loops = _sorted_rows(n, sources, targets, threads)
    covered, *arrays = _rooted(n, offsets, rows)
    return covered, loops, *arrays


@njit(cache=True)
def _rooted(n, inner_offsets, inner):
    m = inner.shape[0]
    found, levels, order, _ = kahn(n, inner_offsets, inner)
    roots = 0
    while roots < found - 1 and levels[order[1 + roots]] == 1:
        roots += 1
    offsets = np.empty(n + 2, np.int64)
    offsets[: n + 1] = inner_offsets
    offsets[n + 1] = m + roots
    children = np.empty(m + roots, np.int32)
    children[:m] = inner
    children[m:] = order[1 : 1 + roots]
    return found == n + 1, offsets, children, levels, order


@njit(cache=True, nogil=True)
def kahn(n, offsets, children):
    """Takes the vertices level by level, a super-root n first, and returns how many are reached, the super-root among
    them, the level of each (int32[n + 1]), the queue (int32[n + 1]), and the number of parents that were not taken
    (int32[n]): 0 unless a vertex is on a cycle or behind one. offsets [n + 1], children int32[m]: the CSR."""
    missing = np.zeros(n, np.int32)
    for k in range(children.shape[0]):
        missing[children[k]] += 1
    levels = np.empty(n + 1, np.int32)
    order = np.empty(n + 1, np.int32)
    order[0] = n
    levels[n] = 0
    found = 1
    for v in range(n):
        if missing[v] == 0:
            order[found] = v
            levels[v] = 1
            found += 1
    # With a first-in first-out queue, Kahn's algorithm removes vertices by longest-path level, so the last parent of a
    # vertex that is removed is its deepest one.
    at = 1
    while at < found:
        u = order[at]
        at += 1
        for k in range(offsets[u], offsets[u + 1]):
            v = children[k]
            missing[v] -= 1
            if missing[v] == 0:
                levels[v] = levels[u] + 1
                order[found] = v
                found += 1
    return found, levels, order, missing
