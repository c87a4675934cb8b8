"""The door to CUDA: one import, clear errors where it leads nowhere, launches that fit, timers that add up."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from clock import Clock
from commands import in_python

from grailbench.cuda import describe, gateway, launch, timers
from grailbench.cuda.gateway import cuda, require, simulated
from grailbench.errors import GpuFailed, MachineLacks, TooLittleMemory
from grailbench.util import faults

PROGRAMS = {
    "importing the package and recording the environment load no CUDA module": (0,
        "import sys\n"
        "before = set(sys.modules)  # numba-cuda's and the bindings' own start-up files load some\n"
        "import grailbench.cuda, grailbench.harness.limits.ceilings\n"
        "from grailbench.harness.environment import environment; environment()\n"
        "new = {m for m in set(sys.modules) - before if m.split('.')[0] != 'grailbench'}\n"
        "sys.exit(str([m for m in new if 'cuda' in m.lower()] or '') or 0)"),
    "the simulator comes though numba is loaded, and once": (0,
        "import numba\n"
        "from grailbench import cuda as device\n"
        "device.simulate()\n"
        "device.simulate()\n"
        "from grailbench.cuda import gateway\n"
        "gateway.require(); raise SystemExit(0 if gateway.simulated else 'real')"),
    "the real module is loaded before the simulator": (7,
        "from grailbench import cuda as device; import grailbench.cuda.gateway\n"
        "try: device.simulate()\n"
        "except RuntimeError: raise SystemExit(7)"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_loads_cuda_or_the_simulator(name):
    expected, program = PROGRAMS[name]
    code, out = in_python(program)
    assert code == expected, out


@pytest.mark.parametrize(
    ("error", "simulate", "remedy"),
    [
        ("ImportError('NVIDIA CUDA Python bindings not found')", "0", "numba-cuda"),
        ("AttributeError('numpy')", "1", "(pip install numba-cuda)"),
    ],
)
def test_a_front_end_that_does_not_import_is_what_the_machine_lacks(error, simulate, remedy):
    code, out = in_python(
        "import sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'numba.cuda': raise {error}\n"
        "sys.meta_path.insert(0, Block())\n"
        "from grailbench.errors import MachineLacks\n"
        "try: import grailbench.cuda.gateway\n"
        "except MachineLacks as error: print(error); raise SystemExit(error.exit_code)",
        NUMBA_ENABLE_CUDASIM=simulate,
    )
    assert code == 4, out
    assert len(out.strip().splitlines()) == 1
    assert remedy in out


def test_describe_gives_name_front_end_and_memory_of_what_runs_kernels():
    require()
    device = describe.describe()
    assert device.simulated == simulated
    assert device.name
    assert re.match(r"numba(-cuda)? \d", device.front_end)
    assert 0 < device.free_bytes <= device.memory_bytes
    assert device.multiprocessors >= 1


def test_enough_memory_passes_and_too_little_names_purpose_need_and_free():
    describe.require_memory(1 << 10, "a small table")
    told = r"a far too large table needs 1073741824\.00 GiB .* GiB are free on .* \(take a smaller graph"
    with pytest.raises(MachineLacks, match=told):
        describe.require_memory(1 << 60, "a far too large table")


@pytest.mark.gpu
@pytest.mark.skipif(simulated, reason="needs a GPU")
def test_dropped_arrays_count_as_free_on_the_gpu():
    before, _ = describe.memory()
    array = cuda.device_array(1 << 30, np.uint8)
    assert before - describe.memory()[0] >= 1 << 30
    del array
    assert before - describe.memory()[0] < 1 << 29


def test_memory_is_asked_for_after_pending_frees(monkeypatch):
    done = []
    context = SimpleNamespace(
        deallocations=SimpleNamespace(clear=lambda: done.append("streams and events")),
        memory_manager=SimpleNamespace(deallocations=SimpleNamespace(clear=lambda: done.append("arrays"))),
        get_memory_info=lambda: (70 if "arrays" in done else 10, 100),
    )
    monkeypatch.setattr(describe, "simulated", False)
    monkeypatch.setattr(describe, "cuda", SimpleNamespace(current_context=lambda: context))
    assert describe.memory() == (70, 100)
    del context.memory_manager.deallocations
    assert describe.memory() == (70, 100)


def test_a_typed_bundle_has_the_type_of_its_tuple_and_is_none():
    """A tuple is typed anew at every launch, whatever it carries."""
    code, out = in_python(
        "import numpy as np\n"
        "from grailbench.cuda.graphs import Rows\n"
        "from grailbench.cuda.gateway import cuda\n"
        "from grailbench.cuda.launch import typed\n"
        "rows = Rows(*(np.zeros(k, np.int32) for k in (1, 2, 3)))\n"
        "kernel, bundle = cuda.jit(lambda rows: None), typed(rows)\n"
        "assert kernel.typeof_pyval(bundle) == kernel.typeof_pyval(rows) == bundle._numba_type_\n"
        "assert not isinstance(bundle, tuple)\n"
        "assert len(bundle) == 3 and bundle.cards is rows.cards and list(bundle)[2] is rows.edges\n",
        NUMBA_ENABLE_CUDASIM="0",
    )
    assert code == 0, out


@cuda.jit
def relay(values, rounds):
    """Every thread takes its right neighbour's value, round after round: wrong without barriers."""
    grid = cuda.cg.this_grid()
    thread = cuda.grid(1)
    for _ in range(rounds):
        taken = values[(thread + 1) % cuda.gridsize(1)]
        grid.sync()
        values[thread] = taken
        grid.sync()


