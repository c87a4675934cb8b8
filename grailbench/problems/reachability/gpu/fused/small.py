"""The labels of `grid` for a graph that fits into shared memory: one block per pair, and two for the hubs' words, which
never wait for one another. The shared memory of a block has four arrays of n int32: parents, sizes, offsets of
siblings, and prefix sums where rows begin; or the halves of words."""

from functools import cache

import numpy as np
from numpy import int32

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import kernel_of, most_shared_bytes
from grailbench.cuda.primitives import exclusive_sum, priority, unmixed
from grailbench.problems.reachability.gpu.fused.grid import NO_KEY, element, low_half
from grailbench.problems.reachability.gpu.fused.host import STEPS_OF_ROWS, record_width
from grailbench.problems.reachability.gpu.fused.hubs import SHARED, chooser

THREADS = 1024
PARTIAL = THREADS if simulated else 32
STATIC = 1024 + 8 * PARTIAL + SHARED  #: bytes of shared memory in addition to those of a graph, with 1 KiB to spare
_ARRAYS = 4
AHEAD = 4  #: edges that a thread loads together


def shared_bytes(vertices: int) -> int:
    """Returns the bytes of shared memory of a block for a graph of so many vertices."""
    return 4 * _ARRAYS * vertices


def most_vertices() -> int:
    """Returns the vertices of the largest graph that fits into the shared memory of a block of the current device."""
    return (most_shared_bytes() - STATIC) // (4 * _ARRAYS)


def fits(vertices: int) -> bool:
    """Returns whether a graph of so many vertices fits into the shared memory of a block."""
    return vertices <= most_vertices()


@cuda.jit(device=True)
def edge_at(k, end, sources, targets):
    """Returns the ends of edge k, loaded before the barrier that precedes their use; arbitrary values for k >= end."""
    if k < end:
        return sources[k], targets[k]
    return np.int32(0), np.int32(0)


@cuda.jit(device=True)
def take_interval(memory, u, v, second):
    """Lowers start and negated end of v, at v and second + v, to at most those of u."""
    start, end = memory[u], memory[second + u]
    if start < memory[v]:
        cuda.atomic.min(memory, v, start)
    if end < memory[second + v]:
        cuda.atomic.min(memory, second + v, end)


@cuda.jit(device=True)
def take_word(memory, u, v, second):
    """Ors the word of u into that of v, with halves at v and second + v."""
    low, high = memory[u], memory[second + u]
    if low & ~memory[v]:
        cuda.atomic.or_(memory, v, low)
    if high & ~memory[second + v]:
        cuda.atomic.or_(memory, second + v, high)


def level_sweep(take):
    """Returns the device function that calls `take(memory, giver, taker, second)` for the edges of each level.

    The levels are first, first + step, ... before last. edge_starts int32[depth + 1]: where their edges begin.
    """

    @cuda.jit(device=True)
    def sweep(first, last, step, edge_starts, givers, takers, memory, second):
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        us = cuda.local.array(AHEAD, np.int32)
        vs = cuda.local.array(AHEAD, np.int32)
        level = first
        k, end = np.int32(0), np.int32(0)
        if level != last:
            k, end = edge_starts[level] + thread, edge_starts[level + 1]
        u, v = edge_at(k, end, givers, takers)
        while level != last:
            level += step
            next_begin, next_end = np.int32(0), np.int32(0)
            if level != last:
                next_begin, next_end = edge_starts[level], edge_starts[level + 1]
            if k < end:
                take(memory, u, v, second)
            k0 = k + threads
            while k0 < end:
                for i in range(AHEAD):
                    us[i], vs[i] = edge_at(k0 + i * threads, end, givers, takers)
                for i in range(AHEAD):
                    if k0 + i * threads < end:
                        take(memory, us[i], vs[i], second)
                k0 += AHEAD * threads
            k, end = next_begin + thread, next_end
            u, v = edge_at(k, end, givers, takers)
            cuda.syncthreads()

    return sweep


