"""Answers single queries from the records of `core`, as `reachability.cpu.single` does from labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import boolean, carray, int64, njit, optional

from grailbench.problems.reachability.core.answer import PeeledIndex
from grailbench.problems.reachability.core.records import reaches
from grailbench.problems.reachability.cpu.single import entry, pointer

#: places in a block; after WIDTH come addresses of arrays, 0 where there is no such array, and their lengths
(ORIGINALS, ROOT, ABOVE, WIDTH, COMPONENT, SOURCES, TARGETS, FIRST, SECOND, THIRD, FOURTH,
 FIRST_SIZE, SECOND_SIZE, THIRD_SIZE, FOURTH_SIZE, FIELDS) = range(16)  # fmt: skip


class OnePair:
    """Answers queries of two original vertices, one at a time; see `reachability.index.OnePair`."""

    __slots__ = ("_kept", "at", "quick")

    def __init__(self, component: np.ndarray | None, index: PeeledIndex):
        """component: int32[original n], or None if each vertex is its own component."""
        root, closure = index.dag.super_root, index.closure[1:]
        records = (index.sources, index.targets) if index.tree is None else (index.tree, None)
        block = np.zeros(FIELDS, np.int64)
        block[ORIGINALS] = root if component is None else component.shape[0]
        block[ROOT], block[ABOVE], block[WIDTH] = root, index.above, index.closure[0]
        for at, array in enumerate((component, *records, *closure), COMPONENT):
            block[at] = 0 if array is None else array.ctypes.data
        for at, array in enumerate(closure, FIRST_SIZE):
            block[at] = array.shape[0]
        self._kept = block, component, records, closure
        kind = "tree" if index.tree is not None else "bits" if len(closure) == 1 else "rows"
        self.quick, self.at = _quick(kind, records[0].dtype == np.uint16), block.ctypes.data

    def search(self, source: int, target: int) -> bool:
        """Answers as `quick` does."""
        return bool(self.quick(self.at, source, target))


@njit(cache=True, inline="always")
def _vertex(block, v):
    """The vertex of the DAG of an original vertex, which must be in range."""
    if block[COMPONENT] == 0:
        return np.uint64(v)
    return np.uint64(carray(pointer(block[COMPONENT]), (block[ORIGINALS],), np.int32)[v])


@njit(cache=True, inline="always")
def _outside(block, source, target):
    return source < 0 or target < 0 or source >= block[ORIGINALS] or target >= block[ORIGINALS]


@njit(cache=True, inline="always")
def _by_records(block, source, target, kind, closure):
    u, v = _vertex(block, source), _vertex(block, target)
    sources = carray(pointer(block[SOURCES]), (block[ROOT] + 1, 4), kind)
    targets = carray(pointer(block[TARGETS]), (block[ROOT] + 1, 2), kind)
    return reaches(
        np.uint64(sources[u, 0]), np.uint64(sources[u, 1]), np.uint64(sources[u, 2]), np.uint64(sources[u, 3]),
        np.uint64(targets[v, 0]), np.uint64(targets[v, 1]), np.uint64(block[ABOVE]), closure,
    )  # fmt: skip


@njit(cache=True, inline="always")
def _by_bits(at, source, target, kind):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if _outside(block, source, target):
        return None
    bits = carray(pointer(block[FIRST]), (block[FIRST_SIZE],), np.uint64)
    return _by_records(block, source, target, kind, (np.uint64(block[WIDTH]), bits))


@njit(cache=True, inline="always")
def _by_rows(at, source, target, kind):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if _outside(block, source, target):
        return None
    table = carray(pointer(block[FIRST]), (block[FIRST_SIZE],), np.uint16)
    owner = carray(pointer(block[SECOND]), (block[SECOND_SIZE],), np.uint16)
    words = carray(pointer(block[THIRD]), (block[THIRD_SIZE],), np.uint64)
    usual = carray(pointer(block[FOURTH]), (block[FOURTH_SIZE],), np.uint64)
    return _by_records(block, source, target, kind, (np.uint64(block[WIDTH]), table, owner, words, usual))


@njit(cache=True, inline="always")
def _by_tree(at, source, target, kind):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if _outside(block, source, target):
        return None
    u, v = _vertex(block, source), _vertex(block, target)
    tree = carray(pointer(block[SOURCES]), (block[ROOT] + 1, 2), kind)
    if block[ABOVE] == 0:  # out-trees
        u, v = v, u
    return np.uint64(tree[u, 0]) - np.uint64(tree[v, 0]) < np.uint64(tree[v, 1])


@njit(cache=True)
def _short_bits(at, source, target):
    return _by_bits(at, source, target, np.uint16)


@njit(cache=True)
def _long_bits(at, source, target):
    return _by_bits(at, source, target, np.uint32)


@njit(cache=True)
def _short_rows(at, source, target):
    return _by_rows(at, source, target, np.uint16)


@njit(cache=True)
def _long_rows(at, source, target):
    return _by_rows(at, source, target, np.uint32)


@njit(cache=True)
def _short_tree(at, source, target):
    return _by_tree(at, source, target, np.uint16)


@njit(cache=True)
def _long_tree(at, source, target):
    return _by_tree(at, source, target, np.uint32)


_KERNELS = {
    "bits": (_long_bits, _short_bits), "rows": (_long_rows, _short_rows), "tree": (_long_tree, _short_tree),
}  # fmt: skip


@cache
def _quick(kind: str, narrow: bool) -> Callable[[int, int, int], bool | None]:
    """The compiled function for a kind of index; it takes the address of a block and two original vertices."""
    return entry(_KERNELS[kind][narrow], optional(boolean)(int64, int64, int64))
