"""Everything that uses CUDA directly: no other package imports a CUDA module, and importing this one imports none, so
that `simulate` can be called first.

Files with kernels import `cuda` from `grailbench.cuda.gateway` at the top. Functions that call kernels import these
files locally, after `gateway.require()`, so that machines without CUDA never import them. The simulator is that of
numba-cuda if it is installed, else that of numba, which the base install includes.
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
