"""CPU baselines on one core: a queue BFS, scipy's Dijkstra, and shortest paths by buckets; and BFS from many sources at
once, a bit each, in threads (MS-BFS, Then et al. 2014), pushed along edges where these are few, else pulled."""

from collections.abc import Iterator

import numpy as np
from numba import njit

from grailbench.graph.hashing import mixed
from grailbench.graph.instructions import lowest
from grailbench.graph.threads import ThreadPool
from grailbench.problems.contract import Params, Timer, register
from grailbench.problems.traversal.check import refuse_long, salt
from grailbench.problems.traversal.index import FAR, Found, Implementation, Network, Solver, Together
from grailbench.util import memory


@njit(cache=True, nogil=True)
def _bfs(offsets, targets, source, queue):
    """Returns the levels, int32[n]. offsets int64[n + 1], targets int32[m]; queue int32[n] is scratch."""
    levels = np.full(offsets.shape[0] - 1, FAR, np.int32)
    levels[source] = 0
    queue[0] = source
    first, last = 0, 1
    while first < last:
        u = queue[first]
        first += 1
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            if levels[v] == FAR:
                levels[v] = levels[u] + 1
                queue[last] = v
                last += 1
    return levels


@register
class QueueBfs(Solver, Implementation):
    """Breadth-first search with a queue, on one core.

    Takes the first vertex of the queue, and appends its unreached children, whose distance is one more.
    """

    name = "sequential"
    problem = "bfs"
    source = "textbook; the sequential baseline of Pathak et al."
    cost = "O(n + m) a search"

    def __init__(self, network: Network, params: Params):
        self.network = network
        self._queue = np.empty(network.vertices, np.int32)

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        return _bfs(self.network.offsets, self.network.targets, source, self._queue)


_OUT = -2  # in `links`: of a vertex that is in no bucket
MOST_BUCKETS = 1024  #: that an edge of `buckets` spans


