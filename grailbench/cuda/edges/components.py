"""Strong components on the device, after ECL-SCC (Alabandi, Sands, Biros and Burtscher, SC 2023).

The key of a vertex is a hash of its id that can be undone. Every vertex holds the greatest key that reaches it and the
greatest that it reaches. Where they are equal, it is in the component of that key; where they differ between the ends
of an edge, the edge is dropped. Vertices without a component begin anew. Keys also travel from the vertex of a key to
all that hold it, so that what a vertex has seen doubles from pass to pass, also on a cycle of all vertices. All rounds
are one cooperative launch.
"""

from collections import namedtuple
from functools import cache

import numpy as np

from grailbench.cuda.edges import library
from grailbench.cuda.edges.rows import SimpleRows, place_of
from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import kernel_of
from grailbench.cuda.primitives import MOST, exclusive_sum, priority, unmixed

_SALT = np.uint64(0x5C3)
_CHANGES = 3  #: flags of passes by turns: one is set, one is read and one is cleared


class Search(namedtuple("Search", "sources targets kept_sources kept_targets above below least first state")):
    """Arrays of a search over n vertices and m edges, on the device.

    sources, targets            int32[m]  the edges whose ends may be in one component, in any order
    kept_sources, kept_targets  int32[m]  those that the next round looks at
    above, below                int32[n]  the greatest key that reaches a vertex, and that it reaches; in the end
                                          `above` is a vertex of its component, one for all of them
    least                       int32[n]  n at first; the least vertex of the component of that vertex
    first                       int32[n]  whether a vertex is the least of its component
    state                       int64[5]  zeros at first: flags of changes, and the numbers of edges in both lists
    """


@cuda.jit(device=True)
def _append(keep, u, v, sources, targets, state, counter, partial, begin):
    """Lists edge u, v behind the others, for each thread of the block whose `keep` is 1. begin int64[1]: shared."""
    before, total = exclusive_sum(np.int64(keep), partial)
    if cuda.threadIdx.x == 0:
        begin[0] = cuda.atomic.add(state, counter, total) if total else 0
    cuda.syncthreads()
    if keep:
        sources[begin[0] + before], targets[begin[0] + before] = u, v
    cuda.syncthreads()


@cuda.jit(device=True)
def _list_open(offsets, children, missing, edges, vertices, search, partial, span, begin):
    """Lists the edges from vertices that a walk did not reach; they all lead to others of them."""
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    for base in range(cuda.blockIdx.x * threads, edges, cuda.gridsize(1)):
        if thread < 2:
            span[thread] = place_of(offsets, 0, vertices, base if thread == 0 else min(base + threads, edges) - 1)
        cuda.syncthreads()
        k, u, v, keep = base + thread, np.int32(0), np.int32(0), 0
        if k < edges:
            u, v = np.int32(place_of(offsets, span[0], span[1] + 1, k)), children[k]
            keep = 1 if missing[u] > 0 else 0
        _append(keep, u, v, search.sources, search.targets, search.state, _CHANGES, partial, begin)


@cuda.jit(device=True)
def _spread(sources, targets, edges, above, below):
    """Carries the greatest keys along every edge; returns whether this thread changed any."""
    changed = False
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        u, v = sources[k], targets[k]
        if above[u] > above[v]:
            cuda.atomic.max(above, v, above[u])
            changed = True
        if below[v] > below[u]:
            cuda.atomic.max(below, u, below[v])
            changed = True
    return changed


@cuda.jit(device=True)
def _leap(above, below, vertices):
    """Takes the keys that the vertices hold whose keys are held; returns whether this thread changed any."""
    changed = False
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        farther = above[unmixed(above[v], _SALT)]
        if farther > above[v]:
            above[v] = farther
            changed = True
        farther = below[unmixed(below[v], _SALT)]
        if farther > below[v]:
            below[v] = farther
            changed = True
    return changed


