"""How much memory this process may still use, the check before something large is allocated, and whether what `ulimit`
allows is enough to load numpy, scipy and numba.

OpenBLAS, which numpy and scipy both load, ends the process if it gets too little memory or no threads, or tries again
for ever and hears no signal. So where a limit is small, another process tries it first.
"""

from __future__ import annotations

import functools
import os
import re
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from grailbench.errors import InputError, MachineLacks, TooLittleMemory
from grailbench.util.words import decimal_size

_GROUPS = Path("/sys/fs/cgroup")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*((?:[KMGT]i?)?B?)", re.IGNORECASE)
_UNITS = {"": 1, "b": 1} | {
    prefix + end: base**power
    for power, letter in enumerate("kmgt", 1)
    for prefix, base in ((letter, 1000), (f"{letter}i", 1024))
    for end in ("", "b")
}

_SMALL = 8 << 30  #: bytes for a process of one core, and per core `_SMALL_CORE` more, from which on nothing is tried
_SMALL_CORE = 1 << 28
_FEW = 4096  #: processes and threads of the user, likewise
_ROOM = 160 << 20  #: bytes that must remain once all is loaded: for kernels, pandas and matplotlib
_BASE, _PER_CORE = 0.6, 0.1  #: GB that all of it takes, for messages: OpenBLAS and numba have threads for each core
_CPU_SECONDS = 6  #: CPU time after which loading has not ended and never will; it takes less than a second
_SECONDS = 300.0
_OPTIONS = {resource.RLIMIT_AS: "-v", resource.RLIMIT_DATA: "-d", resource.RLIMIT_NPROC: "-u"}
#: a program for `python -c` with the bytes of address space, and of data, that are taken there
_TRIAL = f"""import mmap, resource, sys
hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
most = {_CPU_SECONDS} if hard == resource.RLIM_INFINITY else min(hard, {_CPU_SECONDS})
resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
taken = [mmap.mmap(-1, int(size), private, prot) for size, prot in zip(sys.argv[1:], (0, mmap.PROT_WRITE))]
try:
    import scipy.linalg.cython_blas, numba.np.arraymath
    from numba.np.ufunc.parallel import _launch_threads
except ModuleNotFoundError:
    sys.exit()
_launch_threads()
"""


def available() -> int:
    """Bytes that are free on this machine, or fewer if a control group (a container) or `ulimit -v` allows fewer."""
    import psutil  # here, so that `grailbench --help` starts without it

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


# ------------------------------------------------------------------ ulimit


@functools.cache  # an error is not cached
def require_loadable() -> None:
    """Raises MachineLacks if `ulimit` leaves this process too little memory, or too few threads, to load numpy, scipy
    and numba. Where the limits are ample, or numba is loaded, nothing is tried; elsewhere it is tried once."""
    if "numba.np.arraymath" in sys.modules or not (small := _small()):
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    try:
        done = subprocess.run(  # noqa: S603 - this Python and our own text
            [sys.executable, "-c", _TRIAL, *map(str, _taken())], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=environment, timeout=_SECONDS,
        )  # fmt: skip
        fits = done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        fits = False
    if not fits:
        cores = os.cpu_count() or 1
        raise MachineLacks(
            f"{' and '.join(small)}: too little to load numpy, scipy and numba, which take about "
            f"{_BASE + _PER_CORE * cores:.1f} GB and {3 * cores} threads on {cores} cores (raise the limit; "
            "OPENBLAS_NUM_THREADS=1 and NUMBA_NUM_THREADS=1 need less)"
        )


def _small() -> list[str]:
    """The limits that may be too small, as one writes them: 'ulimit -v 500000'."""
    ample = _SMALL + _SMALL_CORE * (os.cpu_count() or 1)
    found = []
    for which, option in _OPTIONS.items():
        most, (size, unit) = resource.getrlimit(which)[0], (_FEW, 1) if option == "-u" else (ample, 1024)
        if most != resource.RLIM_INFINITY and most < size:
            found.append(f"ulimit {option} {most // unit}")
    return found


def _taken() -> tuple[int, int]:
    """The bytes of address space that are no data, and of data, that this process has, `_ROOM` added to the latter."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stated:
            size, *_, data, _ = (int(pages) * resource.getpagesize() for pages in stated.read().split())
    except OSError:
        size = data = 0
    return max(size - data, 1), data + _ROOM
