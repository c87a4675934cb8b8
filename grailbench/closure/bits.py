"""Relations over vertices as packed bit matrices: bit v of row u is set if the pair (u, v) is in the relation.

The matrix of n vertices is uint64[n, words(n)]. Bit v of a row is bit v % 64 of its word v // 64; bits beyond n are 0.
The diagonal of a closure is 0 too: as in the report (figure 2), a vertex on a cycle gets no edge to itself.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.csr import Graph

WORD = 64


def words(vertices: int) -> int:
    """Returns the number of 64-bit words in a row."""
    return -(-vertices // WORD)


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
    """Clears the bit (v, v) of every v."""
    for v in range(bits.shape[0]):
        bits[v, v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))


@njit(cache=True, inline="always")
def popcount(x):
    """Returns the number of set bits of a uint64, summed in bit fields (Warren, Hacker's Delight, figure 5-2)."""
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def count(bits):
    """Returns the number of set bits of a matrix."""
    total = np.int64(0)
    for u in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            total += popcount(bits[u, w])
    return total


@njit(cache=True, inline="always")
def lowest(x):
    """Returns the position of the lowest set bit of a uint64 other than 0."""
    return popcount((x & (~x + np.uint64(1))) - np.uint64(1))


@njit(cache=True)
def transpose(bits):
    """Returns the reverse relation, transposed in blocks of 64 x 64 bits (Warren, Hacker's Delight, figure 7-3)."""
    n, width = bits.shape
    out = np.zeros_like(bits)
    block = np.empty(64, np.uint64)
    for top in range(width):
        for left in range(width):
            some = np.uint64(0)
            for k in range(64):
                u = top * 64 + k
                block[k] = bits[u, left] if u < n else np.uint64(0)
                some |= block[k]
            if some == 0:
                continue
            half, mask = 32, np.uint64(0x00000000FFFFFFFF)
            while half:
                shift = np.uint64(half)
                k = 0
                while k < 64:
                    swapped = ((block[k] >> shift) ^ block[k + half]) & mask
                    block[k] ^= swapped << shift
                    block[k + half] ^= swapped
                    k = (k + half + 1) & ~half
                half >>= 1
                mask ^= mask << np.uint64(half)
            for k in range(64):
                v = left * 64 + k
                if v < n:
                    out[v, top] = block[k]
    return out


def unpack(bits: np.ndarray) -> np.ndarray:
    """Returns a matrix as bool[n, n], for tests and small graphs."""
    n = bits.shape[0]
    as_bytes = np.ascontiguousarray(bits).view(np.uint8).reshape(n, 8 * bits.shape[1])
    return np.unpackbits(as_bytes, axis=1, bitorder="little")[:, :n].astype(bool)


def graph_of_bits(bits: np.ndarray) -> Graph:
    """Returns the graph whose edges are the set bits, sorted by source and target."""
    n = bits.shape[0]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(_row_sizes(bits))))
    targets = np.empty(int(offsets[-1]), np.int32)
    _list_bits(bits, targets)
    return Graph(n, np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets)), targets)


@njit(cache=True)
def _row_sizes(bits):
    sizes = np.zeros(bits.shape[0], np.int64)
    for u in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            sizes[u] += popcount(bits[u, w])
    return sizes


@njit(cache=True)
def _list_bits(bits, targets):
    at = np.int64(0)
    for u in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            left = bits[u, w]
            while left:
                targets[at] = w * 64 + lowest(left)
                left &= left - np.uint64(1)
                at += 1
