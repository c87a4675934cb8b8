"""Launches of kernels: cooperative launches with the largest possible grid, and launches with little overhead.

A kernel with barriers of the whole grid calls `grid = cuda.cg.this_grid()` once and `grid.sync()` in its loops; numba
then launches it cooperatively. Calling `this_grid` for each barrier makes barriers 1.4 to 2.3 times as slow
(docs/notes). All threads must reach every barrier.
"""

import ctypes
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numba import types

from grailbench.cuda import describe
from grailbench.cuda.gateway import cuda, simulated
from grailbench.errors import MachineLacks, TooLittleMemory
from grailbench.util import faults

SIMULATED_THREADS = 32  # few, because each is a Python thread; a warp is enough to run every code path
_LEAST_THREADS = 32


def kernel_of(registers: int | None = None, cached: bool = True):
    """`cuda.jit` with a limit of registers for each thread (None: no limit), cached on disk if `kept`: the disk cache
    knows no limits, so of the same code with two of them only one kernel may be kept."""
    bound = {} if simulated or registers is None else {"max_registers": registers}
    return cuda.jit(cache=cached, **bound)


@dataclass(frozen=True)
class Shape:
    """The number of blocks of a grid and of threads of a block."""

    blocks: int
    threads: int


def most_shared_bytes() -> int:
    """The most bytes of static and dynamic shared memory of a block; in the simulator those of an H200."""
    return 227 * 1024 if simulated else _most_shared_bytes(describe.current_device())


@cache
def _most_shared_bytes(_device: int) -> int:
    return cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK_OPTIN


def cooperative_shape(kernel, args: tuple, threads: int = 1024, per_multiprocessor: int | None = None) -> Shape:
    """The largest cooperative grid of `kernel` for arguments of these types.

    `threads` (a power of two) is halved until a block fits the compiled kernel's registers and shared memory.
    `per_multiprocessor` limits the blocks of a multiprocessor; None takes all that fit. The simulator gets one block
    of at most `SIMULATED_THREADS`, because its blocks cannot wait for each other.

    Raises MachineLacks if not even a block of one warp fits.
    """
    if simulated:
        return Shape(1, min(threads, SIMULATED_THREADS))
    compiled, key, _ = _compile(kernel, _resolved(args))
    device = cuda.get_current_device()
    place = key, device.id, threads, per_multiprocessor
    if key is not None and place in _shapes:
        return _shapes[place]
    while threads >= _LEAST_THREADS:
        blocks = compiled.max_cooperative_grid_blocks(threads) if threads <= compiled.max_threads_per_block else 0
        if per_multiprocessor is not None:
            blocks = min(blocks, per_multiprocessor * device.MULTIPROCESSOR_COUNT)
        if blocks:
            _shapes[place] = Shape(blocks, threads)
            return _shapes[place]
        threads //= 2
    raise MachineLacks(
        f"kernel {kernel.py_func.__name__} takes {compiled.regs_per_thread} registers a thread: "
        "no block of it fits the device"
    )


_shapes: dict = {}  # the grids that the driver allows, by key, device and what was asked for


def launch_cooperative(kernel, args: tuple, threads: int = 1024) -> Shape:
    """Launches `kernel(*args)` with the shape from `cooperative_shape`, without waiting, and returns the shape."""
    shape = cooperative_shape(kernel, args, threads)
    kernel[shape.blocks, shape.threads](*(args if simulated else map(as_numba, args)))
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
    """A NamedTuple of device arrays and scalars that stores its numba type, which otherwise takes 15 us at every launch
    that is not `Prepared`. The content of the arrays may change. In the simulator the tuple is returned unchanged."""
    return bundle if simulated else _Typed(bundle)


