"""Compares the records, the rows of a contracted core and the closure of `core` with every edge of the DAG."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.core.answer import PeeledIndex
from grailbench.problems.reachability.core.closure import row_start
from grailbench.problems.reachability.core.patterns import PAGE

_0, _1, _6, _63 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


def rows_fault(index: PeeledIndex, dag: Dag, edges: tuple) -> str | None:
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


def fault(index: PeeledIndex, dag: Dag) -> str | None:
    """Returns what is wrong with the index, or None. By induction along the order, nothing else could be wrong.

    No record may lead out of the closure, which kernels read without asking. Every edge must be answered 'yes' and its
    reverse 'no', no two vertices may share a position, a subtree must be as large as those of its children and itself,
    the records along a tree must name the same gate, and each row of the closure must be the union of its children's.
    """
    if index.tree is None and not _inside(index):
        return "a record or an entry of the closure leads out of it"
    edges = tuple(np.ascontiguousarray(ends) for ends in dag.edges_without_super_root())
    for (us, vs), wanted in ((edges, True), (edges[::-1], False)):
        wrong = np.flatnonzero(index.query_batch(us, vs, NoTimer()) != wanted)
        if wrong.size:
            u, v = int(us[wrong[0]]), int(vs[wrong[0]])
            return f"{u} -> {v} is {'an edge' if wanted else 'against an edge'} and is answered {not wanted}"
    position, size = _intervals(index)
    if not np.array_equal(np.sort(position), np.arange(dag.vertices)) or position[-1] != dag.super_root:
        return "two vertices have the same position, or a position is out of range"
    if "table" in index.arrays:
        return rows_fault(index, dag, edges)
    faults = (
        _tree_fault(index, edges, position, size),
        None if index.tree is not None else _gate_fault(index, edges, position),
        None if index.inner is None else index.inner.fault(),
        None if index.bits is None else _row_fault(index, dag, position),
    )
    return next(filter(None, faults), None)


def _inside(index: PeeledIndex) -> bool:
    """Whether the rows and columns of all records, and the patterns of all entries, are within their arrays."""
    row, column = int(index.sources[:, 1].max()), max(0, int(index.targets[:, 1].max()) - index.above)
    if "table" not in index.arrays:
        return max(row, column) <= index.core
    grid, table, owner, words, usual = index.closure
    blocks, patterns = usual.shape[0], min(words.shape[0], PAGE * owner.shape[0])
    return column >> 6 < blocks and (row << int(grid)) + blocks <= table.shape[0] and int(table.max()) < patterns


def _intervals(index: PeeledIndex) -> tuple[np.ndarray, np.ndarray]:
    """The positions of all vertices, int64[n + 1], and the sizes of subtrees, 0 outside of trees."""
    if index.tree is not None:
        return index.tree[:, 0].astype(np.int64), index.tree[:, 1].astype(np.int64)
    position, size = (index.targets[:, field].astype(np.int64) for field in (0, 1))
    size[position >= index.above] = 0
    below = position >= index.above + index.core
    size[below] = index.sources[below, 3]
    return position, size


def _tree_fault(index: PeeledIndex, edges: tuple, position: np.ndarray, size: np.ndarray) -> str | None:
    """What is wrong with a subtree: its size is 1 and those of its children's subtrees, one behind the other."""
    us, vs = edges
    whole = index.tree is not None
    high = index.above if not whole or index.upward else 0
    low = index.above + index.core if not whole else high
    found = np.ones_like(size)
    for inside, child, parent in ((position < high, us, vs), (position >= low, vs, us)):
        kept = inside[us] & inside[vs]
        np.add.at(found, parent[kept], size[child[kept]])
    trees = (position < high) | (position >= low)
    trees[-1] = False
    wrong = np.flatnonzero(trees & (found != size))
    return f"the subtree of {int(wrong[0])} has {int(found[wrong[0]])} vertices, not {int(size[wrong[0]])}" \
        if wrong.size else None  # fmt: skip


def _gate_fault(index: PeeledIndex, edges: tuple, position: np.ndarray) -> str | None:
    """What is wrong with the fields of records that are no intervals of the own tree."""
    us, vs = edges
    sources, targets = index.sources.astype(np.int64), index.targets.astype(np.int64)
    core, never = index.core, int(np.iinfo(index.sources.dtype).max)
    above, below = position < index.above, position >= index.above + core
    below[-1] = False
    inner = ~above & ~below
    inner[-1] = False
    up, down = above[us], below[vs] & ~above[us]  # edges along which a vertex points at its only child or parent
    if (above[vs] & ~up).any() or (below[us] & ~below[vs]).any():
        return "an edge leads into an in-tree or out of an out-tree"
    if max(np.bincount(us[up], minlength=1).max(), np.bincount(vs[down], minlength=1).max()) > 1:
        return "a vertex of a tree points at two vertices"
    wanted_sources, wanted_targets = np.empty_like(sources), np.empty_like(targets)
    wanted_sources[:] = never, core, 0, 0
    wanted_sources[above, 0] = position[above]
    wanted_sources[inner, 1] = position[inner] - index.above
    wanted_sources[below, 2], wanted_sources[below, 3] = position[below], sources[below, 3]
    wanted_sources[us[up], 1:] = sources[vs[up], 1:]
    wanted_sources[-1, 3] = never
    wanted_targets[:, 0], wanted_targets[:, 1] = position, 0
    wanted_targets[above, 1] = targets[above, 1]
    wanted_targets[inner, 1] = position[inner] + 1
    wanted_targets[vs[down], 1] = targets[us[down], 1]
    wrong = np.flatnonzero((wanted_sources != sources).any(axis=1) | (wanted_targets != targets).any(axis=1))
    return f"the record of {int(wrong[0])} is not what its edges say" if wrong.size else None


def _row_fault(index: PeeledIndex, dag: Dag, position: np.ndarray) -> str | None:
    """What is wrong with a row of the closure."""
    core = np.empty(index.core, np.int64)
    inside = (position >= index.above) & (position < index.above + index.core)
    core[position[inside] - index.above] = np.flatnonzero(inside)
    row = _first_wrong_row(dag.offsets, dag.children, core, position, index.above, index.bits)
    return None if row < 0 else f"row {row} of the closure is not the union of its children's"


@njit(cache=True)
def _first_wrong_row(offsets, children, core, position, above, bits):
    """Returns the first row that differs from its own bit and the rows of its children, or -1."""
    k = core.shape[0]
    width = np.uint64(k // 64 + 1)
    union = np.zeros(width, np.uint64)
    for i in range(k):
        u, row, column = core[i], np.uint64(i), np.uint64(i + 1)
        union[:] = 0
        union[column >> _6] = _1 << (column & _63)
        for j in range(offsets[u], offsets[u + 1]):
            at = position[children[j]] - above
            if 0 <= at < k:
                start = row_start(np.uint64(at), width)
                for w in range(np.uint64(at + 1) >> _6, width):
                    union[w] |= bits[start + w]
        start = row_start(row, width)
        for w in range(column >> _6, width):
            if union[w] != bits[start + w]:
                return i
    return -1
