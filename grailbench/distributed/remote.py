"""Cells on a worker of dask: each is run by a `Session`, as in a local run, in a process that the worker keeps.

That process (`_SlotProcess`) uses the cores and GPUs of the worker's slot and no others. Its main thread runs the
cells, so that time limits hold and nothing of dask runs beside what is timed. It ends with the worker, however that
ends. What it reports goes to the client as events of a topic, as soon as it is known; the result of the task has all
rows again.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any

from grailbench.distributed.workers import Facts
from grailbench.errors import GrailbenchError, InputError
from grailbench.harness import environment as machine
from grailbench.harness import folder as results
from grailbench.harness import peaks, plugins
from grailbench.harness.plan import Cell
from grailbench.harness.processes import Stopped, started
from grailbench.harness.session import OpenGraph, Session
from grailbench.harness.tasks import Progress, Watcher
from grailbench.problems.contract import Checks, problem

POLL_SECONDS = 0.5  #: how often a worker looks whether the task is still wanted, and its process not stopped
IDLE_SECONDS = 120.0  #: after this without a cell, the process of a worker ends, and its memory is free


# ------------------------------------------------------------------ in the worker

_lock = threading.Lock()  #: held while a task uses the process, of which a worker has one
_process: _SlotProcess | None = None


def measure(token: str, slot: Facts, topic: str, name: str, order: bytes | None) -> list[tuple[str, Any]]:
    """The task of dask: run the cells of a pickled order, the arguments of `_work`, or none
    to learn the environment. Returns all messages.

    token  of the run; the process of another run is ended first
    name   of the task in events

    Each message is a pair of its kind and of plain JSON values:

    environment  of the process, see `environment`
    rows         of a trial, or the one row of a cell without times
    explained    a traceback for people
    step, note, trouble  what a `Watcher` is told
    lacking      what this machine lacks for a cell
    failed       why no cell of the order could be run
    """
    from distributed import get_worker

    global _process
    worker, messages = get_worker(), []
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state in ("executing", "long-running")

    with _lock:
        if _process is None or (_process.token, _process.slot) != (token, slot) or _process.ended:
            end()
            _process = _SlotProcess(token, slot)
        process = _process  # `end` may be called meanwhile
        try:
            for message in process.work(order, wanted):
                messages.append(message)
                worker.log_event(topic, json.dumps([name, os.getpid(), *message]))
        except BaseException:
            end()
            raise
        process.rest()
    return messages


def end(token: str | None = None) -> None:
    """End the process of this worker if there is one (of this run)."""
    global _process
    if _process is not None and token in (None, _process.token):
        _process.close()
        _process = None


def _end_idle(process: _SlotProcess) -> None:
    """End a process, unless a task uses it or it is another's turn."""
    if _lock.acquire(blocking=False):
        try:
            if _process is process:
                end()
        finally:
            _lock.release()


