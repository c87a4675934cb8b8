"""Sorts edges on the device, drops duplicates and self-loops, and finds where rows begin."""

from typing import NamedTuple

import numpy as np

from grailbench.cuda.edges import library
from grailbench.cuda.edges.staging import to_device
from grailbench.cuda.gateway import cuda

WIDE = 2**31  #: from so many edges on, those to roots included, offsets are int64


class SimpleRows(NamedTuple):
    """The CSR of a graph without duplicate edges and self-loops, on the device; rows ascend.

    starts    int32[n + 1], or int64 if edges before duplicates are dropped, and one to each vertex, may be 2**31
    children  int32[>= m]
    parents   int32[n]: the number of parents of each vertex
    edges     m
    """

    starts: object
    children: object
    parents: object
    edges: int


@cuda.jit(cache=True)
def _join(sources, targets, edges, keys):
    """keys int64[m]: the source of each edge in the upper half, the target in the lower."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        keys[k] = (np.int64(sources[k]) << 32) | np.int64(targets[k])


@cuda.jit(cache=True)
def _join_components(sources, targets, component, edges, keys):
    """As `_join`, for the components of both ends."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        keys[k] = (np.int64(component[sources[k]]) << 32) | np.int64(component[targets[k]])


@cuda.jit(cache=True)
def _mark(keys, edges, kept):
    """kept int8[m]: whether an edge, of ascending keys, is no self-loop and the first of its kind."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        key = keys[k]
        loop = (key >> 32) == (key & 0x7FFFFFFF)
        kept[k] = 0 if loop or (k > 0 and keys[k - 1] == key) else 1


@cuda.jit(cache=True)
def _place(keys, edges, kept, upto, children, parents):
    """Writes the targets of the kept edges one after the other, and counts the parents of each vertex."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        if kept[k]:
            child = np.int32(keys[k] & 0x7FFFFFFF)
            children[upto[k] - 1] = child
            cuda.atomic.add(parents, child, 1)


@cuda.jit(device=True)
def first_of(keys, edges, high):
    """Returns how many of the ascending keys have an upper half below `high`."""
    low, end, wanted = np.int64(0), np.int64(edges), np.int64(high) << 32
    while low < end:
        middle = (low + end) >> 1
        if keys[middle] < wanted:
            low = middle + 1
        else:
            end = middle
    return low


@cuda.jit(device=True)
def place_of(starts, low, end, edge):
    """Returns the last place p in [low, end) with starts[p] <= edge; starts[low] is at most `edge`."""
    while end - low > 1:
        middle = (low + end) >> 1
        if starts[middle] <= edge:
            low = middle
        else:
            end = middle
    return low


@cuda.jit(cache=True)
def _begin(keys, edges, upto, vertices, starts):
    """starts[n + 1]: how many edges were kept of the sources before each vertex."""
    for u in range(cuda.grid(1), vertices + 1, cuda.gridsize(1)):
        at = first_of(keys, edges, u)
        starts[u] = upto[at - 1] if at > 0 else 0


def simple_rows(vertices: int, edges: int, sources, targets, component=None, wide: bool | None = None) -> SimpleRows:
    """Returns the rows of a graph of `vertices` vertices from its `edges` edges, int32 on the device; waits once.

    component int32, on the device: of each end, the vertex that stands for it; None if each stands for itself. `wide`
    forces offsets of 64 bits, for tests.
    """
    wide = edges + vertices >= WIDE if wide is None else wide
    offset = np.int64 if wide else np.int32
    keys = library.empty(edges, np.int64)
    if component is None:
        library.launch(_join, edges, sources, targets, edges, keys)
    else:
        library.launch(_join_components, edges, sources, targets, component, edges, keys)
    if edges:
        keys.sort()
    kept = library.full(edges, 0, np.int8)
    library.launch(_mark, edges, keys, edges, kept)
    upto = library.sums(kept, wide)
    left = library.last_of(upto)
    starts, children = library.empty(vertices + 1, offset), library.empty(left, np.int32)
    parents = library.full(vertices, 0, np.int32)
    library.launch(_place, edges, keys, edges, kept, upto, children, parents)
    library.launch(_begin, vertices + 1, keys, edges, upto, vertices, starts)
    return SimpleRows(starts, children, parents, left)


@cuda.jit(cache=True)
def _count_parents(children, edges, parents):
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        cuda.atomic.add(parents, children[k], 1)


def given_rows(offsets: np.ndarray, children: np.ndarray, wide: bool | None = None) -> SimpleRows:
    """Copies a CSR of the host (int64[n + 1], int32[m]), n > 0, without duplicates and self-loops, to the device.

    `wide` forces offsets of 64 bits, for tests.
    """
    vertices, edges = offsets.shape[0] - 1, children.shape[0]
    wide = edges + vertices >= WIDE if wide is None else wide
    if wide:  # columns of 32 bits travel
        starts = to_device(np.ascontiguousarray(offsets, np.int64).view(np.int32))[0].view(np.int64)
    else:
        (starts,) = to_device(offsets.astype(np.int32))
    (there,) = to_device(children)
    parents = library.full(vertices, 0, np.int32)
    library.launch(_count_parents, edges, there, edges, parents)
    return SimpleRows(starts, there, parents, edges)


@cuda.jit(cache=True)
def _begin_all(keys, edges, vertices, starts):
    for u in range(cuda.grid(1), vertices + 1, cuda.gridsize(1)):
        starts[u] = first_of(keys, edges, u)


@cuda.jit(cache=True)
def _lower(keys, edges, lower):
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        lower[k] = np.int32(keys[k] & 0x7FFFFFFF)


def transposed(vertices: int, edges: int, sources, targets, wide: bool):
    """Returns the CSR of parents (starts [n + 1], int32[m] with ascending rows) of distinct edges on the device."""
    keys = library.empty(edges, np.int64)
    library.launch(_join, edges, targets, sources, edges, keys)
    if edges:
        keys.sort()
    starts, parents = library.empty(vertices + 1, np.int64 if wide else np.int32), library.empty(edges, np.int32)
    library.launch(_lower, edges, keys, edges, parents)
    library.launch(_begin_all, vertices + 1, keys, edges, vertices, starts)
    return starts, parents
