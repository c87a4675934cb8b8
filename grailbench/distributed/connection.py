"""A client of dask: of a scheduler that runs already, or of worker processes that are started on this machine."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from grailbench.distributed import liveness
from grailbench.distributed.workers import visible_gpus
from grailbench.errors import InputError, MachineLacks, install
from grailbench.util.cores import usable_cores
from grailbench.util.memory import available
from grailbench.util.words import count

if TYPE_CHECKING:
    from distributed import Client

#: settings of dask for processes that share a machine with what is timed: a nanny sets no numbers of threads, nothing
#: is profiled, nothing looks at itself fifty times a second, and none of it is kept for a day. A worker that was killed
#: may take more than the usual 15 s to come again on a busy machine, and would be given up for good
_CALM = {
    "distributed.nanny.pre-spawn-environ": {},
    "distributed.worker.profile.enabled": False,
    "distributed.worker.profile.interval": "1h",
    "distributed.admin.tick.interval": "5s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.log-length": 30,
    "distributed.deploy.lost-worker-timeout": "1h",
}
CONNECT_SECONDS = 10.0  #: the longest time that a scheduler may take to answer
START_SECONDS = 300.0  #: the longest time that workers may take to come


def require_dask() -> None:
    """Raises MachineLacks if dask.distributed is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise MachineLacks(f"workers need dask ({error}): {install('dask')}") from None


def named() -> str | None:
    """The address of the scheduler that the environment or a configuration of dask names, as DASK_SCHEDULER_ADDRESS."""
    import dask

    return dask.config.get("scheduler-address", None)


@contextmanager
def connected(scheduler: str) -> Iterator[Client]:
    """A client of the scheduler at an address, such as 'tcp://10.0.0.1:8786', closed at the end of the block.

    Raises InputError if that is no address, MachineLacks if nothing answers there or dask is missing.
    """
    require_dask()
    from distributed import Client

    with _quiet():
        _require_scheduler(scheduler)
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False, name="grailbench")
        except OSError as error:
            raise MachineLacks(f"the scheduler at {scheduler} takes no client: {error}") from None
        try:
            yield client
        finally:
            _close(client)


@contextmanager
def started(workers: int) -> Iterator[Client]:
    """A client of so many worker processes of this machine, which share out its cores, GPUs and free memory evenly.

    They end with the block, and with this process however it ends. One that dies is started again. Raises InputError
    if there are fewer cores than workers, MachineLacks if dask is missing or the workers do not come.
    """
    require_dask()
    import dask
    from distributed import Client, Nanny, Scheduler, SpecCluster, scheduler

    cores, gpus = usable_cores(), len(visible_gpus())
    if workers > cores:
        raise InputError(f"--workers {workers}: {count(cores, 'core')} for them, and no two share one",
                         remedy=f"take {cores} at most")  # fmt: skip
    each = {"cores": cores // workers, "memory": available() // workers}
    # Nobody but this machine may speak to them, as whoever may do so can have them run any code.
    own = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    extensions = scheduler.DEFAULT_EXTENSIONS | {"spans": _NoSpans}
    options = {"nthreads": 1, "memory_limit": 0, "silence_logs": logging.CRITICAL + 1, **own}
    extra = [{"gpu": gpus // workers + (number < gpus % workers)} if gpus else {} for number in range(workers)]
    spec = {at: {"cls": Nanny, "options": options | {"resources": each | more}} for at, more in enumerate(extra)}
    with _quiet(), _same_environment(), dask.config.set(_CALM), ExitStack() as ending:
        ending.callback(_forget)
        try:
            chief = {"cls": Scheduler, "options": own | {"extensions": extensions}}
            cluster = SpecCluster(workers=spec, scheduler=chief, silence_logs=False)
            ending.callback(_close, cluster)
            client = Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False, name="grailbench")
            ending.callback(_close, client)
            ending.callback(liveness.resume_children)
            client.wait_for_workers(workers, timeout=START_SECONDS)
        except (OSError, RuntimeError) as error:
            raise MachineLacks(f"{count(workers, 'worker')} could not be started: {error}") from None
        yield client


def _require_scheduler(address: str) -> None:
    """Raises the errors of `connected` if no scheduler answers at an address. A client of dask would go on asking."""
    import asyncio

    from distributed.comm import get_address_host_port
    from distributed.core import connect

    async def identity() -> dict:
        comm = await connect(address, timeout=CONNECT_SECONDS)
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    try:
        socket.create_connection(get_address_host_port(address), CONNECT_SECONDS).close()
        kind = asyncio.run(asyncio.wait_for(identity(), CONNECT_SECONDS)).get("type")
    except ValueError as error:
        raise InputError(f"--scheduler {address}: {error}", remedy="an address as tcp://HOST:8786") from None
    except OSError as error:  # TimeoutError is one
        remedy = "start one with 'dask scheduler', and let this machine reach it"
        why = error.strerror or "it is silent"
        raise MachineLacks(f"no scheduler answers at {address}: {why} ({remedy})") from None
    if kind != "Scheduler":
        raise InputError(f"--scheduler {address}: a {kind} answers there", remedy="give the address of its scheduler")


def _close(closing) -> None:
    """Close a client or a cluster; what is left of one whose other side is gone is of no use."""
    with suppress(Exception):
        closing.close(timeout=CONNECT_SECONDS)


class _NoSpans:
    """In place of dask's extension of that name, which keeps what each computation took for as long as a scheduler
    runs."""

    def __init__(self, scheduler): ...

    def observe_tasks(self, *_, **__) -> dict:
        return {}

    def heartbeat(self, worker, data) -> None: ...


def _forget() -> None:
    """Gives back the scheduler of a cluster that ended: dask keeps each one in a cache of its methods (seen with
    2026.8)."""
    from distributed import core

    clear = getattr(getattr(core, "_expects_comm", None), "cache_clear", None)
    if clear is not None:
        clear()


@contextmanager
def _same_environment() -> Iterator[None]:
    """Takes out of the environment of this process what nannies add to it."""
    before = set(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - before:
            del os.environ[name]


@contextmanager
def _quiet() -> Iterator[None]:
    """No log of dask on the streams of this process: what a user must know is said otherwise."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    levels = {log: log.level for log in map(logging.getLogger, ("distributed", *names))}
    for log in levels:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for log, before in levels.items():
            log.setLevel(before)
