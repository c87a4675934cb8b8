"""Answers on the CPU from the records of `gpu-fused`: filters, then a depth-first search that the labels prune.

The records (`gpu.fused.filter.Records`) are by vertex of the `Dag` here, so that they stand beside its rows.
"""

from collections.abc import Callable

import numpy as np

from grailbench.graph.hashing import mix64
from grailbench.outofcore.paged import ALL, read_runs
from grailbench.problems.reachability.counters import EXPANDED, QUERIES, SCANNED, SEARCHES
from grailbench.problems.reachability.hubs import joined, parted
from grailbench.problems.reachability.labels import contains
from grailbench.util.compiled import njit

_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
NO, YES, OPEN = 0, 1, 2


@njit(cache=True, inline="always")
def in_subtree(lanes, a, b, pairs):
    """Whether the vertex of record `b` is in the subtree of that of record `a`, in the tree of pair 0."""
    tree = _2 * np.uint64(len(pairs)) + _1
    return (lanes[a + tree] <= -lanes[b + tree + _1]) & (lanes[a + tree + _1] <= lanes[b + tree + _1])


@njit(cache=True, inline="always")
def decided(u, v, records, hubs):
    """`NO` or `YES` where labels, level, tree or hubs tell whether u reaches v, else `OPEN`. u, v: uint64."""
    lanes, width, pairs = records
    a, b, level = u * width, v * width, _2 * np.uint64(len(pairs))
    if u == v:
        return YES
    if lanes[a + level] >= lanes[b + level] or not contains(lanes, a, lanes, b, pairs):
        return NO
    if in_subtree(lanes, a, b, pairs) or joined(hubs[u + u], hubs[v + v + _1]):
        return YES
    return NO if parted(hubs[u + u], hubs[u + u + _1], hubs[v + v], hubs[v + v + _1]) else OPEN


@njit(cache=True, nogil=True)
def sift(sources, targets, records, hubs, outcomes):
    """Fills outcomes, int8[k], with what `decided` says of each query."""
    for i in range(sources.shape[0]):
        outcomes[i] = decided(np.uint64(sources[i]), np.uint64(targets[i]), records, hubs)


@njit(cache=True, nogil=True)
def answer(sources, targets, answers, rows, records, hubs, stamps, stack, marks, counts):
    """Answers queries one after the other.

    sources, targets int32[k], answers bool[k]; rows: offsets int64[n + 1] and children int32[m]; records: `Labels` of
    int32[n * width]; hubs uint64[2 n]; stamps, stack, marks: as in `cpu.search.Scratch`; counts: `counters`, or None
    """
    offsets, children = rows
    for i in range(sources.shape[0]):
        goal = np.uint64(targets[i])
        outcome = decided(np.uint64(sources[i]), goal, records, hubs)
        if counts is not None:
            counts[QUERIES] += 1
            counts[SEARCHES] += outcome == OPEN
        answers[i] = outcome == YES
        if outcome != OPEN:
            continue
        if marks[0] == 2**31 - 1:
            stamps[:] = 0
            marks[0] = 0
        marks[0] += 1
        mark = np.int32(marks[0])
        stack[0], tail = sources[i], 1
        while tail and not answers[i]:
            tail -= 1
            u = stack[tail]
            if counts is not None:
                counts[EXPANDED] += 1
                counts[SCANNED] += offsets[u + 1] - offsets[u]
            for k in range(offsets[u], offsets[u + 1]):
                c = children[k]
                if stamps[c] != mark:
                    stamps[c] = mark
                    outcome = decided(np.uint64(c), goal, records, hubs)
                    if outcome == YES:
                        answers[i] = True
                        break
                    if outcome == OPEN:
                        stack[tail] = c
                        tail += 1


# ------------------------------------------------------------------ many queries at once, over rows on a disk

