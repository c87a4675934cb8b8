"""The report's Floyd-Warshall kernels on matrices of 32-bit integers (Fenz et al. 2022, sections 3.3 to 3.9).

Reachability needs no distances: entry (i, j) of int32[n, n] is 1 when an edge is known, and step k turns (i, j) on
where (i, k) and (k, j) are. Entries of row and column k do not change in step k, so its threads need no order.
"""

from __future__ import annotations

from grailbench.device.floyd_warshall import run_tiles
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


@cuda.jit(device=True)
def _or_both(found, first, second):
    return found | (first & second)


def run_tiled(matrix) -> int:
    """Katz and Kider's three phases a step, tiles of EDGE x EDGE in shared memory (section 3.8); does not wait. Returns
    the launches."""
    return run_tiles(_or_both, matrix, EDGE)


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
