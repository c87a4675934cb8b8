"""Several GPUs of one host, with one host thread for each, whose current device it is."""

from __future__ import annotations

import atexit
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from grailbench.cuda.allocator import managers
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import check
from grailbench.errors import MachineLacks


def count() -> int:
    """The number of GPUs that this process may use; unlimited in the simulator."""
    return 2**16 if simulated else len(cuda.gpus)


@cache
def _keep_code() -> None:
    """Prevents numba from unloading kernels at exit.

    numba loads a kernel once for all devices but unloads it once for each of them, so the second time frees memory that
    is already free, and the process aborts at exit.
    """
    atexit.register(lambda: keep_loaded(manager.context for manager in managers))


def keep_loaded(contexts) -> None:
    """Prevents the modules of these contexts from being unloaded when Python exits."""
    for context in contexts:
        for module in list(context.modules.values()):
            module._finalizer.detach()


class PeerArray:
    """An array on the device that is current now, which can be copied to other devices."""

    def __init__(self, array):
        self._array, self._context = array, None
        if not simulated:
            cuda.synchronize()  # waits for the kernels that fill the array
            self._context = _current()

    def copy_to(self, array) -> None:
        """Copies all bytes directly to `array`, an array of the same size on the device that is current then.

        Does not wait; this object must be kept until that device has finished the copy.
        """
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
    """A host thread for each of the first `devices` devices of the host.

    In the simulator there are no threads: submitted work runs before `submit` returns.
    """

    def __init__(self, devices: int):
        """Raises MachineLacks if the host has fewer devices."""
        if devices > count():
            raise MachineLacks(f"{devices} GPUs are asked for, this host has {count()} (--devices)")
        self.devices = devices
        self._threads = [] if simulated else [ThreadPoolExecutor(1, f"gpu-{device}") for device in range(devices)]
        for device, thread in enumerate(self._threads):
            thread.submit(cuda.select_device, device).result()
        if self._threads and devices > 1:
            _keep_code()

    def submit(self, device: int, work, *args) -> Future:
        """Calls `work(*args)` in the thread of that device."""
        if not simulated:
            return self._threads[device].submit(work, *args)
        done: Future = Future()
        done.set_result(work(*args))
        return done


class DeviceThread:
    """A host thread for one device, so that any thread of the program may have work done there.

    In the simulator there is no thread: work runs in the caller.
    """

    def __init__(self, device: int):
        """Raises MachineLacks if the host has no such device."""
        if not 0 <= device < count():
            raise MachineLacks(f"GPU {device} is asked for, this host has {count()}, numbered from 0")
        self._thread = None if simulated else ThreadPoolExecutor(1, f"gpu-{device}")
        if self._thread is not None:
            self._thread.submit(cuda.select_device, device).result()

    def run(self, work, *arguments):
        """Calls `work(*arguments)` in that thread and waits for it; raises what it raises."""
        return work(*arguments) if self._thread is None else self._thread.submit(work, *arguments).result()
