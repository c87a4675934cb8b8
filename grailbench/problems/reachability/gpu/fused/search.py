"""Searches from both ends for the queries that the filters leave open, pruned by every filter at every step.

First one thread per query looks whether one step decides it. A search has a hash table of the vertices reached, with
their sides, and two queues of places in it that grow towards each other. A round expands the side with fewer edges
ahead, until the sides meet, a filter proves that they would, a frontier is empty, or, undecided, memory or budget is
used up. A warp searches first, in shared memory, then a block; the rest is left to `sweep`.
"""

from collections import namedtuple
from functools import cache

import numpy as np
from numpy import int32, int64

from grailbench.cuda import block_group, warp_group
from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import kernel_of
from grailbench.problems.reachability.gpu.fused.filter import (
    KEPT,
    LATE,
    LATE_TAKEN,
    LOST,
    OPEN,
    TAKEN,
    contains,
    in_subtree,
    level_excludes,
    list_open,
    parted,
)

NO, YES, UNDECIDED = 0, 1, 2  # verdicts on a query
_DROP, _KEEP, _PROOF = 0, 1, 2  # verdicts on a vertex that a search reaches
EMPTY = np.int32(-1)
MOST_VERTICES = 2**30  #: a key of a table is 2 v + side in an int32
_KNUTH = 2654435761  # Knuth, TAOCP 3, 6.4: multiplicative hashing by 2^32 over the golden ratio
_1, _2 = np.uint64(1), np.uint64(2)


class Adjacency(namedtuple("Adjacency", "child_starts children parent_starts parents")):
    """Rows of children and of parents on the device: offsets int32 or int64[n + 1], ends int32[m]."""


@cuda.jit(device=True)
def _enter(table, key):
    """Enters a key into the table. Returns its position if it is new, -1 if it was there, -2 if the other side's was.

    table int32[2^b]: keys or EMPTY; it is not full.
    """
    mask = table.shape[0] - 1
    slot = ((np.int64(key >> 1) * _KNUTH) >> 15) & mask
    while True:
        old = cuda.atomic.cas(table, slot, EMPTY, key)
        if old == EMPTY:
            return np.int32(slot)
        if old == key:
            return np.int32(-1)
        if old == key ^ 1:
            return np.int32(-2)
        slot = (slot + 1) & mask


@cuda.jit(device=True)
def _holds(table, key):
    """Returns whether a key is in the table."""
    mask = table.shape[0] - 1
    slot = ((np.int64(key >> 1) * _KNUTH) >> 15) & mask
    while table[slot] != EMPTY:
        if table[slot] == key:
            return True
        slot = (slot + 1) & mask
    return False


@cuda.jit(device=True)
def _judge(c, u, v, backward, records):
    """Returns the verdict on vertex c, which was reached down from u or, if `backward`, up from v.

    Hubs prove nothing here: one between c and the other end is between u and v too, which the filter has seen.
    """
    lanes, width, pairs, hubs = records
    if c == (u if backward else v):
        return _PROOF
    ancestor, descendant = (u, c) if backward else (c, v)
    a, b = np.uint64(ancestor) * width, np.uint64(descendant) * width
    if not contains(lanes, a, lanes, b, pairs) or level_excludes(lanes, a, b, pairs):
        return _DROP
    if in_subtree(lanes, a, b, pairs):
        return _PROOF
    if hubs.shape[0] > 1:
        s, t = _2 * np.uint64(ancestor), _2 * np.uint64(descendant)
        if parted(hubs[s], hubs[s + _1], hubs[t], hubs[t + _1]):
            return _DROP
    return _KEEP


@cache
def peek_kernel(counting: bool = False):
    """Returns the kernel that looks one step ahead, by one thread per query."""

    @cuda.jit(cache=True)
    def peek(queries, left, graph, records, outcome, most):
        """Looks at the children of the source, or the parents of the target, if they are at most `most`.

        Answers a query if one of them is a proof or all are dropped; the others go to `left`. Any one-dimensional grid
        of whole warp groups.
        """
        lane = warp_group.lane()
        total = outcome.counts[OPEN]
        for base in range(cuda.grid(1) - lane, total, cuda.gridsize(1)):
            is_open, u, v, place, scanned = False, np.int32(0), np.int32(0), np.int32(0), 0
            at = base + lane
            if at < total:
                u, v, place = queries.sources[at], queries.targets[at], queries.places[at]
                first, last = graph.child_starts[u], graph.child_starts[u + 1]
                up_first, up_last = graph.parent_starts[v], graph.parent_starts[v + 1]
                backward = up_last - up_first < last - first
                if backward:
                    first, last = up_first, up_last
                is_open = last - first > most
                if not is_open:
                    found = _DROP
                    for k in range(first, last):
                        c = graph.parents[k] if backward else graph.children[k]
                        found = max(found, _judge(c, u, v, backward, records))
                        scanned += 1
                        if found == _PROOF:
                            break
                    if found == _PROOF:
                        outcome.answers[place] = YES
                    is_open = found == _KEEP
            if counting and scanned:
                cuda.atomic.add(outcome.scanned, 0, scanned)
            list_open(is_open, (u, v, place), left, outcome.counts, KEPT)

    return peek


