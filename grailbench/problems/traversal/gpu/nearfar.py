"""Shortest paths from a source with a near and a far pile, in one cooperative launch (Davidson et al. 2014).

Vertices nearer than a threshold are expanded; when none is left, it rises and the far pile is divided. A round gives
every block a share. If shares are small, a block goes on by itself from a queue in shared memory (after Wang, Fussell
and Lin 2021); a queue that overflows, and rows of more than `chunk` edges, go to the list of the next round. Whoever
lowers a distance queues its vertex with it: a distance read late is too large, which costs work but no answer. Lists
hold a vertex at most once.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np
from numpy import int32

from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import Prepared, cooperative_shape
from grailbench.problems.traversal.gpu import worklist
from grailbench.problems.traversal.gpu.resident import OneLaunch, upload
from grailbench.problems.traversal.gpu.worklist import LISTED, SLOT, SLOTS
from grailbench.problems.traversal.index import FAR, Network

_FAR = int(FAR)
ROOM = 1024  #: most ranges that the queue of a block can hold, and most vertices that it keeps for the far pile
PASSES = 8  #: what a block does alone in a step: more ranges than its teams take in so many turns overflow its queue
SHARE = 512  #: most edges of a block's share for the block to go on by itself
#: width of a band of distances, in mean weights over the mean degree (Davidson et al. use 32, the size of a warp)
WIDTH, THIN_WIDTH = 32, 48

ROUNDS, BANDS, BY_BLOCKS = 0, 1, 2  # positions in `counted`
# positions in `piles`: the sizes and the least distances of three piles in turn; the third is clear
_SIZE, _LEAST = 0, 3
_PILES = 3
# positions in the counters of a block: ranges of three hops in turn, vertices for the far pile, those of them that
# nobody else has put there, their place in it, their least distance
_OUT, _NEW, _PLACE, _NEAREST = 3, 4, 5, 6
_COUNTERS = 7


class Rule(NamedTuple):
    """chunk: most edges of a range; width: of a band of distances, 0 to choose it by weights and degrees; share: most
    edges of a block's share for the block to go on by itself; room: most ranges in its queue, up to `ROOM`, 0 to choose
    it by `PASSES`; bits: the binary logarithm of the threads per range there, -1 to choose it by the mean degree."""

    chunk: int = worklist.CHUNK
    width: int = 0
    share: int = SHARE
    room: int = 0
    bits: int = -1


class State(namedtuple("State", "distances marks waiting queues far piles counters counted")):
    """The arrays of a search on the device.

    distances, marks, waiting int32[n]: the distance, the last round for which a vertex was listed, and whether it is in
    a far pile; queues int32[2, most, 3]: the work lists; far int32[2, n] and piles int32[6]: the far piles and their
    counters; counters int64[6] (`worklist`); counted int32[3]
    """


@cuda.jit(device=True, inline=True)
def _put_far(v, band, of):
    """Adds a vertex to a far pile."""
    of.far[band & 1, cuda.atomic.add(of.piles, _SIZE + band % _PILES, 1)] = v


@cuda.jit(device=True, inline=True)
def _lower_least(reached, band, of):
    """Lowers the least distance of a far pile to at most `reached`."""
    at = _LEAST + band % _PILES
    if reached < of.piles[at]:
        cuda.atomic.min(of.piles, at, reached)


@cuda.jit(device=True, inline=True)
def _list(v, begin, end, turn, of, rule):
    """Lists a vertex for a round, once."""
    if cuda.atomic.exch(of.marks, v, turn) != turn:
        worklist.push(v, begin, end, rule.chunk, of.queues[turn & 1], of.counters, worklist.slot(turn))


@cuda.jit(device=True, inline=True)
def _visit(u, k, v, step):
    """Lowers the distance of v, and lists it once, as near or far. step: the next round, the threshold, the far pile,
    and rows, state and rule."""
    turn, limit, band, rows, of, rule = step
    reached = of.distances[u] + rows.weights[k]
    if reached >= of.distances[v] or cuda.atomic.min(of.distances, v, reached) <= reached:
        return
    if reached >= limit:
        if cuda.atomic.exch(of.waiting, v, 1) == 0:
            _put_far(v, band, of)
        _lower_least(reached, band, of)
    else:
        _list(v, rows.starts[v], rows.starts[v + 1], turn, of, rule)


_expand = worklist.expander(_visit)


@cuda.jit(device=True)
def _near(workers, turn, count, edges, search):
    """Expands the near vertices of a round. search: the threshold, the far pile, rows, state, rule."""
    limit, band, rows, of, rule = search
    thread, threads = workers
    bits = worklist.team_bits(count, edges, threads)
    _expand(thread, threads, of.queues[turn & 1], count, bits, rows.targets, (turn + 1, limit, band, rows, of, rule))


@cuda.jit(device=True)
def _deal(workers, turn, below, search):
    """Divides the far pile `band - 1`: vertices between `below` and the threshold become near, those beyond go to the
    next pile."""
    limit, band, rows, of, rule = search
    thread, threads = workers
    for i in range(thread, of.piles[_SIZE + (band - 1) % _PILES], threads):
        v = of.far[(band - 1) & 1, i]
        reached = of.distances[v]
        if reached >= limit:
            _put_far(v, band, of)
            _lower_least(reached, band, of)
            continue
        of.waiting[v] = 0
        if reached >= below:
            _list(v, rows.starts[v], rows.starts[v + 1], turn + 1, of, rule)


@cuda.jit(device=True, inline=True)
def _offer(v, reached, to, queue, step):
    """Lowers the distance of v, and queues it for the next hop of this block, lists it for the next round or keeps it
    for the far pile. to: the side and the counter of the next hop; queue: `_go_on`'s arrays; step: as in `_visit`."""
    (side, counter), (begins, ends, vertices, reaches, out, sizes) = to, queue
    turn, limit, band, rows, of, rule = step
    if reached >= _FAR:
        return
    old = cuda.atomic.min(of.distances, v, reached)
    begin, end = rows.starts[v], rows.starts[v + 1]  # come while the atomic is waited for
    if old <= reached or begin == end:
        return
    if reached >= limit:
        cuda.atomic.min(sizes, _NEAREST, reached)
        place = cuda.atomic.add(sizes, _OUT, 1)
        if place < ROOM:
            out[place] = v
        elif cuda.atomic.exch(of.waiting, v, 1) == 0:
            _put_far(v, band, of)
        return
    place = rule.room
    if end - begin <= rule.chunk:
        place = cuda.atomic.add(sizes, counter, 1)
    if place < rule.room:
        begins[side, place], ends[side, place], vertices[side, place] = begin, end, v
        reaches[side, place] = reached
    else:
        _list(v, begin, end, turn, of, rule)


