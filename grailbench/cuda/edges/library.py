"""Arrays, sorting and prefix sums of a library: CuPy's on a GPU, numpy's in the simulator.

Kernels take these arrays as they are in the simulator, and as numba's device arrays otherwise (`seen`).
"""

import sys
import threading
from contextlib import contextmanager, nullcontext
from functools import cache

import numpy as np

from grailbench.cuda import describe
from grailbench.cuda.device_arrays import Part, require_library
from grailbench.cuda.gateway import simulated
from grailbench.cuda.launch import Prepared, Shape, check, cooperative_shape
from grailbench.errors import TooLittleMemory

_THREADS = 3 if simulated else 256  #: few in the simulator, where each is a thread of Python


@cache
def arrays():
    """Returns the module of the library. Raises MachineLacks if CuPy is needed and not installed."""
    require_library()
    if simulated:
        return np
    import cupy

    return cupy


def counted():
    """Returns a context manager in which the library takes its memory from numba's manager, which counts it.

    In it, TooLittleMemory is raised also where the memory is for C++ code of the library.
    """
    if simulated:
        return nullcontext()
    import cupy

    return _refusals(cupy.cuda.using_allocator(_taken))


class _Refused(threading.local):
    """The last error of the memory manager in this thread."""

    error: TooLittleMemory | None = None


_refused = _Refused()


@contextmanager
def _refusals(allocating):
    """Sorting takes its memory from C++ (thrust), through which no error of Python gets: Python reports that it was
    ignored, and a MemoryError without a reason follows. Here that is the error itself, and nothing is reported."""
    _listen()
    try:
        with allocating:
            yield
    except MemoryError:
        if _refused.error is None:
            raise
        raise _refused.error.with_traceback(None) from None
    finally:
        _refused.error = None  # its traceback holds arrays


@cache
def _listen() -> None:
    """Has errors of the memory manager that C++ code ignores not be reported."""
    report = sys.unraisablehook

    def heard(ignored) -> None:
        if ignored.exc_value is None or ignored.exc_value is not _refused.error:
            report(ignored)

    sys.unraisablehook = heard


def _taken(size: int):
    import cupy

    try:
        owner, device = describe.take_memory(max(size, 1))
    except TooLittleMemory as error:
        _refused.error = error
        raise
    return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(int(owner.device_pointer), size, owner, device), 0)


def empty(size: int, dtype):
    """Returns an array of `size` elements that are not set; of one element if the size is 0, as no array is empty."""
    return arrays().empty(max(size, 1), dtype)


def full(size: int, value: int, dtype):
    """Returns an array of `size` elements, at least one, that are all `value`."""
    made = empty(size, dtype)
    if simulated or value not in (0, -1):
        made.fill(value)
    else:  # bytes that are all the same are set in a tenth of the time
        made.data.memset_async(value & 0xFF, made.nbytes)
    return made


def seen(array):
    """Returns the array as kernels take it; it shares the memory."""
    return array if simulated else Part(array, array.data.ptr, array.shape, array.dtype)


def launch(kernel, size: int, *args) -> None:
    """Launches a kernel whose threads share `size` elements in strides of the grid; does not wait.

    args: arrays of one dimension, and integers, which kernels get as int64.
    """
    shape = Shape(min(max(-(-size // _THREADS), 1), 2 if simulated else 1 << 14), _THREADS)
    if simulated:
        kernel[shape.blocks, shape.threads](*args)
    else:
        Prepared(kernel, args, shape).launch()


def launch_cooperative(kernel, *args) -> None:
    """Launches a kernel with barriers of the whole grid, by two blocks a multiprocessor; does not wait."""
    Prepared(kernel, args, cooperative_shape(kernel, args, 8 if simulated else 512, 2)).launch()


def sums(flags, wide: bool):
    """Returns the inclusive prefix sums of an array, int64 if `wide`, else int32."""
    return arrays().cumsum(flags, dtype=np.int64 if wide else np.int32)


def last_of(array) -> int:
    """Returns the last element of an array of integers, after all work that was queued before."""
    if simulated:
        return int(array[-1])
    from cuda.bindings import driver

    found = np.empty(1, array.dtype)
    size = found.itemsize
    check(driver.cuMemcpyDtoH(found.ctypes.data, array.data.ptr + array.nbytes - size, size), "read a count")
    return int(found[0])


def to_host(array) -> np.ndarray:
    """Copies an array, of the library or as kernels take it, to the host, after all work that was queued before."""
    if simulated:
        return array
    return array.get() if hasattr(array, "get") else array.copy_to_host()