@cuda.jit(device=True)
def choose_parents(n, graph, salt, parent):
    """Step 1: writes the parents by the salt of a pair's parents."""
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    deep = graph.deep_starts[n]
    us = cuda.local.array(AHEAD, np.int32)
    vs = cuda.local.array(AHEAD, np.int32)
    for v in range(thread, n, threads):
        parent[v] = NO_KEY
    cuda.syncthreads()
    for k0 in range(thread, deep, AHEAD * threads):
        for i in range(AHEAD):
            us[i], vs[i] = edge_at(k0 + i * threads, deep, graph.deep_sources, graph.deep_targets)
        for i in range(AHEAD):
            if k0 + i * threads < deep:
                mine = priority(us[i], salt)
                if mine < parent[vs[i]]:
                    cuda.atomic.min(parent, vs[i], mine)
    cuda.syncthreads()
    for v in range(thread, n, threads):
        parent[v] = unmixed(parent[v], salt) if v > 0 else 0


@cuda.jit(device=True)
def add_sizes(n, level_starts, parent, size):
    """Step 2: adds the size of every vertex to that of its parent, the deepest level first; sizes are 1, the root's n.

    The first parents of a level are loaded before the barrier.
    """
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    depth = level_starts.shape[0] - 1
    begin, end = level_starts[depth - 1], n
    v = begin + thread
    up = parent[v] if v < end else np.int32(0)
    for level in range(depth - 1, 1, -1):
        next_begin = level_starts[level - 1]
        following = next_begin + thread
        next_up = parent[following] if following < begin else np.int32(0)
        while v < end:
            cuda.atomic.add(size, up, size[v])
            v += threads
            if v < end:
                up = parent[v]
        begin, end = next_begin, begin
        v, up = following, next_up
        cuda.syncthreads()


@cuda.jit(device=True)
def lay_out_siblings(n, graph, salt, parent, size, offset, row_sum, partial, steps):
    """Step 3: writes offsets of siblings, and prefix sums where rows begin; salt: of the siblings."""
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    deep = graph.deep_starts[n]
    us = cuda.local.array(AHEAD, np.int32)
    vs = cuda.local.array(AHEAD, np.int32)
    carry = np.int64(0)
    for k0 in range(0, deep, AHEAD * threads):
        mine = np.int64(0)
        for i in range(AHEAD):
            k = k0 + AHEAD * thread + i
            us[i], vs[i] = np.int32(0), np.int32(-1)
            if k < deep:
                u = graph.deep_sources[k]
                row = graph.deep_starts[u]
                length = np.int64(graph.deep_starts[u + 1] - row)
                us[i] = u if k == row else 0
                child = graph.deep_targets[row + element(np.int64(k - row), length, u, salt, steps)]
                if parent[child] == u:
                    vs[i] = child
                    mine += size[child]
        before, total = exclusive_sum(mine, partial)
        before += carry
        carry += total
        for i in range(AHEAD):
            if us[i] > 0:
                row_sum[us[i]] = np.int32(before)
            if vs[i] >= 0:
                offset[vs[i]] = np.int32(before)
                before += size[vs[i]]
        cuda.syncthreads()


@cuda.jit(device=True)
def loaded(v, end, parent, size, offset):
    """Returns what step 4 needs of vertex v; zeros for v >= end."""
    if v < end:
        return parent[v], size[v], offset[v]
    return np.int32(0), np.int32(0), np.int32(0)


def ranks(dim: int):
    """Returns the device function of step 4: starts replace parents, negated ends replace offsets."""
    W, LEVEL, T, R = record_width(dim), 2 * dim, 2 * dim + 1, 2 * dim + 2

    @cuda.jit(device=True)
    def rank(p, level_starts, parent, size, offset, row_sum, lanes):
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        depth = level_starts.shape[0] - 1
        end = level_starts[1]
        v = np.int32(thread)
        up, own, before = loaded(v, end, parent, size, offset)
        for level in range(depth):
            next_end = level_starts[min(level + 2, depth)]
            following = np.int32(end + thread)
            next_up, next_own, next_before = loaded(following, next_end, parent, size, offset)
            while v < end:
                base = np.int32(0)
                if v > 0:
                    base = np.int32(row_sum[up] + before)
                row_sum[v] = np.int32(base - row_sum[v])
                parent[v] = base + 1
                offset[v] = -(base + own)
                if p == 0:
                    lanes[np.int64(v) * W + LEVEL] = level
                    lanes[np.int64(v) * W + T] = base + 1
                    lanes[np.int64(v) * W + R] = -(base + own)
                    for i in range(R + 1, W):
                        lanes[np.int64(v) * W + i] = 0
                v = np.int32(v + threads)
                up, own, before = loaded(v, end, parent, size, offset)
            end = next_end
            v, up, own, before = following, next_up, next_own, next_before
            cuda.syncthreads()

    return rank


