"""Functions for a warp as a group of threads that work together; in the simulator a group is a block of four threads,
so that, unlike with `primitives`, every exchange between lanes runs there too.

All lanes must call each of these functions. Blocks have one dimension and a multiple of `WIDTH` threads (in the
simulator `WIDTH`, unless a kernel uses only `lane`). `block_group` has the same functions but `union` for whole blocks.
"""

import numpy as np
from numpy import int64, uint64

from grailbench.cuda.gateway import cuda, simulated

if simulated:
    WIDTH = 4  #: lanes of a group

    @cuda.jit(device=True)
    def lane():
        """The index of this thread in its group."""
        return cuda.threadIdx.x % WIDTH

    @cuda.jit(device=True)
    def sync():
        """Waits for all threads of the group; after it, each sees what the others wrote before."""
        cuda.syncthreads()

    @cuda.jit(device=True)
    def broadcast(value, source):
        """The value (an integer) of lane `source`."""
        values = cuda.shared.array(WIDTH, int64)
        values[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = int(values[source])
        cuda.syncthreads()
        return found

    @cuda.jit(device=True)
    def inclusive_sum(value):
        """The sum of the values of all lanes up to and including this one, and the sum over all lanes."""
        terms = cuda.shared.array(cuda.blockDim.x, int64)
        terms[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = int(sum(terms[: cuda.threadIdx.x + 1])), int(sum(terms))
        cuda.syncthreads()
        return found

    @cuda.jit(device=True)
    def exclusive_count(condition):
        """The number of lanes before this one for which the condition holds, and the number of all such lanes."""
        upto, total = inclusive_sum(1 if condition else 0)
        return upto - (1 if condition else 0), total

    @cuda.jit(device=True)
    def any_lane(condition):
        """Whether the condition holds in at least one lane."""
        return inclusive_sum(1 if condition else 0)[1] > 0

    @cuda.jit(device=True)
    def union(value):
        """The values (uint64) of all lanes or'ed."""
        terms = cuda.shared.array(WIDTH, uint64)
        terms[cuda.threadIdx.x] = value
        cuda.syncthreads()
        found = np.bitwise_or.reduce(terms)
        cuda.syncthreads()
        return found

else:
    WIDTH = 32
    _ALL = 0xFFFFFFFF

    @cuda.jit(device=True, inline=True)
    def lane():
        return cuda.threadIdx.x & 31

    @cuda.jit(device=True, inline=True)
    def sync():
        cuda.syncwarp()

    @cuda.jit(device=True, inline=True)
    def broadcast(value, source):
        return cuda.shfl_sync(_ALL, value, source)

    @cuda.jit(device=True, inline=True)
    def inclusive_sum(value):
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
        votes = np.uint32(cuda.ballot_sync(_ALL, condition))
        before = np.uint32((1 << (cuda.threadIdx.x & 31)) - 1)
        return np.int32(cuda.popc(np.uint32(votes & before))), np.int32(cuda.popc(votes))

    @cuda.jit(device=True, inline=True)
    def any_lane(condition):
        return cuda.any_sync(_ALL, condition)

    @cuda.jit(device=True, inline=True)
    def union(value):
        distance = 16
        while distance:
            value |= np.uint64(cuda.shfl_xor_sync(_ALL, np.int64(value), distance))
            distance >>= 1
        return value
