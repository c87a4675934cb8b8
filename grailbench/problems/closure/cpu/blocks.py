"""A closure in blocks of targets: the sets of all components, a range of their words at a time.

Bits stand for vertices in topological order (`Condensed.members`), so the sets behind the last target of a block are
empty, and half of all words are never computed. Blocks come in that order too: which edges are redundant is known from
the block of their child on (`closure.cpu.sweep`), and before that block the child adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.threads import ThreadPool
from grailbench.problems.closure.bits import lowest, words
from grailbench.problems.closure.condense import Condensed
from grailbench.problems.closure.cpu.sweep import LEAST, sweep
from grailbench.problems.closure.index import Block, spread

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

    reached: int32[n], the number of other vertices that each vertex reaches, once `count` or `pairs` has ended. At most
    `workers` threads have at least `closure.cpu.sweep.LEAST` words of a block each.
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
        """Yields all pairs (u, v) of the closure, int32[k, 2], in pieces that the next one overwrites.

        They come by block, then ascend by u, then by the place of v in topological order.
        """
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
                v = part.targets[64 * w + lowest(left)]
                left &= left - np.uint64(1)
                if v != u:
                    found[at, 0], found[at, 1] = u, v
                    at += 1
