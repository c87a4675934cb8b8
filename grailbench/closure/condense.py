"""Strongly connected components of a bit matrix, in topological order, by Kosaraju's algorithm (Sharir 1981).

Both searches keep the unvisited vertices as bits. The next child of u is then the lowest bit that is set in row u and
in the unvisited bits. Together the searches read O(n^2 / 64 + n) words, whatever the number of edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.closure.bits import lowest, transpose


class Condensed(NamedTuple):
    """The k components, numbered in topological order: every edge stays in its component or leads to a later one.

    component  int32[n]      the component of each vertex
    starts     int64[k + 1]  where the members of each component begin in `members`
    members    int32[n]      the vertices by component, ascending within each
    """

    component: np.ndarray
    starts: np.ndarray
    members: np.ndarray

    @property
    def count(self) -> int:
        """Number of components."""
        return self.starts.shape[0] - 1


def condense(bits: np.ndarray) -> Condensed:
    """Returns the strongly connected components of uint64[n, words]."""
    order = _finishing_order(bits)
    component, count = _components(transpose(bits), order)
    members = np.argsort(component, kind="stable").astype(np.int32)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(component, minlength=count))))
    return Condensed(component, starts.astype(np.int64), members)


@njit(cache=True)
def _everything(n):
    left = np.zeros((n + 63) >> 6, np.uint64)
    for v in range(n):
        left[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    return left


@njit(cache=True)
def _finishing_order(bits):
    """Returns the vertices in the order in which a depth-first search finishes them, int32[n]."""
    n, width = bits.shape
    left = _everything(n)
    order, stack, at = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.int32)
    done = 0
    for root in range(n):
        if (left[root >> 6] >> np.uint64(root & 63)) & np.uint64(1) == 0:
            continue
        left[root >> 6] &= ~(np.uint64(1) << np.uint64(root & 63))
        stack[0] = root
        depth = 1
        while depth:
            u = stack[depth - 1]
            w = at[u]
            while w < width and bits[u, w] & left[w] == 0:
                w += 1
            at[u] = w
            if w == width:
                order[done] = u
                done += 1
                depth -= 1
            else:
                v = w * 64 + lowest(bits[u, w] & left[w])
                left[w] &= ~(np.uint64(1) << np.uint64(v & 63))
                stack[depth] = v
                depth += 1
    return order


@njit(cache=True)
def _components(reverse, order):
    """Returns the component of each vertex, int32[n], and the number of components.

    It searches the reverse relation, from the vertices in the reverse of `order`.
    """
    n, width = reverse.shape
    left = _everything(n)
    component, stack = np.empty(n, np.int32), np.empty(n, np.int32)
    count = 0
    for k in range(n - 1, -1, -1):
        root = order[k]
        if (left[root >> 6] >> np.uint64(root & 63)) & np.uint64(1) == 0:
            continue
        left[root >> 6] &= ~(np.uint64(1) << np.uint64(root & 63))
        stack[0] = root
        depth = 1
        while depth:
            depth -= 1
            u = stack[depth]
            component[u] = count
            for w in range(width):
                found = reverse[u, w] & left[w]
                left[w] &= ~found
                while found:
                    stack[depth] = w * 64 + lowest(found)
                    depth += 1
                    found &= found - np.uint64(1)
        count += 1
    return component, count
