"""Generates a look-alike from a profile: matches half-edges, rearranges the edges by swaps, and numbers the vertices.

Matching. Every vertex gets stubs (half-edges) by its degrees, and the stubs are matched. This is the configuration
model (Bollobas 1980) extended by levels. The stubs of each level are assigned to bundles, one for each pair of levels,
with the sizes of the profile. The first parent of every vertex is in the level just above, which fixes the level of the
vertex. Within a bundle, out-stubs and in-stubs are matched in the order of the places of their vertices plus random
noise; the profile's width is the amplitude of the noise. An edge is an out-stub and its mate, an in-stub. Both kinds
are sorted by vertex and so form a CSR; the first in-stub of a vertex fixes its level.

Shaping. Swaps of two edges keep all degrees, levels and edges between levels. Real citation graphs and ontologies have
far lower positive rates than random graphs with the same degrees and levels, for two reasons: their edges lead to lower
heights (longest path to a sink) and not only to deeper levels, and related vertices have edges to each other.
So edges are swapped until they lead to lower heights, and then to make them shorter, while each vertex moves towards
its neighbours, so that clusters form. All arithmetic is on integers.
"""

from collections import namedtuple

import numpy as np

from grailbench.graph.csr import VERTEX, Graph
from grailbench.graph.generate.profiles import Profile
from grailbench.graph.hashing import below, draw, mix64, permutation, shuffle, stream
from grailbench.util.compiled import njit

_REPEATS = 8  # random stream of a seed


def alike(profile: Profile, seed: int) -> Graph:
    """A random graph with exactly the profile's vertices, edges, levels, degrees and edges between levels.

    Ids follow the places of the vertices (see `Matching`): neighbours tend to have similar ids, as in real files, and
    an id does not depend on the level. Edges ascend by source and target; `profile.duplicates` of them are repeated.
    The result is a pure function of profile and seed.
    """
    knobs = profile.knobs
    made = match(profile, seed)
    if knobs.heights or knobs.rounds:
        _shape(made, profile, seed)
    n = made.place.shape[0]
    edges = made.place[made.source] * n + made.place[made.target[made.mate]]
    edges.sort()
    if profile.duplicates:
        key = stream(seed, _REPEATS)
        again = [below(np.uint64(draw(key, t)), edges.shape[0]) for t in range(profile.duplicates)]
        edges = np.sort(np.concatenate((edges, edges[again])))
    return Graph(n, (edges // n).astype(VERTEX), (edges % n).astype(VERTEX))


# ---------------------------------------------------------------------------------------- matching


_PLACES, _OUT, _IN, _OUT_NOISE, _IN_NOISE, _REPAIR = range(6)  # random streams of a seed
_ANYWHERE = 1_000_000  # the width (in millionths) with which places do not matter
_PASSES, _TRIES = 64, 1000


class Matching(namedtuple("Matching", "place height level bounds first_out first_in source target mate back")):
    """An unfinished look-alike of n vertices, m edges and l levels; vertices are numbered by level.

    place           int64[n]      a permutation of 0..n-1; the final ids
    height          int64[n]      the height that the profile states for the vertex's kind
    level           int32[n]      the level of each vertex
    bounds          int64[l + 1]  first vertex of each level
    first_out       int64[n + 1]  first out-stub of each vertex
    first_in        int64[n + 1]  first in-stub of each vertex
    source, target  int32[m]      vertex of each out-stub, and of each in-stub
    mate, back      int32[m]      in-stub of each out-stub, and out-stub of each in-stub
    """


def match(profile: Profile, seed: int) -> Matching:
    """Matches the stubs of a profile at random, without duplicate edges."""
    n, m, width = profile.vertices, profile.edges, profile.knobs.width
    ins, outs, height = _stubs_of(profile.kinds)
    first_out, first_in = (
        np.concatenate((np.zeros(1, np.int64), np.cumsum(row, dtype=np.int64))) for row in (outs, ins)
    )
    source, target = (np.repeat(np.arange(n, dtype=np.int32), row) for row in (outs, ins))
    bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(profile.levels)))
    key = stream(seed, _PLACES)
    place = permutation(n, key).astype(np.int64)
    if width < _ANYWHERE:  # the vertices of each kind are spread evenly over the whole range
        place[np.argsort(_spread_out(profile.kinds[2], key), kind="stable")] = np.arange(n)
    bundles = [
        _deal_out(profile.pairs, m, stream(seed, _OUT)),
        _deal_in(profile.pairs, bounds, first_in, stream(seed, _IN)),
    ]
    if width < _ANYWHERE:
        _deal_evenly(profile.pairs, source, bundles[0], place, np.zeros(m, np.bool_), stream(seed, _OUT))
        fixing = np.zeros(m, np.bool_)
        fixing[first_in[bounds[1] : -1]] = True
        _deal_evenly(profile.pairs, target, bundles[1], place, fixing, stream(seed, _IN))
    noises = (stream(seed, _OUT_NOISE), stream(seed, _IN_NOISE))
    ordered = [
        _in_order(vertex, bundle, place, width, noise, profile.pairs.size)
        for vertex, bundle, noise in zip((source, target), bundles, noises, strict=True)
    ]
    mate, back = np.empty(m, np.int32), np.empty(m, np.int32)
    mate[ordered[0]], back[ordered[1]] = ordered[1], ordered[0]
    level = np.repeat(np.arange(len(profile.levels), dtype=np.int32), profile.levels)
    made = Matching(place, height, level, bounds, first_out, first_in, source, target, mate, back)
    near = ordered[0] if width < _ANYWHERE else ordered[0][:0]
    for number in range(_PASSES):
        if _repair(made, near, stream(stream(seed, _REPAIR), number)) == 0:
            return made
    raise RuntimeError(f"{profile.name}: its degrees leave no way to draw every edge once")


