"""Sweeps blocks of columns up a reduced graph (`counts.reduce`), one bit a column, and counts bits as it goes.

Only vertices that reach a column of the block are visited. Most of them reach what one of their children reaches, or
everything: they refer to the row of that child, whose bits are counted once. Only the others get a row of their own, in
which only words that are not 0 are written and read.
"""

from collections import deque, namedtuple

import numpy as np
from numba import njit

from grailbench.errors import TooLittleMemory
from grailbench.graph.instructions import lowest, ones
from grailbench.graph.threads import ThreadPool
from grailbench.problems.counts.index import Task
from grailbench.problems.counts.reduce import Reduced, expanded, reduced
from grailbench.util import memory
from grailbench.util.words import decimal_size

WORD = 64
LEAST = 8  #: words of a row if memory is short; the width of a row is a multiple of it, and at most 64
BLOCK = 2_048  #: columns of a block, unless memory is short
MOST = 2**30  #: rows that references can name before they begin anew
_0, _1 = np.uint64(0), np.uint64(1)


class Rows(namedtuple("Rows", "words used owner weights refs marks first")):
    """The memory of one thread, for rows of `width` words of a reduced graph of r vertices.

    words   uint64[(r + 2) * width]: rows, in the order in which they were needed; row 0 stands for one with every bit
    used    uint64[r + 2]: bit w is set if word w of the row is not 0; other words are not written
    owner   int32[r + 2]: the vertex whose row it is
    weights    int64[r + 2]: the weight of the row's bits, from when its owner was visited
    refs    int32[r]: the row that a vertex has, as first + place; less than `first`: it reaches no column
    marks   uint64[r // 64 + 1]: a bit for each vertex that reaches a column and is yet to be visited
    first   int64[1]: what names row 0; it grows from block to block, so that `refs` need not be cleared
    """


def memory_of(vertices: int, width: int) -> int:
    """Bytes of `Rows`, and of the counts of one thread."""
    return (8 * width + 20) * (vertices + 2) + 12 * vertices + vertices // 8 + 16


