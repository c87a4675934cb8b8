"""Sweeps groups of sources through a DAG, one bit each, in topological order.

Most vertices have the row of bits of one of their parents, no bit at all, or every bit that is still asked for. So a
vertex has a reference to a row, and a row of its own only if no parent has the same one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

WORD = 64  #: bits of a word
LANES = 8  #: words that are combined at once; the width of a row is a multiple of it
MOST = 2**30  #: rows that references can name before they begin anew
_0, _1 = np.uint64(0), np.uint64(1)


class Rows(NamedTuple):
    """The memory of one thread for sweeps through a DAG of k vertices, with rows of `width` words.

    words   uint64[(k + 64 * width + 2) * width]: rows, in the order in which they were needed
    refs    int32[k]: the row that a vertex has, as first + place in `words`; less than `first`: no bit is set
    marks   uint64[k // 64 + 1]: a bit for each vertex with a bit set that the sweep has yet to come to
    asked   uint64[width]: the bits of the sources that have targets ahead
    first   int64[1]: what names the full row; it grows from group to group, so that `refs` need not be cleared
    """

    words: np.ndarray
    refs: np.ndarray
    marks: np.ndarray
    asked: np.ndarray
    first: np.ndarray


def memory_of(vertices: int, width: int) -> int:
    """Bytes of `Rows` for a DAG of so many vertices."""
    return 8 * width * (vertices + WORD * width + 2) + 4 * vertices + vertices // 8 + 8 * (width + 2)


def rows_for(vertices: int, width: int) -> Rows:
    """New memory, of which only what is used is taken from the system."""
    return Rows(
        np.empty((vertices + WORD * width + 2) * width, np.uint64),
        np.zeros(vertices, np.int32),
        np.zeros(vertices // WORD + 1, np.uint64),
        np.zeros(width, np.uint64),
        np.ones(1, np.int64),
    )


@intrinsic
def _lowest(typing, word):
    """The position of the lowest bit that is set in a uint64 other than 0, in one instruction."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.uint64(types.uint64), generate


@njit(cache=True, inline="always")
def _mark(marks, v):
    marks[v >> 6] |= _1 << np.uint64(v & 63)


@njit(cache=True, nogil=True)
def sweep(down, up, pairs, ends, answers, rows, counts):
    """Answers the pairs of one group of sources.

    down, up   (int64[k + 1], int32[e]): CSR of children and of parents; every edge leads to a greater number
    pairs      (targets int32[q], bits int32[q], which int64[q]): ascending by target. The bit is that of the pair's
               source, `which` the place of its answer in `answers` (bool)
    ends       (sources int32[s], latest int32[s]), s at most 64 * width: the sources of the bits, ascending, and the
               greatest target of each
    counts     int64[2] or None: vertices that were visited and edges that were looked at
    """
    offsets, children = down
    parent_offsets, parents = up
    targets, bits, which = pairs
    sources, latest = ends
    words, refs, marks, asked, first = rows
    width = np.uint64(asked.shape[0])
    if first[0] > MOST - refs.shape[0] - sources.shape[0] - 2:
        refs[:] = 0
        first[0] = 1
    full = np.int32(first[0])
    top = full + np.int32(1)
    asked[:] = _0
    for b in range(sources.shape[0]):
        asked[b >> 6] |= _1 << np.uint64(b & 63)
        _mark(marks, sources[b])
    source, pair, last = 0, 0, targets[targets.shape[0] - 1]
    for block in range(sources[0] >> 6, (last >> 6) + 1):
        while marks[block]:
            word = marks[block]
            marks[block] = word & (word - _1)
            v = np.int32(block * 64) + np.int32(_lowest(word))
            if v > last:
                continue
            # --- the row of v: that of its parents, and its own bit
            ref, own = np.int32(0), False
            begin, k = parent_offsets[v], parent_offsets[v + 1]
            while k > begin:
                k -= 1
                other = refs[parents[k]]
                if other == full:
                    ref = full
                    break
                if other > full and other != ref:
                    if ref == 0:
                        ref = other
                    elif own:
                        _add(words, np.uint64(top - full) * width, np.uint64(other - full) * width, width)
                    else:
                        ref, own = _join(words, ref, other, top, full, width)
            if counts is not None:
                counts[0] += 1
                counts[1] += parent_offsets[v + 1] - k
            is_source = source < sources.shape[0] and sources[source] == v
            if is_source and ref != full:
                at = np.uint64(top - full) * width
                if ref == 0:
                    for w in range(width):
                        words[at + w] = _0
                elif not own:
                    for w in range(width):
                        words[at + w] = words[np.uint64(ref - full) * width + w]
                words[at + np.uint64(source >> 6)] |= _1 << np.uint64(source & 63)
                own = True
            source += is_source
            if own and ref != full:
                if _covers(words, np.uint64(top - full) * width, asked, width):
                    ref = full
                else:
                    ref = top
                    top += np.int32(1)
            if ref == 0:
                continue
            refs[v] = ref
            # --- the pairs that ask for v
            while pair < targets.shape[0] and targets[pair] <= v:
                if targets[pair] == v:
                    b = bits[pair]
                    at = np.uint64(ref - full) * width + np.uint64(b >> 6)
                    answers[which[pair]] = ref == full or (words[at] >> np.uint64(b & 63)) & _1 != _0
                    if latest[b] == v:
                        asked[b >> 6] &= ~(_1 << np.uint64(b & 63))
                elif latest[bits[pair]] == targets[pair]:
                    asked[bits[pair] >> 6] &= ~(_1 << np.uint64(bits[pair] & 63))
                pair += 1
            for k in range(offsets[v], offsets[v + 1]):
                _mark(marks, children[k])
            if counts is not None:
                counts[1] += offsets[v + 1] - offsets[v]
    marks[last >> 6 :] = _0
    first[0] = top


@njit(cache=True)
def _add(words, a, b, width):
    for w in range(np.uint64(0), width, np.uint64(LANES)):
        for j in range(np.uint64(LANES)):
            words[a + w + j] |= words[b + w + j]


@njit(cache=True)
def _join(words, ref, other, top, full, width):
    """Puts the union of two rows where the next row begins. Returns the reference of one of them, and whether neither
    has all bits of the union."""
    a, b, c = np.uint64(ref - full) * width, np.uint64(other - full) * width, np.uint64(top - full) * width
    more, less = _0, _0
    for w in range(np.uint64(0), width, np.uint64(LANES)):
        for j in range(np.uint64(LANES)):
            x, y = words[a + w + j], words[b + w + j]
            words[c + w + j] = x | y
            more |= y & ~x
            less |= x & ~y
    if more == _0:
        return ref, False
    if less == _0:
        return other, False
    return ref, True


@njit(cache=True)
def _covers(words, a, asked, width):
    missing = _0
    for w in range(np.uint64(0), width, np.uint64(LANES)):
        for j in range(np.uint64(LANES)):
            missing |= asked[w + j] & ~words[a + w + j]
    return missing == _0
