"""BFS by levels: one thread per vertex (Pathak et al., algorithms 1-2), and a queue filled by atomics (3-4).

The parent array of algorithm 1 is left out: algorithm 2 never writes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import typed
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


class ByLevel(OnDevice):
    """Algorithm 1."""

    def __init__(self, network: Network, threads: int | None = None):
        super().__init__()
        n = network.vertices
        self.threads = threads or usual_threads()
        self.blocks = blocks_for(n, self.threads)
        self.rows = upload(network, 4 * n)
        self.distances = cuda.device_array(n, np.int32)
        self._flag = cuda.mapped_array(1, np.int32)

    def search(self, source: int) -> None:
        """Launches once per level, until a level finds no vertex."""
        grid = (self.blocks, self.threads)
        fill[grid](self.distances, _FAR)
        self.distances[source] = 0
        self._flag[0], level = 1, 0
        while self._flag[0]:
            self._flag[0] = 0
            _level[grid](level, self.rows.starts, self.rows.targets, self.distances, self._flag)
            cuda.synchronize()
            level += 1
        self.count(levels=level, launches=level + 1)


class _Found(NamedTuple):
    """The results: distances and parents int32[n]; count int32[1], the number of vertices in the next queue."""

    distances: object
    parents: object
    count: object


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


class ByQueue(OnDevice):
    """Algorithm 3."""

    def __init__(self, network: Network, threads: int | None = None):
        super().__init__()
        n = network.vertices
        self.threads = threads or usual_threads()
        self.rows = upload(network, 16 * n)
        self.distances, self.parents = (cuda.device_array(n, np.int32) for _ in range(2))
        self._queues = [cuda.device_array(n, np.int32) for _ in range(2)]
        self._count = cuda.device_array(1, np.int32)
        self._given = typed(self.rows), typed(_Found(self.distances, self.parents, self._count))

    def search(self, source: int) -> None:
        """Launches once per level, until the queue is empty."""
        grid = (blocks_for(self.distances.shape[0], self.threads), self.threads)
        fill[grid](self.distances, _FAR)
        fill[grid](self.parents, -1)
        current, following = self._queues
        self.distances[source] = 0
        current[0] = source
        size, level, pushed = 1, 0, 0
        while size:
            self._count[0] = 0
            _queue[blocks_for(size, self.threads), self.threads](level, *self._given, current, size, following)
            size = int(self._count[0])
            current, following = following, current
            level, pushed = level + 1, pushed + size
        self.count(levels=level, launches=level + 2, pushed=pushed)
