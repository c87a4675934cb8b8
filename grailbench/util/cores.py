"""How many cores this process may use: those it may run on, or fewer if a control group (a container) has a quota."""

import math
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """The number of cores that this process may use; a quota of 1.5 cores counts as 2."""
    allowed, most = len(os.sched_getaffinity(0)), quota()
    return allowed if most is None else max(1, min(allowed, math.ceil(most)))


@cache
def quota() -> float | None:
    """The cores that the control groups of this process, of version 1 or 2, let it use; None if they set no bound."""
    found = []
    for group in groups("cpu"):
        with suppress(OSError, ValueError):  # ValueError for 'max', which means no bound
            if (group / "cpu.max").exists():
                most, period = (int(each) for each in (group / "cpu.max").read_text().split())
            else:
                most, period = (int((group / f"cpu.cfs_{each}_us").read_text()) for each in ("quota", "period"))
            if most > 0 and period > 0:
                found.append(most / period)
    return min(found, default=None)


def groups(controller: str) -> list[Path]:
    """The folders of the control group of this process that has this controller, and of those above it."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, own = line.split(":", 2)
            if not controllers or controller in controllers.split(","):
                root = _GROUPS / controllers if (_GROUPS / controllers).is_dir() else _GROUPS / controller
                path = root / own.lstrip("/")
                return [path, *(each for each in path.parents if each.is_relative_to(root))]
    return []
