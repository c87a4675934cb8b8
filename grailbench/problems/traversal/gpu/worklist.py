"""A work list inside one cooperative launch, with counters that need only one barrier per round.

A list holds ranges (begin, end, vertex) of at most `chunk` edges, which teams of 1 to 32 threads expand. The numbers of
ranges and of their edges are the halves of one word: one atomic add updates both and gives a place. Counters have three
slots: while round r is expanded from slot r mod 3, the next counts its findings and the one after is cleared.
"""

import numpy as np
from numpy import int32, int64

from grailbench.cuda import primitives
from grailbench.cuda.gateway import cuda
from grailbench.problems.traversal.index import Network

LISTED, FOUND = 0, 1  #: counters of a slot: ranges (high half) and their edges (low half), vertices found
SLOT = 2
SLOTS = 3
_HALF = 32
_LOW = 2**_HALF - 1
MOST_BITS = 5  #: a team has at most 2**5 threads
CHUNK = 128
THIN = 6  #: edges per vertex below which a network counts as thin


@cuda.jit(device=True, inline=True)
def slot(turn):
    """Returns where the counters of a round begin."""
    return (turn % SLOTS) * SLOT


@cuda.jit(device=True, inline=True)
def ranges(listed):
    """Returns the number of ranges in a word of counters."""
    return int32(listed >> _HALF)


@cuda.jit(device=True, inline=True)
def edges_of(listed):
    """Returns the number of edges in a word of counters."""
    return int32(listed & _LOW)


@cuda.jit(device=True, inline=True)
def clear(counters, turn):
    """Clears the slot after the next one, by one thread, while round `turn` is expanded."""
    at = slot(turn + 2)
    for i in range(SLOT):
        counters[at + i] = 0


@cuda.jit(device=True, inline=True)
def push(v, begin, end, chunk, queue, counters, at):
    """Adds the edges begin..end - 1 of a vertex to a list whose counters begin at `at`."""
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
    """Returns the binary logarithm of the threads per range.

    It grows while threads would be idle or the mean range has more edges, but not beyond twice the mean range.
    """
    bits = 0
    while bits < MOST_BITS and count << bits < max(edges, min(threads, 2 * edges)) and 2 << bits <= threads:
        bits += 1
    return bits


@cuda.jit(device=True, inline=True)
def tally(counters, at, edges, found):
    """Adds the counts of the threads of a warp to the counters, edges without ranges; all its threads must call it."""
    edges, found = int32(edges), int32(found)
    distance = primitives.WARP // 2
    for _ in range(primitives.STEPS):
        edges += primitives.shuffle_down(edges, distance)
        found += primitives.shuffle_down(found, distance)
        distance //= 2
    if cuda.threadIdx.x % primitives.WARP == 0:
        if edges:
            cuda.atomic.add(counters, at + LISTED, edges)
        if found:
            cuda.atomic.add(counters, at + FOUND, found)


@cuda.jit(device=True, inline=True)
def begin(source, starts, chunk, queue, counters, counted):
    """Clears the counters and lists the source for the first round; by one thread."""
    for i in range(SLOT * SLOTS):
        counters[i] = 0
    for i in range(counted.shape[0]):
        counted[i] = 0
    push(source, starts[source], starts[source + 1], chunk, queue, counters, 0)


def expander(visit):
    """Returns a device function that calls `visit(u, k, v, state)` for every edge of a list.

    Its arguments are the number of this thread, the number of threads, the list, its number of ranges, the binary
    logarithm of the threads per range, the targets, and the state for `visit`.
    """

    @cuda.jit(device=True, inline=True)
    def expand(thread, threads, queue, count, bits, targets, state):
        lane = thread & ((1 << bits) - 1)
        for i in range(thread >> bits, count, threads >> bits):
            u, end = queue[i, 2], queue[i, 1]
            for k in range(queue[i, 0] + lane, end, 1 << bits):
                visit(u, k, targets[k], state)

    return expand


def thin(network: Network) -> bool:
    """Returns whether vertices have few edges, as those of roads: then frontiers are thin too."""
    return network.edges < THIN * network.vertices


def usual_threads(network: Network) -> int:
    """Returns the threads per block: fewer for thin networks, where small barriers are cheaper."""
    return 256 if thin(network) else 512


def most_ranges(offsets: np.ndarray, chunk: int) -> int:
    """Returns the most ranges that a list can hold, when every vertex is in it; at least 1."""
    return max(1, int((-(-np.diff(offsets) // chunk)).sum()))
