"""The whole way from edges to a DAG by levels on the device: the steps of the package, one after the other. The levels
of a deep graph are found by one core of the host.
"""

import numpy as np

from grailbench.cuda.describe import require_memory
from grailbench.cuda.edges import library
from grailbench.cuda.edges.components import strong_components
from grailbench.cuda.edges.rows import SimpleRows, place_of, simple_rows, transposed
from grailbench.cuda.edges.staging import to_device
from grailbench.cuda.edges.walk import Walk, Walked, walk_levels
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.graphs import DEEP_LEVELS, DeviceLeveled, Outline
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.kahn import kahn
from grailbench.graph.threads import ThreadPool
from grailbench.util.compiled import njit


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


def walk_levels_on_host(vertices: int, rows: SimpleRows) -> Walked:
    """As `walk.walk_levels`; if vertices are left, only `Walk.missing` is filled."""
    n, m, xp = vertices, rows.edges, library.arrays()
    offsets, children = library.to_host(rows.starts)[: n + 1], library.to_host(rows.children)[:m]
    with ThreadPool(1) as pool:
        found, levels, order = kahn(n, offsets, children, pool)
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


EDGE_BYTES, VERTEX_BYTES = 32, 120  #: of the device, at most at once, with offsets of 64 bits: most of them keys


def require_room(graph: Graph | Dag, doing: str) -> None:
    """Raises TooLittleMemory if the device has too little for these steps; `doing` says what needs it."""
    what = f"{doing} {graph.vertices:,} vertices and {graph.edges:,} edges on the GPU"
    need = EDGE_BYTES * graph.edges + VERTEX_BYTES * graph.vertices
    require_memory(need, what, "take `parallel`, or a GPU with more")


def samples() -> list[Graph]:
    """Graphs whose way takes every kernel here, and those of the library for large arrays: a matching, a ring and a
    deep path."""
    many, path = np.arange(8 if simulated else 1 << 18, dtype=np.int32), np.arange(2 * DEEP_LEVELS, dtype=np.int32)
    matching, ring = Graph(2 * many.size, many, many + many.size), Graph(many.size, many, np.roll(many, -1))
    return [matching, ring, Graph(path.size, path[:-1], path[1:])]


def condensed(vertices: int, edges: int, sources, targets, **how) -> tuple[Walked, object | None]:
    """Condenses a graph of n > 0 vertices, walks it, and returns the walk and the component of each vertex, int32[n].

    sources, targets int32[m] on the device; how: arguments of `walk_levels`. None for the components if each vertex is
    its own. Levels of deep graphs are found on the host.
    """
    return condensed_rows(vertices, edges, sources, targets, **how)[1:]


def condensed_rows(vertices: int, edges: int, sources, targets, **how) -> tuple[SimpleRows, Walked, object | None]:
    """As `condensed`, and before these the rows of the condensed graph, without the super-root."""
    rows = simple_rows(vertices, edges, sources, targets)
    walked = walked_from(rows, vertices, **how)
    if walked.reached == vertices + 1:
        return rows, walked, None
    missing = walked.arrays.missing
    del walked
    components, component = strong_components(vertices, rows, missing)
    del rows, missing
    rows = simple_rows(components, edges, sources, targets, component)
    return rows, walked_from(rows, components, **how), component


def walked_from(rows: SimpleRows, vertices: int, **how) -> Walked:
    """Walks the rows of n > 0 vertices, a deep graph on the host; how: arguments of `walk_levels`."""
    walked = walk_levels(vertices, rows, **how)
    return walk_levels_on_host(vertices, rows) if walked.deep else walked


@cuda.jit(cache=True)
def _root(starts, targets, vertex, inner, vertices, offsets, sources, children):
    """Adds the super-root's row to others, and lists the sources of all edges."""
    for k in range(cuda.grid(1), children.shape[0], cuda.gridsize(1)):
        if k < inner:
            sources[k], children[k] = place_of(starts, 0, vertices, k), targets[k]
        else:
            sources[k], children[k] = vertices, vertex[1 + k - inner]
    for v in range(cuda.grid(1), vertices + 2, cuda.gridsize(1)):
        offsets[v] = starts[v] if v <= vertices else children.shape[0]


@cuda.jit(cache=True)
def _level(vertex, level_starts, depth, levels):
    for i in range(cuda.grid(1), vertex.shape[0], cuda.gridsize(1)):
        levels[vertex[i]] = place_of(level_starts, 0, depth, i)


