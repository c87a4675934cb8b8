"""Kernels of the library: numbers of a user checked and translated, and searches and sweeps over a whole graph.

Graphs are CSR arrays: offsets int64[n + 1], targets int32[m]. Kernels release the interpreter's lock.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.graph.sweeps import number, spread
from grailbench.util.compiled import njit
from grailbench.util.cores import usable_cores

PIECE = 1 << 19  #: numbers that are worth a thread


@njit(cache=True, nogil=True)
def within(us: np.ndarray, vs: np.ndarray, count: int) -> np.bool:
    """Whether all numbers of both columns (int32[k] each, contiguous) are in 0..count - 1.

    Each column is read in four places at once: one stream does not use the whole bandwidth of the memory. A negative
    number is a great one without its sign.
    """
    part = us.shape[0] // 4
    a, b, c, d = us[:part], us[part : 2 * part], us[2 * part : 3 * part], us[3 * part : 4 * part]
    e, f, g, h = vs[:part], vs[part : 2 * part], vs[2 * part : 3 * part], vs[3 * part : 4 * part]
    p = q = r = s = np.uint32(0)
    for i in range(part):
        p = max(p, np.uint32(a[i]))
        q = max(q, np.uint32(b[i]))
        r = max(r, np.uint32(c[i]))
        s = max(s, np.uint32(d[i]))
        p = max(p, np.uint32(e[i]))
        q = max(q, np.uint32(f[i]))
        r = max(r, np.uint32(g[i]))
        s = max(s, np.uint32(h[i]))
    for i in range(4 * part, us.shape[0]):
        p = max(p, np.uint32(us[i]), np.uint32(vs[i]))
    return us.shape[0] == 0 or max(p, q, r, s) < np.uint32(count)


@njit(cache=True, nogil=True)
def place(numbers: np.ndarray, first: int, count: int, component: np.ndarray, found: np.ndarray) -> bool | np.bool:
    """Sets found (int32[k]) to the components of numbers (integers of any type, [k]) less `first`; returns whether each
    is in 0..count - 1. component: int32[count], or of length 0 where each vertex is its own."""
    wrong = False
    for i in range(numbers.shape[0]):
        vertex = np.int64(numbers[i]) - first
        wrong |= (vertex < 0) | (vertex >= count)  # type: ignore[assignment]
        found[i] = np.int32(vertex)
    if wrong:
        return False
    if component.shape[0]:
        for i in range(numbers.shape[0]):
            found[i] = component[found[i]]
    return True


def place_at_once(numbers: np.ndarray, first: int, count: int, component: np.ndarray, found: np.ndarray) -> bool:
    """As `place`, on as many cores as the numbers are worth: for an index that then takes a fraction of that time."""
    threads = min(-(-numbers.shape[0] // PIECE), usable_cores())
    if threads <= 1:
        return bool(place(numbers, first, count, component, found))
    cuts = [numbers.shape[0] * turn // threads for turn in range(threads + 1)]
    parts = [slice(*ends) for ends in zip(cuts[:-1], cuts[1:], strict=True)]
    with ThreadPoolExecutor(threads) as pool:
        return all(pool.map(lambda part: place(numbers[part], first, count, component, found[part]), parts))


BITS = 512  #: vertices of one sweep, one bit each: a cache line a vertex
FEW = 1 << 16  #: pairs of a matrix that are asked one by one rather than by a sweep
_NONE = np.int32(-1)


@njit(cache=True, nogil=True)
def reached(
    offsets: np.ndarray, targets: np.ndarray, starts: np.ndarray, levels: np.ndarray, deepest: int, seen: np.ndarray
) -> np.ndarray:
    """The vertices that a breadth-first search from `starts` (int32[s]) meets, with these, int32[k].

    levels    int32[n] that no edge lowers: vertices beyond level `deepest` are not entered. Of length 0: all are
    seen      bool[n]: set for the vertices that were met; those that are set at first are not entered
    """
    queue = np.empty(seen.shape[0], np.int32)
    head = tail = 0
    for i in range(starts.shape[0]):
        if not seen[starts[i]]:
            seen[starts[i]] = True
            queue[tail] = starts[i]
            tail += 1
    while head < tail:
        u = queue[head]
        head += 1
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            if not seen[v] and (levels.shape[0] == 0 or levels[v] <= deepest):
                seen[v] = True
                queue[tail] = v
                tail += 1
    return queue[:tail].copy()


@njit(cache=True, nogil=True)
def nearest(
    offsets: np.ndarray, targets: np.ndarray, starts: np.ndarray, most: int, distance: np.ndarray
) -> np.ndarray:
    """The vertices that are at most so many edges from one of `starts` (int32[s]), nearest first, int32[k].

    distance  int32[n], all -1: set for the vertices that were met to the number of edges from the nearest start
    """
    queue = np.empty(distance.shape[0], np.int32)
    head = tail = 0
    for i in range(starts.shape[0]):
        if distance[starts[i]] < 0:
            distance[starts[i]] = 0
            queue[tail] = starts[i]
            tail += 1
    while head < tail and distance[queue[head]] < most:
        u = queue[head]
        head += 1
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue[tail] = v
                tail += 1
    return queue[:tail].copy()


@njit(cache=True, nogil=True)
def shortest_path(
    offsets: np.ndarray, targets: np.ndarray, component: np.ndarray, levels: np.ndarray, source: int, target: int
) -> np.ndarray:
    """The vertices of a shortest path, int32[k]; of length 0 if there is none. The first such path by order of rows.

    component int32[n] and levels int32[components]: vertices of components beyond the target's level are not entered.
    """
    n = offsets.shape[0] - 1
    parent, queue = np.full(n, _NONE, np.int32), np.empty(n, np.int32)
    deepest = levels[component[target]]
    parent[source], queue[0] = source, source
    head, tail = 0, 1
    while head < tail and parent[target] == _NONE:
        u = queue[head]
        head += 1
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            if parent[v] == _NONE and levels[component[v]] <= deepest:
                parent[v] = u
                queue[tail] = v
                tail += 1
    if parent[target] == _NONE:
        return np.empty(0, np.int32)
    length, v = 1, target
    while v != source:
        length, v = length + 1, parent[v]
    path = np.empty(length, np.int32)
    v = target
    for i in range(length - 1, -1, -1):
        path[i] = v
        v = parent[v]
    return path


@njit(cache=True, nogil=True)
def lowest(offsets: np.ndarray, targets: np.ndarray, common: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Those of the vertices `chosen` (int32[k]) none of whose targets is in `common` (bool[n]), int32[j]."""
    found = np.empty(chosen.shape[0], np.int32)
    count = 0
    for i in range(chosen.shape[0]):
        last = True
        for k in range(offsets[chosen[i]], offsets[chosen[i] + 1]):
            if common[targets[k]]:
                last = False
                break
        if last:
            found[count] = chosen[i]
            count += 1
    return found[:count].copy()


