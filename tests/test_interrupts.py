"""An interruption is exit 130 and a kept run, wherever it is heard; a time limit is a timeout."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from pathlib import Path

import pytest
from commands import NO_GPU, PATIENCE, ROOT, in_python

from grailbench.cli import main
from grailbench.harness import folder as results
from grailbench.harness.folder import finished, read_rows
from grailbench.util import guard
from grailbench.util.guard import TimeLimit, guarded, prompt_interrupts

#: compiled functions that hear a signal while they run, and return what numba makes Python objects of
COMPILED = """
import ctypes, signal, sys, time
import numpy as np
from collections import namedtuple
from numba import njit
from numba.typed import List
from grailbench.util.guard import guarded, prompt_interrupts
send = ctypes.CDLL(None)["raise"]
send.argtypes, send.restype = [ctypes.c_int], ctypes.c_int
wait = ctypes.CDLL(None).usleep
wait.argtypes, wait.restype = [ctypes.c_uint], ctypes.c_int
Pair = namedtuple("Pair", "one other")
pause, number = (int(word) for word in sys.argv[1:])

@njit
def tell():
    if number:
        send(number)
    wait(pause)

@njit
def an_array():
    tell()
    return np.zeros(3)

@njit
def a_tuple():
    tell()
    return np.zeros(3), 3

@njit
def a_named_tuple():
    tell()
    return Pair(np.zeros(3), np.zeros(3))

@njit
def a_number():
    tell()
    return 7

@njit
def an_error():
    tell()
    raise ValueError("after the signal")

WAYS = [an_array, a_tuple, a_named_tuple, a_number, an_error]
for way in WAYS:
    way.compile(())
tell.compile(())
"""

INTERRUPTED = """
for way in WAYS:
    for guard in (guarded, lambda work: work()):
        try:
            with prompt_interrupts(lambda: None):
                done = guard(way)
                time.sleep(guard is not guarded and 30)
                print(way.__name__, done)
        except KeyboardInterrupt:
            print(way.__name__, "interrupted")
"""
LIMITED = """
for way in WAYS:
    print(way.__name__, guarded(way, 0.02).status)
"""


def said_by(program, pause=0, number=0):
    """The lines of a program with the functions of COMPILED, which wait so many microseconds, or send that signal."""
    code, said = in_python(f"import sys; sys.argv[1:] = ['{pause}', '{int(number)}']\n{COMPILED}{program}")
    assert code == 0, said
    return said.splitlines()


@pytest.mark.parametrize(
    ("program", "told", "times"), [(INTERRUPTED, "interrupted", 2), (LIMITED, "timeout", 1)], ids=["signal", "limit"]
)
def test_what_comes_within_compiled_code_is_heard_whatever_is_returned(program, told, times):
    how = {"number": signal.SIGTERM} if told == "interrupted" else {"pause": 300_000}
    ways = ["an_array", "a_tuple", "a_named_tuple", "a_number", "an_error"]
    assert said_by(program, **how) == [f"{way} {told}" for way in ways for _ in range(times)]


#: the same as users of the library meet it: `descendants` hears a signal while a result of two arrays is made
OF_THE_LIBRARY = """
import threading
import grailbench as gb
from grailbench.api import kernels

@njit
def two_arrays():
    tell()
    return np.zeros(3), np.zeros(4)

two_arrays.compile(())
true = kernels.reached
index = gb.build(gb.Graph.from_edges([0, 1], [1, 2]), "sequential")
index.descendants(0)

def heard(way):
    def reached(*given):
        way()
        return true(*given)
    return reached

signal.signal(signal.SIGINT, signal.default_int_handler)
handlers = [signal.getsignal(each) for each in signal.valid_signals()]

class Slow(threading.Timer):
    nested = False

    def start(self):
        if not Slow.nested:
            Slow.nested = True
            try:
                self.come_again(3)
            finally:
                Slow.nested = False
        super().start()

    def come_again(self, deeper):
        self.come_again(deeper - 1) if deeper else signal.raise_signal(signal.SIGINT)

for at, way in enumerate([two_arrays, *WAYS] * 2):
    threading.Timer = Slow if at > len(WAYS) else threading.Timer
    kernels.reached = heard(way)
    try:
        print(way.__name__, index.descendants(0))
    except KeyboardInterrupt:
        print("interrupted")
    assert handlers == [signal.getsignal(each) for each in signal.valid_signals()]
    kernels.reached = true
    print(index.descendants(0).tolist())