@cuda.jit(device=True)
def _owner(begins, k):
    """Returns the last position of begins, which ascends from 0, with a value of at most k. Its length is 2^b."""
    owner, step = 0, begins.shape[0] >> 1
    while step > 0:
        if begins[owner + step] <= k:
            owner += step
        step >>= 1
    return owner


@cuda.jit(device=True)
def _take(c, ends, backward, full, records, table):
    """Judges vertex c and, unless the table is full, enters it. Returns the verdict, and its position or -1."""
    found, slot = _judge(c, ends[0], ends[1], backward, records), np.int32(-1)
    if found == _KEEP:
        key = np.int32(2 * c + (1 if backward else 0))
        if full:
            if _holds(table, key ^ 1):
                found = _PROOF
        else:
            slot = _enter(table, key)
            if slot == -2:
                found = _PROOF
    return found, slot


def _round(group):
    """Returns the device function that expands the frontier of one side by a `group` of threads."""
    width = group.WIDTH

    @cuda.jit(device=True)
    def expand(ends, side, full, graph, records, memory):
        """Expands the frontier of one side.

        side: (backward, head, tail, others): the frontier is head..tail - 1 of its queue, and the other queue has
        `others` entries. ends: source and target. Returns whether a proof was found, the new tail, this lane's share of
        the edges ahead of the new frontier, and whether memory is full. Once it is, edges are only checked for proofs.
        """
        queue, table, begins, rows = memory
        backward, head, tail, others = side
        lane, size = group.lane(), queue.shape[0]
        starts, neighbours = graph.child_starts, graph.children
        if backward:
            starts, neighbours = graph.parent_starts, graph.parents
        stop, ahead, proven = tail, np.int64(0), False
        while head < stop and not proven:
            first, degree = np.int64(0), np.int32(0)
            if head + lane < stop:
                at = head + lane
                x = table[queue[size - 1 - at if backward else at]] >> 1
                first = np.int64(starts[x])
                degree = np.int32(starts[x + 1] - starts[x])
            head += width
            upto, total = group.inclusive_sum(degree)
            begins[lane] = upto - degree
            rows[lane] = first - (upto - degree)
            group.sync()
            base = np.int64(0)
            while base < total and not proven:
                k = base + lane
                found, slot = _DROP, np.int32(-1)
                if k < total:
                    c = neighbours[rows[_owner(begins, k)] + k]
                    found, slot = _take(c, ends, backward, full, records, table)
                    if slot >= 0:
                        ahead += starts[c + 1] - starts[c]
                before, fresh = group.exclusive_count(slot >= 0)
                if slot >= 0:
                    at = tail + before
                    queue[size - 1 - at if backward else at] = slot
                tail += fresh
                full = tail + others + width > size
                proven = group.any_lane(found == _PROOF)
                base += width
            group.sync()
        return proven, tail, ahead, full

    return expand


