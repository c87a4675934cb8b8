"""Many arrays in one allocation, and many columns in one copy: for small graphs, calls take longer than bytes do.

numba makes a device array in 30 us and copies one in 150, most of it in Python. A `Part` is an array of one allocation,
made in 2; kernels take it by `launch.Prepared`, whose launches need no numba array. The simulator has numba's own.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np

from grailbench.cuda import memory
from grailbench.cuda.gateway import array_words, cuda, simulated
from grailbench.cuda.launch import prepared_copy

MOST = 64 << 20  #: bytes that are copied through pinned memory, and at once
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
        few = self.nbytes <= MOST
        found = cuda.pinned_array(self.shape, self.dtype) if few else np.empty(self.shape, self.dtype)
        if self.size:
            prepared_copy(found, self)()
        return np.array(found) if few else found


def reshaped(row, shape: tuple[int, ...], dtype):
    """Returns the first bytes of a row as an array of this shape and type of elements."""
    if simulated:
        return row.view(dtype)[: math.prod(shape)].reshape(*shape)
    return Part(row._owner, row.address, shape, np.dtype(dtype))


def room(*wanted: tuple[int | tuple[int, ...], type]) -> list:
    """Returns arrays that are not set, each of a shape and a type of elements, in one allocation."""
    if simulated:
        return [cuda.device_array(shape, dtype) for shape, dtype in wanted]
    kinds = [(shape if isinstance(shape, tuple) else (int(shape),), np.dtype(dtype)) for shape, dtype in wanted]
    starts, end = [], 0
    for shape, dtype in kinds:
        starts.append(end)
        end += -(-math.prod(shape) * dtype.itemsize // _ALIGNED) * _ALIGNED
    owner, _ = memory.take(max(end, 1))
    first = int(owner.device_pointer)
    return [Part(owner, first + start, shape, dtype) for start, (shape, dtype) in zip(starts, kinds, strict=True)]


def copied(*columns: np.ndarray) -> list:
    """Copies columns of the host to the device, together if they are small; returns when they have arrived."""
    if simulated or sum(column.nbytes for column in columns) > MOST:
        return [cuda.to_device(column) for column in columns]
    parts = room(*((column.shape, column.dtype) for column in columns))
    first = parts[0].address
    size = parts[-1].address + parts[-1].nbytes - first
    staged = cuda.pinned_array(size, np.uint8)
    for part, column in zip(parts, columns, strict=True):
        at = part.address - first
        staged[at : at + part.nbytes].view(column.dtype)[:] = column.reshape(-1)
    prepared_copy(Part(parts[0]._owner, first, (size,), np.dtype(np.uint8)), staged)()
    return parts


def bring(to, pinned: np.ndarray, elements: int) -> None:
    """Copies the first elements of pinned memory to a row on the device; does not wait."""
    if simulated:
        to[:elements].copy_to_device(pinned[:elements])
    else:
        prepared_copy(to[:elements], pinned[:elements], wait=False)()
