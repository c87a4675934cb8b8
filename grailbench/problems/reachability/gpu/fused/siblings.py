"""The order of siblings in a tree of `gpu-fused`, on the CPU and, by `cuda.gateway.of_cpu`, in kernels."""

from __future__ import annotations

import numpy as np
from numba import njit

TILE = 1024  #: elements per tile of a long row, a power of two
_1, _3 = np.uint64(1), np.uint64(3)
_TILE, _SPREAD = np.uint64(TILE), np.uint64(167)
# Each is coprime to the length of every row, and they differ modulo small lengths.
STEPS_OF_ROWS = np.array(
    [2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497], np.uint64
)


@njit(cache=True, inline="always")
def nth(position, length, h, step):
    """Returns the element at `position` in the order of a row of `length` elements, int64.

    h: `graph.hashing.mixed` of the vertex of the row; step: number h & 7 of `STEPS_OF_ROWS`. A long row is ordered tile
    by tile. The order of the tiles is affine, and so is the order in each tile, so that elements that are close in
    memory are read together.
    """
    shift = h >> _3
    q, n = np.uint64(position), np.uint64(length)  # unsigned, since a signed remainder costs more than the division
    if n < _TILE + _TILE:
        at = (q * (step % n) + shift % n) % n
    else:
        tiles, tile = n // _TILE, q // _TILE
        at = q
        if tile != tiles:
            tile = (tile * (step % tiles) + shift % tiles) % tiles
            at = tile * _TILE + ((q * step + shift + tile * _SPREAD) & (_TILE - _1))
    return np.int64(at)
