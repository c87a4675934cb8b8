"""How much of the device's memory our arrays take, at any time and at most: every allocation is counted here.

The counting manager stands in for numba's own (its plug-in interface for memory managers), so no allocation through
`gateway.cuda` passes it by, whoever makes it. It counts what is taken from the driver and not given back: arrays in
use, and those dropped that numba has not freed yet. Kernels' code, the context and the memory of other libraries are
not in it. Where NUMBA_CUDA_MEMORY_MANAGER names another manager nothing is counted.
"""

from __future__ import annotations

from grailbench.device import gateway
from grailbench.device.gateway import cuda


def _manager():
    """This process's counting manager, or None."""
    if gateway.simulated:
        return None
    manager = cuda.current_context().memory_manager
    return manager if hasattr(manager, "most") else None


def held() -> int | None:
    """Bytes taken of the device now; None where nothing is counted (the simulator, another manager)."""
    manager = _manager()
    return None if manager is None else manager.held()


def peak() -> int | None:
    """Bytes taken at most since `restart`, or since the process began."""
    manager = _manager()
    return None if manager is None else manager.most


def restart() -> None:
    """Free what was dropped, and let the high-water mark begin at what is held then."""
    release()
    manager = _manager()
    if manager is not None:
        manager.most = manager.held()


def release() -> None:
    """Free what was dropped: numba keeps some of it for a while."""
    manager = _manager()
    if manager is not None:
        manager.deallocations.clear()
