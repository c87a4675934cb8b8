"""The current device: what it is, how much memory it has, and memory of it for arrays."""

from dataclasses import dataclass

from grailbench.cuda.allocator import managers
from grailbench.cuda.gateway import cuda, require, simulated
from grailbench.cuda.installed import described_compiler
from grailbench.errors import TooLittleMemory
from grailbench.util.words import gib


@dataclass(frozen=True)
class Device:
    """The device that runs kernels. Sizes are in bytes; `driver` is the CUDA version that the driver supports."""

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
    """Describes the current device in its present state. Raises MachineLacks if there is none."""
    require()
    free, total = memory()
    if simulated:
        return Device("simulator", "", 1, 0, total, free, "", described_compiler(), True)
    device = cuda.get_current_device()
    return Device(
        name=device.name.decode() if isinstance(device.name, bytes) else device.name,
        compute_capability=".".join(map(str, device.compute_capability)), multiprocessors=device.MULTIPROCESSOR_COUNT,
        l2_bytes=device.L2_CACHE_SIZE, memory_bytes=total, free_bytes=free,
        driver=".".join(map(str, cuda.cudadrv.driver.driver.get_version())), front_end=described_compiler(),
        simulated=False,
    )  # fmt: skip


def memory() -> tuple[int, int]:
    """The free and the total memory of the device in bytes; in the simulator that of the host."""
    if simulated:
        import psutil

        host = psutil.virtual_memory()
        return host.available, host.total
    context = cuda.current_context()
    manager = context.memory_manager
    pending = getattr(manager, "deallocations", None)  # an external memory manager may not have it
    if pending is not None:
        pending.clear()  # numba delays freeing, so dropped arrays would count as used
    free, total = context.get_memory_info()
    reserved = manager.reserved() if manager in managers else 0  # what is kept for later arrays can be had
    return int(free) + reserved, int(total)


def require_memory(needed: int, what: str, remedy: str = "take a smaller graph, or a GPU with more") -> None:
    """Raises TooLittleMemory unless `needed` bytes are free on the device; `what` names what needs them."""
    if not simulated and any(manager.reserved() >= needed for manager in managers if manager.context is not None):
        return  # asking the driver takes longer than a small graph
    free, total = memory()
    if needed > free:
        raise TooLittleMemory(
            f"{what} needs {gib(needed)} of device memory; {gib(free)} of {gib(total)} are free on "
            f"{describe().name} ({remedy})"
        )


_known: dict = {}  # address of a context -> the memory manager there, and the number of its device


def current_device() -> int:
    """Returns the number of the current device; 0 in the simulator."""
    return 0 if simulated else _current()[1]


def take_memory(size: int) -> tuple:
    """Takes so many bytes of the current device, more than 0; returns their owner and the device's number.

    Not for the simulator. Raises TooLittleMemory.
    """
    manager, number = _current()
    return getattr(manager, "take", manager.memalloc)(size), number


def _current() -> tuple:
    """Returns the memory manager and the number of the current device.

    numba looks the context up in Python code that takes 15 us; this asks the driver.
    """
    if (here := _context()) not in _known:
        context = cuda.current_context()
        here = _context()
        _known[here] = context.memory_manager, context.device.id
    return _known[here]


def _context() -> int:
    """The context of this thread; 0 for none, as before anything was asked of the driver."""
    from cuda.bindings import driver

    return int(driver.cuCtxGetCurrent()[1] or 0)
