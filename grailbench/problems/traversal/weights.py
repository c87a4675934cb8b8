"""Edge weights for graphs that have none: a function of the seed and the endpoints, not of the order of edges."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.hashing import below, draw, stream

MOST = 255
_WEIGHTS = 7  # number of the random stream of weights


def drawn(offsets: np.ndarray, targets: np.ndarray, seed: int, both_ways: bool) -> np.ndarray:
    """Returns a uniform weight in 1..`MOST` for each edge, int32[m]. offsets int64[n + 1], targets int32[m].

    Duplicates of an edge have the same weight; with `both_ways`, so do an edge and its reverse.
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
