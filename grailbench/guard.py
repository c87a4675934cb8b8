"""What stands between a run and what may happen to it: a crash, a cell that takes too long, an interrupt."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from grailbench import kernelcache
from grailbench.errors import GrailbenchError, MachineLacks, TooLittleMemory

PATIENCE_SECONDS = 1.0
INTERRUPTS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_AGAIN_SECONDS = 0.01  #: until a signal that came at a bad moment is tried again
_UNBOXED = os.path.join("numba", "core", "serialize.py")


class TimeLimit(Exception):
    """A cell has used up its time."""


_LATE = "the cell's time limit was reached"
_heard = threading.Event()  # an interrupt, in a block of `prompt_interrupts`
_postponed: threading.Timer | None = None  # sends a signal again
_taking = threading.Lock()  # held by who takes it: its timer, or the main thread


@dataclass(frozen=True)
class Outcome:
    """How guarded work ended: `status` ok, skipped, failed, timeout or out of memory, `reason` why."""

    status: str
    reason: str | None = None
    value: Any = None
    trace: str | None = None


def guarded(work: Callable[[], Any], seconds: float | None = None) -> Outcome:
    """Do `work` within `seconds` and turn whatever it raises into an outcome; an interrupt passes through.

    Raises KeyboardInterrupt too when one was heard and `work` made something else of it, or nothing.
    """
    outcome = _outcome(work, seconds)
    if threading.current_thread() is threading.main_thread():
        _raise_what_was_heard()
    return outcome


def _outcome(work: Callable[[], Any], seconds: float | None) -> Outcome:
    try:
        with deadline(seconds):
            return Outcome("ok", value=work())
    except TimeLimit:
        return Outcome("timeout", _LATE)
    except TooLittleMemory as error:
        return Outcome("out of memory", str(error))
    except MemoryError as error:
        return Outcome("out of memory", str(error) or "an allocation failed")
    except MachineLacks as error:
        return Outcome("skipped", str(error))
    except GrailbenchError as error:
        return Outcome("failed", str(error))
    except Exception as error:  # an implementation may raise anything; the run goes on and the row says what
        if _came_of(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        if _came_of(error, TimeLimit):
            return Outcome("timeout", _LATE)
        if kernelcache.forget(error):
            return _outcome(work, seconds)
        trace = traceback.format_exc()
        return Outcome("failed", f"{type(error).__name__}: {error}", trace=trace)


def _came_of(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an exception is of that kind, or was raised while one of that kind was on its way: compiled code that a
    signal ends has given a SystemError."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        if isinstance(at, kind):
            return True
        seen.add(id(at))
        at = at.__cause__ or at.__context__
    return False


def _delicate(frame: FrameType | None) -> bool:
    """Whether compiled code is making Python objects of its results in this frame, its signal handler's caller.

    numba unpickles their types and calls the classes of named tuples then, which is when Python looks for signals; an
    exception there ends in a SystemError or crashes the process.
    """
    if frame is not None and frame.f_code.co_filename == "<string>" and frame.f_code.co_varnames[:1] == ("_cls",):
        return True
    for _ in range(6):
        if frame is None:
            return False
        if frame.f_code.co_filename.endswith(_UNBOXED):
            return True
        frame = frame.f_back
    return False


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
    armed, postponed = True, False

    def ring(number, frame):
        nonlocal postponed
        if armed and _delicate(frame):
            postponed = True
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, 1.0)
        elif armed:
            raise TimeLimit

    before = signal.signal(signal.SIGALRM, ring)
    # Again every second: what is raised inside a destructor or a callback of the collector is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        try:
            yield
        finally:
            armed = False
            if postponed:
                raise TimeLimit
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def prompt_interrupts(before_exit: Callable[[], None], leave: bool = True):
    """Let Ctrl-C (a polite kill, a lost terminal) end the block soon even while a long kernel runs in the main thread.

    The main thread gets a KeyboardInterrupt, and so does who called: whatever else comes of it in the block, a
    SystemError of compiled code above all, leaves the block as that. Where the main thread has not left the block
    `PATIENCE_SECONDS` later (without `leave`: has not heard of it, as in a kernel it cannot), a watching thread calls
    `before_exit` and ends the process with code 130. That thread sleeps in a read until a signal comes, and so disturbs
    no measurement. Blocks may be nested. A signal that the process was started to ignore stays ignored.
    """
    numbers = [number for number in INTERRUPTS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    if threading.current_thread() is not threading.main_thread() or not numbers:
        yield
        return
    heard, spoken = os.pipe()
    os.set_blocking(spoken, False)
    left = threading.Event()

    def watch():
        while word := os.read(heard, 64):
            if set(numbers) & set(word) and not left.wait(PATIENCE_SECONDS) and (leave or not _heard.is_set()):
                before_exit()
                os._exit(130)

    outer = _heard.is_set()
    before_fd = signal.set_wakeup_fd(spoken, warn_on_full_buffer=False)
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    watcher = threading.Thread(target=watch, name="grailbench-interrupts", daemon=True)
    watcher.start()
    try:
        yield
        _raise_what_was_heard()
    except Exception as error:
        interrupted = _take_postponed() or _heard.is_set() or _came_of(error, KeyboardInterrupt)
        if not interrupted or getattr(error, "exit_code", None) == 130:
            raise
        raise KeyboardInterrupt from error
    finally:
        left.set()
        _take_postponed()
        signal.set_wakeup_fd(before_fd)
        for number, handler in before.items():
            signal.signal(number, handler)
        if not outer:
            _heard.clear()
        os.close(spoken)
        watcher.join()
        os.close(heard)


def _interrupt(number: int, frame: FrameType | None):
    """The handler of signals that interrupt: raises KeyboardInterrupt, a moment later where that would do harm."""
    global _postponed
    if _delicate(frame):
        _postponed = threading.Timer(_AGAIN_SECONDS, _send_again, (number,))
        _postponed.daemon = True
        _postponed.start()
        return
    _heard.set()
    raise KeyboardInterrupt


def _send_again(number: int) -> None:
    """Send the main thread a postponed signal, unless it was taken meanwhile: it is heard once."""
    if _taken(threading.current_thread()):
        signal.pthread_kill(threading.main_thread().ident, number)


def _take_postponed() -> bool:
    """Whether a signal waits to be sent again; it will not be."""
    timer = _postponed
    return timer is not None and _taken(timer)


def _taken(timer: threading.Timer | threading.Thread) -> bool:
    """Whether the signal that this timer is to send was still waiting; whoever takes it first has it."""
    global _postponed
    with _taking:
        waited = _postponed is timer
        if waited:
            _postponed = None
    if waited and isinstance(timer, threading.Timer):
        timer.cancel()
    return waited


def _raise_what_was_heard() -> None:
    """Raise KeyboardInterrupt when an interrupt was heard of which nothing has come yet."""
    if _take_postponed() or _heard.is_set():
        _heard.set()
        raise KeyboardInterrupt
