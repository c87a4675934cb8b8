"""The Floyd-Warshall algorithm on a matrix of all pairs, in tiles (Katz and Kider 2008), over any semiring.

The device function `join(found, first, second)` computes a new entry: for distances min(found, first + second), for
closures found | (first & second). The row and column of a pivot do not change in its own step, because a cycle never
improves a path, so the threads of a step need not be synchronised.
"""

from __future__ import annotations

from functools import cache

from numpy import int32

from grailbench.cuda.gateway import cuda


@cache
def _tile_kernels(join, tile: int):
    """The kernels of the three phases of step t. They take (matrix, t) with matrix int32[N, N], N a multiple of the
    tile's side, in blocks of tile x tile threads."""

    @cuda.jit(cache=True)
    def diagonal(matrix, t):
        """Phase 1: updates the tile on the diagonal; one block."""
        own = cuda.shared.array((tile, tile), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        i, j = t * tile + y, t * tile + x
        found = matrix[i, j]
        own[y, x] = found
        cuda.syncthreads()
        for k in range(tile):
            better = join(found, own[y, k], own[k, x])
            if better != found:
                own[y, x] = found = better
            cuda.syncthreads()
        matrix[i, j] = found

    @cuda.jit(cache=True)
    def cross(matrix, t):
        """Phase 2: updates the tiles in the rows (blockIdx.y 0) and columns (1) of the pivots by the diagonal tile."""
        pivots = cuda.shared.array((tile, tile), int32)
        own = cuda.shared.array((tile, tile), int32)
        x, y, other = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.x
        if other == t:
            return
        in_row = cuda.blockIdx.y == 0
        i, j = (t if in_row else other) * tile + y, (other if in_row else t) * tile + x
        pivots[y, x] = matrix[t * tile + y, t * tile + x]
        found = matrix[i, j]
        own[y, x] = found
        cuda.syncthreads()
        for k in range(tile):
            better = join(found, pivots[y, k], own[k, x]) if in_row else join(found, own[y, k], pivots[k, x])
            if better != found:
                own[y, x] = found = better
            cuda.syncthreads()
        matrix[i, j] = found

    @cuda.jit(cache=True)
    def rest(matrix, t):
        """Phase 3: updates every other tile by the tiles in the pivots' column and row; no barriers in its loop."""
        column = cuda.shared.array((tile, tile), int32)
        row = cuda.shared.array((tile, tile), int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        if cuda.blockIdx.x == t or cuda.blockIdx.y == t:
            return
        i, j = cuda.blockIdx.y * tile + y, cuda.blockIdx.x * tile + x
        column[y, x] = matrix[i, t * tile + x]
        row[y, x] = matrix[t * tile + y, j]
        found = matrix[i, j]
        cuda.syncthreads()
        for k in range(tile):
            found = join(found, column[y, k], row[k, x])
        matrix[i, j] = found

    return diagonal, cross, rest


def run_tiles(join, matrix, tile: int) -> int:
    """Launches all steps on int32[N, N], N a multiple of the tile's side. Does not wait. Returns how many launches."""
    diagonal, cross, rest = _tile_kernels(join, tile)
    tiles, block = matrix.shape[0] // tile, (tile, tile)
    for t in range(tiles):
        diagonal[1, block](matrix, t)
        if tiles > 1:
            cross[(tiles, 2), block](matrix, t)
            rest[(tiles, tiles), block](matrix, t)
    return 3 * tiles if tiles > 1 else 1
