"""Numbers of a user as vertices of a `Dag`: checked and translated before a batch is asked.

A fast kernel takes 5 ns a pair, so that reading the numbers once more from memory is a tenth of it.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

PIECE = 1 << 19  #: numbers that are worth a thread


@njit(cache=True, nogil=True)
def within(us: np.ndarray, vs: np.ndarray, count: int) -> np.bool:
    """Whether all numbers of both columns (int32[k] each, contiguous) are in 0..count - 1.

    Each column is read in four places at once: one stream does not use the whole bandwidth of the memory. A negative
    number is a great one without its sign.
    """
    part = us.shape[0] // 4
    a, b, c, d = us[:part], us[part : 2 * part], us[2 * part : 3 * part], us[3 * part : 4 * part]
    e, f, g, h = vs[:part], vs[part : 2 * part], vs[2 * part : 3 * part], vs[3 * part : 4 * part]
    p = q = r = s = np.uint32(0)
    for i in range(part):
        p = max(p, np.uint32(a[i]))
        q = max(q, np.uint32(b[i]))
        r = max(r, np.uint32(c[i]))
        s = max(s, np.uint32(d[i]))
        p = max(p, np.uint32(e[i]))
        q = max(q, np.uint32(f[i]))
        r = max(r, np.uint32(g[i]))
        s = max(s, np.uint32(h[i]))
    for i in range(4 * part, us.shape[0]):
        p = max(p, np.uint32(us[i]), np.uint32(vs[i]))
    return us.shape[0] == 0 or max(p, q, r, s) < np.uint32(count)


@njit(cache=True, nogil=True)
def place(numbers: np.ndarray, first: int, count: int, component: np.ndarray, found: np.ndarray) -> bool | np.bool:
    """Sets found (int32[k]) to the components of numbers (integers of any type, [k]) less `first`; returns whether each
    is in 0..count - 1. component: int32[count], or of length 0 where each vertex is its own."""
    wrong = False
    for i in range(numbers.shape[0]):
        vertex = np.int64(numbers[i]) - first
        wrong |= (vertex < 0) | (vertex >= count)  # type: ignore[assignment]
        found[i] = np.int32(vertex)
    if wrong:
        return False
    if component.shape[0]:
        for i in range(numbers.shape[0]):
            found[i] = component[found[i]]
    return True


def place_at_once(numbers: np.ndarray, first: int, count: int, component: np.ndarray, found: np.ndarray) -> bool:
    """As `place`, on as many cores as the numbers are worth: for an index that then takes a fraction of that time."""
    threads = min(-(-numbers.shape[0] // PIECE), len(os.sched_getaffinity(0)))
    if threads <= 1:
        return bool(place(numbers, first, count, component, found))
    cuts = [numbers.shape[0] * turn // threads for turn in range(threads + 1)]
    parts = [slice(*ends) for ends in zip(cuts[:-1], cuts[1:], strict=True)]
    with ThreadPoolExecutor(threads) as pool:
        return all(pool.map(lambda part: place(numbers[part], first, count, component, found[part]), parts))
