"""Answers single queries from the records of `core`, as `reachability.cpu.single` does from labels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numba import boolean, carray, int64, njit, optional

from grailbench.reachability.core.records import reaches
from grailbench.reachability.cpu.single import entry, pointer

if TYPE_CHECKING:
    from grailbench.reachability.core.index import CoreIndex

#: places in a block; those from COMPONENT on hold addresses, 0 where there is no such array
ORIGINALS, ROOT, ABOVE, CORE, WORDS, COMPONENT, SOURCES, TARGETS, BITS, FIELDS = range(10)


class OnePair:
    """Answers queries of two original vertices, one at a time; see `reachability.index.OnePair`."""

    __slots__ = ("_kept", "at", "quick")

    def __init__(self, component: np.ndarray | None, index: CoreIndex):
        """component: int32[original n], or None if each vertex is its own component."""
        root, tree = index.dag.super_root, index.tree
        block = np.zeros(FIELDS, np.int64)
        arrays = (component, tree, None, None) if tree is not None else \
            (component, index.sources, index.targets, index.bits)  # fmt: skip
        block[:COMPONENT] = (
            root if component is None else component.shape[0], root, index.above, index.core,
            0 if index.bits is None else index.bits.shape[0],
        )  # fmt: skip
        block[COMPONENT:] = [0 if array is None else array.ctypes.data for array in arrays]
        self._kept = block, *arrays
        narrow = (index.sources if tree is None else tree).dtype == np.uint16
        self.quick, self.at = _quick(tree is not None, narrow), block.ctypes.data

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
def _by_records(at, source, target, kind):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if source < 0 or target < 0 or source >= block[ORIGINALS] or target >= block[ORIGINALS]:
        return None
    u, v = _vertex(block, source), _vertex(block, target)
    sources = carray(pointer(block[SOURCES]), (block[ROOT] + 1, 4), kind)
    targets = carray(pointer(block[TARGETS]), (block[ROOT] + 1, 2), kind)
    bits = carray(pointer(block[BITS]), (block[WORDS],), np.uint64)
    width = np.uint64(block[CORE]) // np.uint64(64) + np.uint64(1)
    return reaches(
        np.uint64(sources[u, 0]), np.uint64(sources[u, 1]), np.uint64(sources[u, 2]), np.uint64(sources[u, 3]),
        np.uint64(targets[v, 0]), np.uint64(targets[v, 1]), np.uint64(block[ABOVE]), width, bits,
    )  # fmt: skip


@njit(cache=True, inline="always")
def _by_tree(at, source, target, kind):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if source < 0 or target < 0 or source >= block[ORIGINALS] or target >= block[ORIGINALS]:
        return None
    u, v = _vertex(block, source), _vertex(block, target)
    tree = carray(pointer(block[SOURCES]), (block[ROOT] + 1, 2), kind)
    if block[ABOVE] == 0:  # out-trees
        u, v = v, u
    return np.uint64(tree[u, 0]) - np.uint64(tree[v, 0]) < np.uint64(tree[v, 1])


@njit(cache=True)
def _short_records(at, source, target):
    return _by_records(at, source, target, np.uint16)


@njit(cache=True)
def _long_records(at, source, target):
    return _by_records(at, source, target, np.uint32)


@njit(cache=True)
def _short_tree(at, source, target):
    return _by_tree(at, source, target, np.uint16)


@njit(cache=True)
def _long_tree(at, source, target):
    return _by_tree(at, source, target, np.uint32)


@cache
def _quick(tree: bool, narrow: bool) -> Callable[[int, int, int], bool | None]:
    """The compiled function for a kind of records; it takes the address of a block and two original vertices."""
    chosen = (_short_tree if narrow else _long_tree) if tree else (_short_records if narrow else _long_records)
    return entry(chosen, optional(boolean)(int64, int64, int64))
