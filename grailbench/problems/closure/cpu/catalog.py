"""The registered closures on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grailbench.problems.closure import bits as packed
from grailbench.problems.closure import kept
from grailbench.problems.closure.condense import Condensed, condense
from grailbench.problems.closure.cpu import floyd, sweep, warshall
from grailbench.problems.closure.cpu.blocks import Blocks
from grailbench.problems.closure.index import (
    Closed,
    Implementation,
    Params,
    Relation,
    Solver,
    Streaming,
    Timer,
    block_words,
    register,
    require_memory,
)


class _Floyd(Solver):
    def __init__(self, relation: Relation):
        self._given = relation.matrix
        self._matrix = self._given.copy()
        self.held_bytes = self._matrix.nbytes

    def solve(self, timer: Timer) -> Closed:
        self._matrix[:] = self._given
        floyd.close(self._matrix)
        n = self._matrix.shape[0]
        return Closed(n, floyd.count(self._matrix), matrix=self._matrix)


@register
class Floyd(Implementation):
    """Floyd-Warshall on 32-bit integers, one thread.

    For each pivot k, row i becomes row i or row k wherever i has an edge to k.
    """

    name = "floyd-warshall"
    source = "Fenz et al. 2022, section 3.1"
    cost = "O(n^3); 4 n^2 bytes"

    @classmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        return _Floyd(relation)


class _Warshall(Solver):
    def __init__(self, relation: Relation, workers: int):
        self._given, self._workers = relation.bits, workers
        self._bits = self._given.copy()
        self.held_bytes = self._bits.nbytes

    def solve(self, timer: Timer) -> Closed:
        self._bits[:] = self._given
        warshall.close(self._bits, self._workers)
        packed.clear_diagonal(self._bits)
        return Closed(self._bits.shape[0], packed.count(self._bits), bits=self._bits)


@register
class Warshall(Implementation):
    """Warshall on packed bits, 64 pivots at a time, with tables of unions.

    A step closes the paths through 64 pivots: their own rows first, then every row gets the union of the pivots' rows
    selected by one word of its bits. Unions are read from tables, one for each 8 pivots, made once per step.
    """

    name = "warshall-bits"
    source = "Warshall 1962; Arlazarov, Dinic, Kronrod and Faradzev 1970"
    cost = "O(n^3 / 512) words; n^2 / 8 bytes"
    axes = frozenset({"threads"})

    @classmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        return _Warshall(relation, params.workers)


class _Sweep(Solver):
    """Bits of all pairs in memory, or blocks of them."""

    def __init__(self, relation: Relation, params: Params):
        self.vertices = n = relation.vertices
        self._rows, self._workers, self._memory = relation.rows, params.workers, params.memory
        self._bits = None
        if not self._memory or self._memory >= packed.size(n):
            require_memory(packed.size(n), n, 8 * n)
            self._bits = kept.empty(n, packed.words(n))
            self.held_bytes = self._bits.nbytes

    def solve(self, timer: Timer) -> Closed:
        with timer.phase("condense"):
            condensed = condense(*self._rows)
        self.counters = {"components": condensed.count, "component_edges": int(condensed.children.shape[0])}
        if self._bits is None:
            return self._in_blocks(condensed, timer)
        with timer.phase("sweep"):
            reached = sweep.close(condensed, self._bits, self._workers)
        return Closed(self.vertices, int(reached.sum(dtype=np.int64)), bits=self._bits)

    def _in_blocks(self, condensed: Condensed, timer: Timer) -> Closed:
        width = block_words(self._memory, 8 * condensed.count, self.vertices)
        with timer.phase("sweep"):
            blocks = Blocks(condensed, width, self._workers)
            edges = blocks.count()
        self.held_bytes = blocks.bytes
        self.counters["blocks"] = len(blocks)
        return Closed(self.vertices, edges, parts=blocks.spread, reached=blocks.reached)


@register
class Sweep(Implementation):
    """Strong components of the edges, then bit sets in reverse topological order.

    A depth-first search of the edge rows finds the components in topological order. From the last component to the
    first, the set of each is the union of the sets of the components that its edges lead to, but for those that the
    union has already, and of its own members. Threads have ranges of words. With `memory`, blocks of targets come one
    after the other, and are counted.
    """

    name = "condense-bits"
    source = "Tarjan 1972; Purdom 1970; Goralcikova and Koubek 1979"
    cost = "O(n + m), and O(n / 64) an edge between components that is not redundant; n^2 / 8 bytes, or `memory`"
    axes = frozenset({"threads", "memory"})
    counts = ("components", "component_edges", "blocks")

    @classmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        return _Sweep(relation, params)


class _Pairs(Streaming):
    def __init__(self, relation: Relation, params: Params):
        self.vertices = relation.vertices
        self._rows, self._workers, self._memory = relation.rows, params.workers, params.memory

    def pairs(self, timer: Timer) -> Iterator[np.ndarray]:
        with timer.phase("condense"):
            condensed = condense(*self._rows)
        row = 8 * condensed.count
        width = block_words(self._memory or max(SOME, row), row, self.vertices)
        with timer.phase("sweep"):
            blocks = Blocks(condensed, width, self._workers)
            yield from blocks.pairs()
        self.reached, self.held_bytes = blocks.reached, blocks.bytes
        self.counters = {"components": condensed.count, "component_edges": int(condensed.children.shape[0]),
                         "blocks": len(blocks)}  # fmt: skip


SOME = 1 << 26  #: bytes of a block of `condense-pairs`, unless `memory` says otherwise


@register
class Pairs(Implementation):
    """As `condense-bits` in blocks, whose bits are listed as pairs of 32-bit integers.

    A block of targets takes 64 MiB, or `memory`. Pairs are handed over a million at a time and not kept: what Datalog
    systems make, in the order of blocks.
    """

    name = "condense-pairs"
    source = "Tarjan 1972; Goralcikova and Koubek 1979"
    cost = "as condense-bits, and O(1) a pair; 64 MiB, or `memory`"
    axes = frozenset({"threads", "memory"})
    counts = ("components", "component_edges", "blocks")

    @classmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        return _Pairs(relation, params)
