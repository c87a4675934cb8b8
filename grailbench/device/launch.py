"""Launches of kernels: cooperative launches with the largest possible grid, and launches with little overhead.

A kernel with barriers of the whole grid calls `grid = cuda.cg.this_grid()` once and `grid.sync()` in its loops; numba
then launches it cooperatively. Calling `this_grid` for each barrier makes barriers 1.4 to 2.3 times as slow
(docs/notebook.md). All threads must reach every barrier.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grailbench.device.gateway import cuda, simulated
from grailbench.errors import MachineLacks, TooLittleMemory

SIMULATED_THREADS = 32  # few, because each is a Python thread; a warp is enough to run every code path
_LEAST_THREADS = 32


def kernel_of(registers: int | None = None, kept: bool = True):
    """`cuda.jit` with a limit of registers for each thread (None: no limit), cached on disk if `kept`.

    The disk cache identifies a kernel by its code and its closure, but not by the limit: of the same code with two
    limits, only one kernel may be kept. The simulator ignores the limit.
    """
    bound = {} if simulated or registers is None else {"max_registers": registers}
    return cuda.jit(cache=kept, **bound)


@dataclass(frozen=True)
class Shape:
    """The number of blocks of a grid and of threads of a block."""

    blocks: int
    threads: int


def most_shared_bytes() -> int:
    """The most bytes of static and dynamic shared memory of a block; in the simulator those of an H200."""
    return 227 * 1024 if simulated else cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN


def cooperative_shape(kernel, args: tuple, threads: int = 1024, per_multiprocessor: int | None = None) -> Shape:
    """The largest cooperative grid of `kernel` for arguments of these types.

    `threads` (a power of two) is halved until a block fits the compiled kernel's registers and shared memory.
    `per_multiprocessor` limits the blocks of a multiprocessor; None takes all that fit. The simulator gets one block
    of at most `SIMULATED_THREADS`, because its blocks cannot wait for each other.

    Raises MachineLacks if not even a block of one warp fits.
    """
    if simulated:
        return Shape(1, min(threads, SIMULATED_THREADS))
    compiled = kernel.compile(tuple(kernel.typeof_pyval(arg) for arg in args))
    multiprocessors = cuda.get_current_device().MULTIPROCESSOR_COUNT
    while threads >= _LEAST_THREADS:
        blocks = compiled.max_cooperative_grid_blocks(threads) if threads <= compiled.max_threads_per_block else 0
        if per_multiprocessor is not None:
            blocks = min(blocks, per_multiprocessor * multiprocessors)
        if blocks:
            return Shape(blocks, threads)
        threads //= 2
    raise MachineLacks(
        f"kernel {kernel.py_func.__name__} takes {compiled.regs_per_thread} registers a thread: "
        "no block of it fits the device"
    )


def launch_cooperative(kernel, args: tuple, threads: int = 1024, per_multiprocessor: int | None = None) -> Shape:
    """Launches `kernel(*args)` with the shape from `cooperative_shape`, without waiting, and returns the shape."""
    shape = cooperative_shape(kernel, args, threads, per_multiprocessor)
    kernel[shape.blocks, shape.threads](*args)
    return shape


@cuda.jit
def _untyped():
    """Is never launched; only its `typeof_pyval` is used."""


class _Typed:
    """A NamedTuple with its numba type. It is not a tuple itself, because numba would determine the type again."""

    def __init__(self, bundle: tuple):
        self._bundle, self._numba_type_ = bundle, _untyped.typeof_pyval(bundle)

    def __iter__(self):
        return iter(self._bundle)

    def __len__(self) -> int:
        return len(self._bundle)

    def __getattr__(self, name: str):
        return getattr(self._bundle, name)


def typed(bundle: tuple):
    """A NamedTuple of device arrays and scalars that stores its numba type, for launches that are not `Prepared`.

    Otherwise numba determines the type of such a tuple at every launch in Python, which takes 15 us; it accepts the
    type in `_numba_type_`. The content of the arrays may change. In the simulator the tuple is returned unchanged.
    """
    return bundle if simulated else _Typed(bundle)


class Prepared:
    """A launch with fixed arguments, which are processed only once; `launch()` launches it.

    numba processes every array argument at every launch, which takes 3 to 4 us each, longer than a small kernel runs.
    The content of arrays may change, but not their addresses. This also permits more than 48 KiB of dynamic shared
    memory (`shared_bytes` a block). In the simulator it is an ordinary launch.
    """

    def __init__(self, kernel, args: tuple, shape: Shape, shared_bytes: int = 0):
        self.shape, self._args = shape, args
        if simulated:
            self.launch = lambda: kernel[shape.blocks, shape.threads, 0, shared_bytes](*args)
            return
        from cuda.bindings import driver

        compiled = kernel.compile(tuple(kernel.typeof_pyval(arg) for arg in args))
        raw: list = []
        for kind, arg in zip(compiled.argument_types, args, strict=True):
            compiled._prepare_args(kind, arg, 0, [], raw)
        self._cells = [cell if isinstance(cell, ctypes._SimpleCData) else ctypes.c_int64(cell) for cell in raw]
        self._places = (ctypes.c_void_p * len(self._cells))(*(ctypes.addressof(cell) for cell in self._cells))
        handle = int(compiled._codelibrary.get_cufunc().handle)
        doing = _launching(kernel.py_func.__name__, shape, shared_bytes)
        if shared_bytes:  # the limit of 48 KiB without this is for static and dynamic memory together
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            set_to = driver.cuKernelSetAttribute(attribute, shared_bytes, handle, cuda.get_current_device().id)
            check(set_to, doing)
        call = driver.cuLaunchCooperativeKernel if compiled.cooperative else driver.cuLaunchKernel
        fixed = (handle, shape.blocks, 1, 1, shape.threads, 1, 1, shared_bytes, 0, ctypes.addressof(self._places))
        if not compiled.cooperative:
            fixed += (0,)
        self.launch = lambda: check(call(*fixed), doing)


def prepared_copy(to, source, wait: bool = True) -> Callable[[], None]:
    """A function that copies all bytes of `source` to `to` and waits. One is on the device, the other is pinned.

    Without `wait` it returns while bytes are copied to the device, in order with all other work on it.
    Both must be contiguous and of the same size. numba processes the arguments at each copy, which takes longer than a
    small copy itself.
    """
    inward = isinstance(source, np.ndarray)
    if simulated:
        return (lambda: to.copy_to_device(source)) if inward else (lambda: source.copy_to_host(to))
    from cuda.bindings import driver

    host, device = (source, to) if inward else (to, source)
    if host.nbytes != device.nbytes:
        raise ValueError(f"{host.nbytes} bytes on the host, {device.nbytes} on the device")
    places = host.ctypes.data, device.device_ctypes_pointer.value
    fixed = (*(reversed(places) if inward else places), host.nbytes)
    call = driver.cuMemcpyHtoD if inward else driver.cuMemcpyDtoH
    if not wait:
        if not inward:
            raise ValueError("bytes from the device are waited for")
        call, fixed = driver.cuMemcpyHtoDAsync, (*fixed, 0)
    doing = f"copy {host.nbytes:,} bytes {'to' if inward else 'from'} the device"
    return lambda: check(call(*fixed), doing)


#: errors of the driver that concern the abilities of the device and not a fault of a kernel
_BEYOND = (
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
    "CUDA_ERROR_NOT_SUPPORTED",
)


def _launching(kernel: str, shape: Shape, shared_bytes: int) -> str:
    launch = f"launch kernel {kernel}, {shape.blocks:,} blocks of {shape.threads} threads"
    return launch + (f" with {shared_bytes:,} bytes of shared memory" if shared_bytes else "")


def check(result: tuple, doing: str) -> None:
    """Raises TooLittleMemory or MachineLacks if the device refused a request, and RuntimeError for any other error,
    which an earlier kernel may have caused, because the driver reports errors late."""
    if not int(result[0]):
        return
    fault = result[0].name
    if fault == "CUDA_ERROR_OUT_OF_MEMORY":
        raise TooLittleMemory(f"no device memory is left to {doing} (take a smaller graph, or a GPU with more)")
    if fault in _BEYOND:
        raise MachineLacks(f"this GPU refuses to {doing}: {fault} (take another implementation or GPU)")
    raise RuntimeError(f"CUDA could not {doing}, or failed before it: {fault}")
