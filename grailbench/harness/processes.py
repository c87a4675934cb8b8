"""Running each cell in its own process: its memory is measured, it can be stopped, and a crash affects no other cell.

For each graph one process is started that opens the graph, without threads or a CUDA context (`GraphProcess`). It is
forked for each cell (`CellProcess`), so that a cell starts at once and all share the pages of the graph. The processes
of cells wait for requests to make one pass, so that trials are interleaved as in a single process.

These processes end when their parent process ends, for any reason (`parent`). A cell that exceeds its time limit is
killed, also inside a kernel. A cell that the system kills for lack of memory gets a row 'out of memory' with its peak
memory. Peaks are those of the process of the cell (`peaks`).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from time import monotonic, perf_counter_ns

import psutil

from grailbench.harness import peaks
from grailbench.harness.parent import end_with
from grailbench.harness.plan import Cell
from grailbench.util.guard import INTERRUPTS, Outcome, guarded
from grailbench.util.words import gib

LARGE = 1 << 28  #: edges from which on every cell has a process of its own, since nothing else stops its kernels
OPENING_SECONDS = 600.0  #: the longest time that a process may take to open a graph, or to compile or load kernels
ENDING_SECONDS = 10.0  #: the longest time that the processes of cells, which were killed, may take to be gone
LONGEST_SECONDS = 2e6  #: a longer limit is none: the system waits for 24 days at most
_POLL_SECONDS = 0.5  #: between two looks whether the process that opened a graph is stopped
#: a program for `python -c`, with a socket and the id of the parent, that calls `_serve` of a module. Interrupts are
#: ignored from the start of Python on: the run handles them and then ends this process.
_START = f"""import importlib, signal, sys
for number in {[int(number) for number in INTERRUPTS]}: signal.signal(number, signal.SIG_IGN)
from grailbench.harness.parent import end_with
end_with(int(sys.argv[2]))
importlib.import_module(sys.argv[3])._serve(int(sys.argv[1]))
"""


def told(implementation: type) -> Callable[[], type]:
    """What another process is told of an implementation: a function that returns it there, registered."""
    its = implementation
    return partial(_registered, its.problem, its.name, its.__module__, its.__qualname__, its.described_by)


def _registered(problem: str, name: str, module: str, attribute: str, file: Path | None) -> type:
    """The implementation, of the file that describes it if there is one; the attribute of the module is used if it is
    not registered after those of its problem were loaded."""
    from grailbench.problems.contract import implementation, implementations, register

    if file is not None:
        return implementation(str(file), problem)  # this registers it
    if name not in implementations(problem):
        found = import_module(module)  # this may register the class
        if name not in implementations(problem):
            register(getattr(found, attribute))
    return implementations(problem)[name]


def started(module: str, environment: Mapping[str, str]) -> tuple[subprocess.Popen, socket.socket]:
    """A process that runs `_serve` of a module with a socket, and the other end of that. It ends with this one."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    path = os.pathsep.join(each or os.getcwd() for each in sys.path)
    with its:
        process = subprocess.Popen(  # noqa: S603 - this Python and our own text
            [sys.executable, "-c", _START, str(its.fileno()), str(os.getpid()), module],
            stdin=subprocess.DEVNULL,
            stdout=2,  # stdout of the run may be read by a program
            env={**environment, "PYTHONPATH": path},
            pass_fds=[its.fileno()],
        )
    return process, mine


class GraphProcess:
    """The process from which those of the cells on one graph are forked."""

    def __init__(self, solved: str, graph: str, sha256: str, classes: list[type], workloads: dict[str, tuple]):
        """workloads: (spec, queries) by name. Raises GrailbenchError or RuntimeError when the process cannot open the
        graph."""
        self._process, self._socket = started(__name__, os.environ)
        self._turn = Lock()
        self._serves = False  # whether the graph is open
        self._connection = Connection(os.dup(self._socket.fileno()))
        self.cells: list[CellProcess] = []
        try:
            outcome = self._ask((solved, graph, sha256, [*map(told, classes)], workloads))
        except BaseException:  # such as an interrupt
            self.close()
            raise
        if outcome.status != "ok":
            self.close()
            raise RuntimeError(f"a process of its own cannot open {graph}: {outcome.reason}")
        self.read_ms: float = outcome.value
        self._serves = True

    def begin(self, cell: Cell) -> CellProcess:
        """Fork the process of a cell. Raises RuntimeError or OSError if the process that opened the graph has ended or
        is stopped."""
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with its:
            self._connection.send(cell)
            socket.send_fds(self._socket, [b"cell"], [its.fileno()])
            pid = self._answer()
            if isinstance(pid, Outcome):
                raise RuntimeError(pid.reason)
        found = CellProcess(Connection(mine.detach()), pid, lambda: self._ask(pid), self.read_ms)
        self.cells.append(found)
        return found

    def close(self) -> None:
        """End the processes of the cells, then this one. They are gone when this returns."""
        for cell in self.cells:
            cell.close()
        self._connection.close()
        self._socket.close()  # it ends when it sees this, after its cells
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING_SECONDS if self._serves else 0)
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
        stopped, ends = Stopped(self._process.pid), monotonic() + OPENING_SECONDS
        try:
            while monotonic() < ends:
                if self._connection.poll(_POLL_SECONDS):
                    return self._connection.recv()
                if stopped.look():
                    self._process.kill()  # with its cells
                    return Outcome("failed", "the process that opened the graph was stopped (SIGSTOP)")
            return Outcome("failed", f"no answer within {OPENING_SECONDS:g} s")
        except (EOFError, OSError):
            return Outcome("failed", f"the process ended with code {self._process.wait()}")


