"""Strong components of a digraph and the edges between them, in topological order, by Tarjan's algorithm (1972).

One depth-first search of the edge rows; components come out from the sinks up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class Condensed(NamedTuple):
    """The k components, numbered in topological order: every edge stays in its component or leads to a later one.

    component  int32[n]      the component of each vertex
    starts     int64[k + 1]  where the members of each component begin in `members`
    members    int32[n]      the vertices by component, ascending within each
    offsets    int64[k + 1]  where the children of each component begin in `children`
    children   int32         the other components that edges of each lead to, each once, ascending
    """

    component: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    offsets: np.ndarray
    children: np.ndarray

    @property
    def count(self) -> int:
        """Number of components."""
        return self.starts.shape[0] - 1


def condense(offsets: np.ndarray, targets: np.ndarray) -> Condensed:
    """Returns the components of a CSR (int64[n + 1], int32[m]), which may have duplicates and self-loops."""
    component, count = _components(offsets, targets)
    starts, members = _members(component, count)
    return Condensed(component, starts, members, *_children(offsets, targets, component, starts, members))


_DONE = np.int32(2**31 - 1)  #: in place of a number, of vertices whose component is known


@njit(cache=True, nogil=True)
def _components(offsets, targets):
    """Returns the component of each vertex, int32[n], and the number of components.

    least: int32[n], the least number of a vertex that each is known to lead back to, in the order in which the search
    entered them, from 1 on; 0 before that.
    """
    n = offsets.shape[0] - 1
    least, number, component = np.zeros(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    at = offsets[:-1].copy()
    path, waiting = np.empty(n, np.int32), np.empty(n, np.int32)
    entered, held, left = np.int32(0), 0, n
    for root in range(n):
        if least[root]:
            continue
        entered += 1
        least[root] = number[root] = entered
        path[0], depth = root, 1
        while depth:
            u = path[depth - 1]
            k, end, low, below = at[u], offsets[u + 1], least[u], np.int32(-1)
            while k < end:
                v = targets[k]
                k += 1
                if least[v] == 0:
                    below = v
                    break
                low = min(low, least[v])
            at[u], least[u] = k, low
            if below >= 0:
                entered += 1
                least[below] = number[below] = entered
                path[depth] = below
                depth += 1
                continue
            depth -= 1
            if low < number[u]:
                waiting[held] = u
                held += 1
                parent = path[depth - 1]
                least[parent] = min(least[parent], low)
                continue
            left -= 1
            component[u], least[u] = left, _DONE
            while held and number[waiting[held - 1]] > number[u]:
                held -= 1
                component[waiting[held]], least[waiting[held]] = left, _DONE
    component -= np.int32(left)  # the components so far are numbered from the last place down
    return component, n - left


@njit(cache=True, nogil=True)
def _members(component, count):
    n = component.shape[0]
    starts, members = np.zeros(count + 2, np.int64), np.empty(n, np.int32)
    for v in range(n):
        starts[component[v] + 2] += 1
    for c in range(count):
        starts[c + 2] += starts[c + 1]
    for v in range(n):
        members[starts[component[v] + 1]] = v
        starts[component[v] + 1] += 1
    return starts[:-1], members


@njit(cache=True, nogil=True)
def _children(offsets, targets, component, starts, members):
    count = starts.shape[0] - 1
    seen = np.full(count, -1, np.int32)
    begins, children, total = np.empty(count + 1, np.int64), np.empty(targets.shape[0], np.int32), 0
    for c in range(count):
        begins[c], seen[c] = total, c
        ascend, last = True, np.int32(-1)
        for i in range(starts[c], starts[c + 1]):
            for k in range(offsets[members[i]], offsets[members[i] + 1]):
                other = component[targets[k]]
                if seen[other] != c:
                    seen[other] = c
                    children[total] = other
                    total += 1
                    ascend &= other > last
                    last = other
        if not ascend:
            children[begins[c] : total].sort()
    begins[count] = total
    return begins, children[:total]
