"""Everything that uses CUDA directly. Importing this package imports no CUDA module, so that `simulate` can be called
first; functions that call kernels import files with kernels locally, after `gateway.require()`."""

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
