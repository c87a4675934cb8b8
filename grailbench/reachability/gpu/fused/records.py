"""The label records of `gpu-fused`, and the hash that chooses parents and the order of siblings.

Importing this module imports CUDA.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.device.gateway import cuda
from grailbench.graph.hashing import draw, stream

TILE = 1024  #: elements per tile of a long row, a power of two
NO_KEY = 2**31 - 1  #: greater than all priorities but one, and than all starts and negated ends
_LOW = np.uint64(0xFFFFFFFF)
_M1, _M2 = np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
_W1, _W2 = (np.uint64(pow(int(m), -1, 2**32)) for m in (_M1, _M2))  # their inverses
_1, _3, _13, _16, _26 = (np.uint64(value) for value in (1, 3, 13, 16, 26))
_TILE, _SPREAD = np.uint64(TILE), np.uint64(167)
# Each is coprime to the length of every row, and they differ modulo small lengths.
STEPS_OF_ROWS = np.array(
    [2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497], np.uint64
)


def record_width(dim: int) -> int:
    """Returns the lanes per record of `dim` pairs: 2 dim + 3, rounded up so that records cross few cache lines."""
    lanes = 2 * dim + 3
    return 1 << (lanes - 1).bit_length() if lanes <= 16 else -(-lanes // 16) * 16


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


def salts(seed: int, pairs) -> np.ndarray:
    """Returns salts below 2**32, uint64[2 d]: for pair i the salt of parents is at 2 i, of siblings at 2 i + 1."""
    key = stream(seed, 0x6675736564)
    return np.array([int(draw(key, 2 * p + i)) >> 32 for p in pairs for i in (0, 1)], np.uint64)


@cuda.jit(device=True)
def mixed(vertex, salt):
    """Returns a bijection of 32 bits (murmur3's finalizer) of vertex ^ salt, as uint64."""
    x = np.uint64(vertex) ^ salt
    x = ((x ^ (x >> _16)) * _M1) & _LOW
    x = ((x ^ (x >> _13)) * _M2) & _LOW
    return x ^ (x >> _16)


@cuda.jit(device=True)
def priority(vertex, salt):
    """Returns the priority of a vertex among possible parents, int32; the least comes first."""
    return np.int32(np.int64(mixed(vertex, salt)) - 2147483648)


@cuda.jit(device=True)
def unmixed(key, salt):
    """Returns the vertex whose priority is `key`, int32."""
    x = np.uint64(np.int64(key) + 2147483648)
    x = ((x ^ (x >> _16)) * _W2) & _LOW
    x = ((x ^ (x >> _13) ^ (x >> _26)) * _W1) & _LOW
    return np.int32((x ^ (x >> _16)) ^ salt)


@cuda.jit(device=True)
def element(position, length, vertex, salt, steps):
    """Returns the element at `position` in the sibling order of the row of `vertex`, which has `length` elements.

    A long row is ordered tile by tile. The order of the tiles is affine, and so is the order in each tile, so that
    elements that are close in memory are read together.
    """
    h = mixed(vertex, salt)
    step, shift = steps[np.int64(h) & 7], h >> _3
    q, n = np.uint64(position), np.uint64(length)  # unsigned, since a signed remainder costs more than the division
    if length < 2 * TILE:
        return np.int64((q * (step % n) + shift % n) % n)
    tiles, tile = n // _TILE, q // _TILE
    if tile == tiles:
        return np.int64(position)
    tile = (tile * (step % tiles) + shift % tiles) % tiles
    within = (q * step + shift + tile * _SPREAD) & (_TILE - _1)
    return np.int64(tile * _TILE + within)


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
