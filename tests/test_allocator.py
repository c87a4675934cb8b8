"""Memory that is kept for later arrays: what takes it, what gives it back; no GPU is needed."""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401

from grailbench.cuda.allocator import Freed, room_for
from grailbench.cuda.device_arrays import Part


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
