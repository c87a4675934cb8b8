"""Floyd and Warshall on a matrix of all pairs: a launch a pivot, and in tiles (Pathak et al., APSP, slides 2 and 3).

While it runs 'no path' is half of what 32 bits hold, so that two of them add up without overflow; true distances are
shorter (the harness refuses longer ones).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import int32

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


@cache
def _tiled(tile: int):
    """The three phases for a tile of that side: kernels with a block of tile x tile threads."""

    @cuda.jit(cache=True)
    def own(t, matrix):
        """Phase 1: the tile on the diagonal by itself; one block."""
        a = cuda.shared.array((tile, tile), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        i, j = t * tile + y, t * tile + x
        a[y, x] = matrix[i, j]
        cuda.syncthreads()
        for k in range(tile):
            through = a[y, k] + a[k, x]
            cuda.syncthreads()
            a[y, x] = min(a[y, x], through)
            cuda.syncthreads()
        matrix[i, j] = a[y, x]

    @cuda.jit(cache=True)
    def partly(t, matrix):
        """Phase 2: tiles of the same row (blockIdx.y 0) and column (1), by that on the diagonal."""
        a = cuda.shared.array((tile, tile), int32)
        b = cuda.shared.array((tile, tile), int32)
        x, y, other = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.x
        if other == t:
            return
        in_row = cuda.blockIdx.y == 0
        i, j = (t * tile + y, other * tile + x) if in_row else (other * tile + y, t * tile + x)
        a[y, x] = matrix[t * tile + y, t * tile + x]
        b[y, x] = matrix[i, j]
        cuda.syncthreads()
        for k in range(tile):
            through = a[y, k] + b[k, x] if in_row else b[y, k] + a[k, x]
            cuda.syncthreads()
            b[y, x] = min(b[y, x], through)
            cuda.syncthreads()
        matrix[i, j] = b[y, x]

    @cuda.jit(cache=True)
    def doubly(t, matrix):
        """Phase 3: every other tile, by one of the row and one of the column; nothing waits inside."""
        a = cuda.shared.array((tile, tile), int32)
        b = cuda.shared.array((tile, tile), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        if cuda.blockIdx.x == t or cuda.blockIdx.y == t:
            return
        i, j = cuda.blockIdx.y * tile + y, cuda.blockIdx.x * tile + x
        a[y, x] = matrix[i, t * tile + x]
        b[y, x] = matrix[t * tile + y, j]
        best = matrix[i, j]
        cuda.syncthreads()
        for k in range(tile):
            best = min(best, a[y, k] + b[k, x])
        matrix[i, j] = best

    return own, partly, doubly


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
        own, partly, doubly = _tiled(self.tile)
        tiles, block = self._matrix.shape[0] // self.tile, (self.tile, self.tile)
        for t in range(tiles):
            own[1, block](t, self._matrix)
            partly[(tiles, 2), block](t, self._matrix)
            doubly[(tiles, tiles), block](t, self._matrix)
        return 3 * tiles
