"""Shortest paths from a source with a near and a far pile, in one cooperative launch (Davidson et al. 2014).

Vertices nearer than a threshold are expanded round by round; the others wait in the far pile. When no near vertices are
left, the threshold rises and the pile is divided: vertices below the new threshold become near, those settled in the
meantime are dropped. While few edges are near, one block goes on alone (see `fused`). Each list holds a vertex at most
once.
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
ALONE = 512  #: most edges of a round for one block to go on alone
#: width of a band of distances, in mean weights over the mean degree (Davidson et al. use 32, the size of a warp)
WIDTH = 32

ROUNDS, BANDS, BY_ONE_BLOCK = 0, 1, 2  # positions in `counted`
_TURN = 3  # position in `counted` where block 0 tells the others the round after it has gone on alone
# positions in `piles`: the sizes of the two far piles, and their least distances
_SIZE, _LEAST = 0, 2


class Rule(NamedTuple):
    """chunk: most edges of a range; width: of a band of distances, 0 to choose it by weights and degrees; alone: most
    edges of a round for one block."""

    chunk: int = worklist.CHUNK
    width: int = 0
    alone: int = ALONE


class State(NamedTuple):
    """The arrays of a search on the device.

    distances, marks, waiting int32[n]: the distance, the last round for which a vertex was listed, and whether it is in
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
    """Adds a vertex to a far pile."""
    of.far[pile, cuda.atomic.add(of.piles, _SIZE + pile, 1)] = v


@cuda.jit(device=True, inline=True)
def _lower_least(reached, pile, of):
    """Lowers the least distance of a far pile to at most `reached`."""
    if reached < of.piles[_LEAST + pile]:
        cuda.atomic.min(of.piles, _LEAST + pile, reached)


@cuda.jit(device=True, inline=True)
def _visit(u, k, v, step):
    """Lowers the distance of v, and lists it once, as near or far.

    step: the queue of the next round, its place in the counters, its number, the threshold, the far pile, and rows,
    state and rule.
    """
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
    """Expands the near vertices of one round. search: the threshold, the far pile, rows, state, rule."""
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
    """Divides a far pile: vertices between `below` and the threshold become near, those beyond go to the other pile."""
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
    """Begins with the source, which is near; no other vertex is reached."""
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
    """The whole search. asked int32[1]: the source; rows: `resident.Rows`; of: `State`; rule: `Rule`. Cooperative."""
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
            turn += 1  # its slot is clear: this round has counted nothing
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
    """Near-far shortest paths, one launch per search. `rule`: the first values of a `Rule`."""

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
    """Returns `WIDTH` mean weights over the mean degree, between 1 and FAR // 2."""
    if network.edges == 0:
        return 1
    mean = float(network.weights.mean())
    return min(max(1, round(WIDTH * mean * network.vertices / network.edges)), int(FAR) // 2)
