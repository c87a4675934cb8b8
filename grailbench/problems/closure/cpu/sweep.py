"""A bit set per component of the vertices that it reaches, from the last component to the first.

The components are in topological order (`closure.condense`), so those that one leads to are complete before it. Its set
is the union of theirs and of its own members. A child that is in the union of the children before it, which come in
topological order, adds nothing; that edge is `redundant`, here and wherever else the set is computed (Goralcikova and
Koubek 1979). Depth-first numbers keep what a component leads to near it, so that most sets are still in the cache.

Every word of the sets is computed by itself: threads have ranges of words, and a closure larger than memory is made in
blocks of them (`closure.cpu.blocks`).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from grailbench.graph.threads import ThreadPool
from grailbench.problems.closure.bits import popcount, words
from grailbench.problems.closure.condense import Condensed

LEAST = 32  #: words of a row that a thread gets at least


def close(condensed: Condensed, bits: np.ndarray, workers: int = 1) -> np.ndarray:
    """Fills uint64[n, words] with the closure, bit v of row u if u reaches v, with a clear diagonal.

    Returns the number of other vertices that each vertex reaches, int32[n]. At most `workers` threads, which do not
    change the result, have at least `LEAST` words of each row.
    """
    n = condensed.members.shape[0]
    row_of, place = condensed.members[condensed.starts[:-1]], np.arange(n, dtype=np.int32)
    redundant = np.zeros(condensed.children.shape[0], np.bool_)
    with ThreadPool(workers) as pool:
        cuts = pool.cuts(words(n), LEAST)
        reached = np.zeros((len(cuts) - 1, condensed.count), np.int32)
        fill = partial(_close, condensed, row_of, place, bits, redundant)
        pool.each(fill, reached, cuts[:-1], cuts[1:])
    return reached.sum(0, dtype=np.int32)[condensed.component] - np.int32(1)


@njit(cache=True, nogil=True)
def _close(condensed, row_of, place, bits, redundant, reached, first, last):
    """Fills the words first to last - 1 of all rows."""
    count, n = row_of.shape[0], place.shape[0]
    sweep(condensed, row_of, place, count, 0, first, last, bits, redundant, reached)
    for c in range(count):
        for i in range(condensed.starts[c] + 1, condensed.starts[c + 1]):
            bits[condensed.members[i], first:last] = bits[row_of[c], first:last]
    for v in range(64 * first, min(64 * last, n)):
        bits[v, v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))


@njit(cache=True, nogil=True)
def sweep(condensed, row_of, place, top, begin, first, last, bits, redundant, reached):
    """Fills the words first to last - 1 of the sets of the components before `top`, the others' being empty there.

    row_of  int32[>= top]  the row of `bits` for each component
    place   int32[n]       the bit of each vertex in a row, of which word `begin` is word 0 of `bits`
    bits    uint64[rows, words]
    redundant  bool[edges between components]: what is known to add nothing, and becomes known; threads may share it
    reached    int32[>= top]: to which the number of bits of each component is added
    """
    starts, members, offsets, children = condensed.starts, condensed.members, condensed.offsets, condensed.children
    left, width = first - begin, last - first
    for c in range(top - 1, -1, -1):
        row, empty = bits[row_of[c], left : left + width], True
        for k in range(offsets[c], offsets[c + 1]):
            child = children[k]
            if child >= top:
                break
            if redundant[k]:
                continue
            other = bits[row_of[child], left : left + width]
            if empty:
                row[:] = other
                empty = False
                continue
            at = place[members[starts[child]]]
            word = (at >> 6) - first
            if 0 <= word < width and (row[word] >> np.uint64(at & 63)) & np.uint64(1):
                redundant[k] = True
                continue
            for w in range(width):
                row[w] |= other[w]
        if empty:
            row[:] = np.uint64(0)
        for i in range(starts[c], starts[c + 1]):
            at = place[members[i]]
            word = (at >> 6) - first
            if 0 <= word < width:
                row[word] |= np.uint64(1) << np.uint64(at & 63)
        found = np.int64(0)
        for w in range(width):
            found += popcount(row[w])
        reached[c] += found
