"""Special arrays for kernels: zeros, rows with a pitch, mapped memory of the host, and arrays of CuPy."""

from __future__ import annotations

import numpy as np

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import check
from grailbench.errors import MachineLacks

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


class Pitched:
    """A matrix on the device whose rows start at multiples of 512 bytes (cudaMallocPitch, cudaMemcpy2D).

    `array` is the device array [rows, pitch]; columns from `columns` on are undefined padding.
    """

    def __init__(self, rows: int, columns: int, dtype):
        self.columns, size = columns, np.dtype(dtype).itemsize
        self.array = cuda.device_array((rows, self.pitch_of(columns, dtype)), dtype)
        self._size = size

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
        raise MachineLacks("CuPy is not installed (pip install 'grailbench[cupy]')") from None


class Managed:
    """A device array that CuPy allocates, copies and frees; kernels take `array`. The simulator uses numba's arrays."""

    def __init__(self, shape, dtype):
        require_library()
        if simulated:
            self.array = self._owned = cuda.device_array(shape, dtype)
        else:
            import cupy

            self._owned = cupy.empty(shape, dtype)
            self.array = cuda.as_cuda_array(self._owned)

    def upload(self, host: np.ndarray) -> None:
        """Copies a host array to the device and waits for it."""
        if simulated:
            self._owned.copy_to_device(host)
        else:
            self._owned.set(host)

    def download(self, host: np.ndarray) -> None:
        """Copies to a host array and waits for it."""
        if simulated:
            self._owned.copy_to_host(host)
        else:
            self._owned.get(out=host)
