"""What the levels of a pair's ends tell without a search."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def settle_by_level(levels, sources, targets, answers, first):
    """Answers pairs, bool[q], as far as levels tell: a vertex reaches itself, and none that is not on a greater level;
    the super-root, alone on level 0, reaches every vertex. Returns the places of the other pairs plus `first`, int64.

    levels             int32[n]: every edge leads to a greater level
    sources, targets   int32[q]
    """
    pairs = sources.shape[0]
    left, count = np.empty(pairs, np.int64), 0
    for q in range(pairs):
        top, bottom = levels[sources[q]], levels[targets[q]]
        answers[q] = (sources[q] == targets[q]) | (top == 0)
        left[count] = first + q
        count += (top < bottom) & (top > 0)
    return left[:count]
