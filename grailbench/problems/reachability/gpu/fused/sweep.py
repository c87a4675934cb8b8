"""Sweeps the queries that no search decided: one bit per query, one row of words per vertex, level by level.

This widens the thesis's searches in one mask (algorithm 11) to groups of `64 * WIDTH` queries. Each group is one
cooperative launch over the levels between its highest source and its lowest target. The graph alone bounds the cost.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda import warp_group
from grailbench.cuda.gateway import cuda

GROUP = 64 * warp_group.WIDTH  #: queries per group
CHUNK = 64  #: edges that a warp group processes at a time
_1 = np.uint64(1)


@cuda.jit(device=True)
def _row_of(starts, low, high, k):
    """Returns the last of rows low..high - 1 that begins at edge k or before. starts ascends."""
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= k:
            low = middle
        else:
            high = middle
    return low


@cuda.jit(device=True)
def _pull(level, base, level_starts, graph, rows):
    """Ors the rows of their parents into the rows of the vertices of a level."""
    thread, threads, lane = cuda.grid(1), cuda.gridsize(1), warp_group.lane()
    first, last = level_starts[level], level_starts[level + 1]
    stop = graph.parent_starts[last]
    start = graph.parent_starts[first] + np.int64(thread // warp_group.WIDTH) * CHUNK
    for chunk in range(start, stop, (threads // warp_group.WIDTH) * CHUNK):
        v = _row_of(graph.parent_starts, first, last, chunk)
        k, until = np.int64(chunk), min(np.int64(chunk) + CHUNK, np.int64(stop))
        while k < until:
            bound = min(np.int64(graph.parent_starts[v + 1]), until)
            found = np.uint64(0)
            while k < bound:
                parent = graph.parents[k]
                if parent >= base:
                    found |= rows[np.int64(parent - base) * warp_group.WIDTH + lane]
                k += 1
            if found != 0:  # other warp groups may write the same row
                cuda.atomic.or_(rows, np.int64(v - base) * warp_group.WIDTH + lane, found)
            v += 1


@cuda.jit(cache=True)
def sweep(queries, level_starts, graph, rows, span, answers):
    """Answers at most GROUP queries. Cooperative launch, blocks of whole warp groups.

    queries: `filter.Open`; level_starts int32[depth + 1]; graph: `search.Adjacency`; rows uint64[(end - base) * WIDTH]:
    scratch, one row per vertex from number base on; span (low, high): all sources are on level low or deeper, all
    targets on level high or higher up, where base and end are the begin of level low and the end of level high;
    answers uint8: written at the queries' places.
    """
    low, high = span
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    base, end = level_starts[low], level_starts[high + 1]
    for i in range(thread, np.int64(end - base) * warp_group.WIDTH, threads):
        rows[i] = np.uint64(0)
    grid.sync()
    for q in range(thread, queries.sources.shape[0], threads):
        word = np.int64(queries.sources[q] - base) * warp_group.WIDTH + (q >> 6)
        cuda.atomic.or_(rows, word, _1 << np.uint64(q & 63))
    grid.sync()
    for level in range(low + 1, high + 1):
        _pull(level, base, level_starts, graph, rows)
        grid.sync()
    for q in range(thread, queries.sources.shape[0], threads):
        word = rows[np.int64(queries.targets[q] - base) * warp_group.WIDTH + (q >> 6)]
        answers[queries.places[q]] = (word >> np.uint64(q & 63)) & _1
