"""Generates uniform random graphs of a given size: DAGs, such as those in Computation 2020, table 2, and digraphs."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.generate.models import checked
from grailbench.graph.hashing import GAMMA, below, draw, mix64, permutation, stream
from grailbench.util.compiled import njit
from grailbench.util.cores import usable_cores

_NAME = re.compile(r"random-n(\d{1,10})-k(\d{1,10}(?:\.\d{1,10})?)-s(\d{1,18})")
_ORDER, _ROWS, _PAIRS = 0, 1, 2  # random streams of a seed; each round of pairs takes the next one


def parse_random(name: str) -> tuple[int, float, int] | None:
    """Vertices, degree and seed of a name like 'random-n50000000-k20-s1'; None for other names."""
    found = _NAME.fullmatch(name)
    return None if found is None else (int(found[1]), float(found[2]), int(found[3]))


def random_dag(vertices: int, degree: float, seed: int = 1, threads: int = 0) -> Graph:
    """A uniform random DAG with `round(vertices * degree)` edges and a random topological order.

    The model: a uniform random permutation orders the vertices, and the edges are a uniform random subset of the pairs
    that ascend in this order. Ids do not depend on the order, so no algorithm can profit from them. With degree 50 and
    250,000 vertices about 42 % of random pairs are positive.

    Edges are grouped by source and not sorted within a source. The arrays are a pure function of vertices, edges and
    seed; `threads` (0: all cores) changes only the time. Memory in addition to the result: 24 bytes a vertex, and at
    most 8 bytes more a vertex for each thread.

    Raises InputError if there are fewer pairs than edges or too many vertices for 32-bit ids.
    """
    n, m = _sizes(vertices, degree)
    order = permutation(n, stream(seed, _ORDER))
    workers = threads or usable_cores()
    with ThreadPoolExecutor(workers) as pool:
        draws, sizes, inverted = _rows_filled(n, m, seed, pool, workers)
        offsets = np.zeros(n + 1, np.int64)
        offsets[1:][order] = sizes
        np.cumsum(offsets, out=offsets)
        sources, targets = np.empty(m, np.int32), np.empty(m, np.int32)
        key = stream(seed, _ROWS)

        def fill(lo: int) -> None:
            _fill(n, lo, min(n, lo + step), draws, inverted, order, offsets, sources, targets, key)

        step = _block(n, workers)
        list(pool.map(fill, range(0, n, step)))
    return Graph(n, sources, targets)


def random_blocks(
    vertices: int, degree: float, seed: int = 1, block: int = 1 << 20
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The edges of `random_dag`, in another order, as blocks of sources and targets, int32[k] each.

    A block has about `block` edges, of whole rows. Memory: 32 bytes a vertex, and a block. Raises InputError as
    `random_dag` does.
    """
    n, m = _sizes(vertices, degree)
    order = permutation(n, stream(seed, _ORDER))
    with ThreadPoolExecutor(1) as pool:
        draws, sizes, inverted = _rows_filled(n, m, seed, pool, 1)
    ends = np.cumsum(sizes)
    offsets, key, lo = np.zeros(n, np.int64), stream(seed, _ROWS), 0
    while lo < n:
        before = int(ends[lo - 1]) if lo else 0
        hi = max(lo + 1, int(np.searchsorted(ends, before + block, "right")))
        offsets[order[lo:hi]] = ends[lo:hi] - sizes[lo:hi] - before
        sources, targets = np.empty((2, int(ends[hi - 1]) - before), np.int32)
        _fill(n, lo, hi, draws, inverted, order, offsets, sources, targets, key)
        yield sources, targets
        lo = hi


def random_digraph(vertices: int, degree: float, seed: int = 1) -> Graph:
    """A random digraph with `round(vertices * degree)` edges, each a uniform random pair of different vertices.

    Edges are independent of each other, so a few occur twice. With a degree well above 1 all but a few vertices are on
    cycles, in one strong component. Edges are grouped by source and not sorted within a source.

    Raises InputError for edges but no two vertices, and for too many vertices or edges for 32-bit ids.
    """
    n, m = checked(vertices), round(vertices * degree)
    if not 0 <= m < 2**31 or (m and n < 2):
        raise InputError(f"{n} vertices with {degree:g} edges each: two vertices or more, and fewer than 2^31 edges")
    sources = np.repeat(np.arange(n, dtype=np.int32), _ends(n, m, stream(seed, _ROWS)))
    return Graph(n, sources, _others(n, sources, stream(seed, _PAIRS)))


@njit(cache=True, nogil=True)
def _ends(n, m, key):
    """How often each vertex is drawn in m draws, int64[n]."""
    counts = np.zeros(n, np.int64)
    for k in range(m):
        counts[below(draw(key, k), n)] += 1
    return counts


@njit(cache=True, nogil=True)
def _others(n, sources, key):
    """A random vertex other than its source for each edge, int32[m]."""
    targets = np.empty(sources.shape[0], np.int32)
    for k in range(sources.shape[0]):
        v = below(draw(key, k), n - 1)
        targets[k] = v + (v >= sources[k])
    return targets


