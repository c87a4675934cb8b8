"""The device memory that arrays take, now and at most.

A counting memory manager (`allocator`) replaces that of numba, so every allocation through `gateway.cuda` is counted
while its array is in use, as what it takes: up to a sixteenth more than asked for, or twice that of a small one. Code
of kernels, the context, memory that is kept for later arrays and memory of other libraries are not included. If
NUMBA_CUDA_MEMORY_MANAGER selects another manager, nothing is counted.
"""

from __future__ import annotations

from grailbench.cuda.allocator import managers

_known: dict = {}  # address of a context -> the memory manager there, and the number of its device


def held() -> int | None:
    """Bytes in use on all devices; None if nothing is counted (no device in use, the simulator, another manager).

    It does not create a context.
    """
    return sum(manager.held() for manager in managers) if managers else None


def peak() -> int | None:
    """The greatest number of bytes in use since `restart` or the start of the process, summed over the devices."""
    return sum(manager.most for manager in managers) if managers else None


def restart() -> None:
    """Sets the maximum to what is in use now, and gives memory that is kept back to the driver."""
    for manager in managers:
        manager.flush()
        manager.most = manager.held()


def release() -> None:
    """Frees what numba frees late: modules, events and streams. Memory of dropped arrays is kept for later ones."""
    for manager in managers:
        manager.deallocations.clear()


def device() -> int:
    """Returns the number of the current device; 0 in the simulator."""
    from grailbench.cuda.gateway import simulated

    return 0 if simulated else _current()[1]


def take(size: int) -> tuple:
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
        from grailbench.cuda.gateway import cuda

        context = cuda.current_context()
        here = _context()
        _known[here] = context.memory_manager, context.device.id
    return _known[here]


def _context() -> int:
    """The context of this thread; 0 for none, as before anything was asked of the driver."""
    from cuda.bindings import driver

    return int(driver.cuCtxGetCurrent()[1] or 0)
