"""A GPU that fails midway: what is said, what is let go, what goes on. Failures are injected in the simulator."""

import gc
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from enum import IntEnum
from itertools import cycle
from types import SimpleNamespace

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401 - before any CUDA code
from commands import call
from exhaust import CudaAPIError
from watchers import Silent

import grailbench as gb
from grailbench.cuda import allocator, device_arrays, gateway, launch
from grailbench.cuda.edges import library, staging
from grailbench.errors import CheckFailed, GpuFailed, MachineLacks, TooLittleMemory
from grailbench.harness import peaks
from grailbench.harness.plan import Config, make_plan
from grailbench.harness.runner import run
from grailbench.problems import contract
from grailbench.problems.reachability.gpu.fused import batch
from grailbench.problems.reachability.gpu.fused import index as fused
from grailbench.util import faults, guard

pytestmark = pytest.mark.skipif(not gateway.simulated, reason="a real GPU is not to be lost")
EDGES = [0, 1, 2, 2, 4, 6, 5, 5, 3], [1, 2, 0, 3, 3, 6, 4, 4, 7]
US, VS = np.divmod(np.arange(64), 8)


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""

    def __init__(self, status):
        self.status = status
        super().__init__("cudaErrorLaunchFailure: unspecified launch failure")


Code = IntEnum("Code", {"CUDA_ERROR_INVALID_VALUE": 1, "CUDA_ERROR_OUT_OF_MEMORY": 2, "CUDA_ERROR_LAUNCH_FAILED": 719})
LOST = "it is lost to this process, and all that was there is gone (start again, or take another implementation"


@pytest.fixture(autouse=True)
def usable(monkeypatch):
    """A process that has not lost its GPU, and will not have."""
    monkeypatch.setattr(faults, "lost", None)
    monkeypatch.setattr(faults, "when_lost", [])


def lost_midway():
    raise CudaAPIError(719, "Call to cuCtxSynchronize results in CUDA_ERROR_LAUNCH_FAILED")


# ------------------------------------------------------------------ what is said


@pytest.mark.parametrize(
    ("error", "kind", "says", "loses"),
    [
        (CudaAPIError(719, "Call to cuCtxSynchronize results in LAUNCH_FAILED"), GpuFailed, LOST, True),
        (CUDARuntimeError(700), GpuFailed, f"cudaErrorLaunchFailure: unspecified launch failure; {LOST}", True),
        (CudaAPIError(1, "Call to cuMemAlloc\nresults in INVALID"), GpuFailed, "cuMemAlloc (take another", False),
        (CudaAPIError(2, "Call to cuMemHostAlloc results in OUT_OF_MEMORY"), TooLittleMemory, "take a smaller", False),
        (ValueError("no error of a driver"), None, "", False),
    ],
)
def test_errors_of_numba_and_cupy_are_one_line_and_say_what_to_do(error, kind, says, loses):
    found = faults.explained(error)
    assert (type(found) is kind) or (found is kind)
    assert found is None or (says in str(found) and "\n" not in str(found) and found.exit_code == 4)
    assert (faults.lost is not None) == loses


def test_nothing_is_tried_in_a_process_that_lost_its_gpu():
    told = []
    faults.when_lost.append(lambda: told.append(faults.lost))
    gateway.require()
    for _ in range(2):
        outcome = guard.guarded(lost_midway)
        assert outcome.status == "failed"
        assert LOST in outcome.reason
        assert "lost_midway" in outcome.trace
    assert told == ["[719] Call to cuCtxSynchronize results in CUDA_ERROR_LAUNCH_FAILED"]
    with pytest.raises(MachineLacks, match=r"not tried: the GPU was lost .*LAUNCH_FAILED; start again, a run with"):
        gateway.require()
    assert guard.guarded(gateway.require).status == "skipped"


def test_a_command_says_it_in_one_line_with_exit_code_4(monkeypatch, capsys):
    monkeypatch.setattr(fused.Fused, "build", lambda *args: lost_midway())
    code, out, err = call(capsys, "ask", "path-4", "0", "3", "--impl", "gpu-fused")
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert err.startswith("error: the GPU failed: [719]")
    assert LOST in err


