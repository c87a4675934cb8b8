"""Sweeps of bits through a whole graph in topological order."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def spread(offsets: np.ndarray, targets: np.ndarray, order: np.ndarray, words: np.ndarray) -> None:
    """Gives the bits of a vertex to all that it reaches.

    offsets, targets  int64[n + 1], int32[m]: CSR
    order             int32[k]: vertices, each before those it has edges to, from the first that has bits on, or before
    words             uint64[n or more, w]: the bits of each vertex
    """
    for i in range(order.shape[0]):
        u = order[i]
        some = np.uint64(0)
        for w in range(words.shape[1]):
            some |= words[u, w]
        if some:
            for k in range(offsets[u], offsets[u + 1]):
                v = targets[k]
                for w in range(words.shape[1]):
                    words[v, w] |= words[u, w]


@njit(cache=True, nogil=True)
def number(seeds: np.ndarray, words: np.ndarray) -> None:
    """Sets bit i of the words (uint64[n, w]) of seed i (int32[at most 64 w]), for each i."""
    for i in range(seeds.shape[0]):
        words[seeds[i], i >> 6] |= np.uint64(1) << np.uint64(i & 63)
