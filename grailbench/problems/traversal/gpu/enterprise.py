"""BFS with the frontiers of Enterprise (Liu and Huang 2015): a status array, sorted into three queues by degree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.cuda.frontier import Enterprise, Frontier, by_edges, usual
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import Rows
from grailbench.cuda.launch import typed
from grailbench.problems.traversal.gpu.resident import OnDevice, blocks_for, fill, upload, usual_threads
from grailbench.problems.traversal.index import FAR, Network

_FAR = int(FAR)


class _Found(NamedTuple):
    """The results: distances int32[n]; status uint8[n], 1 for the vertices of the next frontier."""

    distances: object
    status: object


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
        super().__init__()
        n = network.vertices
        self.shape = shape or usual()
        self.rows = upload(network, 9 * n + Frontier.bytes(n, self.shape))
        self.distances = cuda.device_array(n, np.int32)
        self._status = cuda.to_device(np.zeros(n, np.uint8))
        cards = cuda.to_device(np.diff(network.offsets).astype(np.int32))
        self._rows = typed(Rows(self.rows.starts, cards, self.rows.targets))
        self._found = typed(_Found(self.distances, self._status))
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
