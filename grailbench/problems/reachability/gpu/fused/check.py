"""Checks the labels of `records` on the host, outside all timers."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.leveled import Leveled
from grailbench.problems.reachability.labels import first_found, is_permutation


def fault(lanes: np.ndarray, hubs: np.ndarray, dim: int, graph: Leveled) -> str | None:
    """Returns what is wrong with the labels of a graph, or None.

    lanes int32[n, width], hubs uint64[2 n]: as in `records.Records`, on the host. It checks containment, levels and
    hubs' words on every edge; that the ranks of the first tree are a permutation of 1..n, and the root's subtree is
    [1, n], since containment alone also holds for intervals that are too wide; that the intervals of subtrees, which
    prove reachability, are those of a tree of edges; and that every interval contains its subtree.
    """
    n = lanes.shape[0]
    m = graph.sources.shape[0]
    given = graph.sources, graph.targets, lanes, hubs, 2 * dim + 1
    u, v, lane = first_found(lambda low, high: _first_violation(*given, low, high), m, m)
    if u >= 0:
        kinds = [f"pair {i // 2}, {'end' if i % 2 else 'start'}" for i in range(2 * dim)] + ["level", "hubs"]
        edge = f"edge {graph.vertex[u]} -> {graph.vertex[v]}"
        return f"{edge}: the labels of the one do not contain those of the other ({kinds[lane]})"
    starts, ranks = lanes[:, 2 * dim + 1], -lanes[:, 2 * dim + 2]
    if not is_permutation(ranks):
        return f"the ranks in the first tree are no permutation of 1..{n}"
    if (starts[0], ranks[0]) != (1, n):
        return f"the root's subtree is [{starts[0]}, {ranks[0]}], not [1, {n}]"
    v, parents = _parents_in_tree(starts, ranks)
    if v < 0:
        given = graph.sources, graph.targets, parents
        first_found(lambda low, high: _tick_off(*given, low, high), m, m)
        v = next(iter(np.flatnonzero(parents >= 0)), -1)
    if v >= 0:
        return f"vertex {graph.vertex[v]}: [{starts[v]}, {ranks[v]}] is no subtree of a tree of edges"
    narrow = np.flatnonzero((lanes[:, 0] > starts) | (-lanes[:, 1] < ranks))
    if narrow.size:
        return f"vertex {graph.vertex[narrow[0]]}: its interval does not contain its subtree"
    return None


@njit(cache=True, nogil=True)
def _first_violation(sources, targets, lanes, hubs, upto, low, high):
    for k in range(low, high):
        u, v = sources[k], targets[k]
        for lane in range(upto):
            if lanes[u, lane] > lanes[v, lane] or (lane == upto - 1 and lanes[u, lane] == lanes[v, lane]):
                return u, v, lane
        if (hubs[2 * v] & ~hubs[2 * u]) | (hubs[2 * u + 1] & ~hubs[2 * v + 1]):
            return u, v, upto
    return -1, -1, -1


@njit(cache=True)
def _parents_in_tree(starts, ranks):
    """Returns a vertex whose [start, rank] no post-order of a tree gives it, or -1, and the parents in that tree.

    starts, ranks int32[n]; ranks are a permutation of 1..n, and the interval of vertex 0 is [1, n]. parents int32[n]:
    -1 for vertex 0.
    """
    n = starts.shape[0]
    by_rank, parents, open_ = np.empty(n, np.int32), np.full(n, -1, np.int32), np.empty(n, np.int32)
    for v in range(n):
        by_rank[ranks[v] - 1] = v
    count = 0  # number of subtrees whose parent comes later
    for v in by_rank:
        least = ranks[v]
        while count > 0 and starts[open_[count - 1]] >= starts[v]:
            count -= 1
            parents[open_[count]] = v
            least = starts[open_[count]]
        if starts[v] != least:
            return v, parents
        open_[count] = v
        count += 1
    return -1, parents


@njit(cache=True, nogil=True)
def _tick_off(sources, targets, parents, low, high):
    """Makes the parents -1 to which an edge leads from them. Other threads may do the same with other edges."""
    for k in range(low, high):
        if parents[targets[k]] == sources[k]:
            parents[targets[k]] = -1
    return (-1,)
