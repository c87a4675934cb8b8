"""What of an acyclic graph must be swept so that the descendants of all its vertices are counted.

A vertex with at most one child, and with no parents left, is peeled, again and again: it counts its own size and what
its child counts. Vertices with a single parent form out-trees; only their roots, with two or more parents, are the
columns that a sweep must tell apart, and weigh what their trees hold. Implementations number what is left: `reduced` by
a depth-first search, so that neighbours share ancestors; `listed` by levels.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from grailbench.problems.counts.index import Task

NONE, MANY, PEELED = -1, -2, -3  #: in place of the only parent of a vertex


class Reduced(namedtuple("Reduced", "offsets parents columns weights base place")):
    """The vertices that are left, numbered 0 .. r - 1 with children before parents, and their columns.

    offsets, parents   int64[r + 1], int32[e]   CSR of parents, all of which have a greater number
    columns            int32[c]                 the vertices that are columns, ascending
    weights            int64[c]                 original vertices in the out-tree of each column
    base               int64[r]                 what a vertex counts besides columns; 0 for columns
    place              int32[k]                 the number of each vertex of the task; -1 for those that were peeled
    """

    @property
    def vertices(self) -> int:
        return self.base.shape[0]


class Listed(namedtuple("Listed", "order bounds columns weights base place")):
    """The vertices that are left by levels, children before parents, and their columns. They keep their numbers.

    order              int32[r]                 the vertices
    bounds             int64[levels + 1]        where each level begins in `order`
    columns, weights   int32[c], int64[c]       the columns in the order of `order`, and what their out-trees hold
    base               int64[k]                 what a vertex counts besides columns; 0 for columns
    place              int32[k]                 the vertex itself; -1 for those that were peeled
    """


def reduced(task: Task) -> Reduced:
    """Peels, numbers and weighs in O(n + m), on one thread."""
    parent = _parents(task.offsets, task.children, task.order)
    place, count = _numbered(task.offsets, task.children, task.order[parent[task.order] == NONE])
    of, offsets, parents = _upward(task.offsets, task.children, place, count)
    base = _subtree_weights(task.order, parent, task.sizes)[of]
    columns = np.flatnonzero(parent[of] == MANY).astype(np.int32)
    weights = base[columns]
    base[columns] = 0
    return Reduced(offsets, parents, columns, weights, base, place)


def listed(task: Task) -> Listed:
    """Peels and weighs in O(n + m), on one thread."""
    parent = _parents(task.offsets, task.children, task.order)
    base = _subtree_weights(task.order, parent, task.sizes)
    upward = task.order[::-1]
    left = parent[upward] != PEELED
    bounds = np.concatenate(([0], np.cumsum(left)))[task.vertices - task.bounds[::-1]]
    order = upward[left]
    columns = order[parent[order] == MANY]
    weights = base[columns]
    base[columns] = 0
    place = np.where(parent == PEELED, -1, np.arange(task.vertices, dtype=np.int32))
    return Listed(order, bounds, columns, weights, base, place)


def expanded(task: Task, form: Reduced | Listed, columns: np.ndarray) -> np.ndarray:
    """The count of every vertex of the task, [k]. columns: like `form.base`, integers or estimates, the weights of the
    columns that each vertex that is left reaches."""
    return _expanded(task.offsets, task.children, task.order, task.sizes, form.place, form.base + columns)


@njit(cache=True, nogil=True)
def _parents(offsets, children, order):
    """The only parent of each vertex that is left among those that are left, int32[k]; `NONE` or `MANY` without or with
    several; `PEELED` for others."""
    parent = np.full(order.shape[0], NONE, np.int32)
    for i in range(order.shape[0]):
        u = order[i]
        if parent[u] == NONE and offsets[u + 1] - offsets[u] <= 1:
            parent[u] = PEELED
            continue
        for at in range(offsets[u], offsets[u + 1]):
            v = children[at]
            parent[v] = u if parent[v] == NONE else MANY
    return parent


@njit(cache=True, nogil=True)
def _subtree_weights(order, parent, sizes):
    """The original vertices in the subtree of each vertex, int64[k], where an edge from an only parent is one of a
    tree."""
    base = sizes.copy()
    for i in range(order.shape[0] - 1, -1, -1):
        if parent[order[i]] >= 0:
            base[parent[order[i]]] += base[order[i]]
    return base


@njit(cache=True, nogil=True)
def _numbered(offsets, children, roots):
    """The numbers of vertices, int32[k], in the order in which a depth-first search from the roots leaves them, -1 for
    others; and how many have one. Last roots and last children come first: rows then share more than the other way
    round (docs/notes)."""
    k = offsets.shape[0] - 1
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
def _upward(offsets, children, place, count):
    """The vertex of each number, int32[r], and the CSR of parents by their numbers; rows ascend."""
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
    return of, starts, parents


@njit(cache=True, nogil=True)
def _expanded(offsets, children, order, sizes, place, found):
    counts = np.empty(order.shape[0], found.dtype)
    for i in range(order.shape[0] - 1, -1, -1):
        u = order[i]
        if place[u] >= 0:
            counts[u] = found[place[u]]
        else:
            counts[u] = sizes[u]
            if offsets[u + 1] > offsets[u]:
                counts[u] += counts[children[offsets[u]]]
    return counts