def test_a_run_keeps_what_was_finished_and_goes_on_without_the_gpu(toys, diamond, tmp_path, monkeypatch):
    built = []

    def failing(cls, dag, params, timer):
        gateway.require()
        built.append(cls.name)
        if built.count(cls.name) == 4:  # the verified pass, the warm-up, and a trial are done
            lost_midway()
        return right(dag, params, timer)

    classes = contract.implementations()
    right = classes["toy:right"].build
    for name in ("toy:first", "toy:second"):
        body = {"name": name, "source": "tests", "build": classmethod(failing), "__module__": "toys"}
        monkeypatch.setitem(contract._registry["reachability"], name, type(name[4:], (fused.Implementation,), body))
    names = ["toy:right", "toy:first", "toy:second"]
    block = {"datasets": [diamond], "implementations": names, "count": 50, "trials": 4, "warmup": 1}
    plan = make_plan(Config.model_validate({"experiment": [block]}))
    done = run(plan, Silent(), fetch=False, out=tmp_path / "run")
    status = {row["impl"]: (row["status"], row["reason"]) for row in done.rows if row["phase"] is None}
    trials = {name: {row["trial"] for row in done.rows if row["impl"] == name and row["phase"]} for name in names}
    ((failed, why),) = [each for each in status.values() if each[0] == "failed"]
    ((skipped, because),) = [each for each in status.values() if each[0] == "skipped"]
    assert LOST in why
    assert because.startswith("not tried: the GPU was lost to this process before")
    assert len(trials["toy:right"]) == 4
    assert {len(trials["toy:first"]), len(trials["toy:second"])} <= {1, 2}
    with pytest.raises(CheckFailed, match="1 failed"):
        done.check()


# ------------------------------------------------------------------ what is let go


class Watched:
    """Counts what an index asks of the device (launches, memory, copies), fails at one of them if told so, and knows
    every array that was made."""

    def __init__(self, monkeypatch):
        self.steps, self.fails_at, self.kinds, self.made = 0, None, cycle((self.memory, self.refused, lost_midway)), []
        for module, name in (
            (library, "empty"), (library, "full"), (library, "sums"), (library, "launch"), (device_arrays, "allocate"),
            (device_arrays, "copied"), (gateway.cuda, "device_array"), (gateway.cuda, "to_device"),
            (gateway.cuda, "pinned_array"), (batch, "launch_cooperative"), (staging, "to_device"),
        ):  # fmt: skip
            monkeypatch.setattr(module, name, self.counted(getattr(module, name)))
        real = launch.Prepared.__init__

        def init(prepared, *args, **kwargs):
            real(prepared, *args, **kwargs)
            prepared.launch = self.counted(prepared.launch)

        monkeypatch.setattr(launch.Prepared, "__init__", init)

    def counted(self, real):
        def step(*args, **kwargs):
            self.steps += 1
            mine = self.steps
            made = real(*args, **kwargs)
            for array in made if isinstance(made, list | tuple) else [made]:
                if array is not None and not isinstance(array, launch.Shape):
                    self.made.append(weakref.ref(array))
            if mine == self.fails_at:
                next(self.kinds)()
            return made

        return step

    def memory(self):
        launch.check((Code.CUDA_ERROR_OUT_OF_MEMORY,), "take memory")

    def refused(self):
        launch.check((Code.CUDA_ERROR_INVALID_VALUE,), "launch kernel k")

    def failing(self, step, work):
        """Has `work` fail at that step, and returns the error, which is kept."""
        self.steps, self.fails_at = 0, step
        try:
            with pytest.raises(gb.MachineLacks, match=r"^[^\n]*\((take|start again)[^\n]*$") as told:
                work()
        finally:
            self.fails_at = faults.lost = None
        assert told.value.exit_code == 4
        return told.value

    def held(self):
        """Shapes of arrays that something still holds."""
        for last in (False, True):
            left = [array().shape for array in self.made if array() is not None]
            if not left or last:
                return left
            gc.collect()


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(fused, "FEWEST", 0)
    return Watched(monkeypatch)


def build():
    return gb.build(gb.Graph.from_edges(*EDGES), "gpu-fused", d=1)


def let_go_of_spares():
    gc.collect()
    for drop in allocator.drops:
        drop()


def right():
    return gb.build(gb.Graph.from_edges(*EDGES), "dfs").reaches_many(US, VS)


def test_a_build_that_fails_at_a_step_lets_go_of_all_it_made(watched):
    let_go_of_spares()
    build()
    steps = watched.steps
    assert steps > 40
    for step in range(1, steps + 1, 4):
        let_go_of_spares()
        error = watched.failing(step, build)
        assert watched.held() == [], (step, error)
    assert len(watched.made) > steps
    assert np.array_equal(build().reaches_many(US, VS), right())


