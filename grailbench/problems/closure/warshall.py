"""The report's Floyd-Warshall on a matrix of 32-bit integers (Fenz et al. 2022, section 3.1), and Warshall's algorithm
on packed bits, 64 pivots at a time, as in `closure.gpu.warshall`: with tables of the 256 unions of each 8 pivots."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def close_matrix(matrix):
    """Closes int32[n, n] of 0 and 1 in place, by three plain loops as in the report."""
    n = matrix.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                matrix[i, j] |= matrix[i, k] & matrix[k, j]


@njit(cache=True)
def count_matrix(matrix):
    """Returns the number of nonzero entries of int32[n, n] off the diagonal."""
    total = 0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[0]):
            total += i != j and matrix[i, j] != 0
    return total


PIVOTS, _GROUPS, _UNIONS = 64, 8, 256
TILE = 32  #: words of a row that the tables of a tile cover; they take 512 KiB
LEAST = 1024  #: rows per worker from which another worker pays for its synchronization


def close_bits(bits: np.ndarray, workers: int = 1, least: int = LEAST) -> None:
    """Closes uint64[n, words] in place, without a copy of the matrix; vertices on cycles get their diagonal bit.

    Uses at most `workers` threads, each with at least `least` rows. The result does not depend on their number.
    """
    vertices, width = bits.shape
    workers = max(1, min(workers, vertices // least))
    bounds = [vertices * part // workers for part in range(workers + 1)]
    tables = np.empty((-(-width // TILE), _GROUPS, _UNIONS, TILE), np.uint64)
    if workers == 1:
        for step in range(width):
            _tabulate(bits, step, tables)
            _apply(bits, step, 0, vertices, tables)
        return
    with ThreadPoolExecutor(workers) as pool:
        for step in range(width):
            _tabulate(bits, step, tables)
            given = [bits] * workers, [step] * workers, bounds[:-1], bounds[1:], [tables] * workers
            list(pool.map(_apply, *given))


@njit(cache=True, nogil=True)
def _tabulate(bits, step, tables):
    """Fills the tables with the unions of the closed rows of a step's pivots. tables: uint64[tiles, 8, 256, TILE]."""
    n, words = bits.shape
    first = step * PIVOTS
    count = min(PIVOTS, n - first)
    own = np.zeros(PIVOTS, np.uint64)
    panel = np.zeros((PIVOTS, TILE), np.uint64)
    for k in range(count):
        own[k] = bits[first + k, step]
    for p in range(count):
        for k in range(count):
            if (own[k] >> np.uint64(p)) & np.uint64(1):
                own[k] |= own[p]
    for tile in range(tables.shape[0]):
        table, left = tables[tile], tile * TILE
        width = min(TILE, words - left)
        for k in range(count):
            panel[k, :width] = bits[first + k, left : left + width]
        for p in range(count):
            # own is closed, so the old rows that it selects are all that the new row needs.
            for k in range(count):
                if (own[k] >> np.uint64(p)) & np.uint64(1):
                    for w in range(width):
                        panel[k, w] |= panel[p, w]
        for group in range(_GROUPS):
            table[group, 0, :width] = np.uint64(0)
            for k in range(8):
                half = 1 << k
                for entry in range(half):
                    for w in range(width):
                        table[group, half + entry, w] = table[group, entry, w] | panel[group * 8 + k, w]


@njit(cache=True, nogil=True)
def _apply(bits, step, first, last, tables):
    """Ors into each row u, first <= u < last, the pivots' rows that are set in its word `step`."""
    byte = np.uint64(255)
    words = bits.shape[1]
    for tile in range(tables.shape[0]):
        table, left = tables[tile], tile * TILE
        width = min(TILE, words - left)
        for u in range(first, last):
            # This word grows while its own tile is processed; the tables already hold the rows that it gains.
            chosen = bits[u, step]
            if chosen == 0:
                continue
            a, b = table[0, np.int64(chosen & byte)], table[1, np.int64((chosen >> np.uint64(8)) & byte)]
            c = table[2, np.int64((chosen >> np.uint64(16)) & byte)]
            d = table[3, np.int64((chosen >> np.uint64(24)) & byte)]
            e = table[4, np.int64((chosen >> np.uint64(32)) & byte)]
            f = table[5, np.int64((chosen >> np.uint64(40)) & byte)]
            g = table[6, np.int64((chosen >> np.uint64(48)) & byte)]
            h = table[7, np.int64(chosen >> np.uint64(56))]
            row = bits[u, left : left + width]
            for w in range(width):
                row[w] |= (a[w] | b[w]) | (c[w] | d[w]) | ((e[w] | f[w]) | (g[w] | h[w]))