@cuda.jit(device=True)
def _go_on(turn, count, below, search):
    """Expands this block's share of `count` ranges of the near list and all near vertices that it leads to, until they
    overflow its queue; or, from below >= 0 on, its share of the `count` vertices of the far pile `band - 1` (see
    `_deal`)."""
    limit, band, rows, of, rule = search
    begins = cuda.shared.array((2, ROOM), int32)
    ends = cuda.shared.array((2, ROOM), int32)
    vertices = cuda.shared.array((2, ROOM), int32)
    reaches = cuda.shared.array((2, ROOM), int32)
    out = cuda.shared.array(ROOM, int32)
    sizes = cuda.shared.array(_COUNTERS, int32)
    queue = (begins, ends, vertices, reaches, out, sizes)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    distances, starts, room = of.distances, rows.starts, rule.room
    share = (count + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = cuda.blockIdx.x * share
    last = min(count, first + share)
    if first >= last:
        return
    if thread == 0:
        for i in range(_COUNTERS):
            sizes[i] = 0
        sizes[_NEAREST] = _FAR
    team, teams = thread >> rule.bits, threads >> rule.bits
    lane, lanes = thread & ((1 << rule.bits) - 1), 1 << rule.bits
    side, now, after, later = 0, 0, 1, 2  # the queue of this hop, and the counters of this hop and the next two
    while first < last:
        cuda.syncthreads()  # all have seen that the queue is empty
        for i in range(first + thread, min(last, first + room), threads):
            if below < 0:
                place = cuda.atomic.add(sizes, now, 1)
                begins[side, place], ends[side, place] = of.queues[turn & 1, i, 0], of.queues[turn & 1, i, 1]
                vertices[side, place] = of.queues[turn & 1, i, 2]
                reaches[side, place] = _FAR  # the distance that the last barrier of the grid has made known
                continue
            v = of.far[(band - 1) & 1, i]
            reached, begin, end = distances[v], starts[v], starts[v + 1]
            if reached >= limit:
                _put_far(v, band, of)
                _lower_least(reached, band, of)
                continue
            of.waiting[v] = 0
            if reached < below or begin == end:
                continue
            if end - begin > rule.chunk:
                _list(v, begin, end, turn + 1, of, rule)
                continue
            place = cuda.atomic.add(sizes, now, 1)
            begins[side, place], ends[side, place], vertices[side, place] = begin, end, v
            reaches[side, place] = reached
        first += room
        cuda.syncthreads()
        size = sizes[now]
        while size > 0:
            if thread == 0:
                sizes[later] = 0
            i = team  # loops by hand: a range with a step costs a 64-bit division
            while i < size:
                u, k, end, known = vertices[side, i], begins[side, i] + lane, ends[side, i], reaches[side, i]
                while k < end:
                    v, reached = rows.targets[k], min(known, distances[u]) + rows.weights[k]
                    _offer(v, reached, (1 - side, after), queue, (turn + 1, limit, band, rows, of, rule))
                    k += lanes
                i += teams
            side, now, after, later = 1 - side, after, later, now
            cuda.syncthreads()
            size = sizes[now]
            if size > room:
                for j in range(thread, room, threads):
                    _list(vertices[side, j], begins[side, j], ends[side, j], turn + 1, of, rule)
                cuda.syncthreads()
                size = 0
                if thread == 0:
                    sizes[now] = 0
    # what is far goes to the pile at once: one atomic on its size for the block
    for i in range(thread, min(sizes[_OUT], ROOM), threads):
        v = out[i]
        if cuda.atomic.exch(of.waiting, v, 1) == 0:
            vertices[0, cuda.atomic.add(sizes, _NEW, 1)] = v
    cuda.syncthreads()
    new = sizes[_NEW]
    if thread == 0:
        sizes[_PLACE] = cuda.atomic.add(of.piles, _SIZE + band % _PILES, new)
        _lower_least(sizes[_NEAREST], band, of)
    cuda.syncthreads()
    for i in range(thread, new, threads):
        of.far[band & 1, sizes[_PLACE] + i] = vertices[0, i]
    cuda.syncthreads()  # the next call writes `sizes`, and race checkers do not see the barrier of the grid between


@cuda.jit(device=True)
def _begin(workers, source, rows, of, chunk):
    """Begins with the source, which is near; no other vertex is reached."""
    thread, threads = workers
    for v in range(thread, of.distances.shape[0], threads):
        of.distances[v] = 0 if v == source else _FAR
        of.marks[v] = -1
        of.waiting[v] = 0
    if thread == 0:
        for i in range(_PILES):
            of.piles[_SIZE + i], of.piles[_LEAST + i] = 0, _FAR
        worklist.begin(source, rows.starts, chunk, of.queues[0], of.counters, of.counted)


@cuda.jit(cache=True)
def _search(query, rows, of, rule):
    """The whole search. query int32[1]: the source; rows: `resident.Rows`; of: `State`; rule: `Rule`. Cooperative."""
    grid = cuda.cg.this_grid()
    workers = (cuda.grid(1), cuda.gridsize(1))
    piles, counters, counted = of.piles, of.counters, of.counted
    _begin(workers, query[0], rows, of, rule.chunk)
    grid.sync()
    turn, limit, band, narrow = 0, rule.width, 0, rule.share * cuda.gridDim.x
    while True:
        listed = counters[worklist.slot(turn) + LISTED]
        count, edges, below = worklist.ranges(listed), worklist.edges_of(listed), -1
        if edges == 0:
            count = piles[_SIZE + band % _PILES]
            if count == 0:
                break
            edges = count << rule.bits
            below, limit = limit, max(limit, piles[_LEAST + band % _PILES]) + rule.width
            band += 1
        search = (limit, band, rows, of, rule)
        if workers[0] == 0:
            worklist.clear(counters, turn)
            if below >= 0:
                piles[_SIZE + (band + 1) % _PILES], piles[_LEAST + (band + 1) % _PILES] = 0, _FAR
            if edges <= narrow:
                counted[BY_BLOCKS] += 1
        if edges <= narrow:
            _go_on(turn, count, below, search)
        elif below < 0:
            _near(workers, turn, count, edges, search)
        else:
            _deal(workers, turn, below, search)
        turn += 1
        grid.sync()
    if workers[0] == 0:
        counted[ROUNDS], counted[BANDS] = turn, band


class NearFar(OneLaunch):
    """Near-far shortest paths, one launch per search. `rule`: the first values of a `Rule`; `per`: blocks per
    multiprocessor, 0 to choose it by the mean degree."""

    counts = {"rounds": ROUNDS, "bands": BANDS, "by_blocks": BY_BLOCKS}

    def __init__(self, network: Network, threads: int | None = None, rule: tuple[int, ...] = (), per: int = 0):
        super().__init__(counted=3)
        n, threads, rule = network.vertices, threads or worklist.usual_threads(network), Rule(*rule)
        bits = team_bits(network) if rule.bits < 0 else rule.bits
        room = rule.room or min(max(1, PASSES * (threads >> bits)), ROOM)
        rule = rule._replace(width=rule.width or band_width(network), room=room, bits=bits)
        most = worklist.most_ranges(network.offsets, rule.chunk)
        self.rows = upload(network, 20 * n + 24 * most)
        arrays = [cuda.device_array(shape, np.int32) for shape in (n, n, n, (2, most, 3), (2, n))]
        piles, counters = np.zeros(2 * _PILES, np.int32), np.zeros(SLOT * SLOTS, np.int64)
        self.distances, state = arrays[0], State(*arrays, *map(cuda.to_device, (piles, counters)), self._counted)
        args = self._query, self.rows, state, Rule(*map(np.int32, rule))
        per = per or blocks_per(network)
        self._launch = Prepared(_search, args, cooperative_shape(_search, args, threads, per_multiprocessor=per))


def blocks_per(network: Network) -> int:
    """Returns the blocks per multiprocessor: two for thin networks, whose shares are soon done."""
    return 2 if worklist.thin(network) else 1


def band_width(network: Network) -> int:
    """Returns `WIDTH`, or `THIN_WIDTH`, mean weights over the mean degree, between 1 and FAR // 2."""
    if network.edges == 0:
        return 1
    width = THIN_WIDTH if worklist.thin(network) else WIDTH
    mean = float(network.weights.mean())
    return min(max(1, round(width * mean * network.vertices / network.edges)), int(FAR) // 2)


def team_bits(network: Network) -> int:
    """Returns the binary logarithm of the threads per range: as many as the mean degree, rounded up, at most a warp."""
    mean = -(-network.edges // network.vertices)
    return min(max(mean - 1, 0).bit_length(), worklist.MOST_BITS)
