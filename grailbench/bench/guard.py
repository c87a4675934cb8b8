"""What stands between a run and what may happen to it: a crash, a cell that takes too long, an interrupt."""

from __future__ import annotations

import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from grailbench.errors import GrailbenchError, MachineLacks, TooLittleMemory

PATIENCE_SECONDS = 1.0


class TimeLimit(Exception):
    """A cell has used up its time."""


@dataclass(frozen=True)
class Outcome:
    """How guarded work ended: `status` ok, skipped, failed, timeout or out of memory, `reason` why."""

    status: str
    reason: str | None = None
    value: Any = None
    trace: str | None = None


def guarded(work: Callable[[], Any], seconds: float | None = None) -> Outcome:
    """Do `work` within `seconds` and turn whatever it raises into an outcome; an interrupt passes through."""
    try:
        with deadline(seconds):
            return Outcome("ok", value=work())
    except TimeLimit:
        return Outcome("timeout", "the cell's time limit was reached")
    except TooLittleMemory as error:
        return Outcome("out of memory", str(error))
    except MemoryError as error:
        return Outcome("out of memory", str(error) or "an allocation failed")
    except MachineLacks as error:
        return Outcome("skipped", str(error))
    except GrailbenchError as error:
        return Outcome("failed", str(error))
    except Exception as error:  # an implementation may raise anything; the run goes on and the row says what
        trace = traceback.format_exc()
        return Outcome("failed", f"{type(error).__name__}: {error}", trace=trace)


@contextmanager
def deadline(seconds: float | None):
    """Raise TimeLimit in the block once `seconds` have passed; None is no limit.

    A kernel that runs cannot be stopped from Python: the limit takes hold when it returns. Only the main
    thread gets signals, so elsewhere there is no limit.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return
    if seconds <= 0:
        raise TimeLimit
    armed = True

    def ring(number, frame):
        if armed:
            raise TimeLimit

    before = signal.signal(signal.SIGALRM, ring)
    # Again every second: what is raised inside a destructor or a callback of the collector is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        try:
            yield
        finally:
            armed = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def prompt_interrupts(last_words: Callable[[], None]):
    """Let Ctrl-C (and a polite kill) end the block soon even while a long kernel runs in the main thread.

    The main thread gets its KeyboardInterrupt as ever. Where it has not left the block `PATIENCE_SECONDS`
    later, since Python hears no signal inside a kernel, a watching thread calls `last_words` and ends the
    process with code 130. That thread sleeps in a read until a signal comes, and so disturbs no measurement.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, spoken = socket.socketpair()
    spoken.setblocking(False)
    left = threading.Event()
    watched = {int(signal.SIGINT), int(signal.SIGTERM)}

    def watch():
        while word := heard.recv(64):
            if watched & set(word) and not left.wait(PATIENCE_SECONDS):
                last_words()
                os._exit(130)

    before_fd = signal.set_wakeup_fd(spoken.fileno(), warn_on_full_buffer=False)
    before_term = signal.signal(signal.SIGTERM, _raise_interrupt)
    watcher = threading.Thread(target=watch, name="grailbench-interrupts", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(before_fd)
        signal.signal(signal.SIGTERM, before_term)
        spoken.close()
        watcher.join()
        heard.close()


def _raise_interrupt(number, frame):
    raise KeyboardInterrupt
