"""CPU baselines on one core: a queue BFS, scipy's Dijkstra, and shortest paths by buckets."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.problems.traversal.check import refuse_long
from grailbench.problems.traversal.index import FAR, Implementation, Network, Params, Solver, Timer, register


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


_OUT = -2  # in `links`: of a vertex that is in no bucket
MOST_BUCKETS = 1024  #: that an edge of `buckets` spans


class _Buckets(Solver):
    def __init__(self, network: Network):
        heaviest = int(network.weights.max(initial=1))
        self.network, self._width = network, -(-heaviest // MOST_BUCKETS)
        self._heads = np.empty(heaviest // self._width + 2, np.int32)
        self._links = np.empty((network.vertices, 2), np.int32)

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        rows = self.network.offsets, self.network.targets, self.network.weights
        return _by_buckets(*rows, source, self._width, self._heads, self._links)


@njit(cache=True, nogil=True)
def _by_buckets(offsets, targets, weights, source, width, heads, links):
    """Returns the distances, int32[n]. weights int32[m]; heads int32[b] and links int32[n, 2] are scratch.

    Bucket i has the vertices whose distance over `width`, modulo b, is i, in a list that is linked both ways. An edge
    spans less than b - 1 buckets.
    """
    distances = np.full(offsets.shape[0] - 1, FAR, np.int32)
    buckets = heads.shape[0]
    heads[:] = -1
    distances[source], heads[0], links[source, 0], links[source, 1] = 0, source, -1, -1
    listed, at = 1, 0
    while listed:
        u = heads[at]
        if u < 0:
            at = at + 1 if at + 1 < buckets else 0
            continue
        heads[at] = links[u, 1]
        if links[u, 1] >= 0:
            links[links[u, 1], 0] = -1
        links[u, 0] = _OUT  # may be listed again by an edge shorter than the width
        listed -= 1
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            reached, before = distances[u] + weights[k], distances[v]
            if reached >= before:
                continue
            distances[v] = reached
            to = reached // width % buckets
            if before != FAR and links[v, 0] != _OUT:
                if before // width % buckets == to:
                    continue
                last, after = links[v, 0], links[v, 1]
                if last >= 0:
                    links[last, 1] = after
                else:
                    heads[before // width % buckets] = after
                if after >= 0:
                    links[after, 0] = last
                listed -= 1
            links[v, 0], links[v, 1] = -1, heads[to]
            if heads[to] >= 0:
                links[heads[to], 0] = v
            heads[to] = v
            listed += 1
    return distances


@register
class Buckets(Implementation):
    """Shortest paths by buckets, on one core.

    A vertex that is reached waits in the bucket of its distance, and moves when the distance becomes less. Buckets are
    emptied in order. If no weight is above 1,024, each has vertices of one distance, and no vertex is expanded twice.
    """

    name = "buckets"
    problem = "sssp"
    source = "Dial 1969; approximate buckets, Cherkassky et al. 1996"
    cost = "O(m + the greatest distance) a search; 8 n bytes"

    @classmethod
    def prepare(cls, network: Network, params: Params, timer: Timer) -> Solver:
        return _Buckets(network)


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
