"""The labels of `grid` for a graph of many narrow levels: a block for each column of the labels, whose values of all
vertices are in the shared memory of the block, int32[n]. What a step reads in order stays in the memory of the device.

Two launches: steps 1 to 4, a block a pair, with the hubs' words beside them, a block for each half of a word; then
step 5, a block for the starts of a pair and one for its ends.
"""

from collections import namedtuple
from functools import cache

import numpy as np
from numpy import int32

from grailbench.cuda import device_arrays
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import Outline
from grailbench.cuda.launch import kernel_of, most_shared_bytes
from grailbench.problems.reachability.gpu.fused import small
from grailbench.problems.reachability.gpu.fused.grid import low_half
from grailbench.problems.reachability.gpu.fused.host import STEPS_OF_ROWS, record_width
from grailbench.problems.reachability.gpu.fused.hubs import chooser
from grailbench.problems.reachability.gpu.fused.small import PARTIAL

THREADS = 512
HALVES = 4  #: of the two words of a vertex
EDGES_A_LEVEL = 1024  #: with more on average, the grid is ahead


def shared_bytes(vertices: int) -> int:
    """Returns the bytes of shared memory of a block for a graph of so many vertices."""
    return 4 * vertices


def most_vertices() -> int:
    """Returns the vertices of the largest graph of which a column fits into the shared memory of a block."""
    return (most_shared_bytes() - small.STATIC) // 4


def suit(graph: Outline) -> bool:
    """Returns whether a graph fits, and has levels so narrow that one block is ahead of the grid."""
    return graph.vertices <= most_vertices() and graph.edges <= EDGES_A_LEVEL * (graph.level_starts.shape[0] - 1)


class Room(namedtuple("Room", "parent size offset")):
    """What steps 1 to 4 read in order: int32[n * d] each, pair p from n * p on. Starts replace parents, and negated
    ends replace offsets."""


def room(vertices: int, dim: int) -> Room:
    """Allocates a `Room` for a graph of so many vertices."""
    return Room(*device_arrays.allocate(*[(vertices * dim, np.int32)] * len(Room._fields)))


@cuda.jit(device=True)
def take_least(column, u, v, _):
    """Lowers the value of v to that of u."""
    mine = column[u]
    if mine < column[v]:
        cuda.atomic.min(column, v, mine)


@cuda.jit(device=True)
def take_bits(column, u, v, _):
    """Ors the value of u into that of v."""
    mine = column[u]
    if mine & ~column[v]:
        cuda.atomic.or_(column, v, mine)


@cuda.jit(device=True)
def begin_half(n, chosen, half, column):
    """Sets each hub's own bit of the lower (0) or upper (1) half of a word."""
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    for v in range(thread, n, threads):
        column[v] = 0
    cuda.syncthreads()  # also for `chosen`
    for i in range(thread, 32, threads):
        if chosen[32 * half + i] >= 0:
            column[chosen[32 * half + i]] = low_half(np.int64(1) << i)
    cuda.syncthreads()


@cache
def planting(dim: int):
    """Returns the first kernel for `dim` label pairs, for a grid of dim + HALVES blocks."""
    D = dim
    choose, rank, sweep = chooser(alone=True), small.ranks(dim), small.level_sweep(take_bits)

    @kernel_of(64)
    def plant(graph, edge_starts, hubs, salts, room, lanes, words):
        """Writes starts and ends of the trees to the room, and words int32[4 n].

        graph: `cuda.graphs.DeviceLeveled`; edge_starts int32[depth + 1]: where the edges of each level begin; hubs:
        `hubs.HubArrays` of HALVES rows; salts uint64[2 d]; lanes int32[n * width]: gets levels and subtrees of pair 0.
        """
        column = cuda.shared.array(0, int32)
        partial = cuda.shared.array(PARTIAL, np.int64)
        steps = cuda.const.array_like(STEPS_OF_ROWS)
        thread, threads, block = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
        level_starts = graph.level_starts
        depth = level_starts.shape[0] - 1
        n = level_starts[depth]
        if block < D:
            first, last = np.int64(n) * block, np.int64(n) * (block + 1)
            parent, size, offset = room.parent[first:last], room.size[first:last], room.offset[first:last]
            small.choose_parents(n, graph, salts[2 * block], column)
            for v in range(thread, n, threads):  # the thread that wrote column[v]
                parent[v] = column[v]
                column[v] = 1 if v > 0 else n
            cuda.syncthreads()
            small.add_sizes(n, level_starts, parent, column)
            for v in range(thread, n, threads):
                size[v] = column[v]
            cuda.syncthreads()
            for v in range(thread, n, threads):
                column[v] = 0
            cuda.syncthreads()
            if thread == 0:
                offset[0] = 0
            small.lay_out_siblings(n, graph, salts[2 * block + 1], parent, size, offset, column, partial, steps)
            rank(block, level_starts, parent, size, offset, column, lanes)
        else:
            row, half = (block - D) >> 1, (block - D) & 1  # row 0: the forward words, 1: the backward ones
            chosen = hubs.chosen[block - D]
            choose(graph, hubs.tallies[block - D], hubs.listed[block - D], chosen)
            begin_half(n, chosen, half, column)
            if row == 0:
                sweep(max(depth - 2, 0), 0, -1, edge_starts, graph.targets, graph.sources, column, 0)
                if thread == 0:
                    low, high = small.every_hub(chosen)
                    column[0] = high if half else low
                cuda.syncthreads()
            else:
                sweep(min(1, depth - 1), depth - 1, 1, edge_starts, graph.sources, graph.targets, column, 0)
            for v in range(thread, n, threads):
                words[4 * v + 2 * row + half] = column[v]

    return plant


@cache
def repairing(dim: int):
    """Returns the second kernel for `dim` label pairs, for a grid of 2 dim blocks."""
    W = record_width(dim)
    sweep = small.level_sweep(take_least)

    @kernel_of(64)
    def repair(graph, edge_starts, room, lanes):
        """Writes starts and negated ends to the records, lanes int32[n * width]; arguments as of `planting`."""
        column = cuda.shared.array(0, int32)
        thread, threads, lane = cuda.threadIdx.x, cuda.blockDim.x, cuda.blockIdx.x
        depth = graph.level_starts.shape[0] - 1
        n = graph.level_starts[depth]
        first = np.int64(n) * (lane >> 1)
        for v in range(thread, n, threads):
            column[v] = room.offset[first + v] if lane & 1 else room.parent[first + v]
        cuda.syncthreads()
        sweep(max(depth - 2, 0), 0, -1, edge_starts, graph.targets, graph.sources, column, 0)
        for v in range(thread, n, threads):
            lanes[np.int64(v) * W + lane] = column[v]

    return repair
