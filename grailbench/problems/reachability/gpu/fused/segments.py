"""Segmented reduction of values at the targets of edges to their sources: sums, minima or unions, by whole warps.

`grid` uses it in steps 2 and 5. Edges are sorted by source. A warp processes one edge per lane at a time. While all its
lanes have the same source, they accumulate in registers, so that the long row of a hub is reduced once. Otherwise a
segmented reduction by shuffles leaves the values of each source in its first lane. Both ways need few atomics.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda.gateway import cuda
from grailbench.cuda.shuffle import STEPS, WARP, all_lanes, broadcast_first, shuffle_down, shuffle_up


@cuda.jit(device=True)
def share(begin, end, workers):
    """Returns the part [a, b) of [begin, end) of a warp, in multiples of the warp's width.

    workers: the number of the warp, and the number of warps.
    """
    number, count = workers
    each = np.int64((end - begin) * (1.0 / (count * WARP))) * WARP + WARP  # a float product avoids a division
    a = begin + number * each
    return a, min(a + each, end)


def segmented(width, identity, combine, load, put):
    """Returns the device function that reduces `width` int32 values over the edges of each source.

    It takes (begin, end, workers, sources, state), and divides the edges begin..end - 1 among warps as `share` does.
    `load(k, u, value, state)` sets value, int32[width], to the values of edge k, which leaves u; `combine(i, a, b)`
    combines two values number i, with the neutral value `identity(i)`; `put(u, value, state)`, called by one lane,
    combines values into those of vertex u.
    """

    @cuda.jit(device=True)
    def flush(u, gathered, state):
        """Reduces the values that the lanes have accumulated for u, puts them, and resets the accumulators."""
        for i in range(width):
            for j in range(STEPS):
                gathered[i] = combine(i, gathered[i], shuffle_down(gathered[i], 1 << j))
        if cuda.threadIdx.x % WARP == 0:
            put(u, gathered, state)
        for i in range(width):
            gathered[i] = identity(i)

    @cuda.jit(device=True)
    def reduce(begin, end, workers, sources, state):
        lane = cuda.threadIdx.x % WARP
        a, b = share(begin, end, workers)
        gathered = cuda.local.array(width, np.int32)
        value = cuda.local.array(width, np.int32)
        current = np.int32(-1)
        for i in range(width):
            gathered[i] = identity(i)
        for k0 in range(a, b, WARP):
            k = k0 + lane
            u = np.int32(-1)
            for i in range(width):
                value[i] = identity(i)
            if k < b:
                u = sources[k]
                load(k, u, value, state)
            if all_lanes(u == broadcast_first(u)):
                if u != current:
                    if current >= 0:
                        flush(current, gathered, state)
                    current = u
                for i in range(width):
                    gathered[i] = combine(i, gathered[i], value[i])
            else:
                for j in range(STEPS):
                    whose = shuffle_down(u, 1 << j)  # called by every lane: behind an 'and' it would deadlock
                    same = lane + (1 << j) < WARP and whose == u
                    for i in range(width):
                        other = shuffle_down(value[i], 1 << j)
                        if same:
                            value[i] = combine(i, value[i], other)
                before = shuffle_up(u, 1)
                if (lane == 0 or before != u) and u >= 0:
                    put(u, value, state)
        if current >= 0:
            flush(current, gathered, state)

    return reduce
