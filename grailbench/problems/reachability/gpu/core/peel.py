"""Peels the in-trees above a DAG and the out-trees below it, in one cooperative launch; what is left is the core.

The sets are those of `reachability.core.peel`, found without an order. A vertex is not in B if it has two children or
more, or a parent that is not in B; beyond the children of such vertices only vertices of one child matter, each of
which points at it: a forest. So B is where the sum of marks over the subtree is zero (`sum_subtrees`). A is found
among the rest in the same way, with parents in place of children. Prefix sums over the edges give every vertex its
place among its siblings, and pointer jumping (Wyllie 1979), in every round of which each vertex doubles the distance at
which it points, its place in its tree (`find_roots`).

The core has the order of `Dag.order`, as on the CPU. Siblings, and roots, have the order of their ids, so positions
within the forests are other ones than those of `reachability.core.peel`.
"""

from collections import namedtuple
from functools import partial

import numpy as np

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, cooperative_shape
from grailbench.cuda.primitives import STEPS, WARP, all_lanes, broadcast_first, exclusive_sum, shuffle_down
from grailbench.graph.csr import Dag

THREADS = 4 if simulated else 512
_PARTIAL = THREADS if simulated else 32
_MOST_BLOCKS = 4096
_UNSET = np.int32(2**31 - 1)
_MARK = np.int64(1) << 32
CORE, ABOVE, BELOW, ROOT = (np.int8(kind) for kind in range(4))  #: what a vertex is: ABOVE in B, BELOW in A
OF_ABOVE, OF_CORE, OF_EDGES = range(3)  #: positions in `Parts.totals`

NONE = np.int32(-1)  #: of a vertex without a place to point at
ROUNDS = 64  #: more rounds than pointer jumping ever takes
LOW = np.int64(0xFFFFFFFF)  #: the low half of a packed pair


@cuda.jit(device=True)
def row_of(starts, k, rows):
    """Returns the row of a CSR in which element k lies. starts: int64[rows + 1]."""
    low, high = np.int64(0), np.int64(rows)
    while high - low > 1:
        middle = (low + high) >> 1
        if starts[middle] <= k:
            low = middle
        else:
            high = middle
    return np.int32(low)


@cuda.jit(device=True)
def add_at(sums, at, value):
    """Adds to sums[at], unless `at` is `NONE`; if the whole warp has one `at`, once. All lanes must call it."""
    if all_lanes(at == broadcast_first(at)):
        for j in range(STEPS):
            value += shuffle_down(value, 1 << j)
        if at >= 0 and cuda.threadIdx.x % WARP == 0:
            cuda.atomic.add(sums, at, value)
    elif at >= 0:
        cuda.atomic.add(sums, at, value)


@cuda.jit(device=True)
def sum_subtrees(grid, links, n, sums, more, jumps, longer, going):
    """Replaces sums[v] by the sum over the subtree of v.

    links int32[k]: every vertex that points at another one, once, siblings together, or `NONE`; sums int64[n]; jumps
    int32[n]: where vertices point. Scratch: more int64[n], longer int32[n]; going int32[ROUNDS], zeros. All threads of
    the grid must call it, after a barrier; it ends with one.
    """
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    lane = cuda.threadIdx.x % WARP
    done = np.int32(0)
    while True:
        moved = False
        for v in range(thread, n, threads):
            more[v] = sums[v]
            to = jumps[v]
            if to >= 0:
                to = jumps[to]
                moved = moved or to >= 0
            longer[v] = to
        if moved:
            going[done] = 1
        grid.sync()
        for base in range(thread - lane, links.shape[0], threads):
            k = base + lane
            to, value = NONE, np.int64(0)
            if k < links.shape[0]:
                v = links[k]
                if v >= 0:
                    to, value = jumps[v], sums[v]
            add_at(more, to, value)
        grid.sync()
        for v in range(thread, n, threads):
            sums[v] = more[v]
            jumps[v] = longer[v]
        ended = going[done] == 0
        done += 1
        grid.sync()
        if ended:
            break