class CellProcess:
    """A handle on the process of a cell. read_ms: the time in ms that opening its graph took."""

    def __init__(self, connection: Connection, pid: int, ending: Callable, read_ms: float):
        """ending: waits for the process to end. Returns its wait status and peak memory in bytes, or an `Outcome`."""
        self._connection, self._pid, self._ending, self.read_ms = connection, pid, ending, read_ms
        self.over = False  #: whether the process has ended

    def ask(self, what: str, seconds: float | None = None, *more) -> Outcome:
        """Make the cell run one pass, as `passes.made` says, or 'prime' its kernels. It is killed if that takes longer
        than `seconds`."""
        try:
            self._connection.send((what, *more))
            waits = None if seconds is None or seconds > LONGEST_SECONDS else max(seconds, 0.0)
            if not self._connection.poll(waits):
                self.close()
                return Outcome("timeout", "the cell's time limit was reached")
            return self._connection.recv()
        except (EOFError, OSError):
            self.over = True
            end = self._ending()
            return end if isinstance(end, Outcome) else _outcome_of(*end)

    def close(self) -> None:
        """Kill the process of the cell. A second call does nothing."""
        if not self.over:
            self.over = True
            os.kill(self._pid, signal.SIGKILL)  # its parent has not waited for it, so the id is still its own
        self._connection.close()


def _outcome_of(status: int, peak: int) -> Outcome:
    """The outcome for a process that ended by itself, from its wait status and peak resident memory in bytes."""
    code = os.waitstatus_to_exitcode(status)
    had = f"it had {gib(peak)} resident"
    if code == -signal.SIGKILL:
        return Outcome("out of memory", f"the system killed the cell's process, as it does when memory runs out; {had}")
    how = f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    return Outcome("failed", f"the cell's process {how}; {had}")


def stopped(process: psutil.Process) -> bool:
    """Whether a process is stopped, as by SIGSTOP or a debugger. Raises psutil.NoSuchProcess."""
    return process.status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)


class Stopped:
    """Whether a child process was stopped at each of the last `LOOKS` looks, so that it will hardly go on."""

    LOOKS = 10

    def __init__(self, pid: int):
        self._pid, self._looks = pid, 0

    def look(self) -> bool:
        try:
            self._looks = self._looks + 1 if stopped(psutil.Process(self._pid)) else 0
        except psutil.NoSuchProcess:
            self._looks = 0
        return self._looks >= self.LOOKS


# ------------------------------------------------------------------ in these processes


def _serve(handle: int) -> None:
    """Run a `GraphProcess`: open the graph, fork for each cell, and report how cells ended, until the socket closes."""
    ours = socket.socket(fileno=handle)
    connection = Connection(os.dup(handle))
    children: set[int] = set()
    with suppress(EOFError, OSError, ValueError):  # also where the socket closes within a question
        opening = connection.recv()
        outcome = guarded(lambda: _open(*opening))
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
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        os.waitpid(pid, 0)
    os._exit(0)


def _open(solved: str, graph: str, sha256: str, classes: list[Callable[[], type]], workloads: dict[str, tuple]):
    """Open the graph. Returns it, the (data, queries) for the cells by workload, and the time from the cache in ms."""
    from grailbench.errors import GrailbenchError, InputError
    from grailbench.problems.contract import problem

    for known in classes:
        chosen = known()
        with suppress(GrailbenchError):  # the cell reports what is missing
            if "gpu" in chosen.needs:
                import_module("grailbench.cuda.gateway")  # makes no CUDA context; saves a second for each cell
            else:
                chosen.require()  # imports a peer's library once for all cells
    its = problem(solved)
    began = perf_counter_ns()
    opened = its.open(graph)
    if opened.sha256 != sha256:
        raise InputError(f"{graph} changed during the run")
    given = {name: (its.data(opened, spec), batch) for name, (spec, batch) in workloads.items()}
    for data, _ in given.values():
        its.share(data)
    return opened, given, (perf_counter_ns() - began) / 1e6


def _make_passes(connection: Connection, cell: Cell, graph, given: dict[str, tuple]) -> None:
    """Run the process of a cell: make one pass for each request. Does not return."""
    from grailbench.harness import passes

    peaks.be_killed_first()
    if cell.memory_limit is not None:
        peaks.limit(int(cell.memory_limit * 2**30))
    edges = None
    with suppress(EOFError, OSError):
        while True:
            what, *more = connection.recv()
            if what in ("measure", "energy") and cell.from_edges and edges is None:
                edges = guarded(lambda: graph.raw).value
            if what == "prime":
                outcome = guarded(lambda: passes.prime(cell, counted=True, large=graph.edges >= LARGE))
            else:
                outcome = guarded(partial(passes.made, what, cell, *given[cell.queries.name], edges, *more))
            if what == "attempt":
                passes.freeze(first=False)
            peaks.release()
            connection.send(outcome)
    os._exit(0)
