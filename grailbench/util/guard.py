"""Protects runs from implementations that crash or take too long, and runs and users of the library from interrupts at
a bad moment."""

import _signal  # what `signal` is made of: it names numbers by enumerations, which takes ten times as long
import os
import signal
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from types import FrameType, FunctionType
from typing import Any, ParamSpec, TypeVar

from grailbench.errors import GpuFailed, GrailbenchError, MachineLacks, TooLittleMemory
from grailbench.util import faults, kernelcache

PATIENCE_SECONDS = 1.0
MOST_SECONDS = 1e9  #: of a limit, 31 years: timers of the system and of Python take no such numbers as 1e300
INTERRUPTS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound=type)
#: signals whose handlers often raise
_RAISING = tuple(map(int, (*INTERRUPTS, signal.SIGALRM)))
_AGAIN_SECONDS = 0.01  #: after this a postponed signal is sent again
_UNBOXED = os.path.join("numba", "core", "serialize.py")
_LLVM = os.path.join("llvmlite", "binding", "")
#: where locks are classes of Python, and how their functions are called
_LOCKS = os.path.join("numba", "core", "compiler_lock.py"), threading.__file__
_LOCKING = "__enter__", "__exit__", "acquire", "release"
#: it has such locks too, and a callback of an object that is gone; all but the function that runs a module is brief
_IMPORTING, _RUNS_MODULE = "<frozen importlib._bootstrap>", "_call_with_frames_removed"
_REGISTRIES = tuple(os.path.join("numba", "core", *name) for name in (("base.py",), ("typing", "context.py")))
_POOLS = os.path.join("concurrent", "futures", "thread.py")
_WEAK = weakref.finalize.__call__.__code__.co_filename


class TimeLimit(Exception):
    """A cell has used up its time."""


_heard = threading.Event()  # set by an interrupt in a block of `prompt_interrupts`
_postponed: deque[int] = deque(maxlen=1)  # the signal that is sent again soon; its timer or the main thread takes it
_turn = threading.RLock()  # of who takes it: it was sent again, or is not, when another thread looks
os.register_at_fork(after_in_child=_turn._at_fork_reinit)
_patient = False  # whether the main thread is in an `interruptible` function


@dataclass(frozen=True)
class Outcome:
    """How guarded work ended. `status` is ok, skipped, failed, timeout or out of memory."""

    status: str
    reason: str | None = None
    value: Any = None
    trace: str | None = None


def guarded(work: Callable[[], Any], seconds: float | None = None) -> Outcome:
    """Calls `work` with a time limit and turns every exception into an outcome, except KeyboardInterrupt.

    Raises KeyboardInterrupt also if an interrupt arrived that `work` swallowed or turned into another exception.
    """
    outcome = _outcome(work, seconds)
    if threading.current_thread() is threading.main_thread():
        _raise_pending_interrupt()
    return outcome


