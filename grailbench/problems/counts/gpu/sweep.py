"""Sweeps all columns of a reduced graph (`counts.reduce.listed`) on a device, in one cooperative launch.

A pass sweeps up to 32 *chunks* of 64 * WIDTH columns, level by level. A warp takes a vertex, or some chunks of it: the
states of the children tell which chunks it reaches, and it unites their rows there, a lane a word. A chunk that is
reached whole needs no row; rows of others are neither written nor read.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from grailbench.cuda import warp_group
from grailbench.cuda.describe import memory, require_memory
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import launch_cooperative
from grailbench.cuda.timers import Phases
from grailbench.problems.counts.index import Task
from grailbench.problems.counts.reduce import Listed

THREADS = warp_group.WIDTH if simulated else 512
GROUP = 64 * warp_group.WIDTH  #: columns of a chunk
CHUNKS = 32  #: chunks of a pass, unless memory is short; no more, so that a state has two bits for each
PARTS = 1  #: warps that share a vertex at least; as many as there are, and chunks, at most
_1 = np.uint64(1)


class Adjacency(namedtuple("Adjacency", "starts children order bounds")):
    """A task's graph on the device: int32 or int64[k + 1], int32[m], and the vertices that are left as in `Listed`."""


class Columns(namedtuple("Columns", "number lowest starts planes every totals")):
    """The columns, c of them, in the order in which they are swept, and their weights.

    number   int32[k]              the place of each vertex among the columns; -1 for others
    lowest   int64[passes]         the first level with a column of each pass
    starts   int64[chunks + 1]     where the planes of each chunk begin
    planes   uint64[p, WIDTH]      bit i of the weights of a chunk's columns, for i = 0, 1, ...
    every    uint64[chunks, WIDTH] the bits of a chunk's columns
    totals   int64[chunks]         their weight
    """


def ordered(form: Listed, chunks: int) -> Columns:
    """Divides the columns among passes of so many chunks, in their order. Those of weight 1 come first in a pass, so
    that most chunks have one plane."""
    count, size = form.columns.shape[0], chunks * GROUP
    passes = np.arange(count) // size
    order = np.lexsort((form.weights > 1, passes))
    number = np.full(form.place.shape[0], -1, np.int32)
    number[form.columns[order]] = np.arange(count, dtype=np.int32)
    at = np.flatnonzero(number[form.order] >= 0)[::size]  # in `order`, the first column of each pass
    lowest = np.searchsorted(form.bounds, at, "right") - 1
    return Columns(number, lowest, *_planes(form.weights[order], GROUP))


@njit(cache=True)
def _planes(weights, size):
    """The fields of `Columns` that tell weights, of chunks of `size` columns."""
    chunks, lanes = (weights.shape[0] + size - 1) // size, size // 64
    starts, totals = np.zeros(chunks + 1, np.int64), np.zeros(chunks, np.int64)
    for chunk in range(chunks):
        most = np.int64(0)
        for i in range(chunk * size, min((chunk + 1) * size, weights.shape[0])):
            totals[chunk] += weights[i]
            most = max(most, weights[i])
        starts[chunk + 1] = starts[chunk]
        while most:
            starts[chunk + 1] += 1
            most >>= 1
    planes, every = np.zeros((starts[chunks], lanes), np.uint64), np.zeros((chunks, lanes), np.uint64)
    for i in range(weights.shape[0]):
        chunk, lane, bit = i // size, i % size >> 6, np.uint64(1) << np.uint64(i & 63)
        every[chunk, lane] |= bit
        for place in range(starts[chunk + 1] - starts[chunk]):
            if (weights[i] >> place) & 1:
                planes[starts[chunk] + place, lane] |= bit
    return starts, planes, every, totals


