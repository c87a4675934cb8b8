"""Rearranges a matching by swaps of two edges, which keep all degrees, levels and edges between levels.

Real citation graphs and ontologies have far lower positive rates than random graphs with the same degrees and levels,
for two reasons: their edges lead to lower heights (longest path to a sink) and not only to deeper levels, and related
vertices have edges to each other. `settle_heights` swaps edges until they lead to lower heights. `draw_together` swaps
edges to make them shorter and moves each vertex towards its neighbours, so that clusters form. All arithmetic is on
integers.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.generate.matching import Matching, exchange, may_swap, partner
from grailbench.graph.hashing import below, draw, mix64, stream

_BOUND, _HEIGHTS, _ROUNDS = 16, 17, 32  # random streams of a seed; each round takes the next one
_TRIES = 400  # passes over all edges until their heights fit
_SWAPS = 4  # attempted swaps for each edge and round
_WINDOW = 4  # vertices considered on either side of the wanted place


def settle_heights(made: Matching, step: int, share: int, seed: int) -> None:
    """Swaps edges until `share` thousandths of them, chosen at random, lead to a lower height.

    `step` is the profile's height_step; if it is greater than 1, the (divided) heights may also be equal.
    """
    bound = _bound(made.source.shape[0], share, stream(seed, _BOUND))
    _settle(made, bound, int(step == 1), stream(seed, _HEIGHTS))


def draw_together(made: Matching, step: int, share: int, rounds: int, seed: int) -> None:
    """Alternates swaps that shorten edges with moves of every vertex towards its neighbours.

    The edges that `settle_heights` chose never get a worse height.
    """
    bound = _bound(made.source.shape[0], share, stream(seed, _BOUND))
    n = made.place.shape[0]
    for number in range(rounds):
        in_row = np.lexsort((made.place, made.level))
        _shorten(made, bound, int(step == 1), in_row, stream(seed, _ROUNDS + number))
        by_place = np.empty(n, np.int64)
        by_place[made.place] = np.arange(n)
        drifted = _drift(made)
        made.place[by_place[np.argsort(drifted[by_place], kind="stable")]] = np.arange(n)


@njit(cache=True)
def _bound(m, share, key):
    """Whether the edge of each in-stub must lead to a lower height, bool[m]."""
    out = np.empty(m, np.bool_)
    for s in range(m):
        out[s] = below(draw(key, s), 1000) < share
    return out


@njit(cache=True, inline="always")
def _excess(made, bound, strict, e, i):
    """By how much an edge from out-stub e to in-stub i would exceed the greatest height that its target may have."""
    return max(0, made.height[made.target[i]] - made.height[made.source[e]] + strict) if bound[i] else 0


@njit(cache=True, inline="always")
def _rises(made, bound, strict, e, f):
    """The change of the total excess of two edges if they exchange their targets."""
    i, j = made.mate[e], made.mate[f]
    then = _excess(made, bound, strict, e, j) + _excess(made, bound, strict, f, i)
    return then - _excess(made, bound, strict, e, i) - _excess(made, bound, strict, f, j)


@njit(cache=True, nogil=True)
def _settle(made, bound, strict, key):
    count = 0
    for _ in range(_TRIES):
        left = 0
        for e in range(made.source.shape[0]):
            if _excess(made, bound, strict, e, made.mate[e]) > 0:
                left += 1
                f = partner(made, e, draw(key, count))
                count += 1
                if _rises(made, bound, strict, e, f) <= 0 and may_swap(made, e, f):
                    exchange(made, e, f)
        if left == 0:
            break


@njit(cache=True, inline="always")
def _near(made, in_row, wanted, level, h):
    """A random vertex of the level with a place near `wanted`. in_row: the vertices by level and place."""
    lo, hi = made.bounds[level], made.bounds[level + 1]
    start, end = lo, hi
    while start < end:
        middle = (start + end) >> 1
        if made.place[in_row[middle]] < wanted:
            start = middle + 1
        else:
            end = middle
    at = start - _WINDOW + below(h, 2 * _WINDOW + 1)
    return in_row[min(max(at, lo), hi - 1)]


@njit(cache=True, nogil=True)
def _shorten(made, bound, strict, in_row, key):
    m, place = made.source.shape[0], made.place
    for t in range(_SWAPS * m):
        h = draw(key, t)
        e = below(h, m)
        a, b = made.source[e], made.target[made.mate[e]]
        h = mix64(h)
        g = mix64(h)
        if h & np.uint64(1):  # a new child for a, near a
            d = _near(made, in_row, place[a], made.level[b], g)
            f = np.int64(made.back[made.first_in[d] + below(mix64(g), made.first_in[d + 1] - made.first_in[d])])
        else:  # a new parent for b, near b
            c = _near(made, in_row, place[b], made.level[a], g)
            stubs = made.first_out[c + 1] - made.first_out[c]
            if stubs == 0:
                continue
            f = made.first_out[c] + below(mix64(g), stubs)
        c, d = made.source[f], made.target[made.mate[f]]
        now = abs(place[a] - place[b]) + abs(place[c] - place[d])
        then = abs(place[a] - place[d]) + abs(place[c] - place[b])
        if then < now and _rises(made, bound, strict, e, f) <= 0 and may_swap(made, e, f):
            exchange(made, e, f)


@njit(cache=True, nogil=True)
def _drift(made):
    """int64[n]: 16 times the mean of each vertex's place and the mean place of its neighbours, rounded down."""
    n = made.place.shape[0]
    total = np.zeros(n, np.int64)
    for e in range(made.source.shape[0]):
        u, v = made.source[e], made.target[made.mate[e]]
        total[u] += made.place[v]
        total[v] += made.place[u]
    for v in range(n):
        degree = made.first_out[v + 1] - made.first_out[v] + made.first_in[v + 1] - made.first_in[v]
        total[v] = (made.place[v] * degree + total[v]) * 8 // degree if degree else made.place[v] * 16
    return total
