"""What `supports` knows of each vertex, and how it is made.

Every vertex has a record of int32 lanes. The first four are always there:

    LEVEL   longest path from the super-root       DOWN   where its row begins among the edges that are searched downwards
    HEIGHT  longest path to a sink                 UP     the same among those that are searched upwards

Two label triples follow unless levels suffice: START, END and TREE of a depth-first search down the DAG, and the same of
one up the DAG. They are those of `labels`: [s, e] with e stored negated, and the least rank in the spanning subtree.

Supportive vertices: `words`, uint64[n, 2 WORDS], say which of 192 vertices a vertex reaches, and which of them reach it.
They are chosen greedily, so that they settle as many as possible of the pairs of 192 random sources and 192 random
targets.

Halves: with r(v) = 2 level for a vertex that is nearer to the roots than to the sinks, and 2 height + 1 for the others,
r rises along every path and then falls. So a path from u to v is one of edges that lead to a greater r, and one that comes
up from v by edges whose other end has a greater r: each edge belongs to one end, and both searches together look at few
of them. But both must come to their end before the answer is 'no'.

Sources: contraction by levels after Merz and Sanders (PReaCH, ESA 2014); supportive vertices after Hanauer, Schulz and
Trummer (O'Reach, SEA 2021); interval labels after Yildirim, Chaoji and Zaki (GRAIL, PVLDB 2010).
"""

from functools import partial

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.graph.hashing import below, draw, stream
from grailbench.graph.instructions import ones, prefetch
from grailbench.graph.threads import side_by_side

LEVEL, HEIGHT, DOWN, UP, START, END, TREE, START_UP, END_UP, TREE_UP = range(10)
SHORT, LONG = 4, 10  #: lanes of a record without labels, and with them
WORDS = 3  #: words of 64 supportive vertices
POOL = 1 << 16  #: random vertices from which they are chosen
_SAMPLES, _POOL, _PAIRS = range(3)  # streams of random numbers
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
_SOON = 8  #: vertices by which passes load what they will read
_ROW = np.uint64(64)  #: ends of a row that are loaded ahead, at most


@njit(cache=True, inline="always")
def _load_row(offsets, ends, u, values, width, first):
    """Asks for the values, `width` a vertex, of the ends of a row that is read soon: the first `_ROW` of them."""
    start = offsets[u]
    for k in range(start, min(offsets[u + 1], start + np.int64(_ROW))):
        prefetch(values, np.int64(ends[k]) * width + first)


def heights(dag: Dag) -> np.ndarray:
    """The longest path from each vertex to a sink, int32[n]; 0 for sinks."""
    height = np.zeros(dag.vertices, np.int32)
    _heights(dag.offsets, dag.children, dag.order, height)
    return height


@njit(cache=True, nogil=True)
def _heights(offsets, children, order, height):
    for i in range(order.shape[0] - 1, -1, -1):
        u = np.uint64(order[i])
        if i > _SOON:
            _load_row(offsets, children, order[i - _SOON], height, 1, 0)
        most = np.int32(0)
        for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _1])):
            most = max(most, height[np.uint64(children[k])] + np.int32(1))
        height[u] = most


def short_records(dag: Dag, height: np.ndarray) -> np.ndarray:
    """Records without labels, int32[(n + 1) * SHORT], whose rows are those of the DAG; the last one ends the rows."""
    lanes = np.zeros((dag.vertices + 1, SHORT), np.int32)
    lanes[:-1, LEVEL], lanes[:-1, HEIGHT] = dag.levels, height
    lanes[:, DOWN], lanes[:, UP] = dag.offsets, dag.parent_offsets
    return lanes.reshape(-1)


