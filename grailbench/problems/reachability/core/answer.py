"""Answers batches from the records of `records`, pair by pair and without branches.

A closure is a tuple of a uint64 and plain arrays: (width, bits), the triangle of `closure`; or (grid, table, owner,
words, usual), the rows of `patterns`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.problems.reachability.core.records import reaches

_16, _32, _48 = np.uint64(16), np.uint64(32), np.uint64(48)
_SHORT, _LONG = np.uint64(2**16 - 1), np.uint64(2**32 - 1)
OPEN = 2  #: an answer that only the index of the core can give


@njit(cache=True, nogil=True)
def answer_narrow(sources, targets, batch, above, closure):
    """Answers a batch by records of 16-bit fields.

    sources: uint64[n + 1] and targets: uint32[n + 1], the records seen as one number each; batch: (int32[k], int32[k],
    bool[k]); above: b.
    """
    us, vs, answers = batch
    above = np.uint64(above)
    for i in range(answers.shape[0]):
        u, v = sources[np.uint64(us[i])], np.uint64(targets[np.uint64(vs[i])])
        answers[i] = reaches(
            u & _SHORT, (u >> _16) & _SHORT, (u >> _32) & _SHORT, u >> _48, v & _SHORT, v >> _16, above, closure
        )


@njit(cache=True, nogil=True)
def answer_wide(sources, targets, batch, above, closure):
    """As `answer_narrow`, by records of 32-bit fields: sources uint64[n + 1, 2], targets uint64[n + 1]."""
    us, vs, answers = batch
    above = np.uint64(above)
    for i in range(answers.shape[0]):
        u, v = np.uint64(us[i]), targets[np.uint64(vs[i])]
        first, second = sources[u, 0], sources[u, 1]
        answers[i] = reaches(
            first & _LONG, first >> _32, second & _LONG, second >> _32, v & _LONG, v >> _32, above, closure
        )


@njit(cache=True, nogil=True)
def answer_tree(tree, batch, root, upward):
    """Answers a batch on a forest. tree: [n + 1, 2] of uint16 or uint32; upward: whether it is of in-trees."""
    us, vs, answers = batch
    if upward:
        for i in range(answers.shape[0]):
            u, v = np.uint64(us[i]), np.uint64(vs[i])
            inside = np.uint64(tree[u, 0]) - np.uint64(tree[v, 0]) < np.uint64(tree[v, 1])
            answers[i] = inside | (us[i] == root)
    else:
        for i in range(answers.shape[0]):
            u, v = np.uint64(us[i]), np.uint64(vs[i])
            inside = np.uint64(tree[v, 0]) - np.uint64(tree[u, 0]) < np.uint64(tree[u, 1])
            answers[i] = inside | (us[i] == root)


@njit(cache=True, nogil=True)
def settle(sources, targets, batch, above, opened, rows, columns):
    """Answers what the forests decide, and lists the pairs of the core that they leave open; returns how many.

    sources, targets: the records [n + 1, 4] and [n + 1, 2] without a closure. opened int64[q], rows and columns
    int32[q] get the number of each open pair in the batch, its row and its column, from 0.
    """
    us, vs, answers = batch
    left, above = 0, np.uint64(above)
    for i in range(answers.shape[0]):
        u, v = np.uint64(us[i]), np.uint64(vs[i])
        place, row = np.uint64(sources[u, 0]), np.uint64(sources[u, 1])
        u_low, u_length = np.uint64(sources[u, 2]), np.uint64(sources[u, 3])
        low, length = np.uint64(targets[v, 0]), np.uint64(targets[v, 1])
        column = max(length, above) - above
        answers[i] = (place - low < length) | (low - u_low < u_length)
        opened[left], rows[left], columns[left] = i, row, np.int64(column) - 1
        left += column > row
    return left
