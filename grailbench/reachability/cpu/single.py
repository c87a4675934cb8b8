"""Answers single queries by the filters alone, for callers that ask one pair at a time.

Passing a dozen arrays to a compiled function takes longer than the filters do. So their addresses are kept in one
block, an int64 array, and the function takes the address of that block and two integers. It is called by its entry
point, without numba's dispatch: 0.1 us a call where the dispatch with arrays takes 3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from grailbench.reachability.hubs import joined, parted
from grailbench.reachability.index import NO_SOURCE, NO_TARGET, OPEN
from grailbench.reachability.labels import Labels, contains, cuts

_1, _2 = np.uint64(1), np.uint64(2)
_FIELDS = 8


class OnePair:
    """A function of two original vertices; it keeps the arrays alive whose addresses it has. See `Index.one_pair`."""

    __slots__ = ("_at", "_call", "_kept")

    def __init__(self, block: np.ndarray, kept: tuple):
        self._kept = block, *kept
        self._call, self._at = _entry(), block.ctypes.data

    def __call__(self, source: int, target: int) -> int:
        return self._call(self._at, source, target)

    @property
    def parts(self) -> tuple[Callable[[int, int, int], int], int]:
        """The compiled function and its first argument, for callers who want one Python call less."""
        return self._call, self._at


def filtered(
    component: np.ndarray | None, vertices: int, levels: np.ndarray, labels: Labels, hubs: np.ndarray | None
) -> OnePair:
    """The function that asks the level filter (if `levels` is not empty), the labels, the tree and the hubs (if not
    None). component: int32[original n], or None; vertices: of the `Dag`."""
    originals = vertices - 1 if component is None else component.shape[0]
    places = [0 if array is None else array.ctypes.data for array in (component, labels.lanes, hubs)]
    shape = [originals, vertices, int(labels.width), len(labels.pairs), int(levels.shape[0] > 0)]
    return OnePair(np.array([*shape, *places], np.int64), (component, labels, hubs))


@intrinsic
def _pointer(typing, address):
    """An int64 as a pointer."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@njit(cache=True)
def _filter(at, source, target):
    """The answer of the filters to one query. at: address of the block, int64[8]: original vertices, vertices of the
    `Dag`, lanes a record, label pairs, whether levels are compared; addresses of the components, the label records and
    the hubs' words, 0 where there are none."""
    block = carray(_pointer(at), (_FIELDS,), np.int64)
    originals, vertices, width, dim, leveled = block[0], block[1], block[2], block[3], block[4]
    if source < 0 or source >= originals:
        return NO_SOURCE
    if target < 0 or target >= originals:
        return NO_TARGET
    if block[5] != 0:
        component = carray(_pointer(block[5]), (originals,), np.int32)
        source, target = np.int64(component[source]), np.int64(component[target])
    if source == target:
        return 1
    lanes = carray(_pointer(block[6]), (vertices * width,), np.int32)
    u, v, pairs = np.uint64(source) * np.uint64(width), np.uint64(target) * np.uint64(width), range(dim)
    level = _2 * np.uint64(dim)
    if leveled != 0 and lanes[u + level] >= lanes[v + level]:
        return 0
    if not contains(lanes, u, lanes, v, pairs):
        return 0
    if cuts(lanes, u, lanes, v, pairs):
        return 1
    if block[7] != 0:
        hubs = carray(_pointer(block[7]), (2 * vertices,), np.uint64)
        a, b = _2 * np.uint64(source), _2 * np.uint64(target)
        if joined(hubs[a], hubs[b + _1]):
            return 1
        if parted(hubs[a], hubs[a + _1], hubs[b], hubs[b + _1]):
            return 0
    return OPEN


@cache
def _entry() -> Callable[[int, int, int], int]:
    """The compiled filter without numba's dispatch."""
    signature = (types.int64, types.int64, types.int64)
    _filter.compile(signature)
    return _filter.overloads[signature].entry_point
