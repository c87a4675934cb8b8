"""What workers have: machine, cores and GPUs, versions, graphs; whether each runs the code of this process; the slot
that each gets, cores and GPUs of its machine that no other has; and sending graphs to those that lack them."""

from __future__ import annotations

import asyncio
import os
import platform
import socket
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from grailbench.cuda import simulating
from grailbench.cuda.installed import gpus
from grailbench.data import cache
from grailbench.data.locate import locate, look_up, stored_here
from grailbench.data.registry import registry
from grailbench.distributed import liveness
from grailbench.errors import InputError, MachineLacks
from grailbench.graph.generate import generated_name
from grailbench.graph.store import read_meta, sha256_file
from grailbench.harness.environment import code_version, commit_state, packages
from grailbench.util import __version__, paths, temporary
from grailbench.util.cores import usable_cores
from grailbench.util.memory import available
from grailbench.util.words import count, listing

if TYPE_CHECKING:
    from distributed import Client

PIECE = 16 << 20  #: bytes of a file that are sent at once
_SHOWN = 3  #: workers that an error names
#: what starts a worker that can be used, for messages
HOW = 'dask worker ADDRESS --nthreads 1 --resources "cores=4"'
#: what a worker has of a graph that was asked for
SAME, SENT, MADE, MISSING, OTHER = "there", "will be sent", "is generated there", "missing", "another"