def test_a_query_that_fails_leaves_an_index_that_answers_and_that_can_be_dropped(watched, monkeypatch):
    monkeypatch.setattr(batch, "SIMULATED", batch.SearchSizes(1, 1, 16, 1, 1, 32, 1, 0))  # much is swept
    monkeypatch.setattr(fused.Fused, "condenses", classmethod(lambda *args: True))
    index, wanted = build(), right()
    watched.steps = 0
    assert np.array_equal(index.reaches_many(US, VS), wanted)
    steps = watched.steps
    assert steps > 8
    for step in range(1, steps + 1, 2):
        let_go_of_spares()
        index = build()
        watched.failing(step, lambda index=index: index.reaches_many(US, VS))
        assert np.array_equal(index.reaches_many(US, VS), wanted), step
    del index
    let_go_of_spares()
    assert watched.held() == []


def test_no_thread_writes_to_the_device_when_edges_that_failed_to_travel_are_let_go(monkeypatch):
    ended, begun = threading.Event(), threading.Event()

    class Failing:
        def carry(self, columns, places, size, turns):
            begun.wait(60)
            raise GpuFailed("at once")

    class Slow:
        def carry(self, columns, places, size, turns):
            begun.set()
            ended.wait(0.2)
            ended.set()

    lanes = ThreadPoolExecutor(2), [Failing(), Slow()]
    monkeypatch.setattr(staging, "simulated", False)
    monkeypatch.setattr(
        staging, "cuda", SimpleNamespace(synchronize=int, get_current_device=lambda: SimpleNamespace(id=0))
    )
    monkeypatch.setattr(staging, "_lanes", lambda device: lanes)
    monkeypatch.setattr(staging, "PIECE", 4)
    monkeypatch.setattr(staging.library, "empty", lambda size, dtype: SimpleNamespace(data=SimpleNamespace(ptr=0)))
    with pytest.raises(GpuFailed, match="at once"):
        staging.to_device(np.zeros(9, np.int32))
    assert ended.is_set()
    lanes[0].shutdown()


def test_memory_that_c_code_did_not_get_is_one_line_and_nothing_is_reported(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    library._listen.cache_clear()

    def refused():
        raise TooLittleMemory("no memory is left (take a smaller graph)")

    monkeypatch.setattr(library.describe, "take_memory", lambda size: refused())
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace())

    def sort(of_cpp):
        with library._refusals(nullcontext()):
            try:
                library._taken(9)
            except TooLittleMemory as error:
                if not of_cpp:
                    raise
                sys.unraisablehook(SimpleNamespace(exc_value=error))
                raise MemoryError("std::bad_alloc") from None

    for of_cpp in (True, False):
        with pytest.raises(TooLittleMemory, match="no memory is left"):
            sort(of_cpp)
        assert library._refused.error is None
    assert told == []
    other = SimpleNamespace(exc_value=ValueError("of others"))
    sys.unraisablehook(other)
    assert told == [other]
    with pytest.raises(MemoryError, match="of the host"), library._refusals(nullcontext()):
        raise MemoryError("of the host")
    library._listen.cache_clear()


class Driver:
    """Of a process that lost its GPU: every call fails."""

    def __getattr__(self, name):
        def called(*args):
            raise CudaAPIError(719, name)

        return called


def test_a_process_that_lost_its_gpu_gives_nothing_back_to_the_driver(monkeypatch):
    pending = SimpleNamespace(disable=lambda: SimpleNamespace(__enter__=lambda: quiet.append(1)), clear=lambda: None)
    quiet, detached = [], []

    class Manager:
        def __init__(self, context):
            self.context, self.deallocations, self.allocations = context, pending, {}

    def pointer(context, at, size, finalizer):
        return SimpleNamespace(own=lambda: finalizer)

    code = SimpleNamespace(_finalizer=SimpleNamespace(detach=lambda: detached.append(1)))
    driver = Driver()
    module = SimpleNamespace(NumbaCUDAMemoryManager=Manager, driver=driver, AutoFreePointer=pointer,
                             CudaAPIError=CudaAPIError)  # fmt: skip
    made = []
    monkeypatch.setattr(allocator, "managers", made)
    monkeypatch.setattr(gateway.cuda, "cudadrv", SimpleNamespace(driver=module), raising=False)
    cuda = SimpleNamespace(cudadrv=SimpleNamespace(driver=module), set_memory_manager=lambda cls: made.append(cls))
    allocator.install(cuda)
    cls = made.pop()

    class Context:
        modules, deallocations = {1: code}, pending

    manager = cls(Context())
    assert made == [manager]
    manager._from_driver = lambda room, size: 64
    drop = manager.memalloc(1000)
    manager._pinned.give(128, allocator.MOST_PINNED)
    faults.failed(719, "LAUNCH_FAILED")
    assert (len(quiet), len(detached)) == (2, 1)
    drop()
    manager._pinned.give(256, 512)  # beyond what is kept
    peaks.restart()
    peaks.release()
    assert (manager.in_use(), manager.reserved()) == (0, 0)
