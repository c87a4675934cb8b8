"""Kahn's queue of a DAG: its vertices level by level, in threads where levels are wide.

With a first-in first-out queue, Kahn's algorithm removes vertices by longest-path level, so the last parent of a vertex
that is removed is its deepest one, and the place of the vertex in the queue is that of the edge from there among all
edges of that level, in the order of the queue.

In threads, a level is done in two steps. Its edges, in the order of the queue, are cut into blocks, and each block is
dealt into ranges of targets (`_deal`). Then each range goes through its edges in order, counts down what its
vertices miss, and keeps the edges that take one (`_take`); these are put into the order of the block again when the
next level begins (`_gather`).
So no two threads write to the same vertex, and the queue is that of one thread.
"""

from __future__ import annotations

from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from grailbench.graph.instructions import prefetch
from grailbench.graph.threads import ThreadPool
from grailbench.util.compiled import njit

_LEAST = 1 << 16  #: a thread gets at least this many edges of a level
_WIDE = 1 << 15  #: levels of fewer vertices are one thread's
_MANY = 4  #: with fewer threads, one counts parents: dealing edges to several costs it more than counting them
_LARGE = 1 << 21  #: with fewer edges too
_BLOCK_BITS = 13  #: 8,192 edges a block
_RANGE_BITS = 6  #: at most 64 ranges of targets
_AHEAD = 8  #: vertices between asking for what is read at random and reading it
_FAR = 1 << 18  #: vertices and edges from which on they are not in a cache near by, and asked for before they are read
_FEW = 32  #: children of a vertex that are asked for: of more, the processor sees enough by itself


def kahn(n: int, offsets: np.ndarray, children: np.ndarray, pool: ThreadPool) -> tuple[int, np.ndarray, np.ndarray]:
    """Takes the vertices of a CSR (int64[n + 1], int32[m]) level by level, a super-root n first.

    Returns how many are taken, the super-root among them; the level of each, int32[n + 1], or minus the number of its
    parents that were not taken, if it is on a cycle or behind one; and the queue, int32[n + 1].
    """
    levels, order = np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    if pool.threads == 1 or children.shape[0] < 2 * _LEAST:
        _count_down(children, levels)
        found = take_roots(levels, order, 0, n, 1)
        found = walk(offsets, children, levels, order, 1, found, 1, n + 1)[1]
    else:
        found = _walk_in_threads(n, offsets, children, levels, order, pool)
    levels[n], order[0] = 0, n
    return found, levels, order


def load_kernels() -> None:
    """Compiles or loads every kernel of this module, so that no later measurement includes that time."""
    offsets, children, order = np.array([0, 1, 1]), np.zeros(1, np.int32) + 1, np.array([2, 0, 0], np.int32)
    with ThreadPool(1) as pool:
        _, levels, _ = kahn(2, offsets, children, pool)
        _count_in_threads(2, children, levels, order, _Room(2, 1), pool)
        levels[:2] = 1, -1
        _walk_wide(offsets, children, levels, order, 1, 2, 1, _Room(2, 1), pool)


class _Room:
    """Memory for the edges of two levels, int64[m], from which tasks take parts; and how these are dealt: vertex v is
    in range v >> shift."""

    def __init__(self, n: int, edges: int):
        self.dealt = np.empty(edges, np.int64)
        self._used, self._from_end, self._lock = 0, False, Lock()
        self.shift = max(0, (n - 1).bit_length() - _RANGE_BITS)
        self.ranges = ((n - 1) >> self.shift) + 1

    def turn(self) -> None:
        """Makes room for the next level: levels take turns at both ends, so that the same memory is used again."""
        self._from_end, self._used = not self._from_end, 0

    def take(self, edges: int) -> int:
        """Where a part of so many edges begins."""
        with self._lock:
            self._used += edges
            return self.dealt.shape[0] - self._used if self._from_end else self._used - edges

    def tables(self, edges: int) -> tuple[np.ndarray, np.ndarray]:
        """Room for bases and starts of the blocks of so many edges; two in a row hold more than one can."""
        blocks = 2 * (edges >> _BLOCK_BITS) + 2
        return np.empty(blocks, np.int64), np.empty((blocks, self.ranges + 2), np.int32)

    def blocks(self, parts: list[tuple[np.ndarray, np.ndarray]]) -> _Blocks:
        """The blocks of all tasks, of which each gives bases and starts."""
        bases, starts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return _Blocks(self.dealt, bases, starts, np.empty((bases.shape[0], self.ranges), np.int32), _BLOCK_BITS)


