"""Import this before any CUDA code: without a GPU, the tests of kernels run in numba's simulator."""

from grailbench import device
from grailbench.bench import environment

if not environment.gpus():
    device.simulate()
