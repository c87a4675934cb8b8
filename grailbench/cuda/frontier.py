"""The frontier of the Enterprise BFS (Liu and Huang 2015) as the thesis uses it (section 3.4).

A status array marks the vertices of the next frontier. Each thread scans a part of it and sorts the vertices into three
bins, for few, medium and many neighbours. Prefix sums over the sizes of the bins give the place of each bin in one of
three queues, which are then processed by one thread, one warp and one block for each vertex.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.queues import Trio
from grailbench.cuda.scan import MOST, Scan

WARP = 32  #: threads of a warp


@dataclass(frozen=True)
class Enterprise:
    """Sizes of launches and queues; the defaults are those of the thesis.

    blocks, threads  of the kernel that fills the bins, and at most of the kernels that process the queues
    lanes            threads for each vertex of the medium queue
    small, large     vertices with fewer than `small` neighbours go to the small queue, with more than `large` to the
                     large queue
    """

    blocks: int = 256
    threads: int = 256
    lanes: int = 32
    small: int = 32
    large: int = 256

    def __post_init__(self):
        powers = all(size & (size - 1) == 0 for size in (self.threads, self.lanes))
        fits = 0 < self.lanes <= min(self.threads, WARP) and self.threads <= MOST and 0 < self.blocks <= MOST
        if not powers or not fits:
            raise ValueError(
                f"{self}: threads and lanes are powers of two, lanes <= threads <= {MOST} >= blocks, and a team of "
                f"lanes fits a warp of {WARP}"
            )


#: small, because each simulated thread is a Python thread
SIMULATED = Enterprise(blocks=2, threads=4, lanes=2, small=3, large=6)


def usual() -> Enterprise:
    """The sizes of the thesis on a GPU, and few and small blocks in the simulator."""
    return SIMULATED if simulated else Enterprise()


@cuda.jit(cache=True)
def _fill_bins(status, kept, cards, rule, bins, counts):
    """Each thread scans every gridsize-th element of the status array and puts the marked vertices into its bins.

    status: uintX[n]; kept: as status, receives the marks if `keep`; cards: int32[n]; rule: (small, large, clear,
    keep); bins: int32[3, threads of the grid, capacity]; counts: int32[3, threads of the grid].
    """
    small, large, clear, keep = rule
    thread = cuda.grid(1)
    few = medium = many = 0
    for v in range(thread, status.shape[0], cuda.gridsize(1)):
        flag = status[v]
        if flag != 0:
            if clear:
                status[v] = 0
            if keep:
                kept[v] = flag
            card = cards[v]
            if card < small:
                bins[0, thread, few] = v
                few += 1
            elif card > large:
                bins[2, thread, many] = v
                many += 1
            else:
                bins[1, thread, medium] = v
                medium += 1
    counts[0, thread] = few
    counts[1, thread] = medium
    counts[2, thread] = many


@cuda.jit(cache=True)
def _copy_bins(bins, counts, within, totals, queues, sizes):
    """Each thread copies its bin for queue blockIdx.y to its place; sizes: int32[3]. Blocks are as in the scan."""
    row, thread = cuda.blockIdx.y, cuda.grid(1)
    count = counts[row, thread]
    first = within[row, thread] - count
    if cuda.blockIdx.x > 0:
        first += totals[row, cuda.blockIdx.x - 1]
    for j in range(count):
        queues[row, first + j] = bins[row, thread, j]
    if thread == counts.shape[1] - 1:
        sizes[row] = first + count


class Frontier:
    """The bins and queues for a graph of n vertices, and counters of launches and generated frontiers.

    Bins are long enough for all vertices that a thread scans (in the thesis: always 512 elements).
    """

    def __init__(self, vertices: int, shape: Enterprise):
        self.shape = shape
        blocks = _blocks(shape, vertices)
        threads = blocks * shape.threads
        self._grid = blocks
        self._bins = cuda.device_array((3, threads, -(-vertices // threads)), np.int32)
        self._counts = cuda.device_array((3, threads), np.int32)
        self._scan = Scan(3, threads, shape.threads)
        self._queues = cuda.device_array((3, vertices), np.int32)
        self._own = tuple(self._queues[row] for row in range(3))
        self.queues = self._own
        self._device_sizes = cuda.device_array(3, np.int32)
        self._host_sizes = cuda.pinned_array(3, np.int32)
        self.sizes = (0, 0, 0)
        self.launches = self.generations = 0

    @staticmethod
    def bytes(vertices: int, shape: Enterprise) -> int:
        """The size of a frontier on the device in bytes."""
        threads = _blocks(shape, vertices) * shape.threads
        return 4 * 3 * (vertices + threads + vertices + 2 * threads)

    def generate(self, status, cards, clear: bool = True, kept=None) -> int:
        """Sorts the marked vertices into queues by `cards` and waits. Returns the number of vertices."""
        shape = self.shape
        rule = (shape.small, shape.large, clear, kept is not None)
        threads = shape.threads
        _fill_bins[self._grid, threads](status, status if kept is None else kept, cards, rule, self._bins, self._counts)
        self._scan.run(self._counts)
        _copy_bins[(self._grid, 3), threads](
            self._bins, self._counts, self._scan.within, self._scan.totals, self._queues, self._device_sizes
        )
        self._device_sizes.copy_to_host(self._host_sizes)
        self.launches += 2 + Scan.launches
        self.generations += 1
        self.queues, self.sizes = self._own, tuple(int(size) for size in self._host_sizes)
        return sum(self.sizes)

    def levels(self, status, cards) -> Iterator[None]:
        """Generates one frontier after another until one is empty; each is to be consumed before the next."""
        while self.generate(status, cards):
            yield

    def load(self, queues: tuple, sizes: tuple) -> None:
        """Uses three queues that were generated earlier, with their sizes."""
        self.queues, self.sizes = queues, sizes

    def consume(self, kernels: Trio, *args) -> None:
        """Launches the kernel of each queue that is not empty, without waiting."""
        shape = self.shape
        teams = 1 if simulated else shape.threads // shape.lanes
        few, medium, many = self.sizes
        if few:
            kernels.thread[min(shape.blocks, -(-few // shape.threads)), shape.threads](self.queues[0], few, *args)
        if medium:
            kernels.warp[min(shape.blocks, -(-medium // teams)), (shape.lanes, teams)](self.queues[1], medium, *args)
        if many:
            kernels.block[min(shape.blocks, many), (shape.threads, 1)](self.queues[2], many, *args)
        self.launches += (few > 0) + (medium > 0) + (many > 0)

    def consume_by_threads(self, kernel, *args) -> None:
        """Launches one kernel with one thread for each vertex on every queue that is not empty, without waiting."""
        for queue, size in zip(self.queues, self.sizes, strict=True):
            if size:
                threads = self.shape.threads
                kernel[min(self.shape.blocks, -(-size // threads)), threads](queue, size, *args)
                self.launches += 1


def _blocks(shape: Enterprise, vertices: int) -> int:
    return min(shape.blocks, -(-vertices // shape.threads))
