"""The device memory that arrays take, now and at most.

A counting memory manager (`allocator`) replaces that of numba, so every allocation through `gateway.cuda` is counted:
arrays in use, and dropped arrays that numba has not freed yet. Code of kernels, the context and memory of other
libraries are not included. If NUMBA_CUDA_MEMORY_MANAGER selects another manager, nothing is counted.
"""

from __future__ import annotations

from grailbench.device.allocator import managers


def held() -> int | None:
    """Bytes in use on all devices; None if nothing is counted (no device in use, the simulator, another manager).

    It does not create a context.
    """
    return sum(manager.held() for manager in managers) if managers else None


def peak() -> int | None:
    """The greatest number of bytes in use since `restart` or the start of the process, summed over the devices."""
    return sum(manager.most for manager in managers) if managers else None


def restart() -> None:
    """Frees dropped arrays and sets the maximum to what is in use then."""
    release()
    for manager in managers:
        manager.most = manager.held()


def release() -> None:
    """Frees dropped arrays, some of which numba keeps for a while."""
    for manager in managers:
        manager.deallocations.clear()
