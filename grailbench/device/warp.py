"""What the lanes of a warp do together, and what stands for it in the simulator, where a warp is one thread.

All lanes of the warp must arrive at every one of these.
"""

from __future__ import annotations

import numpy as np

from grailbench.device.gateway import cuda, simulated

ALL = np.uint32(0xFFFFFFFF)

if simulated:
    WARP = 1  #: lanes of a warp
    STEPS = 0  #: halvings of a warp

    @cuda.jit(device=True)
    def first(value):
        """The value of lane 0."""
        return value

    @cuda.jit(device=True)
    def above(value, distance):
        """The value of the lane `distance` above; of this lane where there is none."""
        return value

    @cuda.jit(device=True)
    def below(value, distance):
        """The value of the lane `distance` below; of this lane where there is none."""
        return value

    @cuda.jit(device=True)
    def every(condition):
        """Whether the condition holds in every lane."""
        return condition

else:
    WARP = 32
    STEPS = 5

    @cuda.jit(device=True, inline=True)
    def first(value):
        """The value of lane 0."""
        return cuda.shfl_sync(ALL, value, 0)

    @cuda.jit(device=True, inline=True)
    def above(value, distance):
        """The value of the lane `distance` above; of this lane where there is none."""
        return cuda.shfl_down_sync(ALL, value, distance)

    @cuda.jit(device=True, inline=True)
    def below(value, distance):
        """The value of the lane `distance` below; of this lane where there is none."""
        return cuda.shfl_up_sync(ALL, value, distance)

    @cuda.jit(device=True, inline=True)
    def every(condition):
        """Whether the condition holds in every lane."""
        return cuda.all_sync(ALL, condition)
