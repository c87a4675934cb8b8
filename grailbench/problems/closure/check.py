"""The reference closure that every implementation must match, and the comparison with it, bit by bit.

The oracle makes it for `WORDS` words of targets at a time, on all cores, and it is compared at once. Searches by scipy
check some of its rows, all of a small graph, and scipy must find the same strong components.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.errors import CheckFailed
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.instructions import ones
from grailbench.graph.oracle import Columns
from grailbench.problems.closure.index import Block, Relation
from grailbench.util import memory
from grailbench.util.cores import usable_cores

SEARCHES = 64  #: rows of a closure that scipy checks, at least; more as long as
STEPS = 2 * 10**7  #: searches from so many of n vertices take at most about so many steps, n + m each
WORDS = 64  #: words of a row that a thread compares at once; fewer if all threads would take a quarter of the memory


def cyclic(graph: Graph) -> int:
    """Returns the number of vertices on a cycle, self-loops included: pairs (v, v) that closures here leave out."""
    component = condense(graph).component
    on_cycle = np.bincount(component)[component] > 1
    on_cycle[graph.sources[graph.sources == graph.targets]] = True
    return int(np.count_nonzero(on_cycle))


class Difference(NamedTuple):
    """What a comparison found.

    edges  of the right closure
    wrong  pairs that are wrong
    first  the first of them, and whether there is a path
    """

    edges: int = 0
    wrong: int = 0
    first: tuple[int, int, bool] | None = None

    def and_(self, other: Difference) -> Difference:
        """Returns both together."""
        first = min((each.first for each in (self, other) if each.first), default=None)
        return Difference(self.edges + other.edges, self.wrong + other.wrong, first)


class Reference:
    """The closure of a relation. Raises CheckFailed if scipy finds other components than the oracle."""

    def __init__(self, relation: Relation):
        from scipy.sparse.csgraph import connected_components

        self._vertices = n = relation.vertices
        count = min(n, max(SEARCHES, STEPS // max(1, n + relation.graph.edges)))
        self._searched = dict(_searched(relation, np.unique(np.linspace(0, n - 1, count).astype(int)).tolist()))
        self._columns = Columns(relation.graph)
        self._place = self._columns.place
        theirs = connected_components(_adjacency(relation), directed=True, connection="strong")[1]
        alike = np.unique(self._place.astype(np.int64) << 32 | theirs).shape[0]
        if not alike == np.unique(theirs).shape[0] == np.unique(self._place).shape[0]:
            raise CheckFailed("the reference closure is wrong: scipy finds other strong components")

    def compare(self, blocks: Iterable[Block]) -> Difference:
        """Compares all pairs of a closure, whose diagonal is ignored.

        Raises CheckFailed if a row of the oracle differs from scipy's search from the same vertex.
        """
        found, targets = Difference(), np.zeros(self._vertices, np.int64)
        cores = usable_cores()
        step = max(1, min(WORDS, memory.available() // (4 * cores) // (8 * max(1, self._vertices))))
        with ThreadPoolExecutor(cores, thread_name_prefix="check") as pool:
            for block in blocks:
                targets[block.targets] += 1
                for each in pool.map(partial(self._compare, block, step), range(0, block.bits.shape[1], step)):
                    found = found.and_(each)
        if (targets != 1).any():
            raise CheckFailed("the blocks of the closure do not have every target once")
        return found

    def _compare(self, block: Block, step: int, left: int) -> Difference:
        """Compares the words of a block from `left` on, at most `step`."""
        targets = block.targets[64 * left : 64 * (left + step)]
        if not targets.shape[0]:
            return Difference()
        rows = self._rows(targets)
        where = np.full(self._vertices, -1, np.int32)
        where[targets] = np.arange(targets.shape[0], dtype=np.int32)
        edges, wrong, u, word, right = _differ(rows, self._place, where, block.bits, left, targets.shape[0])
        if not wrong:
            return Difference(edges)
        differing = int(block.bits[u, left + word] ^ right)
        bit = (differing & -differing).bit_length() - 1
        return Difference(
            edges, wrong, (u, int(targets[64 * word + bit]), bool(right >> np.uint64(bit) & np.uint64(1)))
        )

    def _rows(self, targets: np.ndarray) -> np.ndarray:
        rows = self._columns.reached(targets)
        for u, row in self._searched.items():
            bits = rows[self._place[u]] if self._place[u] < rows.shape[0] else np.zeros(rows.shape[1], np.uint64)
            if not np.array_equal(
                np.unpackbits(bits.view(np.uint8), bitorder="little")[: targets.shape[0]], row[targets]
            ):
                raise CheckFailed(f"the reference closure is wrong: row {u} differs from a search")
        return rows


@njit(cache=True, nogil=True)
def _differ(rows, place, where, found, left, bits):
    """Compares `bits` bits of the rows of `found`, from word `left` on, with the rows `place` of what is right.

    where: int32[n], the bit of each vertex among these words, or -1. Returns the edges of what is right, the number of
    wrong bits, and of the first wrong word its vertex, its place and what is right there.
    """
    edges, wrong, first, word, right = np.int64(-bits), np.int64(0), 0, 0, np.uint64(0)  # less a bit of each vertex
    width = (bits + 63) >> 6
    nothing = np.zeros(width, np.uint64)
    for u in range(place.shape[0]):
        mine = rows[place[u], :width] if place[u] < rows.shape[0] else nothing
        theirs = found[u, left : left + width]
        some, differing = np.int64(0), np.uint64(0)
        for w in range(width):
            some += np.int64(ones(mine[w]))
            differing |= mine[w] ^ theirs[w]
        edges += some
        if differing == 0:
            continue
        for w in range(width):
            differing = mine[w] ^ theirs[w]
            if where[u] >= 0 and where[u] >> 6 == w:
                differing &= ~(np.uint64(1) << np.uint64(where[u] & 63))
            if w == width - 1 and bits & 63:
                differing &= ~(~np.uint64(0) << np.uint64(bits & 63))
            if differing:
                if wrong == 0:
                    first, word, right = u, w, theirs[w] ^ differing
                wrong += np.int64(ones(differing))
    return edges, wrong, first, word, right


def _adjacency(relation: Relation):
    """The edges as scipy takes them."""
    from scipy.sparse import csr_array

    offsets, targets = relation.rows
    return csr_array((np.ones(targets.size, np.int8), targets, offsets), shape=(relation.vertices, relation.vertices))


def _searched(relation: Relation, sources):
    """Yields pairs of a vertex and what it reaches, itself included, uint8[n], by scipy's breadth-first search."""
    from scipy.sparse.csgraph import breadth_first_order

    adjacency = _adjacency(relation)
    for u in sources:
        row = np.zeros(relation.vertices, np.uint8)
        row[breadth_first_order(adjacency, u, return_predecessors=False)] = 1
        yield u, row
