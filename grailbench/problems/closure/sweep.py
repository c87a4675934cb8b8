"""Strong components of a digraph in topological order, and a bit set of each of the vertices that it reaches.

From the last component to the first, a set is the union of those of its children and its own members. A child in the
union of those before it adds nothing: that edge is `redundant` (Goralcikova and Koubek 1979). Threads have ranges of
words, and a closure larger than memory is made in blocks of them (`Blocks`).
"""

from collections import namedtuple
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.condense import ordered_components
from grailbench.graph.instructions import lowest, ones
from grailbench.graph.threads import ThreadPool
from grailbench.problems.closure.bits import words
from grailbench.problems.closure.index import Block, spread


class Condensed(namedtuple("Condensed", "component starts members offsets children")):
    """The k components, numbered in topological order: every edge stays in its component or leads to a later one.

    component  int32[n]      the component of each vertex
    starts     int64[k + 1]  where the members of each component begin in `members`
    members    int32[n]      the vertices by component, ascending within each
    offsets    int64[k + 1]  where the children of each component begin in `children`
    children   int32         the other components that edges of each lead to, each once, ascending
    """

    @property
    def count(self) -> int:
        """Number of components."""
        return self.starts.shape[0] - 1


def condense(offsets: np.ndarray, targets: np.ndarray) -> Condensed:
    """Returns the components of a CSR (int64[n + 1], int32[m]), which may have duplicates and self-loops."""
    count, component = ordered_components(offsets, targets)
    starts, members = _members(component, count)
    return Condensed(component, starts, members, *_children(offsets, targets, component, starts, members))


@njit(cache=True, nogil=True)
def _members(component, count):
    n = component.shape[0]
    starts, members = np.zeros(count + 2, np.int64), np.empty(n, np.int32)
    for v in range(n):
        starts[component[v] + 2] += 1
    for c in range(count):
        starts[c + 2] += starts[c + 1]
    for v in range(n):
        members[starts[component[v] + 1]] = v
        starts[component[v] + 1] += 1
    return starts[:-1], members


@njit(cache=True, nogil=True)
def _children(offsets, targets, component, starts, members):
    count = starts.shape[0] - 1
    seen = np.full(count, -1, np.int32)
    begins, children, total = np.empty(count + 1, np.int64), np.empty(targets.shape[0], np.int32), 0
    for c in range(count):
        begins[c], seen[c] = total, c
        ascend, last = True, np.int32(-1)
        for i in range(starts[c], starts[c + 1]):
            for k in range(offsets[members[i]], offsets[members[i] + 1]):
                other = component[targets[k]]
                if seen[other] != c:
                    seen[other] = c
                    children[total] = other
                    total += 1
                    ascend &= other > last
                    last = other
        if not ascend:
            children[begins[c] : total].sort()
    begins[count] = total
    return begins, children[:total]


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
            found += np.int64(ones(row[w]))
        reached[c] += found


PIECE = 1 << 20  #: pairs that are handed over at once, unless a vertex reaches more


class Part(NamedTuple):
    """A block in which a row belongs to a component.

    targets  int32[t]
    bits     uint64[rows, words(t)]: bit b of row c is set if component c reaches targets[b], its own members included;
             components without a row reach none
    reached  int32[rows]: the number of bits of each
    """

    targets: np.ndarray
    bits: np.ndarray
    reached: np.ndarray


