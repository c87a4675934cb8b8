"""The environment of a run (machine, software, thread settings and code), and hashes of it.

In a checkout, git knows the commit of the code. A copy without git data has a stamp instead: `COMMIT.json`, with the
commit and the git blob id of each file, written by `python -m grailbench.harness.provenance` in a clean checkout. The
files are compared with the stamp, so that a changed copy is not taken for the commit.
"""

import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath

from grailbench.cuda.installed import gpus
from grailbench.errors import InputError
from grailbench.harness import load
from grailbench.harness.folder import write_json
from grailbench.harness.machines import sessions
from grailbench.util import __version__, commands, paths
from grailbench.util.commands import output
from grailbench.util.cores import quota, usable_cores
from grailbench.util.files import git_blob

PACKAGES = ("numpy", "numba", "llvmlite", "scipy", "pandas", "pyreachability", "networkx", "igraph", "rustworkx",
            "networkit", "dask", "numba-cuda")  # fmt: skip
THREAD_SETTINGS = (
    "NUMBA_NUM_THREADS", "NUMBA_THREADING_LAYER", "NUMBA_CPU_NAME", "NUMBA_DISABLE_JIT", "NUMBA_OPT",
    "NUMBA_BOUNDSCHECK", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip
BUSY = 0.6  #: load average per core above which other work disturbs a run
STAMP = "COMMIT.json"
_RESULTS = "results"  # files in this folder do not affect measurements
_WATCHED = ("grailbench", "configs", "datasets")  # files in these folders that the stamp does not list count as changes
#: packages that read, show or download; they do not affect measurements
_UNMEASURED = ("cli", "report", "compare", "data", "datasets", "runs", "limits")  # the last three: of earlier layouts
_COMMAND_SECONDS = 20


def environment() -> dict:
    """The content of `environment.json`, as plain JSON values.

    Keys: grailbench, code, commit, dirty, cpu, cores (this process may use), cpu_quota (cores that
    a control group allows, if it sets a bound), cores_physical, cores_logical,
    caches, memory_bytes, os, python, packages, threads (settings in the environment, None when unset),
    governor, gpus, load_average, others (cores that other programs take: `harness.load`), command. A run adds
    `implementations` (`plugins.facts`). Nothing here imports a CUDA module.
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
        **({} if (most := quota()) is None else {"cpu_quota": most}),
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
        "others": load.now(),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def busy(env: Mapping) -> str | None:
    """'other work took 1.2 of 2 cores' if the machine had other work when the run started, else None. Older runs know
    the load average alone, which has the work of the run before too: that of the whole machine, also where a worker is
    pinned to a part of its cores."""
    if (others := env.get("others")) is not None:
        return said(others, env.get("cores"))
    loads, cores = env.get("load_average"), env.get("cores_logical" if env.get("pinned") else "cores")
    load = loads[0] if isinstance(loads, list) and loads else None
    known = isinstance(load, int | float) and isinstance(cores, int) and cores > 0
    return f"load average {load:.1f} on {cores} cores" if known and load > BUSY * cores else None


def said(others: float | None, cores: int | None) -> str | None:
    """'other work took 1.2 of 2 cores' if that disturbs times, else None."""
    return f"other work took {others:.1f} of {cores or '?'} cores" if load.disturbs(others, cores) else None


def loads(env: Mapping) -> list[str]:
    """What `busy` says of each session of a run, also on workers."""
    return [found for each in sessions(env) if (found := busy(each))]


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
    """The version of the package and the `code_hash` of its sources, computed once in a process."""
    package = Path(__file__).resolve().parents[1]
    files = ((PurePosixPath(path.relative_to(package).as_posix()), path.read_bytes()) for path in package.rglob("*.py"))
    return f"{__version__}+{code_hash(files)}"


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


# ------------------------------------------------------------------ the commit


def commit_state() -> tuple[str | None, bool | None]:
    """The commit of this checkout or copy, and whether its files differ from that commit.

    (None, None) in an installed wheel, and without both git and a stamp. Files in `results` are ignored.
    """
    root = paths.checkout()
    if root is None:
        return None, None
    stamp = _stamp(root)
    if stamp is not None and not _changed(root, stamp["blobs"]):
        return stamp["commit"], False
    if (commit := _commit_of(root / "pyproject.toml")) is not None:
        status = _changes(root)
        return commit, None if status is None else bool(status)
    return (None, None) if stamp is None else (stamp["commit"], True)


def state_of(file: Path) -> tuple[str | None, bool | None]:
    """The commit of a module or package outside this checkout, given its file, and whether its Python files, or other
    files of the package, differ from it. (None, None) if not a git checkout has the file."""
    if (commit := _commit_of(file)) is None:
        return None, None
    package = file.name == "__init__.py"
    folder, code = (file.parent.parent, file.parent.name) if package else (file.parent, file.name)
    status = git(folder, "status", "--porcelain", "--", f"./{code}", "*.py")
    return commit, None if status is None else bool(status)


def _commit_of(file: Path) -> str | None:
    """The commit of the git checkout that has this file; None for a file that git does not track, as in a folder that
    another repository ignores."""
    if git(file.parent, "ls-files", "--error-unmatch", "--", file.name) is None:
        return None
    return git(file.parent, "rev-parse", "HEAD")


def write_stamp() -> Path:
    """Write `COMMIT.json` for copies of this checkout, and return its path.

    Raises InputError outside a checkout, and if files differ from the commit.
    """
    root = paths.checkout()
    listed = None if root is None else git(root, "ls-tree", "-r", "HEAD")
    if listed is None:
        raise InputError("this is not a git checkout, so it has no commit to name")
    if _changes(root) != "":
        raise InputError("files here differ from the commit", path=root, remedy="commit them first")
    blobs = {}
    for line in listed.splitlines():
        details, _, path = line.partition("\t")
        _, kind, blob = details.split()
        if kind == "blob" and PurePosixPath(path).parts[0] != _RESULTS:
            blobs[path] = blob
    write_json(root / STAMP, {"commit": git(root, "rev-parse", "HEAD"), "blobs": blobs})
    return root / STAMP


def code_hash(files: Iterable[tuple[PurePosixPath, bytes]]) -> str:
    """12 hex digits of the Python sources that affect measurements.

    `files` are (path inside the package, content) of all sources. Packages that only read, show or download are left
    out, so that the hash does not change with them.
    """
    digest = hashlib.sha256()
    for path, content in sorted(files):
        if path.suffix == ".py" and path.parts[0] not in _UNMEASURED:
            digest.update(path.as_posix().encode())
            digest.update(content)
    return digest.hexdigest()[:12]


def _stamp(root: Path) -> dict | None:
    try:
        stamp = json.loads((root / STAMP).read_text(encoding="utf-8"))
        return stamp if isinstance(stamp["commit"], str) and isinstance(stamp["blobs"], dict) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _changed(root: Path, blobs: dict[str, str]) -> bool:
    """Whether a listed file is missing or changed, or there is a source file that is not listed."""
    try:
        if any(git_blob(root / path) != blob for path, blob in blobs.items()):
            return True
    except OSError:
        return True
    sources = (path for folder in _WATCHED for kind in ("*.py", "*.toml") for path in (root / folder).rglob(kind))
    return any(path.relative_to(root).as_posix() not in blobs for path in sources)


def _changes(root: Path) -> str | None:
    """What git reports as changed, outside `results`; None without git."""
    return git(root, "status", "--porcelain", "--", ".", f":(exclude){_RESULTS}")


def git(root: Path, *arguments: str) -> str | None:
    """The output of git in the folder `root`, stripped; None when it fails. It starts no program that the repository
    names."""
    return output(commands.git("-C", str(root), *arguments), _COMMAND_SECONDS, commands.git_environment())
