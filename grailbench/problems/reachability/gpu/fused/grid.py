"""All label pairs of a DAG, and the words of its hubs, in one cooperative launch.

Any spanning tree gives labels if containment is repaired (the page 'gpu-fused'). In the tree of pair p, the parent of a
vertex is the first of its deepest parents by a hash of (seed, p, parent). Siblings are ordered affinely, by row and
pair. The labels depend on graph and seed alone. Steps:

1  parents     the least hash among the deepest parents, by atomic minimum
2  sizes       of subtrees, bottom-up, level by level
3  offsets     of siblings, by one prefix sum over the deep edges
4  ranks       top-down, and with them the backward words of the hubs
5  repair      bottom-up: least start and greatest end over the children, and the forward words

Edges are divided evenly. One block processes levels with little work: its barrier costs a twentieth of that of the
grid. Importing this module imports CUDA.
"""

from collections import namedtuple
from functools import cache

import numpy as np

from grailbench.cuda import device_arrays
from grailbench.cuda.gateway import cuda, of_cpu
from grailbench.cuda.graphs import Outline
from grailbench.cuda.launch import kernel_of
from grailbench.cuda.primitives import MOST, WARP, exclusive_sum, mixed, priority, segmented
from grailbench.problems.reachability.gpu.fused import host
from grailbench.problems.reachability.gpu.fused.host import STEPS_OF_ROWS, record_width

NO_KEY = 2**31 - 1  #: greater than all priorities but one, and than all starts and negated ends
_nth = of_cpu(host.nth)
NARROW = 2048  #: most edges or vertices of a level that one block processes
THREADS, PER_MULTIPROCESSOR, REGISTERS = 512, 2, 64
SIZES, RANKS, REPAIR = range(3)  #: rows of `wide_levels`


@cuda.jit(device=True)
def element(position, length, vertex, salt, steps):
    """Returns the element at `position` in the sibling order of the row of `vertex`, which has `length` elements."""
    h = mixed(vertex, salt)
    return _nth(position, length, h, steps[np.int64(h) & 7])


