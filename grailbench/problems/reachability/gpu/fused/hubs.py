"""Chooses the hubs of `reachability.hubs.choose` on the device, by radix selection of the 64 greatest weights:
histograms of logarithms, of weights in the bin of the 64th, and of ids, until few candidates are left to be ranked."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy import int32, int64

from grailbench.cuda import device_arrays
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.graphs import DeviceLeveled
from grailbench.cuda.launch import SIMULATED_THREADS, Prepared, Shape, cooperative_shape, kernel_of
from grailbench.cuda.primitives import MOST as MOST_THREADS
from grailbench.cuda.primitives import exclusive_sum
from grailbench.problems.reachability.hubs import MOST

_BINS = 1024
_PASSES = 12  #: one for logarithms, at most 6 for weights and at most 4 for ids, 10 bits each
FEW = 1024  #: most candidates that are ranked
_IDS = 31  #: bits per id
SHARED = 16 * FEW + 8 * 32 + 64  #: bytes of shared memory of the choice


@cuda.jit(device=True)
def weight(v, graph):
    """Returns (in-degree + 1) * (out-degree + 1), int64."""
    children = np.int64(graph.starts[v + 1] - graph.starts[v] + 1)
    return children * np.int64(graph.parent_starts[v + 1] - graph.parent_starts[v] + 1)


@cuda.jit(device=True)
def magnitude(w):
    """Returns a bin that ascends with w > 0, int64: there are 16 bins for each power of two."""
    e = np.int64(0)
    for step in (32, 16, 8, 4, 2, 1):
        if w >> (e + step):
            e += step
    return 16 * e + ((w >> (e - 4)) & 15 if e >= 4 else (w << (4 - e)) & 15)


@cuda.jit(device=True)
def _digit(v, w, graph, question):
    """Returns the bin of vertex v, of weight w, or -1 if it is not in question (`chooser`)."""
    low, bits, first_id, id_bits = question
    at = np.int64(-1)
    if w >= low:
        if bits == 64:
            at = magnitude(w)
        elif bits > 0:
            if (w - low) >> bits == 0:
                at = (w - low) >> max(bits - 10, 0)
        elif w == low and (graph.vertex[v] - first_id) >> id_bits == 0:
            at = _BINS - 1 - ((graph.vertex[v] - first_id) >> max(id_bits - 10, 0))
    return at


@cuda.jit(device=True)
def _narrowed(at, question):
    """Returns the part of `question` in bin `at`."""
    low, bits, first_id, id_bits = question
    if bits == 64:
        e = at >> 4
        low = (np.int64(1) << e) + ((at & 15) << (e - 4) if e >= 4 else (at & 15) >> (4 - e))
        bits = e - 4
    elif bits > 0:
        low += at << max(bits - 10, 0)
        bits -= 10
    else:
        id_bits = max(id_bits - 10, 0)
        first_id += (_BINS - 1 - at) << id_bits
    bits = max(bits, -1) if bits > 0 else np.int64(-1)
    return low, bits, first_id, id_bits


@cuda.jit(device=True)
def _bin_of(wanted, surely, tallies, turn, partial, found):
    """Returns the bin of candidate number `wanted`, the number of vertices in higher bins, and that with its own bin.

    surely: number of vertices above all in question. found int64[3]: shared.
    """
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    beyond = surely
    for base in range(0, _BINS, threads):
        at = np.int64(_BINS - 1 - base - thread)
        here = np.int64(0)
        if at >= 0:
            here = np.int64(tallies[turn * _BINS + at])
        before, total = exclusive_sum(here, partial)
        if beyond + before < wanted <= beyond + before + here:
            found[0], found[1], found[2] = at, beyond + before, beyond + before + here
        beyond += total
        cuda.syncthreads()
    return found[0], found[1], found[2]


@cuda.jit(device=True)
def _tally(me, everyone, graph, question, counts, tallies, turn):
    """Counts the vertices in question by bins, in shared counts, int32[_BINS], and then in tallies."""
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    for i in range(thread, _BINS, threads):
        counts[i] = 0
    cuda.syncthreads()
    for v in range(me, graph.vertex.shape[0], everyone):
        if v > 0:
            at = _digit(v, weight(v, graph), graph, question)
            if at >= 0:
                cuda.atomic.add(counts, at, 1)
    cuda.syncthreads()
    for i in range(thread, _BINS, threads):
        if counts[i]:
            cuda.atomic.add(tallies, turn * _BINS + i, counts[i])


def _ranker(most: int, few: int):
    """Returns the device function by which one block ranks the listed candidates, comparing each with each."""

    @cuda.jit(device=True)
    def rank(left, graph, listed, chosen):
        weights = cuda.shared.array(few, int64)
        keys = cuda.shared.array(few, int32)
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        for i in range(thread, MOST, threads):
            chosen[i] = -1
        for i in range(thread, left, threads):
            weights[i] = weight(listed[i], graph)
            keys[i] = graph.vertex[listed[i]]
        cuda.syncthreads()
        for i in range(thread, left, threads):
            before, mine = 0, keys[i]
            for j in range(left):
                if weights[j] > weights[i] or (weights[j] == weights[i] and keys[j] < mine):
                    before += 1
            if before < most:
                chosen[before] = listed[i]

    return rank


@cache
def chooser(most: int = MOST, few: int = FEW, alone: bool = False):
    """Returns the device function that chooses `most` hubs, and ranks at most `few` >= `most` candidates.

    With `alone` one block of any grid chooses, else the whole of a cooperative grid.

    At first all vertices but the super-root are in question, then those of weights in [low, low + 2**bits) (bits 64:
    all), finally those of weight low and ids in [first_id, first_id + 2**id_bits) (bits -1).
    """
    rank = _ranker(most, few)

    @cuda.jit(device=True)
    def sync():
        if alone:
            cuda.syncthreads()
        else:
            cuda.cg.this_grid().sync()

    @cuda.jit(device=True)
    def choose(graph, tallies, listed, chosen):
        """Writes hub j to chosen[j], -1 beyond the last. graph: `cuda.graphs.DeviceLeveled`; the other arrays are
        rows of `HubArrays`.
        """
        counts = cuda.shared.array(_BINS, int32)
        partial = cuda.shared.array(MOST_THREADS if simulated else 32, int64)
        found = cuda.shared.array(3, int64)
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        block, blocks = (0, 1) if alone else (cuda.blockIdx.x, cuda.gridDim.x)
        me, everyone = block * threads + thread, blocks * threads
        n = graph.vertex.shape[0]
        for i in range(me, tallies.shape[0], everyone):
            tallies[i] = 0
        sync()

        wanted = min(most, n - 1)
        question = np.int64(0), np.int64(64), np.int64(0), np.int64(_IDS)
        surely, left = np.int64(0), np.int64(n - 1)  # vertices above those in question; these and those in question
        turn = 0
        while left > few:
            _tally(me, everyone, graph, question, counts, tallies, turn)
            sync()
            at, surely, left = _bin_of(wanted, surely, tallies, turn, partial, found)
            question = _narrowed(at, question)
            turn += 1
            cuda.syncthreads()

        low, bits, first_id, id_bits = question
        last = _PASSES * _BINS
        for v in range(me, n, everyone):
            w = weight(v, graph)
            end = first_id + (np.int64(1) << id_bits)
            if v > 0 and (w > low or (w == low and (bits > 0 or graph.vertex[v] < end))):
                listed[cuda.atomic.add(tallies, last, 1)] = v
        sync()
        if block == 0:
            rank(left, graph, listed, chosen)

    return choose


@cache
def kernel(most: int = MOST, few: int = FEW):
    """Returns `chooser` as a kernel for a cooperative grid."""
    choose = chooser(most, few)

    @kernel_of(64)
    def choose_hubs(graph, tallies, listed, chosen):
        choose(graph, tallies, listed, chosen)

    return choose_hubs


class HubArrays(namedtuple("HubArrays", "tallies listed chosen")):
    """Device arrays for `rows` choices, int32: scratch tallies [rows, _PASSES * _BINS + 1] and listed [rows, few], and
    chosen [rows, 64], hub j at j."""

    @classmethod
    def make(cls, rows: int, few: int = FEW) -> HubArrays:
        """Allocates the arrays."""
        sizes = _PASSES * _BINS + 1, few, MOST
        return cls(*device_arrays.allocate(*(((rows, size), np.int32) for size in sizes)))


def choosing(
    graph: DeviceLeveled, shape: Shape | None = None, most: int = MOST, few: int = FEW, moving: Sequence = ()
) -> tuple[Prepared, object]:
    """Returns the launch that chooses the hubs of a graph, and where it writes them: int32[64] vertex numbers.

    moving: arrays of the graph that may be replaced (`launch.Moving`).
    """
    arrays = [array.reshape(-1) if simulated else array.view(np.int32) for array in HubArrays.make(1, few)]
    args, choose = (graph, *arrays), kernel(most, few)
    if simulated:
        shape = shape or Shape(1, SIMULATED_THREADS)
    return Prepared(choose, args, shape or cooperative_shape(choose, args, 512, 2), moving=moving), arrays[2]
