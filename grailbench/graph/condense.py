"""Condenses a graph into the DAG that indexes are built from.

Edges that come grouped by source are sorted row by row. Others are first dealt into ranges of sources, so that what
works on a range stays in the cache. Kahn's algorithm gives the levels and shows whether the graph is acyclic; strong
components are computed only if it is not, of what it leaves. Duplicate edges and self-loops are dropped, and a
super-root with an edge to every root is added, as in the thesis (section 2.4.1).
"""

from functools import partial

import numpy as np

from grailbench.graph import kahn
from grailbench.graph.csr import VERTEX, Dag, Graph
from grailbench.graph.instructions import prefetch
from grailbench.graph.threads import ThreadPool
from grailbench.util.compiled import njit

_EDGES_PER_THREAD = 1 << 18  #: at least this many edges justify one more thread
_LEAST = 1 << 16  #: a thread gets at least this many edges
_RANGE = 1 << 15  #: edges of a range of sources, about: 256 KiB
_RANGES = 1 << 10  #: at most so many ranges: dealing keeps a line of each in the first cache
_SMALL = 1 << 18  #: fewer edges that are not grouped stay in the cache without ranges
_DIGIT = 11  #: bits by which edges are sorted at a time, at most


def condense(graph: Graph, threads: int = 1) -> Dag:
    """Condenses a graph; see `Dag` for the result, whose CSR of parents is not computed yet.

    `threads` is the most that work on it: each has at least 262,144 edges, and strong components are one thread's. The
    result does not depend on it.
    """
    with ThreadPool(_useful(threads, graph)) as pool:
        n, sources, targets = graph.vertices, graph.sources, graph.targets
        offsets, children, loops = sorted_rows(n, sources, targets, pool)
        component = np.arange(n, dtype=VERTEX)
        covered, *arrays = _rooted(offsets, children, pool)
        if not covered:
            n, component = strong_components(offsets[:-1], children[: offsets[-2]], arrays[2])
            sources, targets = _between(component, sources, targets, pool)
            offsets, children, _ = sorted_rows(n, sources, targets, pool)
            loops = graph.edges - sources.shape[0]
            covered, *arrays = _rooted(offsets, children, pool)
            if not covered:
                raise RuntimeError("the condensation that was made here has a cycle")
    kept = int(offsets[-2])
    return Dag(*arrays, component, int(graph.edges - loops - kept), int(loops))


