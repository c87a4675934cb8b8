"""Imports the module that compiles kernels, repairs it, and explains what is missing if it cannot be used.

It is that of numba-cuda (the `gpu` extra) or of numba-cuda-mlir (the `gpu-mlir` extra): the one that GRAILBENCH_CUDA
names, else numba-cuda. Without that it is the deprecated CUDA target of numba; if numba-cuda is installed, `numba.cuda`
is numba-cuda. numba-cuda-mlir has no simulator: that is always numba-cuda's, or numba's.
"""

from __future__ import annotations

import functools
import threading
import warnings

from grailbench.cuda import allocator, installed, simulator
from grailbench.errors import MachineLacks
from grailbench.util import faults, kernelcache


def load_one_at_a_time(library: type) -> None:
    """Repairs a class of numba-cuda (seen with 0.30.4), the code of a kernel, whose `get_cufunc` loads it once.

    A kernel that comes from the disk cache is loaded at its first launch, and nothing keeps a second thread from doing
    the same meanwhile. It fails, and takes the code away from under the first one.
    """
    load, lock = library.get_cufunc, threading.RLock()

    @functools.wraps(load)
    def loaded(self):
        with lock:
            return load(self)

    library.get_cufunc = loaded


def _repair_mlir() -> None:
    """Makes its disk cache keep that a kernel is cooperative, and use the folder of this package's kernels.

    Otherwise a kernel with barriers of the whole grid that comes from the cache is launched without them being
    possible, and hangs or fails.
    """
    from numba_cuda_mlir.caching import MLIRCacheImpl

    reduce, rebuild = MLIRCacheImpl.reduce, MLIRCacheImpl.rebuild

    def reduce_all(self, compiled):
        return reduce(self, compiled) | {"use_cooperative": compiled.metadata.get("use_cooperative", False)}

    def rebuild_all(self, target_context, payload):
        compiled = rebuild(self, target_context, payload)
        compiled.metadata["use_cooperative"] = payload["use_cooperative"]
        return compiled

    MLIRCacheImpl.reduce, MLIRCacheImpl.rebuild = reduce_all, rebuild_all
    kernelcache.adopt(MLIRCacheImpl, "mlir")


#: whether numba-cuda-mlir compiles kernels, not numba-cuda
mlir: bool = installed.chosen_compiler() == installed.MLIR
#: the words of an array in the arguments of a kernel, of its address, size, bytes of an element and shape
array_words = installed.words_of_mlir if mlir else installed.words_of_numba_cuda


def _lacks(reason: str) -> MachineLacks:
    extra = "grailbench[gpu-mlir]" if mlir else "grailbench[gpu]"
    return MachineLacks(
        f"no CUDA here: {reason} (GPU runs need an NVIDIA GPU, its driver and an extra: pip install '{extra}'; "
        "--simulate checks answers without them and records no time)"
    )


def _first_line(error) -> str:
    """The first informative line of a CUDA error."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line.strip(":") and not line.startswith("Error at driver init")]
    return said[0].rstrip(".:") if said else type(error).__name__


try:
    if mlir:
        from numba_cuda_mlir import cuda
        from numba_cuda_mlir.numba_cuda import types
    else:
        if installed.named_compiler() and not simulator.asked_for():
            import numba_cuda  # noqa: F401 (without it numba's own target would take its place)
        from numba import cuda, types  # noqa: F401 (used by device.launch)
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
elif mlir:
    _repair_mlir()
else:
    kernelcache.adopt(cuda.dispatcher.CUDACacheImpl)
    load_one_at_a_time(cuda.codegen.CUDACodeLibrary)

#: options of a device function in which static shared memory is declared, or of one that calls such: numba-cuda-mlir
#: 0.6.0 compiles them only where they are inlined
holds_shared: dict = {"inline": "always"} if mlir else {}


def of_cpu(function):
    """Makes an inlined device function of a function that is compiled for the CPU.

    numba also accepts the CPU function itself, but names it by a number that changes with each process, so kernels that
    use it would never be found in numba's disk cache. The simulator gets the Python function, which can read its
    arrays.
    """
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
