"""How much memory this process may still use, the check before something large is allocated, and whether `ulimit`
allows enough to load numpy, scipy and numba, whose OpenBLAS else ends the process or hangs.
"""

import os
import re
import resource
import sys
from contextlib import suppress

from grailbench.errors import InputError, MachineLacks, TooLittleMemory
from grailbench.util.cores import groups
from grailbench.util.words import decimal_size

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*((?:[KMGT]i?)?B?)", re.IGNORECASE)
_UNITS = {"": 1, "b": 1} | {
    prefix + end: base**power
    for power, letter in enumerate("kmgt", 1)
    for prefix, base in ((letter, 1000), (f"{letter}i", 1024))
    for end in ("", "b")
}

#: what it takes to load numpy, scipy and numba: bytes, and for each thread of theirs bytes and threads
_BASE, _PER_THREAD, _THREADS = 600_000_000, 100_000_000, 3
_OPTIONS = {resource.RLIMIT_AS: "-v", resource.RLIMIT_DATA: "-d", resource.RLIMIT_NPROC: "-u"}


def available() -> int:
    """Bytes that are free on this machine, or fewer if a control group (a container) or `ulimit -v` allows fewer."""
    import psutil  # here, so that `grailbench --help` starts without it

    least = psutil.virtual_memory().available
    for group in groups("memory"):
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


# ------------------------------------------------------------------ ulimit


def require_loadable() -> None:
    """Raises MachineLacks if `ulimit` allows this process less memory, or fewer threads, than it takes to load numpy,
    scipy and numba, unless they are loaded."""
    if "numba" in sys.modules:
        return
    limits = [os.environ.get(f"{name}_NUM_THREADS", "") for name in ("OPENBLAS", "NUMBA")]
    threads = max(int(each) if each.isdecimal() else os.cpu_count() or 1 for each in limits)
    need, small = _BASE + _PER_THREAD * threads, []
    for which, option in _OPTIONS.items():
        most, (least, unit) = resource.getrlimit(which)[0], (_THREADS * threads, 1) if option == "-u" else (need, 1024)
        if most != resource.RLIM_INFINITY and most < least:
            small.append(f"ulimit {option} {most // unit}")
    if small:
        raise MachineLacks(
            f"{' and '.join(small)}: too little to load numpy, scipy and numba, which take about {decimal_size(need)} "
            f"and {_THREADS * threads} threads with {threads} each (raise the limit; OPENBLAS_NUM_THREADS=1 and "
            "NUMBA_NUM_THREADS=1 need less)"
        )
