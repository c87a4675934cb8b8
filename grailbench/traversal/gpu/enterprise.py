"""BFS with the frontiers of Enterprise (Liu and Huang 2015): a status array sorted into three queues by degree."""

from __future__ import annotations

import numpy as np

from grailbench.device.frontier import Enterprise, Frontier, trio, usual
from grailbench.device.gateway import cuda
from grailbench.traversal.gpu.resident import OnDevice, blocks_for, fill, upload, usual_threads
from grailbench.traversal.index import FAR, Network

_FAR = int(FAR)


@cuda.jit(device=True)
def _visit(v, distances, status, level):
    if distances[v] == _FAR:  # whoever comes first writes the same as whoever comes next
        distances[v] = level + 1
        status[v] = 1


@cuda.jit(cache=True)
def _by_threads(queue, size, starts, targets, distances, status, level):
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        u = queue[i]
        for k in range(starts[u], starts[u + 1]):
            _visit(targets[k], distances, status, level)


def _by_teams(barrier):
    @cuda.jit(cache=True)
    def kernel(queue, size, starts, targets, distances, status, level):
        teams = cuda.gridDim.x * cuda.blockDim.y
        for i in range(cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y, size, teams):
            u = queue[i]
            for k in range(starts[u] + cuda.threadIdx.x, starts[u + 1], cuda.blockDim.x):
                _visit(targets[k], distances, status, level)

    return kernel


_EXPAND = trio(_by_threads, _by_teams)


class ByEnterprise(OnDevice):
    """Four launches to make a frontier, up to three to expand it."""

    def __init__(self, network: Network, shape: Enterprise | None = None):
        super().__init__()
        n = network.vertices
        self.shape = shape or usual()
        self.rows = upload(network, 9 * n + Frontier.bytes(n, self.shape))
        self.distances = cuda.device_array(n, np.int32)
        self._status = cuda.to_device(np.zeros(n, np.uint8))
        self._cards = cuda.to_device(np.diff(network.offsets).astype(np.int32))
        self._frontier = Frontier(n, self.shape)

    def search(self, source: int) -> None:
        """Until the status array is empty."""
        threads = usual_threads()
        fill[blocks_for(self.distances.shape[0], threads), threads](self.distances, _FAR)
        self.distances[source] = 0
        self._status[source] = 1
        before, level = self._frontier.launches, 0
        while self._frontier.generate(self._status, self._cards):
            self._frontier.consume(_EXPAND, self.rows.starts, self.rows.targets, self.distances, self._status, level)
            level += 1
        cuda.synchronize()
        self.count(levels=level, launches=self._frontier.launches - before + 1)
