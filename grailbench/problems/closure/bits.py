"""Relations over vertices as packed bit matrices: bit v of row u is set if the pair (u, v) is in the relation.

The matrix of n vertices is uint64[n, words(n)]. Bit v of a row is bit v % 64 of its word v // 64; bits beyond n are 0.
The diagonal of a closure is 0: as in the report (figure 2), a vertex on a cycle gets no edge to itself.
"""

import weakref
from threading import RLock

import numpy as np
import psutil
from numba import njit

from grailbench.graph.csr import Graph
from grailbench.graph.instructions import ones

WORD = 64


def words(vertices: int) -> int:
    """Returns the number of 64-bit words in a row."""
    return -(-vertices // WORD)


def size(vertices: int) -> int:
    """Returns the bytes of a matrix."""
    return 8 * vertices * words(vertices)


def pack_graph(graph: Graph) -> np.ndarray:
    """Returns the edges of a graph as uint64[n, words], without self-loops."""
    bits = np.zeros((graph.vertices, words(graph.vertices)), np.uint64)
    _set_edges(graph.sources, graph.targets, bits)
    return bits


def matrix_of(graph: Graph) -> np.ndarray:
    """Returns the adjacency matrix of a graph, int32[n, n] of 0 and 1, without self-loops."""
    matrix = np.zeros((graph.vertices, graph.vertices), np.int32)
    matrix[graph.sources, graph.targets] = 1
    np.fill_diagonal(matrix, 0)
    return matrix


@njit(cache=True)
def _set_edges(sources, targets, bits):
    for k in range(sources.shape[0]):
        u, v = sources[k], targets[k]
        if u != v:
            bits[u, v >> 6] |= np.uint64(1) << np.uint64(v & 63)


@njit(cache=True)
def set_pairs(pairs, begin, bits):
    """Sets bit v - begin of row u for each pair (u, v) of int32[k, 2] that has a column in bits, uint64[n, words]."""
    for k in range(pairs.shape[0]):
        at = pairs[k, 1] - begin
        if 0 <= at < 64 * bits.shape[1]:
            bits[pairs[k, 0], at >> 6] |= np.uint64(1) << np.uint64(at & 63)


@njit(cache=True)
def pack_matrix(matrix):
    """Returns the nonzero entries of an integer matrix [n, at least n] as uint64[n, words], without the diagonal."""
    n = matrix.shape[0]
    bits = np.zeros((n, (n + 63) >> 6), np.uint64)
    for u in range(n):
        for v in range(n):
            if matrix[u, v] != 0 and u != v:
                bits[u, v >> 6] |= np.uint64(1) << np.uint64(v & 63)
    return bits


@njit(cache=True)
def clear_diagonal(bits):
    """Clears the bit (v, v) of every v, where it is set: pages that are only read are not copied."""
    for v in range(bits.shape[0]):
        if (bits[v, v >> 6] >> np.uint64(v & 63)) & np.uint64(1):
            bits[v, v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))


@njit(cache=True)
def count(bits):
    """Returns the number of set bits of a matrix."""
    total = np.int64(0)
    for u in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            total += np.int64(ones(bits[u, w]))
    return total


def unpack(bits: np.ndarray) -> np.ndarray:
    """Returns a matrix as bool[n, n], for tests and small graphs."""
    n = bits.shape[0]
    as_bytes = np.ascontiguousarray(bits).view(np.uint8).reshape(n, 8 * bits.shape[1])
    return np.unpackbits(as_bytes, axis=1, bitorder="little")[:, :n].astype(bool)


MOST_REUSED = psutil.virtual_memory().total // 8  #: bytes that are kept at most, of one array

_last: list[np.ndarray] = []  # at most one
_lock = RLock()  # a garbage collection may come in between


class _Reused:
    """Lends memory to arrays, and keeps it when the last of them is gone before the process ends."""

    def __init__(self, words: np.ndarray):
        self.__array_interface__ = words.__array_interface__
        weakref.finalize(self, _keep, words).atexit = False


def _keep(words: np.ndarray) -> None:
    if words.nbytes <= MOST_REUSED:
        with _lock:
            _last[:] = [words]


def reusable(rows: int, words: int) -> np.ndarray:
    """Returns uint64[rows, words] that is not set, in memory that an array of this size had before, if one is kept."""
    with _lock:
        found = _last.pop() if _last and _last[0].size == rows * words else None
        _last.clear()
    found = np.empty(rows * words, np.uint64) if found is None else found
    return np.asarray(_Reused(found)).reshape(rows, words)


def drop_reusable() -> None:
    """Gives back what is kept."""
    with _lock:
        _last.clear()