def _sizes(vertices: int, degree: float) -> tuple[int, int]:
    checked(vertices)
    if not degree >= 0 or degree == float("inf"):
        raise InputError(f"degree {degree}: a number of edges a vertex, 0 or more")
    m = round(vertices * degree)
    if m > vertices * (vertices - 1) // 2:
        most = (vertices - 1) / 2
        raise InputError(f"{vertices} vertices cannot have degree {degree}", remedy=f"at most {most:g} fits")
    return vertices, m


def _block(items: int, workers: int) -> int:
    """The rows of one task. As early rows are longer than late ones, there are many more tasks than workers."""
    return max(1, -(-items // (workers * 16)))


def _rows_filled(n: int, m: int, seed: int, pool, workers: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """How many pairs each row (vertex in the order) draws, int32[n], how many edges it has, int64[n], and whether the
    pairs that are drawn are those that are no edges: if most pairs are edges, so that at most half of all draws are
    repeated.

    In each round as many pairs as are missing are drawn uniformly with repetition, until they are distinct; by symmetry
    every set of pairs is equally likely. Only the rows are drawn here; a column follows from row and draw number.
    """
    total = n * (n - 1) // 2
    if inverted := m > total - m:
        m = total - m
    draws, distinct = np.zeros(n, np.int32), np.zeros(n, np.int64)
    key = stream(seed, _ROWS)
    missing, number = m, _PAIRS
    while missing:
        counts = _histogram(n, missing, stream(seed, number), pool, workers)
        rows = np.flatnonzero(counts).astype(np.int32)
        draws += counts
        step = _block(rows.size, workers)
        parts = [rows[lo : lo + step] for lo in range(0, rows.size, step)]
        list(pool.map(partial(_recount, n, draws, distinct, key), parts))
        missing = m - int(distinct.sum())
        number += 1
    return draws, np.arange(n - 1, -1, -1) - distinct if inverted else distinct, inverted


def _histogram(n: int, m: int, key: np.uint64, pool, workers: int) -> np.ndarray:
    """The number of pairs in each row, int32[n], of m uniform pairs. The partial histograms of the threads together
    are never larger than the edges."""
    parts = int(np.clip(m // max(n, 1), 1, workers))
    bounds = [m * part // parts for part in range(parts + 1)]
    found = list(pool.map(lambda part: _rows(n, bounds[part], bounds[part + 1], key), range(parts)))
    for other in found[1:]:
        found[0] += other
    return found[0]


@njit(cache=True, nogil=True)
def _rows(n, lo, hi, key):
    counts = np.zeros(n, np.int32)
    for t in range(lo, hi):
        a = below(draw(key, 2 * t), n)
        b = below(draw(key, 2 * t + 1), n - 1)
        b += b >= a  # a uniform random pair of different vertices; the row is the lesser one
        counts[min(a, b)] += 1
    return counts


@njit(cache=True, inline="always")
def _column(row_key, draw_number, row, n):
    return row + 1 + below(draw(row_key, draw_number), n - 1 - row)


@njit(cache=True, inline="always")
def mark(bits, at):
    """Sets a bit of uint64[..]. Returns whether it was clear."""
    word, bit = at >> 6, np.uint64(1) << np.uint64(at & 63)
    fresh = (bits[word] & bit) == np.uint64(0)
    bits[word] |= bit
    return fresh


@njit(cache=True, inline="always")
def _distinct(n, row, drawn, bits, columns, key):
    """Stores the distinct columns of a row in `columns`, in the order drawn, and sets their bits. Returns how many."""
    row_key = mix64(key + np.uint64(row) * GAMMA)
    found = 0
    for t in range(drawn):
        column = _column(row_key, t, row, n)
        if mark(bits, column):
            columns[found] = column
            found += 1
    return found


@njit(cache=True, inline="always")
def _clear(bits, columns, found):
    for k in range(found):
        bits[columns[k] >> 6] = np.uint64(0)


@njit(cache=True, nogil=True)
def _recount(n, draws, distinct, key, rows):
    bits = np.zeros((n >> 6) + 1, np.uint64)
    columns = np.empty(n, np.int32)
    for k in range(rows.shape[0]):
        row = rows[k]
        found = _distinct(n, row, draws[row], bits, columns, key)
        distinct[row] = found
        _clear(bits, columns, found)


@njit(cache=True, nogil=True)
def _fill(n, lo, hi, draws, inverted, order, offsets, sources, targets, key):
    bits = np.zeros((n >> 6) + 1, np.uint64)
    columns = np.empty(n, np.int32)
    for row in range(lo, hi):
        found = _distinct(n, row, draws[row], bits, columns, key)
        u = order[row]
        at = offsets[u]
        if inverted:
            for column in range(row + 1, n):
                if (bits[column >> 6] >> np.uint64(column & 63)) & np.uint64(1) == np.uint64(0):
                    targets[at] = order[column]
                    at += 1
        else:
            for k in range(found):
                targets[at] = order[columns[k]]
                at += 1
        sources[offsets[u] : at] = u
        _clear(bits, columns, found)
