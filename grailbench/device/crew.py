"""A crew: a whole block of `WIDTH` threads that works on one thing; the same words as `team`, with barriers."""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from grailbench.device import team
from grailbench.device.gateway import cuda, simulated

WIDTH = 8 if simulated else 256  #: threads of a crew, and so of its block
_TEAMS = WIDTH // team.WIDTH


@cuda.jit(device=True)
def lane():
    """This thread's place in its crew."""
    return cuda.threadIdx.x


@cuda.jit(device=True)
def meet():
    """Wait for the crew; what a lane wrote before is seen by all after."""
    cuda.syncthreads()


@cuda.jit(device=True)
def told(value, by):
    """The integer that lane `by` has; the same `by` in all lanes."""
    cell = cuda.shared.array(1, int64)
    if cuda.threadIdx.x == by:
        cell[0] = value
    cuda.syncthreads()
    found = cell[0]
    cuda.syncthreads()
    return found


if simulated:
    summed, placed, some = team.summed, team.placed, team.some

else:

    @cuda.jit(device=True)
    def summed(value):
        """The sum of the lanes' values up to and with this lane's, and of all."""
        totals = cuda.shared.array(_TEAMS, int64)
        mine = cuda.threadIdx.x // 32
        upto, total = team.summed(value)
        if cuda.threadIdx.x & 31 == 0:
            totals[mine] = total
        cuda.syncthreads()
        before, everything = np.int64(0), np.int64(0)
        for other in range(_TEAMS):
            if other < mine:
                before += totals[other]
            everything += totals[other]
        cuda.syncthreads()
        return before + upto, everything

    @cuda.jit(device=True)
    def placed(condition):
        """How many lanes before this one the condition holds for, and how many in all."""
        totals = cuda.shared.array(_TEAMS, int32)
        mine = cuda.threadIdx.x // 32
        within, total = team.placed(condition)
        if cuda.threadIdx.x & 31 == 0:
            totals[mine] = total
        cuda.syncthreads()
        before, everything = np.int32(0), np.int32(0)
        for other in range(_TEAMS):
            if other < mine:
                before += totals[other]
            everything += totals[other]
        cuda.syncthreads()
        return np.int32(before + within), everything

    @cuda.jit(device=True)
    def some(condition):
        """Whether the condition holds in some lane."""
        return cuda.syncthreads_or(np.int32(condition)) != 0
