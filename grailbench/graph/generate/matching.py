"""From a profile to edges: every vertex has as many stubs of edges as its degree says, and stubs are matched.

This is the configuration model (Bollobas 1980) with levels: each level's stubs are dealt out to the pairs of levels
as the profile counts them, the first parent of every vertex comes from the level just above, which fixes the
vertex's own level, and within a pair of levels the two sides are matched in the order of ids that were moved by
noise of the profile's width. An edge is an out-stub `e` and its mate, an in-stub. Out-stubs lie in the order of
their vertices and so do in-stubs, so both give a CSR; the first in-stub of a vertex is the one that fixes its level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from grailbench.graph.generate.hashing import below, draw, mix64, permutation, shuffle, stream
from grailbench.graph.generate.profiles import Profile

_IDS, _OUT, _IN, _OUT_NOISE, _IN_NOISE, _REPAIR = range(6)  # streams of a seed
_MILLION = 1_000_000


@dataclass
class Matching:
    """A look-alike in the making. Vertices are numbered by level; m edges, l levels.

    place           int64[n]      where a vertex lies among all: its id in the end, 0..n-1, each once
    height          int64[n]      the height its kind has
    bounds          int64[l + 1]  first vertex of each level
    first_out       int64[n + 1]  first out-stub of each vertex
    first_in        int64[n + 1]  first in-stub of each vertex
    source, target  int32[m]      vertex of each out-stub, of each in-stub
    mate, back      int32[m]      in-stub of each out-stub, and the reverse
    level           int32[n]
    """

    place: np.ndarray
    height: np.ndarray
    bounds: np.ndarray
    first_out: np.ndarray
    first_in: np.ndarray
    source: np.ndarray
    target: np.ndarray
    mate: np.ndarray
    back: np.ndarray
    level: np.ndarray

    @property
    def vertices(self) -> int:
        return self.place.shape[0]

    @property
    def edges(self) -> int:
        return self.source.shape[0]


def match(profile: Profile, seed: int) -> Matching:
    """Match the stubs of a profile at random; no edge comes twice."""
    n, m = profile.vertices, profile.edges
    ins, outs, height = _stubs_of(profile.kinds)
    bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(profile.levels)))
    firsts = [np.concatenate((np.zeros(1, np.int64), np.cumsum(row, dtype=np.int64))) for row in (outs, ins)]
    source, target = (np.repeat(np.arange(n, dtype=np.int32), row) for row in (outs, ins))
    level = np.repeat(np.arange(len(profile.levels), dtype=np.int32), profile.levels)
    place = permutation(n, stream(seed, _IDS))
    sides = (
        (source, _deal_out(profile.pairs, m, stream(seed, _OUT)), stream(seed, _OUT_NOISE)),
        (target, _deal_in(profile.pairs, bounds, firsts[1], stream(seed, _IN)), stream(seed, _IN_NOISE)),
    )
    stub_bits = max(1, m.bit_length())
    place_bits = min(32, 64 - stub_bits - (len(level) and int(profile.pairs.size).bit_length()))
    ordered = []
    for vertex, bundle, key in sides:
        keys = _sort_keys(vertex, bundle, place, profile.knobs.width, place_bits, stub_bits, key)
        keys.sort()
        keys &= np.uint64((1 << stub_bits) - 1)
        ordered.append(keys.astype(np.int32))
    mate, back = np.empty(m, np.int32), np.empty(m, np.int32)
    mate[ordered[0]], back[ordered[1]] = ordered[1], ordered[0]
    made = Matching(place.astype(np.int64), height, bounds, *firsts, source, target, mate, back, level)
    _repair(made, seed)
    return made


@njit(cache=True)
def _stubs_of(kinds):
    """In-degree, out-degree (int32[n]) and height (int64[n]) of each vertex; of uneven shares the larger ones go to
    opposite ends of a kind, so that they do not meet in one vertex."""
    n = kinds[2].sum()
    ins, outs, height = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    v = 0
    for k in range(kinds.shape[1]):
        count = kinds[2, k]
        for s in range(count):
            ins[v] = kinds[3, k] // count + (s < kinds[3, k] % count)
            outs[v] = kinds[4, k] // count + (s >= count - kinds[4, k] % count)
            height[v] = kinds[1, k]
            v += 1
    return ins, outs, height


@njit(cache=True)
def _deal_out(pairs, m, key):
    """int32[m]: the bundle (source level x levels + target level) of each out-stub."""
    levels = pairs.shape[0]
    bundle = np.empty(m, np.int32)
    at = 0
    for i in range(levels):
        start = at
        for j in range(levels):
            bundle[at : at + pairs[i, j]] = i * levels + j
            at += pairs[i, j]
        shuffle(bundle[start:at], draw(key, i))
    return bundle


@njit(cache=True)
def _deal_in(pairs, bounds, first_in, key):
    """int32[m]: the bundle of each in-stub; the first of each vertex belongs to the level just above."""
    levels = pairs.shape[0]
    bundle = np.empty(first_in[-1], np.int32)
    for j in range(1, levels):
        vertices = bounds[j + 1] - bounds[j]
        others = np.empty(first_in[bounds[j + 1]] - first_in[bounds[j]] - vertices, np.int32)
        at = 0
        for i in range(j):
            left = pairs[i, j] - (vertices if i == j - 1 else 0)
            others[at : at + left] = i * levels + j
            at += left
        shuffle(others, draw(key, j))
        at = 0
        for v in range(bounds[j], bounds[j + 1]):
            bundle[first_in[v]] = (j - 1) * levels + j
            more = first_in[v + 1] - first_in[v] - 1
            bundle[first_in[v] + 1 : first_in[v + 1]] = others[at : at + more]
            at += more
    return bundle


@njit(cache=True)
def _sort_keys(vertex, bundle, place, width, place_bits, stub_bits, key):
    """uint64[m]: bundle, noisy place of the vertex, stub; in whole numbers, so that every machine agrees."""
    m, n = vertex.shape[0], np.int64(place.shape[0])
    out = np.empty(m, np.uint64)
    whole = np.int64(1) << 32
    reach = np.int64(width) * whole // _MILLION
    for s in range(m):
        noise = np.int64(draw(key, s) >> np.uint64(32))
        if width < _MILLION:
            noise = np.int64(place[vertex[s]]) * whole // n + noise * reach // whole - reach // 2
            if noise < 0:
                noise = -noise
            if noise >= whole:
                noise = 2 * whole - 1 - noise
        at = np.uint64(noise >> (32 - place_bits))
        out[s] = (((np.uint64(bundle[s]) << np.uint64(place_bits)) | at) << np.uint64(stub_bits)) | np.uint64(s)
    return out


# ---------------------------------------------------------------------------------------- no edge twice


def _repair(made: Matching, seed: int) -> None:
    """Swap the targets of repeated edges with those of others, keeping every degree and every pair of levels."""
    first_out, first_in = made.first_out, made.first_in
    if np.diff(first_out).max(initial=0) < 2 or np.diff(first_in).max(initial=0) < 2:
        return
    n = made.vertices
    for attempt in range(64):
        keys = np.sort(made.source.astype(np.int64) * n + made.target[made.mate])
        twice = np.unique(keys[1:][keys[1:] == keys[:-1]])
        if not twice.size:
            return
        key = stream(stream(seed, _REPAIR), attempt)
        _swap_repeated(
            n,
            made.source,
            made.target,
            made.mate,
            made.back,
            made.level,
            first_in,
            first_out[made.bounds],
            first_in[made.bounds],
            keys,
            twice,
            key,
        )
    raise RuntimeError("the profile's degrees leave no way to draw every edge once")


@njit(cache=True, inline="always")
def may_swap(a, b, i, c, d, j, level, first_in):
    """Whether a -> b (in-stub i) and c -> d (in-stub j) may become a -> d and c -> b without changing how many edges
    run between two levels, nor the edge that fixes a vertex's level."""
    if a == c or b == d:
        return False
    return level[a] == level[c] or (level[b] == level[d] and i != first_in[b] and j != first_in[d])