def rooted(rows: SimpleRows, edges: int, order, level_starts, depth: int) -> tuple:
    """Returns the arrays of a `graph.csr.Dag` as kernels take them: offsets and children, parent_offsets and parents,
    order, levels; does not wait.

    edges: with those of the super-root; order, level_starts, depth: `Walk.vertex`, and of the levels of a walk that
    reached all vertices.
    """
    n, m = order.shape[0] - 1, edges
    offsets, sources, children = library.empty(n + 2, np.int64), library.empty(m, np.int32), library.empty(m, np.int32)
    args = rows.starts, rows.children, order, rows.edges, n, offsets, sources, children
    library.launch(_root, max(m, n + 2), *args)
    parent_offsets, parents = transposed(n + 1, m, sources, children, True)
    levels = library.empty(n + 1, np.int32)
    library.launch(_level, n + 1, order, level_starts, depth, levels)
    return tuple(map(library.seen, (offsets, children, parent_offsets, parents, order, levels)))


@cuda.jit(cache=True)
def _compose(rank, component, vertices, numbers):
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        numbers[v] = rank[component[v]]


def numbered(vertices: int, rank, component):
    """Returns the place of each vertex of a raw graph, int32[n], as kernels take it; does not wait.

    rank: the place of each component; component: of each vertex, None if each is its own (see `condensed`).
    """
    if component is None:
        return rank
    numbers = library.empty(vertices, np.int32)
    library.launch(_compose, vertices, rank, component, vertices, numbers)
    return library.seen(numbers)


@cuda.jit(cache=True)
def _settle(targets, rank, edges, deep):
    """Makes places of targets, and marks the edges to the next level (`walk.Walk.targets`)."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        v = targets[k]
        near = v < 0
        targets[k] = rank[~v if near else v]
        deep[k] = 1 if near else 0


@cuda.jit(cache=True)
def _keep_deep(sources, targets, deep, upto, edges, deep_sources, deep_targets):
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        if deep[k]:
            deep_sources[upto[k] - 1] = sources[k]
            deep_targets[upto[k] - 1] = targets[k]


@cuda.jit(cache=True)
def _begin_deep(starts, upto, vertices, deep_starts):
    for v in range(cuda.grid(1), vertices + 1, cuda.gridsize(1)):
        deep_starts[v] = upto[starts[v] - 1] if starts[v] > 0 else 0


@cuda.jit(cache=True)
def _outline(firsts, levels, starts, deep_starts, level_starts, of_levels):
    """Copies the first vertex of each level, and for the host that and its first edges, deep ones too."""
    for level in range(cuda.grid(1), levels, cuda.gridsize(1)):
        v = firsts[level]
        level_starts[level], of_levels[level] = v, v
        of_levels[levels + level], of_levels[2 * levels + level] = starts[v], deep_starts[v]


def leveled(vertices: int, walked: Walked) -> tuple[DeviceLeveled, Outline]:
    """Returns the graph of a walk that reached all `vertices`, the super-root among them; waits once."""
    walk, m, n = walked.arrays, walked.edges, vertices
    wide = walk.starts.dtype == np.int64
    deep = library.full(m, 0, np.int8)
    library.launch(_settle, m, walk.targets, walk.rank, m, deep)
    upto = library.sums(deep, wide)
    near = library.last_of(upto)
    deep_starts = library.empty(n + 1, walk.starts.dtype)
    deep_sources, deep_targets = library.empty(near, np.int32), library.empty(near, np.int32)
    library.launch(_keep_deep, m, walk.sources, walk.targets, deep, upto, m, deep_sources, deep_targets)
    library.launch(_begin_deep, n + 1, walk.starts, upto, n, deep_starts)
    del deep, upto
    parent_starts, parents = transposed(n, m, walk.sources, walk.targets, wide)
    levels = walked.depth + 1
    level_starts, of_levels = library.empty(levels, np.int32), library.empty(3 * levels, np.int64)
    library.launch(_outline, levels, walk.level_starts, levels, walk.starts, deep_starts, level_starts, of_levels)
    arrays = (
        walk.vertex, walk.rank, level_starts, walk.starts, walk.sources, walk.targets, deep_starts, deep_sources,
        deep_targets, parent_starts, parents,
    )  # fmt: skip
    firsts, edges, deep_edges = library.to_host(of_levels).reshape(3, levels)
    outline = Outline(n, m, near, firsts.astype(np.int32), edges, deep_edges)
    return DeviceLeveled(*map(library.seen, arrays)), outline