@cuda.jit(device=True)
def find_roots(grid, n, words, going):
    """Makes every vertex point at the root of its tree.

    words int64[n]: the vertex at which v points, itself for a root, in the high half, and the distance to it in the low
    half; going int32[ROUNDS]: zeros. A word is read and written whole, so that every value read is right, whenever it
    was written. All threads of the grid must call it, after a barrier; it ends with one.
    """
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    done = np.int32(0)
    while True:
        moved = False
        for v in range(thread, n, threads):
            word = words[v]
            to = word >> 32
            if to != v:
                further = words[to]
                if further >> 32 != to:
                    words[v] = further + (word & LOW)
                    moved = True
        if moved:
            going[done] = 1
        grid.sync()
        if going[done] == 0:
            break
        done += 1


@cuda.jit(device=True)
def part(total):
    """Returns the range of 0 .. total - 1 that this block scans."""
    each = (np.int64(total) + cuda.gridDim.x - 1) // cuda.gridDim.x
    begin = min(cuda.blockIdx.x * each, np.int64(total))
    return begin, min(begin + each, np.int64(total))


@cuda.jit(device=True)
def put_sum(value, partial, sums):
    """Writes the sum of the values of all threads of this block to sums[block]. Ends with a barrier of the block."""
    _, total = exclusive_sum(value, partial)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = total
    cuda.syncthreads()


@cuda.jit(device=True)
def sum_before(partial, sums):
    """Returns the sums of all blocks before this one. Ends with a barrier of the block."""
    value = np.int64(0)
    for block in range(cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockDim.x):
        value += sums[block]
    _, total = exclusive_sum(value, partial)
    cuda.syncthreads()
    return total


class Given(namedtuple("Given", "offsets children parent_offsets parents order levels")):
    """A DAG on the device, as in `Dag`; the super-root, the last vertex, is left out.

    offsets, children, parent_offsets, parents   int64[n + 1], int32[m]: both directions
    order, levels                                int32[n]
    """


class Parts(namedtuple("Parts", "position end gate core starts ends edges bounds totals")):
    """The forests and the core of a DAG on the device.

    position, end, gate  int32[n]: as in `reachability.core.peel.Peeled`
    core                 int32[n]: the first entries are the vertices of the core in the order of `Dag.order`
    starts, ends         int32[n]: where the children of each vertex of the core, by its place in it, are in `edges`
    edges                int32[m]: the ends of edges within the core, as places in it
    bounds               int32[depth + 1]: the place of the first vertex of the core of each level, or of a lower one
    totals               int64[3]: numbers of vertices in B and in the core, and of edges within the core
    """


_WORK = "heads above tails below sums more jumps longer lowest kind several size offset first of_blocks going"


class _Work(namedtuple("_Work", _WORK)):
    """Scratch memory. heads, above int32[m] and tails, below int32[m]: the vertex whose row of parents, or of children,
    has an edge, and the vertex that points along it in B, or in A, or `NONE`."""


@cuda.jit(device=True)
def _child(graph, v):
    """Returns the only child of v, or `NONE`."""
    at = graph.offsets[v]
    return graph.children[at] if graph.offsets[v + 1] - at == 1 else NONE


@cuda.jit(device=True)
def _begin(graph, n, inner, most, work, parts):
    """Points every vertex of one child at it, and marks those of more than `most`."""
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    for i in range(thread, work.going.shape[0], threads):
        work.going[i] = 0
    for v in range(thread, n, threads):
        degree = graph.offsets[v + 1] - graph.offsets[v]
        work.sums[v] = 1 + _MARK if degree > most else np.int64(1)
        work.jumps[v] = _child(graph, v) if v < n - 1 else NONE
        work.lowest[v] = _UNSET
        work.several[v] = 0
        parts.starts[v], parts.ends[v] = 0, 0
    for k in range(thread, graph.parents.shape[0], threads):
        work.heads[k] = row_of(graph.parent_offsets, k, n)
        v = graph.parents[k]
        alone = v < n - 1 and graph.offsets[v + 1] - graph.offsets[v] == 1
        work.above[k] = v if alone else NONE
    for k in range(thread, inner, threads):
        work.tails[k] = row_of(graph.offsets, k, n)