# ------------------------------------------------------------------ sweeps of many vertices at once


@njit(cache=True, nogil=True)
def look_up(words: np.ndarray, seed_of: np.ndarray, ends: np.ndarray, bits: np.ndarray) -> None:
    """Sets bits[i, j] (bool[k, t]) to whether the seed seed_of[i] (int64[k]) reaches ends[j] (int32[t])."""
    for i in range(seed_of.shape[0]):
        w, b = seed_of[i] >> 6, np.uint64(seed_of[i] & 63)
        for j in range(ends.shape[0]):
            bits[i, j] = (words[ends[j], w] >> b) & np.uint64(1) != 0


def positions(dag: Dag) -> np.ndarray:
    """The place of each vertex in the topological order, int64[n]."""
    position = np.empty(dag.vertices, np.int64)
    position[dag.order] = np.arange(dag.vertices)
    return position


def reach_matrix(dag: Dag, sources: np.ndarray, targets: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Whether each source reaches each target (components, int32[k] and int32[t]).

    Gives pieces of the answer: which sources they are of, int64[j], and bool[j, t]. 512 different sources are swept at
    once, in topological order from the first of them to the last target.
    """
    distinct, row = np.unique(sources, return_inverse=True)
    position = positions(dag)
    distinct = distinct[np.argsort(position[distinct], kind="stable")]
    rank = np.empty(dag.vertices, np.int64)
    rank[distinct] = np.arange(distinct.shape[0])
    row = rank[sources]
    by_seed = np.argsort(row, kind="stable")
    words = np.empty((dag.vertices, BITS // 64), np.uint64)
    last = int(position[targets].max()) if targets.size else -1
    for first in range(0, distinct.shape[0], BITS):
        block = np.ascontiguousarray(distinct[first : first + BITS]).astype(np.int32)
        words[:] = 0
        number(block, words)
        spread(dag.offsets, dag.children, dag.order[int(position[block[0]]) : last + 1], words)
        mine = by_seed[np.searchsorted(row[by_seed], first) : np.searchsorted(row[by_seed], first + BITS)]
        bits = np.empty((mine.shape[0], targets.shape[0]), np.bool_)
        look_up(words, row[mine] - first, targets, bits)
        yield mine, bits
