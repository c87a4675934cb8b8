"""Imports the module that compiles kernels, of numba-cuda (the `gpu` extra) or else numba, repairs it, and explains
what is missing if it cannot be used."""

import functools
import threading
import warnings

from grailbench.cuda import allocator, simulator
from grailbench.errors import MachineLacks, install
from grailbench.util import faults, kernelcache


def load_one_at_a_time(library: type) -> None:
    """Repairs a class of numba-cuda (seen with 0.30.4), the code of a kernel, whose `get_cufunc` loads it once but
    fails if two threads need it at the same time."""
    load, lock = library.get_cufunc, threading.RLock()

    @functools.wraps(load)
    def loaded(self):
        with lock:
            return load(self)

    library.get_cufunc = loaded


def _lacks(reason: str) -> MachineLacks:
    return MachineLacks(
        f"no CUDA here: {reason} (GPU runs need an NVIDIA GPU, its driver and libraries: {install('gpu')}; "
        "--simulate checks answers without them and records no time)"
    )


def _first_line(error) -> str:
    """The first informative line of a CUDA error."""
    lines = [line.strip() for line in str(error).splitlines()]
    found = [line for line in lines if line.strip(":") and not line.startswith("Error at driver init")]
    return found[0].rstrip(".:") if found else type(error).__name__


try:
    from numba import cuda
# AttributeError: numba-cuda beside a numpy it does not know; RuntimeError: it finds no CUDA runtime, which even its
# simulator asks for its version
except (ImportError, AttributeError, OSError, RuntimeError) as error:
    if simulator.asked_for() and isinstance(error, RuntimeError):
        remedy = "pip install nvidia-cuda-runtime"
        raise MachineLacks(f"numba's simulator needs CUDA's runtime: {_first_line(error)} ({remedy})") from error
    if simulator.asked_for():
        raise MachineLacks(f"numba's simulator is not here: {_first_line(error)} (pip install numba-cuda)") from error
    raise _lacks(_first_line(error)) from error

#: whether kernels run in numba's simulator, where answers are right but times are meaningless
simulated: bool = ".simulator" in cuda.jit.__module__
if simulated:
    simulator.repair(cuda.jit.__module__.rpartition(".")[0])
else:
    kernelcache.adopt(cuda.dispatcher.CUDACacheImpl)
    load_one_at_a_time(cuda.codegen.CUDACodeLibrary)


def of_cpu(function):
    """Makes an inlined device function of a function that is compiled for the CPU. numba also accepts that itself, but
    under a name that changes with each process, so that its disk cache never serves. The simulator gets the Python
    function."""
    return function.py_func if simulated else cuda.jit(device=True, inline=True)(function.py_func)


def require() -> None:
    """Raises MachineLacks, which names what is missing, unless kernels can run on a GPU or in the simulator."""
    faults.require_usable()
    if not simulated and not _usable:
        _require()


_usable: list[bool] = []  # not empty once kernels could run: asking numba takes longer than a small graph


def _require() -> None:
    _prepare()
    if not cuda.is_available():
        error = cuda.cuda_error()
        raise _lacks("the CUDA toolkit's compiler (NVVM) is not found" if error is None else _first_line(error))
    try:
        cuda.current_context()
    except (cuda.CudaSupportError, cuda.cudadrv.driver.CudaAPIError) as error:
        raise _lacks(_first_line(error)) from error
    _usable.append(True)


@functools.cache
def _prepare() -> None:
    """Settings for a process that runs kernels, and not for one that only imports them; made once."""
    allocator.install(cuda)
    # Some kernels use a single block on purpose, for a small graph in one launch.
    warnings.filterwarnings("ignore", message=r".*Grid size \d+ will likely result in GPU under-utilization")
