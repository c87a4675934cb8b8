"""The label records of `gpu-fused`, and the order of siblings.

Importing this module imports CUDA.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.cuda.gateway import cuda, of_cpu
from grailbench.cuda.primitives import mixed
from grailbench.problems.reachability.gpu.fused import host
from grailbench.problems.reachability.gpu.fused.host import record_width

NO_KEY = 2**31 - 1  #: greater than all priorities but one, and than all starts and negated ends
_nth = of_cpu(host.nth)


class Records(NamedTuple):
    """The labels of a graph on the device, with vertices numbered by level (`graph.leveled`): the super-root is 0.

    lanes  int32[n * width]: one record per vertex: s_0, -e_0, ..., s_(d-1), -e_(d-1), level, t, -r, zeros. [t, r] is
    the
           interval of its subtree in the tree of pair 0, r its own rank there: u reaches v if t(u) <= r(v) <= r(u)
    width  uint64: lanes per record
    pairs  a tuple of d zeros: the compiler knows its length, and unrolls loops over pairs
    hubs   uint64[2 n]: F(v) at 2 v, B(v) at 2 v + 1 (`reachability.hubs`); a single word if that filter is off
    """

    lanes: object
    width: np.uint64
    pairs: tuple[int, ...]
    hubs: object


def records_of(lanes, dim: int, hubs) -> Records:
    """Returns the records of `dim` label pairs in device arrays; hubs: 8-byte words of any type."""
    return Records(lanes, np.uint64(record_width(dim)), (0,) * dim, hubs.view(np.uint64))


@cuda.jit(device=True)
def element(position, length, vertex, salt, steps):
    """Returns the element at `position` in the sibling order of the row of `vertex`, which has `length` elements."""
    h = mixed(vertex, salt)
    return _nth(position, length, h, steps[np.int64(h) & 7])


@cuda.jit(device=True)
def low_half(two):
    """Returns the lower int32 of an int64."""
    return np.int32(((two & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000)


@cuda.jit(device=True)
def high_half(two):
    """Returns the upper int32 of an int64."""
    return np.int32(two >> 32)


@cuda.jit(device=True)
def joined_halves(low, high):
    """Returns the int64 of two int32."""
    return (np.int64(high) << 32) | (np.int64(low) & 0xFFFFFFFF)
