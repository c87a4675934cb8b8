"""Labeling by depth-first search: thesis algorithm 1, iterative, over int32 arrays."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.hashing import below, draw, stream
from grailbench.problems.reachability.counters import LABEL_EXPANDED, LABEL_SCANNED
from grailbench.problems.reachability.labels import NEVER

_SHARE = 1 << 20  #: edges per thread from which another thread pays


def shuffle_rows(offsets: np.ndarray, children: np.ndarray, seed: int, pair: int, threads: int = 1) -> np.ndarray:
    """Returns a copy of the children, int32[m], with each row in random order.

    The order depends on (seed, pair, edge position) alone, so any thread may shuffle any row.
    """
    shuffled, key = np.empty_like(children), stream(seed, pair)
    shares = min(threads, 1 + children.shape[0] // _SHARE)
    if shares == 1:
        _shuffle_rows(offsets, children, key, shuffled, 0, offsets.shape[0] - 1)
        return shuffled
    ends = np.searchsorted(offsets, np.arange(1, 4 * shares) * (children.shape[0] // (4 * shares))).tolist()
    ends = [0, *ends, offsets.shape[0] - 1]
    with ThreadPoolExecutor(shares) as pool:
        list(pool.map(lambda lo, hi: _shuffle_rows(offsets, children, key, shuffled, lo, hi), ends[:-1], ends[1:]))
    return shuffled


@njit(cache=True, nogil=True)
def _shuffle_rows(offsets, children, key, shuffled, lo, hi):
    for u in range(lo, hi):
        first = offsets[u]
        for k in range(first, offsets[u + 1]):
            j = first + below(draw(key, k), k - first + 1)
            shuffled[k] = shuffled[j]
            shuffled[j] = children[k]


@njit(cache=True, nogil=True)
def set_levels(levels, lanes, width, dim):
    """Writes the level lane of every record."""
    for u in range(levels.shape[0]):
        lanes[u * width + 2 * dim] = levels[u]


class Pair(NamedTuple):
    """Where pair `number` is written.

    lanes  int32[n * width]: the records (`labels.Labels`) of `dim` pairs, with zeros for this pair
    cut    whether to write t, the least rank in the spanning subtree; otherwise `NEVER`
    """

    lanes: np.ndarray
    width: int
    dim: int
    number: int
    cut: bool


@njit(cache=True, nogil=True)
def label_pair(offsets, children, depth, descending, where, counts):
    """Labels one pair of every vertex by one DFS from the super-root, the last vertex.

    offsets int64[n + 1], children int32[m]: each row is visited first to last, or last to first if `descending`.
    depth: number of levels of the DAG, which bounds the stack. where: a `Pair`. counts: see `counters`, or None.
    """
    lanes, width, dim, pair, cut = where
    start, end, tree = 2 * pair, 2 * pair + 1, 2 * dim + 1 + pair
    ahead = np.int64(-1) if descending else np.int64(1)
    vertices = np.empty(depth, np.int32)
    cursors = np.empty(depth, np.int64)
    leasts = np.empty(depth, np.int32)
    rank = np.int32(0)
    top = 0
    u = np.int64(offsets.shape[0] - 2)
    k, stop = offsets[u], offsets[u + 1]
    if descending:
        k, stop = stop - 1, k - 1
    least = NEVER
    lanes[u * width + tree] = 1 if cut else NEVER
    while True:
        if k != stop:
            c = np.int64(children[k])
            k += ahead
            record = c * width
            if lanes[record + end] != 0:  # in a DAG, a visited child is a finished one
                least = min(least, lanes[record + start])
                continue
            first, last = offsets[c], offsets[c + 1]
            if first == last:
                rank += np.int32(1)
                lanes[record + start] = rank
                lanes[record + end] = -rank
                lanes[record + tree] = rank if cut else NEVER
                least = min(least, rank)
                continue
            vertices[top], cursors[top], leasts[top] = u, k, least
            top += 1
            u, least = c, NEVER
            k, stop = (last - 1, first - 1) if descending else (first, last)
            lanes[record + tree] = rank + np.int32(1) if cut else NEVER
        else:
            rank += np.int32(1)
            if counts is not None:
                counts[LABEL_EXPANDED] += 1
                counts[LABEL_SCANNED] += offsets[u + 1] - offsets[u]
            least = min(least, rank)
            lanes[u * width + start] = least
            lanes[u * width + end] = -rank
            if top == 0:
                return
            top -= 1
            u, k, least = np.int64(vertices[top]), cursors[top], min(leasts[top], least)
            stop = offsets[u] - 1 if descending else offsets[u + 1]
