"""Answers single queries, for callers that ask one pair at a time.

Addresses of arrays are kept in a block, an int64 array, and compiled functions take its address and two integers, by
their entry points: 0.15 us a call where numba's dispatch with arrays takes 3.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numba import boolean, carray, int64, njit, optional, types
from numba.core import cgutils
from numba.extending import intrinsic

from grailbench.problems.reachability.cpu.search import BLOCK, Scratch, scratch, search_both, search_open
from grailbench.problems.reachability.hubs import joined, parted
from grailbench.problems.reachability.labels import Labels, contains, cuts

_1, _2 = np.uint64(1), np.uint64(2)
#: places in a block; those with names of arrays hold addresses, 0 where there is no such array
(ORIGINALS, COMPONENT, VERTICES, WIDTH, DIM, LEVELED, BREADTH_FIRST, EDGES, LANES, HUBS, OFFSETS, CHILDREN, ABOVE,
 PARENTS, FIELDS) = range(15)  # fmt: skip
QUICK = optional(boolean)(int64, int64, int64)  #: the signature of `OnePair.quick`


class OnePair:
    """Answers by the filters, and by a search where they leave a pair open; see `reachability.index.OnePair`."""

    __slots__ = ("_idle", "_kept", "_new", "_search", "at", "quick")

    def __init__(
        self, component: np.ndarray | None, rows: tuple[np.ndarray, np.ndarray, np.ndarray],
        parents: tuple[np.ndarray, np.ndarray] | None, labels: Labels, hubs: np.ndarray | None, breadth_first: bool,
    ):  # fmt: skip
        """component: int32[original n], or None if each vertex is its own component; rows, parents as in `search`."""
        offsets, children, levels = rows
        block, vertices = np.zeros(FIELDS, np.int64), offsets.shape[0] - 1
        block[ORIGINALS] = vertices - 1 if component is None else component.shape[0]
        block[VERTICES : EDGES + 1] = (
            vertices, labels.width, len(labels.pairs), levels.shape[0] > 0, breadth_first, children.shape[0]
        )  # fmt: skip
        arrays = labels.lanes, hubs, offsets, children, *(parents or (None, None))
        block[COMPONENT] = 0 if component is None else component.ctypes.data
        block[LANES:] = [0 if array is None else array.ctypes.data for array in arrays]
        self._kept = block, component, *arrays
        self._new, self._idle = partial(scratch, vertices, int(labels.width)), []
        self.quick, self._search, self.at = entry(_filter, QUICK), None, block.ctypes.data

    def search(self, source: int, target: int) -> bool:
        """Answers by a search, without the filters."""
        if self._search is None:  # compiled when it is first needed
            self._search = entry(_search, boolean(int64, int64, int64, int64))
        try:
            own = self._idle.pop()
        except IndexError:
            own = self._new()
            addresses = np.array([array.ctypes.data for array in own], np.int64)
            own = addresses.ctypes.data, addresses, own
        answer = self._search(self.at, own[0], source, target)
        self._idle.append(own)
        return answer


@intrinsic
def pointer(typing, address):
    """An int64 as a pointer."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


@njit(cache=True, inline="always")
def outside(block, source, target):
    """Whether an integer is no original vertex."""
    return source < 0 or target < 0 or source >= block[ORIGINALS] or target >= block[ORIGINALS]


@njit(cache=True, inline="always")
def components(block, source, target):
    """The components of two original vertices, which must be in range."""
    if block[COMPONENT] == 0:
        return source, target
    component = carray(pointer(block[COMPONENT]), (block[ORIGINALS],), np.int32)
    return np.int64(component[source]), np.int64(component[target])


@njit(cache=True)
def _filter(at, source, target):
    """The answer of the filters to one query. at: the address of the block, int64[FIELDS]."""
    block = carray(pointer(at), (FIELDS,), np.int64)
    if outside(block, source, target):
        return None
    source, target = components(block, source, target)
    if source == target:
        return True
    vertices, width, dim = block[VERTICES], block[WIDTH], block[DIM]
    lanes = carray(pointer(block[LANES]), (vertices * width,), np.int32)
    u, v, pairs = np.uint64(source) * np.uint64(width), np.uint64(target) * np.uint64(width), range(dim)
    level = _2 * np.uint64(dim)
    if block[LEVELED] != 0 and lanes[u + level] >= lanes[v + level]:
        return False
    if not contains(lanes, u, lanes, v, pairs):
        return False
    if cuts(lanes, u, lanes, v, pairs):
        return True
    if block[HUBS] != 0:
        hubs = carray(pointer(block[HUBS]), (2 * vertices,), np.uint64)
        a, b = _2 * np.uint64(source), _2 * np.uint64(target)
        if joined(hubs[a], hubs[b + _1]):
            return True
        if parted(hubs[a], hubs[a + _1], hubs[b], hubs[b + _1]):
            return False
    return None


@njit(cache=True, nogil=True)
def _search(at, scratch_at, source, target):
    """The answer of a search. scratch_at: the address of int64[5], the addresses of the arrays of a `Scratch`."""
    block, own = carray(pointer(at), (FIELDS,), np.int64), carray(pointer(scratch_at), (5,), np.int64)
    source, target = components(block, source, target)
    vertices, width = block[VERTICES], block[WIDTH]
    ends = np.array([source, target]).astype(np.int32)
    answers = np.empty(1, np.bool_)
    batch = ends[:1], ends[1:], answers
    offsets = carray(pointer(block[OFFSETS]), (vertices + 1,), np.int64)
    rows = offsets, carray(pointer(block[CHILDREN]), (block[EDGES],), np.int32), np.empty(0, np.int16)
    labels = carray(pointer(block[LANES]), (vertices * width,), np.int32), np.uint64(width), range(block[DIM])
    scratch = Scratch(
        carray(pointer(own[0]), (vertices,), np.int32),
        carray(pointer(own[1]), (vertices,), np.int32),
        carray(pointer(own[2]), (BLOCK,), np.int32),
        carray(pointer(own[3]), (width,), np.int32),
        carray(pointer(own[4]), (1,), np.int64),
    )
    scratch.opened[0] = 0
    breadth_first = block[BREADTH_FIRST] != 0
    if block[PARENTS] != 0:
        above = carray(pointer(block[ABOVE]), (vertices + 1,), np.int64)
        search_both(
            1, batch, rows, (above, carray(pointer(block[PARENTS]), (block[EDGES],), np.int32)), labels, scratch, None
        )
    elif block[HUBS] != 0:
        hubs = carray(pointer(block[HUBS]), (2 * vertices,), np.uint64)
        search_open(1, batch, rows, labels, hubs, scratch, breadth_first, None)
    else:
        search_open(1, batch, rows, labels, None, scratch, breadth_first, None)
    return answers[0]


@cache
def entry(function, signature) -> Callable:
    """A compiled function without numba's dispatch."""
    function.compile(signature)
    return function.overloads[signature.args].entry_point
