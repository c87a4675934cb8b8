"""The levels of a deep graph, found by one core of the host; the rest of the walk is done on the device (`walk`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.cuda.edges import library
from grailbench.cuda.edges.rows import SimpleRows
from grailbench.cuda.edges.staging import to_device
from grailbench.cuda.edges.walk import Walk, Walked, place_of
from grailbench.cuda.gateway import cuda
from grailbench.graph.kahn import kahn
from grailbench.graph.team import Team


@njit(cache=True)
def _level_starts(levels, order, found):
    """Returns where each level begins in the queue, and its end, int32[depth + 1]."""
    starts = np.empty(levels[order[found - 1]] + 2, np.int32)
    depth = 0
    for i in range(found):
        if levels[order[i]] == depth:
            starts[depth] = i
            depth += 1
    starts[depth] = found
    return starts


@cuda.jit(cache=True)
def _rank(vertex, count, offsets, rank, starts):
    """Fills the ranks of the first `count` places, and the numbers of children of all but place 0, behind their own."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        v = vertex[i]
        rank[v] = i
        if i > 0:
            starts[i + 1] = offsets[v + 1] - offsets[v]


@cuda.jit(cache=True)
def _list_edges(vertex, count, edges, roots, offsets, children, levels, starts, sources, targets):
    """Lists the edges by place of their sources; targets are as in `walk.Walk`."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        if k < roots:
            u, v, near = 0, vertex[1 + k], True
        else:
            u = place_of(starts, 1, count, k)
            source = vertex[u]
            v = children[offsets[source] + (k - starts[u])]
            near = levels[v] == levels[source] + 1
        sources[k] = u
        targets[k] = ~v if near else v


def walk_levels(vertices: int, rows: SimpleRows) -> Walked:
    """As `walk.walk_levels`; if vertices are left, only `Walk.missing` is filled."""
    n, m, xp = vertices, rows.edges, library.arrays()
    offsets, children = library.to_host(rows.starts)[: n + 1], library.to_host(rows.children)[:m]
    with Team(1) as team:
        found, levels, order = kahn(n, offsets, children, team)
    arrays = Walk(*[None] * len(Walk._fields))
    if found < n + 1:
        missing = -np.minimum(levels[:-1], 0)
        return Walked(found, 0, False, arrays._replace(missing=to_device(missing)[0]), 0)
    level_starts = _level_starts(levels, order, found)
    r = int(level_starts[2] - 1) if level_starts.shape[0] > 2 else 0
    offset = rows.starts.dtype
    vertex, levels = to_device(order, levels)
    rank, starts = library.empty(n + 1, np.int32), library.full(n + 2, 0, offset)
    library.launch(_rank, n + 1, vertex, n + 1, rows.starts, rank, starts)
    starts[1:2] = r
    starts[1:] = xp.cumsum(starts[1:], dtype=offset)
    sources, targets = library.empty(m + r, np.int32), library.empty(m + r, np.int32)
    library.launch(
        _list_edges, m + r, vertex, n + 1, m + r, r, rows.starts, rows.children, levels, starts, sources, targets
    )
    (level_starts,) = to_device(level_starts)
    arrays = arrays._replace(
        vertex=vertex, rank=rank, starts=starts, sources=sources, targets=targets, level_starts=level_starts
    )
    return Walked(found, int(level_starts.shape[0]) - 1, False, arrays, m + r)
