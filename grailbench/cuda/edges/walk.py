"""Numbers the vertices of a DAG by level on the device, as `graph.condense` and `graph.leveled` do on the host.

Kahn's algorithm with a queue takes the vertices level by level, each in the order of the last edge that leads to it:

expand   every edge of the level lowers the number of parents to come of its target by one, and leaves there the
         place of its source, of which the greatest stays
count    edges to vertices with no parent to come that hold the place of this source: the last of their targets
place    a prefix sum of these gives the place of each target in the queue, and where its row begins

All in one cooperative launch; block 0 alone processes narrow levels. Vertices that a walk never reaches lie on cycles
or behind them. A walk ends early on a deep graph (`cuda.graphs.Outline.deep`).
"""

from collections import namedtuple
from functools import cache
from typing import NamedTuple

import numpy as np

from grailbench.cuda.edges import library
from grailbench.cuda.edges.rows import SimpleRows, place_of
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import DEEP_EDGES, DEEP_LEVELS
from grailbench.cuda.launch import kernel_of
from grailbench.cuda.primitives import MOST, exclusive_sum
from grailbench.errors import MachineLacks

NARROW = 4096  #: most edges of a level that one block processes
_SHIFT = 35  #: a count of vertices lies above so many bits, and a count of edges in them
MOST_VERTICES, MOST_EDGES = 1 << 63 - _SHIFT, 1 << _SHIFT
FIRST, LAST, DEPTH, STOPPED = range(4)  #: of `Walk.state`


class Walk(namedtuple("Walk", "missing last vertex rank starts sources targets level_starts sums state")):
    """Arrays of a walk over n vertices and m edges, and r roots, on the device. A super-root, vertex n, is in place 0.

    missing  int32[n]      the number of parents to come
    last     int32[n]      the greatest place of a parent so far, -1 for none
    vertex   int32[n + 1]  the vertex in each place
    rank     int32[n + 1]  the place of each vertex
    starts   [n + 2]       where the edges of each place begin; int32 or int64
    sources  int32[m + r]  the place of the source of each edge
    targets  int32[m + r]  the target of each edge; ~v in place of v if it is in the next level
    level_starts int32     the place where each level begins
    sums     int64[blocks] scratch
    state    int64[4]      the first place of the present level, the place after it, the number of levels begun, and
                           whether the walk ended because the graph is deep
    """


@cuda.jit(device=True)
def _expand(a, b, first, last, offsets, children, walk, span):
    """Processes edges a to b - 1 of the level in places first to last - 1, by one block. span int64[2]: shared."""
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    base = a
    while base < b:
        if thread < 2:
            edge = base if thread == 0 else min(base + threads, b) - 1
            span[thread] = place_of(walk.starts, first, last, edge)
        cuda.syncthreads()
        k = base + thread
        if k < b:
            u = place_of(walk.starts, span[0], span[1] + 1, k)
            v = children[offsets[walk.vertex[u]] + (k - walk.starts[u])]
            walk.sources[k] = u
            walk.targets[k] = v
            cuda.atomic.max(walk.last, v, np.int32(u))
            cuda.atomic.sub(walk.missing, v, 1)
        base += threads
        cuda.syncthreads()


@cuda.jit(device=True)
def _found(k, offsets, walk):
    """Returns the target of edge k, whether it is in the next level, and what the edge adds to the sum (`_SHIFT`)."""
    v = walk.targets[k]
    near, value = walk.missing[v] == 0, np.int64(0)
    if near and walk.last[v] == walk.sources[k]:
        value = (np.int64(1) << _SHIFT) + np.int64(offsets[v + 1] - offsets[v])
    return v, near, value


@cuda.jit(device=True)
def _count(a, b, offsets, walk, partial):
    """Returns the sum over edges a to b - 1, to all threads of the block."""
    mine = np.int64(0)
    k = a + cuda.threadIdx.x
    while k < b:
        v, near, value = _found(k, offsets, walk)
        mine += value
        k += cuda.blockDim.x
    before, total = exclusive_sum(mine, partial)
    cuda.syncthreads()
    return total


@cuda.jit(device=True)
def _place(a, b, carry, last, begin, offsets, walk, partial):
    """Places the targets of edges a to b - 1 behind `last`, from `carry` on, and returns the sum up to there."""
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    base = a
    while base < b:
        k = base + thread
        v, near, value = np.int32(0), False, np.int64(0)
        if k < b:
            v, near, value = _found(k, offsets, walk)
        before, total = exclusive_sum(value, partial)
        before += carry
        if near:
            walk.targets[k] = ~v
        if value:
            at = last + (before >> _SHIFT)
            walk.vertex[at] = v
            walk.rank[v] = at
            walk.starts[at] = begin + (before & (MOST_EDGES - 1))
        carry += total
        base += threads
        cuda.syncthreads()
    return carry


@cuda.jit(device=True)
def _end_level(total, first, last, end, walk, free, edges_a_level):
    """Writes, by one thread, where the level that was placed ends, and its state. end: of the edges before it."""
    after = last + (total >> _SHIFT)
    walk.starts[after] = end + (total & (MOST_EDGES - 1))
    depth = walk.state[DEPTH]
    if after > last:
        depth += 1
        walk.level_starts[depth] = after
    if depth > free and (depth - free) * edges_a_level > end:
        walk.state[STOPPED] = 1
        after = last
    walk.state[FIRST] = last
    walk.state[LAST] = after
    walk.state[DEPTH] = depth


