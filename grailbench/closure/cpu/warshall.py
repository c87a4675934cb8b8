"""Warshall's algorithm on packed bits, 64 pivots at a time, with tables of unions (the method of the four Russians).

Step K closes the paths whose inner vertices lie among the 64 pivots K, as in `closure.gpu.warshall`: the pivots'
own rows are closed first, then every row u is or'ed with those of them that its word K names, read from tables of
the 256 unions of each 8 pivots (Arlazarov, Dinic, Kronrod and Faradzev, 1970). n^3 / 512 word operations for n^3 of
Floyd-Warshall.

Workers own columns. What one reads of another's words lies between the value before the step and the one after it, and
either gives the same rows, so workers meet once a step and the outcome is the same for any number of them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

PIVOTS, _GROUPS, _UNIONS = 64, 8, 256
TILE = 32  #: words of a row that the tables span: 512 KiB of them


def close(bits: np.ndarray, workers: int = 1) -> None:
    """Close uint64[n, words] in place; vertices on cycles get their diagonal bit. Makes no copy of the matrix."""
    vertices, width = bits.shape
    workers = max(1, min(workers, width))
    bounds = [width * part // workers for part in range(workers + 1)]
    tables = [np.empty((_GROUPS, _UNIONS, TILE), np.uint64) for _ in range(workers)]

    def step(part: int, pivot: int) -> None:
        _step(bits, pivot, bounds[part], bounds[part + 1], tables[part])

    if workers == 1:
        for pivot in range(width):
            step(0, pivot)
        return
    with ThreadPoolExecutor(workers) as pool:
        for pivot in range(width):
            list(pool.map(step, range(workers), [pivot] * workers))


@njit(cache=True, nogil=True)
def _step(bits, step, first_word, last_word, table):
    """Step `step` for the words first_word <= w < last_word of every row. table: uint64[8, 256, TILE], scratch."""
    n = bits.shape[0]
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
    for left in range(first_word, last_word, TILE):
        width = min(TILE, last_word - left)
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
        _apply(bits, step, left, width, table)


@njit(cache=True, nogil=True)
def _apply(bits, step, left, width, table):
    byte = np.uint64(255)
    for u in range(bits.shape[0]):
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
