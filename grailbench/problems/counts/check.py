"""What counts are checked against: a plain closure where that is short, else searches and what edges imply.

Nothing here is peeled, weighed or shared, so a mistake of `counts.reduce` shows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.problems.counts.index import Task

CLOSED = 5 * 10**9  #: the most pairs of two vertices, or a vertex and an edge, of a graph that is closed
SCANNED = 2 * 10**8  #: edges that searches on larger graphs may scan
_ONE = np.uint64(1)


def closure_suffices(task: Task) -> bool:
    """Whether the graph is small enough for a closure."""
    return task.vertices * (task.vertices + task.edges) <= CLOSED


@njit(cache=True, nogil=True)
def closed(offsets, children, order, sizes):
    """The counts of all vertices, int64[k]: 64 of them at a time are one bit each of what every vertex reaches. Arrays
    as in `Task`."""
    k = order.shape[0]
    counts, words = np.zeros(k, np.int64), np.zeros(k, np.uint64)
    for first in range(0, k, 64):
        words[:] = 0
        last = min(first + 64, k)
        for i in range(first, last):
            words[order[i]] = _ONE << np.uint64(i - first)
        for i in range(last - 1, -1, -1):  # none after them reaches them
            u = order[i]
            for at in range(offsets[u], offsets[u + 1]):
                words[u] |= words[children[at]]
            for bit in range(last - first):
                if (words[u] >> np.uint64(bit)) & _ONE:
                    counts[u] += sizes[order[first + bit]]
    return counts


@njit(cache=True, nogil=True)
def against_edges(offsets, children, order, sizes, counts):
    """The first vertex in `order` whose count (int64[k]) cannot be right beside those of its children, or -1: it is at
    least its own size and the greatest of theirs, and at most its size and the sum of theirs."""
    for i in range(order.shape[0]):
        u = order[i]
        most = total = np.int64(0)
        for at in range(offsets[u], offsets[u + 1]):
            most = max(most, counts[children[at]])
            total += counts[children[at]]
        if counts[u] < sizes[u] + most or counts[u] > sizes[u] + total:
            return u
    return -1


@njit(cache=True, nogil=True)
def drawn_counts(offsets, children, sizes, drawn, scanned):
    """The counts of as many of the vertices `drawn` (int32[q]) as searches find that scan so many edges, int64; the
    first one always."""
    k = offsets.shape[0] - 1
    stamp, stack = np.full(k, -1, np.int64), np.empty(k, np.int32)
    counts, done = np.zeros(drawn.shape[0], np.int64), 0
    while done < drawn.shape[0] and (done == 0 or scanned > 0):
        stamp[drawn[done]], stack[0] = done, drawn[done]
        depth = 1
        while depth:
            depth -= 1
            u = stack[depth]
            counts[done] += sizes[u]
            for at in range(offsets[u], offsets[u + 1]):
                scanned -= 1
                if stamp[children[at]] != done:
                    stamp[children[at]] = done
                    stack[depth] = children[at]
                    depth += 1
        done += 1
    return counts[:done].copy()
