"""Shortest paths from a source with a near and a far pile, in one cooperative launch (Davidson et al. 2014).

Vertices that come nearer than a threshold are expanded round by round; the others wait in the far pile. When nothing is
near any more the threshold rises, and the pile is dealt anew: what lies below is near, what was settled meanwhile is
dropped. While little is near one block goes on by itself (see `fused`). A vertex is at most once in each list.
"""

from __future__ import annotations

import numpy as np

from grailbench.device.gateway import cuda
from grailbench.device.launch import Prepared, cooperative_shape
from grailbench.traversal.gpu import worklist
from grailbench.traversal.gpu.resident import OneLaunch, upload
from grailbench.traversal.gpu.worklist import LISTED, SLOT, SLOTS
from grailbench.traversal.index import FAR, Network

_FAR = int(FAR)
ALONE = 512  #: edges of a round up to which one block goes on by itself
#: width of a band in mean weights by degree: so much work is near at once, on the whole (Davidson et al.: 32, a warp)
WIDTH = 32

ROUNDS, BANDS, BY_ONE_BLOCK = 0, 1, 2  # what `told` counts
_TURN = 3  # what block 0 tells the others
# counters of the two far piles: their sizes, and their least distances
_SIZE, _LEAST = 0, 2


@cuda.jit(device=True, inline=True)
def _visit(u, k, v, state):
    """Lower a vertex; near or far, it is listed once. state: weights, distances, the threshold, the mark of the next
    round, marks, starts, queue, counters, place in them, chunk, waiting, far pile, its number, counters of both."""
    weights, distances, limit, mark, marks, starts, queue, counters, at, chunk, waiting, far, pile, piles = state
    reached = distances[u] + weights[k]
    if reached >= distances[v] or cuda.atomic.min(distances, v, reached) <= reached:
        return
    if reached >= limit:
        if cuda.atomic.exch(waiting, v, 1) == 0:
            far[cuda.atomic.add(piles, _SIZE + pile, 1)] = v
        if reached < piles[_LEAST + pile]:
            cuda.atomic.min(piles, _LEAST + pile, reached)
    elif cuda.atomic.exch(marks, v, mark) != mark:
        worklist.push(v, starts[v], starts[v + 1], chunk, queue, counters, at)


_expand = worklist.expander(_visit)


@cuda.jit(device=True)
def _near(thread, threads, turn, listed, limit, pile, rows, lists, counters, chunk):
    """Expand what is near, once."""
    starts, targets, weights, distances = rows
    queues, marks, waiting, far, piles = lists
    side, at = turn & 1, worklist.slot(turn + 1)
    if thread == 0:
        worklist.clear(counters, turn)
    state = (
        weights, distances, limit, turn + 1, marks, starts, queues[1 - side], counters, at, chunk, waiting, far[pile],
        pile, piles,
    )  # fmt: skip
    count = worklist.ranges(listed)
    bits = worklist.team_bits(count, worklist.edges_of(listed), threads)
    _expand(thread, threads, queues[side], count, bits, targets, state)


@cuda.jit(device=True)
def _deal(thread, threads, turn, limit, below, pile, rows, lists, counters, chunk):
    """Deal a far pile anew: what lies between `below` and `limit` is near, what lies beyond goes to the other pile."""
    starts, _, _, distances = rows
    queues, marks, waiting, far, piles = lists
    at, other = worklist.slot(turn), 1 - pile
    for i in range(thread, piles[_SIZE + pile], threads):
        v = far[pile, i]
        reached = distances[v]
        if reached >= limit:
            far[other, cuda.atomic.add(piles, _SIZE + other, 1)] = v
            if reached < piles[_LEAST + other]:
                cuda.atomic.min(piles, _LEAST + other, reached)
            continue
        waiting[v] = 0
        if reached >= below:
            marks[v] = turn
            worklist.push(v, starts[v], starts[v + 1], chunk, queues[turn & 1], counters, at)