@cuda.jit(device=True)
def _find_parents(grid, graph, n, inner, work):
    """Classifies B; then points every vertex of one parent outside of B at it, and marks what cannot be in A."""
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    for v in range(thread, n, threads):
        work.kind[v] = ROOT if v == n - 1 else ABOVE if work.sums[v] >> 32 == 0 else CORE
        work.size[v] = np.int32(work.sums[v] & LOW)
    grid.sync()
    for k in range(thread, inner, threads):
        u, v = work.tails[k], graph.children[k]
        if work.kind[u] == CORE and u < work.lowest[v]:
            cuda.atomic.min(work.lowest, v, u)
    grid.sync()
    for k in range(thread, inner, threads):
        u, v = work.tails[k], graph.children[k]
        if work.kind[u] == CORE and u != work.lowest[v]:
            work.several[v] = 1
    grid.sync()
    for v in range(thread, n, threads):
        work.sums[v] = 1 + _MARK if work.several[v] else np.int64(1)
        alone = work.lowest[v] != _UNSET and not work.several[v]
        work.jumps[v] = work.lowest[v] if alone else NONE
    for k in range(thread, inner, threads):
        u, v = work.tails[k], graph.children[k]
        work.below[k] = v if work.lowest[v] == u and not work.several[v] else NONE
    grid.sync()
    for k in range(thread, inner, threads):
        if work.kind[work.tails[k]] == CORE and work.several[graph.children[k]]:
            work.sums[work.tails[k]] = 1 + _MARK


@cuda.jit(device=True)
def _tree_parent(graph, work, v):
    """Returns the vertex at which a vertex of B or A points within its tree, or `NONE` for the root of the tree."""
    to = _child(graph, v) if work.kind[v] == ABOVE else work.lowest[v] if work.lowest[v] != _UNSET else NONE
    if to >= 0 and work.kind[to] != work.kind[v]:
        to = NONE
    return to


@cuda.jit(device=True)
def _sizes_at(k, inner, work):
    """Returns the sizes of the trees of B and of A, packed, whose roots point along edge k within their forest."""
    found = np.int64(0)
    v = work.above[k]
    if v >= 0 and work.kind[v] == ABOVE and work.kind[work.heads[k]] == ABOVE:
        found = np.int64(work.size[v]) << 32
    if k < inner:
        v = work.below[k]
        if v >= 0 and work.kind[v] == BELOW and work.kind[work.tails[k]] == BELOW:
            found += work.size[v]
    return found


@cuda.jit(device=True)
def _root_size(graph, work, v):
    """Returns the size of the tree of B, or of A, whose root is v, packed; 0 if v is no root."""
    kind = work.kind[v]
    if kind != ABOVE and kind != BELOW or _tree_parent(graph, work, v) >= 0:
        return np.int64(0)
    return np.int64(work.size[v]) << 32 if kind == ABOVE else np.int64(work.size[v])


@cuda.jit(device=True)
def _place_siblings(grid, graph, inner, work, partial):
    """Sums the sizes of trees in the order of edges: `offset` of a vertex, and `first` of what it points at. Sums may
    pass 2^32: only differences within a row are used (`_place_trees`), right modulo 2^32. B and A have a sum each."""
    m, thread = graph.parents.shape[0], cuda.threadIdx.x
    begin, end = part(m)
    above, below = np.int64(0), np.int64(0)
    for k in range(begin + thread, end, cuda.blockDim.x):
        sizes = _sizes_at(k, inner, work)
        above += sizes >> 32
        below += sizes & LOW
    put_sum(above, partial, work.of_blocks)
    put_sum(below, partial, work.of_blocks[cuda.gridDim.x :])
    grid.sync()
    base_above = sum_before(partial, work.of_blocks)
    base_below = sum_before(partial, work.of_blocks[cuda.gridDim.x :])
    for tile in range(begin, end, cuda.blockDim.x):
        k, value = tile + thread, np.int64(0)
        if k < end:
            value = _sizes_at(k, inner, work)
        above, total = exclusive_sum(value >> 32, partial)
        above += base_above
        base_above += total
        cuda.syncthreads()
        below, total = exclusive_sum(value & LOW, partial)
        below += base_below
        base_below += total
        if k < end:
            head = work.heads[k]
            if work.kind[head] == ABOVE and k == graph.parent_offsets[head]:
                work.first[head] = np.int32(above)
            if value >> 32 > 0:
                work.offset[work.above[k]] = np.int32(above)
            if k < inner:
                tail = work.tails[k]
                if work.kind[tail] == BELOW and k == graph.offsets[tail]:
                    work.first[tail] = np.int32(below)
                if value & LOW > 0:
                    work.offset[work.below[k]] = np.int32(below)
        cuda.syncthreads()
    grid.sync()