@dataclass(frozen=True)
class Facts:
    """What a worker has.

    worker     its address; '' for this process
    host       the name of its machine; `machine` is different for machines of one name
    cores      the numbers of the cores that its process may use
    gpus       the GPUs that its process may use, as CUDA_VISIBLE_DEVICES names them, and `gpu_names`
    memory     bytes that are free for its process
    resources  what it declares: 'cores', 'gpu', 'memory' (bytes)
    threads    tasks that dask may run in it at once; 0 for this process

    The others are versions, as in an environment.
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


def here() -> Facts:
    """The facts of this process."""
    commit, dirty = commit_state()
    seen = visible_gpus()
    known = gpus()
    return Facts(
        worker="",
        host=socket.gethostname(),
        machine=_machine(),
        cores=tuple(sorted(os.sched_getaffinity(0))),
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
    answers = liveness.run(client, _there, workers=chosen, on_error="return")
    found = {at: one for at, one in answers.items() if not isinstance(one, OSError)}  # as of a closed connection
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


def require_same(workers: Iterable[Facts]) -> None:
    """Raises MachineLacks naming the workers that run another version, other sources or another commit of grailbench
    than this process."""
    mine = here()
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


# ------------------------------------------------------------------ slots


def allocate(workers: Iterable[Facts], taken: Iterable[Facts] = ()) -> tuple[list[Facts], list[str]]:
    """A slot for each worker that declares its cores, beside those that are taken: the worker with the cores and GPUs
    that no other has; and why the others got none.

    A worker gets as many of the cores that its process may use as it declares, the lowest that are free, and GPUs
    likewise.
    """
    slots, faults = list(taken), []
    before = len(slots)
    for each in workers:
        mine = [slot for slot in slots if slot.machine == each.machine]
        wanted, gpus = each.resources.get("cores"), int(each.resources.get("gpu", 0))
        who = f"the worker {each.worker} on {each.host}"
        free = [core for core in each.cores if not any(core in slot.cores for slot in mine)]
        idle = [gpu for gpu in each.gpus if not any(gpu in slot.gpus for slot in mine)]
        if not wanted or wanted < 1:
            faults.append(f"{who} declares no cores (start it with: {HOW})")
        elif int(wanted) > len(free):
            faults.append(f"{who} declares {count(int(wanted), 'core')}, and {len(free)} are left to it on its machine")
        elif gpus > len(idle):
            faults.append(f"{who} declares {count(gpus, 'GPU')}, and {len(idle)} are left to it on its machine")
        else:
            slots.append(replace(each, cores=tuple(free[: int(wanted)]), gpus=tuple(idle[:gpus])))
    return slots[before:], faults


# ------------------------------------------------------------------ all of it, for people


def records(client: Client, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """A record of each worker: the fields of `Facts`, and

    pinned  the numbers of the cores that its tasks get; [] if it cannot be used
    stored  how many graphs are in the cache there
    graphs  what it has of each graph of `names`: 'there' (equal by sha256), 'will be sent', 'is generated there',
            'missing' (here too), 'another' (its sha256 differs)
    unlike  the versions that differ from those of this process, of Python and of packages
    faults  why it cannot be used; [] if it can

    Raises InputError for an unknown graph, MachineLacks naming a worker that cannot answer.
    """
    names, mine, found = [locate(name).name for name in names], here(), of_workers(client)
    for address, why in liveness.heartbeats(client).look().items():
        if why is not None:
            raise MachineLacks(f"the worker {address} does not answer: {why} (end it, or let it go on)")
    addresses = [each.worker for each in found]
    slots, faults = allocate(found)
    pinned = {slot.worker: list(slot.cores) for slot in slots}
    there, stored = digests(client, names, addresses), liveness.run(client, stored_graphs, workers=addresses)
    local = {name: digest_here(name) for name in names}
    records = []
    for each in found:
        its = [fault for fault in faults if f" {each.worker} " in fault]
        if other := differs(each, mine):
            its.append(f"the worker {each.worker} on {each.host} has another grailbench: {other}")
        had = {name: _had(name, local[name], there[each.worker][name]) for name in names}
        its += [f"the worker {each.worker} has another {name}" for name, what in had.items() if what == OTHER]
        its += [f"{name} is neither here nor on {each.worker}" for name, what in had.items() if what == MISSING]
        versions = {"python": mine.python, **mine.packages}
        theirs = {"python": each.python, **each.packages}
        unlike = {name: theirs.get(name) for name in {**versions, **theirs} if versions.get(name) != theirs.get(name)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(each).items()}
        records.append({**plain, "pinned": pinned.get(each.worker, []), "stored": len(stored[each.worker]),
                        "graphs": had, "unlike": unlike, "faults": its})  # fmt: skip
    return records


def _had(name: str, here: str | None, there: str | None) -> str:
    """What a worker has of a graph, by the sha256 here and there."""
    if there is not None:
        return SAME if here in (None, there) else OTHER
    if generated_name(name) is not None:
        return MADE
    return MISSING if here is None else SENT


# ------------------------------------------------------------------ graphs


def digest_here(name: str) -> str | None:
    """The sha256 of a graph as rows have it (`BenchGraph.sha256`); None if it is not stored here."""
    place = look_up(name)
    if place is None or not place.here:
        return None
    return sha256_file(place.path) if place.dataset is not None else read_meta(place.path)["sha256"]


def stored_graphs() -> list[str]:
    """The names of the graphs whose files are in the cache here, sorted."""
    real = [dataset.name for dataset in registry().values() if cache.local_file(dataset) is not None]
    return sorted({*real, *stored_here()})


def digests(client: Client, names: Iterable[str], workers: list[str]) -> dict[str, dict[str, str | None]]:
    """What `digest_here` gives on each worker, by worker and name."""
    return liveness.run(client, _digests, list(names), workers=workers)


async def _digests(names: list[str]) -> dict[str, str | None]:
    """In a thread, as a worker that reads a large file must go on answering its scheduler."""
    return await asyncio.to_thread(lambda: {name: digest_here(name) for name in names})


def provide(client: Client, names: Iterable[str], workers: list[str], note=lambda text: None) -> dict[str, str]:
    """Sees to it that each worker has the graphs that this machine has, and returns their sha256 by name.

    A graph that a worker lacks is sent to it, once for all workers that share a folder, unless the worker can generate
    it. Graphs that are not here are left out: whoever opens them says so. So is a worker that is lost meanwhile. Raises
    MachineLacks naming a worker that has another graph of that name.
    """
    known = {name: digest for name in names if (digest := digest_here(name)) is not None}
    for worker in workers:
        try:
            for name, digest in known.items():
                _give(client, name, digest, worker, note)
        except OSError as error:
            note(f"no graph was sent to {worker}: {error}")
    return known


def _give(client: Client, name: str, digest: str, worker: str, note) -> None:
    """Send the file of a graph that is here, and its note, to the cache of a worker that lacks it; it takes its place
    there when all has come and its sha256 is right. Raises MachineLacks if the worker has another, InputError if the
    file changed while it was sent, and OSError if the worker is lost."""
    there = digests(client, [name], [worker])[worker][name]
    if there is None and generated_name(name) is None:
        note(f"sending {name} to {worker}")
        path = look_up(name).path
        kept, where = cache.read_note(path), path.relative_to(paths.cache_dir()).as_posix()
        with open(path, "rb") as stream:
            at = 0
            while piece := stream.read(PIECE):
                liveness.run(client, _take, where, at, piece, workers=[worker])
                at += len(piece)
        liveness.run(client, _publish, where, sha256_file(path), kept, workers=[worker])
        there = digests(client, [name], [worker])[worker][name]
    if there not in (None, digest):
        raise MachineLacks(
            f"the worker {worker} has another {name}: its sha256 is {there}, here it is {digest} "
            f"(take {name} out of the cache there, and it is sent)"
        )


_arriving: dict[str, temporary.File] = {}  # on a worker: files that are being sent to it, by their place in the cache


def _take(where: str, at: int, piece: bytes) -> None:
    """On a worker: keep a piece of a file that is being sent."""
    path = _place(where)
    if at == 0:
        if (left := _arriving.pop(where, None)) is not None:  # whoever sent it before is gone
            left.close()
        _arriving[where] = temporary.File(path)
    with open(_arriving[where].path, "r+b") as stream:
        stream.seek(at)
        stream.write(piece)


def _publish(where: str, digest: str, note: dict) -> None:
    """On a worker: put a file that has come whole in its place."""
    path, made = _place(where), _arriving.pop(where, None)
    if made is None:
        raise InputError("nothing of it came", path=path)
    try:
        if (found := sha256_file(made.path)) != digest:
            raise InputError(f"what came is not what was sent: sha256 {found}, not {digest}", path=path)
        cache.publish(made, path, note)
    finally:
        made.close()


def _place(where: str) -> Path:
    """The path of a file in the cache. Raises InputError for a place outside."""
    named = PurePosixPath(where)
    if named.is_absolute() or ".." in named.parts:
        raise InputError(f"{where} is outside the cache")
    return paths.cache_dir() / named