def fitting(vertices: int, block: int, workers: int, room: int) -> tuple[int, int]:
    """The words of a row and the threads whose memory fits `room` bytes, for blocks of at most so many columns.

    Rows are narrower before threads are fewer; there is no thread if not even one fits."""
    width = LEAST * max(1, -(-block // (LEAST * WORD)))
    while width > LEAST and workers * memory_of(vertices, width) > room:
        width = LEAST * (width // LEAST // 2)
    return width, min(workers, room // memory_of(vertices, width))


def count_all(task: Task, workers: int) -> np.ndarray:
    """How many original vertices each component reaches, its own included, int64[k]. Raises TooLittleMemory."""
    form = reduced(task)
    return expanded(task, form, swept(form, workers)[0])


def swept(form: Reduced, workers: int, most: int = BLOCK) -> tuple[np.ndarray, dict[str, int], int]:
    """The weights of the columns that each vertex reaches, int64[r]; the work; and the bytes that were needed.

    Threads take blocks of at most `most` columns in turns. Raises TooLittleMemory if not one thread's rows fit half of
    what is free.
    """
    room = memory.available() // 2
    width, threads = fitting(form.vertices, min(most, form.columns.shape[0]), workers, room)
    if not threads:
        raise TooLittleMemory(
            f"counting {form.vertices:,} vertices needs {decimal_size(memory_of(form.vertices, width))}, "
            f"{decimal_size(room)} may be used"
        )
    size = min(most, width * WORD)
    blocks = deque(range(0, form.columns.shape[0], size))
    threads = max(1, min(threads, len(blocks)))
    count, work = len(blocks), np.zeros((threads, 4), np.int64)

    def take(number: int) -> np.ndarray:
        found = np.zeros(form.vertices, np.int64)
        rows = _rows_for(form.vertices, width)
        while True:
            try:
                first = blocks.popleft()
            except IndexError:
                return found
            mine = slice(first, first + size)
            planes = _planes(form.weights[mine])
            _sweep(form.offsets, form.parents, form.columns[mine], planes, rows, found, work[number])

    with ThreadPool(threads) as pool:
        found = pool.each(take, range(threads))
    names = "vertices_visited", "edges_pushed", "rows_joined", "rows_made"
    counters = {"blocks": count} | dict(zip(names, work.sum(axis=0).tolist(), strict=True))
    return sum(found[1:], found[0]), counters, threads * memory_of(form.vertices, width)


def _rows_for(vertices: int, width: int) -> Rows:
    """New memory, of which only what is used is taken from the system."""
    return Rows(
        np.empty((vertices + 2) * width, np.uint64),
        np.empty(vertices + 2, np.uint64),
        np.empty(vertices + 2, np.int32),
        np.empty(vertices + 2, np.int64),
        np.zeros(vertices, np.int32),
        np.zeros(vertices // WORD + 1, np.uint64),
        np.ones(1, np.int64),
    )


@njit(cache=True, nogil=True)
def _planes(weights):
    """What the columns of a block weigh beyond 1, as bits of numbers: uint64[p, 3] of a word, which of its bits are
    columns with that bit of their number, and the place of that bit. So a row weighs its bits, and for each plane the
    bits that it shares with it, shifted."""
    most = np.int64(1)
    for weight in weights:
        most = max(most, weight)
    planes, count = np.empty((weights.shape[0] * 64, 3), np.uint64), 0
    for place in range(64):
        if (most - 1) >> place == 0:
            break
        for word in range(0, weights.shape[0], WORD):
            bits = _0
            for i in range(word, min(word + WORD, weights.shape[0])):
                bits |= np.uint64(((weights[i] - 1) >> place) & 1) << np.uint64(i - word)
            if bits:
                planes[count, 0], planes[count, 1], planes[count, 2] = word >> 6, bits, place
                count += 1
    return planes[:count].copy()


@njit(cache=True, nogil=True)
def _sweep(offsets, parents, columns, planes, rows, counts, work):
    """Adds to counts[v] (int64[r]) the weight of the columns of a block that v reaches.

    offsets, parents   see `Reduced`
    columns            int32[at most 64 * width], ascending; planes: their weights, see `_planes`
    work               int64[4]: vertices visited, edges to parents, rows that were joined with another, and made
    """
    words, used, owner, weights, refs, marks, start = rows
    width = np.uint64(words.shape[0] // used.shape[0])
    every = ~_0 >> (np.uint64(WORD) - width)
    if start[0] > MOST:
        refs[:] = 0
        start[0] = 1
    full = np.int32(start[0])
    top = full + np.int32(1)
    owner[0], weights[0] = -1, columns.shape[0]
    heavy = _0
    for i in range(planes.shape[0]):
        heavy |= _1 << planes[i, 0]
        weights[0] += np.int64(ones(planes[i, 1]) << planes[i, 2])
    for i in range(columns.shape[0]):
        marks[columns[i] >> 6] |= _1 << np.uint64(columns[i] & 63)
    column = 0
    for block in range(columns[0] >> 6, marks.shape[0]):
        while marks[block]:
            v = np.int32(block * 64) + np.int32(lowest(marks[block]))
            marks[block] &= marks[block] - _1
            ref = refs[v]
            own = ref >= full and owner[ref - full] == v
            if column < columns.shape[0] and columns[column] == v:
                if not own:
                    _copy(words, used, np.uint64(top - full), ref, full, width)
                    refs[v] = ref = top
                    owner[ref - full] = v
                    top += np.int32(1)
                    own = True
                at, word = np.uint64(ref - full), np.uint64(column >> 6)
                if not (used[at] >> word) & _1:
                    words[at * width + word] = _0
                words[at * width + word] |= _1 << np.uint64(column & 63)
                used[at] |= _1 << word
                column += 1
            if own:
                bits = _weigh(words, used, weights, np.uint64(ref - full), planes, heavy, width)
                if bits == np.uint64(columns.shape[0]):
                    refs[v] = ref = full
            counts[v] += weights[ref - full]
            work[0] += 1
            work[1] += offsets[v + 1] - offsets[v]
            for k in range(offsets[v], offsets[v + 1]):
                p = parents[k]
                other = refs[p]
                if other < full:
                    refs[p] = ref
                    marks[p >> 6] |= _1 << np.uint64(p & 63)
                elif ref == full:
                    refs[p] = full
                elif other != ref and other != full:
                    work[2] += 1
                    a, b = np.uint64(other - full), np.uint64(ref - full)
                    if owner[a] == p:
                        _add(words, used, a, b, every, width)
                        continue
                    more, less = _join(words, used, a, b, np.uint64(top - full), every, width)
                    if more and less:
                        owner[top - full] = p
                        refs[p] = top
                        top += np.int32(1)
                    elif more:
                        refs[p] = ref
    work[3] += top - full - 1
    start[0] = top


@njit(cache=True)
def _copy(words, used, to, ref, full, width):
    """Makes row `to` that of a reference, which is empty if less than `full`."""
    used[to] = _0
    if ref >= full:
        a = np.uint64(ref - full)
        used[to] = left = used[a]
        while left:
            w = lowest(left)
            left &= left - _1
            words[to * width + w] = words[a * width + w]


@njit(cache=True)
def _weigh(words, used, weights, at, planes, heavy, width):
    """Sets what a row weighs, and returns the number of its bits."""
    bits, left = _0, used[at]
    while left:
        bits += ones(words[at * width + lowest(left)])
        left &= left - _1
    weight = np.int64(bits)
    if used[at] & heavy:
        for i in range(planes.shape[0]):
            if (used[at] >> planes[i, 0]) & _1:
                weight += np.int64(ones(words[at * width + planes[i, 0]] & planes[i, 1]) << planes[i, 2])
    weights[at] = weight
    return bits


@njit(cache=True)
def _add(words, used, a, b, every, width):
    """Adds the bits of row b to those of row a."""
    if used[a] & used[b] == every:
        for w in range(_0, width, np.uint64(LEAST)):
            for j in range(np.uint64(LEAST)):
                words[a * width + w + j] |= words[b * width + w + j]
        return
    both, left = used[a] & used[b], used[b] & ~used[a]
    while both:
        w = lowest(both)
        both &= both - _1
        words[a * width + w] |= words[b * width + w]
    used[a] |= used[b]
    while left:
        w = lowest(left)
        left &= left - _1
        words[a * width + w] = words[b * width + w]


@njit(cache=True)
def _join(words, used, a, b, to, every, width):
    """Makes row `to` the union of rows a and b, unless that is one of them. Returns what b has and a has not, and what
    a has and b has not: 0 for nothing, else any number."""
    more, less = used[b] & ~used[a], used[a] & ~used[b]
    if used[a] & used[b] == every:
        for w in range(_0, width, np.uint64(LEAST)):
            for j in range(np.uint64(LEAST)):
                x, y = words[a * width + w + j], words[b * width + w + j]
                words[to * width + w + j] = x | y
                more |= y & ~x
                less |= x & ~y
        used[to] = every
        return more, less
    both = used[a] & used[b]
    only_b, only_a = more, less
    while both:
        w = lowest(both)
        both &= both - _1
        x, y = words[a * width + w], words[b * width + w]
        words[to * width + w] = x | y
        more |= y & ~x
        less |= x & ~y
    if more and less:
        used[to] = used[a] | used[b]
        while only_b:
            w = lowest(only_b)
            only_b &= only_b - _1
            words[to * width + w] = words[b * width + w]
        while only_a:
            w = lowest(only_a)
            only_a &= only_a - _1
            words[to * width + w] = words[a * width + w]
    return more, less