@cuda.jit(device=True)
def begin_words(n, chosen, memory):
    """Sets each hub's own bit; the low halves of all words precede the high ones."""
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    for v in range(thread, 2 * n, threads):
        memory[v] = 0
    cuda.syncthreads()  # also for `chosen`
    for i in range(thread, chosen.shape[0], threads):
        if chosen[i] >= 0:
            memory[chosen[i] + (n if i >= 32 else 0)] = low_half(np.int64(1) << (i & 31))
    cuda.syncthreads()


@cuda.jit(device=True)
def every_hub(chosen):
    """Returns the halves of the word with all hubs, which is that of the super-root."""
    low, high = np.int64(0), np.int64(0)
    for i in range(32):
        low |= np.int64(chosen[i] >= 0) << i
        high |= np.int64(chosen[32 + i] >= 0) << i
    return low_half(low), low_half(high)


@cache
def kernel(dim: int):
    """Returns the kernel for `dim` label pairs, for a grid of dim + 2 blocks."""
    D, W = dim, record_width(dim)
    choose, rank = chooser(alone=True), ranks(dim)
    sweep_intervals, sweep_words = level_sweep(take_interval), level_sweep(take_word)

    @kernel_of(64)
    def label_small(graph, edge_starts, hubs, salts, lanes, words):
        """Writes the labels: lanes int32[n * width] and words int32[4 n].

        graph: `cuda.graphs.DeviceLeveled`; edge_starts int32[depth + 1]: where the edges of each level begin; hubs:
        `hubs.HubArrays` of two rows; salts uint64[2 d].
        """
        memory = cuda.shared.array(0, int32)
        partial = cuda.shared.array(PARTIAL, np.int64)
        steps = cuda.const.array_like(STEPS_OF_ROWS)
        thread, threads, block = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
        sources, targets, level_starts = graph.sources, graph.targets, graph.level_starts
        depth = level_starts.shape[0] - 1
        n = level_starts[depth]
        above_leaves = max(depth - 2, 0)
        if block < D:
            parent, size, offset, row_sum = memory[:n], memory[n : 2 * n], memory[2 * n : 3 * n], memory[3 * n : 4 * n]
            for v in range(thread, n, threads):
                size[v] = 1 if v > 0 else n
                row_sum[v] = 0
            choose_parents(n, graph, salts[2 * block], parent)
            cuda.syncthreads()
            add_sizes(n, level_starts, parent, size)
            lay_out_siblings(n, graph, salts[2 * block + 1], parent, size, offset, row_sum, partial, steps)
            rank(block, level_starts, parent, size, offset, row_sum, lanes)
            sweep_intervals(above_leaves, 0, -1, edge_starts, targets, sources, memory, 2 * n)
            for v in range(thread, n, threads):
                lanes[np.int64(v) * W + 2 * block] = memory[v]
                lanes[np.int64(v) * W + 2 * block + 1] = memory[2 * n + v]
        else:
            row = block - D  # 0: the forward words, 1: the backward ones
            chosen = hubs.chosen[row]
            choose(graph, hubs.tallies[row], hubs.listed[row], chosen)
            begin_words(n, chosen, memory)
            if row == 0:
                sweep_words(above_leaves, 0, -1, edge_starts, targets, sources, memory, n)
                if thread == 0:
                    memory[0], memory[n] = every_hub(chosen)
                cuda.syncthreads()
            else:
                sweep_words(min(1, depth - 1), depth - 1, 1, edge_starts, sources, targets, memory, n)
            for v in range(thread, n, threads):
                words[4 * v + 2 * row] = memory[v]
                words[4 * v + 2 * row + 1] = memory[n + v]

    return label_small
