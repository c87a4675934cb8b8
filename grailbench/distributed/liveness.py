"""Which workers of a client still run, and calls to workers and schedulers that end if these do not.

A process that was stopped, or whose machine sleeps, closes no connection and never answers. Its heartbeats stop, which
its scheduler sees. A worker is lost after `STOPPED_SECONDS` without one if its process is seen to be stopped, and after
`SILENT_SECONDS` if its process is on another machine. One that is seen to run on this machine is slow, and not lost.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import psutil

from grailbench.harness.processes import stopped

if TYPE_CHECKING:
    from distributed import Client

LOOK_SECONDS = 1.0  #: how often heartbeats are looked at while something is waited for
STOPPED_SECONDS = 5.0
SILENT_SECONDS = 60.0
SCHEDULER_SECONDS = 60.0  #: after this without an answer a scheduler is given up
_POLL_SECONDS = 0.2
_of_clients: WeakKeyDictionary[Client, Heartbeats] = WeakKeyDictionary()


class Heartbeats:
    """The heartbeats of the workers of a client."""

    def __init__(self, client: Client):
        self._client = client
        self._last: dict[str, float] = {}  # of each worker, by the clock of the scheduler
        self._silent: dict[str, float] = {}  # seconds since then
        self._looked = monotonic()

    def look(self) -> dict[str, str | None]:
        """Why each worker that the scheduler knows is lost, by address; None for one that is not.

        Raises OSError if the scheduler is gone or does not answer.
        """
        workers = from_scheduler(self._client, self._client.scheduler.identity())["workers"]
        now = monotonic()
        passed = min(now - self._looked, 2 * LOOK_SECONDS)  # not more, as this process may have been stopped itself
        self._looked = now
        last = {address: each["last_seen"] for address, each in workers.items()}
        self._silent = {
            address: self._silent.get(address, 0.0) + passed if self._last.get(address) == seen else 0.0
            for address, seen in last.items()
        }
        self._last = last
        return {address: _why(address, silent) for address, silent in self._silent.items()}


def _why(address: str, silent: float) -> str | None:
    if silent >= STOPPED_SECONDS and (process := process_of(address)) is not None:
        with suppress(psutil.NoSuchProcess):
            return "its process is stopped" if stopped(process) else None
    return f"no heartbeat came for {SILENT_SECONDS:g} s" if silent >= SILENT_SECONDS else None


def heartbeats(client: Client) -> Heartbeats:
    """Those of the workers of a client; always the same object."""
    return _of_clients.setdefault(client, Heartbeats(client))


def process_of(address: str) -> psutil.Process | None:
    """The process of this machine that listens at the address of a worker; None if it is not seen."""
    from distributed.comm import get_address_host_port

    with suppress(psutil.Error, OSError, ValueError):
        host, port = get_address_host_port(address)
        if any(host == each.address for several in psutil.net_if_addrs().values() for each in several):
            for each in psutil.net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN and each.laddr.port == port and each.pid is not None:
                    return psutil.Process(each.pid)
    return None


def kill_child(address: str) -> None:
    """Kills the worker at an address if it is a process that this process started."""
    with suppress(psutil.Error):
        if (process := process_of(address)) is not None and process.ppid() == os.getpid():
            process.kill()


def resume_children() -> None:
    """Has stopped children of this process go on, so that they hear that they are to end, or end with it."""
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if stopped(child):
                child.resume()


def start(client: Client, work: Coroutine) -> Future:
    """Starts a coroutine in the event loop of a client."""
    return asyncio.run_coroutine_threadsafe(work, client.loop.asyncio_loop)


def from_scheduler(client: Client, asking: Coroutine) -> Any:
    """What the scheduler answers. Raises ConnectionError once the client has lost it, TimeoutError if it does not
    answer in `SCHEDULER_SECONDS`."""
    future = start(client, asking)
    try:
        if client.status != "running":
            raise ConnectionError("the scheduler is gone")
        for _ in range(int(SCHEDULER_SECONDS / _POLL_SECONDS)):
            if wait([future], _POLL_SECONDS).done:
                return future.result()
            if client.status != "running":
                raise ConnectionError("the scheduler is gone")
        raise TimeoutError("the scheduler does not answer")
    except (RuntimeError, CancelledError) as error:  # what a client raises that lost its scheduler
        raise ConnectionError(str(error)) from None
    finally:
        future.cancel()


def run(client: Client, function: Callable, *arguments: Any, workers: Iterable[str], on_error: str = "raise",
        seconds: float | None = None) -> dict[str, Any]:  # fmt: skip
    """What a function returns on each worker, by address, as `Client.run`; but a worker that is lost meanwhile, or has
    not answered after so many seconds, gives a TimeoutError.

    on_error  'raise' the first error, or 'return' each in place of a result

    Raises OSError if the scheduler is gone or does not answer.
    """
    asking = {"on_error": "return", "asynchronous": True}
    futures = {each: start(client, client.run(function, *arguments, workers=[each], **asking)) for each in workers}
    found: dict[str, Any] = {}
    began = monotonic()
    try:
        while left := [address for address in futures if address not in found]:
            wait([futures[address] for address in left], LOOK_SECONDS)
            why = {} if all(futures[address].done() for address in left) else heartbeats(client).look()
            late = seconds is not None and monotonic() - began >= seconds
            for address in left:
                if futures[address].done():
                    found[address] = futures[address].exception() or futures[address].result()[address]
                elif why.get(address) or late:
                    found[address] = TimeoutError(f"the worker {address} does not answer: {why.get(address) or 'late'}")
    finally:
        for each in futures.values():
            each.cancel()
    if on_error == "raise":
        for each in found.values():
            if isinstance(each, Exception):
                raise each
    return found
