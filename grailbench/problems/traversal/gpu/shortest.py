"""Shortest paths from a source in two phases (Harish and Narayanan 2007; Pathak et al., algorithms 10-12), and
Floyd-Warshall on a matrix of all pairs (Pathak et al., APSP; tiles in registers: ours).

As printed, phase 1 writes U without an atomic, so that the larger value may stay (Martin, Torres and Gavilanes); an
atomic minimum corrects this. Each thread has `factor` consecutive vertices. Algorithm 11's W_a[nid] means the weight of
the edge. In matrices 'no path' is FAR // 2, so that two such entries do not overflow.
"""

import numpy as np
from numpy import int32

from grailbench.cuda.floyd_warshall import TILES, Closing, Tiles, run_tiles
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, Shape
from grailbench.problems.traversal.gpu.resident import OnDevice, blocks_for, upload, usual_threads
from grailbench.problems.traversal.index import FAR, Network

_FAR = int(FAR)


@cuda.jit(cache=True)
def _begin(query, costs, updating, mask):
    """Lines 2-7 of algorithm 10, one thread per vertex."""
    for v in range(cuda.grid(1), costs.shape[0], cuda.gridsize(1)):
        is_source = v == query[0]
        costs[v] = updating[v] = 0 if is_source else _FAR
        mask[v] = 1 if is_source else 0


@cuda.jit(device=True)
def _lower_racily(updating, v, cost):
    if updating[v] > cost:
        updating[v] = cost


@cuda.jit(device=True)
def _lower(updating, v, cost):
    if updating[v] > cost:
        cuda.atomic.min(updating, v, cost)


def _phase_1(lower):
    @cuda.jit(cache=True)
    def phase_1(starts, targets, weights, costs, updating, mask, factor):
        """Algorithm 11. costs, updating int32[n], mask uint8[n]."""
        first = cuda.grid(1) * factor
        for u in range(first, min(first + factor, costs.shape[0])):
            if mask[u]:
                mask[u] = 0
                for k in range(starts[u], starts[u + 1]):
                    lower(updating, targets[k], costs[u] + weights[k])

    return phase_1


@cuda.jit(cache=True)
def _phase_2(costs, updating, mask, flag, factor):
    """Algorithm 12. flag int32[1] is set if any distance changed."""
    first = cuda.grid(1) * factor
    for v in range(first, min(first + factor, costs.shape[0])):
        if costs[v] > updating[v]:
            costs[v] = updating[v]
            mask[v] = 1
            flag[0] = 1


_RACY, _ATOMIC = _phase_1(_lower_racily), _phase_1(_lower)


