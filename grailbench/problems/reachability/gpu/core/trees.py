"""Sums over trees and paths to their roots by pointer jumping (Wyllie 1979): in every round each vertex doubles the
distance at which it points. A vertex without a place to point at has `NONE`."""

import numpy as np

from grailbench.cuda.gateway import cuda
from grailbench.cuda.primitives import STEPS, WARP, all_lanes, broadcast_first, exclusive_sum, shuffle_down

NONE = np.int32(-1)
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
