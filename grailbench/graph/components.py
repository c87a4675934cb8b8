"""Strong components, by Tarjan's algorithm without recursion, on one thread."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.instructions import prefetch

_FEW = 16  #: children of a vertex that are asked for when it is entered
_DONE = np.iinfo(np.int32).max


def strong_components(offsets: np.ndarray, children: np.ndarray, levels: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strong components of a CSR (int64[n + 1], int32[m]), and the component of each vertex (int32[n]),
    numbered by least vertex. levels: as of `kahn`; a vertex that it took is a component, and is not searched from."""
    components, found = _ended(offsets, children, levels)
    _renumber_by_first(found, components)
    return components, found


def ordered_components(offsets: np.ndarray, children: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strong components of a CSR (int64[n + 1], int32[m]), and the component of each vertex (int32[n]),
    numbered in topological order: every edge stays in its component or leads to a later one."""
    components, found = _ended(offsets, children, np.full(offsets.shape[0] - 1, -1, np.int32))
    return components, np.int32(components - 1) - found


def _ended(offsets, children, levels):
    """The number of components, and the component of each vertex (int32[n]), numbered as they end."""
    n = offsets.shape[0] - 1
    least, found = np.zeros(n, np.int32), np.empty(n, np.int32)
    undecided, path, numbers = np.empty((3, n), np.int32)
    return _tarjan(offsets, children, levels, least, found, undecided, path, numbers, np.empty(n, np.int64)), found


@njit(cache=True, nogil=True)
def _tarjan(offsets, children, levels, least, found, undecided, path, numbers, places):
    """Sets the component of each vertex, numbered as they end, and returns how many there are.

    least[v]: 0 before v is entered, then the least number of a vertex on the path that is known to be reached from v,
    and _DONE when its component has ended. The path has a vertex, the number it got and its next edge at each depth.
    """
    components, entered, left = 0, np.int32(0), 0
    for root in range(least.shape[0]):
        if levels[root] >= 0:
            least[root], found[root] = _DONE, components
            components += 1
        if least[root] != 0:
            continue
        depth, path[0], new = 0, root, True
        while depth >= 0:
            u = path[depth]
            if new:
                entered += 1
                least[u] = numbers[depth] = entered
                undecided[left] = u
                left += 1
                places[depth] = offsets[u]
                for k in range(offsets[u], min(offsets[u + 1], offsets[u] + _FEW)):
                    prefetch(least, children[k])
                    prefetch(offsets, children[k])
            new, lowest, k = False, least[u], places[depth]
            while k < offsets[u + 1]:
                v = children[k]
                if least[v] == 0:
                    new = True
                    break
                lowest = min(lowest, least[v])
                k += 1
            least[u] = lowest
            if new:
                places[depth] = k  # the edge is looked at again when the path is back
                depth += 1
                path[depth] = children[k]
                continue
            if lowest == numbers[depth]:
                v = np.int32(-1)
                while v != u:
                    left -= 1
                    v = undecided[left]
                    least[v], found[v] = _DONE, components
                components += 1
            depth -= 1
    return components


@njit(cache=True)
def _renumber_by_first(found, components):
    number = np.full(components, -1, np.int32)
    known = 0
    for v in range(found.shape[0]):
        if number[found[v]] < 0:
            number[found[v]] = known
            known += 1
        found[v] = number[found[v]]
