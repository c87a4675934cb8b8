"""The labels of `gpu-fused` on the host, for deep graphs: the same trees and words, bit for bit, one vertex at a time.

A level costs the device some microseconds, however narrow it is; here it costs nothing. The steps are those of `grid`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from grailbench.graph.hashing import mixed
from grailbench.graph.leveled import Leveled
from grailbench.problems.reachability import hubs
from grailbench.problems.reachability.gpu.fused.siblings import STEPS_OF_ROWS, nth


def labels(graph: Leveled, dim: int, salts: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Returns the columns of the records, int32[n] each: for each pair starts and negated ends, then the level, then
    start and negated end of the subtree of pair 0; and the hubs' words, uint64[2 n]. A thread for each pair.

    salts: as `layout.salts` returns them.
    """
    with ThreadPoolExecutor(dim + 1) as threads:
        words = threads.submit(_hub_words, graph)
        pairs = [threads.submit(_label, graph, salts[2 * p], salts[2 * p + 1]) for p in range(dim)]
        levels = _levels(graph.level_starts)
        made = [pair.result() for pair in pairs]
        columns = [column for start, end, _, _ in made for column in (start, end)]
        return [*columns, levels, *made[0][2:]], words.result()


def _label(graph: Leveled, salt, sibling_salt) -> tuple[np.ndarray, ...]:
    n = graph.vertex.shape[0]
    parent, size, base = np.zeros(n, np.int32), np.ones(n, np.int32), np.zeros(n, np.int32)
    _plant(graph.deep_starts, graph.deep_targets, salt, sibling_salt, STEPS_OF_ROWS, parent, size, base)
    return _repaired(graph.starts, graph.targets, base, size)


def _hub_words(graph: Leveled) -> np.ndarray:
    n = graph.vertex.shape[0]
    chosen = hubs.heaviest(hubs.weights(graph.starts, graph.targets)[1:], graph.vertex[1:]) + 1
    words, order = hubs.marked(n, chosen), np.arange(n, dtype=np.int32)
    hubs.sweep_forward(graph.starts, graph.targets, order, words, None)
    hubs.sweep_backward(graph.starts, graph.targets, order, words, None)
    return words


@njit(cache=True, nogil=True)
def _plant(starts, targets, salt, sibling_salt, steps, parent, size, base):
    """Chooses the parent of each vertex, sums the sizes of subtrees, and places siblings one after the other."""
    n = parent.shape[0]
    key = np.full(n, np.uint64(2**32), np.uint64)
    for u in range(n):
        if starts[u] < starts[u + 1]:
            mine = mixed(u, salt)
            for k in range(starts[u], starts[u + 1]):
                v = targets[k]
                if mine < key[v]:
                    key[v], parent[v] = mine, u
    for v in range(n - 1, 0, -1):
        size[parent[v]] += size[v]
    for u in range(n):
        row, free = starts[u], base[u]
        length = starts[u + 1] - row
        if length == 1:
            if parent[targets[row]] == u:
                base[targets[row]] = free
        elif length > 1:
            h = mixed(u, sibling_salt)
            step = steps[np.int64(h) & 7]
            for i in range(length):
                v = targets[row + nth(i, length, h, step)]
                if parent[v] == u:
                    base[v] = free
                    free += size[v]


@njit(cache=True, nogil=True)
def _repaired(starts, targets, base, size):
    """Returns starts and negated ends, the least of what each vertex reaches, and those of the subtrees, int32[n]."""
    n = base.shape[0]
    start, end = np.empty(n, np.int32), np.empty(n, np.int32)
    first, last = np.empty(n, np.int32), np.empty(n, np.int32)
    for u in range(n - 1, -1, -1):
        first[u], last[u] = base[u] + 1, -(base[u] + size[u])
        least, greatest = first[u], last[u]
        if u > 0:  # the super-root reaches every vertex
            for k in range(starts[u], starts[u + 1]):
                v = targets[k]
                least, greatest = min(least, start[v]), min(greatest, end[v])
        start[u], end[u] = least, greatest
    return start, end, first, last


@njit(cache=True, nogil=True)
def _levels(level_starts):
    levels = np.empty(level_starts[-1], np.int32)
    for level in range(level_starts.shape[0] - 1):
        for v in range(level_starts[level], level_starts[level + 1]):
            levels[v] = level
    return levels
