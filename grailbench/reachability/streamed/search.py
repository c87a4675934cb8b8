"""Answers on the CPU from the records of `gpu-fused`: filters, then a depth-first search that the labels prune.

The records (`gpu.fused.records.Records`) are by vertex of the `Dag` here, so that they stand beside its rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.reachability.counters import EXPANDED, QUERIES, SCANNED, SEARCHES
from grailbench.reachability.hubs import joined, parted
from grailbench.reachability.labels import contains

_1, _2 = np.uint64(1), np.uint64(2)
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
