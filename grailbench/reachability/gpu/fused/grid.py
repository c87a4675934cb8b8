"""All label pairs of a DAG, and the words of its hubs, in one cooperative launch.

Any spanning tree gives labels if containment is repaired (docs/algorithms.md). Here the tree of pair p takes for each
vertex the deepest parent that a hash of (seed, p, parent) puts first; children lie in their parent's interval in an
order that is affine in their row, other in each row and pair. All is a pure function of the graph and the seed. Steps:

    1  parents     the least hash among the deepest parents, by atomic minimum
    2  sizes       of subtrees, bottom-up, level by level
    3  offsets     of siblings, by one prefix sum over the deep edges
    4  ranks       top-down, and with them the backward words of the hubs
    5  repair      bottom-up: least start and greatest end over the children, and the forward words

Edges are shared out evenly, so that a hub stalls nobody. Levels with little to do are walked by one block, whose
barrier costs a twentieth of the grid's.

Importing this imports CUDA (`device.gateway`).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from grailbench.device.gateway import cuda
from grailbench.device.launch import kernel_of
from grailbench.device.scan import MOST, sum_up
from grailbench.device.warp import STEPS, WARP, above, below, every, first
from grailbench.graph.leveled import Leveled
from grailbench.reachability.gpu.fused.records import (
    NO_KEY,
    STEPS_OF_ROWS,
    element,
    high_half,
    joined_halves,
    low_half,
    priority,
    record_width,
)

NARROW = 2048  #: a level with no more edges and vertices is one block's work
THREADS, PER_MULTIPROCESSOR, REGISTERS = 512, 2, 64


@cuda.jit(device=True)
def share(begin, end, worker, workers):
    """The part [a, b) of [begin, end) that a warp has: whole warps' widths, contiguous."""
    each = np.int64((end - begin) * (1.0 / (workers * WARP))) * WARP + WARP  # a float's product: no division by level
    a = begin + worker * each
    return a, min(a + each, end)