class _Blocks(NamedTuple):
    """Edges in the order of the queue, cut into blocks of at most 1 << bits, each dealt into ranges of targets.

    dealt    int64[..]                 target << bits | place in the block; block b begins at bases[b]
    bases   int64[blocks]
    starts  int32[blocks, ranges + 2] where each range begins in the block; the last column is unused
    taken   int32[blocks, ranges]     how many edges, first in their range, took their target
    """

    dealt: np.ndarray
    bases: np.ndarray
    starts: np.ndarray
    taken: np.ndarray
    bits: int

    def shares(self, pool: ThreadPool) -> list[int]:
        """The limits of consecutive ranges with about equally many edges, one a thread."""
        edges = self.starts[:, 1:-1].sum(0, dtype=np.int64) - self.starts[:, :-2].sum(0, dtype=np.int64)
        return pool.even_cuts(np.cumsum(edges), _LEAST)


def _walk_in_threads(n, offsets, children, levels, order, pool):
    """Takes all vertices that can be taken. Returns how many these are, the super-root among them."""
    room = _Room(n, children.shape[0])
    if pool.threads < _MANY or children.shape[0] < _LARGE:
        _count_down(children, levels)
        found = take_roots(levels, order, 0, n, 1)
    else:
        found = _count_in_threads(n, children, levels, order, room, pool)
    at, level = 1, 1
    while at < found:
        at, found, level = walk(offsets, children, levels, order, at, found, level, _WIDE)
        if at < found:
            at, found, level = _walk_wide(offsets, children, levels, order, at, found, level, room, pool)
    return found


def _count_in_threads(n, children, levels, order, room, pool):
    """Counts what each vertex misses, and takes the roots."""
    cuts = pool.cuts(children.shape[0], _LEAST)
    blocks = room.blocks(pool.each(partial(_dealt_all, children, room), cuts[:-1], cuts[1:]))
    shares = blocks.shares(pool)
    roots = pool.each(partial(_count_parents, *blocks, room.shift, n, levels), shares[:-1], shares[1:])
    places = np.cumsum([1, *roots]).tolist()
    cuts = [min(n, share << room.shift) for share in shares]
    pool.each(partial(take_roots, levels, order), cuts[:-1], cuts[1:], places[:-1])
    return places[-1]


