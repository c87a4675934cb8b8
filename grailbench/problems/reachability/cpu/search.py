"""Answers queries on one thread: by the filter, and by searches for the queries left open (thesis algorithms 2 and 3,
and the search from both ends that its section 2.3 names).

Related arguments are plain tuples (numba takes 3 us to dispatch on a NamedTuple):

share    (first, size, step): the blocks of `size` queries, BLOCK at most, that begin at first, first + step, ...
batch    (sources, targets, answers): int32[k] twice, and bool[k], written
rows     (offsets, children, levels): int64[n + 1], int32[m], and the levels for the level filter: int16[n] or int32[n],
         or of length 0 without it
parents  (offsets, parents): int64[n + 1], int32[m], for searches from both ends; None for those from the source

In a block the filter takes all queries first, free of branches; the list of open ones stays in the first-level cache.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from grailbench.problems.reachability.counters import (
    BY_HUBS,
    BY_LABELS,
    BY_LEVEL,
    BY_TREE,
    EXPANDED,
    HUBS_ACCEPT,
    HUBS_TESTED,
    LABELS_TESTED,
    LEVELS_COMPARED,
    QUERIES,
    SCANNED,
    SEARCHES,
)
from grailbench.problems.reachability.hubs import joined, parted
from grailbench.problems.reachability.labels import contains, cuts

BLOCK = 2048  #: most queries per block
NO_LEVELS = np.empty(0, np.int16)  #: without the level filter
_1, _2 = np.uint64(1), np.uint64(2)


class Scratch(namedtuple("Scratch", "stamps stack opened goal marks")):
    """The scratch memory of one thread for searches of a DAG of n vertices.

    stamps  int32[n]       the number of the search that last pushed the vertex
    stack   int32[n]       vertices to expand, as a stack or a queue
    opened  int32[BLOCK]   open queries of the block
    goal    int32[width]   the target's record
    marks   int64[1]       searches so far
    """


def scratch(vertices: int, width: int = 1) -> Scratch:
    """Returns new scratch arrays for one thread."""
    return Scratch(
        np.zeros(vertices, np.int32),
        np.empty(vertices, np.int32),
        np.empty(BLOCK, np.int32),
        np.empty(width, np.int32),
        np.zeros(1, np.int64),
    )


@njit(cache=True, inline="always")
def _next_mark(stamps, marks):
    if marks[0] == 2**31 - 1:
        stamps[:] = 0
        marks[0] = 0
    marks[0] += 1
    return np.int32(marks[0])


@njit(cache=True, nogil=True)
def search_open(left, batch, rows, labels, hubs, scratch, breadth_first, counts):
    """Answers the first `left` opened queries by DFS (algorithm 2) or BFS (algorithm 3), one after the other.

    A child that a label or a hub excludes is never pushed; without labels (None) only the target ends a search early.
    One call answers many queries, since a call with so many arrays costs as much as a short search.
    """
    (sources, targets, answers), (offsets, children, _) = batch, rows
    stamps, stack, opened, goal, marks = scratch
    zero = np.uint64(0)
    if labels is not None:
        lanes, width, pairs = labels
    for j in range(left):
        i = opened[j]
        target = np.uint64(targets[i])
        if labels is not None:
            for lane in range(goal.shape[0]):
                goal[lane] = lanes[target * width + np.uint64(lane)]
        if hubs is not None:
            goal_forward, goal_backward = hubs[target + target], hubs[target + target + _1]
        mark = _next_mark(stamps, marks)
        stack[0] = sources[i]
        head, tail = zero, _1
        found = np.uint64(sources[i]) == target
        if counts is not None:
            counts[SEARCHES] += 1
        while head != tail and not found:
            if breadth_first:
                u = np.uint64(stack[head])
                head += _1
            else:
                tail -= _1
                u = np.uint64(stack[tail])
            if counts is not None:
                counts[EXPANDED] += 1
            for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _1])):
                c = np.uint64(children[k])
                if counts is not None:
                    counts[SCANNED] += 1
                    if labels is not None:
                        counts[LABELS_TESTED] += 1
                certain = c == target
                if labels is not None:
                    if not contains(lanes, c * width, goal, zero, pairs):
                        continue
                    certain |= cuts(lanes, c * width, goal, zero, pairs)
                if certain:
                    found = True
                    break
                if stamps[c] != mark:
                    stamps[c] = mark
                    if hubs is not None:
                        forward = hubs[c + c]
                        if counts is not None:
                            counts[HUBS_TESTED] += 1
                        if joined(forward, goal_backward):
                            found = True
                            break
                        if parted(forward, hubs[c + c + _1], goal_forward, goal_backward):
                            continue
                    stack[tail] = np.int32(c)
                    tail += _1
        answers[i] = found


@njit(cache=True, nogil=True)
def search_both(left, batch, rows, parents, labels, scratch, counts):
    """Answers the first `left` opened queries by a breadth-first search down from the source and one up from the target
    (BBFS), until they meet. The one with fewer vertices to expand goes on.

    Down, a child is visited whose labels contain those of the target; up, a parent whose labels are within those of the
    source.
    """
    (sources, targets, answers), (offsets, children, _), (above, over) = batch, rows, parents
    stamps, stack, opened, _, marks = scratch
    lanes, width, pairs = labels
    for j in range(left):
        i = opened[j]
        source, target = np.uint64(sources[i]), np.uint64(targets[i])
        a, b = source * width, target * width
        down, up = _next_mark(stamps, marks), _next_mark(stamps, marks)
        first, last, low, high = 0, 1, stack.shape[0] - 2, stack.shape[0] - 1  # one queue at each end of the stack
        stack[first], stack[high] = sources[i], targets[i]
        stamps[source], stamps[target] = down, up
        found = source == target
        if counts is not None:
            counts[SEARCHES] += 1
        while first < last and low < high and not found:
            downward = last - first <= high - low
            if downward:
                u, mine, other = np.uint64(stack[first]), down, up
                first += 1
                start, end = offsets[u], offsets[u + _1]
            else:
                u, mine, other = np.uint64(stack[high]), up, down
                high -= 1
                start, end = above[u], above[u + _1]
            if counts is not None:
                counts[EXPANDED] += 1
            for k in range(np.uint64(start), np.uint64(end)):
                v = np.uint64(children[k] if downward else over[k])
                if counts is not None:
                    counts[SCANNED] += 1
                found = stamps[v] == other
                if found:
                    break
                if stamps[v] == mine:
                    continue
                x, y = (v * width, b) if downward else (a, v * width)
                if counts is not None:
                    counts[LABELS_TESTED] += 1
                if not contains(lanes, x, lanes, y, pairs):
                    continue
                found = cuts(lanes, x, lanes, y, pairs)
                if found:
                    break
                stamps[v] = mine
                if downward:
                    stack[last] = np.int32(v)
                    last += 1
                else:
                    stack[low] = np.int32(v)
                    low -= 1
        answers[i] = found


@njit(cache=True, nogil=True)
def _filter_by_level(batch, levels, opened, counts):
    """Opens the queries of a block that the levels do not exclude and whose ends differ; returns their number."""
    sources, targets, answers = batch
    count = 0
    for i in range(answers.shape[0]):
        u, v = np.uint64(sources[i]), np.uint64(targets[i])
        answers[i] = u == v
        opened[count] = i
        count += levels[u] < levels[v] if levels.shape[0] else u != v
    if counts is not None:
        counts[LABELS_TESTED] += count
        if levels.shape[0]:
            counts[LEVELS_COMPARED] += answers.shape[0]
            counts[BY_LEVEL] += answers.shape[0] - count
    return count


@njit(cache=True, nogil=True)
def _filter_by_labels(count, batch, labels, opened, counts):
    """Keeps those of the first `count` opened queries that neither labels nor tree decide; returns their number."""
    sources, targets, answers = batch
    lanes, width, pairs = labels
    left = 0
    for j in range(count):
        i = opened[j]
        a, b = np.uint64(sources[i]) * width, np.uint64(targets[i]) * width
        inside = contains(lanes, a, lanes, b, pairs)
        found = inside & cuts(lanes, a, lanes, b, pairs)
        answers[i] |= found
        opened[left] = i
        left += inside & (not found)
        if counts is not None:
            counts[BY_LABELS] += not inside
            counts[BY_TREE] += found
    return left


@njit(cache=True, nogil=True)
def _filter_by_hubs(count, batch, hubs, opened, counts):
    """Keeps those of the first `count` opened queries that the hubs do not decide; returns their number."""
    sources, targets, answers = batch
    left = 0
    for j in range(count):
        i = opened[j]
        u, v = _2 * np.uint64(sources[i]), _2 * np.uint64(targets[i])
        found = joined(hubs[u], hubs[v + _1])
        excluded = parted(hubs[u], hubs[u + _1], hubs[v], hubs[v + _1])
        answers[i] |= found
        opened[left] = i
        left += not (found | excluded)
        if counts is not None:
            counts[BY_HUBS] += excluded
            counts[HUBS_ACCEPT] += found
    if counts is not None:
        counts[HUBS_TESTED] += count
    return left


@njit(cache=True, nogil=True)
def answer_blocks(share, batch, rows, parents, labels, hubs, scratch, breadth_first, counts):
    """Answers a share of a batch: filters, then searches the open queries.

    labels: None to search every query without an index. hubs: uint64[2 n], see `hubs`, or None. scratch and counts (see
    `counters`, or None) belong to this thread.
    """
    opened, levels = scratch.opened, rows[2]
    sources, targets, answers = batch
    first, size, step = share
    total = answers.shape[0]
    for start in range(first, total, step):
        end = min(start + size, total)
        block = sources[start:end], targets[start:end], answers[start:end]  # indices from 0 need no check of their sign
        if counts is not None:
            counts[QUERIES] += end - start
        if labels is None:
            left = end - start
            for j in range(left):
                opened[j] = j
        else:
            left = _filter_by_level(block, levels, opened, counts)
            left = _filter_by_labels(left, block, labels, opened, counts)
            if hubs is not None:
                left = _filter_by_hubs(left, block, hubs, opened, counts)
        if parents is None:
            search_open(left, block, rows, labels, hubs, scratch, breadth_first, counts)
        else:
            search_both(left, block, rows, parents, labels, scratch, counts)
