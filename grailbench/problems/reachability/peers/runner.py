"""Runs commands in a small process of its own, the runner, which measures them and cleans up after them.

The runner is this file as a script, a Python without packages, of 10 MB, since Linux counts a process's memory from
that of its parent. When the process that asked ends, for any reason, it kills the command with all that it started, and
removes their files.
"""

import atexit
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grailbench.util import temporary


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    code   its exit code; -N if it died of signal N
    cpu_ms the processor time, of the processes that it started and waited for too
    peak   the largest resident set in bytes, of the largest of these processes
    fault  why it could not be started, or None
    """

    code: int
    cpu_ms: float
    peak: int
    fault: str | None = None


class CommandRunner:
    """The runner of this process, started when it is first asked and again after it was stopped."""

    def __init__(self):
        self._process: subprocess.Popen | None = None
        self._folder: temporary.Folder | None = None

    def folder(self) -> Path:
        """A new folder for files of commands. Its contents are gone when the runner ends, at the latest."""
        self._start()
        return Path(tempfile.mkdtemp(dir=self._folder.path))

    def _start(self) -> None:
        if self._process is None:
            from grailbench.util import temporary  # here, as the runner has no packages

            self._folder = temporary.Folder("peers")
            command = [sys.executable, "-I", "-S", __file__, str(self._folder.path)]
            self._process = subprocess.Popen(  # noqa: S603 - this Python and this file
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            self._process.stdout.readline()
            atexit.register(self.stop)

    def run(self, words: list[str], folder: Path) -> Ended:
        """Run a command in a folder until it ends; its outputs go to the files `stdout` and `stderr` there.

        Whatever is raised meanwhile, such as an interrupt or `guard.TimeLimit`, ends the command and all that it
        started before it gets to the caller.
        """
        self._start()
        try:
            print(json.dumps([words, str(folder)]), file=self._process.stdin, flush=True)
            return Ended(**json.loads(self._process.stdout.readline()))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the process and what it runs. It does nothing without one."""
        if self._process is not None:
            process, self._process = self._process, None
            atexit.unregister(self.stop)
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.stdout.close()
            process.send_signal(signal.SIGCONT)  # if it was stopped it goes on, to end what it runs
            process.wait()
            self._folder.close()


def _serve() -> None:
    """Run the commands that arrive as lines of input, and end at the end of the input; then remove the folder for their
    files, which is the argument. The first line of output says that signals do not end it any more."""
    heard, spoken = os.pipe()
    os.set_blocking(spoken, False)
    signal.set_wakeup_fd(spoken)
    # Nothing is done about interrupts: whoever asked hears them too, and then ends this input. Commands hear them.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda number, frame: None)
    mine = sys.argv[1]
    print("ready", flush=True)
    while line := sys.stdin.readline():
        words, folder = json.loads(line)
        if (ended := _run(words, folder, heard)) is None:
            break
        print(json.dumps(ended), flush=True)
    shutil.rmtree(mine, ignore_errors=True)


def _run(words: list[str], folder: str, heard: int) -> dict | None:
    """Run one command; None if the input ended meanwhile. `heard` becomes readable when a child process ends."""
    outputs = [open(os.path.join(folder, name), "wb") for name in ("stdout", "stderr")]  # noqa: SIM115
    try:
        started = subprocess.Popen(  # noqa: S603 - the program that the user's description names, no shell
            words, cwd=folder, stdin=subprocess.DEVNULL, stdout=outputs[0], stderr=outputs[1], start_new_session=True
        )
    except OSError as error:
        return {"code": 127, "cpu_ms": 0.0, "peak": 0, "fault": error.strerror or str(error)}
    finally:
        for output in outputs:
            output.close()
    while True:
        ready, _, _ = select.select([sys.stdin, heard], [], [])
        if sys.stdin in ready:  # its end: nobody asks anything while a command runs
            _end(started.pid)
            return None
        os.read(heard, 64)
        found, status, usage = os.wait4(started.pid, os.WNOHANG)
        if found:
            break
    started.returncode = os.waitstatus_to_exitcode(status)
    _end(started.pid)
    cpu = usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"code": started.returncode, "cpu_ms": cpu * 1e3, "peak": peak}


def _end(session: int) -> None:
    """Kill every process of the group that a command began, if one is left."""
    try:
        os.killpg(session, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


if __name__ == "__main__":
    _serve()
