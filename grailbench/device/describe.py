"""What the device is, and whether it has the memory that is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from grailbench.device.gateway import cuda, require, simulated
from grailbench.errors import TooLittleMemory
from grailbench.words import gib


@dataclass(frozen=True)
class Device:
    """The device that kernels run on; sizes in bytes, `driver` the CUDA version that the driver offers."""

    name: str
    compute_capability: str
    multiprocessors: int
    l2_bytes: int
    memory_bytes: int
    free_bytes: int
    driver: str
    front_end: str
    simulated: bool


def describe() -> Device:
    """The current device as it is now. Raises MachineLacks when there is none."""
    require()
    free, total = memory()
    if simulated:
        return Device("simulator", "", 1, 0, total, free, "", front_end(), True)
    device = cuda.get_current_device()
    return Device(
        name=device.name.decode() if isinstance(device.name, bytes) else device.name,
        compute_capability=".".join(map(str, device.compute_capability)),
        multiprocessors=device.MULTIPROCESSOR_COUNT,
        l2_bytes=device.L2_CACHE_SIZE,
        memory_bytes=total,
        free_bytes=free,
        driver=".".join(map(str, cuda.cudadrv.driver.driver.get_version())),
        front_end=front_end(),
        simulated=False,
    )


def front_end() -> str:
    """Name and version of the package whose CUDA module is in use."""
    try:
        return f"numba-cuda {version('numba-cuda')}"
    except PackageNotFoundError:
        return f"numba {version('numba')} (its own CUDA target)"


def memory() -> tuple[int, int]:
    """Bytes free and bytes in all on the device; in the simulator those of the host."""
    if simulated:
        import psutil

        host = psutil.virtual_memory()
        return host.available, host.total
    context = cuda.current_context()
    pending = getattr(context.memory_manager, "deallocations", None)  # a plugged-in manager may have none
    if pending is not None:
        pending.clear()  # numba frees late: arrays already dropped would count as used
    free, total = context.get_memory_info()
    return int(free), int(total)


def require_memory(needed: int, what: str, remedy: str = "take a smaller graph, or a GPU with more") -> None:
    """Raise TooLittleMemory unless `needed` bytes are free on the device; `what` needs them, for the message."""
    free, total = memory()
    if needed > free:
        raise TooLittleMemory(
            f"{what} needs {gib(needed)} of device memory; {gib(free)} of {gib(total)} are free on "
            f"{describe().name} ({remedy})"
        )
