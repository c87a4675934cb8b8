"""Cells in processes of their own: their memory is theirs, nothing they break spills over, and they can be stopped.

For each graph one process is started that opens it and has neither threads nor a CUDA context (`GraphProcess`). It
forks once for each cell (`CellProcess`), so that a cell begins at once, with the graph in pages that all share. Cells
then wait to be asked for one pass or another, which keeps their trials interleaved as in one process.

These processes end with the one that started them, however that dies (`parent`). A cell that is over its
time is killed, in a kernel too. One that the system kills for want of memory is a row
'out of memory' that says how far it had come. Peaks are those of the cell's process (`bench.peaks`).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing.connection import Connection
from threading import Lock
from time import perf_counter_ns
from typing import Any

from grailbench.bench import peaks
from grailbench.bench.parent import end_with
from grailbench.bench.plan import Cell
from grailbench.guard import INTERRUPTS, Outcome, guarded
from grailbench.words import gib

OPENING_SECONDS = 600.0  #: a graph that no process can open in that time fails
# Interrupts are the run's to hear, who then ends us: even one that comes as Python starts.
_START = f"""import signal, sys
for number in {[int(number) for number in INTERRUPTS]}: signal.signal(number, signal.SIG_IGN)
from grailbench.bench.parent import end_with
end_with(int(sys.argv[2]), threads=False)
from grailbench.bench import processes
processes._serve(int(sys.argv[1]))
"""


@dataclass(frozen=True)
class _Opening:
    """What a `GraphProcess` is sent first: problem and graph, and the implementations that must be known there.

    classes: (name, module, attribute) of each implementation of the plan; the last two are for one that is not
    registered when those of the problem are loaded. workloads: by name the spec, and what is asked.
    """

    problem: str
    graph: str
    sha256: str
    classes: tuple[tuple[str, str, str], ...]
    workloads: dict[str, tuple[Any, Any]]


class GraphProcess:
    """The process that cells on one graph are forked from."""

    def __init__(self, solved: str, graph: str, sha256: str, classes: list[type], workloads: dict[str, tuple]):
        """Raises GrailbenchError or RuntimeError when the process cannot open the graph."""
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(its.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what is printed there is for people; stdout may be for machines
                env=environment,
                pass_fds=[its.fileno()],
            )
        self._socket = mine
        self._turn = Lock()
        self._connection = Connection(os.dup(mine.fileno()))
        self.cells: list[CellProcess] = []
        named = tuple((cls.name, cls.__module__, cls.__qualname__) for cls in classes)
        try:
            outcome = self._ask(_Opening(solved, graph, sha256, named, workloads))
        except BaseException:  # an interrupt
            self.close()
            raise
        if outcome.status != "ok":
            self.close()
            raise RuntimeError(f"a process of its own cannot open {graph}: {outcome.reason}")
        self.read_ms: float = outcome.value

    def begin(self, cell: Cell) -> CellProcess:
        """Fork for a cell."""
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with its:
            self._connection.send(cell)
            socket.send_fds(self._socket, [b"cell"], [its.fileno()])
            pid = self._answer()
        found = CellProcess(Connection(mine.detach()), pid, lambda: self._ask(pid), self.read_ms)
        self.cells.append(found)
        return found

    def close(self) -> None:
        """End the cells, and the process that they were forked from."""
        for cell in self.cells:
            cell.close()
        self._connection.close()
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _ask(self, question):
        with self._turn:
            try:
                self._connection.send(question)
            except OSError:
                return Outcome("failed", "the process that opened the graph has ended")
            return self._answer()

    def _answer(self):
        try:
            if self._connection.poll(OPENING_SECONDS):
                return self._connection.recv()
            return Outcome("failed", f"no answer within {OPENING_SECONDS:g} s")
        except (EOFError, OSError):
            return Outcome("failed", f"the process ended with code {self._process.wait()}")


class CellProcess:
    """A cell in a process of its own, as the run sees it. read_ms: what opening its graph took there."""

    def __init__(self, connection: Connection, pid: int, ending: Callable, read_ms: float):
        """ending: gives, once the process has ended, its wait status and the bytes it had at most, or an `Outcome`."""
        self._connection, self._pid, self._ending, self.read_ms = connection, pid, ending, read_ms
        self._over = False

    def ask(self, what: str, seconds: float | None = None) -> Outcome:
        """Have the cell make one pass: 'attempt' or 'measure'. Kills it when `seconds` have passed."""
        try:
            self._connection.send(what)
            if not self._connection.poll(seconds if seconds is None else max(seconds, 0.0)):
                self.close()
                return Outcome("timeout", "the cell's time limit was reached")
            return self._connection.recv()
        except (EOFError, OSError):
            self._over = True
            end = self._ending()
            return end if isinstance(end, Outcome) else _outcome_of(*end)

    def close(self) -> None:
        """End the cell's process, whatever it does; a second time does nothing."""
        if not self._over:
            self._over = True
            os.kill(self._pid, signal.SIGKILL)  # nobody has waited for it: the number is still its own
        self._connection.close()


