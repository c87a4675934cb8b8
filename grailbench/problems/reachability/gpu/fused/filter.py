"""The first pass over a batch: level, labels, tree and hubs answer queries; the open ones are put into a list.

From here on vertices are numbered by level, the super-root is 0: id u of a query has number rank[u]. Several ids, those
of one strong component, may have the same number.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np

from grailbench.cuda import warp_group
from grailbench.cuda.gateway import cuda, of_cpu
from grailbench.problems.reachability import hubs, labels
from grailbench.problems.reachability.gpu.fused.host import record_width

#: positions in `counts`: queries left open by the filter (OPEN), by one step (KEPT), by the first search (LATE) and by
#: the second (LOST), and queries that the two searches have taken
OPEN, KEPT, TAKEN, LATE, LATE_TAKEN, LOST = range(6)
COUNTS = 16  #: int32 in `counts`
_1, _2 = np.uint64(1), np.uint64(2)

contains, joined, parted = map(of_cpu, (labels.contains, hubs.joined, hubs.parted))


class Records(NamedTuple):
    """The labels of a graph on the device, with vertices numbered by level (`graph.leveled`): the super-root is 0.

    lanes  int32[n * width]: one record per vertex: s_0, -e_0, ..., s_(d-1), -e_(d-1), level, t, -r, zeros. [t, r] is
           the interval of its subtree in the tree of pair 0, r its own rank there: u reaches v if t(u) <= r(v) <= r(u)
    width  uint64: lanes per record
    pairs  a tuple of d zeros: the compiler knows its length, and unrolls loops over pairs
    hubs   uint64[2 n]: F(v) at 2 v, B(v) at 2 v + 1 (`reachability.hubs`); a single word if that filter is off
    """

    lanes: object
    width: np.uint64
    pairs: tuple[int, ...]
    hubs: object


def records_of(lanes, dim: int, hubs) -> Records:
    """Returns the records of `dim` label pairs in device arrays; hubs: 8-byte words of any type."""
    return Records(lanes, np.uint64(record_width(dim)), (0,) * dim, hubs.view(np.uint64))


class Open(namedtuple("Open", "sources targets places")):
    """Open queries on the device: sources and targets (vertex numbers) and places in the batch, int32[k] each."""


class Outcome(namedtuple("Outcome", "answers counts scanned")):
    """The results of all stages of a batch.

    answers uint8[k]; counts int32[COUNTS]; scanned int64[1]: edges that searches scanned, if they count
    """


@cuda.jit(device=True)
def level_excludes(lanes, a, b, pairs):
    """Returns whether the levels prove that the vertex of record `a` is no proper ancestor of that of record `b`.

    Level 0 below the super-root means that there is no level filter.
    """
    level = _2 * np.uint64(len(pairs))
    return (lanes[a + level] >= lanes[b + level]) & (lanes[b + level] > 0)


@cuda.jit(device=True)
def in_subtree(lanes, a, b, pairs):
    """Returns whether the vertex of record `b` is in the subtree of that of record `a`, in the tree of pair 0."""
    tree = _2 * np.uint64(len(pairs)) + _1
    return (lanes[a + tree] <= -lanes[b + tree + _1]) & (lanes[a + tree + _1] <= lanes[b + tree + _1])


@cuda.jit(device=True)
def list_open(is_open, query, to, counts, stage):
    """Appends the open query (source, target, place) of each lane to `to`, and counts it at counts[stage].

    All lanes of a warp group must call it.
    """
    before, found = warp_group.exclusive_count(is_open)
    if found != 0:
        first = np.int32(0)
        if warp_group.lane() == 0:
            first = cuda.atomic.add(counts, stage, found)
        at = warp_group.broadcast(first, 0) + before
        if is_open:
            to.sources[at], to.targets[at], to.places[at] = query


@cuda.jit(cache=True)
def filter_queries(sources, targets, rank, records, outcome, to):
    """Answers the queries that the filters decide, and lists the others in `to`.

    sources, targets int32[k]: ids in `rank`, int32. Any one-dimensional grid of whole warp groups. The order
    of the list varies with the timing of blocks; the answers do not.
    """
    lanes, width, pairs, hubs = records
    lane = warp_group.lane()
    total = sources.shape[0]
    for base in range(cuda.grid(1) - lane, total, cuda.gridsize(1)):
        i = base + lane
        is_open = False
        u = v = np.int32(0)
        if i < total:
            u, v = rank[sources[i]], rank[targets[i]]
            found = u == v
            a, b = np.uint64(u) * width, np.uint64(v) * width
            if not found and not level_excludes(lanes, a, b, pairs) and contains(lanes, a, lanes, b, pairs):
                found = in_subtree(lanes, a, b, pairs)
                is_open = not found
                if is_open and hubs.shape[0] > 1:
                    s, t = _2 * np.uint64(u), _2 * np.uint64(v)
                    found = joined(hubs[s], hubs[t + _1])
                    is_open = not (found or parted(hubs[s], hubs[s + _1], hubs[t], hubs[t + _1]))
            outcome.answers[i] = found
        list_open(is_open, (u, v, i), to, outcome.counts, OPEN)