"""


def test_an_interrupt_comes_out_of_the_library_whatever_compiled_code_returns():
    """Holds the fault that it killed the process where it came again before the timer that was to repeat it ran."""
    assert said_by(OF_THE_LIBRARY, number=signal.SIGINT) == ["interrupted", "[1, 2]"] * 12


def in_builds(hook, end):
    """Runs builds in a process, at each event of which a function `interrupt` is called that may send a signal, and
    then a program that may use `seen` and `interrupted`; exit code and output."""
    return in_python(f"""
import os, signal, sys, threading
import grailbench as gb
{hook}
seen, interrupted = set(), 0
signal.signal(signal.SIGINT, signal.default_int_handler)
edges = gb.Graph.from_edges([0, 1], [1, 2])
gb.build  # imported now: an interrupt of a plain import is Python's own affair
for turn in range(12):
    try:
        sys.setprofile(interrupt)
        gb.build(edges, ("sequential", "parallel", "core", "sweep")[turn % 4]).reaches_many([0], [2])
    except KeyboardInterrupt:
        interrupted += 1
sys.setprofile(None)
{end}
""")


def test_after_an_interrupt_while_numba_reads_its_registries_kernels_are_still_loaded():
    code, said = in_builds("""
def interrupt(frame, event, argument):  # at each list of functions, once
    if event == "call" and frame.f_code.co_name == "stream_list" and id(frame) not in seen:
        seen.add(id(frame))
        signal.raise_signal(signal.SIGINT)
""", """
print(interrupted > 0, [bool(gb.build(edges, name).reaches(0, 2)) for name in ("core", "parallel", "sequential")])
""")  # fmt: skip
    assert (code, said.split("\n")[0]) == (0, "True [True, True, True]"), said


def test_after_an_interrupt_while_a_pool_starts_a_thread_the_process_ends():
    """The pool did not know the thread, which waited for work for ever, and so did the process at its end."""
    code, said = in_builds("""
def interrupt(frame, event, argument):  # where a thread was just started
    if event == "return" and frame.f_code.co_name == "start" and frame.f_back.f_code.co_name == "_adjust_thread_count":
        seen.add(event)
        signal.raise_signal(signal.SIGINT)
""", """
print(len(seen), interrupted > 0)
""")  # fmt: skip
    assert (code, said) == (0, "1 True\n"), said


def test_an_interrupt_leaves_no_lock_of_a_compiler_locked_frees_nothing_twice_and_is_not_lost_in_an_import():
    code, said = in_builds("""
from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock

PLACES = {("c_return", "acquire", "compiler_lock.py"), ("c_return", "__enter__", "ffi.py"),
          ("call", "__exit__", "compiler_lock.py"), ("call", "__exit__", "ffi.py"), ("return", "__call__", "ffi.py"),
          ("call", "cb", "<frozen importlib._bootstrap>")}

def interrupt(frame, event, argument):  # once where a lock was just locked, is unlocked, or something was just freed
    place = event, frame.f_code.co_name, os.path.basename(frame.f_code.co_filename)
    if place in PLACES and place not in seen and (event != "return" or frame.f_back.f_code.co_name == "close"):
        seen.add(place)
        signal.raise_signal(signal.SIGINT)
""", """
def free(lock):
    return lock.acquire(timeout=20)