@njit(cache=True)
def _stubs_of(kinds):
    """In-degree and out-degree (int32[n]) and height (int64[n]) of each vertex. If the degrees of a kind differ by one,
    the larger in-degrees go to its first vertices and the larger out-degrees to its last."""
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
def _spread_out(counts, key):
    """int64[sum of counts]: divides 0..2**62 into counts[k] equal parts for each group k, takes a random point in each
    part, and shuffles the points of each group."""
    out = np.empty(counts.sum(), np.int64)
    at = 0
    for k in range(counts.shape[0]):
        part = (np.int64(1) << 62) // counts[k]
        for s in range(counts[k]):
            out[at + s] = s * part + np.int64(draw(key, at + s) >> np.uint64(2)) % part
        shuffle(out[at : at + counts[k]], mix64(draw(key, at)))
        at += counts[k]
    return out


@njit(cache=True)
def _deal_out(pairs, m, key):
    """The bundle (source level x levels + target level) of each out-stub, int32[m]."""
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
    """The bundle of each in-stub, int32[m]; that of a vertex's first in-stub comes from the level just above."""
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


def _deal_evenly(pairs, vertex, bundle, place, fixing, key) -> None:
    """Assigns the bundles of each level anew, each spread evenly over the places; stubs in `fixing` keep theirs."""
    levels = len(pairs)
    free = np.flatnonzero(~fixing)
    side = bundle[free] // levels if not fixing.any() else bundle[free] % levels
    stubs = free[np.lexsort((place[vertex[free]], side))]
    dealt, counts = np.unique(bundle[free], return_counts=True)
    sides = dealt // levels if not fixing.any() else dealt % levels
    where = _spread_out(counts, key)
    bundle[stubs] = np.repeat(dealt, counts)[np.lexsort((where, np.repeat(sides, counts)))]


def _in_order(vertex, bundle, place, width: int, key: np.uint64, bundles: int) -> np.ndarray:
    """The stubs in the order of their bundles, then of the noisy places of their vertices, int32[m]."""
    stub_bits = max(1, vertex.shape[0].bit_length())
    place_bits = min(32, 64 - stub_bits - bundles.bit_length())
    keys = _sort_keys(vertex, bundle, place, width, place_bits, stub_bits, key)
    keys.sort()
    keys &= np.uint64((1 << stub_bits) - 1)
    return keys.astype(np.int32)


@njit(cache=True)
def _sort_keys(vertex, bundle, place, width, place_bits, stub_bits, key):
    """Sort keys, uint64[m], of bundle, noisy place and stub, in integers, so that they are the same on any machine."""
    m, n = vertex.shape[0], np.int64(place.shape[0])
    out = np.empty(m, np.uint64)
    whole = np.int64(1) << 32
    reach = np.int64(width) * whole // _ANYWHERE
    for s in range(m):
        noise = np.int64(draw(key, s) >> np.uint64(32))
        if width < _ANYWHERE:
            noise = place[vertex[s]] * whole // n + noise * reach // whole - reach // 2
            if noise < 0:
                noise = -noise
            if noise >= whole:
                noise = 2 * whole - 1 - noise
        at = np.uint64(noise >> (32 - place_bits))
        out[s] = (((np.uint64(bundle[s]) << np.uint64(place_bits)) | at) << np.uint64(stub_bits)) | np.uint64(s)
    return out


@njit(cache=True, inline="always")
def has_edge(made, u, v):
    """Whether the edge u -> v exists."""
    if made.first_out[u + 1] - made.first_out[u] <= made.first_in[v + 1] - made.first_in[v]:
        for e in range(made.first_out[u], made.first_out[u + 1]):
            if made.target[made.mate[e]] == v:
                return True
    else:
        for i in range(made.first_in[v], made.first_in[v + 1]):
            if made.source[made.back[i]] == u:
                return True
    return False


