"""Answers pairs by the records of `build`, and by a search from both ends where these leave a pair open.

Records and rows lie at random places of memory, so most of the time is spent waiting for them. The kernels ask for what
they will read next (`prefetch`): the records of a pair that comes a few pairs later, the row of a vertex when it joins
the queue, and the records of the row's ends one vertex before they are looked at.
"""

import numpy as np
from numba import njit

from grailbench.graph.instructions import prefetch
from grailbench.problems.reachability.supports.build import (
    ABOVE,
    BELOW,
    DOWN,
    FIRST,
    HEIGHT,
    LEVEL,
    SHORT,
    TREE_DOWN,
    TREE_UP,
    UP,
    WHOLE,
    WIDTH,
    WORDS,
)  # fmt: skip

COUNTS = (
    "queries", "excluded_by_level", "excluded_by_hubs", "excluded_by_labels", "accepted_by_hubs", "accepted_by_tree",
    "searches", "vertices_expanded", "edges_scanned",
)  # fmt: skip
#: what records say of a pair, 'yes' from `BY_SUPPORT` on; the first places of `COUNTS` but for `OPEN`
OPEN, BY_LEVEL, AGAINST_SUPPORT, AGAINST_TREE, BY_SUPPORT, BY_TREE = range(6)
_SEARCHES, _EXPANDED, _SCANNED = 6, 7, 8
DEEP = 64  #: edges whose ends' records are loaded together, before the first of them is looked at
AHEAD = 8  #: pairs by which the records of a pair are loaded before they are read
_0, _1, _6, _63 = (np.uint64(value) for value in (0, 1, 6, 63))
_LEVEL, _HEIGHT, _DOWN, _UP = (np.uint64(lane) for lane in (LEVEL, HEIGHT, DOWN, UP))
_BELOW, _ABOVE, _TREE_DOWN, _TREE_UP = (np.uint64(lane) for lane in (BELOW, ABOVE, TREE_DOWN, TREE_UP))
_SHORT, _WHOLE, _WIDTH, _WORDS = (np.uint64(size) for size in (SHORT, WHOLE, WIDTH, WORDS))


