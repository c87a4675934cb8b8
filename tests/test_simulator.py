"""`--simulate` with the simulator of the base install, numba's own, as with that of numba-cuda."""

import pytest
from base_install import base_install
from commands import call_apart, in_python

SHARED = """
from threading import Event
from grailbench import cuda as device
device.simulate()
from grailbench.cuda.gateway import cuda
print(cuda.jit.__module__)
"""


@pytest.fixture(params=["numba", "numba-cuda"])
def simulator(request, tmp_path):
    """Environment of a Python whose simulator is that of this package."""
    if request.param == "numba":
        return base_install(tmp_path)
    pytest.importorskip("numba_cuda")
    return {}


def test_the_base_install_has_numbas_own_simulator_alone(tmp_path):
    code, out = in_python(
        f"{SHARED}import sys, numba.cuda\n"
        "for name in ('numba_cuda', 'pytest', 'networkx', 'pyreachability'):\n"
        "    try: __import__(name)\n"
        "    except ImportError: continue\n"
        "    sys.exit(name)\n"
        "print(numba.cuda.__file__)",
        **base_install(tmp_path),
    )
    assert code == 0, out
    assert "numba_cuda" not in out


def test_answers_are_checked_on_the_base_install(diamond, tmp_path):
    words = ["verify", "--dataset", diamond, "--impl", "gpu-fused", "--dim", "2", "--count", "50", "--simulate"]
    code, out, err = call_apart(*words, **base_install(tmp_path))
    assert (code, err.count("FAILED")) == (0, 0), out + err


def test_cuda_stays_simulated_until_the_last_thread_has_left_a_module(simulator):
    code, out = in_python(
        SHARED + "elsewhere = {'cuda': cuda, 'second_is_in': Event(), 'first_is_out': Event()}\n"
        "exec('''\n"
        "@cuda.jit(device=True)\n"
        "def place():\n"
        "    if cuda.threadIdx.x == 0:\n"
        "        second_is_in.wait()\n"
        "    else:\n"
        "        second_is_in.set()\n"
        "        first_is_out.wait()\n"
        "    return cuda.threadIdx.x\n"
        "''', elsewhere)\n"
        "place, first_is_out = elsewhere['place'], elsewhere['first_is_out']\n"
        "@cuda.jit\n"
        "def fill(out):\n"
        "    thread = place()\n"
        "    out[thread] = thread + 1\n"
        "    first_is_out.set()\n"
        "import numpy as np\n"
        "found = np.zeros(2, np.int32)\n"
        "fill[1, 2](found)\n"
        "print(found.tolist(), cuda is elsewhere['cuda'])",
        **simulator,
    )
    assert code == 0, out
    assert "[1, 2] True" in out


def test_threads_that_ask_at_once_get_one_shared_array(simulator):
    code, out = in_python(
        SHARED + "import numpy as np\n"
        "from numba import int32\n"
        "@cuda.jit\n"
        "def gather(out):\n"
        "    shared = cuda.shared.array(32, int32)\n"
        "    shared[cuda.threadIdx.x] = cuda.threadIdx.x\n"
        "    cuda.syncthreads()\n"
        "    out[cuda.threadIdx.x] = shared[(cuda.threadIdx.x + 1) % 32]\n"
        "found = np.full(32, -1, np.int32)\n"
        "for _ in range(20): gather[1, 32](found)\n"
        "print(found.tolist() == [*range(1, 32), 0])",
        **simulator,
    )
    assert code == 0, out
    assert out.strip().endswith("True")