def test_grid_barrier_orders_every_thread_of_a_cooperative_grid():
    args = cuda.to_device(np.zeros(1, np.int32)), 7
    shape = launch.cooperative_shape(relay, args, threads=256)
    values = np.arange(shape.blocks * shape.threads, dtype=np.int32)
    there = cuda.to_device(values)
    assert launch.launch_cooperative(relay, (there, 7), threads=256) == shape
    assert np.array_equal(there.copy_to_host(), np.roll(values, -7))


@pytest.mark.skipif(not simulated, reason="of the simulator")
def test_simulator_gets_one_block_of_at_most_a_warp():
    assert launch.cooperative_shape(relay, ()) == launch.Shape(1, 32)
    assert launch.cooperative_shape(relay, (), threads=8) == launch.Shape(1, 8)


@pytest.fixture
def big_device(monkeypatch):
    """A device of 132 multiprocessors as `launch` sees it."""
    device = SimpleNamespace(MULTIPROCESSOR_COUNT=132, id=0)
    monkeypatch.setattr(launch, "simulated", False)
    monkeypatch.setattr(launch, "cuda", SimpleNamespace(get_current_device=lambda: device))


def kernel_of(registers):
    """A compiled kernel as numba shows it, on multiprocessors of 65,536 registers and 2,048 threads."""
    compiled = SimpleNamespace(
        regs_per_thread=registers,
        max_threads_per_block=min(1024, 65536 // registers // 32 * 32),
        max_cooperative_grid_blocks=lambda threads: 132 * min(2048 // threads, 65536 // (registers * threads)),
    )
    return SimpleNamespace(compile=lambda types: compiled, typeof_pyval=type, py_func=relay.py_func)


@pytest.mark.parametrize(
    ("registers", "per_multiprocessor", "shape"),
    [
        (32, None, (264, 1024)),
        (32, 1, (132, 1024)),
        (80, None, (132, 512)),
    ],
)
def test_blocks_shrink_to_what_registers_allow(big_device, registers, per_multiprocessor, shape):
    assert launch.cooperative_shape(kernel_of(registers), (1,), 1024, per_multiprocessor) == launch.Shape(*shape)


def test_a_kernel_of_which_no_block_fits_is_said_with_its_registers(big_device):
    with pytest.raises(MachineLacks, match="relay takes 4000 registers"):
        launch.cooperative_shape(kernel_of(4000), ())


Fault = IntEnum(
    "Fault",
    {
        "CUDA_SUCCESS": 0,
        "CUDA_ERROR_OUT_OF_MEMORY": 2,
        "CUDA_ERROR_ILLEGAL_ADDRESS": 700,
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": 701,
        "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": 720,
    },
)


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("OUT_OF_MEMORY", TooLittleMemory, r"no device memory is left to launch kernel relay, 1,056 blocks of 512 thr"),
        ("LAUNCH_OUT_OF_RESOURCES", MachineLacks, r"refuses to launch .* with 232,448 bytes of shared .*GPU\)"),
        ("COOPERATIVE_LAUNCH_TOO_LARGE", MachineLacks, r"LAUNCH_TOO_LARGE \(take another implementation"),
        ("ILLEGAL_ADDRESS", GpuFailed, r"could not launch kernel relay.*, or failed before it: CUDA_ERROR_ILL"),
    ],
)
def test_a_launch_that_the_driver_refuses_says_which_and_what_to_do(fault, kind, says, monkeypatch):
    monkeypatch.setattr(faults, "lost", None)
    monkeypatch.setattr(faults, "when_lost", [])
    with pytest.raises(kind, match=says) as refusal:
        launch.check((Fault[f"CUDA_ERROR_{fault}"],), launch._launching("relay", launch.Shape(1056, 512), 232_448))
    assert type(refusal.value) is kind


@pytest.fixture
def sleep(monkeypatch):
    """What lets time pass: in the simulator the clock that `timers` reads."""
    if not simulated:
        return time.sleep
    clock = Clock()
    monkeypatch.setattr(timers, "perf_counter_ns", clock)
    return clock.sleep


@cuda.jit
def count(cells):
    cells[cuda.grid(1)] += 1


def test_a_span_counts_its_body_and_may_be_used_again(sleep):
    cells = cuda.to_device(np.zeros(64, np.int32))
    span = timers.Span()
    with span:
        count[2, 32](cells)
        sleep(0.1)
        count[2, 32](cells)
    long = span.ms
    with span:
        pass
    assert long >= 95
    assert 0 <= span.ms < long
    assert timers.meaningful != simulated
    assert cells.copy_to_host().tolist() == [2] * 64


class _Code:
    """As the code of a kernel in numba-cuda: loaded at the first launch, with nothing that keeps two threads apart."""

    def __init__(self):
        self.loads, self.loaded = 0, None

    def get_cufunc(self):
        if self.loaded is None:
            time.sleep(0.05)
            self.loads += 1
            self.loaded = object()
        return self.loaded


@pytest.mark.parametrize("mended", [True, False])
def test_threads_that_need_a_kernel_at_once_load_it_once(mended):
    kind = type("Code", (_Code,), {})
    if mended:
        gateway.load_one_at_a_time(kind)
    code, ready = kind(), Barrier(4)

    def ask(_):
        ready.wait()
        return code.get_cufunc()

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(ask, range(4)))
    assert (code.loads == len(found) == 1) == mended
