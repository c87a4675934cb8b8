"""What `supports` knows of each vertex, and how it is made.

Every vertex has a record. Its first four lanes, int32, are these; with trees, the first two are others:

    LEVEL   longest path from the super-root      DOWN   where its row begins among the edges that are searched down
    HEIGHT  longest path to a sink                UP     the same among those that are searched up

Six words, uint64, follow in a whole record, which then fills a cache line: which of 192 supportive vertices the vertex
reaches (three words), and which of them reach it. They are chosen greedily, so that they settle as many as possible of
the pairs of 192 random sources and 192 random targets.

Trees: on graphs of few edges a vertex there are 128 supportive vertices, and the last words, the level and the height
give place to two depth-first searches, one down from the super-root and one up from the sinks:

    TREE_DOWN, TREE_UP  the least number in the subtree of the vertex, and behind it its own number, in post-order
    BELOW, ABOVE        in which of 32 blocks of the numbers on the way down it reaches a vertex, and is reached by one

What a vertex reaches has a lower number on the way down, and a higher one on the way up, and reaches no block that the
vertex itself does not reach. On the way down a vertex reaches its whole subtree; on the way up its subtree reaches it.

Halves: let r(v) be 2 level for a vertex that is nearer to the roots than to the sinks, and 2 height + 1 for the others.
Along every path r rises, and then falls. So a path from u to v is one down from u by edges that lead to a greater r,
and one up from v by edges whose other end has a greater r. Each edge belongs to one of its ends, and both searches
together look at few of them, but both must come to their end before the answer is 'no'.

Sources: supportive vertices after Hanauer, Schulz and Trummer (O'Reach, SEA 2021), chosen greedily as the landmarks of
2-hop covers are (Cohen, Halperin, Kaplan and Zwick, SIAM J. Comput. 32(5), 2003); contraction after Merz and Sanders
(PReaCH, ESA 2014), by levels, and the two depth-first searches; blocks of numbers after Su, Zhu, Wei and Yu (BFL, TKDE
29(3), 2017).
"""

from functools import partial

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.graph.hashing import below, draw, stream
from grailbench.graph.instructions import ones, prefetch
from grailbench.graph.threads import side_by_side

LEVEL, HEIGHT, DOWN, UP = range(4)
BELOW, ABOVE = LEVEL, HEIGHT  #: of records with trees, in which both have no other place
SHORT, WHOLE = 4, 16  #: lanes of a record without words, and of a whole one, a cache line
WORDS = 3  #: words of supportive vertices, of those reached and of those that reach
FIRST, WIDTH = 2, 8  #: the place of the first word in a whole record, and the words from one record to the next
TREE_DOWN, TREE_UP = 2 * (FIRST + WORDS - 1), 2 * (FIRST + 2 * WORDS - 1)  #: in place of the last words
BLOCKS = 32  #: bits of a lane
POOL = 1 << 16  #: random vertices from which they are chosen
_SAMPLES, _POOL, _PAIRS = range(3)  # streams of random numbers
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
#: vertices by which passes load ahead: what they read of the ends of a row, before that the row, and where it begins
_SOON, _THEN, _FAR = 8, 16, 32
_ROW = np.uint64(64)  #: ends of a row that are loaded ahead, at most


@njit(cache=True, inline="always")
def _load_ahead(offsets, ends, order, i, values, width, first):
    """Asks for what a pass that is at place i of an order reads later: a row, and of its vertex and of its ends the
    values, `width` a vertex, from `first` on; of the first `_ROW` ends."""
    n = order.shape[0]
    if i + _FAR < n:
        prefetch(offsets, np.int64(order[i + _FAR]))
    if i + _THEN < n:
        prefetch(ends, offsets[order[i + _THEN]])
        prefetch(values, np.int64(order[i + _THEN]) * width + first)
    if i + _SOON < n:
        u = order[i + _SOON]
        start = offsets[u]
        for k in range(start, min(offsets[u + 1], start + np.int64(_ROW))):
            prefetch(values, np.int64(ends[k]) * width + first)


def heights(dag: Dag) -> np.ndarray:
    """The longest path from each vertex to a sink, int32[n]; 0 for sinks."""
    height = np.zeros(dag.vertices, np.int32)
    _heights(dag.offsets, dag.children, dag.order[::-1], height)
    return height


@njit(cache=True, nogil=True)
def _heights(offsets, children, order, height):
    for i in range(order.shape[0]):
        u = np.uint64(order[i])
        _load_ahead(offsets, children, order, i, height, 1, 0)
        most = np.int32(0)
        for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _1])):
            most = max(most, height[np.uint64(children[k])] + np.int32(1))
        height[u] = most


