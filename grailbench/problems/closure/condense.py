"""Strong components of a digraph and the edges between them, in topological order, from its edge rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.condense import ordered_components


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
    count, component = ordered_components(offsets, targets)
    starts, members = _members(component, count)
    return Condensed(component, starts, members, *_children(offsets, targets, component, starts, members))


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
