"""Generates networks for traversals: of the sizes of Pathak et al., random geometric graphs, and road-like grids.

The slides of Pathak et al. state only the number of vertices and edges of each graph. Most can be recognised by these
(4,039 / 88,234 is the ego network of Facebook, 82,168 / 504,230 Slashdot, 1,694,616 / 11,094,209 Skitter's largest
component, 16.8 M / 132.6 M a random geometric graph of 2**24 points), and a model of the same kind with the same counts
is generated. The printed degree is 2 m / n, so edges are undirected: each is generated in both directions.

uniform    a uniform random set of m pairs
rmat       distinct pairs of Graph500's R-MAT (0.57, 0.19, 0.19, 0.05) with randomly permuted vertices
geometric  points in the unit square with edges within 0.55 sqrt(ln n / n) (DIMACS10's rgg_n_2_K_s0); ids follow places
roads      a square grid that keeps 70 % of its edges: thousands of levels, degree 2.8, one large component

Graphs are pure functions of name and seed. All arithmetic except for the radius is on integers.
"""

import math
from dataclasses import dataclass

import numpy as np

from grailbench.graph.csr import Graph
from grailbench.graph.hashing import below, draw, permutation, stream
from grailbench.graph.rows import bucketed
from grailbench.util.compiled import njit

_DRAWS, _NAMES, _X, _Y = 11, 12, 13, 14  # random streams of a seed
_SIDE = 31  # bits of a coordinate
_KEPT = 7  # tenths of the edges of a grid that are kept


@dataclass(frozen=True)
class Model:
    """The kind, vertices and undirected edges of a network; `edges` is None if their number depends on the seed."""

    kind: str
    vertices: int
    edges: int | None = None


NETWORKS = {
    "slides-bfs-1-like": Model("uniform", 2_700, 1_808_853),
    "slides-bfs-2-like": Model("uniform", 21_853, 12_323_648),
    "slides-bfs-3-like": Model("rmat", 82_168, 504_230),
    "slides-bfs-4-like": Model("rmat", 1_694_616, 11_094_209),
    "slides-bfs-5-like": Model("geometric", 16_777_214),
    "slides-apsp-1-like": Model("uniform", 2_700, 1_808_853),
    "slides-apsp-2-like": Model("rmat", 4_039, 88_234),
    "slides-apsp-3-like": Model("rmat", 4_412, 108_818),
    "slides-apsp-4-like": Model("rmat", 5_881, 21_492),
    "slides-apsp-5-like": Model("uniform", 7_500, 837_083),
    "geometric-20": Model("geometric", 2**20),
    "roads-1m-like": Model("roads", 1024**2),
    "roads-4m-like": Model("roads", 2048**2),
    "roads-16m-like": Model("roads", 4096**2),
}


def network(name: str, seed: int = 1) -> Graph:
    """Generates the network of that name, with both directions of every edge, grouped by source."""
    model = NETWORKS[name]
    if model.kind == "geometric":
        u, v = geometric(model.vertices, seed)
    elif model.kind == "roads":
        u, v = roads(math.isqrt(model.vertices), stream(seed, _DRAWS))
    else:
        make = uniform if model.kind == "uniform" else rmat
        u, v = make(model.vertices, model.edges, seed)
    n, both = model.vertices, np.stack((u, v), axis=1)
    offsets, targets = bucketed(n, both.ravel(), both[:, ::-1].ravel())
    return Graph(n, np.repeat(np.arange(n, dtype=np.int32), np.diff(offsets)), targets)


