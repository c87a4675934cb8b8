"""What a process has taken of the memory of host and device, measured.

Host: the peak of the process's resident set as the kernel counts it (VmHWM). It holds the interpreter, the libraries
and whatever the process has compiled, so it says something of a cell only in a process of the cell's own
(`bench.processes`); with interpreter and libraries alone it is 0.1 to 0.2 GiB.

Device: the high-water mark of our allocator (`device.memory`).
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress

FIRST_TO_GO = 900  # of 1,000: whom Linux kills first when memory runs out


def host_peak() -> int:
    """Bytes that this process had resident at most so far."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def device_peak() -> int | None:
    """Bytes that this process's arrays took of devices at most since `restart`; None when it has used none."""
    meter = _meter()
    return None if meter is None else meter.peak()


def restart() -> None:
    """Let the device's high-water mark begin at what is held now."""
    meter = _meter()
    if meter is not None:
        meter.restart()


def release() -> None:
    """Give device arrays back that were dropped: numba keeps some, which an idle process should not."""
    meter = _meter()
    if meter is not None:
        meter.release()


def be_killed_first() -> None:
    """Where memory runs out, let the system kill this process and not the run."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write(str(FIRST_TO_GO))


def _meter():
    """`device.memory` where CUDA is in use in this process; nothing is imported for its sake."""
    if "grailbench.device.gateway" not in sys.modules:
        return None
    from grailbench.device import memory

    return memory