@cuda.jit(device=True)
def _keep(sources, targets, edges, search, kept_sources, kept_targets, counter, partial, begin):
    """Lists the edges whose ends may be in one component that is not known yet."""
    above, below, threads = search.above, search.below, cuda.blockDim.x
    for base in range(cuda.blockIdx.x * threads, edges, cuda.gridsize(1)):
        k, u, v, keep = base + cuda.threadIdx.x, np.int32(0), np.int32(0), 0
        if k < edges:
            u, v = sources[k], targets[k]
            keep = 1 if above[u] == above[v] and below[u] == below[v] and above[u] != below[u] else 0
        _append(keep, u, v, kept_sources, kept_targets, search.state, counter, partial, begin)


@cuda.jit(device=True)
def _begin_again(above, below, vertices, all_):
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        if all_ or above[v] != below[v]:
            above[v] = below[v] = priority(v, _SALT)


@cache
def kernel():
    """Returns the kernel that finds the components."""

    @kernel_of(64)
    def find_components(offsets, children, missing, edges, vertices, search):
        """Fills `Search.above` and `Search.first`. Any cooperative grid.

        offsets [n + 1], children int32[m]: the rows; missing int32[n]: as in `strong_components`.
        """
        grid = cuda.cg.this_grid()
        partial = cuda.shared.array(MOST, np.int64)
        span, begin = cuda.shared.array(2, np.int64), cuda.shared.array(1, np.int64)
        me, everyone = cuda.grid(1), cuda.gridsize(1)
        above, below, state = search.above, search.below, search.state
        _begin_again(above, below, vertices, True)
        _list_open(offsets, children, missing, edges, vertices, search, partial, span, begin)
        grid.sync()
        side, pass_ = 0, 0
        left = state[_CHANGES]
        while left > 0:
            sources, targets = search.sources, search.targets
            kept_sources, kept_targets = search.kept_sources, search.kept_targets
            if side == 1:
                sources, targets, kept_sources, kept_targets = kept_sources, kept_targets, sources, targets
            again = True
            while again:
                flag = pass_ % _CHANGES
                if _spread(sources, targets, left, above, below):
                    state[flag] = 1
                grid.sync()
                if me == 0:
                    state[(pass_ + 1) % _CHANGES] = 0
                    state[_CHANGES + 1 - side] = 0
                if _leap(above, below, vertices):
                    state[flag] = 1
                grid.sync()
                again = state[flag] > 0
                pass_ += 1
            _keep(sources, targets, left, search, kept_sources, kept_targets, _CHANGES + 1 - side, partial, begin)
            grid.sync()
            side = 1 - side
            left = state[_CHANGES + side]
            _begin_again(above, below, vertices, False)
            grid.sync()
        for v in range(me, vertices, everyone):
            above[v] = unmixed(above[v], _SALT)
            cuda.atomic.min(search.least, above[v], v)
        grid.sync()
        for v in range(me, vertices, everyone):
            search.first[v] = 1 if search.least[above[v]] == v else 0

    return find_components


@cuda.jit(cache=True)
def _number(component, least, upto, vertices, number):
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        number[v] = upto[least[component[v]]] - 1


def strong_components(vertices: int, rows: SimpleRows, missing) -> tuple[int, object]:
    """Returns the number of strong components, and the component of each vertex, int32[n] on the device; waits once.

    Components are numbered in the order of their least vertices. missing int32[n]: the parents of each vertex that a
    walk did not reach; edges of vertices without such are not looked at.
    """
    n, m = vertices, rows.edges
    lists, keys = (library.empty(m, np.int32) for _ in range(4)), (library.empty(n, np.int32) for _ in range(2))
    least, first = library.full(n, n, np.int32), library.empty(n, np.int32)
    search = Search(*lists, *keys, least, first, library.full(_CHANGES + 2, 0, np.int64))
    library.launch_cooperative(kernel(), rows.starts, rows.children, missing, m, n, search)
    upto = library.sums(first, False)
    number = library.empty(n, np.int32)
    library.launch(_number, n, search.above, least, upto, n, number)
    return library.last_of(upto), number