def _outcome(work: Callable[[], Any], seconds: float | None) -> Outcome:
    try:
        with deadline(seconds):
            return Outcome("ok", value=work())
    except (TooLittleMemory, MemoryError) as error:
        return Outcome("out of memory", str(faults.explained(error) or error) or "an allocation failed")
    except GrailbenchError as error:
        gpu = isinstance(error, GpuFailed)
        status = "skipped" if isinstance(error, MachineLacks) and not gpu else "failed"
        return Outcome(status, str(error), trace=traceback.format_exc() if gpu else None)
    except Exception as error:  # whatever an implementation raises, the run goes on and the row has the reason
        if _caused_by(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        if _caused_by(error, TimeLimit):
            return Outcome("timeout", "the cell's time limit was reached")
        if kernelcache.forget(error):
            return _outcome(work, seconds)
        found, trace = faults.explained(error), traceback.format_exc()
        status = "out of memory" if isinstance(found, TooLittleMemory) else "failed"
        return Outcome(status, str(found or f"{type(error).__name__}: {error}"), trace=trace)


def _caused_by(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an exception is of that kind or has one among its causes; compiled code that a signal interrupts may
    raise a SystemError instead."""
    return any(isinstance(each, kind) for each in faults.chain(error))


def _must_wait(frame: FrameType | None) -> bool:
    """Whether an exception of a signal handler that was called in this frame would be lost or do harm.

    numba makes Python objects of results by unpickling types and calling the classes of named tuples, and Python
    runs signal handlers meanwhile: an exception there becomes a SystemError or crashes the process. llvmlite frees
    what it has freed a second time if an exception keeps it from noting so. An exception in a function that LLVM
    calls back, in a destructor, or in what is called when an object is gone is printed and lost. A lock that is a
    class of Python, as those of numba, llvmlite and `Condition`, may stay locked for ever, and other threads hang.
    numba takes the functions that it knows from endless generators: one that an exception ends raises StopIteration
    from then on, and no kernel is compiled or loaded any more. A pool that has started a thread and does not know it
    yet never ends that thread, and the process hangs at its end.
    """
    depth = 0
    while frame is not None:
        name, file = frame.f_code.co_name, frame.f_code.co_filename
        if (
            (depth == 0 and file == "<string>" and frame.f_code.co_varnames[:1] == ("_cls",))  # of a named tuple
            or (depth < 6 and file.endswith(_UNBOXED))
            or frame.f_code is _postpone.__code__  # in such a frame, which waits for its timer to start
            or (name == "__del__" or file == _WEAK)
            or _LLVM in file
            or (depth < 2 and file == _IMPORTING and name != _RUNS_MODULE)
            or (depth < 2 and name in _LOCKING and file.endswith(_LOCKS))
            or (name == "refresh" and file.endswith(_REGISTRIES))
            or (name == "_adjust_thread_count" and file.endswith(_POOLS))
        ):
            return True
        frame, depth = frame.f_back, depth + 1
    return False


@contextmanager
def deadline(seconds: float | None):
    """Raises TimeLimit in the block once `seconds` have passed; None means no limit.

    Python cannot stop a running kernel, so TimeLimit is raised once it returns. There is no limit in other threads
    than the main one, as they get no signals. More than `MOST_SECONDS` are no limit.
    """
    if seconds is None or seconds > MOST_SECONDS or threading.current_thread() is not threading.main_thread():
        yield
        return
    if seconds <= 0:
        raise TimeLimit
    armed, postponed = True, False

    def ring(number, frame):
        nonlocal postponed
        if armed and _must_wait(frame):
            postponed = True
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS, 1.0)
        elif armed:
            raise TimeLimit

    before = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            # It rings again every second: an exception in a destructor or a callback of the garbage collector is lost.
            # A timer of less than a microsecond would never ring. A very short one rings here already, so this stands
            # where the clock is stopped whatever happens.
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), 1.0)
            yield
        finally:
            armed = False
            if postponed:
                raise TimeLimit
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def prompt_interrupts(before_exit: Callable[[], None], leave: bool = True):
    """Lets Ctrl-C, SIGTERM or a lost terminal end the block soon, even while a long kernel runs in the main thread.

    The main thread gets a KeyboardInterrupt. The block also raises KeyboardInterrupt if that became another exception,
    such as a SystemError of compiled code. If the main thread is still in the block after `PATIENCE_SECONDS`, another
    thread calls `before_exit` and ends the process with code 130; with `leave=False`, only if the signal handler has
    not run yet, as during a kernel. That other thread waits in a read until a signal arrives, so it disturbs no
    measurement. Blocks may be nested. Signals that the process was started to ignore stay ignored.
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
    before_fd, before_hook = signal.set_wakeup_fd(spoken, warn_on_full_buffer=False), sys.unraisablehook
    before = {number: signal.signal(number, _interrupt) for number in numbers}
    sys.unraisablehook = lambda lost: _lost(lost, numbers[0], before_hook)
    watcher = threading.Thread(target=watch, name="grailbench-interrupts", daemon=True)
    watcher.start()
    try:
        yield
        _raise_pending_interrupt()
    except Exception as error:
        interrupted = _take_postponed() is not None or _heard.is_set() or _caused_by(error, KeyboardInterrupt)
        if not interrupted or getattr(error, "exit_code", None) == 130:
            raise
        raise KeyboardInterrupt from error
    finally:
        left.set()
        _take_postponed()
        signal.set_wakeup_fd(before_fd)
        sys.unraisablehook = before_hook
        for number, handler in before.items():
            signal.signal(number, handler)
        if not outer:
            _heard.clear()
        os.close(spoken)
        watcher.join()
        os.close(heard)


def _interrupt(number: int, frame: FrameType | None):
    """Signal handler: raises KeyboardInterrupt, or postpones the signal if an exception would do harm in this frame."""
    if _must_wait(frame):
        _postpone(number)
        return
    _heard.set()
    raise KeyboardInterrupt


def _lost(unraisable: Any, number: int, otherwise: Callable[[Any], object]) -> None:
    """Hook for an exception that Python cannot raise, as of a callback of C: an interrupt is sent again, as a signal
    that is not ignored, in place of a traceback."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _postpone(number)
    else:
        otherwise(unraisable)


def _postpone(number: int) -> None:
    """Has a signal sent again soon."""
    _postponed.append(number)
    timer = threading.Timer(_AGAIN_SECONDS, _send_again)
    timer.daemon = True
    timer.start()


def _send_again() -> None:
    """Sends a postponed signal to the main thread, unless that has taken it meanwhile."""
    with _turn:
        if (number := _take_postponed()) is not None:
            signal.pthread_kill(threading.main_thread().ident, number)


def _take_postponed() -> int | None:
    """The signal that was postponed, if any; it is then not sent again: only the first caller gets it."""
    with _turn:
        return _postponed.pop() if _postponed else None


def _raise_pending_interrupt() -> None:
    """Raises KeyboardInterrupt if an interrupt arrived that has not been raised yet."""
    if _take_postponed() is not None or _heard.is_set():
        _heard.set()
        raise KeyboardInterrupt


# ------------------------------------------------------------------ functions of the library


def interruptible(work: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function for users, through which an exception of their signal handlers comes, such as KeyboardInterrupt.

    In its place numba gives a SystemError, or a tuple with a hole, which crashes the process when it is read, if the
    handler is called while a result of compiled code is made (`_must_wait`). So meanwhile handlers of `_RAISING` are
    called a little later, at the latest when `work` ends.
    """

    @wraps(work)
    def called(*given: _P.args, **named: _P.kwargs) -> _R:
        global _patient
        if _patient or threading.get_ident() != threading.main_thread().ident:
            return work(*given, **named)
        handlers = {number: handler for number in _RAISING if callable(handler := _signal.getsignal(number))}

        def wait(number: int, frame: FrameType | None) -> None:
            if _must_wait(frame):
                _postpone(number)
            else:
                handlers[number](number, frame)

        def restore() -> None:
            global _patient
            for number, handler in handlers.items():
                if _signal.getsignal(number) is wait:
                    _signal.signal(number, handler)
            _patient = False

        try:
            _patient = True
            for number in handlers:
                _signal.signal(number, wait)
            return work(*given, **named)
        except (SystemError, RuntimeError) as error:  # of another signal, or in a wait for a lock
            if _caused_by(error, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            raise
        finally:
            try:
                restore()
            except BaseException:  # of a handler that was called meanwhile
                restore()
                raise
            if (late := _take_postponed()) in handlers:
                handlers[late](late, sys._getframe())

    return called


def interruptible_but(*names: str) -> Callable[[_C], _C]:
    """A decorator of a class for users: its public functions and what it keeps as attributes are `interruptible`, but
    for some names."""

    def decorate(kind: _C) -> _C:
        for name, member in list(vars(kind).items()):
            if name.startswith("_") or name in names:
                continue
            if isinstance(member, FunctionType):
                setattr(kind, name, interruptible(member))
            elif isinstance(member, classmethod | staticmethod):
                setattr(kind, name, type(member)(interruptible(member.__func__)))
            elif isinstance(member, cached_property):
                member.func = interruptible(member.func)
        return kind

    return decorate
