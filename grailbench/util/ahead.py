"""Compiles kernels in processes of their own, since numba compiles one at a time in a process.

A job is the name of a function, 'module:function', and its arguments. What one process compiles the others find in
numba's cache; of two that need a kernel at once, one waits (`kernelcache`). Importing this module imports no numba.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from time import perf_counter
from typing import Any, NamedTuple

from grailbench.errors import InputError
from grailbench.util import kernelcache, temporary
from grailbench.util.cores import usable_cores

MOST = 16  #: processes: on a GPU each has a context, of about half a gigabyte
_WORK = "from grailbench.util.ahead import work; work()"
_running: list[subprocess.Popen] = []
_helping = False  # whether this is such a process


class Job(NamedTuple):
    """A function that compiles kernels: 'module:function', and its arguments, which can be pickled."""

    function: str
    args: tuple = ()

    @property
    def name(self) -> str:
        """What it compiles, in words."""
        words = (str(each) for each in self.args if isinstance(each, str | int))
        return " ".join([self.function.partition(":")[2], *words])

    def __call__(self) -> Any:
        """Does it here."""
        module, _, name = self.function.partition(":")
        return getattr(import_module(module), name)(*self.args)


class Done(NamedTuple):
    """What a process says of a job: its number, the kernels that it compiled and kept, seconds, and the error or ''."""

    number: int
    kernels: int
    seconds: float
    error: str


def expect(function: str, *args: Any) -> None:
    """Starts processes for the jobs that a function ('module:function') returns as soon as this process compiles a
    kernel, or at once if it has numba and none was ever compiled: other cores compile what it will call next. Each has
    a core beside this one; else there are none."""
    for process in _running:
        process.poll()  # that have ended, so that they are no zombies
    if _helping or _running or usable_cores() == 1:
        return

    def others() -> None:
        _help(Job(function, args)())

    if kernelcache.on_first is None and _nothing_compiled():
        others()
    else:  # and not looked for again: what waits for the first kernel found one
        kernelcache.on_first = others


def _nothing_compiled() -> bool:
    """True in a process with numba, if its folder has no kernel. numba makes folders before it compiles."""
    with suppress(OSError, InputError):
        return "numba" in sys.modules and not any(kernelcache.lasting_folder().rglob("*.nbi"))
    return False


def _help(jobs: Sequence[Job]) -> None:
    with suppress(OSError, InputError):  # too many processes, or no folder: this one compiles all by itself
        handle = os.open(kernelcache.lasting_folder() / "ahead.lock", os.O_CREAT | os.O_RDWR, 0o666)
        try:
            if temporary.lock(handle) is not False:  # else another process had some started
                start(jobs, usable_cores() - 1, subprocess.DEVNULL, (handle,))
        finally:
            os.close(handle)  # they have it


def start(
    jobs: Sequence[Job], processes: int, out: int = subprocess.PIPE, inherited: tuple[int, ...] = ()
) -> list[subprocess.Popen]:
    """Starts at most so many processes, which share the jobs and end with this one; they have the files `inherited`
    open. Raises OSError."""
    if not _running:
        atexit.register(stop)
    most = min(processes, MOST, len(jobs))
    path = os.pathsep.join(each for each in sys.path if each)
    started = []
    for first in range(most):
        process = subprocess.Popen(  # noqa: S603 - this Python
            [sys.executable, "-c", _WORK], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path}, start_new_session=True, pass_fds=inherited,
        )  # fmt: skip
        _running.append(process)
        started.append(process)
        with suppress(BrokenPipeError):
            process.stdin.write(pickle.dumps([(number, jobs[number]) for number in range(first, len(jobs), most)]))
            process.stdin.flush()  # it stays open: its end tells the process that this one is gone
    return started


def stop() -> None:
    """Ends the processes that still compile; to be called before anything is timed."""
    while _running:
        process = _running.pop()
        process.kill()
        process.wait()
        process.stdin.close()
        if process.stdout is not None:
            process.stdout.close()


def finished(processes: Sequence[subprocess.Popen]) -> Iterator[Done]:
    """What the processes say of their jobs, in the order of processes; those that die say nothing of the rest."""
    for process in processes:
        for line in process.stdout:
            yield Done(*json.loads(line))
    stop()


def work() -> None:
    """The main function of such a process: does the jobs that the standard input names, and says so."""
    global _helping
    _helping = True
    jobs = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is no answer
    for number, job in jobs:
        before, began = kernelcache.compiled, perf_counter()
        error = _error_of(job)
        with suppress(OSError):
            print(json.dumps([number, kernelcache.compiled - before, perf_counter() - began, error]), file=out)


def _error_of(job: Any) -> str:
    try:
        job()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _end_with_parent() -> None:
    with suppress(OSError):
        os.read(0, 1)
    os._exit(0)