unlocked = []
other = threading.Thread(target=lambda: unlocked.extend(map(free, (global_compiler_lock._lock, ffi.lib._lock._lock))))
other.start(), other.join()
print(seen == PLACES or PLACES - seen, interrupted > 0, unlocked)
""")  # fmt: skip
    assert (code, said) == (0, "True True [True, True]\n"), said


def test_whatever_users_call_is_interruptible():
    import grailbench as gb
    from grailbench.api.nx.functions import Backend

    plain = {
        f"{kind.__name__}.{name}"
        for kind in (gb.Graph, gb.Index, Backend)
        for name in vars(kind)
        if not name.startswith("_") and callable(each := getattr(kind, name)) and not hasattr(each, "__wrapped__")
        and each.__module__.startswith("grailbench.")  # NetworkX adds functions to a backend that it has loaded
    }  # fmt: skip
    assert plain == {"Graph.vertex", "Index.reaches", "Index.reaches_vertices", "Backend.has_path",
                     "Backend.should_run", "Backend.convert_to_nx"}  # fmt: skip
    assert all(hasattr(each, "__wrapped__") for each in (gb.build, gb.load))


def of(kind):
    """A function that ends as compiled code has ended on an exception of that kind."""

    def work():
        raise SystemError("CPUDispatcher(...) returned a result with an exception set") from kind()

    return work


def test_what_compiled_code_makes_of_an_exception_has_the_kind_of_its_cause():
    with pytest.raises(SystemError):
        guard.interruptible(of(ValueError))()
    for call in (guard.interruptible(of(KeyboardInterrupt)), lambda: guarded(of(KeyboardInterrupt))):
        with pytest.raises(KeyboardInterrupt):
            call()
    assert guarded(of(TimeLimit)).status == "timeout"
    assert guarded(of(ValueError)).status == "failed"


def test_an_interrupt_that_an_implementation_swallows_still_ends_the_work():
    def swallow():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        except KeyboardInterrupt:
            return "done"

    with pytest.raises(KeyboardInterrupt), prompt_interrupts(lambda: None, leave=False):
        guarded(swallow)
    assert guarded(lambda: 7).value == 7


# ------------------------------------------------------------------ whole commands


@pytest.fixture
def begin(session_cache, tmp_path):
    """Starts `grailbench ARGS` with pipes for its outputs; what is left of it is ended."""
    started = []

    def start(*args):
        env = {**os.environ, **NO_GPU, "GRAILBENCH_CACHE": str(session_cache), "PYTHONPATH": str(ROOT)}
        child = subprocess.Popen(
            [sys.executable, "-m", "grailbench.cli.main", *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=tmp_path,
        )  # fmt: skip
        started.append(child)
        return child

    yield start
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()


def hears(child):
    """Whether a process has come as far as to have a handler of SIGTERM."""
    status = Path(f"/proc/{child.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1


def wait_until(child, what, seconds=PATIENCE):
    ends = time.monotonic() + seconds
    while not what():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.01)


def size(path):
    return path.stat().st_size if path.exists() else 0


@pytest.mark.parametrize("process", ["shared", "own"])
def test_no_signal_at_any_moment_makes_a_failed_row(begin, tmp_path, process):
    """A closure in tenths of a second a trial, interrupted twice: among its trials, and while it is verified or
    earlier."""
    folder, draw = tmp_path / "run", random.Random(process)
    rows, trials = folder / results.ROWS, 100_000
    plan = ["--problem", "closure", "--dataset", "random-tree-12000", "--impl", "condense-bits", "--process", process]
    for turn in range(2):
        where = ["--out", folder] if turn == 0 else [f"--resume={folder}"]
        before = size(rows)
        child = begin("run", *plan, "--trials", trials, "--no-fetch", *where)
        if turn == 0:
            wait_until(child, lambda before=before: size(rows) > before)
        else:  # while it is verified, or even earlier
            wait_until(child, lambda child=child: hears(child))
        time.sleep(draw.uniform(0.0, 0.6 if turn == 0 else 2.0))
        child.send_signal(draw.choice([signal.SIGINT, signal.SIGTERM]))
        out, said = child.communicate(timeout=120)
        assert child.returncode == 130, said
        assert "Traceback" not in said
        assert "interrupted" in said
        assert turn == 1 or f"grailbench run --resume={folder}" in said
    kept, damage = read_rows(folder)
    assert damage == results.Damage()
    assert {(row["status"], row["phase"] is None) for row in kept} == {("ok", False)}
    done = Counter(row["trial"] for row in kept if row["phase"] == "solve")
    assert max(done.values()) == 1
    more = finished(kept)
    assert len(more) == 1


def test_a_command_that_works_for_long_ends_with_130_and_one_line(begin):
    child = begin("verify", "--problem", "closure", "--dataset", "erdos-renyi-20000-0.5", "--impl", "warshall-bits")
    wait_until(child, lambda: hears(child))
    time.sleep(1.0)
    assert child.poll() is None
    child.send_signal(signal.SIGTERM)
    out, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert [line for line in said.splitlines() if line][-1] == "interrupted"
    assert "Traceback" not in said + out


def test_rows_are_json_to_the_end_of_an_interrupted_json_run(begin, tmp_path):
    folder = tmp_path / "run"
    plan = ["--problem", "closure", "--dataset", "random-tree-8000", "--impl", "condense-bits", "--trials", "100000"]
    child = begin("run", *plan, "--json", "--no-fetch", "--out", folder)
    wait_until(child, lambda: size(folder / results.ROWS))
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=120)
    assert child.returncode == 130
    printed, rows = [json.loads(line) for line in out.splitlines()], read_rows(folder)[0]
    assert printed == rows[: len(printed)]
    assert {row["trial"] for row in rows[len(printed) :]} <= {rows[-1]["trial"]}  # what came between disk and stdout


#: a signal comes while LLVM tells Python that it has compiled something, where an exception would be printed and lost
CALLED_BACK = """
import os, signal, time
import llvmlite.binding as llvm
from grailbench.util.guard import prompt_interrupts
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