@cuda.jit(device=True)
def _visit(v, part, parts, first, chunks, graph, columns, state, rows, counts):
    """Counts the chunks part, part + parts, ... of a pass for a vertex. first: the first chunk of the pass."""
    starts, children = graph.starts, graph.children
    lane = warp_group.lane()
    begin, end = np.int64(starts[v]), np.int64(starts[v + 1])
    some = np.uint64(0)
    for k in range(begin + lane, end, warp_group.WIDTH):
        some |= state[children[k]]
    some = warp_group.union(some)
    column = np.int64(columns.number[v]) - first * GROUP
    own = -1
    if column >= 0 and column < chunks * GROUP:
        own = column // GROUP
        some |= _1 << np.uint64(own)
    full = np.uint64(0)
    weight, whole = np.int64(0), np.int64(0)
    for chunk in range(part, chunks, parts):
        bit = _1 << np.uint64(chunk)
        every = bit << np.uint64(32)
        if some & every:
            full |= every
            whole += columns.totals[first + chunk]
        elif some & bit:
            found = np.uint64(0)
            for k in range(begin, end):
                child = np.int64(children[k])
                if state[child] & bit:
                    found |= rows[(child * chunks + chunk) * warp_group.WIDTH + lane]
            if chunk == own and (column % GROUP) >> 6 == lane:
                found |= _1 << np.uint64(column & 63)
            rows[(v * chunks + chunk) * warp_group.WIDTH + lane] = found
            base = columns.starts[first + chunk]
            for place in range(columns.starts[first + chunk + 1] - base):
                weight += np.int64(cuda.popc(found & columns.planes[base + place, lane])) << place
            if not warp_group.any_lane(found != columns.every[first + chunk, lane]):
                full |= every
    weight = warp_group.inclusive_sum(weight)[1]
    if lane == 0 and some != 0:
        counts_of = weight + whole
        if parts == 1:
            counts[v] += counts_of
            state[v] = (some & np.uint64(0xFFFFFFFF)) | full
        else:
            if counts_of:
                cuda.atomic.add(counts, v, counts_of)
            cuda.atomic.or_(state, v, (some & np.uint64(0xFFFFFFFF)) | full)


@cuda.jit(cache=True)
def _sweep(graph, columns, chunks, state, rows, counts):
    """Fills counts, int64[k], all 0: the weight of the columns that each vertex reaches. Cooperative launch, blocks of
    whole warps.

    chunks   of a pass
    state    uint64[k]: scratch; bit i says that the vertex reaches a column of chunk i, bit 32 + i that it reaches all
    rows     uint64[k * chunks * WIDTH]: scratch
    """
    grid = cuda.cg.this_grid()
    thread, threads = np.int64(cuda.grid(1)), np.int64(cuda.gridsize(1))
    warp, warps = thread // warp_group.WIDTH, threads // warp_group.WIDTH
    for turn in range(columns.lowest.shape[0]):
        first = np.int64(turn) * chunks
        now = min(np.int64(chunks), columns.totals.shape[0] - first)
        for v in range(thread, state.shape[0], threads):
            state[v] = 0
        grid.sync()
        for level in range(columns.lowest[turn], graph.bounds.shape[0] - 1):
            low, high = np.int64(graph.bounds[level]), np.int64(graph.bounds[level + 1])
            parts = max(min(now, PARTS), min(now, warps // max(high - low, 1)))
            for item in range(warp, (high - low) * parts, warps):
                v = np.int64(graph.order[low + item // parts])
                _visit(v, item % parts, parts, first, now, graph, columns, state, rows, counts)
            grid.sync()


def swept(task: Task, form: Listed, phases: Phases, most: int = CHUNKS) -> tuple[np.ndarray, dict[str, int], int]:
    """The weights of the columns that each vertex reaches, int64[k]; the work; and the bytes that were needed.

    most: chunks of a pass, fewer if their rows take more than half of what is free. Raises TooLittleMemory if those of
    one do.
    """
    k, wanted = task.vertices, -(-form.columns.shape[0] // GROUP)
    if not wanted:
        return np.zeros(k, np.int64), {"passes": 0, "levels": 0}, 0
    starts = task.offsets.astype(np.int32) if task.edges < 2**31 else task.offsets
    graph = Adjacency(starts, task.children, form.order, form.bounds)
    fixed = sum(each.nbytes for each in graph) + 20 * k
    chunks = max(1, min(most, wanted, (memory()[0] // 2 - fixed) // (8 * k * warp_group.WIDTH)))
    columns = ordered(form, chunks)
    need = fixed + 8 * k * warp_group.WIDTH * chunks + columns.planes.nbytes
    require_memory(need, f"counting {k:,} vertices")
    with phases.phase("host_to_device"):
        given = Adjacency(*map(cuda.to_device, graph)), Columns(*map(cuda.to_device, columns))
        counts = cuda.to_device(np.zeros(k, np.int64))
        scratch = cuda.device_array(k, np.uint64), cuda.device_array(k * chunks * warp_group.WIDTH, np.uint64)
    with phases.phase("kernel"):
        launch_cooperative(_sweep, (*given, np.int64(chunks), *scratch, counts), THREADS)
    with phases.phase("device_to_host"):
        found = counts.copy_to_host()
    return found, {"passes": columns.lowest.shape[0], "levels": form.bounds.shape[0] - 1}, need
