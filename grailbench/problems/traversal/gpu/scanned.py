"""BFS whose queue is filled through prefix sums (Pathak et al., algorithms 5-9), with Blelloch's scan.

Here `P_a[v]` holds the edge that last claimed v, not a vertex: algorithms 7 and 9 compare it with `E_a.index(v)`. So
exactly one of the edges that find v on a level counts it and queues it. The indices of the up-sweep and down-sweep in
algorithm 8 are those of Blelloch (1990).
"""

from __future__ import annotations

import numpy as np
from numpy import int32

from grailbench.cuda.gateway import cuda
from grailbench.cuda.primitives import MOST
from grailbench.problems.traversal.gpu.resident import OnDevice, blocks_for, fill, upload, usual_threads
from grailbench.problems.traversal.index import FAR, Network

_FAR = int(FAR)


@cuda.jit(cache=True)
def _next_layer(level, starts, targets, claims, distances, queue, size):
    """Algorithm 6: claims the children that are not reached yet. claims int32[n]: the claiming edge."""
    i = cuda.grid(1)
    if i < size:
        u = queue[i]
        for k in range(starts[u], starts[u + 1]):
            v = targets[k]
            if distances[v] > level + 1:
                distances[v] = level + 1
                claims[v] = k


@cuda.jit(cache=True)
def _count_degrees(starts, targets, claims, queue, size, degrees):
    """Algorithm 7: counts the vertices that each vertex of the queue has claimed."""
    i = cuda.grid(1)
    if i < size:
        u, found = queue[i], 0
        for k in range(starts[u], starts[u + 1]):
            if claims[targets[k]] == k:
                found += 1
        degrees[i] = found


@cuda.jit(cache=True)
def scan_degrees(size, degrees, totals):
    """Algorithm 8: computes inclusive sums within each block in place, and the total of block b into totals[b + 1].

    degrees int32[n], totals int32[blocks + 1]. A block has a power of two of threads, at most 1,024.
    """
    sums = cuda.shared.array(MOST, int32)
    m, i, threads = cuda.threadIdx.x, cuda.grid(1), cuda.blockDim.x
    own = degrees[i] if i < size else 0
    sums[m] = own
    reach, active = 1, threads // 2
    while active > 0:
        cuda.syncthreads()
        if m < active:
            sums[reach * (2 * m + 2) - 1] += sums[reach * (2 * m + 1) - 1]
        reach *= 2
        active //= 2
    cuda.syncthreads()
    if m == 0:
        totals[cuda.blockIdx.x + 1] = sums[threads - 1]
        sums[threads - 1] = 0
    active = 1
    while active < threads:
        reach //= 2
        cuda.syncthreads()
        if m < active:
            left, right = reach * (2 * m + 1) - 1, reach * (2 * m + 2) - 1
            before = sums[left]
            sums[left] = sums[right]
            sums[right] += before
        active *= 2
    cuda.syncthreads()
    if i < size:
        degrees[i] = sums[m] + own


@cuda.jit(cache=True)
def _populate(starts, targets, claims, queue, size, following, degrees, totals):
    """Algorithm 9: each vertex of the queue writes the vertices that it has claimed to the next queue."""
    i = cuda.grid(1)
    if i < size:
        u = queue[i]
        at = totals[cuda.blockIdx.x]
        if cuda.threadIdx.x > 0:
            at += degrees[i - 1]
        for k in range(starts[u], starts[u + 1]):
            v = targets[k]
            if claims[v] == k:
                following[at] = v
                at += 1


class ByScan(OnDevice):
    """Algorithm 5: per level four launches, and a sum of the blocks' totals on the host."""

    def __init__(self, network: Network, threads: int | None = None):
        super().__init__()
        n = network.vertices
        self.threads = threads or usual_threads()
        self.rows = upload(network, 20 * n)
        self.distances, self.claims, self.degrees = (cuda.device_array(n, np.int32) for _ in range(3))
        self._queues = [cuda.device_array(n, np.int32) for _ in range(2)]
        self._totals = cuda.to_device(np.zeros(blocks_for(n, self.threads) + 1, np.int32))  # the first is never written

    def search(self, source: int) -> None:
        """Expands levels until the queue is empty."""
        starts, targets, _ = self.rows
        grid = (blocks_for(self.distances.shape[0], self.threads), self.threads)
        fill[grid](self.distances, _FAR)
        fill[grid](self.claims, -1)
        queue, following = self._queues
        self.distances[source] = 0
        self.claims[source] = _FAR
        queue[0] = source
        size, level, pushed = 1, 0, 0
        while size:
            blocks = blocks_for(size, self.threads)
            grid = (blocks, self.threads)
            _next_layer[grid](level, starts, targets, self.claims, self.distances, queue, size)
            _count_degrees[grid](starts, targets, self.claims, queue, size, self.degrees)
            scan_degrees[grid](size, self.degrees, self._totals)
            totals = self._totals[: blocks + 1].copy_to_host()
            totals[0] = 0
            np.cumsum(totals, out=totals)
            self._totals[: blocks + 1].copy_to_device(totals)
            _populate[grid](starts, targets, self.claims, queue, size, following, self.degrees, self._totals)
            size = int(totals[-1])
            queue, following = following, queue
            level, pushed = level + 1, pushed + size
        cuda.synchronize()
        self.count(levels=level, launches=4 * level + 2, pushed=pushed)
