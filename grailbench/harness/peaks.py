"""The peak memory of a process, on the host and on devices.

Host: the peak of the resident set as Linux counts it (VmHWM). It includes the interpreter, the libraries (0.1 to
0.2 GiB together) and compiled code, so it describes a cell only if the cell has its own process (`harness.processes`).

Device: the peak of the memory allocated for device arrays (`cuda.allocator`).
"""

import re
import resource
import sys
from contextlib import suppress
from pathlib import Path

import psutil

OOM_SCORE = 900  # of 1,000: Linux first kills the process with the highest score when memory runs out


def host_peak() -> int:
    """The largest resident set of this process so far, in bytes."""
    return 1024 * int(re.search(rb"VmHWM:\s+(\d+)", Path("/proc/self/status").read_bytes())[1])


def restart_host() -> None:
    """Reset the host peak to what is resident now, where Linux allows it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def device_peak() -> int | None:
    """The most bytes that the device arrays of this process took since `restart`; None without a device."""
    return None if (meter := _meter()) is None else meter.peak()


def restart() -> None:
    """Reset the device peak to the memory that is allocated now."""
    if (meter := _meter()) is not None:
        meter.restart()


def release() -> None:
    """Free the memory of deleted device arrays, of which numba keeps some."""
    if (meter := _meter()) is not None:
        meter.release()


def limit(size: int) -> None:
    """Make allocations of this process fail once it has `size` bytes of data more than now (RLIMIT_DATA of Linux).

    Memory that it only maps counts too, files and what it shares with the process that it was forked from do not.
    """
    allocated = psutil.Process().memory_info().data
    resource.setrlimit(resource.RLIMIT_DATA, (allocated + size, resource.RLIM_INFINITY))


def be_killed_first() -> None:
    """Make the system kill this process, and not the run, when memory runs out."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(OOM_SCORE))


def _meter():
    """The module `cuda.allocator` if this process uses CUDA, else None. CUDA is not imported for it."""
    if "grailbench.cuda.gateway" not in sys.modules:
        return None
    from grailbench.cuda import allocator

    return allocator
