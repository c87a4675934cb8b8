"""What a run ran on: machine, software, thread settings, code; and the fingerprints that tell them apart."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath

from grailbench import __version__
from grailbench.commands import output
from grailbench.device.installed import gpus
from grailbench.runs.commit import code_hash, commit_state

PACKAGES = (
    "numpy",
    "numba",
    "llvmlite",
    "scipy",
    "pandas",
    "pyreachability",
    "networkx",
    "igraph",
    "rustworkx",
    "dask",
    "numba-cuda",
)
THREAD_SETTINGS = (
    "NUMBA_NUM_THREADS",
    "NUMBA_THREADING_LAYER",
    "NUMBA_CPU_NAME",
    "NUMBA_DISABLE_JIT",
    "NUMBA_OPT",
    "NUMBA_BOUNDSCHECK",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
BUSY = 0.6  #: load average a core, from which a machine is not alone with a run
_COMMAND_SECONDS = 5


def environment() -> dict:
    """Everything that `environment.json` records, as plain JSON values.

    Keys: grailbench, code, commit, dirty, cpu, cores (this process may use), cores_physical, cores_logical,
    caches, memory_bytes, os, python, packages, threads (settings in the environment, None when unset),
    governor, gpus, load_average, command. Nothing here imports a CUDA module.
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
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def busy(env: Mapping) -> str | None:
    """'load average 3.1 on 2 cores' of an environment whose machine had other work as the run began, else None."""
    loads, cores = env.get("load_average"), env.get("cores")
    load = loads[0] if isinstance(loads, list) and loads else None
    known = isinstance(load, int | float) and isinstance(cores, int) and cores > 0
    return f"load average {load:.1f} on {cores} cores" if known and load > BUSY * cores else None


def fingerprint(env: dict) -> str:
    """16 hex digits of what of an environment changes times: not the load, the commit or the command, nor the memory,
    which a virtual machine is given as it uses it."""
    kept = (
        "cpu", "cores", "cores_physical", "cores_logical", "caches",
        "os", "python", "packages", "threads", "governor", "gpus",
    )  # fmt: skip
    return _short_hash({key: env.get(key) for key in kept})


@functools.cache
def code_version() -> str:
    """The package's version and the `commit.code_hash` of its sources, as they are when this process first asks."""
    package = Path(__file__).resolve().parents[1]
    files = ((PurePosixPath(path.relative_to(package).as_posix()), path.read_bytes()) for path in package.rglob("*.py"))
    return f"{__version__}+{code_hash(files)}"


def source_hash(implementation: type) -> str:
    """16 hex digits of the file that defines an implementation, for those from outside the package."""
    if implementation.__module__.partition(".")[0] == "grailbench":
        return ""
    try:
        return hashlib.sha256(Path(inspect.getfile(implementation)).read_bytes()).hexdigest()[:16]
    except (OSError, TypeError):
        return "unknown"


def usable_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def packages() -> dict[str, str]:
    """Versions of the installed packages that time or answers may depend on."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    asked = output(["sysctl", "-n", "machdep.cpu.brand_string"], _COMMAND_SECONDS)
    return asked or platform.processor() or platform.machine()


def cpu_caches() -> dict[str, str]:
    """Sizes of the first core's caches, such as {'L1d': '48K', 'L2': '1024K'}; empty if unknown."""
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


def _short_hash(value) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