@cuda.jit(cache=True)
def _search(asked, starts, targets, weights, distances, queues, marks, waiting, far, piles, counters, told, rule):
    """All of it. asked int32[1]: the source; distances, marks, waiting int32[n]; queues int32[2, most, 3]; far
    int32[2, n]; piles int32[4]; counters int64[6]; told int32[4]; rule: chunk, width of a band, most edges for one
    block. Cooperative, any grid.
    """
    grid = cuda.cg.this_grid()
    chunk, width, alone = rule
    thread, threads, n = cuda.grid(1), cuda.gridsize(1), distances.shape[0]
    rows, lists = (starts, targets, weights, distances), (queues, marks, waiting, far, piles)
    source = asked[0]
    for v in range(thread, n, threads):
        distances[v] = 0 if v == source else _FAR
        marks[v] = -1
        waiting[v] = 0
    if thread == 0:
        for i in range(SLOT * SLOTS):
            counters[i] = 0
        for i in range(told.shape[0]):
            told[i] = 0
        piles[_SIZE] = piles[_SIZE + 1] = 0
        piles[_LEAST] = piles[_LEAST + 1] = _FAR
        worklist.push(source, starts[source], starts[source + 1], chunk, queues[0], counters, 0)
    grid.sync()
    turn, limit, pile = 0, width, 0
    while True:
        now = worklist.slot(turn)
        listed = counters[now + LISTED]
        edges = worklist.edges_of(listed)
        if edges == 0:
            if piles[_SIZE + pile] == 0:
                break
            below, least = limit, piles[_LEAST + pile]
            limit = max(limit, least) + width
            turn += 1  # its slot is clear: nothing was counted there yet
            _deal(thread, threads, turn, limit, below, pile, rows, lists, counters, chunk)
            grid.sync()
            if thread == 0:
                worklist.clear(counters, turn - 1)
                piles[_SIZE + pile] = 0
                piles[_LEAST + pile] = _FAR
                told[BANDS] += 1
            pile = 1 - pile
            grid.sync()
        elif edges <= alone:
            if cuda.blockIdx.x == 0:
                began = turn
                while 0 < edges <= alone:
                    _near(cuda.threadIdx.x, cuda.blockDim.x, turn, listed, limit, pile, rows, lists, counters, chunk)
                    turn += 1
                    cuda.syncthreads()
                    now = worklist.slot(turn)
                    listed = counters[now + LISTED]
                    edges = worklist.edges_of(listed)
                if cuda.threadIdx.x == 0:
                    told[BY_ONE_BLOCK] += turn - began
                    told[_TURN] = turn
            grid.sync()
            turn = told[_TURN]
        else:
            _near(thread, threads, turn, listed, limit, pile, rows, lists, counters, chunk)
            turn += 1
            grid.sync()
    if thread == 0:
        told[ROUNDS] = turn


class NearFar(OneLaunch):
    """One launch a search. `rule` as `_search` takes it, 0 for a width that suits weights and degrees."""

    tells = {"rounds": ROUNDS, "bands": BANDS, "by_one_block": BY_ONE_BLOCK}

    def __init__(self, network: Network, threads: int | None = None, rule: tuple[int, ...] | None = None):
        super().__init__(told=4)
        n, threads = network.vertices, threads or worklist.usual_threads(network)
        chunk, width, alone = rule or (worklist.CHUNK, 0, ALONE)
        width = width or band_width(network)
        most = worklist.most_ranges(network.offsets, chunk)
        self.rows = upload(network, 20 * n + 24 * most)
        self.distances = cuda.device_array(n, np.int32)
        args = (
            self._asked, *self.rows, self.distances, cuda.device_array((2, most, 3), np.int32),
            cuda.device_array(n, np.int32), cuda.device_array(n, np.int32), cuda.device_array((2, n), np.int32),
            cuda.to_device(np.zeros(4, np.int32)), cuda.to_device(np.zeros(SLOT * SLOTS, np.int64)), self._told,
            tuple(np.int32(value) for value in (chunk, width, alone)),
        )  # fmt: skip
        self._launch = Prepared(_search, args, cooperative_shape(_search, args, threads, per_multiprocessor=1))


def band_width(network: Network) -> int:
    """`WIDTH` mean weights over the mean degree, at least 1 and no more than half of what 32 bits hold."""
    if network.edges == 0:
        return 1
    mean = float(network.weights.mean())
    return min(max(1, round(WIDTH * mean * network.vertices / network.edges)), int(FAR) // 2)
