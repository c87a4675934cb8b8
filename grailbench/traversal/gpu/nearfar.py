"""Shortest paths from a source with a near and a far pile, in one cooperative launch (Davidson et al. 2014).

Vertices that come nearer than a threshold are expanded round by round; the others wait in the far pile. When nothing is
near any more the threshold rises, and the pile is dealt anew: what lies below is near, what was settled meanwhile is
dropped. While little is near one block goes on by itself (see `fused`). A vertex is at most once in each list.
"""

from __future__ import annotations

from typing import NamedTuple

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

ROUNDS, BANDS, BY_ONE_BLOCK = 0, 1, 2  # what `counted` counts
_TURN = 3  # what block 0 hands to the others when it has gone on alone
# counters of the two far piles: their sizes, and their least distances
_SIZE, _LEAST = 0, 2


class Rule(NamedTuple):
    """Most edges of a range; the width of a band of distances, 0 for one that suits weights and degrees; most edges of
    a round for one block."""

    chunk: int = worklist.CHUNK
    width: int = 0
    alone: int = ALONE


class State(NamedTuple):
    """What a search reads and writes.

    distances, marks, waiting int32[n]: the distance, the last round that a vertex was listed for, and whether it is in
    a far pile; queues int32[2, most, 3]: the work lists; far int32[2, n] and piles int32[4]: the far piles and their
    counters; counters int64[6] (`worklist`); counted int32[4]
    """

    distances: object
    marks: object
    waiting: object
    queues: object
    far: object
    piles: object
    counters: object
    counted: object


@cuda.jit(device=True, inline=True)
def _put_far(v, pile, of):
    """Put a vertex into a far pile."""
    of.far[pile, cuda.atomic.add(of.piles, _SIZE + pile, 1)] = v


@cuda.jit(device=True, inline=True)
def _lower_least(reached, pile, of):
    """The least distance in a far pile is at most `reached`."""
    if reached < of.piles[_LEAST + pile]:
        cuda.atomic.min(of.piles, _LEAST + pile, reached)


@cuda.jit(device=True, inline=True)
def _visit(u, k, v, step):
    """Lower a vertex; near or far, it is listed once. step: the queue and the place in counters of the next round, its
    number, the threshold, the far pile, and rows, state, rule."""
    queue, at, turn, limit, pile, rows, of, rule = step
    reached = of.distances[u] + rows.weights[k]
    if reached >= of.distances[v] or cuda.atomic.min(of.distances, v, reached) <= reached:
        return
    if reached >= limit:
        if cuda.atomic.exch(of.waiting, v, 1) == 0:
            _put_far(v, pile, of)
        _lower_least(reached, pile, of)
    elif cuda.atomic.exch(of.marks, v, turn) != turn:
        worklist.push(v, rows.starts[v], rows.starts[v + 1], rule.chunk, queue, of.counters, at)


_expand = worklist.expander(_visit)


@cuda.jit(device=True)
def _near(workers, turn, count, edges, search):
    """Expand what is near, once. search: the threshold, the far pile, rows, state, rule."""
    limit, pile, rows, of, rule = search
    thread, threads = workers
    side, at = turn & 1, worklist.slot(turn + 1)
    if thread == 0:
        worklist.clear(of.counters, turn)
    step = (of.queues[1 - side], at, turn + 1, limit, pile, rows, of, rule)
    bits = worklist.team_bits(count, edges, threads)
    _expand(thread, threads, of.queues[side], count, bits, rows.targets, step)


_go_on_alone = worklist.alone(_near)


@cuda.jit(device=True)
def _deal(workers, turn, below, search):
    """Deal a far pile anew: what lies between `below` and the threshold is near, what lies beyond goes to the other
    pile."""
    limit, pile, rows, of, rule = search
    thread, threads = workers
    at, other = worklist.slot(turn), 1 - pile
    for i in range(thread, of.piles[_SIZE + pile], threads):
        v = of.far[pile, i]
        reached = of.distances[v]
        if reached >= limit:
            _put_far(v, other, of)
            _lower_least(reached, other, of)
            continue
        of.waiting[v] = 0
        if reached >= below:
            of.marks[v] = turn
            queue = of.queues[turn & 1]
            worklist.push(v, rows.starts[v], rows.starts[v + 1], rule.chunk, queue, of.counters, at)


