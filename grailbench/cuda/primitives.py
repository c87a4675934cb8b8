"""What kernels of all packages are built of: exchange between the lanes of a warp, prefix sums, segmented reduction,
and keys of vertices.

All lanes of a warp must call the functions that exchange values; in the simulator a warp is a single thread. Prefix
sums of rows are those of Kogge and Stone (thesis, algorithm 4, whose printed barrier inside a condition all threads
reach here). `segmented` reduces values at the targets of edges to their sources: while all lanes have the same source
they accumulate in registers, else shuffles leave the values of each source in its first lane.
"""

import numpy as np
from numpy import int32

from grailbench.cuda.gateway import cuda, of_cpu, simulated
from grailbench.graph import hashing

ALL = np.uint32(0xFFFFFFFF)

if simulated:
    WARP = 1  #: lanes of a warp
    STEPS = 0  #: the binary logarithm of WARP

    @cuda.jit(device=True)
    def broadcast_first(value):
        """The value of lane 0."""
        return value

    @cuda.jit(device=True)
    def shuffle_down(value, distance):
        """The value of the lane whose index is greater by `distance`, or of this lane if there is none."""
        return value

    @cuda.jit(device=True)
    def shuffle_up(value, distance):
        """The value of the lane whose index is less by `distance`, or of this lane if there is none."""
        return value

    @cuda.jit(device=True)
    def all_lanes(condition):
        """Whether the condition holds in every lane."""
        return condition

else:
    WARP = 32
    STEPS = 5

    @cuda.jit(device=True, inline=True)
    def broadcast_first(value):
        return cuda.shfl_sync(ALL, value, 0)

    @cuda.jit(device=True, inline=True)
    def shuffle_down(value, distance):
        return cuda.shfl_down_sync(ALL, value, distance)

    @cuda.jit(device=True, inline=True)
    def shuffle_up(value, distance):
        return cuda.shfl_up_sync(ALL, value, distance)

    @cuda.jit(device=True, inline=True)
    def all_lanes(condition):
        return cuda.all_sync(ALL, condition)


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


@cuda.jit(device=True)
def share_of_warp(begin, end, workers):
    """Returns the part [a, b) of [begin, end) of a warp, in multiples of the warp's width.

    workers: the number of the warp, and the number of warps.
    """
    number, count = workers
    each = np.int64((end - begin) * (1.0 / (count * WARP))) * WARP + WARP  # a float product avoids a division
    a = begin + number * each
    return a, min(a + each, end)


def segmented(width, identity, combine, load, put):
    """Returns the device function that reduces `width` int32 values over the edges of each source.

    It takes (begin, end, workers, sources, state), and divides the edges begin..end - 1 among warps as `share` does.
    `load(k, u, value, state)` sets value, int32[width], to the values of edge k, which leaves u; `combine(i, a, b)`
    combines two values number i, with the neutral value `identity(i)`; `put(u, value, state)`, called by one lane,
    combines values into those of vertex u.
    """

    @cuda.jit(device=True)
    def flush(u, gathered, state):
        """Reduces the values that the lanes have accumulated for u, puts them, and resets the accumulators."""
        for i in range(width):
            for j in range(STEPS):
                gathered[i] = combine(i, gathered[i], shuffle_down(gathered[i], 1 << j))
        if cuda.threadIdx.x % WARP == 0:
            put(u, gathered, state)
        for i in range(width):
            gathered[i] = identity(i)

    @cuda.jit(device=True)
    def reduce(begin, end, workers, sources, state):
        lane = cuda.threadIdx.x % WARP
        a, b = share_of_warp(begin, end, workers)
        gathered = cuda.local.array(width, np.int32)
        value = cuda.local.array(width, np.int32)
        current = np.int32(-1)
        for i in range(width):
            gathered[i] = identity(i)
        for k0 in range(a, b, WARP):
            k = k0 + lane
            u = np.int32(-1)
            for i in range(width):
                value[i] = identity(i)
            if k < b:
                u = sources[k]
                load(k, u, value, state)
            if all_lanes(u == broadcast_first(u)):
                if u != current:
                    if current >= 0:
                        flush(current, gathered, state)
                    current = u
                for i in range(width):
                    gathered[i] = combine(i, gathered[i], value[i])
            else:
                for j in range(STEPS):
                    whose = shuffle_down(u, 1 << j)  # called by every lane: behind an 'and' it would deadlock
                    same = lane + (1 << j) < WARP and whose == u
                    for i in range(width):
                        other = shuffle_down(value[i], 1 << j)
                        if same:
                            value[i] = combine(i, value[i], other)
                before = shuffle_up(u, 1)
                if (lane == 0 or before != u) and u >= 0:
                    put(u, value, state)
        if current >= 0:
            flush(current, gathered, state)

    return reduce


mixed = of_cpu(hashing.mixed)
_unmixed = of_cpu(hashing.unmixed)


@cuda.jit(device=True)
def priority(vertex, salt):
    """Returns the key of a vertex, int32; no two vertices have the same."""
    return np.int32(np.int64(mixed(vertex, salt)) - 2147483648)


@cuda.jit(device=True)
def unmixed(key, salt):
    """Returns the vertex whose key is `key`, int32."""
    return np.int32(_unmixed(np.uint64(np.int64(key) + 2147483648), salt))
