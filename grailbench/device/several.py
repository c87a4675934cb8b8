"""Several GPUs of one host: a thread for each, which has that device current and keeps it."""

from __future__ import annotations

import atexit
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from grailbench.device.allocator import managers
from grailbench.device.gateway import cuda, simulated
from grailbench.device.launch import check
from grailbench.errors import MachineLacks


def count() -> int:
    """GPUs that this process may use; the simulator has as many as are asked for."""
    return 2**16 if simulated else len(cuda.gpus)


@cache
def _keep_code() -> None:
    """Leave it to the end of the process to unload kernels.

    numba loads a kernel once, whatever the number of devices, and unloads it at exit once for each of them, of which
    the second frees what is free already: the process aborts after all its work.
    """
    atexit.register(lambda: keep_loaded(manager.context for manager in managers))


def keep_loaded(contexts) -> None:
    """Let no module of these contexts be unloaded when Python ends."""
    for context in contexts:
        for module in list(context.modules.values()):
            module._finalizer.detach()


class PeerArray:
    """An array on the device that is current now, for other devices to copy."""

    def __init__(self, array):
        self._array, self._context = array, None
        if not simulated:
            cuda.synchronize()  # what fills it
            self._context = _current()

    def copy_to(self, array) -> None:
        """Copy all bytes to an array of the device that is current then, straight between the two; `array` is of the
        same size. Does not wait: keep this until that device has."""
        if simulated:
            array.copy_to_device(self._array)
            return
        from cuda.bindings import driver

        to, source = (each.device_ctypes_pointer.value for each in (array, self._array))
        size = self._array.nbytes
        check(driver.cuMemcpyPeer(to, _current(), source, self._context, size), f"copy {size:,} bytes between GPUs")


def _current():
    from cuda.bindings import driver

    result = driver.cuCtxGetCurrent()
    check(result, "name the context of this GPU")
    return result[1]


class DeviceThreads:
    """A thread for each of N devices, the first of the host.

    In the simulator there is one device and no thread: what is submitted has run when `submit` returns.
    """

    def __init__(self, devices: int):
        """Raises MachineLacks when the host has fewer."""
        if devices > count():
            raise MachineLacks(f"{devices} GPUs are asked for, this host has {count()} (--devices)")
        self.devices = devices
        self._threads = [] if simulated else [ThreadPoolExecutor(1, f"gpu-{device}") for device in range(devices)]
        for device, thread in enumerate(self._threads):
            thread.submit(cuda.select_device, device).result()
        if self._threads and devices > 1:
            _keep_code()

    def submit(self, device: int, work, *args) -> Future:
        """Call `work(*args)` with that device current."""
        if not simulated:
            return self._threads[device].submit(work, *args)
        done: Future = Future()
        done.set_result(work(*args))
        return done
