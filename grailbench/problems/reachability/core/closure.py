"""The transitive closure of the core as packed bits, upper triangle only.

The core has k vertices in topological order, and columns are counted from 1: the bit of column c of row r is bit c & 63
of word `row_start(r, width) + (c >> 6)`, where width is k // 64 + 1. A row takes part in its own bits. Whoever reads a
bit must compare c > r first, or mask by it: the word of a lesser column belongs to another row, but can always be read.
"""

import numpy as np
from numba import njit

_1, _6, _31, _32, _63 = (np.uint64(each) for each in (1, 6, 31, 32, 63))


def words(core: int) -> int:
    """Returns how many words the closure of a core of that many vertices takes."""
    block, width = core >> 6, core // 64 + 1
    return core * (width - block) + block * (32 * block + 31) + width  # `row_start` of the row after the last, and on


@njit(cache=True, inline="always")
def row_start(row, width):
    """Returns the word from which the words of a row are counted; uint64 in, uint64 out."""
    block = row >> _6
    return row * (width - block) + block * (_32 * block + _31)


@njit(cache=True, nogil=True)
def close(offsets, children, core, place, first, bits):
    """Fills the closure, from the last row back: a row is the union of its children's rows, and its own bit.

    offsets, children: the CSR of the DAG; core int32[k]: its vertices in topological order; place int32[n + 1]: first +
    the number of a vertex of the core; other vertices have places before or behind those. bits: uint64[words(k)], zero.
    """
    k = core.shape[0]
    width = np.uint64(k // 64 + 1)
    for i in range(k - 1, -1, -1):
        u, row, column = core[i], np.uint64(i), np.uint64(i + 1)
        start = row_start(row, width)
        bits[start + (column >> _6)] |= _1 << (column & _63)
        for j in range(offsets[u], offsets[u + 1]):
            at = place[children[j]] - first
            if 0 <= at < k:
                child, column = np.uint64(at), np.uint64(at + 1)
                word = column >> _6
                if (bits[start + word] >> (column & _63)) & _1:
                    continue  # another child reaches this one, and has all its bits
                beyond = row_start(child, width)
                for w in range(word, width):
                    bits[start + w] |= bits[beyond + w]
