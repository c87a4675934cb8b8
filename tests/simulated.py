"""Import this before any CUDA code: without a GPU, the tests of kernels run in numba's simulator."""

import sys

import uses

from grailbench import cuda as device
from grailbench.cuda.installed import gpus


def _tell(run):
    def block(*args):
        uses.seen.add("simulator")
        return run(*args)

    return block


if not gpus():
    device.simulate()
    from grailbench.cuda.gateway import cuda

    manager = sys.modules[cuda.jit.__module__.replace(".api", ".kernel")].BlockManager
    manager.run = _tell(manager.run)