@cuda.jit(device=True)
def _begin(workers, source, rows, of, chunk):
    """Nothing is reached but the source, which is near."""
    thread, threads = workers
    for v in range(thread, of.distances.shape[0], threads):
        of.distances[v] = 0 if v == source else _FAR
        of.marks[v] = -1
        of.waiting[v] = 0
    if thread == 0:
        of.piles[_SIZE] = of.piles[_SIZE + 1] = 0
        of.piles[_LEAST] = of.piles[_LEAST + 1] = _FAR
        worklist.begin(source, rows.starts, chunk, of.queues[0], of.counters, of.counted)


@cuda.jit(cache=True)
def _search(asked, rows, of, rule):
    """All of it. asked int32[1]: the source; rows: `resident.Rows`; of: `State`; rule: `Rule`. A cooperative grid."""
    grid = cuda.cg.this_grid()
    workers = (cuda.grid(1), cuda.gridsize(1))
    piles, counters, counted = of.piles, of.counters, of.counted
    _begin(workers, asked[0], rows, of, rule.chunk)
    grid.sync()
    turn, limit, pile = 0, rule.width, 0
    while True:
        listed = counters[worklist.slot(turn) + LISTED]
        count, edges = worklist.ranges(listed), worklist.edges_of(listed)
        if edges == 0:
            if piles[_SIZE + pile] == 0:
                break
            below, least = limit, piles[_LEAST + pile]
            limit = max(limit, least) + rule.width
            turn += 1  # its slot is clear: nothing was counted there yet
            _deal(workers, turn, below, (limit, pile, rows, of, rule))
            grid.sync()
            if workers[0] == 0:
                worklist.clear(counters, turn - 1)
                piles[_SIZE + pile] = 0
                piles[_LEAST + pile] = _FAR
                counted[BANDS] += 1
            pile = 1 - pile
            grid.sync()
        elif edges <= rule.alone:
            if cuda.blockIdx.x == 0:
                search = (limit, pile, rows, of, rule)
                reached, _ = _go_on_alone(turn, count, edges, counters, rule.alone, search)
                if cuda.threadIdx.x == 0:
                    counted[BY_ONE_BLOCK] += reached - turn
                    counted[_TURN] = reached
            grid.sync()
            turn = counted[_TURN]
        else:
            _near(workers, turn, count, edges, (limit, pile, rows, of, rule))
            turn += 1
            grid.sync()
    if workers[0] == 0:
        counted[ROUNDS] = turn


class NearFar(OneLaunch):
    """One launch a search. `rule`: the values of a `Rule`."""

    counts = {"rounds": ROUNDS, "bands": BANDS, "by_one_block": BY_ONE_BLOCK}

    def __init__(self, network: Network, threads: int | None = None, rule: tuple[int, ...] = ()):
        super().__init__(counted=4)
        n, threads, rule = network.vertices, threads or worklist.usual_threads(network), Rule(*rule)
        rule = rule._replace(width=rule.width or band_width(network))
        most = worklist.most_ranges(network.offsets, rule.chunk)
        self.rows = upload(network, 20 * n + 24 * most)
        self.distances = cuda.device_array(n, np.int32)
        state = State(
            self.distances,
            cuda.device_array(n, np.int32),
            cuda.device_array(n, np.int32),
            cuda.device_array((2, most, 3), np.int32),
            cuda.device_array((2, n), np.int32),
            cuda.to_device(np.zeros(4, np.int32)),
            cuda.to_device(np.zeros(SLOT * SLOTS, np.int64)),
            self._counted,
        )
        args = self._asked, self.rows, state, Rule(*map(np.int32, rule))
        self._launch = Prepared(_search, args, cooperative_shape(_search, args, threads, per_multiprocessor=1))


def band_width(network: Network) -> int:
    """`WIDTH` mean weights over the mean degree, at least 1 and no more than half of what 32 bits hold."""
    if network.edges == 0:
        return 1
    mean = float(network.weights.mean())
    return min(max(1, round(WIDTH * mean * network.vertices / network.edges)), int(FAR) // 2)
