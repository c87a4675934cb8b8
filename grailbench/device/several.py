"""Several GPUs of one host: a thread for each, which has that device current and keeps it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from grailbench.device.gateway import cuda, simulated
from grailbench.errors import MachineLacks


def count() -> int:
    """GPUs that this process may use; the simulator has as many as are asked for."""
    return 2**16 if simulated else len(cuda.gpus)


class Team:
    """N devices, the first of the host, and a thread each.

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

    def submit(self, device: int, work, *args) -> Future:
        """Call `work(*args)` with that device current."""
        if not simulated:
            return self._threads[device].submit(work, *args)
        done: Future = Future()
        done.set_result(work(*args))
        return done