class TwoPhase(OnDevice):
    """Algorithm 10."""

    def __init__(self, network: Network, atomic: bool = True, factor: int = 1, threads: int | None = None):
        n, threads = network.vertices, threads or usual_threads()
        self.rows = upload(network, 9 * n)
        self.distances, updating = (cuda.device_array(n, np.int32) for _ in range(2))
        mask = cuda.device_array(n, np.uint8)
        self._query, self._flag = (cuda.mapped_array(1, np.int32) for _ in range(2))
        shape = Shape(blocks_for(-(-n // factor), threads), threads)
        factor = np.int32(factor)
        self._begin = Prepared(_begin, (self._query, self.distances, updating, mask), shape)
        self._phases = [
            Prepared(
                _ATOMIC if atomic else _RACY,
                (self.rows.starts, self.rows.targets, self.rows.weights, self.distances, updating, mask, factor),
                shape,
            ),
            Prepared(_phase_2, (self.distances, updating, mask, self._flag, factor), shape),
        ]

    def search(self, source: int) -> None:
        """Runs both phases until no distance changes."""
        self._query[0] = source
        self._begin.launch()
        self._flag[0], rounds = 1, 0
        while self._flag[0]:
            self._flag[0] = 0
            for phase in self._phases:
                phase.launch()
            cuda.synchronize()
            rounds += 1
        self.count(rounds=rounds, launches=2 * rounds + 1)


class FromEach(TwoPhase):
    """All pairs, by a search from every vertex (algorithm 13)."""

    def __init__(self, network: Network, threads: int | None = None):
        super().__init__(network, threads=threads)
        n, costs = network.vertices, self.distances
        self._costs, self.distances = costs, cuda.device_array((n, n), np.int32)
        shape = Shape(blocks_for(n, threads or usual_threads()), threads or usual_threads())
        self._keep = Prepared(_keep, (self._query, costs, self.distances), shape)

    def search(self, source: int) -> None:
        """Searches from each vertex and copies its distances into a row."""
        for each in range(self._costs.shape[0]):
            super().search(each)
            self._keep.launch()
            cuda.synchronize()  # the kernel reads `_query` in host memory, which the next search changes


@cuda.jit(cache=True)
def _keep(query, costs, matrix):
    """Copies costs, int32[n], to row query[0] of matrix, int32[n, n]."""
    for v in range(cuda.grid(1), costs.shape[0], cuda.gridsize(1)):
        matrix[query[0], v] = costs[v]


_HALF = _FAR // 2
TILE = 4 if simulated else 32
_SIDE = 2 if simulated else 16  # edge length of the square blocks of the kernels without tiles


@cuda.jit(cache=True)
def _none(matrix):
    """Sets the diagonal of matrix, int32[N, N], to 0 and the rest to 'no path'; columns along x."""
    j, i = cuda.grid(2)
    if i < matrix.shape[0] and j < matrix.shape[1]:
        matrix[i, j] = 0 if i == j else _HALF


@cuda.jit(cache=True)
def _edges(starts, targets, weights, matrix):
    """Enters the first, lightest edge of each pair; one block per source vertex."""
    u = cuda.blockIdx.x
    first = starts[u]
    for k in range(first + cuda.threadIdx.x, starts[u + 1], cuda.blockDim.x):
        v = targets[k]
        if v != u and (k == first or targets[k - 1] != v):
            matrix[u, v] = weights[k]


@cuda.jit(cache=True)
def _pivot(k, matrix):
    """Takes paths through vertex k where they are shorter; one thread per pair, columns along x."""
    j, i = cuda.grid(2)
    if i < matrix.shape[0] and j < matrix.shape[1]:
        through = matrix[i, k] + matrix[k, j]
        if through < matrix[i, j]:
            matrix[i, j] = through


@cuda.jit(cache=True)
def _finish(matrix, distances):
    """Copies matrix, int32[N, N], to distances, int32[n, n] with n <= N; columns along x."""
    j, i = cuda.grid(2)
    if i < distances.shape[0] and j < distances.shape[1]:
        distances[i, j] = _FAR if matrix[i, j] >= _HALF else matrix[i, j]


@cuda.jit(device=True)
def _nearer(found, first, second):
    return min(found, int32(first + second))  # of 32 bits, which the H200 adds and compares in one instruction


class FloydWarshall(OnDevice):
    """Floyd-Warshall with one launch per pivot."""

    def __init__(self, network: Network, side: int = 1):
        n = network.vertices
        padded = -(-n // side) * side
        self.rows = upload(network, 4 * (n * n + padded * padded))
        self.distances, self._matrix = (cuda.device_array((size, size), np.int32) for size in (n, padded))

    def search(self, source: int) -> None:
        """Computes the distances of all pairs; `source` is ignored."""
        n, padded = self.distances.shape[0], self._matrix.shape[0]
        square = (_SIDE, _SIDE)
        _none[(blocks_for(padded, _SIDE),) * 2, square](self._matrix)
        _edges[n, _SIDE**2](*self.rows, self._matrix)
        launches = self._close((blocks_for(padded, _SIDE),) * 2, square)
        _finish[(blocks_for(n, _SIDE),) * 2, square](self._matrix, self.distances)
        cuda.synchronize()
        self.count(launches=launches + 3)

    def _close(self, grid, square) -> int:
        n = self.distances.shape[0]
        for k in range(n):
            _pivot[grid, square](k, self._matrix)
        return n


class Blocked(FloydWarshall):
    """Floyd-Warshall in tiles, three launches per diagonal tile. Vertices without edges pad the matrix to tiles."""

    def __init__(self, network: Network, tile: int = TILE):
        self.tile = tile
        super().__init__(network, tile)

    def _close(self, grid, square) -> int:
        return run_tiles(_nearer, self._matrix, self.tile)


class InRegisters(FloydWarshall):
    """Floyd-Warshall in tiles that stay in registers, three launches per step of many pivots."""

    def __init__(self, network: Network, tiles: Tiles = TILES):
        super().__init__(network, tiles.side)
        self._closing = Closing(_nearer, self._matrix, tiles)

    def _close(self, grid, square) -> int:
        return self._closing.run()
