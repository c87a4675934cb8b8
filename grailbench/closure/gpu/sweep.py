"""A bit set per component of the vertices that it reaches, by levels from the sinks up, in one cooperative launch.

The host condenses (`closure.condense`) and lists the children of each component without duplicates. Components of level
0 have no children; those of level l have children on level l - 1 and on lower ones. A thread computes one word of the
set of one component.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy import int64, uint64

from grailbench.closure.bits import lowest
from grailbench.closure.condense import Condensed
from grailbench.device.gateway import cuda, simulated
from grailbench.device.launch import launch_cooperative

THREADS = 32 if simulated else 512


class Levels(NamedTuple):
    """The graph of the k components, without duplicate edges, and the components by level.

    starts    int64[k + 1]       where the children of each component begin in `children`
    children  int32              the children of all components
    order     int32[k]           the components by level
    bounds    int64[levels + 1]  where each level begins in `order`
    """

    starts: np.ndarray
    children: np.ndarray
    order: np.ndarray
    bounds: np.ndarray


def levels(bits: np.ndarray, condensed: Condensed) -> Levels:
    """Returns the children and levels of the components of uint64[n, words]."""
    starts, children, level = _children(bits, condensed.component, condensed.starts, condensed.members)
    order = np.argsort(level, kind="stable").astype(np.int32)
    bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(level)))).astype(np.int64)
    return Levels(starts, children, order, bounds)


@njit(cache=True)
def _children(bits, component, starts, members):
    count, width = starts.shape[0] - 1, bits.shape[1]
    seen = np.full(count, -1, np.int32)
    level = np.zeros(count, np.int32)
    sizes = np.zeros(count + 1, np.int64)
    union = np.empty(width, np.uint64)
    capacity, total = 1024, 0
    children = np.empty(capacity, np.int32)
    for c in range(count - 1, -1, -1):
        row = bits[members[starts[c]]]
        if starts[c + 1] - starts[c] > 1:
            row = union
            union[:] = np.uint64(0)
            for k in range(starts[c], starts[c + 1]):
                for w in range(width):
                    union[w] |= bits[members[k], w]
        seen[c] = c
        first = total
        for w in range(width):
            left = row[w]
            while left:
                other = component[w * 64 + lowest(left)]
                left &= left - np.uint64(1)
                if seen[other] != c:
                    seen[other] = c
                    level[c] = max(level[c], level[other] + 1)
                    if total == capacity:
                        capacity *= 2
                        longer = np.empty(capacity, np.int32)
                        longer[:total] = children
                        children = longer
                    children[total] = other
                    total += 1
        sizes[c] = total - first
    # The loop went from the last component to the first, so the lists of children are put into ascending order.
    offsets = np.zeros(count + 1, np.int64)
    for c in range(count):
        offsets[c + 1] = offsets[c] + sizes[c]
    out = np.empty(total, np.int32)
    at = 0
    for c in range(count - 1, -1, -1):
        out[offsets[c] : offsets[c + 1]] = children[at : at + sizes[c]]
        at += sizes[c]
    return offsets, out, level


@cuda.jit(cache=True)
def _sweep(component, starts, children, order, bounds, reach, closure, total):
    """Fills closure, uint64[n, words], and adds the number of its edges to total, int64[1]. Cooperative launch.

    component: int32[n]; reach: uint64[k, words], scratch; the other arrays as in `Levels`.
    """
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    vertices, width = closure.shape
    for at in range(thread, reach.shape[0] * width, threads):
        reach[at // width, at % width] = 0
    grid.sync()
    for v in range(thread, vertices, threads):
        cuda.atomic.or_(reach, (component[v], v >> 6), uint64(1) << uint64(v & 63))
    grid.sync()
    for level in range(1, bounds.shape[0] - 1):
        first = bounds[level]
        for at in range(thread, (bounds[level + 1] - first) * width, threads):
            c, word = order[first + at // width], at % width
            found = reach[c, word]
            for k in range(starts[c], starts[c + 1]):
                found |= reach[children[k], word]
            reach[c, word] = found
        grid.sync()
    count = int64(0)
    for at in range(thread, vertices * width, threads):
        v, word = at // width, at % width
        found = reach[component[v], word]
        if v >> 6 == word:
            found &= ~(uint64(1) << uint64(v & 63))
        closure[v, word] = found
        count += cuda.popc(found)
    if count:
        cuda.atomic.add(total, 0, count)


def sweep(arrays: tuple) -> None:
    """Launches the sweep on its eight device arrays; does not wait."""
    launch_cooperative(_sweep, arrays, THREADS)
