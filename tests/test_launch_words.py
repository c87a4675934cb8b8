"""How kernels take arrays, the words of each argument; memory that is kept for later arrays. No GPU is needed."""

import ctypes
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401

from grailbench.cuda import device_arrays, launch
from grailbench.cuda.allocator import Freed, room_for
from grailbench.cuda.device_arrays import Part


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


@pytest.mark.parametrize("size", [1, 511, 512, 513, 1 << 20, (1 << 20) + 1, 3 << 20, 10**9 + 7, 2**36 + 1])
def test_an_array_gets_little_more_than_it_asks_for(size):
    room = room_for(size)
    assert size <= room <= max(512, 2 * size)
    assert room_for(room) == room
    if size > 1 << 20:
        assert room <= size + size // 16 + 1


def test_memory_is_kept_by_size_and_given_back_at_once():
    given_back = []
    kept = Freed(given_back.append)
    kept.give("a", 512)
    kept.give("b", 1024)
    assert (kept.bytes, kept.take(2048), kept.take(512), kept.take(512)) == (1536, None, "a", None)
    kept.give("c", 1024)
    kept.flush()
    assert (sorted(given_back), kept.bytes, kept.take(1024)) == (["b", "c"], 0, None)


def test_no_more_than_the_most_is_kept():
    given_back = []
    kept = Freed(given_back.append, 1000)
    kept.give("a", 600)
    kept.give("b", 600)
    assert (given_back, kept.bytes) == (["b"], 600)


def test_a_part_is_an_array_at_an_address():
    part = Part(None, 4096, (6, 4), np.dtype(np.int32))
    assert (part.size, part.nbytes, part.strides, part.ndim) == (24, 96, (16, 4), 2)
    row = part.view(np.int64)
    assert (row.shape, row.dtype) == ((12,), np.int64)
    piece = row[2:5]
    assert (piece.device_ctypes_pointer.value, piece.shape, row[9:99].shape) == (4112, (3,), (3,))
    assert part.__cuda_array_interface__ == {"shape": (6, 4), "typestr": "<i4", "data": (4096, False), "version": 3}