def records(dag: Dag, height: np.ndarray | None, lanes: int) -> np.ndarray:
    """Records of so many lanes, int32[(n + 1) * lanes], aligned to cache lines, without words yet, and without heights
    if these are None. Their rows are those of the DAG; the last record only ends them."""
    size = (dag.vertices + 1) * lanes
    raw = np.zeros(size + WHOLE, np.int32)
    start = -(raw.ctypes.data // 4) % WHOLE
    made = raw[start : start + size]
    _fill(made, lanes, dag.levels, height, dag.offsets, dag.parent_offsets)
    return made


@njit(cache=True, nogil=True)
def _fill(lanes, width, levels, height, down, up):
    for u in range(down.shape[0]):
        at = u * width
        if u < levels.shape[0]:
            lanes[at + LEVEL] = levels[u]
            if height is not None:
                lanes[at + HEIGHT] = height[u]
        lanes[at + DOWN], lanes[at + UP] = down[u], up[u]


def halved(dag: Dag, height: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Short records, and the ends of their rows (int32[d], int32[m - d]), each edge in the row of one end."""
    lanes, rows = records(dag, height, SHORT), []
    ranks = np.where(dag.levels <= height, 2 * dag.levels.astype(np.uint32), 2 * height.astype(np.uint32) + 1)
    for lane, offsets, ends in ((DOWN, dag.offsets, dag.children), (UP, dag.parent_offsets, dag.parents)):
        kept = np.empty(ends.shape[0], np.int32)
        rows.append(kept[: _halve(offsets, ends, ranks, lanes, lane, kept)].copy())
    return lanes, *rows


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


def add_words(dag: Dag, lanes: np.ndarray, seed: int, trees: bool, threads: int = 1) -> np.ndarray:
    """Fills the words of whole records, and the lanes of trees. Returns the supportive vertices in the order of their
    bits, int32[k]."""
    n, bits = dag.vertices - 1, 64 * WORDS
    samples, pool = _drawn(n, 2 * bits, stream(seed, _SAMPLES)), _drawn(n, min(POOL, 4 * n), stream(seed, _POOL))
    sweep(dag, lanes, samples[:bits], samples[bits:], threads)
    chosen = _choose(words_of(lanes), pool, bits - 64 * trees)
    words_of(lanes)[:] = 0
    fill(dag, lanes, chosen, trees, threads)
    return chosen


def fill(dag: Dag, lanes: np.ndarray, chosen: np.ndarray, trees: bool, threads: int = 1) -> None:
    """Fills the words of whole records, which are 0, for these supportive vertices, and the lanes of trees."""
    if trees:
        down, up = _numbers(dag, threads)
        _start_blocks(down, lanes.view(np.uint64))
    sweep(dag, lanes, chosen, chosen, threads)
    if trees:
        _place(down, up, lanes)


def words_of(lanes: np.ndarray) -> np.ndarray:
    """The words of whole records, uint64[n + 1, 2 WORDS], in the same memory."""
    return lanes.view(np.uint64).reshape(-1, WIDTH)[:, FIRST:]


def sweep(dag: Dag, lanes: np.ndarray, below: np.ndarray, above: np.ndarray, threads: int = 1) -> None:
    """Adds to the words of whole records which of the vertices `below` each vertex reaches, and which of those `above`
    reach it (int32[k] each, k <= 64 WORDS), in two threads if there are more than one. Bits that are there spread."""
    words = words_of(lanes)
    for vertices, first in ((below, 0), (above, WORDS)):
        places = np.arange(vertices.shape[0])
        np.bitwise_or.at(words, (vertices, first + places // 64), _1 << (places % 64).astype(np.uint64))
    order, flat = dag.order, lanes.view(np.uint64)
    side_by_side(
        threads,
        partial(_sweep, dag.offsets, dag.children, order[:0:-1], flat, FIRST),
        partial(_sweep, dag.parent_offsets, dag.parents, order[1:], flat, FIRST + WORDS),
    )


@njit(cache=True, nogil=True)
def _sweep(offsets, ends, order, words, first):
    """Adds the words of the ends of its row to those of each vertex.

    order  int32[n - 1], without the super-root: the ends of a row come before the vertex
    first  the place of the words in a record
    """
    for i in range(order.shape[0]):
        _load_ahead(offsets, ends, order, i, words, WIDTH, first)
        u = np.uint64(order[i])
        at = u * np.uint64(WIDTH) + np.uint64(first)
        a, b, c = words[at], words[at + _1], words[at + _2]
        for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _1])):
            v = np.uint64(ends[k]) * np.uint64(WIDTH) + np.uint64(first)
            a |= words[v]
            b |= words[v + _1]
            c |= words[v + _2]
        words[at], words[at + _1], words[at + _2] = a, b, c


def _numbers(dag: Dag, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """What `_number` finds on the way down and on the way up, in two threads if there are more than one."""
    down, up = (np.empty(4 * (dag.vertices + 1), np.int32) for _ in range(2))
    depth, sinks = int(dag.levels.max()) + 1, np.flatnonzero(dag.offsets[1:] == dag.offsets[:-1])
    side_by_side(
        threads,
        partial(_number, dag.offsets, dag.children, np.array([dag.super_root]), depth, down),
        partial(_number, dag.parent_offsets, dag.parents, sinks, depth, up),
    )
    return down, up


@njit(cache=True, nogil=True)
def _start_blocks(down, words):
    """Sets in the last words of each vertex the bit of its block."""
    n = down.shape[0] // 4 - 1
    for u in range(n):
        at = u * WIDTH + FIRST + WORDS - 1
        words[at] = words[at + WORDS] = _1 << np.uint64(np.int64(down[4 * u + 1] - 1) * BLOCKS // n)


@njit(cache=True, nogil=True)
def _place(down, up, lanes):
    """Moves the blocks from the last words to their lanes, and puts the numbers there."""
    for u in range(down.shape[0] // 4 - 1):
        at = u * WHOLE
        lanes[at + BELOW], lanes[at + ABOVE] = lanes[at + TREE_DOWN], lanes[at + TREE_UP]
        lanes[at + TREE_DOWN], lanes[at + TREE_DOWN + 1] = down[4 * u], down[4 * u + 1]
        lanes[at + TREE_UP], lanes[at + TREE_UP + 1] = up[4 * u], up[4 * u + 1]


@njit(cache=True, nogil=True)
def _number(offsets, ends, starts, depth, found):
    """Searches depth first from one vertex after the other, and numbers all that it meets in post-order, from 1 on.

    depth  the most vertices on a path
    found  int32[4 (n + 1)]: for each vertex the least number in its subtree, its own, where its row begins, and the
           first end in it, since one step waits for the one before: all that it needs of a vertex is in 16 bytes
    """
    n = offsets.shape[0] - 1
    for u in range(n):
        found[4 * u] = 0
        found[4 * u + 2] = offsets[u]
        found[4 * u + 3] = ends[offsets[u]] if offsets[u] < offsets[u + 1] else 0
    found[4 * n + 2] = offsets[n]
    vertices, cursors = np.empty(depth, np.int64), np.empty(depth, np.int32)
    count, top = np.int32(0), 0
    for start in starts:
        u = np.int64(start)
        k, v, stop = found[4 * u + 2], np.int64(found[4 * u + 3]), found[4 * u + 6]
        found[4 * u] = count + np.int32(1)
        while True:
            if k < stop and found[4 * v] == 0:  # in a DAG, a vertex that was met before is finished
                vertices[top], cursors[top] = u, k
                top += 1
                u = v
                found[4 * u] = count + np.int32(1)
                k, v, stop = found[4 * u + 2], np.int64(found[4 * u + 3]), found[4 * u + 6]
                for each in range(k, min(np.int64(stop), k + np.int64(_ROW))):
                    prefetch(found, 4 * np.int64(ends[each]))
                continue
            if k >= stop:
                count += np.int32(1)
                found[4 * u + 1] = count
                if top == 0:
                    break
                top -= 1
                u, k = vertices[top], cursors[top]
                stop = found[4 * u + 6]
            k += np.int32(1)
            if k < stop:
                v = np.int64(ends[k])


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


@njit(cache=True)
def _choose(words, pool, most_taken):
    """Returns at most so many vertices of the pool, int32[k]: greedily those between most pairs of the samples.

    words  uint64[n + 1, 2 WORDS]: which samples of targets a vertex reaches, and which samples of sources reach it
    pool   int32[p]

    A vertex is taken if it settles nearly as many pairs that are open as any could (a threshold that falls by a tenth):
    what it would settle never grows, so that most vertices are seldom looked at again. Where all pairs are settled, all
    are opened again for what is left of the bits, since the samples stand for many other pairs.
    """
    bits = 64 * WORDS
    taken, count, taking = np.empty(most_taken, np.int32), 0, True
    free = np.ones(pool.shape[0], np.bool_)
    while taking and count < most_taken:
        taking = False
        open_ = np.full((bits, WORDS), ~_0, np.uint64)  # of each source, the targets that no vertex taken leads to
        most, best = np.zeros(pool.shape[0], np.int64), np.int64(0)
        for i in range(pool.shape[0]):
            if free[i]:
                most[i] = _ones(words, pool[i], 0) * _ones(words, pool[i], WORDS)
                best = max(best, most[i])
        while best > 0 and count < most_taken:
            for i in range(pool.shape[0]):
                if most[i] < best or count == most_taken:
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
