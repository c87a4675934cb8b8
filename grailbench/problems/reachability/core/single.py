"""Answers single queries from the records of `core`, as `reachability.cpu.single` does from labels."""

from __future__ import annotations

import numpy as np
from numba import carray, njit

from grailbench.problems.reachability.core.answer import PeeledIndex
from grailbench.problems.reachability.core.records import reaches
from grailbench.problems.reachability.cpu.single import COMPONENT, ORIGINALS, QUICK, components, entry, outside, pointer

#: further places in a block, behind `COMPONENT`; those with names of arrays hold addresses, then come their lengths
(ROOT, ABOVE, WIDTH, NARROW, SOURCES, TARGETS, FIRST, SECOND, THIRD, FOURTH,
 FIRST_SIZE, SECOND_SIZE, THIRD_SIZE, FOURTH_SIZE, FIELDS) = range(2, 17)  # fmt: skip


class OnePair:
    """Answers queries of two original vertices, one at a time; see `reachability.index.OnePair`."""

    __slots__ = ("_kept", "at", "quick")

    def __init__(self, component: np.ndarray | None, index: PeeledIndex):
        """component: int32[original n], or None if each vertex is its own component."""
        root, closure = index.dag.super_root, index.closure[1:]
        records = (index.sources, index.targets) if index.tree is None else (index.tree, None)
        block = np.zeros(FIELDS, np.int64)
        block[ORIGINALS] = root if component is None else component.shape[0]
        block[COMPONENT] = 0 if component is None else component.ctypes.data
        block[ROOT : NARROW + 1] = root, index.above, index.closure[0], records[0].dtype == np.uint16
        for at, array in enumerate((*records, *closure), SOURCES):
            block[at] = 0 if array is None else array.ctypes.data
        for at, array in enumerate(closure, FIRST_SIZE):
            block[at] = array.shape[0]
        self._kept = block, component, records, closure
        kernel = _by_tree if index.tree is not None else _by_bits if len(closure) == 1 else _by_rows
        self.quick, self.at = entry(kernel, QUICK), block.ctypes.data

    def search(self, source: int, target: int) -> bool:
        """Answers as `quick` does."""
        return bool(self.quick(self.at, source, target))


@njit(cache=True, inline="always")
def _reached(block, source, target, kind, closure):
    u, v = components(block, source, target)
    sources = carray(pointer(block[SOURCES]), (block[ROOT] + 1, 4), kind)
    targets = carray(pointer(block[TARGETS]), (block[ROOT] + 1, 2), kind)
    return reaches(
        np.uint64(sources[u, 0]), np.uint64(sources[u, 1]), np.uint64(sources[u, 2]), np.uint64(sources[u, 3]),
        np.uint64(targets[v, 0]), np.uint64(targets[v, 1]), np.uint64(block[ABOVE]), closure,
    )  # fmt: skip


@njit(cache=True)
def _by_bits(at, source, target):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if outside(block, source, target):
        return None
    closure = np.uint64(block[WIDTH]), carray(pointer(block[FIRST]), (block[FIRST_SIZE],), np.uint64)
    if block[NARROW] != 0:
        return _reached(block, source, target, np.uint16, closure)
    return _reached(block, source, target, np.uint32, closure)


@njit(cache=True)
def _by_rows(at, source, target):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if outside(block, source, target):
        return None
    table = carray(pointer(block[FIRST]), (block[FIRST_SIZE],), np.uint16)
    owner = carray(pointer(block[SECOND]), (block[SECOND_SIZE],), np.uint16)
    words = carray(pointer(block[THIRD]), (block[THIRD_SIZE],), np.uint64)
    usual = carray(pointer(block[FOURTH]), (block[FOURTH_SIZE],), np.uint64)
    closure = np.uint64(block[WIDTH]), table, owner, words, usual
    if block[NARROW] != 0:
        return _reached(block, source, target, np.uint16, closure)
    return _reached(block, source, target, np.uint32, closure)


@njit(cache=True, inline="always")
def _within(block, u, v, kind):
    tree = carray(pointer(block[SOURCES]), (block[ROOT] + 1, 2), kind)
    return np.uint64(tree[u, 0]) - np.uint64(tree[v, 0]) < np.uint64(tree[v, 1])


@njit(cache=True)
def _by_tree(at, source, target):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if outside(block, source, target):
        return None
    u, v = components(block, source, target)
    if block[ABOVE] == 0:  # out-trees
        u, v = v, u
    return _within(block, u, v, np.uint16) if block[NARROW] != 0 else _within(block, u, v, np.uint32)
