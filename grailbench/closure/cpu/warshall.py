"""Warshall's algorithm on packed bits, 64 pivots at a time, with tables of unions (the method of the four Russians).

Step K closes the paths whose inner vertices lie among the 64 pivots K, as in `closure.gpu.warshall`: the pivots' own
rows are closed first, then every row u is or'ed with those of them that its word K names, read from tables of the 256
unions of each 8 pivots (Arlazarov, Dinic, Kronrod and Faradzev, 1970). n^3 / 512 word operations for n^3 of
Floyd-Warshall. The tables are made by one thread; then workers take runs of rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

PIVOTS, _GROUPS, _UNIONS = 64, 8, 256
TILE = 32  #: words of a row that a tile's tables span: 512 KiB of them
LEAST = 1024  #: rows that a worker must have to be worth its meetings with the others


def close(bits: np.ndarray, workers: int = 1, least: int = LEAST) -> None:
    """Close uint64[n, words] in place; vertices on cycles get their diagonal bit. Makes no copy of the matrix.

    At most `workers` threads, each with at least `least` rows; the outcome is the same for any number of them.
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
    """The unions of the closed rows of the pivots of a step, for all tiles. tables: uint64[tiles, 8, 256, TILE]."""
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
            # own is closed, so what it names of the panel's old rows is all that the new row needs.
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
    """Or into rows first <= u < last what their words `step` name."""
    byte = np.uint64(255)
    words = bits.shape[1]
    for tile in range(tables.shape[0]):
        table, left = tables[tile], tile * TILE
        width = min(TILE, words - left)
        for u in range(first, last):
            # In its own tile this word grows; what it names more is in the tables' rows already.
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
