"""The reference closure that every implementation must match.

On small graphs scipy searches from every vertex. On larger ones the oracle computes the closure, and searches by scipy
check some of its rows. The oracle shares no code with any implementation of closures.
"""

from __future__ import annotations

import numpy as np

from grailbench import memory
from grailbench.closure import bits as packed
from grailbench.closure.index import Relation
from grailbench.errors import CheckFailed, TooLittleMemory
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.oracle import closure_rows
from grailbench.words import gib

SCIPY_STEPS = 2 * 10**8  #: largest n (n + m) for which scipy searches from every vertex
SEARCHES = 64  #: rows of a larger closure that scipy checks


def scipy_suffices(relation: Relation) -> bool:
    """Returns whether the graph is small enough to take the reference from scipy alone."""
    return relation.vertices * (relation.vertices + relation.graph.edges) <= SCIPY_STEPS


def reference(relation: Relation) -> np.ndarray:
    """Returns the closure as uint64[n, words], with a clear diagonal.

    Raises CheckFailed if a row of the oracle differs from scipy's search from the same vertex.
    """
    if scipy_suffices(relation):
        found = np.zeros((relation.vertices, packed.words(relation.vertices)), np.uint64)
        for u, row in _searched(relation, range(relation.vertices)):
            found[u] = row
        return found
    found = closure_rows(relation.graph)
    some = np.linspace(0, relation.vertices - 1, min(SEARCHES, relation.vertices)).astype(int)
    for u, row in _searched(relation, dict.fromkeys(some.tolist())):
        if not np.array_equal(found[u], row):
            raise CheckFailed(f"the reference closure is wrong: row {u} differs from a search")
    return found


def cyclic(graph: Graph) -> int:
    """Returns the number of vertices on a cycle, self-loops included: pairs (v, v) that closures here leave out."""
    component = condense(graph).component
    on_cycle = np.bincount(component)[component] > 1
    on_cycle[graph.sources[graph.sources == graph.targets]] = True
    return int(np.count_nonzero(on_cycle))


def require_memory(name: str, vertices: int) -> None:
    """Raises TooLittleMemory unless three bit matrices fit into memory: the relation, its transpose and its closure."""
    need, free = 3 * 8 * vertices * packed.words(vertices), memory.available()
    if need > free:
        raise TooLittleMemory(
            f"the closure of {name}, {vertices:,} vertices, needs {gib(need)}; "
            f"{gib(free)} are free (take a smaller graph, or a machine with more)"
        )


def _searched(relation: Relation, sources):
    """Yields pairs (u, packed row of u), found by scipy's breadth-first search."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = relation.vertices
    offsets, targets = relation.rows
    adjacency = csr_array((np.ones(targets.size, np.int8), targets, offsets), shape=(n, n))
    padded = np.zeros(64 * packed.words(n), np.uint8)
    for u in sources:
        padded[:] = 0
        padded[breadth_first_order(adjacency, u, return_predecessors=False)] = 1
        padded[u] = 0
        yield u, np.packbits(padded, bitorder="little").view(np.uint64)
