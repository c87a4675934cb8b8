"""Cooperative launches: as many blocks as can be on the device at once, as large as the kernel's registers allow.

A kernel with barriers of the whole grid takes the grid once, `grid = cuda.cg.this_grid()`, and calls `grid.sync()`
in its loops; numba then launches it cooperatively. Taking the grid anew for each makes a barrier 1.4
to 2.3 times as dear (docs/notebook.md). All threads must arrive at every one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grailbench.device.gateway import cuda, simulated
from grailbench.errors import MachineLacks, TooLittleMemory

SIMULATED_THREADS = 32  # each is a Python thread, and a warp is enough to run every path
_LEAST_THREADS = 32


def kernel_of(registers: int | None = None, kept: bool = True):
    """`cuda.jit`, with a bound on the registers a thread where one is given (the simulator knows none), and `kept`
    compiled on disk.

    What is kept is found again by its code and what it closes over, the bound not included: of two bounds keep one.
    """
    bound = {} if simulated or registers is None else {"max_registers": registers}
    return cuda.jit(cache=kept, **bound)


@dataclass(frozen=True)
class Shape:
    """Blocks of a grid and threads of a block."""

    blocks: int
    threads: int


def most_shared_bytes() -> int:
    """Bytes of shared memory that a block may take, static and dynamic; in the simulator as many as on an H200."""
    return 227 * 1024 if simulated else cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN


def cooperative_shape(kernel, args: tuple, threads: int = 1024, per_multiprocessor: int | None = None) -> Shape:
    """The largest cooperative grid of `kernel` for arguments of these types.

    `threads` (a power of two) is halved until a block fits the compiled kernel's registers and shared memory.
    `per_multiprocessor` bounds the blocks of one multiprocessor; None takes all that fit. In the simulator it is one
    block of at most `SIMULATED_THREADS`, because its blocks cannot wait for each other.

    Raises MachineLacks when not even a block of one warp fits.
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
    """Launch `kernel(*args)` in the shape that `cooperative_shape` finds, and return that shape; does not wait."""
    shape = cooperative_shape(kernel, args, threads, per_multiprocessor)
    kernel[shape.blocks, shape.threads](*args)
    return shape


@cuda.jit
def _untyped():
    """Never launched: what asks numba for types."""


class _Typed:
    """A NamedTuple with its numba type; no tuple itself, for of tuples numba wants to know the type anew."""

    def __init__(self, bundle: tuple):
        self._bundle, self._numba_type_ = bundle, _untyped.typeof_pyval(bundle)

    def __iter__(self):
        return iter(self._bundle)

    def __len__(self) -> int:
        return len(self._bundle)

    def __getattr__(self, name: str):
        return getattr(self._bundle, name)


def typed(bundle: tuple):
    """A NamedTuple of device arrays and scalars, with its numba type beside it, for launches that are not `Prepared`.

    At every launch numba finds out anew what a tuple of device arrays is, in Python, 15 us; whatever has a
    `_numba_type_` it takes at its word. Arrays may change in content. The simulator takes the tuple as it is.
    """
    return bundle if simulated else _Typed(bundle)


class Prepared:
    """A launch whose arguments are fixed: what Python does for each is done once.

    numba packs every array argument anew, 3 to 4 us each, which is more than a small kernel runs. Arrays may change
    in content, not in place. Also the way to more than 48 KiB of dynamic shared memory (`shared_bytes` a block).
    In the simulator it is an ordinary launch.
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
        if shared_bytes:  # the 48 KiB that need no leave are for static and dynamic memory together
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            set_to = driver.cuKernelSetAttribute(attribute, shared_bytes, handle, cuda.get_current_device().id)
            check(set_to, doing)
        call = driver.cuLaunchCooperativeKernel if compiled.cooperative else driver.cuLaunchKernel
        fixed = (handle, shape.blocks, 1, 1, shape.threads, 1, 1, shared_bytes, 0, ctypes.addressof(self._places))
        if not compiled.cooperative:
            fixed += (0,)
        self.launch = lambda: check(call(*fixed), doing)


def prepared_copy(to, source) -> Callable[[], None]:
    """What copies all bytes of `source` to `to` when called, and waits: one lies on the device, the other is pinned.

    Both contiguous, of the same number of bytes. numba looks at its arguments anew at each copy, longer than a small
    one takes.
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
    doing = f"copy {host.nbytes:,} bytes {'to' if inward else 'from'} the device"
    return lambda: check(call(*fixed), doing)


#: results of the driver that say what the device cannot do, and not that a kernel went wrong
_BEYOND = (
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
    "CUDA_ERROR_NOT_SUPPORTED",
)


def _launching(kernel: str, shape: Shape, shared_bytes: int) -> str:
    launch = f"launch kernel {kernel}, {shape.blocks:,} blocks of {shape.threads} threads"
    return launch + (f" with {shared_bytes:,} bytes of shared memory" if shared_bytes else "")


def check(result: tuple, doing: str) -> None:
    """Raise TooLittleMemory or MachineLacks when the device refused what was asked, RuntimeError for any other fault:
    that may be one of an earlier kernel, which the driver tells late."""
    if not int(result[0]):
        return
    fault = result[0].name
    if fault == "CUDA_ERROR_OUT_OF_MEMORY":
        raise TooLittleMemory(f"no device memory is left to {doing} (take a smaller graph, or a GPU with more)")
    if fault in _BEYOND:
        raise MachineLacks(f"this GPU refuses to {doing}: {fault} (take another implementation or GPU)")
    raise RuntimeError(f"CUDA could not {doing}, or failed before it: {fault}")