@njit(cache=True, inline="always")
def may_swap(made, e, f):
    """Whether the edges of out-stubs e and f may exchange their targets: the number of edges between two levels must
    not change, a vertex must keep the edge that fixes its level, and neither new edge may exist already."""
    a, c = made.source[e], made.source[f]
    i, j = made.mate[e], made.mate[f]
    b, d = made.target[i], made.target[j]
    if a == c or b == d:
        return False
    if made.level[a] != made.level[c] and (
        made.level[b] != made.level[d] or i == made.first_in[b] or j == made.first_in[d]
    ):
        return False
    return not has_edge(made, a, d) and not has_edge(made, c, b)


@njit(cache=True, inline="always")
def exchange(made, e, f):
    """Exchanges the targets of the edges of out-stubs e and f."""
    i, j = made.mate[e], made.mate[f]
    made.mate[e], made.mate[f] = j, i
    made.back[j], made.back[i] = e, f


@njit(cache=True, inline="always")
def partner(made, e, h):
    """The out-stub of a random edge that starts at the same level as e, or ends at the same level; h is random."""
    g = mix64(h)
    if h & np.uint64(1):
        at = made.level[made.source[e]]
        lo, hi = made.first_out[made.bounds[at]], made.first_out[made.bounds[at + 1]]
        return lo + below(g, hi - lo)
    at = made.level[made.target[made.mate[e]]]
    lo, hi = made.first_in[made.bounds[at]], made.first_in[made.bounds[at + 1]]
    return np.int64(made.back[lo + below(g, hi - lo)])


@njit(cache=True)
def _repair(made, near, key):
    """Swaps the targets of duplicate edges with those of other edges. Returns how many duplicates are left.

    Of several equal edges, one stays as it is: that which fixes its target's level, if there is one. near: the
    out-stubs by bundle and place, int32[m], if edges should be swapped with near ones first (a few distant swaps would
    be shortcuts, with which the graph becomes a small world), else empty.
    """
    repeated = _repeated(made)
    rank = np.empty(near.shape[0], np.int32)
    for at in range(near.shape[0]):
        rank[near[at]] = at
    left, count = 0, 0
    for e in np.flatnonzero(repeated):
        left += 1
        for attempt in range(_TRIES):
            h = draw(key, count)
            count += 1
            if near.shape[0] and attempt < _TRIES // 2:
                reach = 4 + attempt
                at = rank[e] - reach + below(h, 2 * reach + 1)
                f = np.int64(near[min(max(at, 0), near.shape[0] - 1)])
            else:
                f = partner(made, e, h)
            if not repeated[f] and may_swap(made, e, f):
                exchange(made, e, f)
                repeated[e] = False
                left -= 1
                break
    return left


@njit(cache=True)
def _repeated(made):
    """Whether the edge of each out-stub duplicates another one that stays, bool[m]."""
    n = made.place.shape[0]
    seen = np.full(n, -1, np.int32)
    repeated = np.zeros(made.source.shape[0], np.bool_)
    for u in range(n):
        row = range(made.first_out[u], made.first_out[u + 1])
        for e in row:
            if made.mate[e] == made.first_in[made.target[made.mate[e]]]:
                seen[made.target[made.mate[e]]] = u
        for e in row:
            v = made.target[made.mate[e]]
            if made.mate[e] != made.first_in[v]:
                repeated[e] = seen[v] == u
                seen[v] = u
    return repeated


# ---------------------------------------------------------------------------------------- shaping


_BOUND, _HEIGHTS, _ROUNDS = 16, 17, 32  # random streams of a seed; each round takes the next one
_PASSES_OVER = 400  # passes over all edges until their heights fit
_SWAPS = 4  # attempted swaps for each edge and round
_WINDOW = 4  # vertices considered on either side of the wanted place


def _shape(made: Matching, profile: Profile, seed: int) -> None:
    """Swaps edges until a share of them, chosen at random, lead to a lower height; then alternates swaps that shorten
    edges, but give none of these a worse height, with moves of every vertex towards its neighbours."""
    knobs, n, strict = profile.knobs, made.place.shape[0], int(profile.height_step == 1)  # divided heights may be equal
    bound = _bound(made.source.shape[0], knobs.heights, stream(seed, _BOUND))
    if knobs.heights:
        _settle(made, bound, strict, stream(seed, _HEIGHTS))
    for number in range(knobs.rounds):
        in_row = np.lexsort((made.place, made.level))
        _shorten(made, bound, strict, in_row, stream(seed, _ROUNDS + number))
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
    for _ in range(_PASSES_OVER):
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
