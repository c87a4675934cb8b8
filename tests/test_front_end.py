"""What compiles kernels: which package is chosen, what is said where it is missing, and how kernels take arrays."""

import ctypes
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from commands import in_python

from grailbench.cuda import device_arrays, installed, launch
from grailbench.cuda.installed import MLIR, NUMBA_CUDA
from grailbench.errors import InputError
from grailbench.harness import environment


@pytest.mark.parametrize(
    ("named", "simulating", "expected"),
    [
        (None, "", NUMBA_CUDA),
        ("", "", NUMBA_CUDA),
        (MLIR, "", MLIR),
        (NUMBA_CUDA, "", NUMBA_CUDA),
        (MLIR, "1", NUMBA_CUDA),
    ],
)
def test_the_variable_chooses_and_the_simulator_is_numba_cudas(named, simulating, expected, monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", simulating)
    if named is None:
        monkeypatch.delenv("GRAILBENCH_CUDA", raising=False)
    else:
        monkeypatch.setenv("GRAILBENCH_CUDA", named)
    assert installed.chosen_compiler() == expected


def test_a_name_of_neither_is_bad_input(monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "")
    monkeypatch.setenv("GRAILBENCH_CUDA", "cuda")
    with pytest.raises(InputError, match=r"GRAILBENCH_CUDA is cuda \(numba-cuda or numba-cuda-mlir\)"):
        installed.chosen_compiler()


@pytest.mark.parametrize(
    ("named", "module", "extra"), [(MLIR, "numba_cuda_mlir", "gpu-mlir"), (NUMBA_CUDA, "numba_cuda", "gpu")]
)
def test_a_chosen_package_that_is_not_installed_is_what_the_machine_lacks(named, module, extra):
    code, out = in_python(
        f"import sys; sys.modules[{module!r}] = None\n"
        "from grailbench.errors import MachineLacks\n"
        "try: import grailbench.cuda.gateway\n"
        "except MachineLacks as error: print(error); raise SystemExit(error.exit_code)",
        NUMBA_ENABLE_CUDASIM="",
        GRAILBENCH_CUDA=named,
    )
    assert code == 4, out
    assert len(out.strip().splitlines()) == 1
    assert module in out
    assert f"grailbench[{extra}]" in out


def test_simulate_is_not_asked_what_compiles_kernels():
    code, out = in_python(
        "from grailbench import cuda as device; device.simulate()\n"
        "from grailbench.cuda import gateway\n"
        "gateway.require(); raise SystemExit(0 if gateway.simulated and not gateway.mlir else 'real')",
        NUMBA_ENABLE_CUDASIM="",
        GRAILBENCH_CUDA=MLIR,
    )
    assert code == 0, out


def test_the_environment_names_what_compiles_kernels_and_not_the_other(monkeypatch):
    recorded = []
    for name, other in ((NUMBA_CUDA, MLIR), (MLIR, NUMBA_CUDA)):
        monkeypatch.setattr(environment, "version", "9.{}".format)
        monkeypatch.setattr(environment, "chosen_compiler", lambda name=name: name)
        found = environment.packages.__wrapped__()
        assert found[name] == f"9.{name}"
        assert other not in found
        recorded.append(environment.fingerprint({"packages": found}))
    assert recorded[0] != recorded[1]


# ------------------------------------------------------------------ words of arrays


class Pair(NamedTuple):
    """Arguments that travel together."""

    one: object
    other: object


@pytest.fixture(params=[NUMBA_CUDA, MLIR])
def layout(request, monkeypatch):
    """Packs as one of the two does, without a device."""
    words = installed.words_of_mlir if request.param == MLIR else installed.words_of_numba_cuda
    monkeypatch.setattr(launch, "mlir", request.param == MLIR)
    for module in (launch, device_arrays):
        monkeypatch.setattr(module, "array_words", words)
        monkeypatch.setattr(module, "simulated", False)
    return request.param


def a_part(address, shape, dtype=np.int32):
    return device_arrays.Part(None, address, shape, np.dtype(dtype))


def packed(*args):
    cells = []
    launch._pack(args, cells)
    return cells


def test_words_of_arrays_and_numbers(layout):
    table, none = a_part(64, (6, 4), np.int64), a_part(96, (0,))
    found = packed(table, Pair(a_part(32, (5,)), -1), none, True, np.int32(7))
    rest = [2**64 - 1], [1, 7]
    if layout == MLIR:
        arrays = [64, 64, 0, 6, 4, 4, 1], [32, 32, 0, 5, 1], [0, 0, 0, 0, 1]
    else:
        arrays = [0, 0, 24, 8, 64, 6, 4, 32, 8], [0, 0, 5, 4, 32, 5, 4], [0, 0, 0, 4, 0, 0, 4]
    assert found == [*arrays[0], *arrays[1], *rest[0], *arrays[2], *rest[1]]
    keys = [
        launch._pack((a_part(64, shape, kind), 7), []) for shape, kind in (((3,), "i4"), ((5,), "i4"), ((3,), "i8"))
    ]
    assert keys[0] == keys[1] != keys[2]
    with pytest.raises(launch._Unknown):
        packed(1.5)


def as_numbas(array, address):
    """What `launch` reads of a device array of numba."""
    found = {name: getattr(array, name) for name in ("shape", "strides", "dtype", "size", "ndim")}
    return SimpleNamespace(**found, device_ctypes_pointer=ctypes.c_size_t(address))


@pytest.mark.parametrize("shape", [(7,), (3, 5)])
def test_a_part_is_packed_as_an_array_of_numba_is(layout, shape):
    part, array = a_part(4096, shape), np.empty(shape, np.int32)
    assert part.strides == array.strides
    assert packed(as_numbas(array, 4096)) == packed(part)


def test_arrays_with_gaps_are_left_to_numba_and_empty_ones_have_none_for_its_successor(layout):
    with pytest.raises(launch._Unknown):
        packed(as_numbas(np.empty((3, 5), np.int32)[:, 1:], 4096))
    if layout == MLIR:
        assert packed(as_numbas(np.empty(0, np.int32), 4096)) == packed(a_part(4096, (0,)))


def test_a_launch_that_takes_another_array_has_the_words_that_a_new_one_would_have(layout):
    first, table, fixed = a_part(64, (5,)), a_part(128, (2, 3)), a_part(32, (4,))
    moving = [launch.Moving(first), launch.Moving(table)]
    args = Pair(moving[0], fixed), moving[1], 3, moving[0]
    prepared = launch.Prepared.__new__(launch.Prepared)
    cells = packed(*launch._resolved(args))
    prepared._cells = (ctypes.c_uint64 * len(cells))(*cells)
    prepared._find(args, moving)
    to = a_part(640, (9,)), a_part(0, (0, 3))
    prepared.move(launch.moved(moving, to))
    assert list(prepared._cells) == packed(Pair(to[0], fixed), to[1], 3, to[0])
