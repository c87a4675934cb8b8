"""A warp as a group of threads that work on one thing; in the simulator the group is a whole block of four threads.

Unlike `shuffle`, whose simulated warp is one thread, this runs every exchange between lanes in the simulator too. All
lanes of a group must arrive at every one of these. Blocks are a multiple of `WIDTH` threads in one dimension; in the
simulator exactly `WIDTH`, except where a kernel uses `lane` alone. `block_group` offers the same for whole blocks, so a
kernel can be written for either. In the simulator both are blocks, and the code here serves `block_group` too.
"""

from __future__ import annotations

import numpy as np
from numba import int64

from grailbench.device.gateway import cuda, simulated

if simulated:
    WIDTH = 4  #: lanes of a group

    @cuda.jit(device=True)
    def lane():
        """This thread's number in its group."""
        return cuda.threadIdx.x % WIDTH

    @cuda.jit(device=True)
    def sync():
        """Wait for the group; after it every lane sees what the others wrote before."""
        cuda.syncthreads()

    @cuda.jit(device=True)
    def broadcast(value, source):
        """The integer of lane `source`."""
        values = cuda.shared.array(WIDTH, int64)
        values[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = int(values[source])
        cuda.syncthreads()
        return found

    @cuda.jit(device=True)
    def inclusive_sum(value):
        """The sum of the values of the lanes up to and including this one, and the sum of all."""
        terms = cuda.shared.array(cuda.blockDim.x, int64)
        terms[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = int(sum(terms[: cuda.threadIdx.x + 1])), int(sum(terms))
        cuda.syncthreads()
        return found

    @cuda.jit(device=True)
    def exclusive_count(condition):
        """For how many lanes before this one the condition holds, and for how many in all."""
        upto, total = inclusive_sum(1 if condition else 0)
        return upto - (1 if condition else 0), total

    @cuda.jit(device=True)
    def any_lane(condition):
        """Whether the condition holds in some lane."""
        return inclusive_sum(1 if condition else 0)[1] > 0

else:
    WIDTH = 32
    _ALL = 0xFFFFFFFF

    @cuda.jit(device=True, inline=True)
    def lane():
        """This thread's number in its group."""
        return cuda.threadIdx.x & 31

    @cuda.jit(device=True, inline=True)
    def sync():
        """Wait for the group; after it every lane sees what the others wrote before."""
        cuda.syncwarp()

    @cuda.jit(device=True, inline=True)
    def broadcast(value, source):
        """The integer of lane `source`."""
        return cuda.shfl_sync(_ALL, value, source)

    @cuda.jit(device=True, inline=True)
    def inclusive_sum(value):
        """The sum of the values of the lanes up to and including this one, and the sum of all."""
        place = cuda.threadIdx.x & 31
        distance = 1
        while distance < 32:
            earlier = cuda.shfl_up_sync(_ALL, value, distance)
            if place >= distance:
                value += earlier
            distance += distance
        return value, cuda.shfl_sync(_ALL, value, 31)

    @cuda.jit(device=True, inline=True)
    def exclusive_count(condition):
        """For how many lanes before this one the condition holds, and for how many in all."""
        votes = np.uint32(cuda.ballot_sync(_ALL, condition))
        before = np.uint32((1 << (cuda.threadIdx.x & 31)) - 1)
        return np.int32(cuda.popc(np.uint32(votes & before))), np.int32(cuda.popc(votes))

    @cuda.jit(device=True, inline=True)
    def any_lane(condition):
        """Whether the condition holds in some lane."""
        return cuda.any_sync(_ALL, condition)
