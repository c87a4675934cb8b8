"""The report's Floyd-Warshall kernels on matrices of 32-bit integers (Fenz et al. 2022, sections 3.3 to 3.9).

Reachability needs no distances: entry (i, j) of int32[n, n] is 1 if a path is known, and step k sets (i, j) where (i,
k) and (k, j) are set. Row k and column k do not change in step k, so its threads may run in any order.
"""

from __future__ import annotations

from grailbench.cuda.floyd_warshall import run_tiles
from grailbench.cuda.gateway import cuda, simulated

THREADS = 16 if simulated else 256
EDGE = 4 if simulated else 16  #: edge length of the tiles and of the 2-D blocks; 16 in the report


@cuda.jit(cache=True)
def naive(matrix, n, k):
    """Runs one step on int32[n * n], one thread per entry (section 3.3)."""
    at = cuda.grid(1)
    if at < n * n:
        i, j = at // n, at % n
        if matrix[i * n + k] and matrix[k * n + j]:
            matrix[at] = 1


@cuda.jit(cache=True)
def pitched(matrix, n, k):
    """Runs one step on int32[n, pitch], one thread per entry, in one-dimensional blocks (section 3.6)."""
    at = cuda.grid(1)
    if at < n * n:
        i, j = at // n, at % n
        if matrix[i, k] and matrix[k, j]:
            matrix[i, j] = 1


@cuda.jit(cache=True)
def pitched_2d(matrix, n, k):
    """Runs one step on int32[n, pitch], one thread per entry, in two-dimensional blocks (section 3.7)."""
    j, i = cuda.grid(2)
    if i < n and j < n and matrix[i, k] and matrix[k, j]:
        matrix[i, j] = 1


def run_naive(matrix, n: int, kernel=naive) -> None:
    """Launches the n steps of `naive` or `pitched`; does not wait."""
    blocks = -(-n * n // THREADS)
    for k in range(n):
        kernel[blocks, THREADS](matrix, n, k)


def run_pitched_2d(matrix, n: int) -> None:
    """Launches the n steps of `pitched_2d`; does not wait."""
    blocks = (-(-n // EDGE), -(-n // EDGE))
    for k in range(n):
        pitched_2d[blocks, (EDGE, EDGE)](matrix, n, k)


def tiles(n: int) -> int:
    """Returns the number of tiles per side; `run_tiled` needs EDGE * tiles(n) rows and columns, padded with 0."""
    return -(-n // EDGE)


@cuda.jit(device=True)
def or_both(found, first, second):
    """Sets an entry of the closure where both others are set."""
    return found | (first & second)


def run_tiled(matrix) -> int:
    """Runs Katz and Kider's three phases per step on tiles in shared memory (section 3.8); does not wait.

    Returns the number of launches.
    """
    return run_tiles(or_both, matrix, EDGE)


@cuda.jit(cache=True)
def count_entries(matrix, pitch, n, total):
    """Adds the number of nonzero entries off the diagonal to total, int64[1]. matrix: int32[n or more * pitch]."""
    found = 0
    for at in range(cuda.grid(1), n * n, cuda.gridsize(1)):
        i, j = at // n, at % n
        if i != j and matrix[i * pitch + j]:
            found += 1
    if found:
        cuda.atomic.add(total, 0, found)
