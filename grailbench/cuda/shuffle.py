"""Exchange of values between the lanes of a warp; in the simulator a warp is a single thread.

All lanes of the warp must call each of these functions.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda.gateway import cuda, simulated

ALL = np.uint32(0xFFFFFFFF)

if simulated:
    WARP = 1  #: lanes of a warp
    STEPS = 0  #: the binary logarithm of WARP

    @cuda.jit(device=True)
    def broadcast_first(value):
        """The value of lane 0."""
        return value

    @cuda.jit(device=True)
    def shuffle_down(value, distance):
        """The value of the lane whose index is greater by `distance`, or of this lane if there is none."""
        return value

    @cuda.jit(device=True)
    def shuffle_up(value, distance):
        """The value of the lane whose index is less by `distance`, or of this lane if there is none."""
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
        """The value of the lane whose index is greater by `distance`, or of this lane if there is none."""
        return cuda.shfl_down_sync(ALL, value, distance)

    @cuda.jit(device=True, inline=True)
    def shuffle_up(value, distance):
        """The value of the lane whose index is less by `distance`, or of this lane if there is none."""
        return cuda.shfl_up_sync(ALL, value, distance)

    @cuda.jit(device=True, inline=True)
    def all_lanes(condition):
        """Whether the condition holds in every lane."""
        return cuda.all_sync(ALL, condition)
