"""How kernels take arrays: the words of each argument."""

import ctypes
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401

from grailbench.cuda import device_arrays, launch


class Pair(NamedTuple):
    """Arguments that travel together."""

    one: object
    other: object


@pytest.fixture(autouse=True)
def as_on_a_device(monkeypatch):
    for module in (launch, device_arrays):
        monkeypatch.setattr(module, "simulated", False)


def a_part(address, shape, dtype=np.int32):
    return device_arrays.Part(None, address, shape, np.dtype(dtype))


def packed(*args):
    cells = []
    launch._pack(args, cells)
    return cells


def test_words_of_arrays_and_numbers():
    table, none = a_part(64, (6, 4), np.int64), a_part(96, (0,))
    found = packed(table, Pair(a_part(32, (5,)), -1), none, True, np.int32(7))
    rest = [2**64 - 1], [1, 7]
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
def test_a_part_is_packed_as_an_array_of_numba_is(shape):
    part, array = a_part(4096, shape), np.empty(shape, np.int32)
    assert part.strides == array.strides
    assert packed(as_numbas(array, 4096)) == packed(part)


def test_arrays_with_gaps_are_left_to_numba():
    with pytest.raises(launch._Unknown):
        packed(as_numbas(np.empty((3, 5), np.int32)[:, 1:], 4096))


def test_a_launch_that_takes_another_array_has_the_words_that_a_new_one_would_have():
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
