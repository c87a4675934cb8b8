"""Everything that uses CUDA directly: no other package imports a CUDA module.

Importing this package imports no CUDA module either, so that `simulate` can be called first. The modules:

    gateway    the import of CUDA, `simulated`, `require`      describe   properties and free memory of the device
    launch     cooperative launches for kernels with           timers     times on the device in milliseconds
               barriers of the whole grid                      csr        a DAG's adjacency on the device
    scan       prefix sums (Kogge-Stone)                       frontier   the frontier of the Enterprise BFS
    shuffle    exchange of values between lanes of a warp      queues     kernels that process its queues
    warp_group, block_group  the same functions for groups     schedule   stored frontiers for replay
               of threads: a warp, or a block                  leveled    a DAG by levels on the device
    several    a host thread for each of several GPUs          arrays     pitched, mapped and managed memory
    simulator  repairs of numba's simulator                    memory     device memory in use, now and at most
    installed  the GPUs of the machine, without CUDA           floyd_warshall  all pairs in tiles
    edges      from raw edges to a DAG by levels               parts      many arrays in one allocation
    allocator  counts memory, and keeps it for later arrays    mixing     keys of vertices: a hash to choose by
    oracle     correct answers on large graphs             front_end  which package compiles kernels
    successor  repairs of numba-cuda-mlir                      register_tiles  the same, in registers

Files with kernels import `cuda` from `grailbench.cuda.gateway` at the top. Functions that call kernels import these
files locally, after `gateway.require()`, so that machines without CUDA never import them.

The simulator is that of numba-cuda if it is installed, else that of numba, which the base install includes.
"""

from __future__ import annotations

import os
import sys

from grailbench.cuda import simulator


def simulate() -> None:
    """Runs all kernels of this process in numba's simulator, with Python threads on the host; times are meaningless.

    This cannot be undone. Raises RuntimeError if the real CUDA module is already loaded.
    """
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # numba-cuda reads it when numba.cuda is first imported
    if not {"numba.cuda", "grailbench.cuda.gateway"}.isdisjoint(sys.modules):
        from grailbench.cuda.gateway import simulated

        if not simulated:
            raise RuntimeError("simulate() after the CUDA module was loaded; call it first")
    elif "numba" in sys.modules:
        from numba.core import config

        config.ENABLE_CUDASIM = 1  # numba read its settings when it was imported


def simulating() -> bool:
    """Whether kernels of this process run, or will run, in the simulator. It imports no CUDA module."""
    gateway = sys.modules.get("grailbench.cuda.gateway")
    return gateway.simulated if gateway is not None else simulator.asked_for()
