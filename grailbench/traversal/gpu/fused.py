"""Direction-optimising BFS in one cooperative launch (after Beamer, Asanovic and Patterson 2012).

A level is expanded top-down from a work list, or bottom-up: every vertex not found yet looks among its parents for one
of the last level. Bottom-up begins when the frontier's edges are more than a share of those not yet explored and ends
when the frontier is a small share of the vertices. While a frontier is small one block goes on by itself, with barriers
of a block, which cost a twentieth of the grid's: thousands of levels of a road network cost little then.
"""

from __future__ import annotations

import numpy as np

from grailbench.device.gateway import cuda
from grailbench.device.launch import Prepared, cooperative_shape
from grailbench.traversal.gpu import worklist
from grailbench.traversal.gpu.resident import OneLaunch, turned, upload
from grailbench.traversal.gpu.worklist import FOUND, LISTED, SLOT, SLOTS
from grailbench.traversal.index import FAR, Network

_FAR = int(FAR)
ALPHA, BETA = 14, 24  # Beamer's: bottom-up when edges of the frontier > unexplored / ALPHA, until vertices < n / BETA
ALONE = 512  # edges of a frontier up to which one block goes on by itself
BIG = 256  # parents from which a block looks for one together

LEVELS, BOTTOM_UP, BY_ONE_BLOCK = 0, 1, 2  # what `told` counts
_LEVEL, _UNEXPLORED = 3, 4  # and what block 0 tells the others when it comes back


@cuda.jit(device=True, inline=True)
def _visit(u, k, v, state):
    """Top-down: claim a vertex. state: level, starts, distances, queue, counters, place in them, chunk."""
    level, starts, distances, queue, counters, at, chunk = state
    before, begin, end = distances[v], starts[v], starts[v + 1]  # three loads at once rather than one after another
    if before == _FAR and cuda.atomic.cas(distances, v, _FAR, level + 1) == _FAR:
        worklist.push(v, begin, end, chunk, queue, counters, at)


_expand = worklist.expander(_visit)


@cuda.jit(device=True)
def _top_down(thread, threads, level, count, edges, starts, targets, distances, queues, counters, chunk):
    side, at = level & 1, worklist.slot(level + 1)
    if thread == 0:
        worklist.clear(counters, level)
    state = (level, starts, distances, queues[1 - side], counters, at, chunk)
    bits = worklist.team_bits(count, edges, threads)
    _expand(thread, threads, queues[side], count, bits, targets, state)


@cuda.jit(device=True)
def _bottom_up(thread, threads, level, starts, back_starts, back_targets, distances, big, counters, large):
    """Look for parents of the last level: a thread a vertex with up to `large` parents, a block the others."""
    at = worklist.slot(level + 1)
    if thread == 0:
        worklist.clear(counters, level)
    edges = found = 0
    for v in range(thread, distances.shape[0], threads):
        first, last = back_starts[v], back_starts[v + 1]
        if distances[v] == _FAR and last - first <= large:
            for k in range(first, last):
                if distances[back_targets[k]] == level:
                    distances[v] = level + 1
                    edges += starts[v + 1] - starts[v]
                    found += 1
                    break
    for i in range(cuda.blockIdx.x, big.shape[0], cuda.gridDim.x):
        v = big[i]
        if v < 0:
            continue
        for k in range(back_starts[v] + cuda.threadIdx.x, back_starts[v + 1], cuda.blockDim.x):
            if distances[v] != _FAR:
                break
            if distances[back_targets[k]] == level and cuda.atomic.cas(distances, v, _FAR, level + 1) == _FAR:
                edges += starts[v + 1] - starts[v]
                found += 1
    worklist.tally(counters, at, edges, found)


