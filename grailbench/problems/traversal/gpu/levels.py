"""BFS by levels (Pathak et al.): a thread per vertex (algorithms 1-2), a queue filled by atomics (3-4), or through
prefix sums with Blelloch's scan (5-9); and with the three queues by degree of Enterprise (Liu and Huang 2015).

The parent array of algorithm 1 is left out: algorithm 2 never writes it. Here `P_a[v]` holds the edge that last claimed
v: algorithms 7 and 9 compare it with `E_a.index(v)`, so that one of the edges that find v counts and queues it. The
indices of the sweeps of algorithm 8 are those of Blelloch (1990).
"""

from collections import namedtuple
from typing import ClassVar

import numpy as np
from numpy import int32

from grailbench.cuda.frontier import Enterprise, Frontier, by_edges, usual
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import Rows
from grailbench.cuda.launch import typed
from grailbench.cuda.primitives import MOST
from grailbench.problems.traversal.gpu.resident import OnDevice, blocks_for, fill, upload, usual_threads
from grailbench.problems.traversal.index import FAR, Network

_FAR = int(FAR)


@cuda.jit(cache=True)
def _level(level, starts, targets, distances, flag):
    """Algorithm 2, one thread per vertex. starts int32[n + 1], targets int32[m], distances int32[n], flag int32[1]."""
    u = cuda.grid(1)
    if u >= distances.shape[0] or distances[u] != level:
        return
    found = False
    for k in range(starts[u], starts[u + 1]):
        v = targets[k]
        if level + 1 < distances[v]:
            distances[v] = level + 1
            found = True
    if found:
        flag[0] = 1


class _ByThreads(OnDevice):
    """A thread for each vertex. `arrays`: int32[n] that a search takes, the distances among them."""

    arrays: ClassVar[int]

    def __init__(self, network: Network, threads: int | None = None):
        n, self.threads = network.vertices, threads or usual_threads()
        self.grid = blocks_for(n, self.threads), self.threads
        self.rows = upload(network, 4 * self.arrays * n)
        self.distances, *self._scratch = (cuda.device_array(n, np.int32) for _ in range(self.arrays))

    def begin(self, source: int, *claims) -> None:
        """Only the source is reached, and nothing is claimed."""
        fill[self.grid](self.distances, _FAR)
        for each in claims:
            fill[self.grid](each, -1)
        self.distances[source] = 0


class ByLevel(_ByThreads):
    """Algorithm 1."""

    arrays = 1

    def __init__(self, network: Network, threads: int | None = None):
        super().__init__(network, threads)
        self._flag = cuda.mapped_array(1, np.int32)

    def search(self, source: int) -> None:
        """Launches once per level, until a level finds no vertex."""
        self.begin(source)
        self._flag[0], level = 1, 0
        while self._flag[0]:
            self._flag[0] = 0
            _level[self.grid](level, self.rows.starts, self.rows.targets, self.distances, self._flag)
            cuda.synchronize()
            level += 1
        self.count(levels=level, launches=level + 1)


class _Found(namedtuple("_Found", "distances parents count")):
    """The results: distances and parents int32[n]; count int32[1], the number of vertices in the next queue."""


@cuda.jit(cache=True)
def _queue(level, rows, found, current, size, following):
    """Algorithm 4, one thread per vertex of the queue. rows: `resident.Rows`; found: `_Found`; queues int32[n]."""
    i = cuda.grid(1)
    if i >= size:
        return
    u = current[i]
    for k in range(rows.starts[u], rows.starts[u + 1]):
        v = rows.targets[k]
        if found.distances[v] == _FAR and cuda.atomic.min(found.distances, v, level + 1) == _FAR:
            found.parents[v] = u
            following[cuda.atomic.add(found.count, 0, 1)] = v


class ByQueue(_ByThreads):
    """Algorithm 3."""

    arrays = 4

    def __init__(self, network: Network, threads: int | None = None):
        super().__init__(network, threads)
        self.parents, *self._queues = self._scratch
        self._count = cuda.device_array(1, np.int32)
        self._given = typed(self.rows), typed(_Found(self.distances, self.parents, self._count))

    def search(self, source: int) -> None:
        """Launches once per level, until the queue is empty."""
        self.begin(source, self.parents)
        current, following = self._queues
        current[0] = source
        size, level, pushed = 1, 0, 0
        while size:
            self._count[0] = 0
            _queue[blocks_for(size, self.threads), self.threads](level, *self._given, current, size, following)
            size = int(self._count[0])
            current, following = following, current
            level, pushed = level + 1, pushed + size
        self.count(levels=level, launches=level + 2, pushed=pushed)


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


class ByScan(_ByThreads):
    """Algorithm 5: per level four launches, and a sum of the blocks' totals on the host."""

    arrays = 5

    def __init__(self, network: Network, threads: int | None = None):
        super().__init__(network, threads)
        self.claims, self.degrees, *self._queues = self._scratch
        self._totals = cuda.to_device(np.zeros(self.grid[0] + 1, np.int32))  # the first is never written

    def search(self, source: int) -> None:
        """Expands levels until the queue is empty."""
        starts, targets, _ = self.rows
        self.begin(source, self.claims)
        queue, following = self._queues
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


class _Reached(namedtuple("_Reached", "distances status")):
    """The results: distances int32[n]; status uint8[n], 1 for the vertices of the next frontier."""


@cuda.jit(device=True)
def _visit(edge, own, found, level):
    v = edge[1]
    if found.distances[v] == _FAR:  # all threads that find v write the same values
        found.distances[v] = level + 1
        found.status[v] = 1


_EXPAND = by_edges(_visit)


class ByEnterprise(OnDevice):
    """Makes each frontier by four launches, and expands it by up to three."""

    def __init__(self, network: Network, shape: Enterprise | None = None):
        n = network.vertices
        self.shape = shape or usual()
        self.rows = upload(network, 9 * n + Frontier.bytes(n, self.shape))
        self.distances = cuda.device_array(n, np.int32)
        self._status = cuda.to_device(np.zeros(n, np.uint8))
        cards = cuda.to_device(np.diff(network.offsets).astype(np.int32))
        self._rows = typed(Rows(self.rows.starts, cards, self.rows.targets))
        self._found = typed(_Reached(self.distances, self._status))
        self._frontier = Frontier(n, self.shape)

    def search(self, source: int) -> None:
        """Expands frontiers until the status array is empty."""
        threads = usual_threads()
        fill[blocks_for(self.distances.shape[0], threads), threads](self.distances, _FAR)
        self.distances[source] = 0
        self._status[source] = 1
        before, level = self._frontier.launches, 0
        while self._frontier.generate(self._status, self._rows.cards):
            self._frontier.consume(_EXPAND, self._rows, self._found, level)
            level += 1
        cuda.synchronize()
        self.count(levels=level, launches=self._frontier.launches - before + 1)