def _outcome_of(status: int, peak: int) -> Outcome:
    """What became of a process that ended by itself: its wait status, and the bytes it had resident at most."""
    code = os.waitstatus_to_exitcode(status)
    had = f"it had {gib(peak)} resident"
    if code == -signal.SIGKILL:
        return Outcome("out of memory", f"the system killed the cell's process, as it does when memory runs out; {had}")
    how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return Outcome("failed", f"the cell's process {how}; {had}")


# ------------------------------------------------------------------ in these processes


def _serve(handle: int) -> None:
    """What a `GraphProcess` does: open the graph, fork for each cell, say how one ended; it ends with its socket."""
    ours = socket.socket(fileno=handle)
    connection = Connection(os.dup(handle))
    children: set[int] = set()
    try:
        opening: _Opening = connection.recv()
        outcome = guarded(lambda: _open(opening))
        graph, given, read_ms = outcome.value or (None, None, None)
        connection.send(replace(outcome, value=read_ms))
        while outcome.status == "ok":
            question = connection.recv()
            if isinstance(question, Cell):
                _, (its,), _, _ = socket.recv_fds(ours, 16, 1)
                own, pid = os.getpid(), os.fork()
                if pid == 0:
                    end_with(own)
                    connection.close()
                    ours.close()
                    _make_passes(Connection(its), question, graph, given)
                os.close(its)
                children.add(pid)
                connection.send(pid)
            else:
                _, status, usage = os.wait4(question, 0)
                children.discard(question)
                connection.send((status, usage.ru_maxrss * 1024))
    except (EOFError, OSError):
        pass
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    os._exit(0)


def _open(opening: _Opening):
    """The graph, what cells are given of it by workload, and the ms that it took to come from the cache."""
    from grailbench.contract import implementations, problem, register
    from grailbench.errors import GrailbenchError, InputError

    for name, module, attribute in opening.classes:
        if name not in implementations(opening.problem):
            found = import_module(module)  # which may register it
            if name not in implementations(opening.problem):
                register(getattr(found, attribute))
        if "gpu" in implementations(opening.problem)[name].needs:
            with suppress(GrailbenchError):  # what is missing a cell will say
                import_module("grailbench.device.gateway")  # makes no context, and spares each cell a second
    solved = problem(opening.problem)
    began = perf_counter_ns()
    graph = solved.open(opening.graph)
    if graph.sha256 != opening.sha256:
        raise InputError(f"{opening.graph} changed during the run")
    given = {name: (solved.data(graph, spec), asked) for name, (spec, asked) in opening.workloads.items()}
    for data, _ in given.values():
        solved.share(data)
    return graph, given, (perf_counter_ns() - began) / 1e6


def _make_passes(connection: Connection, cell: Cell, graph, given: dict[str, tuple]) -> None:
    """What a `CellProcess` does: one pass after another, as it is asked. Does not return."""
    from grailbench.bench import passes

    peaks.be_killed_first()
    guarded(lambda: passes.prime(cell))  # a fault there is one in the first pass too, which says so
    data, asked = given[cell.queries.name]
    edges = None
    try:
        while True:
            what = connection.recv()
            if what == "attempt":
                outcome = guarded(lambda: passes.attempt(cell, data, asked))
                passes.freeze(first=False)
            else:
                if cell.from_edges and edges is None:
                    outcome = guarded(lambda: graph.raw)
                    edges = outcome.value
                outcome = guarded(lambda edges=edges: passes.measure(cell, data, asked, edges))
            peaks.release()
            connection.send(outcome)
    except (EOFError, OSError):
        pass
    os._exit(0)
