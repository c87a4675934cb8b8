"""Several GPUs of one host, with one host thread for each, whose current device it is."""

import atexit
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from grailbench.cuda.allocator import managers
from grailbench.cuda.gateway import cuda, simulated
from grailbench.errors import MachineLacks


def count() -> int:
    """The number of GPUs that this process may use; unlimited in the simulator."""
    return 2**16 if simulated else len(cuda.gpus)


@cache
def _keep_code() -> None:
    """Prevents numba from unloading kernels at exit: it loads one once for all devices but unloads it for each, which
    aborts the process."""
    atexit.register(lambda: keep_loaded(manager.context for manager in managers))


def keep_loaded(contexts) -> None:
    """Prevents the modules of these contexts from being unloaded when Python exits."""
    for context in contexts:
        for module in list(context.modules.values()):
            module._finalizer.detach()


class DeviceThread:
    """A host thread for one device, so that any thread of the program may have work done there.

    In the simulator there is no thread: submitted work runs before `submit` returns.
    """

    def __init__(self, device: int):
        """Raises MachineLacks if the host has no such device."""
        if not 0 <= device < count():
            raise MachineLacks(f"GPU {device} is asked for, this host has {count()}, numbered from 0")
        self._thread = None if simulated else ThreadPoolExecutor(1, f"gpu-{device}")
        if self._thread is not None:
            self._thread.submit(cuda.select_device, device).result()

    def submit(self, work, *args) -> Future:
        """Calls `work(*args)` in that thread."""
        if self._thread is not None:
            return self._thread.submit(work, *args)
        (done := Future()).set_result(work(*args))
        return done

    def run(self, work, *args):
        """Calls `work(*args)` in that thread and waits for it; raises what it raises."""
        return self.submit(work, *args).result()


def device_threads(devices: int) -> list[DeviceThread]:
    """A thread for each of the first devices of the host. Raises MachineLacks if it has fewer."""
    if devices > count():
        raise MachineLacks(f"{devices} GPUs are asked for, this host has {count()} (--devices)")
    if devices > 1 and not simulated:
        _keep_code()
    return [DeviceThread(device) for device in range(devices)]
