"""A whole block of `WIDTH` threads as a group that works on one thing: the functions of `warp_group`, for a block."""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from grailbench.device import warp_group
from grailbench.device.gateway import cuda, simulated

WIDTH = 8 if simulated else 256  #: threads of a group, and so of its block
_WARPS = WIDTH // warp_group.WIDTH


@cuda.jit(device=True)
def lane():
    """This thread's number in its group."""
    return cuda.threadIdx.x


@cuda.jit(device=True)
def sync():
    """Wait for the group; after it every lane sees what the others wrote before."""
    cuda.syncthreads()


@cuda.jit(device=True)
def broadcast(value, source):
    """The integer of lane `source`, which is the same in all lanes."""
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
        """The sum of the values of the lanes up to and including this one, and the sum of all."""
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
        """For how many lanes before this one the condition holds, and for how many in all."""
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
        """Whether the condition holds in some lane."""
        return cuda.syncthreads_or(np.int32(condition)) != 0
