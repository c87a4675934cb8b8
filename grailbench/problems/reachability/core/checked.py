"""Checks an index of `core` by its own answers: for a target, which vertices reach it follows from their children."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.core.answer import PeeledIndex
from grailbench.problems.reachability.core.patterns import PAGE

QUERIES, SEARCHED = 1 << 24, 1 << 18  #: at least so many queries are asked; fewer of an index that searches
LEAST = 16  #: targets that are tried at least
_1 = np.uint64(1)


def fault(index: PeeledIndex, dag: Dag, query_batch: Callable = None) -> str | None:
    """Returns what is wrong with the index, or None.

    No record may lead out of the closure, which kernels read without bounds checks. Every edge must be answered 'yes'
    and its reverse 'no'. For the targets that are tried, all of a small graph and random ones of a large one, a vertex
    must reach a target if and only if it is the target or one of its children reaches it: then all answers for these
    targets are right, by induction from the leaves.

    query_batch: answers the edges, where that is not the index itself.
    """
    if index.tree is None and not _inside(index):
        return "a record or an entry of the closure leads out of it"
    inner = None if index.inner is None else index.inner.fault()
    return inner or edge_fault(query_batch or index.query_batch, dag) or _target_fault(index, dag)


def edge_fault(query_batch: Callable, dag: Dag) -> str | None:
    """Returns the first edge that is not answered 'yes', or its reverse 'no'; None if there is none."""
    edges = tuple(np.ascontiguousarray(ends) for ends in dag.edges_without_super_root())
    for (us, vs), wanted in ((edges, True), (edges[::-1], False)):
        wrong = np.flatnonzero(query_batch(us, vs, NoTimer()) != wanted)
        if wrong.size:
            u, v = int(us[wrong[0]]), int(vs[wrong[0]])
            return f"{u} -> {v} is {'an edge' if wanted else 'against an edge'} and is answered {not wanted}"
    return None


def _inside(index: PeeledIndex) -> bool:
    """Whether the rows and columns of all records, and the patterns of all entries, are within their arrays."""
    row, column = int(index.sources[:, 1].max()), max(0, int(index.targets[:, 1].max()) - index.above)
    if "table" not in index.arrays:
        return max(row, column) <= index.core
    grid, table, owner, words, usual = index.closure
    blocks, patterns = usual.shape[0], min(words.shape[0], PAGE * owner.shape[0])
    return column >> 6 < blocks and (row << int(grid)) + blocks <= table.shape[0] and int(table.max()) < patterns


def _target_fault(index: PeeledIndex, dag: Dag) -> str | None:
    n, queries = dag.vertices, QUERIES if index.inner is None else SEARCHED
    tried = np.random.default_rng(1).permutation(n)[: max(LEAST, queries // n)].astype(np.int32)
    everyone, reached = np.arange(n, dtype=np.int32), np.empty(n, np.uint64)
    for first in range(0, tried.size, 64):
        some = tried[first : first + 64]
        reached[:] = 0
        for bit, target in enumerate(some):
            answers = index.query_batch(everyone, np.full(n, target), NoTimer())
            reached |= answers.astype(np.uint64) << np.uint64(bit)
        u = _first_wrong(dag.offsets, dag.children, some, reached)
        if u >= 0:
            return f"what vertex {u} reaches is not itself and what its children reach"
    return None


@njit(cache=True)
def _first_wrong(offsets, children, targets, reached):
    """Returns the first vertex whose word, uint64[n], is not its own bit and those of its children; or -1."""
    own = np.zeros(reached.shape[0], np.uint64)
    for bit in range(targets.shape[0]):
        own[targets[bit]] = _1 << np.uint64(bit)
    for u in range(reached.shape[0]):
        word = own[u]
        for k in range(offsets[u], offsets[u + 1]):
            word |= reached[children[k]]
        if word != reached[u]:
            return u
    return -1
