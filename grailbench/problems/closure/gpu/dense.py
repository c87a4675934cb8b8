"""The report's kernels on matrices of 32-bit integers (Fenz et al. 2022): Floyd-Warshall (sections 3.3 to 3.9), powers
of the adjacency matrix (2.1 and 3.2), and a search from every vertex (2.3 and 3.10, after Harish and Narayanan).

Entry (i, j) of int32[n, n] is 1 if a path is known; step k sets (i, j) where (i, k) and (k, j) are set. Row k and
column k do not change in step k, so its threads may run in any order. Of the searches, the report's vector E is
`targets` here, E_idx is `offsets`, C is `found` and M is `mask`.
"""

import numpy as np

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


@cuda.jit(device=True)
def or_both(found, first, second):
    """Sets an entry of the closure where both others are set."""
    return found | (first & second)


def run_tiled(matrix) -> int:
    """Runs Katz and Kider's three phases per step on tiles in shared memory (section 3.8); does not wait.

    Sides are multiples of `EDGE`, padded with 0. Returns the number of launches.
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


@cuda.jit(cache=True)
def _multiply(adjacency, power, following, result, flag):
    """Computes following = adjacency times power, ors it into result, and sets flag[0] if it differs from power.

    All matrices are int32[n, n], flag is int32[1]; one thread per entry.
    """
    j, i = cuda.grid(2)
    n = adjacency.shape[0]
    if i < n and j < n:
        found = 0
        for k in range(n):
            found |= adjacency[i, k] & power[k, j]
        following[i, j] = found
        if found:
            result[i, j] = 1
        if found != power[i, j]:
            flag[0] = 1


def run_powers(adjacency, power, following, result) -> int:
    """Multiplies until a power equals the one before it, as the report does; returns the number of products.

    `adjacency`, `power` and `result` begin as the adjacency matrix; `following` is scratch. n - 2 products suffice.
    """
    n = adjacency.shape[0]
    blocks = (-(-n // EDGE), -(-n // EDGE))
    flag, host = cuda.device_array(1, np.int32), np.zeros(1, np.int32)
    zero = np.zeros(1, np.int32)
    for product in range(1, n - 1):
        flag.copy_to_device(zero)
        _multiply[blocks, (EDGE, EDGE)](adjacency, power, following, result, flag)
        flag.copy_to_host(host)
        if not host[0]:
            return product
        power.copy_to_device(following)
    return max(n - 2, 0)


@cuda.jit(cache=True)
def start(found, mask, source):
    """Sets found and mask, int32[n], to 1 at the source and 0 elsewhere."""
    v = cuda.grid(1)
    if v < found.shape[0]:
        found[v] = mask[v] = 1 if v == source else 0


@cuda.jit(cache=True)
def relax(offsets, targets, found, mask, flag):
    """Unmarks each marked vertex, and marks and finds its new children; one thread per vertex. Sets flag, int32[1].

    A vertex marked in this launch may be processed in it or in the next, so the number of launches varies.
    """
    u = cuda.grid(1)
    if u < found.shape[0] and mask[u]:
        mask[u] = 0
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            if not found[v]:
                found[v] = 1
                mask[v] = 1
                flag[0] = 1