def uniform(n: int, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A uniform random set of m of the n (n - 1) / 2 pairs, as int32[m] twice, the lesser vertex first."""
    key = stream(seed, _DRAWS)
    return _distinct(n, m, lambda first, count: _uniform_pairs(n, first, count, key))


def rmat(n: int, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """m distinct pairs of R-MAT, as int32[m] twice. Pairs are drawn for the next power of two of vertices, and those
    with a vertex beyond n are dropped."""
    key, bits = stream(seed, _DRAWS), max(1, (n - 1).bit_length())
    u, v = _distinct(n, m, lambda first, count: _rmat_pairs(n, bits, first, count, key))
    names = permutation(n, stream(seed, _NAMES))
    return names[u], names[v]


def _distinct(n: int, m: int, pairs) -> tuple[np.ndarray, np.ndarray]:
    """The first m distinct pairs of a random sequence. `pairs(first, count)` returns its next items as int64[count]:
    u * n + v, or -1 for a pair that does not count."""
    found, first = np.empty(0, np.int64), 0
    while found.size < m:
        count = max(1024, int(1.2 * (m - found.size)))
        more = pairs(first, count)
        both = np.concatenate([found, more[more >= 0]])
        _, at = np.unique(both, return_index=True)
        found, first = both[np.sort(at)], first + count
    found = found[:m]
    return (found // n).astype(np.int32), (found % n).astype(np.int32)


@njit(cache=True, nogil=True)
def _uniform_pairs(n, first, count, key):
    codes = np.empty(count, np.int64)
    for i in range(count):
        a = below(draw(key, 2 * (first + i)), n)
        b = below(draw(key, 2 * (first + i) + 1), n - 1)
        b += b >= a
        codes[i] = min(a, b) * n + max(a, b)
    return codes


@njit(cache=True, nogil=True)
def _rmat_pairs(n, bits, first, count, key):
    codes = np.empty(count, np.int64)
    for i in range(count):
        a = b = np.int64(0)
        for bit in range(bits):
            drawn = below(draw(key, (first + i) * bits + bit), 100)
            a = 2 * a + (drawn >= 76)
            b = 2 * b + (57 <= drawn < 76 or drawn >= 95)
        codes[i] = min(a, b) * n + max(a, b) if a != b and a < n and b < n else -1
    return codes


def geometric(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of n points within 0.55 sqrt(ln n / n), as int32[m] twice; ids follow a grid of squares row by row."""
    radius = 0.55 * math.sqrt(math.log(n) / n) if n > 1 else 1.0
    reach = int(min(radius, 1.0) * 2**_SIDE)
    cells = max(1, 2**_SIDE // max(reach, 1))
    x, y = (_coordinates(n, stream(seed, axis)) for axis in (_X, _Y))
    width = -(-(2**_SIDE) // cells)
    cell = (y // width) * cells + x // width
    order = np.argsort(cell, kind="stable")
    x, y = x[order], y[order]
    starts = np.zeros(cells * cells + 1, np.int64)
    np.cumsum(np.bincount(cell, minlength=cells * cells), out=starts[1:])
    count = _near(x, y, starts, cells, reach, np.empty(0, np.int32), np.empty(0, np.int32))
    u, v = np.empty(count, np.int32), np.empty(count, np.int32)
    _near(x, y, starts, cells, reach, u, v)
    return u, v


@njit(cache=True, nogil=True)
def _coordinates(n, key):
    found = np.empty(n, np.int64)
    for i in range(n):
        found[i] = np.int64(draw(key, i) >> np.uint64(64 - _SIDE))
    return found


@njit(cache=True, nogil=True)
def _near(x, y, starts, cells, reach, u, v):
    """The number of pairs within `reach`, which are stored in u and v (int32[m]) unless those are empty."""
    found = 0
    for row in range(cells):
        for column in range(cells):
            here = row * cells + column
            for i in range(starts[here], starts[here + 1]):
                for down in range(2):
                    for right in range(-1 if down else 0, 2):
                        if row + down >= cells or column + right < 0 or column + right >= cells:
                            continue
                        there = here + down * cells + right
                        begin = i + 1 if there == here else starts[there]
                        for j in range(begin, starts[there + 1]):
                            dx, dy = x[i] - x[j], y[i] - y[j]
                            if dx * dx + dy * dy <= reach * reach:
                                if u.shape[0]:
                                    u[found], v[found] = i, j
                                found += 1
    return found


@njit(cache=True, nogil=True)
def roads(side, key):
    """The edges that are kept of a grid of side x side vertices, as int32[m] twice."""
    u, v = np.empty(2 * side * side, np.int32), np.empty(2 * side * side, np.int32)
    found = 0
    for row in range(side):
        for column in range(side):
            here = row * side + column
            for way in range(2):
                if (column if way == 0 else row) + 1 == side:
                    continue
                if below(draw(key, 2 * here + way), 10) < _KEPT:
                    u[found], v[found] = here, here + (1 if way == 0 else side)
                    found += 1
    return u[:found].copy(), v[:found].copy()
