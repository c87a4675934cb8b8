"""Arrays for kernels: zeros, rows with a pitch, mapped memory of the host, arrays of CuPy, and `Part`s of one
allocation.

numba makes a device array in 30 us and copies one in 150; a `Part` is made in 2, and taken by `launch.Prepared`.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np

from grailbench.cuda import describe
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import array_words, check, prepared_copy
from grailbench.errors import MachineLacks, install

_ALIGNMENT = 512  # bytes, the alignment of rows by cudaMallocPitch


def cleared(size: int, dtype):
    """Returns an array of zeros on the device, one-dimensional."""
    if simulated:
        return cuda.to_device(np.zeros(size, dtype))
    from cuda.bindings import driver

    array = cuda.device_array(size, dtype)
    if array.nbytes:
        check(driver.cuMemsetD8(array.device_ctypes_pointer.value, 0, array.nbytes), "clear memory of the device")
    return array


class Plain:
    """A device array of numba, `array`, which waits for its copies."""

    def __init__(self, shape, dtype):
        self.array = cuda.device_array(shape, dtype)

    def upload(self, host: np.ndarray) -> None:
        """Copies a host array to the device."""
        self.array.copy_to_device(host)

    def download(self, host: np.ndarray) -> None:
        """Copies to a host array."""
        self.array.copy_to_host(host)


class Pitched:
    """A matrix on the device whose rows start at multiples of 512 bytes (cudaMallocPitch, cudaMemcpy2D).

    `array` is the device array [rows, pitch]; columns beyond those of the matrix are undefined padding.
    """

    def __init__(self, shape: tuple[int, int], dtype):
        (rows, self.columns), self._size = shape, np.dtype(dtype).itemsize
        self.array = cuda.device_array((rows, self.pitch_of(self.columns, dtype)), dtype)

    @staticmethod
    def pitch_of(columns: int, dtype) -> int:
        """The number of elements from the start of one row to that of the next."""
        size = np.dtype(dtype).itemsize
        return -(-columns * size // _ALIGNMENT) * _ALIGNMENT // size

    def upload(self, host: np.ndarray) -> None:
        """Copies a host array [rows, columns] to the device and waits for it."""
        self._copy(host, to_device=True)

    def download(self, host: np.ndarray) -> None:
        """Copies the matrix to a host array [rows, columns] and waits for it."""
        self._copy(host, to_device=False)

    def _copy(self, host: np.ndarray, to_device: bool) -> None:
        if not host.flags.c_contiguous or host.shape != (self.array.shape[0], self.columns):
            raise ValueError(
                f"a host array of shape {host.shape}, not {(self.array.shape[0], self.columns)}, contiguous"
            )
        if simulated:
            device = self.array.copy_to_host()
            if to_device:
                device[:, : self.columns] = host
                self.array.copy_to_device(device)
            else:
                host[:] = device[:, : self.columns]
            return
        from cuda.bindings import driver

        copy = driver.CUDA_MEMCPY2D()
        pitch, width = self.array.shape[1] * self._size, self.columns * self._size
        on_device = driver.CUdeviceptr(self.array.device_ctypes_pointer.value)
        host_type, device_type = driver.CUmemorytype.CU_MEMORYTYPE_HOST, driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        if to_device:
            copy.srcMemoryType, copy.srcHost, copy.srcPitch = host_type, host.ctypes.data, width
            copy.dstMemoryType, copy.dstDevice, copy.dstPitch = device_type, on_device, pitch
        else:
            copy.srcMemoryType, copy.srcDevice, copy.srcPitch = device_type, on_device, pitch
            copy.dstMemoryType, copy.dstHost, copy.dstPitch = host_type, host.ctypes.data, width
        copy.WidthInBytes, copy.Height = width, host.shape[0]
        check(driver.cuMemcpy2D(copy), f"copy {host.nbytes:,} bytes in rows")


class Mapped:
    """Pinned host memory that kernels access directly; `host` and `array` share the same elements."""

    def __init__(self, size: int, dtype):
        # In the simulator, kernels accept arrays of the host.
        self.array = np.empty(size, dtype) if simulated else cuda.mapped_array(size, dtype)
        self.host = np.asarray(self.array)  # slices of numba's own subclass lose the reference to the memory


def require_library() -> None:
    """Raises MachineLacks if CuPy, which `Managed` and `edges` need outside of the simulator, is not installed."""
    if simulated:
        return
    try:
        import cupy  # noqa: F401
    except ImportError:
        raise MachineLacks(f"CuPy is not installed ({install('cupy')})") from None


class Managed:
    """As `Plain`, an array that CuPy allocates, copies and frees; not for the simulator."""

    def __init__(self, shape, dtype):
        import cupy

        self._owned = cupy.empty(shape, dtype)
        self.array = cuda.as_cuda_array(self._owned)

    def upload(self, host: np.ndarray) -> None:
        self._owned.set(host)

    def download(self, host: np.ndarray) -> None:
        self._owned.get(out=host)


MOST_STAGED = 64 << 20  #: bytes that are copied through pinned memory, and at once
_ALIGNED = 256  #: bytes; where a part may begin


class Part:
    """A contiguous array on the device, of one or two dimensions, with its `words` and `kind` for `launch`."""

    __slots__ = ("_owner", "address", "dtype", "kind", "shape", "size", "words")

    def __init__(self, owner, address: int, shape: tuple[int, ...], dtype: np.dtype):
        self._owner, self.address, self.shape, self.dtype = owner, address, shape, dtype
        self.size = size = shape[0] if len(shape) == 1 else shape[0] * shape[1]
        self.words = array_words(address, size, dtype.itemsize, shape)
        self.kind = dtype.char, len(shape)

    @property
    def device_ctypes_pointer(self) -> ctypes.c_size_t:
        """The address, as numba's arrays give it."""
        return ctypes.c_size_t(self.address)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        width = self.dtype.itemsize
        return (width,) if len(self.shape) == 1 else (self.shape[1] * width, width)

    @property
    def __cuda_array_interface__(self) -> dict:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3}

    def __getitem__(self, piece: slice) -> Part:
        """Returns a piece of an array of one dimension."""
        low, high, _ = piece.indices(self.size)
        return Part(self._owner, self.address + low * self.dtype.itemsize, (max(high - low, 0),), self.dtype)

    def view(self, dtype) -> Part:
        """Returns the same bytes as one row of elements of another type."""
        dtype = np.dtype(dtype)
        return Part(self._owner, self.address, (self.nbytes // dtype.itemsize,), dtype)

    def copy_to_host(self) -> np.ndarray:
        """Returns the elements on the host, after all work that was queued before."""
        few = self.nbytes <= MOST_STAGED
        found = cuda.pinned_array(self.shape, self.dtype) if few else np.empty(self.shape, self.dtype)
        if self.size:
            prepared_copy(found, self)()
        return np.array(found) if few else found


def reshaped(row, shape: tuple[int, ...], dtype):
    """Returns the first bytes of a row as an array of this shape and type of elements."""
    if simulated:
        return row.view(dtype)[: math.prod(shape)].reshape(*shape)
    return Part(row._owner, row.address, shape, np.dtype(dtype))


def allocate(*wanted: tuple[int | tuple[int, ...], type]) -> list:
    """Returns arrays that are not set, each of a shape and a type of elements, in one allocation."""
    if simulated:
        return [cuda.device_array(shape, dtype) for shape, dtype in wanted]
    kinds = [(shape if isinstance(shape, tuple) else (int(shape),), np.dtype(dtype)) for shape, dtype in wanted]
    starts, end = [], 0
    for shape, dtype in kinds:
        starts.append(end)
        end += -(-math.prod(shape) * dtype.itemsize // _ALIGNED) * _ALIGNED
    owner, _ = describe.take_memory(max(end, 1))
    first = int(owner.device_pointer)
    return [Part(owner, first + start, shape, dtype) for start, (shape, dtype) in zip(starts, kinds, strict=True)]


def copied(*columns: np.ndarray) -> list:
    """Copies columns of the host to the device, together if they are small; returns when they have arrived."""
    if simulated or sum(column.nbytes for column in columns) > MOST_STAGED:
        return [cuda.to_device(column) for column in columns]
    parts = allocate(*((column.shape, column.dtype) for column in columns))
    first = parts[0].address
    size = parts[-1].address + parts[-1].nbytes - first
    staged = cuda.pinned_array(size, np.uint8)
    for part, column in zip(parts, columns, strict=True):
        at = part.address - first
        staged[at : at + part.nbytes].view(column.dtype)[:] = column.reshape(-1)
    prepared_copy(Part(parts[0]._owner, first, (size,), np.dtype(np.uint8)), staged)()
    return parts


def bring(to, pinned: np.ndarray) -> None:
    """Copies pinned memory to a row on the device of the same length; does not wait."""
    if simulated:
        to.copy_to_device(pinned)
    else:
        prepared_copy(to, pinned, wait=False)()