AT_ONCE = 2048  #: open queries that are searched together
ITEMS = 1 << 14  #: rows that are read in a round
SLOTS = 1 << 22  #: of the set of (query, vertex) that were found
_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class Rounds:
    """Searches many open queries together, so that a disk is asked for thousands of rows at a time.

    In a round each query takes vertices from its stack, as many as make `items` in all; their rows are asked for in the
    order of the disk, and then read. What a query found is in one hash set for all.

    rows      offsets int64[n + 1], children int32[m]
    ask       is called with pages, first and behind last, int64[k] each, in the order of the file
    base      the byte in its first page at which `children` begins
    """

    def __init__(self, rows, records, hubs, ask: Callable[[np.ndarray, np.ndarray], None], base: int = 0,
                 items: int = ITEMS, slots: int = SLOTS):  # fmt: skip
        self._rows, self._records, self._hubs, self._ask, self._base = rows, records, hubs, ask, base
        self._items = items
        self._seen, self._stack = np.zeros(slots, np.uint64), np.empty((slots // 2, 2), np.int32)
        self._runs = np.empty((2, items), np.int64)

    def answer(self, sources: np.ndarray, targets: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
        """Answers at most `AT_ONCE` open queries: int8[k], `NO`, `YES`, or `OPEN` where the set is too small."""
        answers = np.full(sources.shape[0], OPEN, np.int8)
        heads, keys = np.full(sources.shape[0], -1, np.int64), np.empty(self._items, np.uint64)
        self._seen[:] = 0
        pool = np.zeros(1, np.int64)
        _begin(sources, self._seen, self._stack, heads, pool)
        while True:
            count = _pop(heads, answers, self._stack, keys)
            if not count:
                answers[answers == OPEN] = NO
                return answers
            some = keys[:count]
            some.sort()
            _, runs = read_runs(self._rows[0], some, 0, ALL, self._base, 0, *self._runs)
            self._ask(*self._runs[:, :runs])
            full = _expand(
                some, targets, answers, self._rows, self._records, self._hubs, self._seen, self._stack, heads, pool,
                counts,
            )  # fmt: skip
            if full:
                return answers


@njit(cache=True, inline="always")
def _add(seen, key):
    """Adds a key, uint64 above 0, to the set; returns whether it was not there."""
    mask = np.uint64(seen.shape[0] - 1)
    at = mix64(key) & mask
    while seen[at] != _0 and seen[at] != key:
        at = (at + _1) & mask
    fresh = seen[at] == _0
    seen[at] = key
    return fresh


@njit(cache=True)
def _begin(sources, seen, stack, heads, pool):
    for q in range(sources.shape[0]):
        _add(seen, (np.uint64(q + 1) << _32) | np.uint64(sources[q]))
        stack[pool[0], 0], stack[pool[0], 1] = sources[q], -1
        heads[q] = pool[0]
        pool[0] += 1


@njit(cache=True)
def _pop(heads, answers, stack, keys):
    """Takes vertices from the stacks, evenly; returns how many keys, vertex << 32 | query, were filled."""
    active = 0
    for q in range(heads.shape[0]):
        active += heads[q] >= 0 and answers[q] == OPEN
    count = 0
    if active:
        share = max(1, keys.shape[0] // active)
        for q in range(heads.shape[0]):
            taken = 0
            while heads[q] >= 0 and answers[q] == OPEN and taken < share and count < keys.shape[0]:
                keys[count] = (np.uint64(stack[heads[q], 0]) << _32) | np.uint64(q)
                heads[q] = stack[heads[q], 1]
                count += 1
                taken += 1
    return count


@njit(cache=True, nogil=True)
def _expand(keys, targets, answers, rows, records, hubs, seen, stack, heads, pool, counts):
    """Looks at the children of vertices; returns whether there is no more room to go on."""
    offsets, children = rows
    for key in keys:
        u, q = np.int64(key >> _32), np.int64(key & _LOW)
        if answers[q] != OPEN:
            continue
        if counts is not None:
            counts[EXPANDED] += 1
            counts[SCANNED] += offsets[u + 1] - offsets[u]
        goal = np.uint64(targets[q])
        for k in range(offsets[u], offsets[u + 1]):
            c = children[k]
            outcome = decided(np.uint64(c), goal, records, hubs)
            if outcome == YES:
                answers[q] = YES
                break
            if outcome == OPEN and _add(seen, (np.uint64(q + 1) << _32) | np.uint64(c)):
                if pool[0] == stack.shape[0]:
                    return True
                stack[pool[0], 0], stack[pool[0], 1] = c, heads[q]
                heads[q] = pool[0]
                pool[0] += 1
    return False
