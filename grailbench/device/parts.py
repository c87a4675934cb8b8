"""Many arrays in one allocation, and many columns in one copy: for small graphs, calls take longer than bytes do.

numba makes a device array in 30 us and copies one in 150, most of it in Python. A `Part` is an array of one allocation,
made in 2; kernels take it by `launch.Prepared`, whose launches need no numba array. The simulator has numba's own.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np

from grailbench.device import memory
from grailbench.device.gateway import cuda, simulated
from grailbench.device.launch import prepared_copy

MOST = 64 << 20  #: bytes that are copied at once; with more, numba's own way costs nothing
_ALIGNED = 256  #: bytes; where a part may begin


class Part:
    """An array on the device, contiguous; `device_ctypes_pointer` is its address."""

    __slots__ = ("_owner", "device_ctypes_pointer", "dtype", "nbytes", "ndim", "shape", "size", "strides")

    def __init__(self, owner, address: int, shape: tuple[int, ...], dtype: np.dtype):
        self._owner, self.device_ctypes_pointer, self.dtype = owner, ctypes.c_size_t(address), dtype
        self.shape, self.ndim, self.size = shape, len(shape), math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.strides = tuple(dtype.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape)))

    @property
    def __cuda_array_interface__(self) -> dict:
        address = self.device_ctypes_pointer.value
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (address, False), "version": 3}

    def __getitem__(self, piece: slice) -> Part:
        """Returns a piece of an array of one dimension."""
        low, high, _ = piece.indices(self.size)
        address = self.device_ctypes_pointer.value + low * self.dtype.itemsize
        return Part(self._owner, address, (max(high - low, 0),), self.dtype)

    def view(self, dtype) -> Part:
        """Returns the same bytes as one row of elements of another type."""
        dtype = np.dtype(dtype)
        return Part(self._owner, self.device_ctypes_pointer.value, (self.nbytes // dtype.itemsize,), dtype)

    def copy_to_host(self) -> np.ndarray:
        """Returns the elements on the host, after all work that was queued before."""
        found = cuda.pinned_array(self.shape, self.dtype)
        if self.size:
            prepared_copy(found, self)()
        return np.array(found)


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
    first = parts[0].device_ctypes_pointer.value
    size = parts[-1].device_ctypes_pointer.value + parts[-1].nbytes - first
    staged = cuda.pinned_array(size, np.uint8)
    for part, column in zip(parts, columns, strict=True):
        at = part.device_ctypes_pointer.value - first
        staged[at : at + part.nbytes].view(column.dtype)[:] = column.reshape(-1)
    prepared_copy(Part(parts[0]._owner, first, (size,), np.dtype(np.uint8)), staged)()
    return parts
