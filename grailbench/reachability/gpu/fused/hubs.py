"""The hubs of `reachability.hubs.choose`, found on the device: radix selection of the 64 greatest weights.

A pass counts digits of the weights in a histogram, first of their logarithm, then linearly within the bucket where the
64th lies, at last of the ids, until few enough vertices are left to be ranked by comparing each with each.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import int32, int64

from grailbench.device.gateway import cuda, simulated
from grailbench.device.launch import SIMULATED_THREADS, Prepared, Shape, cooperative_shape, kernel_of
from grailbench.device.leveled import DeviceLeveled
from grailbench.device.scan import MOST as MOST_THREADS
from grailbench.device.scan import sum_up
from grailbench.reachability.hubs import MOST

_BINS = 1024
_PASSES = 12  #: one of logarithms, at most 6 of 10 bits of weight, at most 4 of 10 bits of id
FEW = 1024  #: candidates that are ranked
_IDS = 31  #: bits of an id
SHARED = 16 * FEW + 8 * 32 + 64  #: bytes of shared memory that it takes


@cuda.jit(device=True)
def weight(v, starts, parent_starts):
    """int64: (in-degree + 1) * (out-degree + 1)."""
    return np.int64(starts[v + 1] - starts[v] + 1) * np.int64(parent_starts[v + 1] - parent_starts[v] + 1)


@cuda.jit(device=True)
def magnitude(w):
    """A bin of int64 w > 0: 16 for each power of two, ascending with w."""
    e = np.int64(0)
    for step in (32, 16, 8, 4, 2, 1):
        if w >> (e + step):
            e += step
    return 16 * e + ((w >> (e - 4)) & 15 if e >= 4 else (w << (4 - e)) & 15)


@cache
def chooser(most: int = MOST, few: int = FEW, alone: bool = False):
    """The device function that chooses `most` hubs and ranks at most `few` candidates, no fewer than `most`.

    `alone`: by one block of whatever grid calls it; else by the whole of a cooperative one.
    """

    @cuda.jit(device=True)
    def meet():
        if alone:
            cuda.syncthreads()
        else:
            cuda.cg.this_grid().sync()

    @cuda.jit(device=True)
    def choose(starts, parent_starts, ids, tallies, listed, chosen):
        """Write the hubs, hub j at chosen[j], -1 beyond the last.

        starts, parent_starts: rows of children and parents; ids int32[n]; tallies int32[_PASSES * _BINS + 1], scratch;
        listed int32[few], scratch; chosen int32[64].
        """
        counts = cuda.shared.array(_BINS, int32)
        weights = cuda.shared.array(few, int64)
        keys = cuda.shared.array(few, int32)
        partial = cuda.shared.array(MOST_THREADS if simulated else 32, int64)
        found = cuda.shared.array(3, int64)
        thread, threads = cuda.threadIdx.x, cuda.blockDim.x
        block, blocks = (0, 1) if alone else (cuda.blockIdx.x, cuda.gridDim.x)
        me, everyone = block * threads + thread, blocks * threads
        n = ids.shape[0]
        for i in range(me, tallies.shape[0], everyone):
            tallies[i] = 0
        meet()

        wanted = min(most, n - 1)
        low, bits = np.int64(0), np.int64(64)  # weights in [low, low + 2**bits) are in question; 64: all of them
        first_id, id_bits = np.int64(0), np.int64(_IDS)  # bits -1: weight low, ids in [first_id, first_id + 2**id_bits)
        surely, left = np.int64(0), np.int64(n - 1)  # vertices above those in question; these and those in question
        turn = 0
        while left > few:
            for i in range(thread, _BINS, threads):
                counts[i] = 0
            cuda.syncthreads()
            for v in range(me, n, everyone):
                w = weight(v, starts, parent_starts)
                if v > 0 and w >= low:
                    at = np.int64(-1)
                    if bits == 64:
                        at = magnitude(w)
                    elif bits > 0:
                        if (w - low) >> bits == 0:
                            at = (w - low) >> max(bits - 10, 0)
                    elif w == low and (ids[v] - first_id) >> id_bits == 0:
                        at = _BINS - 1 - ((ids[v] - first_id) >> max(id_bits - 10, 0))
                    if at >= 0:
                        cuda.atomic.add(counts, at, 1)
            cuda.syncthreads()
            for i in range(thread, _BINS, threads):
                if counts[i]:
                    cuda.atomic.add(tallies, turn * _BINS + i, counts[i])
            meet()
            above = surely
            for base in range(0, _BINS, threads):
                at = np.int64(_BINS - 1 - base - thread)
                here = np.int64(0)
                if at >= 0:
                    here = np.int64(tallies[turn * _BINS + at])
                before, total = sum_up(here, partial, thread, threads)
                if above + before < wanted <= above + before + here:
                    found[0], found[1], found[2] = at, above + before, above + before + here
                above += total
                cuda.syncthreads()
            at, surely, left = found[0], found[1], found[2]
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
            turn += 1
            cuda.syncthreads()

        last = _PASSES * _BINS
        for v in range(me, n, everyone):
            w = weight(v, starts, parent_starts)
            if v > 0 and (w > low or (w == low and (bits > 0 or ids[v] < first_id + (np.int64(1) << id_bits)))):
                listed[cuda.atomic.add(tallies, last, 1)] = v
        meet()
        if block == 0:
            for i in range(thread, MOST, threads):
                chosen[i] = -1
            for i in range(thread, left, threads):
                weights[i] = weight(listed[i], starts, parent_starts)
                keys[i] = ids[listed[i]]
            cuda.syncthreads()
            for i in range(thread, left, threads):
                before, mine = 0, keys[i]
                for j in range(left):
                    if weights[j] > weights[i] or (weights[j] == weights[i] and keys[j] < mine):
                        before += 1
                if before < most:
                    chosen[before] = listed[i]

    return choose


@cache
def kernel(most: int = MOST, few: int = FEW):
    """`chooser` as a kernel of a cooperative grid."""
    choose = chooser(most, few)

    @kernel_of(64)
    def choose_hubs(starts, parent_starts, ids, tallies, listed, chosen):
        choose(starts, parent_starts, ids, tallies, listed, chosen)

    return choose_hubs


class Room(NamedTuple):
    """Device arrays for `rows` choices: scratch `tallies`, `listed`, and chosen int32[rows, 64], hub j at j."""

    tallies: object
    listed: object
    chosen: object

    @classmethod
    def make(cls, rows: int, few: int = FEW) -> Room:
        """Allocate it."""
        sizes = _PASSES * _BINS + 1, few, MOST
        return cls(*(cuda.device_array((rows, size), np.int32) for size in sizes))


class Chooser:
    """Chooses the hubs of one graph; device arrays are made once. `chosen`: int32[64], by vertex number."""

    def __init__(self, device: DeviceLeveled, shape: Shape | None = None, most: int = MOST, few: int = FEW):
        room = [array[0] for array in Room.make(1, few)]
        self.chosen = room[2]
        choose = kernel(most, few)
        args = (device.starts, device.parent_starts, device.vertex, *room)
        if simulated:
            shape = shape or Shape(1, SIMULATED_THREADS)
        self._launch = Prepared(choose, args, shape or cooperative_shape(choose, args, 512, 2))

    def launch(self) -> None:
        """Choose; does not wait."""
        self._launch.launch()
