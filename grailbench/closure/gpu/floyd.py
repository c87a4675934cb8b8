"""The report's Floyd-Warshall kernels on matrices of 32-bit integers (Fenz et al. 2022, sections 3.3 to 3.9).

Reachability needs no distances: entry (i, j) of int32[n, n] is 1 when an edge is known, and step k turns (i, j) on
where (i, k) and (k, j) are. Entries of row and column k do not change in step k, so its threads need no order.
"""

from __future__ import annotations

from numba import int32

from grailbench.device.gateway import cuda, simulated

THREADS = 16 if simulated else 256
EDGE = 4 if simulated else 16  #: of the tiles and the 2-D blocks; the report's is 16


@cuda.jit(cache=True)
def naive(matrix, n, k):
    """One step. matrix: int32[n * n], a thread an entry (section 3.3)."""
    at = cuda.grid(1)
    if at < n * n:
        i, j = at // n, at % n
        if matrix[i * n + k] and matrix[k * n + j]:
            matrix[at] = 1


@cuda.jit(cache=True)
def pitched(matrix, n, k):
    """One step. matrix: int32[n, pitch], a thread an entry by its number, row and column computed (section 3.6)."""
    at = cuda.grid(1)
    if at < n * n:
        i, j = at // n, at % n
        if matrix[i, k] and matrix[k, j]:
            matrix[i, j] = 1


@cuda.jit(cache=True)
def pitched_2d(matrix, n, k):
    """One step. matrix: int32[n, pitch], two-dimensional blocks (section 3.7)."""
    j, i = cuda.grid(2)
    if i < n and j < n and matrix[i, k] and matrix[k, j]:
        matrix[i, j] = 1


def run_naive(matrix, n: int, kernel=naive) -> None:
    """All n steps of `naive` or `pitched`, a launch each; does not wait."""
    blocks = -(-n * n // THREADS)
    for k in range(n):
        kernel[blocks, THREADS](matrix, n, k)


def run_pitched_2d(matrix, n: int) -> None:
    """All n steps of `pitched_2d`; does not wait."""
    blocks = (-(-n // EDGE), -(-n // EDGE))
    for k in range(n):
        pitched_2d[blocks, (EDGE, EDGE)](matrix, n, k)


def tiles(n: int) -> int:
    """Tiles along a side; `run_tiled` needs a matrix of EDGE * tiles(n) rows and columns, the rest 0."""
    return -(-n // EDGE)


@cuda.jit(cache=True)
def _primary(matrix, step):
    """Phase 1: the tile on the diagonal. One block of EDGE x EDGE; matrix: int32[tiles * EDGE, tiles * EDGE]."""
    tile = cuda.shared.array((EDGE, EDGE), int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = step * EDGE + y, step * EDGE + x
    tile[y, x] = matrix[i, j]
    cuda.syncthreads()
    for k in range(EDGE):
        if tile[y, k] and tile[k, x]:
            tile[y, x] = 1
        cuda.syncthreads()
    matrix[i, j] = tile[y, x]


@cuda.jit(cache=True)
def _secondary(matrix, step):
    """Phase 2: the tiles of the pivots' rows (blockIdx.y 0) and columns (1). Grid (tiles, 2)."""
    primary = cuda.shared.array((EDGE, EDGE), int32)
    own = cuda.shared.array((EDGE, EDGE), int32)
    x, y, other = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.x
    if other != step:
        in_row = cuda.blockIdx.y == 0
        i = (step if in_row else other) * EDGE + y
        j = (other if in_row else step) * EDGE + x
        primary[y, x] = matrix[step * EDGE + y, step * EDGE + x]
        own[y, x] = matrix[i, j]
        cuda.syncthreads()
        for k in range(EDGE):
            if in_row:
                if primary[y, k] and own[k, x]:
                    own[y, x] = 1
            elif own[y, k] and primary[k, x]:
                own[y, x] = 1
            cuda.syncthreads()
        matrix[i, j] = own[y, x]


@cuda.jit(cache=True)
def _others(matrix, step):
    """Phase 3: all other tiles, each from its tile of the pivots' column and row. Grid (tiles, tiles)."""
    column = cuda.shared.array((EDGE, EDGE), int32)
    row = cuda.shared.array((EDGE, EDGE), int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if cuda.blockIdx.x != step and cuda.blockIdx.y != step:
        i, j = cuda.blockIdx.y * EDGE + y, cuda.blockIdx.x * EDGE + x
        column[y, x] = matrix[i, step * EDGE + x]
        row[y, x] = matrix[step * EDGE + y, j]
        found = matrix[i, j]
        cuda.syncthreads()
        for k in range(EDGE):
            found |= column[y, k] & row[k, x]
        matrix[i, j] = found


def run_tiled(matrix, n: int) -> None:
    """Katz and Kider's three phases a step, tiles of EDGE x EDGE in shared memory (section 3.8); does not wait."""
    side, block = tiles(n), (EDGE, EDGE)
    for step in range(side):
        _primary[1, block](matrix, step)
        if side > 1:
            _secondary[(side, 2), block](matrix, step)
            _others[(side, side), block](matrix, step)


@cuda.jit(cache=True)
def count_entries(matrix, pitch, n, total):
    """Add the number of nonzero entries off the diagonal to total, int64[1]. matrix: int32[rows * pitch], rows >= n."""
    found = 0
    for at in range(cuda.grid(1), n * n, cuda.gridsize(1)):
        i, j = at // n, at % n
        if i != j and matrix[i * pitch + j]:
            found += 1
    if found:
        cuda.atomic.add(total, 0, found)
