"""Floyd and Warshall on a matrix of all pairs: a launch a pivot, and in tiles (Pathak et al., APSP, slides 2 and 3).

While it runs 'no path' is half of what 32 bits hold, so that two of them add up without overflow; true distances are
shorter (the harness refuses longer ones).
"""

from __future__ import annotations

import numpy as np

from grailbench.device.floyd_warshall import run_tiles
from grailbench.device.gateway import cuda, simulated
from grailbench.traversal.gpu.resident import OnDevice, blocks_for, upload
from grailbench.traversal.index import FAR, Network

_FAR = int(FAR)
_HALF = _FAR // 2
TILE = 4 if simulated else 32
_SIDE = 2 if simulated else 16  # of the square blocks that have no tile


@cuda.jit(cache=True)
def _none(matrix):
    """'No path' everywhere but from a vertex to itself. matrix int32[N, N]; two-dimensional grid."""
    i, j = cuda.grid(2)
    if i < matrix.shape[0] and j < matrix.shape[1]:
        matrix[i, j] = 0 if i == j else _HALF


@cuda.jit(cache=True)
def _edges(starts, targets, weights, matrix):
    """The least weight of each pair's edges; a thread a vertex."""
    u = cuda.grid(1)
    if u < starts.shape[0] - 1:
        for k in range(starts[u], starts[u + 1]):
            matrix[u, targets[k]] = min(matrix[u, targets[k]], weights[k])


@cuda.jit(cache=True)
def _pivot(k, matrix):
    """Paths through vertex k; a thread a pair, columns along x."""
    j, i = cuda.grid(2)
    if i < matrix.shape[0] and j < matrix.shape[1]:
        through = matrix[i, k] + matrix[k, j]
        if through < matrix[i, j]:
            matrix[i, j] = through


@cuda.jit(cache=True)
def _finish(matrix, distances):
    """distances int32[n, n] from matrix int32[N, N], N >= n; columns along x."""
    j, i = cuda.grid(2)
    if i < distances.shape[0] and j < distances.shape[1]:
        distances[i, j] = _FAR if matrix[i, j] >= _HALF else matrix[i, j]


@cuda.jit(device=True)
def _nearer(found, first, second):
    return min(found, first + second)


class FloydWarshall(OnDevice):
    """A launch a pivot, n of them."""

    def __init__(self, network: Network, side: int = 1):
        super().__init__()
        n = network.vertices
        padded = -(-n // side) * side
        self.rows = upload(network, 4 * (n * n + padded * padded))
        self.distances, self._matrix = (cuda.device_array((size, size), np.int32) for size in (n, padded))

    def search(self, source: int) -> None:
        """All pairs."""
        n, padded = self.distances.shape[0], self._matrix.shape[0]
        square = (_SIDE, _SIDE)
        _none[(blocks_for(padded, _SIDE),) * 2, square](self._matrix)
        _edges[blocks_for(n, _SIDE**2), _SIDE**2](*self.rows, self._matrix)
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
    """In tiles, three launches a tile of the diagonal. The matrix is padded with vertices that have no edge."""

    def __init__(self, network: Network, tile: int = TILE):
        self.tile = tile
        super().__init__(network, tile)

    def _close(self, grid, square) -> int:
        return run_tiles(_nearer, self._matrix, self.tile)