def _useful(threads: int, graph: Graph) -> int:
    return max(1, min(threads, graph.edges // _EDGES_PER_THREAD))


def rooted(offsets: np.ndarray, inner: np.ndarray) -> Dag:
    """The `Dag` of a CSR (int64[n + 1], int32[m]) that is acyclic, with strictly ascending rows; ids are kept."""
    n, m = offsets.shape[0] - 1, inner.shape[0]
    wider, children = np.empty(n + 2, np.int64), np.empty(n + m, VERTEX)
    wider[:-1], children[:m] = offsets, inner
    with ThreadPool(1) as pool:
        covered, *arrays = _rooted(wider, children, pool)
    if not covered:
        raise ValueError("the rows have a cycle")
    return Dag(*arrays, np.arange(n, dtype=VERTEX))


def simple_rows(graph: Graph, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The CSR (int64[n + 1], int32[k]) of a raw graph without duplicates and self-loops; rows ascend."""
    with ThreadPool(_useful(threads, graph)) as pool:
        offsets, children, _ = sorted_rows(graph.vertices, graph.sources, graph.targets, pool)
    return offsets[:-1], children[: offsets[-2]]


def _between(component: np.ndarray, sources: np.ndarray, targets: np.ndarray, pool: ThreadPool):
    """The components at both ends of each edge, of edges between different ones: two int32[k]."""
    found = np.empty((2, sources.shape[0]), VERTEX)
    cuts = pool.cuts(sources.shape[0], _EDGES_PER_THREAD)
    ends = pool.each(partial(find_between, component, sources, targets, *found), cuts[:-1], cuts[1:])
    return [np.concatenate([side[lo:end] for lo, end in zip(cuts, ends, strict=False)]) for side in found]


@njit(cache=True, nogil=True)
def find_between(component, sources, targets, found_sources, found_targets, lo, hi):
    """Writes the components at both ends of the edges lo to hi - 1 that lead from one to another, from lo on; returns
    where they end."""
    at = lo
    for k in range(lo, hi):
        x, y = component[sources[k]], component[targets[k]]
        found_sources[at], found_targets[at] = x, y
        at += x != y
    return at


def load_kernels() -> None:
    """Compiles or loads every kernel of condensing, so that no later measurement includes that time."""
    kahn.load_kernels()
    sources, targets = np.array([0, 1, 1], VERTEX), np.array([1, 2, 0], VERTEX)
    with ThreadPool(1) as pool:
        _scattered(3, targets, sources, np.empty(5, np.int64), pool)
    for ends in ((sources, targets), (targets, sources)):
        condense(Graph(3, *ends))


def _rooted(offsets, children, pool):
    """Adds a super-root to a CSR that has room for it (`sorted_rows`), and walks it.

    Returns (covered, offsets int64[n + 2], children int32[m'], levels int32[n + 1], order int32[n + 1]). If `covered`
    is False, the graph has a cycle, the CSR is as it was, and levels and order are as of `kahn`.
    """
    n, m = offsets.shape[0] - 2, int(offsets[-2])
    found, levels, order = kahn.kahn(n, offsets[:-1], children[:m], pool)
    if found < n + 1:
        return False, offsets, children, levels, order
    roots = int(np.count_nonzero(levels == 1))
    offsets[n + 1] = m + roots
    children[m : m + roots] = order[1 : 1 + roots]
    children.resize(m + roots, refcheck=False)
    return True, offsets, children, levels, order


# ---------------------------------------------------------------------------------------- simple rows


def sorted_rows(
    n: int, sources: np.ndarray, targets: np.ndarray, pool: ThreadPool
) -> tuple[np.ndarray, np.ndarray, int]:
    """The CSR of the edges with strictly ascending rows, with room for a super-root, and the number of self-loops.

    offsets: int64[n + 2], the last one not set; children: int32[k + n], of which k = offsets[n] are set.
    """
    m = sources.shape[0]
    offsets = np.empty(n + 2, np.int64)
    cuts = pool.cuts(m, _LEAST)
    seen = pool.each(partial(_read_grouped, sources, targets, offsets, n), cuts[:-1], cuts[1:])
    grouped, ascending, loops = (np.array(column) for column in zip(*seen, strict=True))
    children = np.empty(m + n, np.int32)
    if grouped.all() and ascending.all() and not loops.any():
        pool.each(lambda lo, hi: np.copyto(children[lo:hi], targets[lo:hi]), cuts[:-1], cuts[1:])
        return offsets, children, 0
    if m < _SMALL:
        return offsets, children, _sort_and_drop(n, sources, targets, offsets, children)
    return _scattered(n, sources, targets, offsets, pool)


def _scattered(n, sources, targets, offsets, pool):
    """`sorted_rows` of edges in any order."""
    m = sources.shape[0]
    ranges = min(_RANGES, -(-m // _RANGE))
    shift = max(0, (n - 1).bit_length() - (ranges - 1).bit_length())
    ranges = ((n - 1) >> shift) + 1
    cuts = pool.cuts(m, _LEAST)
    counts = np.zeros((len(cuts) - 1, ranges), np.int64)
    pool.each(partial(_count_ranges, sources, shift), counts, cuts[:-1], cuts[1:])
    starts = np.concatenate([[0], np.cumsum(counts.sum(0))])
    places = starts[:-1] + np.cumsum(counts, 0) - counts
    pairs = np.empty(m, np.int64)
    loops = sum(pool.each(partial(_deal_pairs, sources, targets, shift, pairs), places, cuts[:-1], cuts[1:]))
    kept = np.empty(ranges, np.int64)
    rows = pairs.view(np.int32)
    ends = pool.even_cuts(starts[1:], _LEAST)
    pool.each(partial(_sort_ranges, pairs, rows, starts, shift, n, offsets, kept), ends[:-1], ends[1:])
    bases = np.concatenate([[0], np.cumsum(kept)])
    children = np.empty(bases[-1] + n, np.int32)
    pool.each(partial(_place_ranges, rows, offsets, children, starts, bases, shift, n), ends[:-1], ends[1:])
    return offsets, children, loops


@njit(cache=True, nogil=True)
def _read_grouped(sources, targets, offsets, n, lo, hi):
    """Returns whether the edges lo to hi - 1 are grouped by ascending source, whether each row strictly ascends, and
    the number of self-loops. If they are grouped, sets the offsets of the rows that begin there, and at the last edge
    those of the vertices after it. Edges that are not grouped are not read further."""
    ascending, loops = True, 0
    u, v = np.int32(-1), np.int32(-1)
    if lo > 0:
        u, v = sources[lo - 1], targets[lo - 1]
    for k in range(lo, hi):
        source, target = sources[k], targets[k]
        if source != u:
            if source < u:
                return False, False, 0
            for w in range(u + 1, source + 1):
                offsets[w] = k
            u = source
        else:
            ascending &= target > v
        v = target
        loops += source == target
    if hi == sources.shape[0]:
        for w in range(u + 1, n + 1):
            offsets[w] = hi
    return True, ascending, loops


@njit(cache=True, nogil=True)
def _count_ranges(sources, shift, counts, lo, hi):
    for k in range(lo, hi):
        counts[sources[k] >> shift] += 1


@njit(cache=True, nogil=True)
def _deal_pairs(sources, targets, shift, pairs, at, lo, hi):
    """Writes source and target of the edges lo to hi - 1 to the next place of each range; returns the self-loops."""
    loops = 0
    for k in range(lo, hi):
        u, v = sources[k], targets[k]
        r = u >> shift
        pairs[at[r]] = (np.int64(u) << 32) | v
        at[r] += 1
        loops += u == v
    return loops


@njit(cache=True, nogil=True)
def _sort_ranges(pairs, rows, starts, shift, n, offsets, kept, begin, end):
    """Sorts the pairs of the ranges begin to end - 1, and puts what remains without duplicates and self-loops where
    the range begins in `rows`, which is the same memory. offsets[u + 1] becomes the number of edges of row u that
    remain, kept[r] that of range r."""
    longest, bits = np.int64(0), 1
    for r in range(begin, end):
        longest = max(longest, starts[r + 1] - starts[r])
    while (n - 1) >> bits > 0:
        bits += 1
    passes = -(-bits // _DIGIT)
    digit = -(-bits // passes)
    spare, found = np.empty(longest, np.int64), np.empty(longest, np.int32)
    places, at = np.empty(1 << digit, np.int32), np.empty((1 << shift) + 1, np.int64)
    for r in range(begin, end):
        size, base = starts[r + 1] - starts[r], np.int64(r) << shift
        width = min(n - base, 1 << shift)
        edges, other = pairs[starts[r] : starts[r + 1]], spare[:size]
        for digits in range(passes):
            _deal_digit(edges, other, places, digits * digit)
            edges, other = other, edges
        at[: width + 1] = 0
        for k in range(size):
            at[(edges[k] >> 32) - base + 1] += 1
        for i in range(width):
            at[i + 1] += at[i]
        for k in range(size):
            i = (edges[k] >> 32) - base
            found[at[i]] = edges[k] & 0xFFFFFFFF
            at[i] += 1
        # Filling moved each row's start to its end, which is the next row's start.
        k, place = np.int64(0), 2 * starts[r]
        for i in range(width):
            first, last = place, np.int32(-1)
            while k < at[i]:
                v = found[k]
                rows[place] = v
                place += (v != last) & (v != base + i)
                last = v
                k += 1
            offsets[base + i + 1] = place - first
        kept[r] = place - 2 * starts[r]


@njit(cache=True, nogil=True)
def _deal_digit(edges, other, places, shift):
    """Puts edges (int64[k]) into the order of one digit, in `other`; what is equal stays in order."""
    places[:] = 0
    mask = places.shape[0] - 1
    for k in range(edges.shape[0]):
        places[(edges[k] >> shift) & mask] += 1
    total = np.int32(0)
    for i in range(places.shape[0]):
        total, places[i] = total + places[i], total
    for k in range(edges.shape[0]):
        i = (edges[k] >> shift) & mask
        other[places[i]] = edges[k]
        places[i] += 1


@njit(cache=True, nogil=True)
def _place_ranges(rows, offsets, children, starts, bases, shift, n, begin, end):
    for r in range(begin, end):
        children[bases[r] : bases[r + 1]] = rows[2 * starts[r] : 2 * starts[r] + bases[r + 1] - bases[r]]
        at = bases[r]
        for u in range(r << shift, min(n, (r + 1) << shift)):
            at += offsets[u + 1]
            offsets[u + 1] = at
    if begin == 0:
        offsets[0] = 0


@njit(cache=True, nogil=True)
def _sort_and_drop(n, sources, targets, offsets, rows):
    # Two bucket sorts, by target and then by source, give ascending rows in O(n + m), with duplicates next to each
    # other.
    m = sources.shape[0]
    loops = 0
    at = np.zeros(n + 1, np.int64)
    offsets[:] = 0
    for k in range(m):
        at[targets[k] + 1] += 1
        offsets[sources[k] + 1] += 1
        loops += sources[k] == targets[k]
    for v in range(n):
        at[v + 1] += at[v]
        offsets[v + 1] += offsets[v]
    by_target = np.empty(m, np.int32)
    for k in range(m):
        v = targets[k]
        by_target[at[v]] = sources[k]
        at[v] += 1
    filled = offsets[:n].copy()
    k = np.int64(0)
    for v in range(n):
        while k < at[v]:
            u = by_target[k]
            k += 1
            if u != v and (filled[u] == offsets[u] or rows[filled[u] - 1] != v):
                rows[filled[u]] = v
                filled[u] += 1
    kept = np.int64(0)
    for u in range(n):
        first, offsets[u] = offsets[u], kept
        for j in range(first, filled[u]):
            rows[kept] = rows[j]
            kept += 1
    offsets[n] = kept
    return loops


# ---------------------------------------------------------------------------------------- strong components, by Tarjan


_FEW = 16  #: children of a vertex that are asked for when it is entered
_DONE = np.iinfo(np.int32).max


def strong_components(offsets: np.ndarray, children: np.ndarray, levels: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strong components of a CSR (int64[n + 1], int32[m]), and the component of each vertex (int32[n]),
    numbered by least vertex. levels: as of `kahn`; a vertex that it took is a component, and is not searched from."""
    components, found = _ended(offsets, children, levels)
    _renumber_by_first(found, components)
    return components, found


def ordered_components(offsets: np.ndarray, children: np.ndarray) -> tuple[int, np.ndarray]:
    """The number of strong components of a CSR (int64[n + 1], int32[m]), and the component of each vertex (int32[n]),
    numbered in topological order: every edge stays in its component or leads to a later one."""
    components, found = _ended(offsets, children, np.full(offsets.shape[0] - 1, -1, np.int32))
    return components, np.int32(components - 1) - found


def _ended(offsets, children, levels):
    """The number of components, and the component of each vertex (int32[n]), numbered as they end."""
    n = offsets.shape[0] - 1
    least, found = np.zeros(n, np.int32), np.empty(n, np.int32)
    undecided, path, numbers = np.empty((3, n), np.int32)
    return _tarjan(offsets, children, levels, least, found, undecided, path, numbers, np.empty(n, np.int64)), found


@njit(cache=True, nogil=True)
def _tarjan(offsets, children, levels, least, found, undecided, path, numbers, places):
    """Sets the component of each vertex, numbered as they end, and returns how many there are.

    least[v]: 0 before v is entered, then the least number of a vertex on the path that is known to be reached from v,
    and _DONE when its component has ended. The path has a vertex, the number it got and its next edge at each depth.
    """
    components, entered, left = 0, np.int32(0), 0
    for root in range(least.shape[0]):
        if levels[root] >= 0:
            least[root], found[root] = _DONE, components
            components += 1
        if least[root] != 0:
            continue
        depth, path[0], new = 0, root, True
        while depth >= 0:
            u = path[depth]
            if new:
                entered += 1
                least[u] = numbers[depth] = entered
                undecided[left] = u
                left += 1
                places[depth] = offsets[u]
                for k in range(offsets[u], min(offsets[u + 1], offsets[u] + _FEW)):
                    prefetch(least, children[k])
                    prefetch(offsets, children[k])
            new, lowest, k = False, least[u], places[depth]
            while k < offsets[u + 1]:
                v = children[k]
                if least[v] == 0:
                    new = True
                    break
                lowest = min(lowest, least[v])
                k += 1
            least[u] = lowest
            if new:
                places[depth] = k  # the edge is looked at again when the path is back
                depth += 1
                path[depth] = children[k]
                continue
            if lowest == numbers[depth]:
                v = np.int32(-1)
                while v != u:
                    left -= 1
                    v = undecided[left]
                    least[v], found[v] = _DONE, components
                components += 1
            depth -= 1
    return components


@njit(cache=True)
def _renumber_by_first(found, components):
    number = np.full(components, -1, np.int32)
    known = 0
    for v in range(found.shape[0]):
        if number[found[v]] < 0:
            number[found[v]] = known
            known += 1
        found[v] = number[found[v]]