@cuda.jit(device=True)
def low_half(two):
    """Returns the lower int32 of an int64."""
    return np.int32(((two & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000)


@cuda.jit(device=True)
def high_half(two):
    """Returns the upper int32 of an int64."""
    return np.int32(two >> 32)


@cuda.jit(device=True)
def joined_halves(low, high):
    """Returns the int64 of two int32."""
    return (np.int64(high) << 32) | (np.int64(low) & 0xFFFFFFFF)


class Trees(namedtuple("Trees", "key size parent offset row_sum shift")):
    """The trees of d pairs during labeling: arrays int32[n * d], with pair p of vertex v at v * d + p.

    key      the least priority among the deepest parents; from step 4 on key[v] is where v begins in pair 0
    size     the size of the subtree
    parent   the parent in the tree
    offset   the prefix sum of sizes over the deep edges before the vertex
    row_sum  that sum where the vertex's row begins
    shift    the difference between position and offset of the vertex's children
    """


def rooms(vertices: int, dim: int) -> tuple[Trees, object]:
    """Returns scratch for a graph of so many vertices: the trees, and the sums of blocks, int64[4096 * dim]."""
    *trees, sums = device_arrays.allocate(*[(vertices * dim, np.int32)] * len(Trees._fields), (4096 * dim, np.int64))
    return Trees(*trees), sums


class Written(namedtuple("Written", "lanes twos hubs")):
    """The results of the kernel: lanes int32[n * width], the records; twos int64[n * width / 2], the same memory; hubs
    int64[2 n], the hubs' words (`filter.Records`)."""


def level_walk(step):
    """Returns the device function that runs a step level by level, from `first` to before `last` by `ahead`.

    The whole grid processes a wide level, block 0 any other. `step(level, workers, state)` processes one level; workers
    is the number of this worker and the number of workers, either of_grid or of_block.
    """

    @cuda.jit(device=True)
    def walk(grid, first, last, ahead, wide, of_grid, of_block, state):
        level = first
        while level != last:
            following = level + ahead
            if wide[level]:
                step(level, of_grid, state)
                grid.sync()
            else:
                if cuda.blockIdx.x == 0:
                    step(level, of_block, state)
                    cuda.syncthreads()
                if following == last or wide[following]:
                    grid.sync()
            level = following

    return walk


def _clear_and_choose(dim: int):
    """Returns two device functions: one clears trees and words, one runs step 1 and sets the hubs' own bits."""

    @cuda.jit(device=True)
    def clear(workers, n, trees, hubs):
        me, everyone = workers
        for i in range(me, np.int64(n) * dim, everyone):
            trees.key[i] = NO_KEY
            trees.size[i] = 1 if i >= dim else n
            trees.row_sum[i] = 0
        for i in range(me, 2 * np.int64(n), everyone):
            hubs[i] = 0

    @cuda.jit(device=True)
    def choose_parents(workers, deep, graph, chosen, salts, key, hubs):
        """chosen int32[64]: the hubs, -1 for none; deep: the number of deep edges."""
        me, everyone = workers
        for i in range(me, chosen.shape[0], everyone):
            if chosen[i] >= 0:
                hubs[2 * np.int64(chosen[i])] = np.int64(1) << i
                hubs[2 * np.int64(chosen[i]) + 1] = np.int64(1) << i
        for k in range(me, deep, everyone):
            u, v = graph.deep_sources[k], np.int64(graph.deep_targets[k]) * dim
            for p in range(dim):
                mine = priority(u, salts[2 * p])
                if mine < key[v + p]:
                    cuda.atomic.min(key, v + p, mine)

    return clear, choose_parents


def _size_walk(dim: int):
    """Step 2: adds the size of each child to its parent, deepest level first. state: graph, salts, trees."""

    @cuda.jit(device=True)
    def nothing(i):
        return np.int32(0)

    @cuda.jit(device=True)
    def plus(i, a, b):
        return np.int32(a + b)

    @cuda.jit(device=True)
    def load(k, u, value, state):
        graph, salts, trees = state
        v = np.int64(graph.deep_targets[k]) * dim
        for p in range(dim):
            if trees.key[v + p] == priority(u, salts[2 * p]):
                value[p] = trees.size[v + p]

    @cuda.jit(device=True)
    def put(u, value, state):
        trees = state[2]
        for p in range(dim):
            if value[p]:
                cuda.atomic.add(trees.size, np.int64(u) * dim + p, value[p])

    reduce = segmented(dim, nothing, plus, load, put)

    @cuda.jit(device=True)
    def add_sizes(level, workers, state):
        graph = state[0]
        rows = graph.deep_starts
        begin, end = rows[graph.level_starts[level]], rows[graph.level_starts[level + 1]]
        reduce(begin, end, workers, graph.deep_sources, state)

    return level_walk(add_sizes)


def _sibling_offsets(dim: int):
    """Step 3, for the whole grid: each block sums its share of the deep edges, then scans it from its offset."""

    @cuda.jit(device=True)
    def tree_child(k, p, graph, salts, steps, key):
        """Returns the source of deep edge k, and the position in `Trees` of the child at that place in its sibling
        order of pair p, or -1 if it is no child in the tree."""
        u = graph.deep_sources[k]
        row = graph.deep_starts[u]
        length = np.int64(graph.deep_starts[u + 1] - row)
        at = row + element(np.int64(k - row), length, u, salts[2 * p + 1], steps)
        v = np.int64(graph.deep_targets[at]) * dim + p
        return u, v if key[v] == priority(u, salts[2 * p]) else np.int64(-1)

    @cuda.jit(device=True)
    def lay_out(grid, deep, graph, salts, trees, sums, partial):
        """sums int64[blocks * d] and partial (`primitives.exclusive_sum`): scratch, global and shared."""
        carry = cuda.local.array(dim, np.int64)
        steps = cuda.const.array_like(STEPS_OF_ROWS)
        thread, threads, block, blocks = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x
        each = -(-deep // blocks)
        a, b = block * each, min((block + 1) * each, deep)
        for p in range(dim):
            carry[p] = 0
        for k in range(a + thread, b, threads):
            for p in range(dim):
                u, v = tree_child(k, p, graph, salts, steps, trees.key)
                if v >= 0:
                    carry[p] += trees.size[v]
        for p in range(dim):
            before, total = exclusive_sum(carry[p], partial)
            if thread == 0:
                sums[block * dim + p] = total
            cuda.syncthreads()
        grid.sync()
        for p in range(dim):
            mine = np.int64(0)
            for i in range(thread, block, threads):
                mine += sums[i * dim + p]
            before, total = exclusive_sum(mine, partial)
            carry[p] = total
            cuda.syncthreads()
        for k0 in range(a, b, threads):
            k = k0 + thread
            for p in range(dim):
                value = np.int64(0)
                u, v = np.int32(0), np.int64(-1)
                if k < b:
                    u, v = tree_child(k, p, graph, salts, steps, trees.key)
                    if v >= 0:
                        value = np.int64(trees.size[v])
                before, total = exclusive_sum(value, partial)
                before += carry[p]
                carry[p] += total
                if k < b and k == graph.deep_starts[u]:
                    trees.row_sum[np.int64(u) * dim + p] = np.int32(before)
                if v >= 0:
                    trees.offset[v] = np.int32(before)
                    trees.parent[v] = u
                cuda.syncthreads()

    return lay_out


def _rank_walk(dim: int):
    """Step 4: the intervals of a level, and the backward words. state: graph, trees, written.

    Until the end of the repair the lanes of t and r hold the forward word, in a sector that the repair reads anyway.
    """
    width = record_width(dim)
    LEVEL, T, R = 2 * dim, 2 * dim + 1, 2 * dim + 2

    @cuda.jit(device=True)
    def place(v, level, trees, written):
        record = np.int64(v) * width
        for p in range(dim):
            at = np.int64(v) * dim + p
            base = np.int32(0)
            if v > 0:
                base = np.int32(trees.shift[np.int64(trees.parent[at]) * dim + p] + trees.offset[at])
            trees.shift[at] = np.int32(base - trees.row_sum[at])
            written.lanes[record + 2 * p] = base + 1
            written.lanes[record + 2 * p + 1] = -(base + trees.size[at])
            if p == 0:
                trees.key[v] = base
        word = written.hubs[2 * np.int64(v)]
        written.lanes[record + T] = low_half(word)
        written.lanes[record + R] = high_half(word)
        written.lanes[record + LEVEL] = level
        for i in range(R + 1, width):
            written.lanes[record + i] = 0

    @cuda.jit(device=True)
    def pass_words_on(begin, end, workers, graph, hubs):
        """Ors the backward words of the sources of edges begin..end - 1 into those of their targets."""
        number, count = workers
        k = begin + number
        while k < end:
            word = hubs[2 * np.int64(graph.sources[k]) + 1]
            if word:
                at = 2 * np.int64(graph.targets[k]) + 1
                if word & ~hubs[at]:
                    cuda.atomic.or_(hubs, at, word)
            k += count

    @cuda.jit(device=True)
    def rank_level(level, workers, state):
        graph, trees, written = state
        number, count = workers
        begin, end = graph.level_starts[level], graph.level_starts[level + 1]
        v = begin + number
        while v < end:  # a range with a step would cost a division
            place(v, level, trees, written)
            v += count
        if level > 0:
            first, last = graph.starts[graph.level_starts[level - 1]], graph.starts[begin]
            pass_words_on(np.int64(first), np.int64(last), workers, graph, written.hubs)

    return level_walk(rank_level)


def _repair_walk(dim: int):
    """Step 5: extends the interval and the forward word of each source by those of its children. state: graph, written.

    The reduced values are d starts and d negated ends, by minimum, and the two halves of the word, by or.
    """
    width, mins = record_width(dim), 2 * dim
    T = 2 * dim + 1

    @cuda.jit(device=True)
    def nothing(i):
        return np.int32(NO_KEY) if i < mins else np.int32(0)

    @cuda.jit(device=True)
    def least_or_union(i, a, b):
        return min(a, b) if i < mins else np.int32(a | b)

    @cuda.jit(device=True)
    def load(k, u, value, state):
        graph, written = state
        v = np.int64(graph.targets[k])
        for p in range(dim):
            two = written.twos[v * (width // 2) + p]
            value[2 * p], value[2 * p + 1] = low_half(two), high_half(two)
        for half in range(2):
            value[mins + half] = written.lanes[v * width + T + half]

    @cuda.jit(device=True)
    def put(u, value, state):
        lanes = state[1].lanes
        record = np.int64(u) * width
        for i in range(mins):
            if value[i] < lanes[record + i]:
                cuda.atomic.min(lanes, record + i, value[i])
        for half in range(2):
            if value[mins + half] & ~lanes[record + T + half]:
                cuda.atomic.or_(lanes, record + T + half, value[mins + half])

    reduce = segmented(mins + 2, nothing, least_or_union, load, put)

    @cuda.jit(device=True)
    def repair_level(level, workers, state):
        graph = state[0]
        begin, end = graph.starts[graph.level_starts[level]], graph.starts[graph.level_starts[level + 1]]
        reduce(begin, end, workers, graph.sources, state)

    return level_walk(repair_level)


def _finish(dim: int):
    """Returns the device function of the last step: it moves words and the subtrees of pair 0 to their places."""
    width = record_width(dim)
    T, R = 2 * dim + 1, 2 * dim + 2

    @cuda.jit(device=True)
    def finish(workers, n, chosen, trees, written):
        number, count = workers
        lanes = written.lanes
        for v in range(number, n, count):
            record = np.int64(v) * width
            word = joined_halves(lanes[record + T], lanes[record + R])
            if v == 0:
                for i in range(chosen.shape[0]):
                    if chosen[i] >= 0:
                        word |= np.int64(1) << i
            written.hubs[2 * np.int64(v)] = word
            base = trees.key[v]
            lanes[record + T] = base + 1
            lanes[record + R] = -(base + trees.size[np.int64(v) * dim])

    return finish


@cache
def kernel(dim: int, registers: int | None = None):
    """Returns the kernel for `dim` label pairs, compiled to at most so many registers per thread."""
    clear, choose_parents = _clear_and_choose(dim)
    walk_sizes, walk_ranks, walk_repair = _size_walk(dim), _rank_walk(dim), _repair_walk(dim)
    lay_out, finish = _sibling_offsets(dim), _finish(dim)

    @kernel_of(registers, cached=registers == REGISTERS)
    def label(graph, wide, chosen, salts, trees, sums, written):
        """Writes the labels. Any cooperative grid.

        graph: `cuda.graphs.DeviceLeveled`; wide: `wide_levels`, on the device; chosen int32[64]: the hubs; salts
        uint64[2 d]; sums int64[blocks * d]: scratch. The super-root is not swept: it reaches every vertex.
        """
        grid = cuda.cg.this_grid()
        partial = cuda.shared.array(MOST, np.int64)
        thread, threads, block, blocks = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x, cuda.gridDim.x
        warp, warps = thread // WARP, threads // WARP
        of_grid, of_block = (block * threads + thread, blocks * threads), (thread, threads)
        warps_of_grid, warps_of_block = (block * warps + warp, blocks * warps), (warp, warps)
        depth = graph.level_starts.shape[0] - 1
        n = graph.level_starts[depth]
        deep = graph.deep_starts[n]
        above_leaves = max(depth - 2, 0)

        clear(of_grid, n, trees, written.hubs)
        grid.sync()
        choose_parents(of_grid, deep, graph, chosen, salts, trees.key, written.hubs)
        grid.sync()
        walk_sizes(grid, above_leaves, 0, -1, wide[SIZES], warps_of_grid, warps_of_block, (graph, salts, trees))
        lay_out(grid, deep, graph, salts, trees, sums, partial)
        grid.sync()
        walk_ranks(grid, 0, depth, 1, wide[RANKS], of_grid, of_block, (graph, trees, written))
        walk_repair(grid, above_leaves, 0, -1, wide[REPAIR], warps_of_grid, warps_of_block, (graph, written))
        finish(of_grid, n, chosen, trees, written)

    return label


def wide_levels(graph: Outline, narrow: int = NARROW) -> np.ndarray:
    """Returns whether each level is too large for one block, in steps 2, 4 and 5: int8[3, depth]."""
    edges, deep = np.diff(graph.edge_starts), np.diff(graph.deep_edge_starts)
    pushed = np.concatenate([[0], edges[:-1]])
    down = np.maximum(pushed, np.diff(graph.level_starts))
    return np.stack([deep > narrow, down > narrow, edges > narrow]).astype(np.int8)


def barriers(wide: np.ndarray) -> int:
    """Returns the number of barriers of the grid in one labeling, without those of the choice of hubs."""
    sweeps = wide[SIZES, -2:0:-1], wide[RANKS], wide[REPAIR, -2:0:-1]
    return 4 + sum(int(np.count_nonzero(sweep | np.append(sweep[1:], 1))) for sweep in sweeps if sweep.size)