@cache
def kernel():
    """Returns the kernel of the walk."""

    @kernel_of(64)
    def walk_levels(offsets, children, walk, narrow, free, edges_a_level):
        """Walks from level 1 on, whose places, rows and edges from the super-root are filled in. Any cooperative grid.

        offsets [n + 1], children int32[m]: the rows; narrow: most edges of a level for one block; free, edges_a_level:
        `LEVELS` and `EDGES`.
        """
        grid = cuda.cg.this_grid()
        partial = cuda.shared.array(MOST, np.int64)
        span = cuda.shared.array(2, np.int64)
        thread, threads, block, blocks = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x
        first, last = walk.state[FIRST], walk.state[LAST]
        grid.sync()  # block 0 changes these, and a block may begin late
        while first < last:
            a, b = np.int64(walk.starts[first]), np.int64(walk.starts[last])
            if b - a > narrow:
                each = -(-(b - a) // blocks)
                low, high = min(a + block * each, b), min(a + (block + 1) * each, b)
                _expand(low, high, first, last, offsets, children, walk, span)
                grid.sync()
                total = _count(low, high, offsets, walk, partial)
                if thread == 0:
                    walk.sums[block] = total
                grid.sync()
                mine = np.int64(0)
                for i in range(thread, block, threads):
                    mine += walk.sums[i]
                before, carry = exclusive_sum(mine, partial)
                cuda.syncthreads()
                carry = _place(low, high, carry, last, b, offsets, walk, partial)
                if block == blocks - 1 and thread == 0:
                    _end_level(carry, first, last, b, walk, free, edges_a_level)
            elif block == 0:
                while first < last and b - a <= narrow:
                    _expand(a, b, first, last, offsets, children, walk, span)
                    carry = _place(a, b, np.int64(0), last, b, offsets, walk, partial)
                    if thread == 0:
                        _end_level(carry, first, last, b, walk, free, edges_a_level)
                    cuda.syncthreads()
                    first, last = walk.state[FIRST], walk.state[LAST]
                    a, b = np.int64(walk.starts[first]), np.int64(walk.starts[last])
                    cuda.syncthreads()
            grid.sync()
            first, last = walk.state[FIRST], walk.state[LAST]
            grid.sync()

    return walk_levels


class Walked(NamedTuple):
    """The result of a walk. reached: vertices with a place, the super-root among them; depth: levels; deep: whether
    the walk ended early; arrays: those of the walk; edges: m + r."""

    reached: int
    depth: int
    deep: bool
    arrays: Walk
    edges: int


def walk_levels(
    vertices: int, rows: SimpleRows, narrow: int = NARROW, free: int = DEEP_LEVELS, edges_a_level: int = DEEP_EDGES
) -> Walked:
    """Walks the rows of a graph of n > 0 vertices; waits twice. The others are for tests.

    Raises MachineLacks if the graph has more vertices or edges than a word of `Walk.sums` counts of a level.
    """
    n, m = vertices, rows.edges
    if n >= MOST_VERTICES or m >= MOST_EDGES:
        raise MachineLacks(
            f"{n:,} vertices and {m:,} edges on the GPU: levels are found there of fewer than {MOST_VERTICES:,} "
            f"vertices and {MOST_EDGES:,} edges (take an implementation for CPUs)"
        )
    is_root = library.empty(n, np.int8)
    library.launch(_mark_roots, n, rows.parents, n, is_root)
    upto = library.sums(is_root, False)
    r = library.last_of(upto)
    offset = rows.starts.dtype
    walk = Walk(
        missing=rows.parents.copy(), last=library.full(n, -1, np.int32), vertex=library.empty(n + 1, np.int32),
        rank=library.full(n + 1, 0, np.int32), starts=library.empty(n + 2, offset),
        sources=library.empty(m + r, np.int32), targets=library.empty(m + r, np.int32),
        level_starts=library.full(free + (m + r) // edges_a_level + 8, 0, np.int32), sums=library.empty(4096, np.int64),
        state=library.full(4, 0, np.int64),
    )  # fmt: skip
    library.launch(
        _begin, n + 1, rows.parents, upto, r, n, rows.starts, walk.vertex, walk.rank, walk.starts, walk.sources,
        walk.targets, walk.level_starts, walk.state,
    )  # fmt: skip
    begins = walk.starts[1 : r + 2]
    library.arrays().cumsum(begins, dtype=offset, out=begins)
    library.launch_cooperative(kernel(), rows.starts, rows.children, walk, narrow, free, edges_a_level)
    state = library.to_host(walk.state)
    last = int(state[FIRST])
    return Walked(last, int(state[DEPTH]), bool(state[STOPPED]), walk, m + r)


@cuda.jit(cache=True)
def _mark_roots(parents, vertices, is_root):
    for v in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        is_root[v] = 1 if parents[v] == 0 else 0


@cuda.jit(cache=True)
def _begin(parents, upto, count, vertices, offsets, vertex, rank, starts, sources, targets, level_starts, state):
    """Places the super-root and the roots (see `Walk`). upto int32[n]: how many vertices up to each are roots, `count`
    in all. Prefix sums of starts[1 : count + 2] are where rows begin."""
    for v in range(cuda.grid(1), vertices + 1, cuda.gridsize(1)):
        if v == vertices:
            vertex[0], rank[vertices], starts[0], starts[1] = vertices, 0, 0, count
            level_starts[0], level_starts[1], level_starts[2] = 0, 1, count + 1
            state[FIRST], state[LAST] = 1, count + 1
            state[DEPTH] = 2 if count else 1
        elif parents[v] == 0:
            i = upto[v] - 1
            vertex[1 + i], rank[v] = v, 1 + i
            sources[i], targets[i] = 0, ~v
            starts[2 + i] = offsets[v + 1] - offsets[v]