@cuda.jit(cache=True)
def _search(asked, starts, targets, back_starts, back_targets, distances, queues, big, counters, told, rule):
    """All levels. asked int32[1]: the source; distances int32[n]; queues int32[2, most, 3]; big int32[b]: vertices of
    more than `large` parents, -1 for none; counters int64[6]; told int32[5]; rule: chunk, large, most edges of a
    frontier for one block, alpha, beta. Cooperative, any grid.
    """
    grid = cuda.cg.this_grid()
    chunk, large, alone, alpha, beta = rule
    thread, threads, n = cuda.grid(1), cuda.gridsize(1), distances.shape[0]
    source = asked[0]
    for v in range(thread, n, threads):
        distances[v] = 0 if v == source else _FAR
    if thread == 0:
        for i in range(SLOT * SLOTS):
            counters[i] = 0
        for i in range(told.shape[0]):
            told[i] = 0
        worklist.push(source, starts[source], starts[source + 1], chunk, queues[0], counters, 0)
    grid.sync()
    level, unexplored, bottom = 0, starts[n], False
    while True:
        now = worklist.slot(level)
        listed = counters[now + LISTED]
        count, edges = worklist.ranges(listed), worklist.edges_of(listed)
        if edges == 0:
            break
        unexplored -= edges
        if bottom and counters[now + FOUND] < n // beta:
            bottom = False
            grid.sync()  # until all have read the word of counters that is now added to
            for v in range(thread, n, threads):
                if distances[v] == level:
                    worklist.push(v, starts[v], starts[v + 1], chunk, queues[level & 1], counters, now)
            grid.sync()
            count = worklist.ranges(counters[now + LISTED])  # the edges are in it twice now
        elif not bottom and edges > unexplored // alpha and edges > alone:
            bottom = True
        if bottom:
            _bottom_up(thread, threads, level, starts, back_starts, back_targets, distances, big, counters, large)
            level += 1
            if thread == 0:
                told[BOTTOM_UP] += 1
            grid.sync()
        elif edges <= alone:
            if cuda.blockIdx.x == 0:
                began = level
                while 0 < edges <= alone:
                    _top_down(
                        cuda.threadIdx.x, cuda.blockDim.x, level, count, edges, starts, targets, distances, queues,
                        counters, chunk,
                    )  # fmt: skip
                    level += 1
                    cuda.syncthreads()
                    now = worklist.slot(level)
                    listed = counters[now + LISTED]
                    count, edges = worklist.ranges(listed), worklist.edges_of(listed)
                    unexplored -= edges
                if cuda.threadIdx.x == 0:
                    told[BY_ONE_BLOCK] += level - began
                    told[_LEVEL], told[_UNEXPLORED] = level, unexplored + edges
            grid.sync()
            level, unexplored = told[_LEVEL], told[_UNEXPLORED]
        else:
            _top_down(thread, threads, level, count, edges, starts, targets, distances, queues, counters, chunk)
            level += 1
            grid.sync()
    if thread == 0:
        told[LEVELS] = level


class Fused(OneLaunch):
    """One launch a search. `rule` as `_search` takes it."""

    tells = {"levels": LEVELS, "bottom_up": BOTTOM_UP, "by_one_block": BY_ONE_BLOCK}

    def __init__(self, network: Network, threads: int | None = None, rule: tuple[int, ...] | None = None):
        super().__init__(told=5)
        n, threads = network.vertices, threads or worklist.usual_threads(network)
        rule = rule or (worklist.CHUNK, BIG, ALONE, ALPHA, BETA)
        most = worklist.most_ranges(network.offsets, rule[0])
        back = 0 if network.symmetric else 4 * (n + 1 + network.edges)
        self.rows = upload(network, 4 * n + 24 * most + back)
        turned_rows = turned(network, self.rows)
        big = np.flatnonzero(np.diff(network.offsets if network.symmetric else network.reverse[0]) > rule[1])
        self.distances = cuda.device_array(n, np.int32)
        args = (
            self._asked, self.rows.starts, self.rows.targets, turned_rows.starts, turned_rows.targets, self.distances,
            cuda.device_array((2, most, 3), np.int32),
            cuda.to_device(big.astype(np.int32) if big.size else np.full(1, -1, np.int32)),
            cuda.to_device(np.zeros(SLOT * SLOTS, np.int64)), self._told, tuple(np.int32(value) for value in rule),
        )  # fmt: skip
        self._launch = Prepared(_search, args, cooperative_shape(_search, args, threads, per_multiprocessor=1))
