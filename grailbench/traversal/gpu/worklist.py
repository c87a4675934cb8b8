"""A work list inside one cooperative launch: who expands what, and the counters that make one barrier a round enough.

A list holds ranges of edges, (begin, end, vertex), at most `chunk` edges each: a row of many edges is several ranges,
so that no hub stalls a thread. Ranges are expanded by teams of 1 to 32 threads. That a range says where its edges lie
saves the expansion of a level one of the loads that wait for each other, and these are what a level costs.

Ranges and their edges are counted in the two halves of one word, by one atomic that also says where a range goes. The
counters of a round are a slot of three: while round r is expanded from slot r mod 3, what it finds is counted in the
next one, and the one after that is cleared; so between two rounds one barrier does. Every decision is taken by every
thread from the same counters, so that all agree.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from grailbench.device import shuffle
from grailbench.device.gateway import cuda
from grailbench.traversal.index import Network

LISTED, FOUND = 0, 1  #: counters of a slot: ranges (high half) and their edges (low half), vertices found
SLOT = 2
SLOTS = 3
_HALF = 32
_LOW = 2**_HALF - 1
MOST_BITS = 5  #: a team has at most 2**5 threads
CHUNK = 128
THIN = 6  #: edges a vertex below which a network counts as thin


@cuda.jit(device=True, inline=True)
def slot(turn):
    """Where the counters of a round begin."""
    return (turn % SLOTS) * SLOT


@cuda.jit(device=True, inline=True)
def ranges(listed):
    """The number of ranges in a word of counters."""
    return int32(listed >> _HALF)


@cuda.jit(device=True, inline=True)
def edges_of(listed):
    """The number of edges in a word of counters."""
    return int32(listed & _LOW)


@cuda.jit(device=True, inline=True)
def clear(counters, turn):
    """Clear the slot after next; one thread, while round `turn` is expanded."""
    at = slot(turn + 2)
    for i in range(SLOT):
        counters[at + i] = 0


@cuda.jit(device=True, inline=True)
def push(v, begin, end, chunk, queue, counters, at):
    """Put the edges begin..end of a vertex into a list whose counters begin at `at`."""
    degree = int64(end - begin)
    if degree > chunk:
        count = (degree + chunk - 1) // chunk
        first = cuda.atomic.add(counters, at + LISTED, (count << _HALF) + degree) >> _HALF
        for i in range(count):
            queue[first + i, 0] = begin + i * chunk
            queue[first + i, 1] = min(begin + (i + 1) * chunk, end)
            queue[first + i, 2] = v
    elif degree > 0:
        first = cuda.atomic.add(counters, at + LISTED, (int64(1) << _HALF) + degree) >> _HALF
        queue[first, 0] = begin
        queue[first, 1] = end
        queue[first, 2] = v


@cuda.jit(device=True, inline=True)
def team_bits(count, edges, threads):
    """Logarithm of the threads a range: more while threads would be idle or ranges are longer than that on the whole,
    fewer than twice the mean range has edges."""
    bits = 0
    while bits < MOST_BITS and count << bits < max(edges, min(threads, 2 * edges)) and 2 << bits <= threads:
        bits += 1
    return bits


@cuda.jit(device=True, inline=True)
def tally(counters, at, edges, found):
    """Add what the threads of a warp counted each, edges without ranges; all of them arrive."""
    edges, found = int32(edges), int32(found)
    distance = shuffle.WARP // 2
    for _ in range(shuffle.STEPS):
        edges += shuffle.shuffle_down(edges, distance)
        found += shuffle.shuffle_down(found, distance)
        distance //= 2
    if cuda.threadIdx.x % shuffle.WARP == 0:
        if edges:
            cuda.atomic.add(counters, at + LISTED, edges)
        if found:
            cuda.atomic.add(counters, at + FOUND, found)


@cuda.jit(device=True, inline=True)
def begin(source, starts, chunk, queue, counters, counted):
    """Clear both counters; the first round's list holds the source. By one thread."""
    for i in range(SLOT * SLOTS):
        counters[i] = 0
    for i in range(counted.shape[0]):
        counted[i] = 0
    push(source, starts[source], starts[source + 1], chunk, queue, counters, 0)


def alone(expand):
    """A device function by which one block goes on, with its own barriers, while rounds have at most `most` edges.

    It takes (turn, count, edges, counters, most, state): the round, its ranges and edges; each is expanded by
    `expand(workers, turn, count, edges, state)`, workers being this thread's number, of how many. Returns the round
    where it stops, and the edges of those that it expanded after the first.
    """

    @cuda.jit(device=True)
    def go_on(turn, count, edges, counters, most, state):
        explored = -edges
        while 0 < edges <= most:
            explored += edges
            expand((cuda.threadIdx.x, cuda.blockDim.x), turn, count, edges, state)
            turn += 1
            cuda.syncthreads()
            listed = counters[slot(turn) + LISTED]
            count, edges = ranges(listed), edges_of(listed)
        return turn, explored

    return go_on


def expander(visit):
    """A device function that calls `visit(u, k, v, state)` for every edge of a list.

    Its arguments: this thread's number of how many, the list and its number of ranges, the logarithm of the team,
    targets, and the state that `visit` gets.
    """

    @cuda.jit(device=True, inline=True)
    def expand(thread, threads, queue, count, bits, targets, state):
        lane = thread & ((1 << bits) - 1)
        for i in range(thread >> bits, count, threads >> bits):
            u, end = queue[i, 2], queue[i, 1]
            for k in range(queue[i, 0] + lane, end, 1 << bits):
                visit(u, k, targets[k], state)

    return expand


def usual_threads(network: Network) -> int:
    """Threads of a block: fewer where degrees are low, for frontiers are thin then and the barrier of fewer warps is
    cheaper."""
    return 256 if network.edges < THIN * network.vertices else 512


def most_ranges(offsets: np.ndarray, chunk: int) -> int:
    """Ranges that a list can have at once, when every vertex is in it; at least 1."""
    return max(1, int((-(-np.diff(offsets) // chunk)).sum()))