def _walk_wide(offsets, children, levels, order, at, found, level, room, pool):
    """Goes on with the queue as `_walk` does, from a wide level until one is narrow."""
    places = [at + cut for cut in pool.cuts(found - at, _WIDE // 2)]
    limits = [0] * len(places)
    blocks = room.blocks([(np.empty(0, np.int64), np.empty((0, room.ranges + 2), np.int32))])
    while True:
        room.turn()
        expand = partial(_expanded, blocks, offsets, children, order, room)
        parts = pool.each(expand, limits[:-1], limits[1:], places[:-1], places[1:])
        blocks, level = room.blocks(parts), level + 1
        shares = blocks.shares(pool)
        counts = np.empty((len(shares) - 1, blocks.bases.shape[0]), np.int64)
        pool.each(partial(_take, *blocks, levels, level), counts, shares[:-1], shares[1:])
        ends = np.cumsum(counts.sum(0))
        at, found = found, found + int(ends[-1] if ends.shape[0] else 0)
        if found - at < _WIDE:
            _gather(*blocks, order, 0, blocks.bases.shape[0], at)
            return at, found, level
        limits = pool.even_cuts(ends, _WIDE // 2)
        places = [at, *(at + ends[np.array(limits[1:]) - 1]).tolist()]


def _dealt_all(children, room, lo, hi):
    """Deals the edges lo to hi - 1 of all rows; returns bases and starts of their blocks."""
    bases, starts = room.tables(hi - lo)
    blocks = _deal_edges(children, lo, hi, room.shift, _BLOCK_BITS, room.dealt, room.take(hi - lo), bases, starts, 0)
    return bases[:blocks], starts[:blocks]


def _expanded(before, offsets, children, order, room, begin, end, at, last):
    """Puts what the blocks begin to end - 1 took into the queue, from `at` to last - 1, and deals the edges of these
    vertices; returns bases and starts of their blocks."""
    _gather(*before, order, begin, end, at)
    rows = np.empty((last - at, 2), np.int64)
    edges = _rows_of(offsets, order, at, rows)
    bases, starts = room.tables(edges)
    blocks = _deal_rows(children, rows, room.shift, _BLOCK_BITS, room.dealt, room.take(edges), bases, starts)
    return bases[:blocks], starts[:blocks]


@njit(cache=True, nogil=True)
def _count_down(children, levels):
    levels[:] = 0
    for k in range(children.shape[0]):
        levels[children[k]] -= 1


@njit(cache=True, nogil=True)
def take_roots(levels, order, first, last, found):
    """Puts the vertices first to last - 1 that miss no parent into the queue, at `found`; returns its end."""
    for v in range(first, last):
        if levels[v] == 0:
            levels[v] = 1
            order[found] = v
            found += 1
    return found


@njit(cache=True, nogil=True)
def walk(offsets, children, levels, order, at, found, level, wide):
    """Goes on with the queue, of which `at` vertices are done and the others, up to `found`, are all of one level,
    until `wide` vertices or more are of one level, or none is left. Returns `at`, `found` and `level`."""
    far = offsets.shape[0] + children.shape[0] > _FAR
    while 0 < found - at < wide:
        level += 1
        end = found
        while at < end:
            if far:
                # Near its end, the queue is too short to ask.
                if at + 3 * _AHEAD < found:
                    prefetch(offsets, order[at + 3 * _AHEAD])
                if at + 2 * _AHEAD < found:
                    prefetch(children, offsets[order[at + 2 * _AHEAD]])
                    prefetch(children, offsets[order[at + 2 * _AHEAD] + 1] - 1)
                if at + _AHEAD < found:
                    u = order[at + _AHEAD]
                    for k in range(offsets[u], min(offsets[u + 1], offsets[u] + _FEW)):
                        prefetch(levels, children[k])
            u = order[at]
            at += 1
            for k in range(offsets[u], offsets[u + 1]):
                v = children[k]
                missing = levels[v] + 1
                if missing == 0:
                    levels[v] = level
                    order[found] = v
                    found += 1
                else:
                    levels[v] = missing
    return at, found, level


@njit(cache=True, nogil=True)
def _rows_of(offsets, order, at, rows):
    """Sets where the rows of the vertices in the queue from `at` begin and end, int64[k, 2]; returns their edges."""
    edges = np.int64(0)
    for i in range(rows.shape[0]):
        if i + 4 * _AHEAD < rows.shape[0]:
            prefetch(offsets, order[at + i + 4 * _AHEAD])
        rows[i, 0], rows[i, 1] = offsets[order[at + i]], offsets[order[at + i] + 1]
        edges += rows[i, 1] - rows[i, 0]
    return edges


@njit(cache=True, nogil=True)
def _deal(block, shift, bits, dealt, base, starts):
    """Deals a block of targets (int32[k]) into ranges, from dealt[base]; starts: its row of `_Blocks.starts`."""
    starts[:] = 0
    for i in range(block.shape[0]):
        starts[(block[i] >> shift) + 2] += 1
    for r in range(2, starts.shape[0]):
        starts[r] += starts[r - 1]
    for i in range(block.shape[0]):
        r = (block[i] >> shift) + 1
        dealt[base + starts[r]] = (np.int64(block[i]) << bits) | i
        starts[r] += 1


@njit(cache=True, nogil=True)
def _deal_edges(children, lo, hi, shift, bits, dealt, base, bases, starts, b):
    """Deals the edges lo to hi - 1 into block b and those behind it, from dealt[base]; returns the next block."""
    for k in range(lo, hi, 1 << bits):
        _deal(children[k : min(hi, k + (1 << bits))], shift, bits, dealt, base + k - lo, starts[b])
        bases[b] = base + k - lo
        b += 1
    return b


@njit(cache=True, nogil=True)
def _deal_rows(children, rows, shift, bits, dealt, base, bases, starts):
    """Deals the edges of rows (int64[k, 2]) into blocks, from dealt[base]; returns how many these are."""
    size, filled, b = 1 << bits, 0, 0
    block = np.empty(size, np.int32)
    for i in range(rows.shape[0]):
        if i + 4 * _AHEAD < rows.shape[0]:
            prefetch(children, rows[i + 4 * _AHEAD, 0])
            prefetch(children, rows[i + 4 * _AHEAD, 1] - 1)
        lo, hi = rows[i]
        if filled + hi - lo > size:
            b = _deal_edges(block, 0, filled, shift, bits, dealt, base, bases, starts, b)
            base += filled
            whole = (hi - lo) & ~(size - 1)
            b = _deal_edges(children, lo, lo + whole, shift, bits, dealt, base, bases, starts, b)
            base += whole
            lo += whole
            filled = 0
        for k in range(lo, hi):
            block[filled + k - lo] = children[k]
        filled += hi - lo
    return _deal_edges(block, 0, filled, shift, bits, dealt, base, bases, starts, b)


@njit(cache=True, nogil=True)
def _count_parents(dealt, bases, starts, taken, bits, shift, n, levels, begin, end):
    """Sets the levels of the vertices in the ranges begin to end - 1 to minus their parents; returns how many are 0."""
    roots = 0
    for r in range(begin, end):
        first, last = r << shift, min(n, (r + 1) << shift)
        levels[first:last] = 0
        for b in range(bases.shape[0]):
            for k in range(bases[b] + starts[b, r], bases[b] + starts[b, r + 1]):
                levels[dealt[k] >> bits] -= 1
        for v in range(first, last):
            roots += levels[v] == 0
    return roots


@njit(cache=True, nogil=True)
def _take(dealt, bases, starts, taken, bits, levels, level, counts, begin, end):
    """Counts down what vertices of the ranges begin to end - 1 miss, edge by edge of the blocks, and keeps the edges
    that take one. counts: int64[blocks], how many these are."""
    counts[:] = 0
    for r in range(begin, end):
        for b in range(bases.shape[0]):
            if b + 2 < bases.shape[0]:
                for k in range(bases[b + 2] + starts[b + 2, r], bases[b + 2] + starts[b + 2, r + 1], 8):
                    prefetch(dealt, k)
            if b + 1 < bases.shape[0]:
                for k in range(bases[b + 1] + starts[b + 1, r], bases[b + 1] + starts[b + 1, r + 1]):
                    prefetch(levels, dealt[k] >> bits)
            first = bases[b] + starts[b, r]
            at = first
            for k in range(first, bases[b] + starts[b, r + 1]):
                edge = dealt[k]
                v = edge >> bits
                missing = levels[v] + 1
                levels[v] = level if missing == 0 else missing
                dealt[at] = edge
                at += missing == 0
            taken[b, r] = at - first
            counts[b] += at - first


@njit(cache=True, nogil=True)
def _gather(dealt, bases, starts, taken, bits, order, begin, end, at):
    """Puts the vertices that the blocks begin to end - 1 took into the queue, at `at`, as their edges come."""
    took, found = np.full(1 << bits, -1, np.int32), np.empty((1 << bits) + 1, np.int32)
    for b in range(begin, end):
        if b + 1 < end:
            for r in range(taken.shape[1]):
                prefetch(dealt, bases[b + 1] + starts[b + 1, r])
        for r in range(taken.shape[1]):
            first = bases[b] + starts[b, r]
            for k in range(first, first + taken[b, r]):
                took[dealt[k] & ((1 << bits) - 1)] = dealt[k] >> bits
        count = 0
        for i in range(starts[b, taken.shape[1]]):
            found[count] = took[i]
            count += took[i] >= 0
            took[i] = -1
        order[at : at + count] = found[:count]
        at += count
