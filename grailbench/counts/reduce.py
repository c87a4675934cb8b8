"""What of an acyclic graph must be swept so that the descendants of all its vertices are counted.

A vertex with at most one child, and with no parents that are left, is peeled, again and again: it counts its own size
and what its child counts. A vertex with a single parent is reached by itself and by what reaches that parent, so such
vertices form out-trees, and what reaches a tree's root reaches all of it. Only roots with two or more parents are the
columns that a sweep must tell apart; they weigh what their trees hold. A vertex counts the columns that it reaches, and
its own subtree unless it is a column.

What is left is numbered by a depth-first search, children first, so that neighbours share most of their ancestors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.counts.index import Task


class Reduced(NamedTuple):
    """The vertices that are left, numbered 0 .. r - 1 with children before parents, and their columns.

    offsets, parents   int64[r + 1], int32[e]   CSR of parents, all of which have a greater number
    columns            int32[c]                 the vertices that are columns, ascending
    weights            int64[c]                 original vertices in the out-tree of each column
    base               int64[r]                 what a vertex counts besides columns; 0 for columns
    place              int32[k]                 the number of each vertex of the task; -1 for those that were peeled
    """

    offsets: np.ndarray
    parents: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    base: np.ndarray
    place: np.ndarray

    @property
    def vertices(self) -> int:
        return self.base.shape[0]


def reduced(task: Task) -> Reduced:
    """Peels, numbers and weighs in O(n + m), on one thread."""
    left, roots = _peeled(task.offsets, task.children, task.order)
    place, count = _numbered(task.offsets, task.children, roots, left)
    offsets, parents = _parents(task.offsets, task.children, place, count)
    return Reduced(offsets, parents, *_weighed(offsets, parents, place, task.sizes), place)


def expanded(task: Task, form: Reduced, columns: np.ndarray) -> np.ndarray:
    """The count of every vertex of the task, int64[k]. columns: int64[r], the weights of the columns that each vertex
    that is left reaches."""
    return _expanded(task.offsets, task.children, task.order, task.sizes, form.place, form.base + columns)


@njit(cache=True, nogil=True)
def _peeled(offsets, children, order):
    """Which vertices are left, bool[k], and those of them that have no parents left, int32, in their order."""
    k = order.shape[0]
    inner, left = np.zeros(k, np.bool_), np.zeros(k, np.bool_)
    roots, count = np.empty(k, np.int32), 0
    for i in range(k):
        u = order[i]
        if inner[u] or offsets[u + 1] - offsets[u] > 1:
            left[u] = True
            if not inner[u]:
                roots[count] = u
                count += 1
            for at in range(offsets[u], offsets[u + 1]):
                inner[children[at]] = True
    return left, roots[:count].copy()


@njit(cache=True, nogil=True)
def _numbered(offsets, children, roots, left):
    """The numbers of vertices, int32[k], in the order in which a depth-first search leaves them; -1 for others. Last
    roots and last children come first: rows then share more than the other way round (docs/notebook.md)."""
    k = left.shape[0]
    place, met = np.full(k, -1, np.int32), np.zeros(k, np.bool_)
    stack, rest = np.empty(k, np.int32), np.empty(k, np.int64)
    count = 0
    for i in range(roots.shape[0] - 1, -1, -1):
        stack[0], rest[0] = roots[i], offsets[roots[i] + 1]
        depth = 1
        while depth:
            u = stack[depth - 1]
            if rest[depth - 1] == offsets[u]:
                place[u] = count
                count += 1
                depth -= 1
                continue
            rest[depth - 1] -= 1
            v = children[rest[depth - 1]]
            if not met[v]:
                met[v] = True
                stack[depth], rest[depth] = v, offsets[v + 1]
                depth += 1
    return place, count


@njit(cache=True, nogil=True)
def _parents(offsets, children, place, count):
    """The CSR of parents of the vertices that are left, by their numbers; rows ascend."""
    of, starts = np.empty(count, np.int32), np.zeros(count + 1, np.int64)
    for u in range(place.shape[0]):
        if place[u] >= 0:
            of[place[u]] = u
            for at in range(offsets[u], offsets[u + 1]):
                starts[place[children[at]] + 1] += 1
    for v in range(count):
        starts[v + 1] += starts[v]
    free, parents = starts[:-1].copy(), np.empty(starts[count], np.int32)
    for p in range(count):
        u = of[p]
        for at in range(offsets[u], offsets[u + 1]):
            v = place[children[at]]
            parents[free[v]] = p
            free[v] += 1
    return starts, parents


@njit(cache=True, nogil=True)
def _weighed(offsets, parents, place, sizes):
    """The fields `columns`, `weights` and `base` of `Reduced`."""
    count, found = offsets.shape[0] - 1, 0
    base = np.empty(count, np.int64)
    for u in range(place.shape[0]):
        if place[u] >= 0:
            base[place[u]] = sizes[u]
    for v in range(count):
        if offsets[v + 1] - offsets[v] == 1:
            base[parents[offsets[v]]] += base[v]
        found += offsets[v + 1] - offsets[v] > 1
    columns, weights, found = np.empty(found, np.int32), np.empty(found, np.int64), 0
    for v in range(count):
        if offsets[v + 1] - offsets[v] > 1:
            columns[found], weights[found] = v, base[v]
            base[v] = 0
            found += 1
    return columns, weights, base


@njit(cache=True, nogil=True)
def _expanded(offsets, children, order, sizes, place, found):
    counts = np.empty(order.shape[0], np.int64)
    for i in range(order.shape[0] - 1, -1, -1):
        u = order[i]
        if place[u] >= 0:
            counts[u] = found[place[u]]
        else:
            counts[u] = sizes[u]
            if offsets[u + 1] > offsets[u]:
                counts[u] += counts[children[offsets[u]]]
    return counts
