"""The functions of `warp_group` for a group of threads that is a whole block of `WIDTH` threads."""

import numpy as np
from numpy import int32, int64

from grailbench.cuda import warp_group
from grailbench.cuda.gateway import cuda, simulated

WIDTH = 8 if simulated else 256  #: threads of a group, which is a block
_WARPS = WIDTH // warp_group.WIDTH


@cuda.jit(device=True)
def lane():
    """The index of this thread in its group."""
    return cuda.threadIdx.x


@cuda.jit(device=True)
def sync():
    """Waits for all threads of the group; after it, each sees what the others wrote before."""
    cuda.syncthreads()


@cuda.jit(device=True)
def broadcast(value, source):
    """The value (an integer) of lane `source`; all lanes must pass the same `source`."""
    cell = cuda.shared.array(1, int64)
    if cuda.threadIdx.x == source:
        cell[0] = value
    cuda.syncthreads()
    found = cell[0]
    cuda.syncthreads()
    return found


if simulated:
    inclusive_sum, exclusive_count, any_lane = (
        warp_group.inclusive_sum,
        warp_group.exclusive_count,
        warp_group.any_lane,
    )

else:

    @cuda.jit(device=True)
    def inclusive_sum(value):
        """The sum of the values of all lanes up to and including this one, and the sum over all lanes."""
        totals = cuda.shared.array(_WARPS, int64)
        mine = cuda.threadIdx.x // 32
        upto, total = warp_group.inclusive_sum(value)
        if cuda.threadIdx.x & 31 == 0:
            totals[mine] = total
        cuda.syncthreads()
        before, everything = np.int64(0), np.int64(0)
        for other in range(_WARPS):
            if other < mine:
                before += totals[other]
            everything += totals[other]
        cuda.syncthreads()
        return before + upto, everything

    @cuda.jit(device=True)
    def exclusive_count(condition):
        """The number of lanes before this one for which the condition holds, and the number of all such lanes."""
        totals = cuda.shared.array(_WARPS, int32)
        mine = cuda.threadIdx.x // 32
        within, total = warp_group.exclusive_count(condition)
        if cuda.threadIdx.x & 31 == 0:
            totals[mine] = total
        cuda.syncthreads()
        before, everything = np.int32(0), np.int32(0)
        for other in range(_WARPS):
            if other < mine:
                before += totals[other]
            everything += totals[other]
        cuda.syncthreads()
        return np.int32(before + within), everything

    @cuda.jit(device=True)
    def any_lane(condition):
        """Whether the condition holds in at least one lane."""
        return cuda.syncthreads_or(np.int32(condition)) != 0
