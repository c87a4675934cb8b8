"""What a worker has: its machine, its cores and GPUs, its versions; and whether it runs the code of this process."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grailbench.cuda import simulating
from grailbench.cuda.installed import gpus
from grailbench.distributed import liveness
from grailbench.errors import MachineLacks
from grailbench.harness.commit import commit_state
from grailbench.harness.environment import code_version, packages, usable_cores
from grailbench.util import __version__
from grailbench.util.memory import available
from grailbench.util.words import listing

if TYPE_CHECKING:
    from distributed import Client

_SHOWN = 3  #: workers that an error names


@dataclass(frozen=True)
class Facts:
    """What a worker has.

    worker     its address; '' for this process
    host       the name of its machine; machine tells machines apart, also those of one name
    cores      the numbers of the cores that its process may use
    gpus       the GPUs that its process may use, as CUDA_VISIBLE_DEVICES names them
    gpu_names  the names of these, where the driver tells
    memory     bytes that are free for its process
    resources  what it declares: 'cores', 'gpu', 'memory' (bytes)
    threads    tasks that dask may run in it at once; 0 for this process
    grailbench, code, commit, dirty
               version, hash of the sources that affect measurements, commit, and whether files differ from it
    python, packages
               versions
    """

    worker: str
    host: str
    machine: str
    cores: tuple[int, ...]
    gpus: tuple[str, ...]
    gpu_names: tuple[str, ...]
    memory: int
    grailbench: str
    code: str
    commit: str | None
    dirty: bool | None
    python: str
    packages: dict[str, str]
    resources: dict[str, float] = field(default_factory=dict)
    threads: int = 0

    def record(self) -> dict[str, Any]:
        """The facts as plain JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def here() -> Facts:
    """The facts of this process."""
    commit, dirty = commit_state()
    seen = visible_gpus()
    known = gpus()
    return Facts(
        worker="",
        host=socket.gethostname(),
        machine=_machine(),
        cores=tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity")
        else tuple(range(os.cpu_count() or 1)),
        gpus=seen,
        gpu_names=tuple(known[int(at)]["name"] if at.isdigit() and int(at) < len(known) else at for at in seen),
        memory=available(),
        grailbench=__version__,
        code=code_version(),
        commit=commit,
        dirty=dirty,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        packages=dict(packages()),
    )  # fmt: skip


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them: '0', '1', or ids; () if there is none.

    No CUDA module is imported for it. The simulator has a GPU for each core.
    """
    found = usable_cores() if simulating() else len(gpus())
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return tuple(map(str, range(found)))
    chosen = []
    for each in filter(None, map(str.strip, named.split(","))):
        if each == "-1" or (each.isdigit() and int(each) >= found):
            break  # the driver ignores it and all that follow
        chosen.append(each)
    return tuple(chosen) if found else ()


def of_workers(client: Client, workers: Iterable[str] | None = None) -> list[Facts]:
    """The facts of all workers of a client, or of those at these addresses, by host and address. One that is lost is
    left out.

    Raises MachineLacks naming a worker that has no grailbench, or one of another version that cannot tell, and OSError
    if the scheduler is gone or does not answer.
    """
    wanted, live = None if workers is None else set(workers), liveness.heartbeats(client).look()
    chosen = [address for address, why in live.items() if why is None and (wanted is None or address in wanted)]
    asked = liveness.run(client, _there, workers=chosen, on_error="return")
    found = {
        address: one for address, one in asked.items() if not isinstance(one, OSError)
    }  # as of a closed connection
    for address, one in found.items():
        if not isinstance(one, Facts):
            raise MachineLacks(
                f"the worker {address} cannot run this grailbench {__version__}: {type(one).__name__}: {one} "
                "(install the same version and commit there)"
            )
    return sorted(found.values(), key=lambda each: (each.host, each.machine, each.worker))


def _there(dask_worker) -> Facts:
    """The facts of the worker in which this runs; dask gives it itself."""
    resources = dict(dask_worker.state.total_resources)
    return replace(here(), worker=dask_worker.address, resources=resources, threads=dask_worker.state.nthreads)


def require_same(workers: Iterable[Facts], mine: Facts | None = None) -> None:
    """Raises MachineLacks naming the workers that run another version, other sources or another commit of grailbench
    than `mine`, which is this process."""
    mine = here() if mine is None else mine
    if others := [f"{each.worker} on {each.host} has {other}" for each in workers if (other := differs(each, mine))]:
        raise MachineLacks(
            f"workers with another grailbench are refused: {listing(others, _SHOWN, between='; ')}; here it is "
            f"{_version(mine)} (install the same version and commit on both sides)"
        )


def differs(worker: Facts, mine: Facts) -> str:
    """The version of a worker in words if it is not that of `mine`, else ''."""
    same = (worker.grailbench, worker.code) == (mine.grailbench, mine.code)
    commits = {worker.commit, mine.commit} - {None}
    return "" if same and len(commits) < 2 else _version(worker)


def _version(facts: Facts) -> str:
    commit = "" if facts.commit is None else f", commit {facts.commit[:12]}{' with changes' if facts.dirty else ''}"
    return f"{facts.code}{commit}"


def _machine() -> str:
    """What tells this machine from others: containers of one machine share its cores, and this."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()
