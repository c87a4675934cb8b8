"""Prefix sums by Kogge and Stone (thesis, algorithm 4) of several rows at once.

The printed algorithm 4 has a barrier inside `if threadIdx.x >= stride`; here all threads reach the barrier.
"""

from __future__ import annotations

import numpy as np
from numpy import int32

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.shuffle import STEPS, WARP, shuffle_up

MOST = 1024  #: threads of the largest block


@cuda.jit(cache=True)
def scan_blocks(source, target, totals):
    """Computes inclusive sums within each block, and the total of each block.

    source, target: int32[rows, size]; totals: int32[rows, blocks]. Grid (blocks, rows), blocks * threads >= size.
    """
    sums = cuda.shared.array(MOST, int32)
    thread, row = cuda.threadIdx.x, cuda.blockIdx.y
    at = cuda.blockIdx.x * cuda.blockDim.x + thread
    sums[thread] = source[row, at] if at < source.shape[1] else 0
    stride = 1
    while stride < cuda.blockDim.x:
        cuda.syncthreads()
        before = sums[thread - stride] if thread >= stride else 0
        cuda.syncthreads()
        sums[thread] += before
        stride *= 2
    if at < source.shape[1]:
        target[row, at] = sums[thread]
    if thread == cuda.blockDim.x - 1:
        totals[row, cuda.blockIdx.x] = sums[thread]


class Scan:
    """Inclusive prefix sums of `rows` rows of `size` int32, in two launches.

    After `run`, sum i of row r is `within[r, i]`, plus `totals[r, i // threads - 1]` unless i is in the first block.
    """

    launches = 2

    def __init__(self, rows: int, size: int, threads: int):
        self.threads, self.rows, self.blocks = threads, rows, -(-size // threads)
        if self.blocks > MOST:
            raise ValueError(f"{size} elements in blocks of {threads}: more than {MOST} blocks")
        self.within = cuda.device_array((rows, size), np.int32)
        self.sums = cuda.device_array((rows, self.blocks), np.int32)
        self.totals = cuda.device_array((rows, self.blocks), np.int32)
        self._total = cuda.device_array((rows, 1), np.int32)
        self._wide = 1 << (self.blocks - 1).bit_length()

    def run(self, source) -> None:
        """Computes the sums of int32[rows, size] without waiting."""
        scan_blocks[(self.blocks, self.rows), self.threads](source, self.within, self.sums)
        scan_blocks[(1, self.rows), self._wide](self.sums, self.totals, self._total)


@cuda.jit(device=True)
def exclusive_sum(value, partial):
    """The sum of `value` over the threads before this one in its block, and over all threads of the block.

    All threads must call it. partial: int64[>= warps] in shared memory, which can be reused after the next barrier.
    The block must have one dimension.
    """
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    lane, warp, warps = thread % WARP, thread // WARP, threads // WARP
    sum_ = value
    for j in range(STEPS):
        other = shuffle_up(sum_, 1 << j)
        if lane >= 1 << j:
            sum_ += other
    if lane == WARP - 1:
        partial[warp] = sum_
    cuda.syncthreads()
    if simulated:
        if thread == 0:
            for i in range(1, warps):
                partial[i] += partial[i - 1]
    elif warp == 0:
        of_warps = partial[lane] if lane < warps else np.int64(0)
        for j in range(STEPS):
            other = shuffle_up(of_warps, 1 << j)
            if lane >= 1 << j:
                of_warps += other
        if lane < warps:
            partial[lane] = of_warps
    cuda.syncthreads()
    before = partial[warp - 1] if warp > 0 else np.int64(0)
    return before + sum_ - value, partial[warps - 1]
