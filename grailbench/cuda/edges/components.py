"""Strong components on the device, after ECL-SCC (Alabandi, Sands, Biros and Burtscher, SC 2023).

The key of a vertex is a hash of its id that can be undone. Every vertex holds the greatest key that reaches it and the
greatest that it reaches. Where they are equal, it is in the component of that key; where they differ between the ends
of an edge, the edge is dropped. Vertices without a component begin anew. Keys also travel from the vertex of a key to
all that hold it, so that what a vertex has seen doubles from pass to pass, also on a cycle of all vertices.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda.edges import library
from grailbench.cuda.edges.rows import SimpleRows
from grailbench.cuda.gateway import cuda
from grailbench.cuda.primitives import priority, unmixed

_ROUNDS = 4  #: passes over the edges between two looks at whether anything changed
_SALT = np.uint64(0x5C3)


@cuda.jit(cache=True)
def _list_edges(offsets, missing, vertices, sources, kept):
    """Lists the sources of all edges, and marks those from vertices that a walk did not reach, to others of them."""
    for u in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        open_ = missing[u] > 0
        for k in range(offsets[u], offsets[u + 1]):
            sources[k] = u
            kept[k] = 1 if open_ else 0


@cuda.jit(cache=True)
def _spread(sources, targets, edges, above, below, changed):
    """Carries the greatest keys along every edge. above, below int32[n]: the greatest that reaches, and is reached."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        u, v = sources[k], targets[k]
        if above[u] > above[v]:
            cuda.atomic.max(above, v, above[u])
            changed[0] = 1
        if below[v] > below[u]:
            cuda.atomic.max(below, u, below[v])
            changed[0] = 1


@cuda.jit(cache=True)
def _leap(above, below, vertices, changed):
    """Takes the keys that the vertices hold whose keys are held."""
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        farther = above[unmixed(above[v], _SALT)]
        if farther > above[v]:
            above[v] = farther
            changed[0] = 1
        farther = below[unmixed(below[v], _SALT)]
        if farther > below[v]:
            below[v] = farther
            changed[0] = 1


@cuda.jit(cache=True)
def _keep(sources, targets, edges, above, below, kept):
    """Marks the edges whose ends may be in one component that is not known yet."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        u, v = sources[k], targets[k]
        alike = above[u] == above[v] and below[u] == below[v] and above[u] != below[u]
        kept[k] = 1 if alike else 0


@cuda.jit(cache=True)
def _begin_again(above, below, vertices, again):
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        if again == 0 or above[v] != below[v]:
            above[v] = below[v] = priority(v, _SALT)


@cuda.jit(cache=True)
def _find_least(component, vertices, least):
    """Makes vertices of the keys of components, and finds the least vertex of each."""
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        component[v] = unmixed(component[v], _SALT)
        cuda.atomic.min(least, component[v], v)


@cuda.jit(cache=True)
def _mark_least(component, least, vertices, first):
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        first[v] = 1 if least[component[v]] == v else 0


@cuda.jit(cache=True)
def _number(component, least, upto, vertices, number):
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        number[v] = upto[least[component[v]]] - 1


def strong_components(vertices: int, rows: SimpleRows, missing) -> tuple[int, object]:
    """Returns the number of strong components, and the component of each vertex, int32[n] on the device.

    Components are numbered in the order of their least vertices. missing int32[n]: the parents of each vertex that a
    walk did not reach; edges of vertices without such are not looked at. Waits for the device in every round.
    """
    n = vertices
    sources, kept = library.empty(rows.edges, np.int32), library.full(rows.edges, 0, np.int8)
    library.launch(_list_edges, n, rows.starts, missing, n, sources, kept)
    targets = rows.children
    above, below = library.empty(n, np.int32), library.empty(n, np.int32)
    library.launch(_begin_again, n, above, below, n, 0)
    changed = library.full(1, 1, np.int32)
    while True:
        chosen = kept[: sources.shape[0]] != 0
        sources, targets = sources[chosen], targets[: chosen.shape[0]][chosen]
        edges = int(sources.shape[0])
        if not edges:
            break
        library.launch(_begin_again, n, above, below, n, 1)
        changed[0] = 1
        while int(changed[0]):
            changed[0] = 0
            for _ in range(_ROUNDS):
                library.launch(_spread, edges, sources, targets, edges, above, below, changed)
                library.launch(_leap, n, above, below, n, changed)
        kept = library.empty(edges, np.int8)
        library.launch(_keep, edges, sources, targets, edges, above, below, kept)
    library.launch(_begin_again, n, above, below, n, 1)
    least, first = library.full(n, n, np.int32), library.empty(n, np.int32)
    library.launch(_find_least, n, above, n, least)
    library.launch(_mark_least, n, above, least, n, first)
    upto = library.sums(first, False)
    number = library.empty(n, np.int32)
    library.launch(_number, n, above, least, upto, n, number)
    return int(upto[n - 1]), number