class Blocks:
    """The blocks of a closure, of `width` words at most. Each is computed when asked for, in place of the one before.

    reached: int32[n], the number of other vertices that each vertex reaches, once `count` or `pairs` has ended.
    """

    def __init__(self, condensed: Condensed, width: int, workers: int = 1):
        n = condensed.members.shape[0]
        self.condensed, self._width, self._workers = condensed, max(1, min(width, words(n))), workers
        self._place = np.empty(n, np.int32)
        self._place[condensed.members] = np.arange(n, dtype=np.int32)
        self._rows = np.arange(condensed.count, dtype=np.int32)
        self._bits = np.empty((condensed.count, self._width), np.uint64)

    def __len__(self) -> int:
        return -(-words(self._place.shape[0]) // self._width)

    @property
    def bytes(self) -> int:
        """Bytes of a block."""
        return self._bits.nbytes

    def parts(self) -> Iterator[Part]:
        """Yields all blocks."""
        n, condensed = self._place.shape[0], self.condensed
        redundant = np.zeros(condensed.children.shape[0], np.bool_)
        with ThreadPool(self._workers) as pool:
            for first in range(0, words(n), self._width):
                last = min(first + self._width, words(n))
                targets = condensed.members[64 * first : 64 * last]
                top = int(condensed.component[targets[-1]]) + 1
                cuts = [first + cut for cut in pool.cuts(last - first, LEAST)]
                reached = np.zeros((len(cuts) - 1, top), np.int32)
                fill = partial(_fill, condensed, self._rows, self._place, top, first, self._bits, redundant)
                pool.each(fill, reached, cuts[:-1], cuts[1:])
                yield Part(targets, self._bits[:top], reached.sum(0, dtype=np.int32))

    def count(self) -> int:
        """Computes all blocks, one after the other; returns the number of pairs."""
        self._reached = np.full(self.condensed.count, -1, np.int32)
        for part in self.parts():
            self._reached[: part.reached.shape[0]] += part.reached
        return int(self.reached.sum(dtype=np.int64))

    @property
    def reached(self) -> np.ndarray:
        return self._reached[self.condensed.component]

    def spread(self) -> Iterator[Block]:
        """Yields the blocks, with a row a vertex."""
        for part in self.parts():
            yield from spread(part.targets, self.condensed.component, lambda a, b, bits=part.bits: bits[:, a:b])

    def pairs(self, piece: int = PIECE) -> Iterator[np.ndarray]:
        """Yields all pairs (u, v) of the closure, int32[k, 2], in pieces that the next one overwrites: by block, then
        by u, then by the place of v in topological order."""
        component, cut = self.condensed.component, max(piece, 64 * self._width)
        found, self._reached = np.empty((cut, 2), np.int32), np.full(self.condensed.count, -1, np.int32)
        with ThreadPool(self._workers) as pool:
            for part in self.parts():
                self._reached[: part.reached.shape[0]] += part.reached
                ends = np.cumsum(_pairs_of(component, part, self._place), dtype=np.int64)
                low, n = 0, component.shape[0]
                while low < n:
                    before = int(ends[low - 1]) if low else 0
                    high = int(np.searchsorted(ends, before + cut, "right"))
                    size = int(ends[high - 1]) - before
                    cuts = [low + each for each in pool.even_cuts(ends[low:high] - before, PIECE // 16)]
                    pool.each(partial(_list, component, part, ends, before, found), cuts[:-1], cuts[1:])
                    low = high
                    if size:
                        yield found[:size]


@njit(cache=True, nogil=True)
def _fill(condensed, rows, place, top, begin, bits, redundant, reached, first, last):
    sweep(condensed, rows, place, top, begin, first, last, bits, redundant, reached)


@njit(cache=True)
def _pairs_of(component, part, place):
    """Returns the number of pairs (u, v) of each vertex u in a block, int32[n]."""
    n, rows, targets = component.shape[0], part.reached.shape[0], part.targets.shape[0]
    begin = place[part.targets[0]]
    sizes = np.zeros(n, np.int32)
    for u in range(n):
        if component[u] < rows:
            own = begin <= place[u] < begin + targets
            sizes[u] = part.reached[component[u]] - own
    return sizes


@njit(cache=True, nogil=True)
def _list(component, part, ends, before, found, low, high):
    """Lists the pairs of the vertices low to high - 1, behind those of vertices before; `before` come before all."""
    width = (part.targets.shape[0] + 63) >> 6
    at = (ends[low - 1] if low else 0) - before
    for u in range(low, high):
        c = component[u]
        if c >= part.bits.shape[0]:
            continue
        for w in range(width):
            left = part.bits[c, w]
            while left:
                v = part.targets[64 * w + np.int64(lowest(left))]
                left &= left - np.uint64(1)
                if v != u:
                    found[at, 0], found[at, 1] = u, v
                    at += 1