@cache
def kernel(dim: int, registers: int | None = None):
    """The kernel for `dim` label pairs, compiled to at most so many registers a thread."""
    D, W = dim, record_width(dim)
    MINS = 2 * dim
    LEVEL, T, R = 2 * dim, 2 * dim + 1, 2 * dim + 2

    @cuda.jit(device=True)
    def add_sizes(begin, end, worker, workers, lane, sources, targets, salts, key, size):
        """Step 2 on deep edges [begin, end): add each tree child's size to its parent's."""
        a, b = share(begin, end, worker, workers)
        run = cuda.local.array(D, np.int32)
        value = cuda.local.array(D, np.int32)
        current = np.int32(-1)
        for p in range(D):
            run[p] = 0
        for k0 in range(a, b, WARP):
            k = k0 + lane
            u = np.int32(-1)
            for p in range(D):
                value[p] = 0
            if k < b:
                u = sources[k]
                v = np.int64(targets[k]) * D
                for p in range(D):
                    if key[v + p] == priority(u, salts[2 * p]):
                        value[p] = size[v + p]
            u0 = first(u)
            if every(u == u0):
                if u0 != current:
                    if current >= 0:
                        for p in range(D):
                            total = run[p]
                            for j in range(STEPS):
                                total += above(total, 1 << j)
                            if lane == 0 and total:
                                cuda.atomic.add(size, np.int64(current) * D + p, total)
                            run[p] = 0
                    current = u0
                for p in range(D):
                    run[p] += value[p]
            else:
                before = below(u, 1)
                for p in range(D):
                    total = value[p]
                    for j in range(STEPS):
                        other, whose = above(total, 1 << j), above(u, 1 << j)
                        if lane + (1 << j) < WARP and whose == u:
                            total += other
                    if (lane == 0 or before != u) and u >= 0 and total:
                        cuda.atomic.add(size, np.int64(u) * D + p, total)
        if current >= 0:
            for p in range(D):
                total = run[p]
                for j in range(STEPS):
                    total += above(total, 1 << j)
                if lane == 0 and total:
                    cuda.atomic.add(size, np.int64(current) * D + p, total)

    @cuda.jit(device=True)
    def put(lanes, at, least, word):
        """Lower the starts and negated ends of vertex `at` to `least`, lane by lane, and add the bits of `word`."""
        record = np.int64(at) * W
        for i in range(MINS):
            if least[i] < lanes[record + i]:
                cuda.atomic.min(lanes, record + i, least[i])
        low, high = low_half(word), high_half(word)
        if low & ~lanes[record + T]:
            cuda.atomic.or_(lanes, record + T, low)
        if high & ~lanes[record + R]:
            cuda.atomic.or_(lanes, record + R, high)

    @cuda.jit(device=True)
    def gather_up(least, word):
        """Minima and union over the warp, in lane 0."""
        for i in range(MINS):
            for j in range(STEPS):
                least[i] = min(least[i], above(least[i], 1 << j))
        for j in range(STEPS):
            word |= above(word, 1 << j)
        return word

    @cuda.jit(device=True)
    def repair(begin, end, worker, workers, lane, sources, targets, lanes, twos):
        """Step 5 on edges [begin, end): each source's interval takes in its children's, and their forward words."""
        a, b = share(begin, end, worker, workers)
        run = cuda.local.array(MINS, np.int32)
        value = cuda.local.array(MINS, np.int32)
        bits = np.int64(0)
        current = np.int32(-1)
        for i in range(MINS):
            run[i] = NO_KEY
        for k0 in range(a, b, WARP):
            k = k0 + lane
            u, word = np.int32(-1), np.int64(0)
            for i in range(MINS):
                value[i] = NO_KEY
            if k < b:
                u = sources[k]
                v = np.int64(targets[k])
                for p in range(D):
                    two = twos[v * (W // 2) + p]
                    value[2 * p], value[2 * p + 1] = low_half(two), high_half(two)
                word = joined_halves(lanes[v * W + T], lanes[v * W + R])
            u0 = first(u)
            if every(u == u0):
                if u0 != current:
                    if current >= 0:
                        bits = gather_up(run, bits)
                        if lane == 0:
                            put(lanes, current, run, bits)
                        bits = np.int64(0)
                        for i in range(MINS):
                            run[i] = NO_KEY
                    current = u0
                for i in range(MINS):
                    run[i] = min(run[i], value[i])
                bits |= word
            else:
                for j in range(STEPS):
                    whose = above(u, 1 << j)
                    same = lane + (1 << j) < WARP and whose == u
                    for i in range(MINS):
                        other = above(value[i], 1 << j)
                        if same:
                            value[i] = min(value[i], other)
                    others = above(word, 1 << j)
                    if same:
                        word |= others
                before = below(u, 1)
                if (lane == 0 or before != u) and u >= 0:
                    put(lanes, u, value, word)
        if current >= 0:
            bits = gather_up(run, bits)
            if lane == 0:
                put(lanes, current, run, bits)

    @cuda.jit(device=True)
    def rank_vertices(begin, end, worker, workers, level, size, tree, bases, lanes, hubs):
        """Step 4 for vertices [begin, end) of a level: where their intervals lie.

        Until the repair is done the lanes of t and r hold the forward word, in the sector that it reads anyway.
        """
        parent, offset, row_sum, shift = tree
        v = begin + worker
        while v < end:  # a range with a step costs a division
            record = np.int64(v) * W
            for p in range(D):
                at = np.int64(v) * D + p
                base = np.int32(0)
                if v > 0:
                    base = np.int32(shift[np.int64(parent[at]) * D + p] + offset[at])
                shift[at] = np.int32(base - row_sum[at])
                lanes[record + 2 * p] = base + 1
                lanes[record + 2 * p + 1] = -(base + size[at])
                if p == 0:
                    bases[v] = base
            word = hubs[2 * np.int64(v)]
            lanes[record + T] = low_half(word)
            lanes[record + R] = high_half(word)
            lanes[record + LEVEL] = level
            for i in range(R + 1, W):
                lanes[record + i] = 0
            v += workers

    @cuda.jit(device=True)
    def push_words(begin, end, worker, workers, sources, targets, hubs):
        """Step 4 on edges [begin, end): targets take over the backward words of their sources."""
        k = begin + worker
        while k < end:
            word = hubs[2 * np.int64(sources[k]) + 1]
            if word:
                at = 2 * np.int64(targets[k]) + 1
                if word & ~hubs[at]:
                    cuda.atomic.or_(hubs, at, word)
            k += workers

    @kernel_of(registers, kept=registers == REGISTERS)
    def label(
        level_starts, wide, starts, sources, targets, deep_starts, deep_sources, deep_targets, chosen, salts,
        key, size, parent, offset, row_sum, shift, sums, lanes, twos, hubs,
    ):  # fmt: skip
        """See the module. wide: int8[3, depth], whether a level is the whole grid's work in steps 2, 4, 5.

        twos: int64[n * width / 2], the same memory as `lanes`. The super-root is not swept: it has all there is.
        """
        grid = cuda.cg.this_grid()
        partial = cuda.shared.array(MOST, np.int64)
        steps = cuda.const.array_like(STEPS_OF_ROWS)
        carry = cuda.local.array(D, np.int64)
        thread, threads, block, blocks = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x
        lane = thread % WARP
        me, everyone = block * threads + thread, blocks * threads
        warp, warps = thread // WARP, threads // WARP
        my_warp, all_warps = block * warps + warp, blocks * warps
        depth = level_starts.shape[0] - 1
        n = level_starts[depth]
        deep = deep_starts[n]

        for i in range(me, np.int64(n) * D, everyone):
            key[i] = NO_KEY
            size[i] = 1 if i >= D else n
            row_sum[i] = 0
        for i in range(me, 2 * np.int64(n), everyone):
            hubs[i] = 0
        grid.sync()

        for i in range(me, chosen.shape[0], everyone):
            if chosen[i] >= 0:
                hubs[2 * np.int64(chosen[i])] = np.int64(1) << i
                hubs[2 * np.int64(chosen[i]) + 1] = np.int64(1) << i
        for k in range(me, deep, everyone):
            u, v = deep_sources[k], np.int64(deep_targets[k]) * D
            for p in range(D):
                mine = priority(u, salts[2 * p])
                if mine < key[v + p]:
                    cuda.atomic.min(key, v + p, mine)
        grid.sync()

        for level in range(depth - 2, 0, -1):
            begin, end = deep_starts[level_starts[level]], deep_starts[level_starts[level + 1]]
            if wide[0, level]:
                add_sizes(begin, end, my_warp, all_warps, lane, deep_sources, deep_targets, salts, key, size)
                grid.sync()
            else:
                if block == 0:
                    add_sizes(begin, end, warp, warps, lane, deep_sources, deep_targets, salts, key, size)
                    cuda.syncthreads()
                if level == 1 or wide[0, level - 1]:
                    grid.sync()

        each = -(-deep // blocks)
        a, b = block * each, min((block + 1) * each, deep)
        for p in range(D):
            carry[p] = 0
        for k in range(a + thread, b, threads):
            u = deep_sources[k]
            row = deep_starts[u]
            length = np.int64(deep_starts[u + 1] - row)
            for p in range(D):
                at = row + element(np.int64(k - row), length, u, salts[2 * p + 1], steps)
                v = np.int64(deep_targets[at]) * D + p
                if key[v] == priority(u, salts[2 * p]):
                    carry[p] += size[v]
        for p in range(D):
            before, total = sum_up(carry[p], partial, thread, threads)
            if thread == 0:
                sums[block * D + p] = total
            cuda.syncthreads()
        grid.sync()
        for p in range(D):
            mine = np.int64(0)
            for i in range(thread, block, threads):
                mine += sums[i * D + p]
            before, total = sum_up(mine, partial, thread, threads)
            carry[p] = total
            cuda.syncthreads()
        for k0 in range(a, b, threads):
            k = k0 + thread
            for p in range(D):
                value = np.int64(0)
                u, v, begins = np.int32(0), np.int64(-1), False
                if k < b:
                    u = deep_sources[k]
                    row = deep_starts[u]
                    length = np.int64(deep_starts[u + 1] - row)
                    at = row + element(np.int64(k - row), length, u, salts[2 * p + 1], steps)
                    begins = k == row
                    child = np.int64(deep_targets[at]) * D + p
                    if key[child] == priority(u, salts[2 * p]):
                        v = child
                        value = np.int64(size[child])
                before, total = sum_up(value, partial, thread, threads)
                before += carry[p]
                carry[p] += total
                if begins:
                    row_sum[np.int64(u) * D + p] = np.int32(before)
                if v >= 0:
                    offset[v] = np.int32(before)
                    parent[v] = u
                cuda.syncthreads()
        grid.sync()

        tree = parent, offset, row_sum, shift
        for level in range(depth):
            begin, end = level_starts[level], level_starts[level + 1]
            first_edge, last_edge = np.int64(0), np.int64(0)
            if level > 0:
                first_edge, last_edge = np.int64(starts[level_starts[level - 1]]), np.int64(starts[begin])
            if wide[1, level]:
                rank_vertices(begin, end, me, everyone, level, size, tree, key, lanes, hubs)
                push_words(first_edge, last_edge, me, everyone, sources, targets, hubs)
                grid.sync()
            else:
                if block == 0:
                    rank_vertices(begin, end, thread, threads, level, size, tree, key, lanes, hubs)
                    push_words(first_edge, last_edge, thread, threads, sources, targets, hubs)
                    cuda.syncthreads()
                if level == depth - 1 or wide[1, level + 1]:
                    grid.sync()

        for level in range(depth - 2, 0, -1):
            begin, end = starts[level_starts[level]], starts[level_starts[level + 1]]
            if wide[2, level]:
                repair(begin, end, my_warp, all_warps, lane, sources, targets, lanes, twos)
                grid.sync()
            else:
                if block == 0:
                    repair(begin, end, warp, warps, lane, sources, targets, lanes, twos)
                    cuda.syncthreads()
                if level == 1 or wide[2, level - 1]:
                    grid.sync()

        for v in range(me, n, everyone):
            record = np.int64(v) * W
            word = joined_halves(lanes[record + T], lanes[record + R])
            if v == 0:
                for i in range(chosen.shape[0]):
                    if chosen[i] >= 0:
                        word |= np.int64(1) << i
            hubs[2 * np.int64(v)] = word
            base = key[v]
            lanes[record + T] = base + 1
            lanes[record + R] = -(base + size[np.int64(v) * D])

    return label


def wide_levels(graph: Leveled, narrow: int = NARROW) -> np.ndarray:
    """int8[3, depth]: whether a level is too much for one block, in steps 2, 4 and 5."""
    edges = np.diff(graph.starts[graph.level_starts])
    deep = np.diff(graph.deep_starts[graph.level_starts])
    pushed = np.concatenate([[0], edges[:-1]])
    down = np.maximum(pushed, np.diff(graph.level_starts))
    return np.stack([deep > narrow, down > narrow, edges > narrow]).astype(np.int8)


def barriers(wide: np.ndarray) -> int:
    """Barriers of the grid in one labeling, those of the hubs' choice not counted."""
    sweeps = wide[0, -2:0:-1], wide[1], wide[2, -2:0:-1]
    return 4 + sum(int(np.count_nonzero(sweep | np.append(sweep[1:], 1))) for sweep in sweeps if sweep.size)
