"""The one door to CUDA: nothing outside this package imports a CUDA module.

Importing the package itself imports none either, so `simulate` can still choose. The modules:

    gateway    the import, `cuda`, `simulated`, `require`      describe   what the device is, how much memory is free
    launch     cooperative launches that fit, for kernels      timers     device milliseconds
               with barriers of the whole grid                 csr        a DAG's adjacency on the device
    scan       prefix sums (Kogge-Stone)                       frontier   the frontier of the Enterprise BFS
    shuffle    values that the lanes of a warp exchange        queues     kernels that take its queues, in three widths
    warp_group, block_group  a warp, or a block, that works    schedule   frontiers kept and replayed
               on one thing, with the same functions           leveled    a DAG by levels on the device
    several    a thread for each of several GPUs               arrays     pitched, mapped and managed memory
    simulator  repairs to numba's simulator                    memory     how much is held, at most
    installed  the GPUs of the machine, without CUDA

Kernels say `from grailbench.device.gateway import cuda` at the top of their file; whoever calls them imports that
file inside the function that needs it, after `gateway.require()`. A machine without CUDA never gets that far.

The simulator is that of numba-cuda where it is installed, else the one that numba carries: the base install has it.
"""

from __future__ import annotations

import os
import sys

from grailbench.device import simulator


def simulate() -> None:
    """Run kernels in numba's simulator: Python threads on the host, for answers and never for times.

    It cannot be undone in this process. Raises RuntimeError when the real CUDA module is already loaded.
    """
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # numba-cuda reads it when numba.cuda is first imported
    if "numba.cuda" in sys.modules:
        from grailbench.device.gateway import simulated

        if not simulated:
            raise RuntimeError("simulate() after the CUDA module was loaded; call it first")
    elif "numba" in sys.modules:
        from numba.core import config

        config.ENABLE_CUDASIM = 1  # numba read its settings when it was imported


def simulating() -> bool:
    """Whether kernels of this process run, or will run, in the simulator; loads no CUDA module."""
    gateway = sys.modules.get("grailbench.device.gateway")
    return gateway.simulated if gateway is not None else simulator.asked_for()
