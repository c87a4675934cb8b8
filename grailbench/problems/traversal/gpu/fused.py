"""Direction-optimising BFS in one cooperative launch (after Beamer, Asanovic and Patterson 2012).

A level is expanded top-down from a work list, or bottom-up while the frontier has large shares of the unexplored edges
and of the vertices. While it is small, one block goes on alone, with lists in shared memory: its barriers cost a
twentieth of those of the grid.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np
from numpy import int32

from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import Prepared, cooperative_shape
from grailbench.problems.traversal.gpu import worklist
from grailbench.problems.traversal.gpu.resident import OneLaunch, turned, upload
from grailbench.problems.traversal.gpu.worklist import FOUND, LISTED, SLOT, SLOTS
from grailbench.problems.traversal.index import FAR, Network

_FAR = int(FAR)
ALPHA, BETA = 14, 24  # Beamer's: bottom-up from frontier edges > unexplored / ALPHA until vertices < n / BETA
ALONE, MOST_ALONE = 512, 1024  # most edges of a frontier for one block to go on alone, and the most that it can
BIG = 256  # most parents that one thread looks through; beyond, a block does

LEVELS, BOTTOM_UP, BY_ONE_BLOCK = 0, 1, 2  # positions in `counted`
_LEVEL, _UNEXPLORED = 3, 4  # where block 0 tells the others how far it has gone on alone

_SIZES = 2 * SLOTS  # counters of a block alone: ranges of three levels in turn, then edges


class Rule(NamedTuple):
    """chunk: most edges of a range; large: most parents that one thread looks through; alone: most edges of a frontier
    for one block; alpha and beta: those of Beamer."""

    chunk: int = worklist.CHUNK
    large: int = BIG
    alone: int = ALONE
    alpha: int = ALPHA
    beta: int = BETA


class State(namedtuple("State", "distances queues big counters counted")):
    """The arrays of a search on the device.

    distances int32[n]; queues int32[2, most, 3]: the work lists; big int32[b]: vertices of more than `rule.large`
    parents, -1 for none; counters int64[6] (`worklist`); counted int32[5]
    """


@cuda.jit(device=True, inline=True)
def _visit(u, k, v, claim):
    """Top-down: claims a vertex. claim: level, starts, distances, list, counters, place in them, chunk."""
    level, starts, distances, queue, counters, at, chunk = claim
    before, begin, end = distances[v], starts[v], starts[v + 1]  # load all three before any is used
    if before == _FAR and cuda.atomic.cas(distances, v, _FAR, np.int32(level + 1)) == _FAR:
        worklist.push(v, begin, end, chunk, queue, counters, at)


_expand = worklist.expander(_visit)


@cuda.jit(device=True)
def _top_down(workers, turn, level, count, edges, search):
    """Expands the level, listed for round `turn` as `count` ranges and `edges` edges. search: rows, state, rule."""
    rows, of, rule = search
    thread, threads = workers
    side, at = turn & 1, worklist.slot(turn + 1)
    claim = (level, rows.starts, of.distances, of.queues[1 - side], of.counters, at, rule.chunk)
    bits = worklist.team_bits(count, edges, threads)
    _expand(thread, threads, of.queues[side], count, bits, rows.targets, claim)


@cuda.jit(device=True)
def _go_on_alone(turn, level, count, edges, search):
    """Expands levels by one block while they have at most `rule.alone` edges, with lists in shared memory.

    Begins with the list of round `turn`, and lists the level where it stops for the next. Returns that level and the
    number of edges of the levels that it expanded after the first.
    """
    rows, of, rule = search
    begins = cuda.shared.array((2, MOST_ALONE), int32)
    ends = cuda.shared.array((2, MOST_ALONE), int32)
    vertices = cuda.shared.array((2, MOST_ALONE), int32)
    sizes = cuda.shared.array(_SIZES, int32)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    queue = of.queues[turn & 1]
    for i in range(thread, count, threads):
        begins[0, i], ends[0, i] = queue[i, 0], queue[i, 1]
    for i in range(thread, _SIZES, threads):
        sizes[i] = 0
    side, after, later, explored = 0, 1, 2, -edges
    cuda.syncthreads()
    while 0 < edges <= rule.alone:
        if thread == 0:
            sizes[later] = sizes[SLOTS + later] = 0
        explored += edges
        bits = worklist.team_bits(count, edges, threads)
        i, teams, lanes = thread >> bits, threads >> bits, 1 << bits
        while i < count:  # loops by hand: a range with a step costs a 64-bit division
            k, end = begins[side, i] + (thread & (lanes - 1)), ends[side, i]
            while k < end:
                v = rows.targets[k]
                old = cuda.atomic.cas(of.distances, v, _FAR, int32(level + 1))
                begin_v, end_v = rows.starts[v], rows.starts[v + 1]  # come while the atomic is waited for
                if old == _FAR and end_v > begin_v:
                    place = cuda.atomic.add(sizes, after, 1)
                    cuda.atomic.add(sizes, SLOTS + after, end_v - begin_v)
                    begins[1 - side, place], ends[1 - side, place], vertices[1 - side, place] = begin_v, end_v, v
                k += lanes
            i += teams
        level += 1
        cuda.syncthreads()
        side, count, edges = 1 - side, sizes[after], sizes[SLOTS + after]
        after, later = later, 3 - after - later
    queue, at = of.queues[1 - (turn & 1)], worklist.slot(turn + 1)
    for i in range(thread, count, threads):
        worklist.push(vertices[side, i], begins[side, i], ends[side, i], rule.chunk, queue, of.counters, at)
    cuda.syncthreads()  # the next call writes `sizes`, and race checkers do not see the barrier of the grid between
    return level, explored


@cuda.jit(device=True)
def _bottom_up(workers, turn, level, rows, back, of, large):
    """Looks for parents on the last level: one thread for a vertex of up to `large` parents, else one block."""
    thread, threads = workers
    distances, at = of.distances, worklist.slot(turn + 1)
    edges = found = 0
    for v in range(thread, distances.shape[0], threads):
        first, last = back.starts[v], back.starts[v + 1]
        if distances[v] == _FAR and last - first <= large:
            for k in range(first, last):
                if distances[back.targets[k]] == level:
                    distances[v] = level + 1
                    edges += rows.starts[v + 1] - rows.starts[v]
                    found += 1
                    break
    for i in range(cuda.blockIdx.x, of.big.shape[0], cuda.gridDim.x):
        v = of.big[i]
        if v < 0:
            continue
        for k in range(back.starts[v] + cuda.threadIdx.x, back.starts[v + 1], cuda.blockDim.x):
            if distances[v] != _FAR:
                break
            if distances[back.targets[k]] == level and cuda.atomic.cas(distances, v, _FAR, np.int32(level + 1)) == _FAR:
                edges += rows.starts[v + 1] - rows.starts[v]
                found += 1
    worklist.tally(of.counters, at, edges, found)


@cuda.jit(device=True)
def _list_level(workers, turn, level, rows, of, chunk):
    """Adds all vertices of a level to the list of round `turn`, which bottom-up steps do not write."""
    thread, threads = workers
    queue, at = of.queues[turn & 1], worklist.slot(turn)
    for v in range(thread, of.distances.shape[0], threads):
        if of.distances[v] == level:
            worklist.push(v, rows.starts[v], rows.starts[v + 1], chunk, queue, of.counters, at)


@cuda.jit(device=True)
def _begin(workers, source, rows, of, chunk):
    """Begins with the source as the first level; no other vertex is found."""
    thread, threads = workers
    for v in range(thread, of.distances.shape[0], threads):
        of.distances[v] = 0 if v == source else _FAR
    if thread == 0:
        worklist.begin(source, rows.starts, chunk, of.queues[0], of.counters, of.counted)


@cuda.jit(cache=True)
def _search(query, rows, back, of, rule):
    """The whole search. query int32[1]: the source; rows, back: `resident.Rows` of the edges and the reversed edges;
    of: `State`; rule: `Rule`. Cooperative, any grid.
    """
    grid = cuda.cg.this_grid()
    workers, n = (cuda.grid(1), cuda.gridsize(1)), of.distances.shape[0]
    search, counters, counted = (rows, of, rule), of.counters, of.counted
    _begin(workers, query[0], rows, of, rule.chunk)
    grid.sync()
    turn, level, unexplored, bottom = 0, 0, rows.starts[n], False
    while True:
        now = worklist.slot(turn)
        listed = counters[now + LISTED]
        count, edges = worklist.ranges(listed), worklist.edges_of(listed)
        if edges == 0:
            break
        unexplored -= edges
        if bottom and counters[now + FOUND] < n // rule.beta:
            bottom = False
            grid.sync()  # all threads must have read this word of counters before it changes
            _list_level(workers, turn, level, rows, of, rule.chunk)
            grid.sync()
            count = worklist.ranges(counters[now + LISTED])  # the word now counts the edges twice
        elif not bottom and edges > unexplored // rule.alpha and edges > rule.alone:
            bottom = True
        if workers[0] == 0:
            worklist.clear(counters, turn)
            counted[BOTTOM_UP] += bottom
        if bottom:
            _bottom_up(workers, turn, level, rows, back, of, rule.large)
            level += 1
            grid.sync()
        elif edges <= rule.alone:
            if cuda.blockIdx.x == 0:
                reached, explored = _go_on_alone(turn, level, count, edges, search)
                if cuda.threadIdx.x == 0:
                    counted[BY_ONE_BLOCK] += reached - level
                    counted[_LEVEL], counted[_UNEXPLORED] = reached, unexplored - explored
            grid.sync()
            level, unexplored = counted[_LEVEL], counted[_UNEXPLORED]
        else:
            _top_down(workers, turn, level, count, edges, search)
            level += 1
            grid.sync()
        turn += 1
    if workers[0] == 0:
        counted[LEVELS] = level


class Fused(OneLaunch):
    """Direction-optimising BFS, one launch per search. `rule`: the first values of a `Rule`."""

    counts = {"levels": LEVELS, "bottom_up": BOTTOM_UP, "by_one_block": BY_ONE_BLOCK}

    def __init__(self, network: Network, threads: int | None = None, rule: tuple[int, ...] = ()):
        super().__init__(counted=5)
        n, threads, rule = network.vertices, threads or worklist.usual_threads(network), Rule(*rule)
        rule = rule._replace(alone=min(rule.alone, MOST_ALONE))
        most = worklist.most_ranges(network.offsets, rule.chunk)
        back = 0 if network.symmetric else 4 * (n + 1 + network.edges)
        self.rows = upload(network, 4 * n + 24 * most + back)
        big = np.flatnonzero(np.diff(network.offsets if network.symmetric else network.reverse[0]) > rule.large)
        self.distances = cuda.device_array(n, np.int32)
        big = cuda.to_device(big.astype(np.int32) if big.size else np.full(1, -1, np.int32))
        queues, counters = cuda.device_array((2, most, 3), np.int32), cuda.to_device(np.zeros(SLOT * SLOTS, np.int64))
        state = State(self.distances, queues, big, counters, self._counted)
        args = self._query, self.rows, turned(network, self.rows), state, Rule(*map(np.int32, rule))
        self._launch = Prepared(_search, args, cooperative_shape(_search, args, threads, per_multiprocessor=1))
