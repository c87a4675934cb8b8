"""Peels the in-trees above a DAG and the out-trees below it; what is left is its core.

A source with at most one child is peeled, again and again: these vertices, B, are in-trees. Then sinks with at most one
parent among the rest are: these, A, are out-trees. One pass along the topological order finds B, one against it A.
Where no vertex has two parents, B is left empty, so that chains do not part the out-trees.

Sources: the tree cover of Agrawal, Borgida and Jagadish (SIGMOD 1989); reductions of a DAG before it is indexed are
those of Zhou, Zhou, Yu, Wei, Chen and Tang (SIGMOD 2017).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag

NONE = -1  #: in place of a vertex
_BELOW, _MANY, _ABOVE = np.int8(-2), np.int8(2), np.int8(-1)  # what a byte says of a vertex; else its parents, up to 2


@dataclass(frozen=True)
class Peeled:
    """The forests and the core of a DAG of n vertices and a super-root, whose entries are the last ones.

    above     number of vertices in B, the in-trees; they have the positions 0 to above - 1
    core      int32[k]: the vertices of the core in topological order; they have the positions above to above + k - 1
    position  int32[n + 1]: in B and A, the rank in a pre-order of the trees, in which a vertex is followed by its
              subtree; the positions of A come last. The super-root has the position n
    end       int32[n + 1]: the position after the subtree of a vertex, and position + 1 in the core
    gate      int32[n + 1]: of a vertex of B, the vertex outside of B at which the root of its tree points; of a vertex
              of A, the vertex of the core at which the root of its tree points; `NONE` if there is none; in the core,
              the vertex itself

    If u and v are both in B, u reaches v if position[v] <= position[u] < end[v]; if both are in A, if position[u] <=
    position[v] < end[u]. Otherwise u reaches what its gate reaches if u is in B, and v is reached by what reaches its
    gate if v is in A. No vertex of A reaches one outside of A, and none outside of B reaches one of B.
    """

    above: int
    core: np.ndarray
    position: np.ndarray
    end: np.ndarray
    gate: np.ndarray

    @property
    def vertices(self) -> int:
        """Number of vertices, without the super-root."""
        return int(self.position.shape[0] - 1)

    @property
    def below(self) -> int:
        """Number of vertices in A, the out-trees."""
        return self.vertices - self.above - int(self.core.shape[0])


def peel(dag: Dag) -> Peeled:
    """Finds the forests and the core in O(n + m), on one thread."""
    n, order, most = dag.vertices, dag.order, -1 if dag.edges == dag.vertices - 1 else 1
    state, gate = np.zeros(n, np.int8), np.full(n, NONE, np.int32)
    position, end = np.zeros(n, np.int32), np.ones(n, np.int32)
    of_vertices = state, position, end, gate
    above = _peel_above(dag.offsets, dag.children, order, most, *of_vertices)
    count = 0 if above == n - 1 else _peel_below(dag.offsets, dag.children, order, *of_vertices)
    core = np.empty(count, np.int32)
    if above:
        _place_above(order, *of_vertices)
    if above < n - 1:
        _place_below(order, above, core, *of_vertices)
    position[n - 1], end[n - 1], gate[n - 1] = n - 1, n, NONE
    return Peeled(above, core, position, end, gate)


@njit(cache=True, nogil=True)
def _peel_above(offsets, children, order, most, state, position, end, gate):
    """Finds B along the order, and returns how many there are. most: children of a vertex of B, 1, or -1 for no B.

    Afterwards gate[u] is the child of u in B, or the last parent outside of B of another vertex; end[u] is the size of
    the subtree, and position[u] the place within that of the child.
    """
    above = 0
    for i in range(1, order.shape[0]):
        u = np.uint64(order[i])
        first, last = np.uint64(offsets[u]), np.uint64(offsets[u + np.uint64(1)])
        if state[u] == 0 and np.int64(last - first) <= most:
            state[u] = _ABOVE
            above += 1
            if first < last:
                child = np.uint64(children[first])
                gate[u] = child
                position[u] = end[child]
                end[child] += end[u]
        else:
            end[u] = 1
            for k in range(first, last):
                child = np.uint64(children[k])
                gate[child] = u
                if state[child] < _MANY:
                    state[child] += 1
    return above


@njit(cache=True, nogil=True)
def _peel_below(offsets, children, order, state, position, end, gate):
    """Finds A against the order, and returns the size of the core. Arrays change as in `_peel_above`."""
    core = 0
    for i in range(order.shape[0] - 1, 0, -1):
        u = np.uint64(order[i])
        if state[u] == _ABOVE:
            continue
        peeled = state[u] < _MANY
        if peeled:
            for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + np.uint64(1)])):
                if state[np.uint64(children[k])] != _BELOW:
                    peeled = False
                    break
        if not peeled:
            core += 1
            continue
        state[u] = _BELOW
        parent = gate[u]
        if parent != NONE:
            position[u] = end[parent]
            end[parent] += end[u]
    return core


@njit(cache=True, nogil=True)
def _place_above(order, state, position, end, gate):
    """Gives each vertex of B its position, end and gate; a child comes before its parents."""
    free = np.int32(0)
    for i in range(order.shape[0] - 1, 0, -1):
        u = order[i]
        if state[u] != _ABOVE:
            continue
        child = gate[u]
        if child != NONE and state[child] == _ABOVE:
            position[u] += position[child]
            gate[u] = gate[child]
            end[u] += position[u]
        else:
            position[u] = free
            end[u] += free
            free = end[u]


@njit(cache=True, nogil=True)
def _place_below(order, above, core, state, position, end, gate):
    """Gives the core and A their positions, ends and gates, parents first; fills `core`."""
    found, free = 0, np.int32(above + core.shape[0])
    for i in range(1, order.shape[0]):
        u = order[i]
        if state[u] == _ABOVE:
            continue
        if state[u] != _BELOW:
            core[found] = u
            position[u] = above + found
            found += 1
            end[u] = above + found
            gate[u] = u
            continue
        parent = gate[u]
        if parent != NONE and state[parent] == _BELOW:
            position[u] += position[parent]
            gate[u] = gate[parent]
            end[u] += position[u]
        else:
            position[u] = free
            end[u] += free
            free = end[u]
