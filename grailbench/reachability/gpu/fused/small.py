"""The labels of `grid` for a graph that fits shared memory: a block a pair and two for the hubs' words.

Pairs and words do not depend on each other, so the blocks never wait for one another; a level costs a barrier of one
block and a few reads of shared memory.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import int32

from grailbench.device.gateway import cuda, simulated
from grailbench.device.launch import kernel_of, most_shared_bytes
from grailbench.device.scan import sum_up
from grailbench.reachability.gpu.fused.hubs import SHARED, chooser
from grailbench.reachability.gpu.fused.records import (
    NO_KEY,
    STEPS_OF_ROWS,
    element,
    low_half,
    priority,
    record_width,
    unmixed,
)

THREADS = 1024
_PARTIAL = THREADS if simulated else 32
_STATIC = 1024 + 8 * _PARTIAL + SHARED  #: bytes of shared memory beside a graph's, 1 KiB of them to spare
_ARRAYS = 4
AHEAD = 4  #: edges that a thread fetches together


def shared_bytes(vertices: int) -> int:
    """Bytes of shared memory that a block takes."""
    return 4 * _ARRAYS * vertices


def fits(vertices: int) -> bool:
    """Whether a graph of so many vertices can be labelled here, in the shared memory of the current device."""
    return shared_bytes(vertices) + _STATIC <= most_shared_bytes()


@cuda.jit(device=True)
def fetched(k, end, some, others):
    """Edge k, early: before the barrier that what it is used for waits at. Any, from `end` on."""
    if k < end:
        return some[k], others[k]
    return np.int32(0), np.int32(0)


@cuda.jit(device=True)
def lower(memory, u, v, end):
    """The start and negated end of u, at u and end + u, take in those of v."""
    least, last = memory[v], memory[end + v]
    if least < memory[u]:
        cuda.atomic.min(memory, u, least)
    if last < memory[end + u]:
        cuda.atomic.min(memory, end + u, last)


@cuda.jit(device=True)
def take_in(memory, u, v, n):
    """The word of v, its halves at v and n + v, takes in that of u."""
    low, high = memory[u], memory[n + u]
    if low & ~memory[v]:
        cuda.atomic.or_(memory, v, low)
    if high & ~memory[n + v]:
        cuda.atomic.or_(memory, n + v, high)


@cache
def kernel(dim: int):
    """The kernel for `dim` label pairs: a grid of dim + 2 blocks."""
    D, W = dim, record_width(dim)
    LEVEL, T, R = 2 * dim, 2 * dim + 1, 2 * dim + 2
    choose = chooser(alone=True)

    @cuda.jit(device=True)
    def grow_tree(p, level_starts, deep_starts, deep_sources, deep_targets, salts, memory, partial, steps):
        """Steps 1 to 3 of pair p: memory holds parents, sizes, offsets of siblings, and where rows begin."""
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        depth = level_starts.shape[0] - 1
        n = level_starts[depth]
        deep = deep_starts[n]
        SIZE, OFFSET, ROW = n, 2 * n, 3 * n
        us = cuda.local.array(AHEAD, np.int32)
        vs = cuda.local.array(AHEAD, np.int32)
        for v in range(thread, n, threads):
            memory[v] = NO_KEY
            memory[SIZE + v] = 1
            memory[ROW + v] = 0
        cuda.syncthreads()
        salt, sibling_salt = salts[2 * p], salts[2 * p + 1]
        for k0 in range(thread, deep, AHEAD * threads):
            for i in range(AHEAD):
                us[i], vs[i] = fetched(k0 + i * threads, deep, deep_sources, deep_targets)
            for i in range(AHEAD):
                if k0 + i * threads < deep:
                    mine = priority(us[i], salt)
                    if mine < memory[vs[i]]:
                        cuda.atomic.min(memory, vs[i], mine)
        cuda.syncthreads()
        for v in range(thread, n, threads):
            memory[v] = unmixed(memory[v], salt) if v > 0 else 0
        if thread == 0:
            memory[SIZE] = n
        cuda.syncthreads()
        begin, end = level_starts[depth - 1], n
        for level in range(depth - 1, 1, -1):
            next_begin = level_starts[level - 1]
            v = begin + thread
            while v < end:  # a range with a step costs a division
                cuda.atomic.add(memory, SIZE + memory[v], memory[SIZE + v])
                v += threads
            begin, end = next_begin, begin
            cuda.syncthreads()
        carry = np.int64(0)
        for k0 in range(0, deep, AHEAD * threads):
            mine = np.int64(0)
            for i in range(AHEAD):
                k = k0 + AHEAD * thread + i
                us[i], vs[i] = np.int32(0), np.int32(-1)
                if k < deep:
                    u = deep_sources[k]
                    row = deep_starts[u]
                    length = np.int64(deep_starts[u + 1] - row)
                    us[i] = u if k == row else 0
                    child = deep_targets[row + element(np.int64(k - row), length, u, sibling_salt, steps)]
                    if memory[child] == u:
                        vs[i] = child
                        mine += memory[SIZE + child]
            before, total = sum_up(mine, partial, thread, threads)
            before += carry
            carry += total
            for i in range(AHEAD):
                if us[i] > 0:
                    memory[ROW + us[i]] = np.int32(before)
                if vs[i] >= 0:
                    memory[OFFSET + vs[i]] = np.int32(before)
                    before += memory[SIZE + vs[i]]
            cuda.syncthreads()

    @cuda.jit(device=True)
    def label_pair(p, level_starts, edge_starts, sources, targets, memory, lanes, thread, threads):
        """Steps 4 and 5 of pair p; starts take the place of parents, negated ends that of offsets."""
        depth = level_starts.shape[0] - 1
        n = level_starts[depth]
        SIZE, END, SHIFT = n, 2 * n, 3 * n
        us = cuda.local.array(AHEAD, np.int32)
        vs = cuda.local.array(AHEAD, np.int32)
        begin, end = np.int32(0), level_starts[1]
        for level in range(depth):
            next_end = level_starts[min(level + 2, depth)]
            v = begin + thread
            while v < end:
                base = np.int32(0)
                if v > 0:
                    base = np.int32(memory[SHIFT + memory[v]] + memory[END + v])
                memory[SHIFT + v] = np.int32(base - memory[SHIFT + v])
                memory[v] = base + 1
                memory[END + v] = -(base + memory[SIZE + v])
                if p == 0:
                    lanes[np.int64(v) * W + LEVEL] = level
                    lanes[np.int64(v) * W + T] = base + 1
                    lanes[np.int64(v) * W + R] = -(base + memory[SIZE + v])
                    for i in range(R + 1, W):
                        lanes[np.int64(v) * W + i] = 0
                v += threads
            begin, end = end, next_end
            cuda.syncthreads()
        begin, end = edge_starts[max(depth - 2, 0)], edge_starts[max(depth - 1, 0)]
        k = begin + thread
        u, v = fetched(k, end, sources, targets)
        for level in range(depth - 2, 0, -1):
            next_begin = edge_starts[level - 1]
            if k < end:
                lower(memory, u, v, END)
            k0 = k + threads
            while k0 < end:
                for i in range(AHEAD):
                    us[i], vs[i] = fetched(k0 + i * threads, end, sources, targets)
                for i in range(AHEAD):
                    if k0 + i * threads < end:
                        lower(memory, us[i], vs[i], END)
                k0 += AHEAD * threads
            begin, end = next_begin, begin
            k = begin + thread
            u, v = fetched(k, end, sources, targets)
            cuda.syncthreads()
        for v in range(thread, n, threads):
            lanes[np.int64(v) * W + 2 * p] = memory[v]
            lanes[np.int64(v) * W + 2 * p + 1] = memory[END + v]

    @cuda.jit(device=True)
    def begin_words(n, chosen, memory, thread, threads):
        """A hub's own bit; the low halves of all words lie before the high ones."""
        for v in range(thread, 2 * n, threads):
            memory[v] = 0
        cuda.syncthreads()  # also for `chosen`
        for i in range(thread, chosen.shape[0], threads):
            if chosen[i] >= 0:
                memory[chosen[i] + (n if i >= 32 else 0)] = low_half(np.int64(1) << (i & 31))
        cuda.syncthreads()

    @cuda.jit(device=True)
    def spread(first, last, step, edge_starts, givers, takers, n, memory, thread, threads):
        """Level by level from `first` to `last` (not met), words of takers take in those of givers along its edges."""
        us = cuda.local.array(AHEAD, np.int32)
        vs = cuda.local.array(AHEAD, np.int32)
        level = first
        k, end = np.int32(0), np.int32(0)
        if level != last:
            k, end = edge_starts[level] + thread, edge_starts[level + 1]
        u, v = fetched(k, end, givers, takers)
        while level != last:
            level += step
            next_begin, next_end = np.int32(0), np.int32(0)
            if level != last:
                next_begin, next_end = edge_starts[level], edge_starts[level + 1]
            if k < end:
                take_in(memory, u, v, n)
            k0 = k + threads
            while k0 < end:
                for i in range(AHEAD):
                    us[i], vs[i] = fetched(k0 + i * threads, end, givers, takers)
                for i in range(AHEAD):
                    if k0 + i * threads < end:
                        take_in(memory, us[i], vs[i], n)
                k0 += AHEAD * threads
            k, end = next_begin + thread, next_end
            u, v = fetched(k, end, givers, takers)
            cuda.syncthreads()

    @cuda.jit(device=True)
    def every_hub(chosen):
        """The halves of the word that has all hubs: the super-root's."""
        low, high = np.int64(0), np.int64(0)
        for i in range(32):
            low |= np.int64(chosen[i] >= 0) << i
            high |= np.int64(chosen[32 + i] >= 0) << i
        return low_half(low), low_half(high)

    @kernel_of(64)
    def label_small(
        level_starts, edge_starts, sources, targets, deep_starts, deep_sources, deep_targets,
        starts, parent_starts, ids, tallies, listed, chosen, salts, lanes, words,
    ):  # fmt: skip
        """See the module. edge_starts int32[depth + 1]: where the edges of each level begin; words int32[4 n];
        tallies, listed, chosen: `hubs.Room` for two blocks.
        """
        memory = cuda.shared.array(0, int32)
        partial = cuda.shared.array(_PARTIAL, np.int64)
        steps = cuda.const.array_like(STEPS_OF_ROWS)
        thread, threads, block = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
        depth = level_starts.shape[0] - 1
        n = level_starts[depth]
        if block < D:
            grow_tree(block, level_starts, deep_starts, deep_sources, deep_targets, salts, memory, partial, steps)
            label_pair(block, level_starts, edge_starts, sources, targets, memory, lanes, thread, threads)
        elif block == D:
            choose(starts, parent_starts, ids, tallies[0], listed[0], chosen[0])
            begin_words(n, chosen[0], memory, thread, threads)
            spread(max(depth - 2, 0), 0, -1, edge_starts, targets, sources, n, memory, thread, threads)
            if thread == 0:
                memory[0], memory[n] = every_hub(chosen[0])
            cuda.syncthreads()
            for v in range(thread, n, threads):
                words[4 * v] = memory[v]
                words[4 * v + 1] = memory[n + v]
        else:
            choose(starts, parent_starts, ids, tallies[1], listed[1], chosen[1])
            begin_words(n, chosen[1], memory, thread, threads)
            spread(min(1, depth - 1), depth - 1, 1, edge_starts, sources, targets, n, memory, thread, threads)
            for v in range(thread, n, threads):
                words[4 * v + 2] = memory[v]
                words[4 * v + 3] = memory[n + v]

    return label_small