def tell(module, code):
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(1000))  # Python calls the handler
    print("called")

engine = llvm.create_mcjit_compiler(llvm.parse_assembly("define i32 @one() { ret i32 1 }"),
                                    llvm.Target.from_default_triple().create_target_machine())
engine.set_object_cache(tell)
try:
    with prompt_interrupts(lambda: None):
        engine.finalize_object()
        time.sleep(60)
except KeyboardInterrupt:
    print("heard")
"""


#: a signal comes while an object is destroyed, as one of LLVM's objects, where an exception would be printed and lost
DESTROYED = """
import os, signal, time, weakref
from grailbench.util.guard import prompt_interrupts

def close():
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(1000))  # Python calls the handler
    print("closed")

class Held:
    %s

try:
    with prompt_interrupts(lambda: None):
        held = Held()
        del held
        time.sleep(60)
except KeyboardInterrupt:
    print("heard")
"""


#: a signal comes while Python's garbage collector calls back
COLLECTED = """
import gc, os, signal, time
from grailbench.util.guard import prompt_interrupts

def collected(phase, info):
    if phase == "stop":
        gc.callbacks.clear()
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(1000))  # Python calls the handler
        print("not reached")

signal.signal(signal.SIGINT, signal.%s)
try:
    with prompt_interrupts(lambda: None):
        gc.callbacks.append(collected)
        gc.collect()
        print("collected")
        time.sleep(60)
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.parametrize(("program", "said"), [
    pytest.param(COLLECTED % "default_int_handler", "collected", id="a callback of C runs"),
    pytest.param(COLLECTED % "SIG_IGN", "collected", id="a callback of C runs, and Ctrl-C is ignored"),
    pytest.param(CALLED_BACK, "called", id="LLVM calls back"),
    pytest.param(DESTROYED % "def __del__(self): close()", "closed", id="a destructor runs"),
    pytest.param(DESTROYED % "def __init__(self): weakref.finalize(self, close)", "closed", id="a finalizer runs"),
])  # fmt: skip
def test_a_signal_is_heard_after_what_cannot_raise_when(program, said):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == ([said, "heard"], "")


@pytest.mark.parametrize("late", ["timer", "main thread"])
def test_a_postponed_signal_is_heard_once_whoever_comes_late(monkeypatch, late):
    sent = []
    monkeypatch.setattr(guard, "_postponed", deque([signal.SIGTERM], 1))
    monkeypatch.setattr(guard.signal, "pthread_kill", lambda thread, number: sent.append(number))
    first = [guard._take_postponed()] if late == "timer" else []
    guard._send_again()
    assert [*first, *sent] == [signal.SIGTERM]
    assert guard._take_postponed() is None


def test_another_interrupt_while_the_first_is_told_is_130_too(monkeypatch):
    def interrupted_again(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_run", interrupted_again)
    with pytest.raises(SystemExit) as exit_:
        main.main(["list"])
    assert exit_.value.code == 130


def test_an_interrupt_that_was_told_is_130_for_python_m_too(tmp_path):
    (tmp_path / "told.py").write_text(
        "from grailbench.cli import main\n"
        "def run(argv):\n"
        "    try:\n"
        "        exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt:\n"
        "        return 130\n"
        "main._run = run\n"
        "main.main([])\n"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run([sys.executable, "-m", "told"], env={**os.environ, **NO_GPU, "PYTHONPATH": path})
    assert done.returncode == 130


def test_a_limit_that_passes_before_the_work_begins_stops_its_clock():
    before = signal.getsignal(signal.SIGALRM)
    for _ in range(50):
        assert guarded(lambda: None, 1e-9).status in ("ok", "timeout")
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGALRM) is before
