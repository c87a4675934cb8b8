"""The environment of a run (machine, software, thread settings and code), and hashes of it."""

import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath

from grailbench.cuda.installed import gpus
from grailbench.harness.commit import code_hash, commit_state
from grailbench.util import __version__

PACKAGES = ("numpy", "numba", "llvmlite", "scipy", "pandas", "pyreachability", "networkx", "igraph", "rustworkx",
            "networkit", "dask", "numba-cuda")  # fmt: skip
THREAD_SETTINGS = (
    "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CPU_NAME", "NUMBA_DISABLE_JIT", "NUMBA_OPT",
    "NUMBA_BOUNDSCHECK", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip
BUSY = 0.6  #: load average per core above which other work disturbs a run


def environment() -> dict:
    """The content of `environment.json`, as plain JSON values.

    Keys: grailbench, code, commit, dirty, cpu, cores (this process may use), cores_physical, cores_logical,
    caches, memory_bytes, os, python, packages, threads (settings in the environment, None when unset),
    governor, gpus, load_average, command. A run adds `implementations` (`plugins.facts`). Nothing here imports a CUDA
    module.
    """
    import psutil

    commit, dirty = commit_state()
    return {
        "grailbench": __version__,
        "code": code_version(),
        "commit": commit,
        "dirty": dirty,
        "cpu": cpu_model(),
        "cores": usable_cores(),
        "cores_physical": psutil.cpu_count(logical=False),
        "cores_logical": psutil.cpu_count(logical=True),
        "caches": cpu_caches(),
        "memory_bytes": psutil.virtual_memory().total,
        "os": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": dict(packages()),
        "threads": {name: os.environ.get(name) for name in THREAD_SETTINGS},
        "governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "gpus": gpus(),
        "load_average": list(os.getloadavg()),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def busy(env: Mapping) -> str | None:
    """'load average 3.1 on 2 cores' if the machine had other work when the run started, else None. The load is that of
    the whole machine, also where a worker is pinned to a part of its cores."""
    loads, cores = env.get("load_average"), env.get("cores_logical" if env.get("pinned") else "cores")
    load = loads[0] if isinstance(loads, list) and loads else None
    known = isinstance(load, int | float) and isinstance(cores, int) and cores > 0
    return f"load average {load:.1f} on {cores} cores" if known and load > BUSY * cores else None


def fingerprint(env: dict) -> str:
    """16 hex digits of what affects times in an environment: without load, commit, command and memory size, which can
    vary in a virtual machine."""
    fields = (
        "cpu", "cores", "cores_physical", "cores_logical", "caches",
        "os", "python", "packages", "threads", "governor", "gpus",
    )  # fmt: skip
    text = json.dumps({key: env.get(key) for key in fields}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def code_version() -> str:
    """The version of the package and the `commit.code_hash` of its sources, computed once in a process."""
    package = Path(__file__).resolve().parents[1]
    files = ((PurePosixPath(path.relative_to(package).as_posix()), path.read_bytes()) for path in package.rglob("*.py"))
    return f"{__version__}+{code_hash(files)}"


def usable_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


@functools.cache
def packages() -> dict[str, str]:
    """The versions of the installed packages that may affect times or answers."""
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def cpu_model() -> str:
    """The name of the processor as the system gives it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cpu_caches() -> dict[str, str]:
    """The sizes of the caches of the first core, such as {'L1d': '48K', 'L2': '1024K'}; empty if unknown."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_first_line(folder / name) for name in ("level", "type", "size"))
        if level and size:
            found[f"L{level}{ {'Data': 'd', 'Instruction': 'i'}.get(kind, '') }"] = size
    return found


def _first_line(path) -> str | None:
    try:
        return Path(path).read_text().splitlines()[0].strip()
    except (OSError, IndexError):
        return None
