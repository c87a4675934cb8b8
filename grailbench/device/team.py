"""A team: the lanes that work on one thing together. On a GPU a warp; in the simulator a whole block of four threads.

Unlike `warp`, whose simulated warp is one thread, this runs every exchange between lanes in the simulator too. All
lanes of a team must arrive at every one of these. Blocks are a multiple of `WIDTH` threads in one dimension; in the
simulator exactly `WIDTH`, but where a kernel uses `lane` alone. `crew` offers the same for whole blocks, so that a
kernel can be written for either; in the simulator both are blocks, and what is written here serves `crew` too.
"""

from __future__ import annotations

import numpy as np
from numba import int64

from grailbench.device.gateway import cuda, simulated

if simulated:
    WIDTH = 4  #: lanes of a team

    @cuda.jit(device=True)
    def lane():
        """This thread's place in its team."""
        return cuda.threadIdx.x % WIDTH

    @cuda.jit(device=True)
    def meet():
        """Wait for the team; what a lane wrote before is seen by all after."""
        cuda.syncthreads()

    @cuda.jit(device=True)
    def told(value, by):
        """The integer that lane `by` has."""
        values = cuda.shared.array(WIDTH, int64)
        values[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = int(values[by])
        cuda.syncthreads()
        return found

    @cuda.jit(device=True)
    def summed(value):
        """The sum of the lanes' values up to and with this lane's, and of all."""
        terms = cuda.shared.array(cuda.blockDim.x, int64)
        terms[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = int(sum(terms[: cuda.threadIdx.x + 1])), int(sum(terms))
        cuda.syncthreads()
        return found

    @cuda.jit(device=True)
    def placed(condition):
        """How many lanes before this one the condition holds for, and how many in all."""
        upto, total = summed(1 if condition else 0)
        return upto - (1 if condition else 0), total

    @cuda.jit(device=True)
    def some(condition):
        """Whether the condition holds in some lane."""
        return summed(1 if condition else 0)[1] > 0

else:
    WIDTH = 32
    _ALL = 0xFFFFFFFF

    @cuda.jit(device=True, inline=True)
    def lane():
        """This thread's place in its team."""
        return cuda.threadIdx.x & 31

    @cuda.jit(device=True, inline=True)
    def meet():
        """Wait for the team; what a lane wrote before is seen by all after."""
        cuda.syncwarp()

    @cuda.jit(device=True, inline=True)
    def told(value, by):
        """The integer that lane `by` has."""
        return cuda.shfl_sync(_ALL, value, by)

    @cuda.jit(device=True, inline=True)
    def summed(value):
        """The sum of the lanes' values up to and with this lane's, and of all."""
        place = cuda.threadIdx.x & 31
        distance = 1
        while distance < 32:
            below = cuda.shfl_up_sync(_ALL, value, distance)
            if place >= distance:
                value += below
            distance += distance
        return value, cuda.shfl_sync(_ALL, value, 31)

    @cuda.jit(device=True, inline=True)
    def placed(condition):
        """How many lanes before this one the condition holds for, and how many in all."""
        votes = np.uint32(cuda.ballot_sync(_ALL, condition))
        before = np.uint32((1 << (cuda.threadIdx.x & 31)) - 1)
        return np.int32(cuda.popc(np.uint32(votes & before))), np.int32(cuda.popc(votes))

    @cuda.jit(device=True, inline=True)
    def some(condition):
        """Whether the condition holds in some lane."""
        return cuda.any_sync(_ALL, condition)
