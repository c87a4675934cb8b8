"""Values that the lanes of a warp exchange, and what stands for it in the simulator, where a warp is one thread.

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
    def broadcast_first(value):
        """The value of lane 0."""
        return value

    @cuda.jit(device=True)
    def shuffle_down(value, distance):
        """The value of the lane whose number is greater by `distance`; of this lane where there is none."""
        return value

    @cuda.jit(device=True)
    def shuffle_up(value, distance):
        """The value of the lane whose number is less by `distance`; of this lane where there is none."""
        return value

    @cuda.jit(device=True)
    def all_lanes(condition):
        """Whether the condition holds in every lane."""
        return condition

else:
    WARP = 32
    STEPS = 5

    @cuda.jit(device=True, inline=True)
    def broadcast_first(value):
        """The value of lane 0."""
        return cuda.shfl_sync(ALL, value, 0)

    @cuda.jit(device=True, inline=True)
    def shuffle_down(value, distance):
        """The value of the lane whose number is greater by `distance`; of this lane where there is none."""
        return cuda.shfl_down_sync(ALL, value, distance)

    @cuda.jit(device=True, inline=True)
    def shuffle_up(value, distance):
        """The value of the lane whose number is less by `distance`; of this lane where there is none."""
        return cuda.shfl_up_sync(ALL, value, distance)

    @cuda.jit(device=True, inline=True)
    def all_lanes(condition):
        """Whether the condition holds in every lane."""
        return cuda.all_sync(ALL, condition)
