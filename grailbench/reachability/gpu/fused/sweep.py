"""Queries that no search could settle, swept together: a bit a query, a row of words a vertex, pulled level by level.

The thesis's many searches in one mask (algorithm 11), made wide: `64 * WIDTH` queries a group, one cooperative launch
a group, only the levels between its highest source and its lowest target. Costs are bounded by the graph alone.
"""

from __future__ import annotations

import numpy as np

from grailbench.device import team
from grailbench.device.gateway import cuda

GROUP = 64 * team.WIDTH  #: queries in a group
CHUNK = 64  #: edges that a team takes at a time
_1 = np.uint64(1)


@cuda.jit(device=True)
def _row_of(starts, low, high, k):
    """The last of rows low..high-1 that begins at edge k or before. starts ascends."""
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= k:
            low = middle
        else:
            high = middle
    return low


@cuda.jit(cache=True)
def sweep(sources, targets, places, level_starts, parent_starts, parents, rows, span, answers):
    """Answer at most GROUP queries. To be launched cooperatively, blocks of whole teams.

    sources, targets (vertex numbers) and places int32[q] of the group; rows uint64[(end - base) * WIDTH]: a row a
    vertex from number base on, whatever it holds; span (low, high): all sources lie in level low or deeper, all targets
    in level high or before, base and end being where those levels begin and end; answers uint8: written at places.
    """
    low, high = span
    grid = cuda.cg.this_grid()
    thread, threads, lane = cuda.grid(1), cuda.gridsize(1), team.lane()
    base, end = level_starts[low], level_starts[high + 1]
    for i in range(thread, np.int64(end - base) * team.WIDTH, threads):
        rows[i] = np.uint64(0)
    grid.sync()
    for q in range(thread, sources.shape[0], threads):
        word = np.int64(sources[q] - base) * team.WIDTH + (q >> 6)
        cuda.atomic.or_(rows, word, _1 << np.uint64(q & 63))
    grid.sync()
    for level in range(low + 1, high + 1):
        first, last = level_starts[level], level_starts[level + 1]
        stop = parent_starts[last]
        start = parent_starts[first] + np.int64(thread // team.WIDTH) * CHUNK
        for chunk in range(start, stop, (threads // team.WIDTH) * CHUNK):
            v = _row_of(parent_starts, first, last, chunk)
            k, until = np.int64(chunk), min(np.int64(chunk) + CHUNK, np.int64(stop))
            while k < until:
                bound = min(np.int64(parent_starts[v + 1]), until)
                found = np.uint64(0)
                while k < bound:
                    parent = parents[k]
                    if parent >= base:
                        found |= rows[np.int64(parent - base) * team.WIDTH + lane]
                    k += 1
                if found != 0:  # a row may be shared with the teams of the chunks beside this one
                    cuda.atomic.or_(rows, np.int64(v - base) * team.WIDTH + lane, found)
                v += 1
        grid.sync()
    for q in range(thread, sources.shape[0], threads):
        word = rows[np.int64(targets[q] - base) * team.WIDTH + (q >> 6)]
        answers[places[q]] = (word >> np.uint64(q & 63)) & _1
