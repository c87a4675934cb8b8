"""Answering queries on one thread: the filter, and the searches it leaves over (thesis algorithms 2 and 3).

A batch is cut into blocks. In a block all queries pass the filter first, which is branch-free and keeps many cache
misses in flight; the list of those it leaves open stays in the first-level cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.reachability.counters import (
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
from grailbench.reachability.hubs import joined, parted
from grailbench.reachability.labels import contains, cuts

BLOCK = 2048  #: queries in a block, at most
_1, _2 = np.uint64(1), np.uint64(2)


class Scratch(NamedTuple):
    """What one thread needs to search a DAG of n vertices.

    stamps  int32[n]       the number of the search that last pushed the vertex
    stack   int32[n]       vertices to expand, as a stack or a queue
    opened  int32[BLOCK]   queries of the block that are still open
    goal    int32[width]   the target's record
    marks   int64[1]       searches so far
    """

    stamps: np.ndarray
    stack: np.ndarray
    opened: np.ndarray
    goal: np.ndarray
    marks: np.ndarray


def scratch(vertices: int, width: int = 1) -> Scratch:
    """Fresh scratch arrays for one thread."""
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
def _search_open(left, sources, targets, offsets, children, labels, hubs, scratch, breadth_first, answers, counts):
    """Label-guided DFS (algorithm 2) or BFS (algorithm 3) of the first `left` opened queries, one after the other.

    A child that a label or a hub excludes is never pushed. One call serves many queries: entering a function with this
    many arrays costs as much as a short search.
    """
    lanes, width, pairs = labels
    stamps, stack, opened, goal, marks = scratch
    zero = np.uint64(0)
    for j in range(left):
        i = opened[j]
        target = np.uint64(targets[i])
        for lane in range(goal.shape[0]):
            goal[lane] = lanes[target * width + np.uint64(lane)]
        if hubs is not None:
            goal_forward, goal_backward = hubs[target + target], hubs[target + target + _1]
        mark = _next_mark(stamps, marks)
        stack[0] = sources[i]
        head, tail = zero, _1
        found = False
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
                    counts[LABELS_TESTED] += 1
                if contains(lanes, c * width, goal, zero, pairs):
                    if (c == target) | cuts(lanes, c * width, goal, zero, pairs):
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
def answer_blocks(
    first,
    size,
    step,
    sources,
    targets,
    offsets,
    children,
    labels,
    levels,
    hubs,
    scratch,
    breadth_first,
    answers,
    counts,
):
    """Answer the blocks of `size` queries, BLOCK at most, that begin at `first`, `first + step`, ... of a batch.

    sources, targets int32[k]; answers bool[k], written. levels: int16[n] or int32[n], for the level filter,
    or of length 0 without it. hubs: uint64[2 n], see `hubs`, or None. scratch, counts (see `counters`, or None): of
    this thread alone.
    """
    lanes, width, pairs = labels
    opened = scratch.opened
    total = sources.shape[0]
    for start in range(first, total, step):
        count = 0
        for i in range(start, min(start + size, total)):
            u, v = np.uint64(sources[i]), np.uint64(targets[i])
            answers[i] = u == v
            opened[count] = i
            count += levels[u] < levels[v] if levels.shape[0] else u != v
        if counts is not None:
            asked = min(start + size, total) - start
            counts[QUERIES] += asked
            counts[LABELS_TESTED] += count
            if levels.shape[0]:
                counts[LEVELS_COMPARED] += asked
                counts[BY_LEVEL] += asked - count
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
        if hubs is not None:
            if counts is not None:
                counts[HUBS_TESTED] += left
            count, left = left, 0
            for j in range(count):
                i = opened[j]
                u, v = _2 * np.uint64(sources[i]), _2 * np.uint64(targets[i])
                found = joined(hubs[u], hubs[v + _1])
                apart = parted(hubs[u], hubs[u + _1], hubs[v], hubs[v + _1])
                answers[i] |= found
                opened[left] = i
                left += not (found | apart)
                if counts is not None:
                    counts[BY_HUBS] += apart
                    counts[HUBS_ACCEPT] += found
        _search_open(left, sources, targets, offsets, children, labels, hubs, scratch, breadth_first, answers, counts)


@njit(cache=True, nogil=True)
def search_unguided(sources, targets, offsets, children, scratch, breadth_first, answers, counts):
    """Unguided DFS or BFS for every query, one visit stamp a vertex. Shapes as in `answer_blocks`."""
    stamps, stack, _, _, marks = scratch
    for i in range(sources.shape[0]):
        target = targets[i]
        found = sources[i] == target
        mark = _next_mark(stamps, marks)
        stack[0] = sources[i]
        head, tail = np.uint64(0), _1
        if counts is not None:
            counts[QUERIES] += 1
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
                c = children[k]
                if counts is not None:
                    counts[SCANNED] += 1
                if c == target:
                    found = True
                    break
                if stamps[np.uint64(c)] != mark:
                    stamps[np.uint64(c)] = mark
                    stack[tail] = c
                    tail += _1
        answers[i] = found