@njit(cache=True, inline="always")
def exchange(e, f, mate, back):
    """Exchange the in-stubs of two out-stubs."""
    mate[e], mate[f] = mate[f], mate[e]
    back[mate[e]], back[mate[f]] = e, f


@njit(cache=True, inline="always")
def partner(e, h, source, target, mate, back, level, level_out, level_in):
    """A random edge that starts at the level of edge e, or one that ends where e ends. Returns its out-stub."""
    g = mix64(h)
    if h & np.uint64(1):
        at = level[source[e]]
        return level_out[at] + below(g, level_out[at + 1] - level_out[at])
    at = level[target[mate[e]]]
    return np.int64(back[level_in[at] + below(g, level_in[at + 1] - level_in[at])])


@njit(cache=True, inline="always")
def _found(keys, key):
    lo, hi = 0, keys.shape[0]
    while lo < hi:
        middle = (lo + hi) >> 1
        if keys[middle] < key:
            lo = middle + 1
        else:
            hi = middle
    return lo if lo < keys.shape[0] and keys[lo] == key else -1


@njit(cache=True)
def _swap_repeated(n, source, target, mate, back, level, first_in, level_out, level_in, keys, twice, random):
    """One pass over the repeated edges. `keys`: all edges as source * n + target, sorted; `twice`: the repeated ones.

    Of each, one stays: the one that fixes its target's level if there is such, else the first.
    """
    claimed = np.full(twice.shape[0], -1, np.int64)
    repeated = np.empty(keys.shape[0], np.bool_)
    for fixing in (True, False):
        for e in range(source.shape[0]):
            if (mate[e] == first_in[target[mate[e]]]) == fixing:
                at = _found(twice, np.int64(source[e]) * n + target[mate[e]])
                repeated[e] = at >= 0 and claimed[at] >= 0
                if at >= 0 and claimed[at] < 0:
                    claimed[at] = e
    added = {np.int64(-1)}
    count = 0
    for e in range(source.shape[0]):
        tries = 1000 if repeated[e] else 0
        while tries:
            tries -= 1
            f = partner(e, draw(random, count), source, target, mate, back, level, level_out, level_in)
            count += 1
            a, b, c, d = np.int64(source[e]), target[mate[e]], np.int64(source[f]), target[mate[f]]
            if repeated[f] or not may_swap(a, b, mate[e], c, d, mate[f], level, first_in):
                continue
            one, other = a * n + d, c * n + b
            if _found(keys, one) >= 0 or _found(keys, other) >= 0 or one in added or other in added:
                continue
            added.add(one)
            added.add(other)
            exchange(e, f, mate, back)
            repeated[e] = False
            break