def array_words(address: int, size: int, width: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the words of a contiguous array, of one or two dimensions, in the arguments of a kernel: two that are not
    used, its size, the bytes of an element, its address, its shape and its strides in bytes."""
    place = address if size else 0
    if len(shape) == 1:
        return 0, 0, size, width, place, size, width
    rows, columns = shape
    return 0, 0, size, width, place, rows, columns, columns * width, width


class _Unknown(Exception):
    """An argument that `_pack` does not know."""


_WORD = 2**64 - 1


def _pack(arg, cells: list[int]):
    """Appends the words that a kernel gets for an argument (an array on the device, an integer, or a tuple of such),
    and returns a key of its type. numba takes 5 to 20 us an array for it. Raises _Unknown for other arguments."""
    words = getattr(arg, "words", None)
    if words is not None:
        cells += words
        return arg.kind
    kind = type(arg)
    if kind is int or kind is bool:
        cells.append(arg & _WORD)
        return kind
    if isinstance(arg, (tuple, _Typed)):
        bundle = arg._bundle if kind is _Typed else arg
        return type(bundle), *[_pack(each, cells) for each in bundle]
    dtype = getattr(arg, "dtype", None)
    if dtype is None:
        raise _Unknown
    if getattr(arg, "shape", ()):
        size, width, strides = arg.size, dtype.itemsize, arg.strides
        gaps = strides[-1] != width or (arg.ndim == 2 and strides[0] != width * arg.shape[1])
        if arg.ndim > 2 or gaps:
            raise _Unknown
        place = (arg.device_ctypes_pointer.value or 0) if hasattr(arg, "device_ctypes_pointer") else arg.data.ptr
        cells += array_words(place, size, width, arg.shape)
        return dtype.char, arg.ndim
    if dtype.kind in "iu":
        cells.append(int(arg) & _WORD)
        return kind
    raise _Unknown


_compiled: dict = {}  # by kernel and key: the kernel, which so stays where it is, and what it was compiled to
_alike: dict = {}  # by the same: whether numba packs such arguments as `_pack` does


def _compile(kernel, args: tuple) -> tuple:
    """Compiles a kernel for arguments like these; returns it, its key in `_alike` (None: unknown) and their words."""
    cells: list[int] = []
    try:
        key = id(kernel), _pack(args, cells)
    except _Unknown:
        key = None
    if key is None or key not in _compiled:
        seen = map(as_numba, args)
        compiled = kernel.compile(tuple(types.int64 if type(arg) is int else kernel.typeof_pyval(arg) for arg in seen))
        if key is None:
            return compiled, key, cells
        _compiled[key] = kernel, compiled
    return _compiled[key][1], key, cells


def _words(kernel, args: tuple) -> tuple:
    """Returns the kernel compiled for arguments like these, its key, and their words, which numba finds where `_pack`
    cannot."""
    compiled, key, cells = _compile(kernel, args)
    if key is not None and _alike.get(key):
        return compiled, key, cells
    raw: list = []
    for kind, arg in zip(compiled.argument_types, map(as_numba, args), strict=True):
        compiled._prepare_args(kind, arg, 0, [], raw)
    found = [_word(cell) for cell in raw]
    if key is not None:
        _alike[key] = found == cells
    return compiled, key, found


def _word(cell) -> int:
    """Returns the 64 bits of a word that numba packs."""
    if isinstance(cell, ctypes._SimpleCData):
        return int.from_bytes(bytes(cell), "little", signed=True) & _WORD
    return int(cell) & _WORD


def as_numba(arg):
    """Returns an argument with numba's arrays in place of other ones."""
    if isinstance(arg, tuple):
        parts = [as_numba(each) for each in arg]
        return type(arg)(*parts) if hasattr(arg, "_fields") else tuple(parts)
    foreign = hasattr(arg, "__cuda_array_interface__") and not hasattr(arg, "gpu_data")
    return cuda.as_cuda_array(arg) if foreign else arg


class Moving:
    """A device array that `Prepared` launches take, and that another of its type can replace.

    `now` is the present array. `shape` is that of the first one.
    """

    _marks = itertools.count(0xA5A5 << 48, 16)  # no address and no size is as large

    def __init__(self, array):
        self.now, self.shape = array, array.shape
        if not simulated:
            mark, shape = next(self._marks), array.shape
            self.words = tuple(range(mark, mark + len(array_words(0, 0, 0, shape))))
            self.kind = array.dtype.char, len(shape)


def moved(moving: Sequence[Moving], to: Sequence) -> np.ndarray:
    """Replaces arrays by others; returns what `Prepared.move` takes."""
    cells: list[int] = []
    for each, other in zip(moving, to, strict=True):
        each.now = other
        if not simulated:
            _pack(other, cells)
    return np.array(cells, np.uint64)


def _resolved(arg):
    """Returns an argument with the present arrays in place of `Moving` ones."""
    if isinstance(arg, tuple):
        parts = [_resolved(each) for each in arg]
        return type(arg)(*parts) if hasattr(arg, "_fields") else tuple(parts)
    return arg.now if isinstance(arg, Moving) else arg


class Prepared:
    """A launch with fixed arguments, which are processed only once; `launch()` launches it.

    numba takes 3 to 4 us for each array at every launch. The content of arrays may change, but not their addresses,
    except those of the arrays `moving`, by `move`. The arrays are held. More than 48 KiB of dynamic shared memory
    (`shared_bytes` a block) are permitted. In the simulator it is an ordinary launch.
    """

    def __init__(self, kernel, args: tuple, shape: Shape, shared_bytes: int = 0, moving: Sequence[Moving] = ()):
        self.shape = shape
        if simulated:
            self.launch = lambda: kernel[shape.blocks, shape.threads, 0, shared_bytes](*_resolved(args))
            return
        from cuda.bindings import driver

        compiled, key, cells = _words(kernel, _resolved(args) if moving else args)
        self._cells = (ctypes.c_uint64 * len(cells))(*cells)
        first = ctypes.addressof(self._cells)
        places = _EIGHTS[: len(cells)] + first
        handle = _loaded(kernel, compiled, key, shape, shared_bytes)
        call = driver.cuLaunchCooperativeKernel if compiled.cooperative else driver.cuLaunchKernel
        fixed = (handle, shape.blocks, 1, 1, shape.threads, 1, 1, shared_bytes, 0, int(places.ctypes.data))
        if not compiled.cooperative:
            fixed += (0,)
        alive = self._cells, places, args, compiled  # the launch may outlive this object, and whoever made its arrays
        name = kernel.py_func.__name__
        self.launch = lambda alive=alive: check(call(*fixed), _launching, name, shape, shared_bytes)
        if moving:
            self._find(args, moving)

    def _find(self, args: tuple, moving: Sequence[Moving]) -> None:
        """Finds the words of the arrays `moving` among those of all arguments."""
        cells: list[int] = []
        _pack(args, cells)
        place = {word: at for at, word in enumerate(word for each in moving for word in each.words)}
        found = [(at, place[cell]) for at, cell in enumerate(cells) if cell in place]
        self._at, self._of = np.array(found, np.int64).reshape(-1, 2).T
        self._view = np.frombuffer(self._cells, np.uint64)

    def move(self, arrays: np.ndarray) -> None:
        """Takes other arrays from the next launch on: `moved(moving, to)` of the `moving` that this was made with."""
        if not simulated:
            self._view[self._at] = arrays[self._of]


_EIGHTS = np.arange(0, 8 * 512, 8, dtype=np.uint64)  # a kernel takes at most 4 KiB of arguments
_handles: dict = {}  # by key of a kernel and context: the function of the driver, and bytes of shared memory permitted


def _loaded(kernel, compiled, key, shape: Shape, shared_bytes: int) -> int:
    """Returns the function of the driver for a compiled kernel, with so much dynamic shared memory permitted."""
    from cuda.bindings import driver

    place = key, int(driver.cuCtxGetCurrent()[1])
    handle, permitted = _handles.get(place, (0, 0))
    if not handle:
        handle = int(compiled._codelibrary.get_cufunc().handle)
    if shared_bytes > permitted:  # the limit of 48 KiB without this is for static and dynamic memory together
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        set_to = driver.cuKernelSetAttribute(attribute, shared_bytes, handle, cuda.get_current_device().id)
        check(set_to, _launching, kernel.py_func.__name__, shape, shared_bytes)
        permitted = shared_bytes
    if key is not None:
        _handles[place] = handle, permitted
    return handle


def prepared_copy(to, source, wait: bool = True) -> Callable[[], None]:
    """A function that copies all bytes of `source` to `to` and waits; without `wait` it returns meanwhile. Both are
    contiguous and of one size; one is on the device, the other pinned."""
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
    return lambda: check(call(*fixed), _copying, host.nbytes, inward)


#: errors of the driver that concern the abilities of the device and not a fault of a kernel
_BEYOND = ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "CUDA_ERROR_NOT_SUPPORTED")


def _launching(kernel: str, shape: Shape, shared_bytes: int) -> str:
    launch = f"launch kernel {kernel}, {shape.blocks:,} blocks of {shape.threads} threads"
    return launch + (f" with {shared_bytes:,} bytes of shared memory" if shared_bytes else "")


def _copying(size: int, inward: bool) -> str:
    return f"copy {size:,} bytes {'to' if inward else 'from'} the device"


def check(result: tuple, doing: str | Callable[..., str], *about) -> None:
    """Raises TooLittleMemory or MachineLacks if the device refused a request, and GpuFailed for any other error, which
    an earlier kernel may have caused, because the driver reports errors late.

    doing: the request, or what says it, given `about`.
    """
    if not int(result[0]):
        return
    fault, doing = result[0].name, doing if isinstance(doing, str) else doing(*about)
    if fault == "CUDA_ERROR_OUT_OF_MEMORY":
        raise TooLittleMemory(f"no device memory is left to {doing} (take a smaller graph, or a GPU with more)")
    if fault in _BEYOND:
        raise MachineLacks(f"this GPU refuses to {doing}: {fault} (take another implementation or GPU)")
    raise faults.failed(int(result[0]), f"it could not {doing}, or failed before it: {fault}")
