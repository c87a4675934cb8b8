"""The only import of numba's CUDA module, and what is missing when it cannot be used.

Works with the numba-cuda package (the `gpu` extra) and with the deprecated copy that numba still carries; where
both are installed numba-cuda takes the name `numba.cuda` over.
"""

from __future__ import annotations

import functools
import warnings

from grailbench import kernelcache
from grailbench.device import allocator, simulator
from grailbench.errors import MachineLacks

_REMEDY = (
    "GPU runs need an NVIDIA GPU, its driver and the `gpu` extra: pip install 'grailbench[gpu]'; "
    "--simulate checks answers without them and records no time"
)


def _lacks(reason: str) -> MachineLacks:
    return MachineLacks(f"no CUDA here: {reason} ({_REMEDY})")


def _first_line(error) -> str:
    """The line of a CUDA error that says something."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line.strip(":") and not line.startswith("Error at driver init")]
    return said[0].rstrip(".:") if said else type(error).__name__


try:
    from numba import cuda
except (ImportError, AttributeError) as error:  # AttributeError: numba-cuda beside a numpy it does not know
    if simulator.asked_for():
        raise MachineLacks(f"numba's simulator is not here: {_first_line(error)} (pip install numba-cuda)") from error
    raise _lacks(_first_line(error)) from error

#: True when kernels run in numba's simulator: answers mean something, times do not
simulated: bool = ".simulator" in cuda.jit.__module__
if simulated:
    simulator.repair(cuda.jit.__module__.rpartition(".")[0])
else:
    kernelcache.adopt(cuda.dispatcher.CUDACacheImpl._locator_classes)


def of_cpu(function):
    """A function compiled for the CPU as one for kernels to call, inlined.

    numba takes the CPU's as it is too, but names it by a number drawn anew in each process: kernels that close over it
    would never be found on disk. In the simulator it is the Python function, which can read a simulated array.
    """
    return function.py_func if simulated else cuda.jit(device=True, inline=True)(function.py_func)


def require() -> None:
    """Return when kernels can run, on a GPU or in the simulator; else raise MachineLacks saying what is missing."""
    if simulated:
        return
    _prepare()
    if not cuda.is_available():
        error = cuda.cuda_error()
        raise _lacks("the CUDA toolkit's compiler (NVVM) is not found" if error is None else _first_line(error))
    try:
        cuda.current_context()
    except (cuda.CudaSupportError, cuda.cudadrv.driver.CudaAPIError) as error:
        raise _lacks(_first_line(error)) from error


@functools.cache
def _prepare() -> None:
    """What a process that runs kernels wants and one that only imports them does not, once."""
    allocator.install(cuda)
    # One block on purpose (a whole small graph in one launch) is no mistake to be warned of.
    warnings.filterwarnings("ignore", message=r".*Grid size \d+ will likely result in GPU under-utilization")
