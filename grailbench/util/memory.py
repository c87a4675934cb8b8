"""How much memory this process may still use, and the check before something large is allocated."""

from __future__ import annotations

import re
import resource
from contextlib import suppress
from pathlib import Path

import psutil

from grailbench.errors import InputError, TooLittleMemory
from grailbench.util.words import decimal_size

_GROUPS = Path("/sys/fs/cgroup")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*((?:[KMGT]i?)?B?)", re.IGNORECASE)
_UNITS = {"": 1, "b": 1} | {
    prefix + end: base**power
    for power, letter in enumerate("kmgt", 1)
    for prefix, base in ((letter, 1000), (f"{letter}i", 1024))
    for end in ("", "b")
}


def available() -> int:
    """Bytes that are free on this machine, or fewer if a control group (a container) or `ulimit -v` allows fewer."""
    least = psutil.virtual_memory().available
    for group in _groups():
        with suppress(OSError, ValueError):
            most = int((group / "memory.max").read_text())  # ValueError for 'max', which means no limit
            stated = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            # the file cache counts as used, and its inactive part is freed on demand
            taken = int((group / "memory.current").read_text()) - int(stated["inactive_file"])
            least = min(least, most - taken)
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY:
        least = min(least, most - psutil.Process().memory_info().vms)
    return max(0, least)


def require(need: int, what: str) -> None:
    """Raises TooLittleMemory, with a message that begins with `what`, if fewer than `need` bytes are available."""
    if need > (free := available()):
        raise TooLittleMemory(f"{what}: about {decimal_size(need)} of memory needed, {decimal_size(free)} free")


def parsed(text: str) -> int:
    """The bytes that a text like '500MB', '1.5 GiB' or '4096' means. Raises InputError for any other text."""
    found = _SIZE.fullmatch(text.strip())
    size = float(found[1]) * _UNITS[found[2].lower()] if found else 0.0
    if not 1 <= size < 2**63:
        raise InputError(f"{text!r} is no size of memory", remedy="a number of bytes, or as 500MB, 1.5GiB")
    return int(size)


def _groups() -> list[Path]:
    """The control group (version 2) of this process and those above it."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::/"):
                own = _GROUPS / line[4:]
                return [own, *(each for each in own.parents if each.is_relative_to(_GROUPS))]
    return []
