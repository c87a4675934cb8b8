"""Edge weights of graphs that have none: a pure function of seed and endpoints, whatever the order of the edges."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.hashing import below, draw, stream

MOST = 255
_WEIGHTS = 7  # the stream of a seed


def drawn(offsets: np.ndarray, targets: np.ndarray, seed: int, both_ways: bool) -> np.ndarray:
    """int32[m]: a weight of 1..`MOST` for each edge of the rows (int64[n + 1], int32[m]), uniform.

    Duplicates of an edge weigh the same; with `both_ways` so do an edge and its reverse.
    """
    return _drawn(offsets, targets, stream(seed, _WEIGHTS), both_ways)


@njit(cache=True, nogil=True)
def _drawn(offsets, targets, key, both_ways):
    weights = np.empty(targets.shape[0], np.int32)
    for u in range(offsets.shape[0] - 1):
        for k in range(offsets[u], offsets[u + 1]):
            a, b = np.int64(u), np.int64(targets[k])
            if both_ways and a > b:
                a, b = b, a
            weights[k] = 1 + below(draw(key, (a << 31) | b), MOST)
    return weights
