"""Compares the records and the rows of a contracted core with every edge of the DAG."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.problems.reachability.core.answer import PeeledIndex

_0, _1, _6, _63 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


def fault(index: PeeledIndex, dag: Dag, edges: tuple) -> str | None:
    """Returns what is wrong with the records or a row, or None; edges: int32[e] twice, without the super-root's."""
    us, vs = edges
    sources, targets = index.sources.astype(np.int64), index.targets.astype(np.int64)
    position, column = targets[:, 0], targets[:, 1]
    above = position < index.above
    outer = ~above[us]  # edges from outside of the in-trees
    parents = np.bincount(vs[outer], minlength=dag.vertices)
    up, down = above[us], outer & (parents[vs] == 1)  # along which a vertex points at its only child or parent
    if (above[vs] & outer).any() or np.bincount(us[up], minlength=1).max() > 1:
        return "an edge leads into an in-tree, or a vertex of an in-tree points at two vertices"
    size = np.where(above, column, sources[:, 3])
    found = np.ones_like(size)
    within = up & above[vs]
    np.add.at(found, vs[within], size[us[within]])
    np.add.at(found, us[down], size[vs[down]])
    found[-1] = size[-1]
    outside = _outside(position, size, vs[within], us[within]) | _outside(position, size, us[down], vs[down])
    if outside or (found != size).any():
        return "a subtree is not as large as those of its children, or one of these is not inside it"
    return _records_fault(index, sources, targets, (us, vs, up, down, above, parents)) or _rows_fault(
        index, dag, above, np.where(parents >= 2, column - index.above, 0)
    )


def _outside(position: np.ndarray, size: np.ndarray, around: np.ndarray, inside: np.ndarray) -> bool:
    """Whether an interval of `inside` is not within that of `around`."""
    ends = position + size
    return bool(((position[inside] <= position[around]) | (ends[inside] > ends[around])).any())


def _records_fault(index: PeeledIndex, sources: np.ndarray, targets: np.ndarray, split: tuple) -> str | None:
    """What is wrong with the fields of a record."""
    us, vs, up, down, above, parents = split
    none, never = int(sources[-1, 1]), int(np.iinfo(index.sources.dtype).max)
    wanted = np.stack((np.full_like(parents, never), sources[:, 1], targets[:, 0], sources[:, 3]), axis=1)
    wanted[above] = 0
    wanted[above, 0], wanted[above, 1] = targets[above, 0], none
    wanted[us[up], 1:] = sources[vs[up], 1:]
    wanted[-1] = never, none, 0, never
    column = np.zeros_like(parents)
    column[above | (parents >= 2)] = targets[above | (parents >= 2), 1]
    column[vs[down]] = targets[us[down], 1]
    owned = np.sort(targets[parents >= 2, 1])
    if not np.array_equal(owned, index.above + 1 + np.arange(owned.shape[0])):
        return "two vertices have the same column"
    wrong = np.flatnonzero((wanted != sources).any(axis=1) | (column != targets[:, 1]))
    return f"the record of {int(wrong[0])} is not what its edges say" if wrong.size else None


def _rows_fault(index: PeeledIndex, dag: Dag, above: np.ndarray, own: np.ndarray) -> str | None:
    """What is wrong with a row. own: the column that each vertex owns, from 1; 0 for none."""
    known, row = np.unique(index.sources[:, 1], return_inverse=True)
    bits = np.zeros((known.shape[0], index.arrays["usual"].shape[0]), np.uint64)
    _unpack(known.astype(np.int64), *index.closure, bits)
    if bits[row.reshape(-1)[-1]].any():  # the super-root's, which vertices of in-trees have that reach no core
        return "the row of vertices that reach nothing of the core is not empty"
    u = _first_wrong(dag.offsets, dag.children, above, own, row.reshape(-1), bits)
    return None if u < 0 else f"the row of {u} is not the union of its children's"


@njit(cache=True)
def _unpack(known, grid, table, owner, words, usual, bits):
    """Writes the words of rows into bits, uint64[rows, blocks]. known: int64[rows]; others as in `patterns`."""
    for i in range(bits.shape[0]):
        for block in range(bits.shape[1]):
            entry = table[(known[i] << np.int64(grid)) + block]
            bits[i, block] = words[entry] if owner[entry >> 4] == block else usual[block]


@njit(cache=True)
def _first_wrong(offsets, children, above, own, row, bits):
    """Returns the first vertex whose row, its own column apart, is not the union of its children's rows and columns; or
    -1."""
    union = np.empty(bits.shape[1], np.uint64)
    for u in range(offsets.shape[0] - 2):
        if above[u]:
            continue
        union[:] = bits[row[u]]
        if own[u]:
            union[own[u] >> 6] &= ~(_1 << np.uint64(own[u] & 63))
        for j in range(offsets[u], offsets[u + 1]):
            child = children[j]
            if own[child] and not (bits[row[u], own[child] >> 6] >> np.uint64(own[child] & 63)) & _1:
                return u
            for w in range(union.shape[0]):
                if bits[row[child], w] & ~bits[row[u], w]:
                    return u
        for j in range(offsets[u], offsets[u + 1]):
            child = children[j]
            if own[child]:
                union[own[child] >> 6] &= ~(_1 << np.uint64(own[child] & 63))
            for w in range(union.shape[0]):
                union[w] &= ~bits[row[child], w]
        for w in range(union.shape[0]):
            if union[w] != _0:
                return u
    return -1