@cuda.jit(device=True)
def _place_roots(grid, graph, n, work, parts, partial):
    """Gives roots of trees their positions within their forest, and the vertices of the core their places."""
    thread = cuda.threadIdx.x
    begin, end = part(n)
    sizes, cores = np.int64(0), np.int64(0)
    for i in range(begin + thread, end, cuda.blockDim.x):
        sizes += _root_size(graph, work, i)
        cores += np.int64(work.kind[graph.order[i]] == CORE)
    put_sum(sizes, partial, work.of_blocks)
    put_sum(cores, partial, work.of_blocks[cuda.gridDim.x :])
    grid.sync()
    base = sum_before(partial, work.of_blocks)
    base_of_core = sum_before(partial, work.of_blocks[cuda.gridDim.x :])
    for tile in range(begin, end, cuda.blockDim.x):
        i = tile + thread
        sizes, cores, v = np.int64(0), np.int64(0), np.int32(0)
        if i < end:
            v = graph.order[i]
            sizes = _root_size(graph, work, i)
            cores = np.int64(work.kind[v] == CORE)
        before, total = exclusive_sum(sizes, partial)
        before += base
        base += total
        cuda.syncthreads()
        place, total = exclusive_sum(cores, partial)
        place += base_of_core
        base_of_core += total
        if i < end:
            if sizes:
                work.offset[i] = np.int32(before >> 32) if work.kind[i] == ABOVE else np.int32(before & LOW)
            if cores:
                parts.core[place] = v
                parts.gate[v] = np.int32(place)
            level = graph.levels[v]
            if i == 0 or graph.levels[graph.order[i - 1]] != level:
                parts.bounds[level] = np.int32(place)
            if i == n - 1:
                parts.bounds[level + 1] = np.int32(place + cores)
        cuda.syncthreads()
    if cuda.blockIdx.x == cuda.gridDim.x - 1 and thread == 0:
        parts.totals[OF_ABOVE] = base >> 32
        parts.totals[OF_CORE] = base_of_core
    grid.sync()


@cuda.jit(device=True)
def _within_core(graph, work, k):
    """Returns 1 if edge k is one within the core, else 0."""
    return np.int64(work.kind[work.tails[k]] == CORE and work.kind[graph.children[k]] == CORE)


@cuda.jit(device=True)
def _keep_core_edges(grid, graph, inner, work, parts, partial):
    """Lists the edges within the core, row by row; `gate` has the places of its vertices."""
    thread = cuda.threadIdx.x
    begin, end = part(inner)
    mine = np.int64(0)
    for k in range(begin + thread, end, cuda.blockDim.x):
        mine += _within_core(graph, work, k)
    put_sum(mine, partial, work.of_blocks)
    grid.sync()
    base = sum_before(partial, work.of_blocks)
    for tile in range(begin, end, cuda.blockDim.x):
        k, value = tile + thread, np.int64(0)
        if k < end:
            value = _within_core(graph, work, k)
        before, total = exclusive_sum(value, partial)
        before += base
        base += total
        if k < end:
            tail = work.tails[k]
            if work.kind[tail] == CORE:
                if k == graph.offsets[tail]:
                    parts.starts[parts.gate[tail]] = np.int32(before)
                if k == graph.offsets[tail + 1] - 1:
                    parts.ends[parts.gate[tail]] = np.int32(before + value)
            if value:
                parts.edges[before] = parts.gate[graph.children[k]]
        cuda.syncthreads()
    if cuda.blockIdx.x == cuda.gridDim.x - 1 and thread == 0:
        parts.totals[OF_EDGES] = base
    grid.sync()


