"""The CSR of raw edges, in any order, without duplicates and self-loops.

Edges that come grouped by source are sorted row by row. Others are first dealt into ranges of sources, so that what
works on a range stays in the cache.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from grailbench.graph.threads import ThreadPool

_LEAST = 1 << 16  #: a thread gets at least this many edges
_RANGE = 1 << 15  #: edges of a range of sources, about: 256 KiB
_RANGES = 1 << 10  #: at most so many ranges: dealing keeps a line of each in the first cache
_SMALL = 1 << 18  #: fewer edges that are not grouped stay in the cache without ranges
_DIGIT = 11  #: bits by which edges are sorted at a time, at most


def sorted_rows(
    n: int, sources: np.ndarray, targets: np.ndarray, pool: ThreadPool
) -> tuple[np.ndarray, np.ndarray, int]:
    """The CSR of the edges with strictly ascending rows, with room for a super-root, and the number of self-loops.

    offsets: int64[n + 2], the last one not set; children: int32[k + n], of which k = offsets[n] are set.
    """
    m = sources.shape[0]
    offsets = np.empty(n + 2, np.int64)
    cuts = pool.cuts(m, _LEAST)
    seen = pool.each(partial(_read_grouped, sources, targets, offsets, n), cuts[:-1], cuts[1:])
    grouped, ascending, loops = (np.array(column) for column in zip(*seen, strict=True))
    children = np.empty(m + n, np.int32)
    if grouped.all() and ascending.all() and not loops.any():
        pool.each(lambda lo, hi: np.copyto(children[lo:hi], targets[lo:hi]), cuts[:-1], cuts[1:])
        return offsets, children, 0
    if m < _SMALL:
        return offsets, children, _sort_and_drop(n, sources, targets, offsets, children)
    return _scattered(n, sources, targets, offsets, pool)


def load_kernels() -> None:
    """Compiles or loads every kernel of this module, so that no later measurement includes that time."""
    sources, targets = np.array([0, 1, 1], np.int32), np.array([1, 2, 0], np.int32)
    with ThreadPool(1) as pool:
        for ends in ((sources, targets), (targets, sources)):
            sorted_rows(3, *ends, pool)
        _scattered(3, targets, sources, np.empty(5, np.int64), pool)


def _scattered(n, sources, targets, offsets, pool):
    """`sorted_rows` of edges in any order."""
    m = sources.shape[0]
    ranges = min(_RANGES, -(-m // _RANGE))
    shift = max(0, (n - 1).bit_length() - (ranges - 1).bit_length())
    ranges = ((n - 1) >> shift) + 1
    cuts = pool.cuts(m, _LEAST)
    counts = np.zeros((len(cuts) - 1, ranges), np.int64)
    pool.each(partial(_count_ranges, sources, shift), counts, cuts[:-1], cuts[1:])
    starts = np.concatenate([[0], np.cumsum(counts.sum(0))])
    places = starts[:-1] + np.cumsum(counts, 0) - counts
    pairs = np.empty(m, np.int64)
    loops = sum(pool.each(partial(_deal_pairs, sources, targets, shift, pairs), places, cuts[:-1], cuts[1:]))
    kept = np.empty(ranges, np.int64)
    rows = pairs.view(np.int32)
    ends = pool.even_cuts(starts[1:], _LEAST)
    pool.each(partial(_sort_ranges, pairs, rows, starts, shift, n, offsets, kept), ends[:-1], ends[1:])
    bases = np.concatenate([[0], np.cumsum(kept)])
    children = np.empty(bases[-1] + n, np.int32)
    pool.each(partial(_place_ranges, rows, offsets, children, starts, bases, shift, n), ends[:-1], ends[1:])
    return offsets, children, loops


@njit(cache=True, nogil=True)
def _read_grouped(sources, targets, offsets, n, lo, hi):
    """Returns whether the edges lo to hi - 1 are grouped by ascending source, whether each row strictly ascends, and
    the number of self-loops. If they are grouped, sets the offsets of the rows that begin there, and at the last edge
    those of the vertices after it. Edges that are not grouped are not read further."""
    ascending, loops = True, 0
    u, v = np.int32(-1), np.int32(-1)
    if lo > 0:
        u, v = sources[lo - 1], targets[lo - 1]
    for k in range(lo, hi):
        source, target = sources[k], targets[k]
        if source != u:
            if source < u:
                return False, False, 0
            for w in range(u + 1, source + 1):
                offsets[w] = k
            u = source
        else:
            ascending &= target > v
        v = target
        loops += source == target
    if hi == sources.shape[0]:
        for w in range(u + 1, n + 1):
            offsets[w] = hi
    return True, ascending, loops


@njit(cache=True, nogil=True)
def _count_ranges(sources, shift, counts, lo, hi):
    for k in range(lo, hi):
        counts[sources[k] >> shift] += 1


@njit(cache=True, nogil=True)
def _deal_pairs(sources, targets, shift, pairs, at, lo, hi):
    """Writes source and target of the edges lo to hi - 1 to the next place of each range; returns the self-loops."""
    loops = 0
    for k in range(lo, hi):
        u, v = sources[k], targets[k]
        r = u >> shift
        pairs[at[r]] = (np.int64(u) << 32) | v
        at[r] += 1
        loops += u == v
    return loops


@njit(cache=True, nogil=True)
def _sort_ranges(pairs, rows, starts, shift, n, offsets, kept, begin, end):
    """Sorts the pairs of the ranges begin to end - 1, and puts what remains without duplicates and self-loops where
    the range begins in `rows`, which is the same memory. offsets[u + 1] becomes the number of edges of row u that
    remain, kept[r] that of range r."""
    longest, bits = np.int64(0), 1
    for r in range(begin, end):
        longest = max(longest, starts[r + 1] - starts[r])
    while (n - 1) >> bits > 0:
        bits += 1
    passes = -(-bits // _DIGIT)
    digit = -(-bits // passes)
    spare, found = np.empty(longest, np.int64), np.empty(longest, np.int32)
    places, at = np.empty(1 << digit, np.int32), np.empty((1 << shift) + 1, np.int64)
    for r in range(begin, end):
        size, base = starts[r + 1] - starts[r], np.int64(r) << shift
        width = min(n - base, 1 << shift)
        edges, other = pairs[starts[r] : starts[r + 1]], spare[:size]
        for digits in range(passes):
            _deal_digit(edges, other, places, digits * digit)
            edges, other = other, edges
        at[: width + 1] = 0
        for k in range(size):
            at[(edges[k] >> 32) - base + 1] += 1
        for i in range(width):
            at[i + 1] += at[i]
        for k in range(size):
            i = (edges[k] >> 32) - base
            found[at[i]] = edges[k] & 0xFFFFFFFF
            at[i] += 1
        # Filling moved each row's start to its end, which is the next row's start.
        k, place = np.int64(0), 2 * starts[r]
        for i in range(width):
            first, last = place, np.int32(-1)
            while k < at[i]:
                v = found[k]
                rows[place] = v
                place += (v != last) & (v != base + i)
                last = v
                k += 1
            offsets[base + i + 1] = place - first
        kept[r] = place - 2 * starts[r]


@njit(cache=True, nogil=True)
def _deal_digit(edges, other, places, shift):
    """Puts edges (int64[k]) into the order of one digit, in `other`; what is equal stays in order."""
    places[:] = 0
    mask = places.shape[0] - 1
    for k in range(edges.shape[0]):
        places[(edges[k] >> shift) & mask] += 1
    total = np.int32(0)
    for i in range(places.shape[0]):
        total, places[i] = total + places[i], total
    for k in range(edges.shape[0]):
        i = (edges[k] >> shift) & mask
        other[places[i]] = edges[k]
        places[i] += 1


@njit(cache=True, nogil=True)
def _place_ranges(rows, offsets, children, starts, bases, shift, n, begin, end):
    for r in range(begin, end):
        children[bases[r] : bases[r + 1]] = rows[2 * starts[r] : 2 * starts[r] + bases[r + 1] - bases[r]]
        at = bases[r]
        for u in range(r << shift, min(n, (r + 1) << shift)):
            at += offsets[u + 1]
            offsets[u + 1] = at
    if begin == 0:
        offsets[0] = 0


@njit(cache=True, nogil=True)
def _sort_and_drop(n, sources, targets, offsets, rows):
    # Two bucket sorts, by target and then by source, give ascending rows in O(n + m), with duplicates next to each
    # other.
    m = sources.shape[0]
    loops = 0
    at = np.zeros(n + 1, np.int64)
    offsets[:] = 0
    for k in range(m):
        at[targets[k] + 1] += 1
        offsets[sources[k] + 1] += 1
        loops += sources[k] == targets[k]
    for v in range(n):
        at[v + 1] += at[v]
        offsets[v + 1] += offsets[v]
    by_target = np.empty(m, np.int32)
    for k in range(m):
        v = targets[k]
        by_target[at[v]] = sources[k]
        at[v] += 1
    filled = offsets[:n].copy()
    k = np.int64(0)
    for v in range(n):
        while k < at[v]:
            u = by_target[k]
            k += 1
            if u != v and (filled[u] == offsets[u] or rows[filled[u] - 1] != v):
                rows[filled[u]] = v
                filled[u] += 1
    kept = np.int64(0)
    for u in range(n):
        first, offsets[u] = offsets[u], kept
        for j in range(first, filled[u]):
            rows[kept] = rows[j]
            kept += 1
    offsets[n] = kept
    return loops
