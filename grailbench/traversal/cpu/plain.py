"""CPU baselines: a queue BFS on one core, and scipy's Dijkstra."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.traversal.check import refuse_long
from grailbench.traversal.index import FAR, Implementation, Network, Params, Solver, Timer, register


class _QueueBfs(Solver):
    def __init__(self, network: Network):
        self.network = network
        self._queue = np.empty(network.vertices, np.int32)

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        return _bfs(self.network.offsets, self.network.targets, source, self._queue)


@njit(cache=True, nogil=True)
def _bfs(offsets, targets, source, queue):
    """Returns the levels, int32[n]. offsets int64[n + 1], targets int32[m]; queue int32[n] is scratch."""
    levels = np.full(offsets.shape[0] - 1, FAR, np.int32)
    levels[source] = 0
    queue[0] = source
    first, last = 0, 1
    while first < last:
        u = queue[first]
        first += 1
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            if levels[v] == FAR:
                levels[v] = levels[u] + 1
                queue[last] = v
                last += 1
    return levels


@register
class QueueBfs(Implementation):
    """Breadth-first search with a queue, on one core.

    Takes the first vertex of the queue, and appends its unreached children, whose distance is one more.
    """

    name = "sequential"
    problem = "bfs"
    source = "textbook; the sequential baseline of Pathak et al."
    cost = "O(n + m) a search"

    @classmethod
    def prepare(cls, network: Network, params: Params, timer: Timer) -> Solver:
        return _QueueBfs(network)


class _Dijkstra(Solver):
    def __init__(self, network: Network, everywhere: bool):
        from scipy.sparse import csr_array

        n = network.vertices
        arrays = (network.weights.astype(np.float64), network.targets, network.offsets)
        self._matrix, self._everywhere = csr_array(arrays, shape=(n, n)), everywhere
        self._may_be_long = n * int(network.weights.max(initial=0)) >= int(FAR) // 2

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        from scipy.sparse.csgraph import dijkstra

        found = dijkstra(self._matrix, directed=True, indices=None if self._everywhere else source)
        if self._may_be_long:
            refuse_long(found)
        found[~np.isfinite(found)] = float(FAR)
        return found.astype(np.int32)


@register
class Dijkstra(Implementation):
    """scipy's Dijkstra (Fibonacci heap), on one core.

    Settles vertices in order of their distance; a heap holds the vertices that are reached but not settled.
    """

    name = "dijkstra"
    problem = "sssp"
    source = "scipy.sparse.csgraph.dijkstra"
    cost = "O(m + n log n) a search"

    @classmethod
    def prepare(cls, network: Network, params: Params, timer: Timer) -> Solver:
        return _Dijkstra(network, everywhere=cls.problem == "apsp")


@register
class DijkstraEach(Dijkstra):
    """scipy's Dijkstra from every vertex, on one core.

    One search after the other, as in `sssp`.
    """

    problem = "apsp"
    cost = "O(n (m + n log n)); 8 n^2 bytes"