def halved(dag: Dag, height: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records without labels, and the ends of their rows (int32[d], int32[m - d]), each edge in the row of one end."""
    lanes = np.zeros((dag.vertices + 1, SHORT), np.int32)
    lanes[:-1, LEVEL], lanes[:-1, HEIGHT] = dag.levels, height
    ranks = np.where(dag.levels <= height, 2 * dag.levels, 2 * height + 1)
    rows = []
    for lane, offsets, ends in ((DOWN, dag.offsets, dag.children), (UP, dag.parent_offsets, dag.parents)):
        kept = np.empty(ends.shape[0], np.int32)
        size = _halve(offsets, ends, ranks, lanes.reshape(-1), lane, kept)
        rows.append(kept[:size].copy())
    return lanes.reshape(-1), *rows


@njit(cache=True, nogil=True)
def _halve(offsets, ends, ranks, lanes, lane, kept):
    """Keeps of each row the ends of greater rank, and writes where the rows begin. Returns how many are kept."""
    count, n = 0, offsets.shape[0] - 1
    for u in range(n):
        lanes[u * SHORT + lane] = count
        if u == n - 1:  # the super-root, which no search meets
            break
        for k in range(offsets[u], offsets[u + 1]):
            kept[count] = ends[k]
            count += ranks[ends[k]] > ranks[u]
    lanes[n * SHORT + lane] = count
    return count


def long_records(dag: Dag, short: np.ndarray, threads: int = 1) -> np.ndarray:
    """The same records with labels, int32[(n + 1) * LONG]; both searches at the same time if there are two threads."""
    lanes = np.zeros((dag.vertices + 1, LONG), np.int32)
    lanes[:, :SHORT] = short.reshape(-1, SHORT)
    sinks = np.flatnonzero(dag.offsets[1:-1] == dag.offsets[:-2]).astype(np.int32)
    lanes = lanes.reshape(-1)
    side_by_side(
        threads,
        partial(_label, dag.offsets, dag.children, dag.roots, lanes, START),
        partial(_label, dag.parent_offsets, dag.parents, sinks, lanes, START_UP),
    )
    return lanes


@njit(cache=True, nogil=True)
def _label(offsets, ends, roots, lanes, lane):
    """Writes START, END and TREE of every vertex but the last, the super-root, at `lane` of its record, by one
    depth-first search from the roots, int32[r], in turn: algorithm 1 of the thesis, and the least rank of the spanning
    subtree."""
    n = np.uint64(offsets.shape[0] - 1)
    done = np.zeros(2 * n, np.int32)  # the rank, 0 for a vertex that is not done, and START: all that edges look at
    done[2 * n - _2], done[2 * n - _1] = n, n  # the super-root: no interval starts so late
    trees, vertices, cursors = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    lowest, firsts = np.empty(n, np.int32), np.empty(n, np.int32)
    rank = np.int32(0)
    for root in roots:
        u = np.uint64(root)
        if done[_2 * u] != 0:
            continue
        top, k, last = _0, np.uint64(offsets[u]), np.uint64(offsets[u + _1])
        least, first = np.int32(n), rank + np.int32(1)
        while True:
            if k < last:
                v = np.uint64(ends[k])
                k += _1
                if done[_2 * v] != 0:  # in a DAG, a vertex that was met is done
                    least = min(least, done[_2 * v + _1])
                    continue
                vertices[top], cursors[top], lowest[top], firsts[top] = u, k, least, first
                top += _1
                u, k, last = v, np.uint64(offsets[v]), np.uint64(offsets[v + _1])
                least, first = np.int32(n), rank + np.int32(1)
                for ahead in range(k, min(last, k + _ROW)):
                    prefetch(done, 2 * np.int64(ends[ahead]))
                continue
            rank += np.int32(1)
            least = min(least, rank)
            done[_2 * u], done[_2 * u + _1], trees[u] = rank, least, first
            if top == _0:
                break
            top -= _1
            u, k, least, first = np.uint64(vertices[top]), np.uint64(cursors[top]), min(lowest[top], least), firsts[top]
            last = np.uint64(offsets[u + _1])
    for v in range(n):
        at = v * np.uint64(LONG) + np.uint64(lane)
        lanes[at], lanes[at + _1], lanes[at + _2] = done[_2 * v + _1], -done[_2 * v], trees[v]


def supportive(dag: Dag, seed: int, threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The words of every vertex, uint64[n * 2 WORDS]: WORDS of what it reaches, then WORDS of what reaches it; and the
    supportive vertices in the order of their bits, int32[k]."""
    n, bits = dag.vertices - 1, 64 * WORDS
    words = np.zeros((dag.vertices, 2 * WORDS), np.uint64)
    samples, pool = _drawn(n, 2 * bits, stream(seed, _SAMPLES)), _drawn(n, min(POOL, 4 * n), stream(seed, _POOL))
    sweep(dag, words, samples[:bits], samples[bits:], threads)
    chosen = _choose(words, pool)
    sweep(dag, words, chosen, chosen, threads)
    return words.reshape(-1), chosen


def sweep(dag: Dag, words: np.ndarray, below: np.ndarray, above: np.ndarray, threads: int = 1) -> None:
    """Fills the words, uint64[n, 2 WORDS]: which of the vertices `below` each vertex reaches, and which of those `above`
    reach it (int32[k] each, k <= 64 WORDS), in two threads if there are more than one."""
    words[:] = 0
    for vertices, first in ((below, 0), (above, WORDS)):
        places = np.arange(vertices.shape[0])
        np.bitwise_or.at(words, (vertices, first + places // 64), _1 << (places % 64).astype(np.uint64))
    side_by_side(
        threads,
        partial(_sweep_up, dag.offsets, dag.children, dag.order, words.reshape(-1)),
        partial(_sweep_down, dag.parent_offsets, dag.parents, dag.order, words.reshape(-1)),
    )


def drawn_pairs(n: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs of vertices below n, int32[count] each; none if there is no vertex."""
    both = _drawn(n, 2 * count, stream(seed, _PAIRS))
    return both[: both.shape[0] // 2], both[both.shape[0] // 2 :]


@njit(cache=True)
def _drawn(n, count, key):
    """Random vertices below n, int32[count], or none if there is no vertex; some may be equal."""
    found = np.empty(count if n > 0 else 0, np.int32)
    for i in range(found.shape[0]):
        found[i] = below(draw(key, i), n)
    return found


@njit(cache=True, nogil=True)
def _sweep_up(offsets, children, order, words):
    """Completes what is reached, children before parents; order int32[n], the super-root first, which is left out."""
    for i in range(order.shape[0] - 1, 0, -1):
        u = np.uint64(order[i])
        at = u * np.uint64(2 * WORDS)
        a, b, c = words[at], words[at + _1], words[at + _2]
        if i > _SOON:
            _load_row(offsets, children, order[i - _SOON], words, 2 * WORDS, 0)
        for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _1])):
            v = np.uint64(children[k]) * np.uint64(2 * WORDS)
            a |= words[v]
            b |= words[v + _1]
            c |= words[v + _2]
        words[at], words[at + _1], words[at + _2] = a, b, c


@njit(cache=True, nogil=True)
def _sweep_down(offsets, parents, order, words):
    """Completes what a vertex is reached by, parents before children."""
    for i in range(1, order.shape[0]):
        u = np.uint64(order[i])
        at = u * np.uint64(2 * WORDS) + np.uint64(WORDS)
        a, b, c = words[at], words[at + _1], words[at + _2]
        if i + _SOON < order.shape[0]:
            _load_row(offsets, parents, order[i + _SOON], words, 2 * WORDS, WORDS)
        for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _1])):
            v = np.uint64(parents[k]) * np.uint64(2 * WORDS) + np.uint64(WORDS)
            a |= words[v]
            b |= words[v + _1]
            c |= words[v + _2]
        words[at], words[at + _1], words[at + _2] = a, b, c


@njit(cache=True)
def _choose(words, pool):
    """Returns at most 64 WORDS vertices of the pool, int32[k]: greedily those between most pairs of the samples.

    words  uint64[n, 2 WORDS]: which samples of targets a vertex reaches, and which samples of sources reach it
    pool   int32[p]

    A vertex is taken if it settles nearly as many pairs that are open as any could (a threshold that falls by a tenth):
    what it would settle never grows, so that most vertices are seldom looked at again. Where all pairs are settled, all
    are opened again for what is left of the bits, since the samples stand for many other pairs.
    """
    bits = 64 * WORDS
    taken, count, taking = np.empty(bits, np.int32), 0, True
    free = np.ones(pool.shape[0], np.bool_)
    while taking and count < bits:
        taking = False
        open_ = np.full((bits, WORDS), ~_0, np.uint64)  # of each source, the targets that no vertex taken leads to
        most, best = np.zeros(pool.shape[0], np.int64), np.int64(0)
        for i in range(pool.shape[0]):
            if free[i]:
                most[i] = _ones(words, pool[i], 0) * _ones(words, pool[i], WORDS)
                best = max(best, most[i])
        while best > 0 and count < bits:
            for i in range(pool.shape[0]):
                if most[i] < best or count == bits:
                    continue
                v, gain = pool[i], np.int64(0)
                for source in range(bits):
                    if (words[v, WORDS + (source >> 6)] >> np.uint64(source & 63)) & _1:
                        for w in range(WORDS):
                            gain += np.int64(ones(open_[source, w] & words[v, w]))
                most[i] = gain
                if gain < best:
                    continue
                taken[count], free[i], taking, most[i] = v, False, True, 0
                count += 1
                for source in range(bits):
                    if (words[v, WORDS + (source >> 6)] >> np.uint64(source & 63)) & _1:
                        for w in range(WORDS):
                            open_[source, w] &= ~words[v, w]
            best = best * 9 // 10
    return taken[:count]


@njit(cache=True, inline="always")
def _ones(words, v, first):
    """How many bits are set in the words of a vertex from `first` on."""
    found = np.int64(0)
    for w in range(WORDS):
        found += np.int64(ones(words[v, first + w]))
    return found
