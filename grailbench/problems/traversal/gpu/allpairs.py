"""Floyd-Warshall on a matrix of all pairs: one launch per pivot, in tiles (Pathak et al., APSP, slides 2 and 3), and
in tiles that stay in registers (ours).

Inside the kernels 'no path' is FAR // 2, so that the sum of two such entries does not overflow. Distances are shorter:
the harness refuses longer ones.
"""

from __future__ import annotations

import numpy as np
from numpy import int32

from grailbench.cuda.floyd_warshall import TILES, Closing, Tiles, run_tiles
from grailbench.cuda.gateway import cuda, simulated
from grailbench.problems.traversal.gpu.resident import OnDevice, blocks_for, upload
from grailbench.problems.traversal.index import FAR, Network

_FAR = int(FAR)
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
        super().__init__()
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
