"""What the generators of the catalogue share: checks of sizes and rows, and ids that tell nothing of the order."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES, Graph
from grailbench.graph.hashing import permutation


def checked(vertices: int) -> int:
    """Returns the number of vertices. Raises InputError if it is below 1 or too large for 32-bit ids."""
    if not 1 <= vertices <= MAX_VERTICES:
        raise InputError(f"{vertices} vertices; between 1 and {MAX_VERTICES} fit")
    return int(vertices)


def edges_of(vertices: int, degree: float) -> int:
    """Returns `vertices * degree` rounded up. Raises InputError if it is 2^31 or more."""
    if not 0 <= vertices * degree < 2**31:
        raise InputError(f"{vertices} vertices with {degree:g} edges each; fewer than 2^31 edges fit")
    return int(vertices * degree) + 1


@njit(cache=True, inline="always")
def absent(ends, begin, end, vertex):
    """Whether a vertex is none of ends[begin:end], the part of a row that is there already."""
    found = False
    for k in range(begin, end):
        found |= ends[k] == vertex
    return not found


def renumbered(offsets: np.ndarray, targets: np.ndarray, key: np.uint64) -> Graph:
    """The graph of a CSR, int64[n + 1] and int32[m], under random ids; its edges are grouped by source, ascending."""
    n = offsets.shape[0] - 1
    order = permutation(n, key)
    return Graph(n, *_renumbered(order, offsets, targets))


@njit(cache=True, nogil=True)
def _renumbered(order, offsets, targets):
    n = order.shape[0]
    begins = np.zeros(n + 1, np.int64)
    for i in range(n):
        begins[order[i] + 1] = offsets[i + 1] - offsets[i]
    for v in range(n):
        begins[v + 1] += begins[v]
    sources, ends = np.empty(targets.shape[0], np.int32), np.empty(targets.shape[0], np.int32)
    for i in range(n):
        at = begins[order[i]]
        for k in range(offsets[i], offsets[i + 1]):
            sources[at], ends[at] = order[i], order[targets[k]]
            at += 1
    return sources, ends