@cuda.jit(device=True)
def _place_trees(grid, graph, n, work, parts):
    """Writes positions, ends and gates."""
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    words = work.sums
    for v in range(thread, n, threads):
        to, distance = np.int32(v), np.int64(0)
        if work.kind[v] == ABOVE or work.kind[v] == BELOW:
            distance = np.int64(work.offset[v])
            above = _tree_parent(graph, work, v)
            if above >= 0:
                to = above
                distance = 1 + ((distance - work.first[to]) & LOW)
        words[v] = (np.int64(to) << 32) + distance
    grid.sync()
    find_roots(grid, n, words, work.going[2 * ROUNDS :])
    above, core = parts.totals[OF_ABOVE], parts.totals[OF_CORE]
    for v in range(thread, n, threads):
        kind, position, size, gate = work.kind[v], np.int64(v), np.int64(1), NONE
        root = np.int32(words[v] >> 32)
        if kind == CORE:
            position, gate = above + parts.gate[v], np.int32(v)
        elif kind != ROOT:
            position, size = words[v] & LOW, np.int64(work.size[v])
            if root != v:
                position += words[root] & LOW
            if kind == ABOVE:
                gate = _child(graph, root)
            else:
                position += above + core
                gate = work.lowest[root] if work.lowest[root] != _UNSET else NONE
        parts.position[v], parts.end[v], parts.gate[v] = np.int32(position), np.int32(position + size), gate


@cuda.jit(cache=True)
def peel(graph, most, work, parts):
    """Fills `parts`. most: children that a vertex of B has at most, 1, or -1 for no B. Any grid of whole warps."""
    grid = cuda.cg.this_grid()
    partial = cuda.shared.array(_PARTIAL, np.int64)
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    n = graph.offsets.shape[0] - 1
    inner = graph.offsets[n - 1]  # the super-root's row is the last one
    _begin(graph, n, inner, most, work, parts)
    grid.sync()
    for k in range(thread, inner, threads):
        u = work.tails[k]
        if graph.offsets[u + 1] - graph.offsets[u] > most:
            work.sums[graph.children[k]] = 1 + _MARK
    grid.sync()
    sum_subtrees(grid, work.above, n, work.sums, work.more, work.jumps, work.longer, work.going)
    _find_parents(grid, graph, n, inner, work)
    grid.sync()
    sum_subtrees(grid, work.below[:inner], n, work.sums, work.more, work.jumps, work.longer, work.going[ROUNDS:])
    for v in range(thread, n, threads):
        if work.kind[v] == CORE and work.sums[v] >> 32 == 0:
            work.kind[v] = BELOW
            work.size[v] = np.int32(work.sums[v] & LOW)
    grid.sync()
    _place_siblings(grid, graph, inner, work, partial)
    _place_roots(grid, graph, n, work, parts, partial)
    _keep_core_edges(grid, graph, inner, work, parts, partial)
    _place_trees(grid, graph, n, work, parts)


def upload(dag: Dag) -> Given:
    """Copies a DAG to the device."""
    rows = dag.offsets, dag.children, dag.parent_offsets, dag.parents, dag.order, dag.levels
    return Given(*(cuda.to_device(each if each.size else np.zeros(1, each.dtype)) for each in rows))  # none is empty


def graph_bytes(vertices: int, edges: int) -> int:
    """Returns the bytes of a DAG on the device."""
    return 24 * vertices + 8 * edges


def peeling_bytes(vertices: int, edges: int) -> int:
    """Returns the bytes on the device that peeling takes, and of what it finds."""
    return vertices * (42 + 24) + edges * (16 + 4) + 2**20


def peeling(graph: Given, depth: int) -> tuple[Prepared, Parts]:
    """Returns the launch that peels a DAG of so many levels on the device, and what it fills."""
    n, m = graph.order.shape[0], graph.children.shape[0]
    ints, longs, bytes_ = (partial(cuda.device_array, dtype=kind) for kind in (np.int32, np.int64, np.int8))
    parts = Parts(*(ints(n) for _ in range(6)), ints(m), ints(depth + 1), longs(3))
    work = _Work(
        *(ints(m) for _ in range(4)), longs(n), longs(n), ints(n), ints(n), ints(n), bytes_(n), bytes_(n),
        ints(n), ints(n), ints(n), longs(2 * _MOST_BLOCKS), ints(3 * ROUNDS),
    )  # fmt: skip
    out_trees = m == n - 1 or n == 1  # then no vertex has two parents; no array is empty
    args = graph, -1 if out_trees else 1, work, parts
    return Prepared(peel, args, cooperative_shape(peel, args, THREADS)), parts
