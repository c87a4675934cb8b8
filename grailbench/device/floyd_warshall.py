"""Floyd and Warshall's algorithm on a matrix of all pairs in tiles (Katz and Kider 2008), over any semiring.

`join(found, first, second)` is the device function that says what an entry is worth: for distances the lesser of what
was `found` so far and the sum of the other two, for closures `found`, or both of the others. A pivot's row and column
do not change in its own step, since no path gets better by a cycle: so the threads of a step need no order among them.
"""

from __future__ import annotations

from functools import cache

from numba import int32

from grailbench.device.gateway import cuda


@cache
def _tile_kernels(join, tile: int):
    """The three phases of step t: kernels of (matrix, t), int32[N, N], N a multiple of the tile's side, in blocks of
    tile x tile threads."""

    @cuda.jit(cache=True)
    def diagonal(matrix, t):
        """Phase 1: the tile on the diagonal by itself; one block."""
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
        """Phase 2: the tiles of the pivots' rows (blockIdx.y 0) and columns (1), by that on the diagonal."""
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
        """Phase 3: every other tile, by its tiles of the pivots' column and row; nothing waits inside."""
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
    """All steps on int32[N, N], N a multiple of the tile's side; does not wait. Returns the launches."""
    diagonal, cross, rest = _tile_kernels(join, tile)
    tiles, block = matrix.shape[0] // tile, (tile, tile)
    for t in range(tiles):
        diagonal[1, block](matrix, t)
        if tiles > 1:
            cross[(tiles, 2), block](matrix, t)
            rest[(tiles, tiles), block](matrix, t)
    return 3 * tiles if tiles > 1 else 1