class _SlotProcess:
    """The process in which a worker runs cells."""

    def __init__(self, token: str, slot: Facts):
        self.token, self.slot = token, slot
        self._timer: threading.Timer | None = None
        self._process, mine = started(__name__, _environment_for(slot))
        self._connection = Connection(mine.detach())
        self._connection.send(slot)

    def work(self, order: bytes | None, wanted):
        """Hand over an order and yield the messages. Raises RuntimeError if the process ends or is stopped, or the task
        is no longer `wanted`, as when its client went away."""
        if self._timer is not None:
            self._timer.cancel()
        try:
            self._connection.send(order)
            since, stopped = monotonic(), Stopped(self._process.pid)
            while True:
                if monotonic() - since >= POLL_SECONDS:
                    if not wanted():
                        raise RuntimeError("nobody waits for this cell any more")
                    if stopped.look():
                        raise RuntimeError("the process of the worker that ran the cell was stopped (SIGSTOP)")
                    since = monotonic()
                if self._connection.poll(POLL_SECONDS):
                    if (message := self._connection.recv()) is None:
                        return
                    yield message
        except (EOFError, OSError):
            code = self._process.wait()
            raise RuntimeError(f"the process of the worker that ran the cell ended with code {code}") from None

    def rest(self) -> None:
        """End the process once it was idle for `IDLE_SECONDS`."""
        self._timer = threading.Timer(IDLE_SECONDS, _end_idle, (self,))
        self._timer.daemon = True
        self._timer.start()

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Kill the process. A second call does nothing."""
        self._connection.close()
        self._process.kill()
        self._process.wait()


def _environment_for(slot: Facts) -> dict[str, str]:
    """The environment variables of the process: those of the worker, with the GPUs of its slot, without what dask set
    for its own tasks, which would give implementations fewer threads than a local run gives them."""
    import dask

    found = dict(os.environ)
    for name, value in dask.config.get("distributed.nanny.pre-spawn-environ", {}).items():
        if found.get(name) == str(value):
            del found[name]
    if slot.gpus or "CUDA_VISIBLE_DEVICES" in found:
        found["CUDA_VISIBLE_DEVICES"] = ",".join(slot.gpus)
    return found


# ------------------------------------------------------------------ in its process


def _serve(handle: int) -> None:
    """Run the process of a worker: run the cells of one order after another, until the connection closes."""
    connection = Connection(handle)
    with suppress(EOFError, OSError):
        slot: Facts = connection.recv()
        peaks.be_killed_first()
        os.sched_setaffinity(0, slot.cores)  # before anything counts cores
        env, opened = environment(slot), None
        while True:
            packed = connection.recv()
            connection.send(("environment", env))
            if packed is not None:
                # From the process that started this one, which had it from the scheduler: who may give workers tasks
                # may run any code there, with and without this.
                opened = _work(connection, env, opened, *pickle.loads(packed))  # noqa: S301
            connection.send(None)
    os._exit(0)


def environment(slot: Facts) -> dict:
    """The environment of this process, as rows are measured in it: with `fingerprint`, the cores that it is pinned to,
    the GPUs of the slot alone, and `key`, by which rows name it."""
    env = machine.environment()
    del env["command"]
    if all(gpu.isdigit() and int(gpu) < len(env["gpus"]) for gpu in slot.gpus):
        env["gpus"] = [env["gpus"][int(gpu)] for gpu in slot.gpus]
    env |= {"fingerprint": machine.fingerprint(env), "pinned": list(slot.cores), "at": results.now()}
    parts = [env["at"], env["fingerprint"], env["code"], env["commit"], env["dirty"], slot.machine, slot.cores,
             slot.gpus]  # fmt: skip
    return env | {"key": hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}


def _work(
    connection: Connection, env: dict, opened: OpenGraph | None, run: str, sha256: str | None, cells: tuple[Cell, ...],
    classes: list[Callable[[], type]], prior: list[dict], others: list[dict], checks: Checks, timing: bool,
) -> OpenGraph | None:  # fmt: skip
    """Run cells of one problem and graph. Returns the graph, which may be that of the next order.

    run      the name of the run in rows
    sha256   of the graph; None if the client does not know it
    classes  the implementations of the cells, as of `processes.told`
    prior    the rows that the run has of these cells
    others   the environments whose complete cells are not run again, as `Progress.others`
    timing   False if the cells are only verified, and compared with one another; then rows of wrong ones come alone
    """
    report = _Reporter(connection, run, env["key"])
    try:
        if new := plugins.facts(known() for known in classes):
            env["implementations"] = env.get("implementations", {}) | new
            connection.send(("environment", env))
        progress = Progress(report if timing else None, env, prior, report, others=others)
        session = Session(progress, checks, opened=opened)
        solved, graph = problem(cells[0].problem), cells[0].dataset
        if session.open(solved, graph).status == "ok":
            found = session.opened.graph.sha256
            if sha256 not in (None, found):
                raise InputError(f"{graph} is another graph on this worker: sha256 {found}, not {sha256}")
        session.run(solved, graph, list(cells))
        if not timing:
            for row in progress.new:
                if row["status"] != "ok":
                    report.append([row | {"run": run}])
        if progress.lacking:
            report.send("lacking", progress.lacking)
    except (GrailbenchError, ImportError) as error:
        report.send("failed", str(error))
        return None
    return session.opened


class _Reporter(Watcher):
    """The sink and the `Watcher` of a session on a worker, which send to the client. Rows name the environment."""

    def __init__(self, connection: Connection, name: str, key: str):
        self.name, self._key, self._connection = name, key, connection

    def send(self, kind: str, what) -> None:
        self._connection.send((kind, what))

    def append(self, rows: list[dict]) -> None:
        self.send("rows", [row | {"worker": self._key} for row in rows])

    def explain(self, text: str) -> None:
        self.send("explained", text)

    def note(self, text: str) -> None:
        self.send("note", text)

    def step(self, cell: Cell, doing: str, steps: int = 1) -> None:
        self.send("step", [doing, steps])

    def trouble(self, cell: Cell, status: str, reason: str) -> None:
        self.send("trouble", [status, reason])
