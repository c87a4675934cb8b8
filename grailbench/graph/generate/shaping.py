"""Rearranging a matching: swaps of two edges that keep every degree, level and pair of levels.

Two things make a real citation graph or ontology far less reachable than a random one of the same degrees and levels:
its vertices know their heights (longest path to a sink) as well as their levels, and related vertices link to each
other. `settle_heights` swaps until edges lead to lesser heights; `draw_together` swaps edges whose ends lie far apart
and lets each vertex drift to where its neighbours lie, so that clusters form. Whole numbers throughout.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.graph.generate.hashing import below, draw, mix64, stream
from grailbench.graph.generate.matching import Matching, exchange, may_swap, partner

_BOUND, _HEIGHTS, _ROUNDS = 16, 17, 32  # streams of a seed; each round takes the next one
_TRIES = 400  # an edge, until its height fits
_SWAPS = 4  # an edge and round
_WINDOW = 4  # vertices to either side of where an edge should end


def settle_heights(made: Matching, step: int, share: int, seed: int) -> None:
    """Swap until `share` thousandths of the edges, chosen at random, lead from a height to a lesser one.

    `step` is the profile's height_step: heights divided by more than one may stay equal.
    """
    table = _table(made.edges)
    bound = _bound(made.edges, share, stream(seed, _BOUND))
    _settle(
        made.vertices,
        made.source,
        made.target,
        made.mate,
        made.back,
        made.level,
        made.height - (step == 1),
        made.height,
        bound,
        made.first_in,
        made.first_out[made.bounds],
        made.first_in[made.bounds],
        table,
        stream(seed, _HEIGHTS),
    )


def draw_together(made: Matching, step: int, share: int, rounds: int, seed: int) -> None:
    """Rounds of swaps that shorten edges, each followed by a drift of every vertex towards its neighbours.

    No edge that is bound to lead to a lesser height (see `settle_heights`) is made to lead further up.
    """
    table = _table(made.edges)
    bound = _bound(made.edges, share, stream(seed, _BOUND))
    n = made.vertices
    for number in range(rounds):
        in_row = np.lexsort((made.place, made.level))
        _shorten(
            n,
            made.source,
            made.target,
            made.mate,
            made.back,
            made.level,
            made.height - (step == 1),
            made.height,
            bound,
            made.first_out,
            made.first_in,
            made.bounds,
            in_row,
            made.place,
            table,
            stream(seed, _ROUNDS + number),
        )
        drifted = _drift(made.source, made.target, made.mate, made.first_out, made.first_in, made.place)
        by_place = np.empty(n, np.int64)
        by_place[made.place] = np.arange(n)
        made.place[by_place[np.argsort(drifted[by_place], kind="stable")]] = np.arange(n)


def _table(edges: int) -> np.ndarray:
    return np.empty(1 << max(4, (4 * edges).bit_length()), np.int64)


@njit(cache=True)
def _bound(m, share, key):
    out = np.empty(m, np.bool_)
    for s in range(m):
        out[s] = below(draw(key, s), 1000) < share
    return out


# ---------------------------------------------------------------------------------------- a set of edges


@njit(cache=True, inline="always")
def _slot(table, key):
    """Where `key` is in the open-addressed table, or the free place (-1) where it would go; -2 marks a removed one."""
    mask = table.shape[0] - 1
    at = np.int64(mix64(np.uint64(key)) & np.uint64(mask))
    while table[at] != -1 and table[at] != key:
        at = (at + 1) & mask
    return at


@njit(cache=True, inline="always")
def _has(table, n, u, v):
    key = np.int64(u) * n + v
    return table[_slot(table, key)] == key


@njit(cache=True)
def _refill(table, n, source, target, mate):
    table[:] = -1
    for e in range(source.shape[0]):
        key = np.int64(source[e]) * n + target[mate[e]]
        table[_slot(table, key)] = key


@njit(cache=True, inline="always")
def _swap(e, f, n, source, target, mate, back, table):
    for g in (e, f):
        table[_slot(table, np.int64(source[g]) * n + target[mate[g]])] = -2
    exchange(e, f, mate, back)
    for g in (e, f):
        key = np.int64(source[g]) * n + target[mate[g]]
        table[_slot(table, key)] = key


@njit(cache=True, inline="always")
def _excess(u, v, stub, allowed, height, bound):
    """How far edge u -> v, ending in in-stub `stub`, leads above the height it may lead to."""
    return max(0, height[v] - allowed[u]) if bound[stub] else 0


# ---------------------------------------------------------------------------------------- the two kinds of swaps


@njit(cache=True, nogil=True)
def _settle(n, source, target, mate, back, level, allowed, height, bound, first_in, level_out, level_in, table, key):
    m = source.shape[0]
    _refill(table, n, source, target, mate)
    removed, count = 0, 0
    for _ in range(_TRIES):
        left = 0
        for e in range(m):
            a, i = source[e], mate[e]
            b = target[i]
            now = _excess(a, b, i, allowed, height, bound)
            if now == 0:
                continue
            left += 1
            f = partner(e, draw(key, count), source, target, mate, back, level, level_out, level_in)
            count += 1
            c, j = source[f], mate[f]
            d = target[j]
            if not may_swap(a, b, i, c, d, j, level, first_in):
                continue
            now += _excess(c, d, j, allowed, height, bound)
            then = _excess(a, d, j, allowed, height, bound) + _excess(c, b, i, allowed, height, bound)
            if then > now or _has(table, n, a, d) or _has(table, n, c, b):
                continue
            _swap(e, f, n, source, target, mate, back, table)
            removed += 2
            if removed > table.shape[0] // 8:
                _refill(table, n, source, target, mate)
                removed = 0
        if left == 0:
            break


@njit(cache=True, inline="always")
def _near(wanted, lo, hi, in_row, place, h):
    """A vertex of in_row[lo:hi], which ascends by place, within the window around place `wanted`."""
    start, end = lo, hi
    while start < end:
        middle = (start + end) >> 1
        if place[in_row[middle]] < wanted:
            start = middle + 1
        else:
            end = middle
    at = start - _WINDOW + below(h, 2 * _WINDOW + 1)
    return in_row[min(max(at, lo), hi - 1)]


@njit(cache=True, nogil=True)
def _shorten(
    n,
    source,
    target,
    mate,
    back,
    level,
    allowed,
    height,
    bound,
    first_out,
    first_in,
    bounds,
    in_row,
    place,
    table,
    key,
):
    m = source.shape[0]
    _refill(table, n, source, target, mate)
    removed = 0
    for t in range(_SWAPS * m):
        h = draw(key, t)
        e = below(h, m)
        a, i = source[e], mate[e]
        b = target[i]
        h = mix64(h)
        g = mix64(h)
        if h & np.uint64(1):  # a new child for a, near a
            d = _near(place[a], bounds[level[b]], bounds[level[b] + 1], in_row, place, g)
            f = np.int64(back[first_in[d] + below(mix64(g), first_in[d + 1] - first_in[d])])
            c = source[f]
        else:  # a new parent for b, near b
            c = np.int32(_near(place[b], bounds[level[a]], bounds[level[a] + 1], in_row, place, g))
            if first_out[c] == first_out[c + 1]:
                continue
            f = first_out[c] + below(mix64(g), first_out[c + 1] - first_out[c])
        j = mate[f]
        d = target[j]
        if not may_swap(a, b, i, c, d, j, level, first_in):
            continue
        if abs(place[a] - place[d]) + abs(place[c] - place[b]) >= abs(place[a] - place[b]) + abs(place[c] - place[d]):
            continue
        now = _excess(a, b, i, allowed, height, bound) + _excess(c, d, j, allowed, height, bound)
        then = _excess(a, d, j, allowed, height, bound) + _excess(c, b, i, allowed, height, bound)
        if then > now or _has(table, n, a, d) or _has(table, n, c, b):
            continue
        _swap(e, f, n, source, target, mate, back, table)
        removed += 2
        if removed > table.shape[0] // 8:
            _refill(table, n, source, target, mate)
            removed = 0


@njit(cache=True, nogil=True)
def _drift(source, target, mate, first_out, first_in, place):
    """int64[n]: sixteen times the mean of each vertex's place and the mean place of its neighbours, rounded down."""
    n = place.shape[0]
    total = np.zeros(n, np.int64)
    for e in range(source.shape[0]):
        u, v = source[e], target[mate[e]]
        total[u] += place[v]
        total[v] += place[u]
    for v in range(n):
        degree = first_out[v + 1] - first_out[v] + first_in[v + 1] - first_in[v]
        total[v] = (place[v] * degree + total[v]) * 8 // degree if degree else place[v] * 16
    return total