@njit(cache=True, nogil=True)
def _by_buckets(offsets, targets, weights, source, width, heads, links):
    """Returns the distances, int32[n]. weights int32[m]; heads int32[b] and links int32[n, 2] are scratch.

    Bucket i has the vertices whose distance over `width`, modulo b, is i, in a list that is linked both ways. An edge
    spans less than b - 1 buckets.
    """
    distances = np.full(offsets.shape[0] - 1, FAR, np.int32)
    buckets = heads.shape[0]
    heads[:] = -1
    distances[source], heads[0], links[source, 0], links[source, 1] = 0, source, -1, -1
    listed, at = 1, 0
    while listed:
        u = heads[at]
        if u < 0:
            at = at + 1 if at + 1 < buckets else 0
            continue
        heads[at] = links[u, 1]
        if links[u, 1] >= 0:
            links[links[u, 1], 0] = -1
        links[u, 0] = _OUT  # may be listed again by an edge shorter than the width
        listed -= 1
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            reached, before = distances[u] + weights[k], distances[v]
            if reached >= before:
                continue
            distances[v] = reached
            to = reached // width % buckets
            if before != FAR and links[v, 0] != _OUT:
                if before // width % buckets == to:
                    continue
                last, after = links[v, 0], links[v, 1]
                if last >= 0:
                    links[last, 1] = after
                else:
                    heads[before // width % buckets] = after
                if after >= 0:
                    links[after, 0] = last
                listed -= 1
            links[v, 0], links[v, 1] = -1, heads[to]
            if heads[to] >= 0:
                links[heads[to], 0] = v
            heads[to] = v
            listed += 1
    return distances


@register
class Buckets(Solver, Implementation):
    """Shortest paths by buckets, on one core.

    A vertex that is reached waits in the bucket of its distance, and moves when the distance becomes less. Buckets are
    emptied in order. If no weight is above 1,024, each has vertices of one distance, and no vertex is expanded twice.
    """

    name = "buckets"
    problem = "sssp"
    source = "Dial 1969; approximate buckets, Cherkassky et al. 1996"
    cost = "O(m + the greatest distance) a search; 8 n bytes"

    def __init__(self, network: Network, params: Params):
        heaviest = int(network.weights.max(initial=1))
        self.network, self._width = network, -(-heaviest // MOST_BUCKETS)
        self._heads = np.empty(heaviest // self._width + 2, np.int32)
        self._links = np.empty((network.vertices, 2), np.int32)

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        rows = self.network.offsets, self.network.targets, self.network.weights
        return _by_buckets(*rows, source, self._width, self._heads, self._links)


@register
class Dijkstra(Solver, Implementation):
    """scipy's Dijkstra (Fibonacci heap), on one core.

    Settles vertices in order of their distance; a heap holds the vertices that are reached but not settled.
    """

    name = "dijkstra"
    problem = "sssp"
    source = "scipy.sparse.csgraph.dijkstra"
    cost = "O(m + n log n) a search"

    def __init__(self, network: Network, params: Params):
        from scipy.sparse import csr_array

        n = network.vertices
        arrays = (network.weights.astype(np.float64), network.targets, network.offsets)
        self._matrix, self._everywhere = csr_array(arrays, shape=(n, n)), self.problem == "apsp"
        self._may_be_long = n * int(network.weights.max(initial=0)) >= int(FAR) // 2

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        from scipy.sparse.csgraph import dijkstra

        found = dijkstra(self._matrix, directed=True, indices=None if self._everywhere else source)
        if self._may_be_long:
            refuse_long(found)
        found[~np.isfinite(found)] = float(FAR)
        return found.astype(np.int32)


@register
class DijkstraEach(Dijkstra):
    """scipy's Dijkstra from every vertex, on one core.

    One search after the other, as in `sssp`.
    """

    problem = "apsp"
    cost = "O(n (m + n log n)); 8 n^2 bytes"


WORDS = 8  #: most words of a row: a line of the cache, of which one word costs as much as all
ALPHA = 3  #: a level is pushed if fewer than one in so many edges leave it
KEPT_BYTES = 1 << 28  #: most bytes of distances that are kept at a time, by all threads
_1, _ALL = np.uint64(1), np.uint64(2**64 - 1)


_NOT_KEPT = np.empty((0, 0), np.int32)


@njit(cache=True, nogil=True)
def _search(offsets, targets, back_offsets, back_sources, sources, levels, found):
    """Fills `found` (a `Found` of zeros), and levels int32[k, n] of `FAR` if it has rows; returns how many levels there
    were, and how many of them were pulled. sources int64[k]."""
    n, k = offsets.shape[0] - 1, sources.shape[0]
    words = (k + 63) // 64
    full = np.full(words, _ALL)
    if k & 63:
        full[words - 1] = (_1 << np.uint64(k & 63)) - _1
    rows = [np.zeros((n, words), np.uint64) for _ in range(3)]
    masks = [np.zeros(n, np.uint64) for _ in range(3)]
    seen, now, later = rows
    done, here, there = masks
    level_of, next_of = np.empty(n, np.int32), np.empty(n, np.int32)
    size = 0
    for i in range(k):
        v = sources[i]
        if not there[v]:
            next_of[size] = v
            size += 1
        later[v, i >> 6] |= _1 << np.uint64(i & 63)
        there[v] |= _1 << np.uint64(i >> 6)
    level, pulled, last = 0, 0, 0
    while True:
        for i in range(last):  # clears the level before
            now[level_of[i]] = 0
            here[level_of[i]] = 0
        edges = _commit(offsets, level, next_of, size, full, later, there, seen, done, levels, found)
        now, later, level_of, next_of, here, there = later, now, next_of, level_of, there, here
        if size == 0:
            return level, pulled
        last, size = size, 0
        if edges * ALPHA < targets.shape[0]:
            for i in range(last):
                size = _push(offsets, targets, level_of[i], now, here, seen, done, later, there, next_of, size)
        else:
            pulled += 1
            for v in range(n):
                size = _pull(back_offsets, back_sources, v, full, now, here, seen, done, later, there, next_of, size)
        level += 1


@njit(cache=True, nogil=True)
def _push(offsets, targets, u, now, here, seen, done, later, there, next_of, size):
    """Offers the searches at u to its children; returns how many vertices the next level has so far."""
    for k in range(offsets[u], offsets[u + 1]):
        v = targets[k]
        left, come = here[u] & ~done[v], there[v]
        while left:
            w = lowest(left)
            left &= left - _1
            new = now[u, w] & ~seen[v, w]
            if new:
                later[v, w] |= new
                come |= _1 << w
        if come and not there[v]:
            next_of[size] = v
            size += 1
        there[v] = come
    return size


@njit(cache=True, nogil=True)
def _pull(offsets, parents, v, full, now, here, seen, done, later, there, next_of, size):
    """Looks for searches at the parents of v that have not seen it; returns how many vertices the next level has."""
    short, come = (_ALL >> np.uint64(64 - full.shape[0])) & ~done[v], np.uint64(0)
    if not short:
        return size
    for k in range(offsets[v], offsets[v + 1]):
        u = parents[k]
        left = here[u] & short
        while left:
            w = lowest(left)
            left &= left - _1
            new = later[v, w] | (now[u, w] & ~seen[v, w])
            if new:
                later[v, w] = new
                come |= _1 << w
                if new | seen[v, w] == full[w]:
                    short &= ~(_1 << w)
        if not short:
            break
    if come:
        there[v], next_of[size] = come, v
        size += 1
    return size


@njit(cache=True, nogil=True)
def _commit(offsets, level, vertices, size, full, later, there, seen, done, levels, found):
    """Enters the vertices of a level among what is seen; returns how many edges leave them."""
    salted, edges = salt(level), 0
    for i in range(size):
        v = vertices[i]
        degree, mark, left = offsets[v + 1] - offsets[v], np.uint32(mixed(v, salted)), there[v]
        edges += degree
        while left:
            w = lowest(left)
            left &= left - _1
            bits = later[v, w]
            seen[v, w] |= bits
            if seen[v, w] == full[w]:
                done[v] |= _1 << w
            while bits:
                s = np.int64(np.uint64(64) * w + lowest(bits))
                bits &= bits - _1
                found.reached[s] += 1
                found.edges[s] += degree
                found.farthest[s] = level
                found.marks[s] ^= mark
                if levels.shape[0]:
                    levels[s, v] = level
    return edges


@register
class Many(Together, Implementation):
    """Breadth-first searches from all sources at once, a bit each, on all threads.

    Searches that come to a vertex at the same level go on together. A level is pushed where few edges leave its
    vertices, and else pulled by the vertices that some source has not reached. A thread has at most 512 sources at a
    time.
    """

    name = "many"
    problem = "bfs"
    source = "Then et al., The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014"
    cost = "O((n + m) k / 64) words a level at most for k sources; 24 bytes a vertex, thread and 64 sources"
    counts = ("levels", "bottom_up")
    axes = frozenset({"threads"})

    def __init__(self, network: Network, params: Params):
        self._network, self._workers = network, params.workers
        self._back = (network.offsets, network.targets) if network.symmetric else network.reverse

    def _parts(self, sources: np.ndarray, most: int) -> list[np.ndarray]:
        """Returns the sources in parts of about equal size, at most `most`, at least as many as there are threads."""
        count = max(-(-sources.shape[0] // most), min(self._workers, sources.shape[0]))
        return np.array_split(sources, count)

    def _searched(self, parts: list[np.ndarray], kept: list[np.ndarray]) -> list[Found]:
        net = self._network

        def search(part: np.ndarray, levels: np.ndarray) -> tuple[Found, tuple[int, int]]:
            found = Found(*(np.zeros(part.shape[0], kind) for kind in (np.int64, np.int64, np.int32, np.uint32)))
            counted = _search(net.offsets, net.targets, *self._back, part, levels, found)
            return found, counted

        with ThreadPool(min(self._workers, len(parts))) as pool:
            done = pool.each(search, parts, kept)
        for _, (levels, pulled) in done:
            self.count(levels=levels, bottom_up=pulled)
        return [found for found, _ in done]

    def search(self, sources: np.ndarray, timer: Timer) -> Found:
        row = 3 * 8 * self._network.vertices * self._workers
        words = max(1, min(WORDS, memory.available() // 2 // max(row, 1)))
        order = np.argsort(sources)  # numbers that are near are often near in the graph, and go on together
        parts = self._parts(sources[order], 64 * words)
        return Found.of_parts(self._searched(parts, [_NOT_KEPT] * len(parts)), order)

    def solve_each(self, sources: np.ndarray, timer: Timer) -> Iterator[np.ndarray]:
        n = self._network.vertices
        most = max(1, min(KEPT_BYTES // (4 * n), 64 * self._workers))
        for group in np.array_split(sources, -(-sources.shape[0] // most)):
            parts = self._parts(group, 64)
            kept = [np.full((part.shape[0], n), FAR, np.int32) for part in parts]
            self._searched(parts, kept)
            for distances in kept:
                yield from distances
