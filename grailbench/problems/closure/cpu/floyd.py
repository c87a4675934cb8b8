"""The report's baseline: Floyd-Warshall on a matrix of 32-bit integers, one thread (Fenz et al. 2022, section 3.1)."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def close(matrix):
    """Closes int32[n, n] of 0 and 1 in place, by three plain loops as in the report."""
    n = matrix.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                matrix[i, j] |= matrix[i, k] & matrix[k, j]


@njit(cache=True)
def count(matrix):
    """Returns the number of nonzero entries of int32[n, n] off the diagonal."""
    total = 0
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[0]):
            total += i != j and matrix[i, j] != 0
    return total
