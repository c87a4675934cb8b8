"""How much of the device's memory our arrays take, at any time and at most: every allocation is counted here.

The counting manager stands in for numba's own (its plug-in interface for memory managers), so no allocation through
`gateway.cuda` passes it by, whoever makes it. It counts what is taken from the driver and not given back: arrays in
use, and those dropped that numba has not freed yet. Kernels' code, the context and the memory of other libraries are
not in it. Where NUMBA_CUDA_MEMORY_MANAGER names another manager nothing is counted.
"""

from __future__ import annotations

from grailbench.device.allocator import managers


def held() -> int | None:
    """Bytes taken now of all devices in use; None where nothing is counted (no device in use, the simulator, another
    manager). No context is made to find out."""
    return sum(manager.held() for manager in managers) if managers else None


def peak() -> int | None:
    """Bytes taken at most since `restart`, or since the process began: the sum over the devices of what each had."""
    return sum(manager.most for manager in managers) if managers else None


def restart() -> None:
    """Free what was dropped, and let the high-water mark begin at what is held then."""
    release()
    for manager in managers:
        manager.most = manager.held()


def release() -> None:
    """Free what was dropped: numba keeps some of it for a while."""
    for manager in managers:
        manager.deallocations.clear()
