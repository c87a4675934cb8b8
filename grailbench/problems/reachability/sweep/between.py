"""The part of a DAG between the sources and the targets of a batch, renumbered in topological order.

A vertex is kept if some source reaches it and it reaches some target: no path from a source to its target leaves these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag

_REACHED, _TARGET, _NEEDED = np.uint8(1), np.uint8(2), np.uint8(4)


class Between(NamedTuple):
    """A DAG of k vertices and e edges, all of which lead to a greater number.

    offsets, children   int64[k + 1], int32[e]: CSR
    sources, targets    int32[q]: the ends of the pairs
    which               int64[q]: the places of these pairs in the batch; all others are unreachable
    """

    offsets: np.ndarray
    children: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    which: np.ndarray

    @property
    def vertices(self) -> int:
        return self.offsets.shape[0] - 1


def between(dag: Dag, sources: np.ndarray, targets: np.ndarray, which: np.ndarray) -> Between:
    """Keeps what lies between the ends of the pairs `which` (int64[k]) of a batch (int32[q] each)."""
    number, vertices, edges = _numbered(dag.offsets, dag.children, dag.order, sources, targets, which)
    offsets, children = _rows(dag.offsets, dag.children, dag.order, number, vertices, edges)
    return Between(offsets, children, *_ends(number, sources, targets, which))


@njit(cache=True, inline="always")
def _set(bits, v):
    bits[v >> 6] |= np.uint64(1) << np.uint64(v & 63)


@njit(cache=True, inline="always")
def _bit(bits, v):
    return (bits[v >> 6] >> np.uint64(v & 63)) & np.uint64(1)


@njit(cache=True, nogil=True)
def _numbered(offsets, children, order, sources, targets, which):
    """The new number of each vertex, int32[n], -1 for those left out; how many vertices and edges are kept (at most).

    A pass down the order marks what sources reach; a pass up marks what of that reaches a target.
    """
    n = order.shape[0]
    reached, needed = np.zeros((n >> 6) + 1, np.uint64), np.zeros((n >> 6) + 1, np.uint64)
    for i in range(which.shape[0]):
        _set(reached, sources[which[i]])
        _set(needed, targets[which[i]])
    met, count = np.empty(n, np.int32), 0
    for i in range(n):
        u = order[i]
        if _bit(reached, u):
            met[count] = u
            count += 1
            for k in range(offsets[u], offsets[u + 1]):
                _set(reached, children[k])
    number = np.full(n, -1, np.int32)
    vertices, edges = 0, 0
    for i in range(count - 1, -1, -1):
        u = met[i]
        some = _bit(needed, u)
        for k in range(offsets[u], offsets[u + 1]):
            some |= _bit(reached, children[k]) & _bit(needed, children[k])
        if some:
            _set(needed, u)
            number[u] = vertices
            vertices += 1
            edges += offsets[u + 1] - offsets[u]
    for u in range(n):
        if number[u] >= 0:
            number[u] = vertices - 1 - number[u]
    return number, vertices, edges


@njit(cache=True, nogil=True)
def _rows(offsets, children, order, number, vertices, edges):
    """The CSR (int64[vertices + 1], int32[at most edges]) of the vertices that have a number."""
    starts, kept = np.empty(vertices + 1, np.int64), np.empty(edges, np.int32)
    at, row = 0, 0
    for i in range(order.shape[0]):
        u = order[i]
        if number[u] >= 0:
            starts[row] = at
            row += 1
            for k in range(offsets[u], offsets[u + 1]):
                v = number[children[k]]
                if v >= 0:
                    kept[at] = v
                    at += 1
    starts[vertices] = at
    return starts, kept[:at]


@njit(cache=True, nogil=True)
def _ends(number, sources, targets, which):
    """The ends of the pairs both of whose ends have a number, and the places of these pairs."""
    u, v, kept = np.empty(which.shape[0], np.int32), np.empty(which.shape[0], np.int32), np.empty_like(which)
    count = 0
    for i in range(which.shape[0]):
        a, b = number[sources[which[i]]], number[targets[which[i]]]
        if a >= 0 and b > a:
            u[count], v[count], kept[count] = a, b, which[i]
            count += 1
    return u[:count], v[:count], kept[:count]


@njit(cache=True, nogil=True)
def mirrored(offsets, targets):
    """The CSR (int64[k + 1], int32[e]) whose vertex v is vertex k - 1 - v of another one."""
    k, at = offsets.shape[0] - 1, 0
    starts, found = np.empty_like(offsets), np.empty_like(targets)
    for v in range(k):
        starts[v] = at
        for i in range(offsets[k - v] - 1, offsets[k - 1 - v] - 1, -1):
            found[at] = k - 1 - targets[i]
            at += 1
    starts[k] = at
    return starts, found
