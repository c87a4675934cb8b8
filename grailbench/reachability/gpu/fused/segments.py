"""What the sources of edges make of values at the targets: sums, minima or unions, whole warps at a time.

The one segmented reduction of `grid`. Edges come sorted by source. A warp takes its width of them at a time: while all
its lanes have the same source, they gather in registers, so that a hub's long row is reduced once; else a segmented
reduction by shuffles leaves each source's values with its first lane. Either way few atomics are left to do.
"""

from __future__ import annotations

import numpy as np

from grailbench.device.gateway import cuda
from grailbench.device.shuffle import STEPS, WARP, all_lanes, broadcast_first, shuffle_down, shuffle_up


@cuda.jit(device=True)
def share(begin, end, workers):
    """The part [a, b) of [begin, end) that a warp has: whole warps' widths, contiguous. workers: its number, of how
    many."""
    number, count = workers
    each = np.int64((end - begin) * (1.0 / (count * WARP))) * WARP + WARP  # a float's product: no division by level
    a = begin + number * each
    return a, min(a + each, end)


def segmented(width, identity, combine, load, put):
    """The device function that reduces `width` int32 values over the edges of each source.

    It takes (begin, end, workers, sources, state): edges begin..end - 1, shared out among warps as `share` does, and
    what the others get: `load(k, u, value, state)` sets value, int32[width], to those of edge k, which leads out of u;
    `combine(i, a, b)` makes one of two values number i, of which `identity(i)` changes none; `put(u, value, state)`, by
    one lane, adds values to those of vertex u.
    """

    @cuda.jit(device=True)
    def flush(u, gathered, state):
        """Reduce what the lanes have gathered for u, and begin anew."""
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
                    whose = shuffle_down(u, 1 << j)  # by every lane: one behind an 'and' would wait for ever
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