def _server(group, counting):
    """Returns the device function that answers queries, one per `group` of threads (`cuda.warp_group` or
    `cuda.block_group`); with or without counting."""
    width, expand = group.WIDTH, _round(group)

    @cuda.jit(device=True)
    def search(ends, graph, records, memory, budget):
        """Searches whether the first of `ends` reaches the second.

        Returns the verdict, the lengths of the two queues, which list the entries of the table, and the number of edges
        of completed rounds. All are deterministic: only the order within a round varies. ends: vertices, the same in
        all lanes. memory: queue int32[size]: positions in the table, those reached from the source from the front,
        those reached from the target from the back; table int32[2 size], empty; begins int32[WIDTH] and rows
        int64[WIDTH] in shared memory: where the edges of each lane's vertex begin, in this step and in the graph.
        """
        queue, table, _, _ = memory
        u, v = ends
        size = queue.shape[0]
        if group.lane() == 0:
            queue[0] = _enter(table, np.int32(2 * u))
            queue[size - 1] = _enter(table, np.int32(2 * v + 1))
        group.sync()
        down_head, down_tail, up_head, up_tail = 0, 1, 0, 1
        down = np.int64(graph.child_starts[u + 1] - graph.child_starts[u])  # edges ahead of the frontier
        up = np.int64(graph.parent_starts[v + 1] - graph.parent_starts[v])
        verdict, full = NO, 2 + width > size
        scanned = np.int64(0)
        while verdict == NO and down > 0 and up > 0:
            backward = up < down
            edges = min(up, down)
            if full or scanned + edges > budget:
                verdict = UNDECIDED
                break
            stop = up_tail if backward else down_tail
            head, others = (up_head, down_tail) if backward else (down_head, up_tail)
            side = backward, head, stop, others
            proven, tail, ahead, full = expand(ends, side, full, graph, records, memory)
            if proven:
                verdict = YES
            else:
                scanned += edges
                if full:
                    verdict = UNDECIDED
            ahead = group.inclusive_sum(ahead)[1]
            if backward:
                up_head, up_tail, up = stop, tail, ahead
            else:
                down_head, down_tail, down = stop, tail, ahead
        return verdict, down_tail, up_tail, scanned

    @cuda.jit(device=True)
    def serve(queries, left, stage, graph, records, outcome, memory, budget):
        """Answers queries until all are taken; undecided ones go to `left`.

        stage: positions in outcome.counts of the numbers of queries, of those taken and of those left undecided. Only
        edges of completed rounds count as scanned.
        """
        queue, table, _, _ = memory
        wanted, taken, undecided = stage
        lane, size = group.lane(), queue.shape[0]
        counts = outcome.counts
        total = counts[wanted]
        while True:
            q = np.int32(0)
            if lane == 0:
                q = cuda.atomic.add(counts, taken, 1)
            q = group.broadcast(q, 0)
            if q >= total:
                break
            u, v, place = queries.sources[q], queries.targets[q], queries.places[q]
            verdict, down, up, scanned = search((u, v), graph, records, memory, budget)
            if counting and lane == 0:
                cuda.atomic.add(outcome.scanned, 0, scanned)
            if lane == 0:
                if verdict == UNDECIDED:
                    at = cuda.atomic.add(counts, undecided, 1)
                    left.sources[at], left.targets[at], left.places[at] = u, v, place
                else:
                    outcome.answers[place] = verdict
            for j in range(lane, down, width):
                table[queue[j]] = EMPTY
            for j in range(lane, up, width):
                table[queue[size - 1 - j]] = EMPTY
            group.sync()

    return serve


@cache
def explore_kernel(size: int, warps: int, counting: bool = False):
    """Returns the kernel of searches by warp groups, `warps` per block, of up to `size` vertices, a power of two."""
    places, cells, lanes = warps * size, 2 * warps * size, warps * warp_group.WIDTH
    serve = _server(warp_group, counting)

    @kernel_of(64)
    def explore(queries, left, graph, records, outcome, budget):
        """Searches the first counts[KEPT] queries; undecided ones go to `left`. Blocks of `warps` warp groups."""
        queues = cuda.shared.array(places, int32)
        tables = cuda.shared.array(cells, int32)
        begins = cuda.shared.array(lanes, int32)
        rows = cuda.shared.array(lanes, int64)
        mine = cuda.threadIdx.x // warp_group.WIDTH
        table = tables[2 * mine * size : 2 * (mine + 1) * size]
        for j in range(warp_group.lane(), 2 * size, warp_group.WIDTH):
            table[j] = EMPTY
        warp_group.sync()
        first, last = mine * warp_group.WIDTH, (mine + 1) * warp_group.WIDTH
        memory = queues[mine * size : (mine + 1) * size], table, begins[first:last], rows[first:last]
        serve(queries, left, (KEPT, TAKEN, LATE), graph, records, outcome, memory, budget)

    return explore


@cache
def explore_late_kernel(counting: bool = False):
    """Returns the kernel of searches by blocks, in device memory."""
    serve, width = _server(block_group, counting), block_group.WIDTH

    @cuda.jit(cache=True)
    def explore_late(queries, left, graph, records, outcome, budget, queues, tables):
        """Searches the first counts[LATE] queries; undecided ones go to `left`.

        queues int32[blocks, size], tables int32[blocks, 2 size], empty before and after.
        """
        begins = cuda.shared.array(width, int32)
        rows = cuda.shared.array(width, int64)
        memory = queues[cuda.blockIdx.x], tables[cuda.blockIdx.x], begins, rows
        serve(queries, left, (LATE, LATE_TAKEN, LOST), graph, records, outcome, memory, budget)

    return explore_late


@cuda.jit(cache=True)
def clear(tables):
    """Empties all tables, int32[blocks, 2 size]."""
    for i in range(cuda.grid(1), tables.size, cuda.gridsize(1)):
        tables[i // tables.shape[1], i % tables.shape[1]] = EMPTY