def scratch(vertices: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """New memory for searches: two bits a vertex, and int32[n] for the queues, one from each side, and for leaves."""
    marks = np.zeros(2 * (vertices // 64 + 1), np.uint64)
    return marks, np.empty(vertices, np.int32), np.empty(vertices, np.int32)


@njit(cache=True, inline="always")
def judged(lanes, words, trees, u, v):
    """What the records say of u reaching v, two different vertices (uint64): `OPEN` or what settles it.

    lanes  int32[(n + 1) * WHOLE], or with SHORT where `words` is None
    words  the same memory, uint64[(n + 1) * WIDTH], or None
    trees  True if the records have trees, else None
    """
    stride = _SHORT if words is None else _WHOLE
    a, b = u * stride, v * stride
    if trees is not None:
        down, up = lanes[b + _TREE_DOWN + _1], lanes[a + _TREE_UP + _1]
        unseen = (lanes[b + _BELOW] & ~lanes[a + _BELOW]) | (lanes[a + _ABOVE] & ~lanes[b + _ABOVE])
        if (down > lanes[a + _TREE_DOWN + _1]) | (up > lanes[b + _TREE_UP + _1]) | (unseen != 0):
            return AGAINST_TREE
        if (lanes[a + _TREE_DOWN] <= down) | (lanes[b + _TREE_UP] <= up):
            return BY_TREE
    elif (lanes[a + _LEVEL] >= lanes[b + _LEVEL]) | (lanes[a + _HEIGHT] <= lanes[b + _HEIGHT]):
        return BY_LEVEL
    if words is None:
        return OPEN
    a, b = u * _WIDTH + np.uint64(FIRST), v * _WIDTH + np.uint64(FIRST)
    between = beyond = _0
    for word in range(_WORDS if trees is None else _WORDS - _1):
        reached, to = words[a + word], words[b + _WORDS + word]
        between |= reached & to
        beyond |= (words[b + word] & ~reached) | (words[a + _WORDS + word] & ~to)
    if between != _0:
        return BY_SUPPORT
    return AGAINST_SUPPORT if beyond != _0 else OPEN


@njit(cache=True, inline="always")
def _load(lanes, stride, v):
    """Asks for the record of a vertex (uint64)."""
    prefetch(lanes, v * stride)


@njit(cache=True, nogil=True)
def answer(pairs, block, lanes, words, trees, rows, halves, scratch, most, answers, counts):
    """Answers the pairs of a block of a batch. Returns the edges that were looked at.

    pairs    (sources, targets), int32[q] each, of vertices below n
    block    the first pair, and the one after the last
    lanes, words, trees  as in `judged`
    rows     the ends of edges that are searched downwards and upwards, int32 each
    halves   whether each edge is in one of these rows: then both searches must end before the answer is 'no', else one
    scratch  from `scratch(n)`, with no mark
    most     edges that are looked at for a pair at most; without an answer then, it is 'no'
    answers  bool[q]
    counts   int64[len(COUNTS)] or None
    """
    sources, targets = pairs
    stride, root = _SHORT if words is None else _WHOLE, np.uint64(scratch[1].shape[0] - 1)
    first, last = block
    left, open_ = np.empty(last - first, np.int64), 0
    for i in range(first, last):
        if i + AHEAD < last:
            _load(lanes, stride, np.uint64(sources[i + AHEAD]))
            _load(lanes, stride, np.uint64(targets[i + AHEAD]))
        u, v = np.uint64(sources[i]), np.uint64(targets[i])
        if (u == v) | (u == root):  # the super-root reaches everything
            answers[i] = True
            continue
        by = judged(lanes, words, trees, u, v)
        answers[i] = by >= BY_SUPPORT
        left[open_] = i
        open_ += by == OPEN
        if counts is not None and by != OPEN:
            counts[by] += 1
    scanned = 0
    for i in left[:open_]:
        ends = np.uint64(sources[i]), np.uint64(targets[i])
        answers[i], edges = _search(ends, lanes, words, trees, rows, halves, scratch, most, counts)
        scanned += edges
    if counts is not None:
        counts[0] += last - first
        counts[_SEARCHES] += open_
        counts[_SCANNED] += scanned
    return scanned


@njit(cache=True, nogil=True)
def _search(ends, lanes, words, trees, rows, halves, scratch, most, counts):
    """Searches breadth first down from the first end and up from the second, on the side that has looked at fewer edges
    after its next row. Returns whether they met, and how many edges were looked at. Arguments as in `answer`."""
    stride = _SHORT if words is None else _WHOLE
    (source, target), (down, up), (marks, queue, leaves) = ends, rows, scratch
    n = np.uint64(queue.shape[0])
    _mark(marks, source, _0)
    _mark(marks, target, _1)
    queue[0], queue[n - _1] = source, target
    head, tail, left, right, leaf = _0, _1, n - _1, n - np.uint64(2), _0  # the second queue grows from the right
    below = above = expanded = 0  # edges looked at
    found = False
    while not found and below + above < most:
        waiting, other = head < tail, left != right
        if not (waiting or other) or not (halves or (waiting and other)):
            break
        loaded = 0
        if waiting and other:
            at, above_at = np.uint64(queue[head]) * stride + _DOWN, np.uint64(queue[left]) * stride + _UP
            waiting = below + _length(lanes, at, stride) <= above + _length(lanes, above_at, stride)
        if waiting:
            last = head
            while last < tail and loaded < DEEP:
                loaded += _load_row(lanes, down, np.uint64(queue[last]) * stride + _DOWN, stride)
                last += _1
            while head < last and not found:
                at = np.uint64(queue[head]) * stride + _DOWN
                head += _1
                expanded += 1
                for k in range(np.uint64(lanes[at]), np.uint64(lanes[at + stride])):
                    v = np.uint64(down[k])
                    below += 1
                    state = _marked(marks, v)
                    if state == 2:
                        found = True
                        break
                    if state == 1:
                        continue
                    by = judged(lanes, words, trees, v, target)
                    if by == OPEN:
                        _mark(marks, v, _0)
                        row = v * stride + _DOWN
                        if halves and lanes[row] == lanes[row + stride]:
                            leaves[leaf] = v
                            leaf += _1
                        else:
                            prefetch(down, np.uint64(lanes[row]))
                            prefetch(lanes, row + stride)  # where the row ends
                            queue[tail] = v
                            tail += _1
                    elif by >= BY_SUPPORT:
                        found = True
                        break
        else:
            last = left
            while last != right and loaded < DEEP:
                loaded += _load_row(lanes, up, np.uint64(queue[last]) * stride + _UP, stride)
                last -= _1
            while left != last and not found:
                at = np.uint64(queue[left]) * stride + _UP
                left -= _1
                expanded += 1
                for k in range(np.uint64(lanes[at]), np.uint64(lanes[at + stride])):
                    v = np.uint64(up[k])
                    above += 1
                    state = _marked(marks, v)
                    if state == 1:
                        found = True
                        break
                    if state == 2:
                        continue
                    by = judged(lanes, words, trees, source, v)
                    if by == OPEN:
                        _mark(marks, v, _1)
                        row = v * stride + _UP
                        if halves and lanes[row] == lanes[row + stride]:
                            leaves[leaf] = v
                            leaf += _1
                        else:
                            prefetch(up, np.uint64(lanes[row]))
                            prefetch(lanes, row + stride)  # where the row ends
                            queue[right] = v
                            right -= _1
                    elif by >= BY_SUPPORT:
                        found = True
                        break
    _unmark(marks, queue, _0, tail)
    _unmark(marks, queue, right + _1, n)
    _unmark(marks, leaves, _0, leaf)
    if counts is not None:
        counts[_EXPANDED] += expanded
    return found, below + above


@njit(cache=True, inline="always")
def _length(lanes, at, stride):
    """Returns the edges of the row whose first end stands in a record at `at`."""
    return np.int64(lanes[at + stride] - lanes[at])


@njit(cache=True, inline="always")
def _load_row(lanes, ends, at, stride):
    for k in range(np.uint64(lanes[at]), np.uint64(lanes[at + stride])):
        _load(lanes, stride, np.uint64(ends[k]))
    return _length(lanes, at, stride)


@njit(cache=True, inline="always")
def _mark(marks, v, side):
    """Marks a vertex (uint64) as met from the source (side 0) or the target (1)."""
    marks[((v >> _6) << _1) + side] |= _1 << (v & _63)


@njit(cache=True, inline="always")
def _marked(marks, v):
    """0 for a vertex that was not met, 1 if from the source, 2 if from the target."""
    at, bit = (v >> _6) << _1, v & _63
    return ((marks[at] >> bit) & _1) + (((marks[at + _1] >> bit) & _1) << _1)


@njit(cache=True, inline="always")
def _unmark(marks, vertices, first, last):
    for i in range(first, last):
        at = (np.uint64(vertices[i]) >> _6) << _1
        marks[at] = marks[at + _1] = _0
