"""The registered closures on the CPU."""

from __future__ import annotations

from grailbench.closure import bits as packed
from grailbench.closure.condense import condense
from grailbench.closure.cpu import floyd, sweep, warshall
from grailbench.closure.index import Closed, Implementation, Params, Relation, Solver, Timer, register


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
    def __init__(self, relation: Relation):
        self._bits = relation.bits

    def solve(self, timer: Timer) -> Closed:
        with timer.phase("condense"):
            condensed = condense(self._bits)
        with timer.phase("sweep"):
            found = sweep.sweep(self._bits, condensed)
        self.counters = {"components": condensed.count}
        self.held_bytes = found.nbytes
        return Closed(found.shape[0], packed.count(found), bits=found)


@register
class Sweep(Implementation):
    """Strong components, then bit sets in reverse topological order, one thread.

    Two searches on packed bits find the components in topological order. From the last component to the first, the set
    of each is the union of its members' rows and of the sets of the components that these rows reach.
    """

    name = "condense-bits"
    source = "Purdom 1970; Goralcikova and Koubek 1979"
    cost = "O(n^2 / 64 + n) words to condense, O(n / 64) an edge between components; n^2 / 8 bytes"
    counts = ("components",)

    @classmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        return _Sweep(relation)
