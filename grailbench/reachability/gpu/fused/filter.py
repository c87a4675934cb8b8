"""The first pass over a batch: what level, labels, tree and hubs settle; the rest goes into a list.

Vertices are numbered by level from here on: id u of the DAG is rank[u], the super-root 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.device import team
from grailbench.device.gateway import cuda, of_cpu
from grailbench.reachability import hubs, labels

OPEN, KEPT, TICKET, LATE, LATE_TICKET, LOST = range(6)  #: places in `counts`: queries left open, and taken, by stage
COUNTS = 16  #: int32 in `counts`
_1, _2 = np.uint64(1), np.uint64(2)

contains, joined, parted = map(of_cpu, (labels.contains, hubs.joined, hubs.parted))


class Records(NamedTuple):
    """Labels and hubs on the device, by vertex number.

    lanes int32[n * width], width uint64: as in `records.Labels`; pairs: a tuple of d zeros
    hubs uint64[2 n]: as in `hubs`; a single word where that filter is off
    """

    lanes: object
    width: object
    pairs: tuple[int, ...]
    hubs: object


class Todo(NamedTuple):
    """Open queries on the device: source and target (vertex numbers) and place in the batch, int32[k] each."""

    sources: object
    targets: object
    places: object


@cuda.jit(device=True)
def above(lanes, a, b, pairs):
    """Whether the levels alone say that the record at `a` is of no proper ancestor of the one at `b`.

    Level 0 below the super-root means that there is no level filter.
    """
    level = _2 * np.uint64(len(pairs))
    return (lanes[a + level] >= lanes[b + level]) & (lanes[b + level] > 0)


@cuda.jit(device=True)
def cut(lanes, a, b, pairs):
    """Whether the record at `b` is of a vertex in the subtree of that at `a`, in the tree of pair 0."""
    tree = _2 * np.uint64(len(pairs)) + _1
    return (lanes[a + tree] <= -lanes[b + tree + _1]) & (lanes[a + tree + _1] <= lanes[b + tree + _1])


@cuda.jit(device=True)
def list_open(left, u, v, place, todo, counts, stage):
    """Append the lanes' queries that are `left` to `todo`, counted at counts[stage]. All lanes of a team arrive."""
    before, found = team.placed(left)
    if found != 0:
        first = np.int32(0)
        if team.lane() == 0:
            first = cuda.atomic.add(counts, stage, found)
        at = team.told(first, 0) + before
        if left:
            todo.sources[at] = u
            todo.targets[at] = v
            todo.places[at] = place


@cuda.jit(cache=True)
def sieve(sources, targets, rank, records, answers, todo, counts):
    """Answer what the filters settle and list the rest.

    sources, targets int32[k]: ids of the DAG; rank int32[n]; answers uint8[k], written; counts int32[COUNTS]. Any
    one-dimensional grid of whole teams. The order of the list follows the order in which blocks arrive; no answer
    depends on it.
    """
    lanes, width, pairs, hubs = records
    lane = team.lane()
    total = sources.shape[0]
    for base in range(cuda.grid(1) - lane, total, cuda.gridsize(1)):
        i = base + lane
        left = False
        u = v = np.int32(0)
        if i < total:
            u, v = rank[sources[i]], rank[targets[i]]
            found = u == v
            a, b = np.uint64(u) * width, np.uint64(v) * width
            if not found and not above(lanes, a, b, pairs) and contains(lanes, a, lanes, b, pairs):
                found = cut(lanes, a, b, pairs)
                left = not found
                if left and hubs.shape[0] > 1:
                    s, t = _2 * np.uint64(u), _2 * np.uint64(v)
                    found = joined(hubs[s], hubs[t + _1])
                    left = not (found or parted(hubs[s], hubs[s + _1], hubs[t], hubs[t + _1]))
            answers[i] = found
        list_open(left, u, v, i, todo, counts, OPEN)
