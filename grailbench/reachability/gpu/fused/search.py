"""What the filters leave open: searches from both ends, pruned by every filter at every step.

First a thread looks whether one step settles it. A search keeps a hash table of the vertices it has met, each with the
side it was met from, and two queues of places in that table, which grow towards each other in one array. In a round it
expands the whole frontier of the side with fewer edges before it; the lanes share those edges, whatever vertex they
belong to. It ends when the sides meet, when a filter proves that they would, when a side has nothing left to expand,
or, unsettled, when its room or its budget of edges is spent. It is tried in shared memory; what is unsettled there once
more, with more room, in global memory; what is unsettled there too is left to `sweep`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numba import int32, int64

from grailbench.device import crew, team
from grailbench.device.gateway import cuda
from grailbench.device.launch import kernel_of
from grailbench.reachability.gpu.fused.filter import (
    KEPT,
    LATE,
    LATE_TICKET,
    LOST,
    OPEN,
    TICKET,
    above,
    contains,
    cut,
    joined,
    list_open,
    parted,
)

NO, YES, UNSETTLED = 0, 1, 2  # verdicts on a query
_DROP, _KEEP, _PROOF = 0, 1, 2  # on a vertex that a search meets
EMPTY = np.int32(-1)
MOST_VERTICES = 2**30  #: a table holds 2 v + side in an int32
_KNUTH = 2654435761  # Knuth, TAOCP 3, 6.4: multiplicative hashing by 2^32 over the golden ratio
_1, _2 = np.uint64(1), np.uint64(2)


class Adjacency(NamedTuple):
    """Rows of children and of parents on the device: offsets int32 or int64[n + 1], ends int32[m]."""

    child_starts: object
    children: object
    parent_starts: object
    parents: object


@cuda.jit(device=True)
def _enter(table, key):
    """Put a key into the table: its place if it is new, -1 if it was there, -2 if it was there from the other side.

    table int32[2^b]: keys or EMPTY, less than full.
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
    """Whether a key is in the table."""
    mask = table.shape[0] - 1
    slot = ((np.int64(key >> 1) * _KNUTH) >> 15) & mask
    while table[slot] != EMPTY:
        if table[slot] == key:
            return True
        slot = (slot + 1) & mask
    return False


@cuda.jit(device=True)
def _judge(c, u, v, backward, records):
    """Vertex c was met on the way down from u (or, backward, up from v): drop it, keep it, or is it a proof?"""
    lanes, width, pairs, hubs = records
    if c == (u if backward else v):
        return _PROOF
    ancestor, descendant = (u, c) if backward else (c, v)
    a, b = np.uint64(ancestor) * width, np.uint64(descendant) * width
    if not contains(lanes, a, lanes, b, pairs) or above(lanes, a, b, pairs):
        return _DROP
    if cut(lanes, a, b, pairs):
        return _PROOF
    if hubs.shape[0] > 1:
        s, t = _2 * np.uint64(ancestor), _2 * np.uint64(descendant)
        if joined(hubs[s], hubs[t + _1]):
            return _PROOF
        if parted(hubs[s], hubs[s + _1], hubs[t], hubs[t + _1]):
            return _DROP
    return _KEEP


@cache
def peek_kernel(counting: bool = False):
    """The kernel that looks one step ahead, a thread a query."""

    @cuda.jit(cache=True)
    def peek(todo, graph, records, answers, kept, counts, most, work):
        """Settle queries of `todo` whose source has at most `most` children, or target parents, that all are dropped or
        one of which is a proof; the others go to `kept`. Any one-dimensional grid of whole teams."""
        lane = team.lane()
        total = counts[OPEN]
        for base in range(cuda.grid(1) - lane, total, cuda.gridsize(1)):
            left, u, v, place, scanned = False, np.int32(0), np.int32(0), np.int32(0), 0
            if base + lane < total:
                u, v, place = todo.sources[base + lane], todo.targets[base + lane], todo.places[base + lane]
                first, last = graph.child_starts[u], graph.child_starts[u + 1]
                up_first, up_last = graph.parent_starts[v], graph.parent_starts[v + 1]
                backward = up_last - up_first < last - first
                if backward:
                    first, last = up_first, up_last
                left = last - first > most
                if not left:
                    found = _DROP
                    for k in range(first, last):
                        c = graph.parents[k] if backward else graph.children[k]
                        found = max(found, _judge(c, u, v, backward, records))
                        scanned += 1
                        if found == _PROOF:
                            break
                    if found == _PROOF:
                        answers[place] = YES
                    left = found == _KEEP
            if counting and scanned:
                cuda.atomic.add(work, 0, scanned)
            list_open(left, u, v, place, kept, counts, KEPT)

    return peek


@cuda.jit(device=True)
def _owner(begins, k):
    """The last place of `begins` that is at most k; begins ascends from 0, its length is a power of two."""
    owner, step = 0, begins.shape[0] >> 1
    while step > 0:
        if begins[owner + step] <= k:
            owner += step
        step >>= 1
    return owner


@cache
def _server(group, counting):
    """Searches by `group`: `device.team` or `device.crew`, the lanes that make one search; with or without counting."""
    width = group.WIDTH

    @cuda.jit(device=True)
    def search(u, v, graph, records, rooms, budget):
        """Whether u reaches v: a verdict, the lengths of the two queues, which say what is in the table, and the edges
        of the rounds that were gone through to their end.

        All are exact: what a round meets is a matter of the graph, though not in which order. When room runs out
        within a round, its other edges are still looked at for a proof.

        u, v: vertices; the same in all lanes. rooms: queue int32[size]: places in the table, those met from u from the
        front, those met from v from the back; table int32[2 size], empty; begins int32[WIDTH] and rows int64[WIDTH] in
        shared memory: where the edges of each lane's vertex begin, in this step and in the graph.
        """
        queue, table, begins, rows = rooms
        lane, size = group.lane(), queue.shape[0]
        if lane == 0:
            queue[0] = _enter(table, np.int32(2 * u))
            queue[size - 1] = _enter(table, np.int32(2 * v + 1))
        group.meet()
        down_head, down_tail, up_head, up_tail = 0, 1, 0, 1
        down = np.int64(graph.child_starts[u + 1] - graph.child_starts[u])  # edges before the frontier
        up = np.int64(graph.parent_starts[v + 1] - graph.parent_starts[v])
        verdict, full = NO, 2 + width > size
        scanned = np.int64(0)
        while verdict == NO and down > 0 and up > 0:
            backward = up < down
            edges = min(up, down)
            if full or scanned + edges > budget:
                verdict = UNSETTLED
                break
            starts, ends = graph.child_starts, graph.children
            head, tail, others = down_head, down_tail, up_tail
            if backward:
                starts, ends = graph.parent_starts, graph.parents
                head, tail, others = up_head, up_tail, down_tail
            stop, ahead = tail, np.int64(0)
            while head < stop and verdict == NO:
                first, degree = np.int64(0), np.int32(0)
                if head + lane < stop:
                    at = head + lane
                    x = table[queue[size - 1 - at if backward else at]] >> 1
                    first = np.int64(starts[x])
                    degree = np.int32(starts[x + 1] - starts[x])
                head += width
                upto, total = group.summed(degree)
                begins[lane] = upto - degree
                rows[lane] = first - (upto - degree)
                group.meet()
                base = np.int64(0)
                while base < total and verdict == NO:
                    k = base + lane
                    found, slot = _DROP, np.int32(-1)
                    if k < total:
                        c = ends[rows[_owner(begins, k)] + k]
                        found = _judge(c, u, v, backward, records)
                        if found == _KEEP:
                            key = np.int32(2 * c + (1 if backward else 0))
                            if full:
                                if _holds(table, key ^ 1):
                                    found = _PROOF
                            else:
                                slot = _enter(table, key)
                                if slot == -2:
                                    found = _PROOF
                                elif slot >= 0:
                                    ahead += starts[c + 1] - starts[c]
                    before, fresh = group.placed(slot >= 0)
                    if slot >= 0:
                        at = tail + before
                        queue[size - 1 - at if backward else at] = slot
                    tail += fresh
                    full = tail + others + width > size
                    if group.some(found == _PROOF):
                        verdict = YES
                    base += width
                group.meet()
            if verdict == NO:
                scanned += edges
                if full:
                    verdict = UNSETTLED
            ahead = group.summed(ahead)[1]
            if backward:
                up_head, up_tail, up = stop, tail, ahead
            else:
                down_head, down_tail, down = stop, tail, ahead
        return verdict, down_tail, up_tail, scanned

    @cuda.jit(device=True)
    def serve(todo, stage, graph, records, answers, left, counts, rooms, budget, work):
        """Take queries from `todo` until all are taken; an answer goes to answers, an unsettled query into `left`.

        stage: the places in counts of how many there are, how many are taken and how many are unsettled. work int64[1]:
        the edges of whole rounds are added to it, where that is counted.
        """
        queue, table, _, _ = rooms
        wanted, ticket, unsettled = stage
        lane, size = group.lane(), queue.shape[0]
        total = counts[wanted]
        while True:
            q = np.int32(0)
            if lane == 0:
                q = cuda.atomic.add(counts, ticket, 1)
            q = group.told(q, 0)
            if q >= total:
                break
            u, v, place = todo.sources[q], todo.targets[q], todo.places[q]
            verdict, down, up, scanned = search(u, v, graph, records, rooms, budget)
            if counting and lane == 0:
                cuda.atomic.add(work, 0, scanned)
            if lane == 0:
                if verdict == UNSETTLED:
                    at = cuda.atomic.add(counts, unsettled, 1)
                    left.sources[at], left.targets[at], left.places[at] = u, v, place
                else:
                    answers[place] = verdict
            for j in range(lane, down, width):
                table[queue[j]] = EMPTY
            for j in range(lane, up, width):
                table[queue[size - 1 - j]] = EMPTY
            group.meet()

    return serve


@cache
def explore_kernel(size: int, teams: int, counting: bool = False):
    """The kernel whose searches, a team each, may meet `size` vertices, a power of two; `teams` a block."""
    places, cells, lanes = teams * size, 2 * teams * size, teams * team.WIDTH
    serve = _server(team, counting)

    @kernel_of(64)
    def explore(todo, graph, records, answers, late, counts, budget, work):
        """Search counts[KEPT] queries of `todo`; those unsettled go to `late`. Blocks of `teams` teams."""
        queues = cuda.shared.array(places, int32)
        tables = cuda.shared.array(cells, int32)
        begins = cuda.shared.array(lanes, int32)
        rows = cuda.shared.array(lanes, int64)
        mine = cuda.threadIdx.x // team.WIDTH
        table = tables[2 * mine * size : 2 * (mine + 1) * size]
        for j in range(team.lane(), 2 * size, team.WIDTH):
            table[j] = EMPTY
        team.meet()
        first, last = mine * team.WIDTH, (mine + 1) * team.WIDTH
        rooms = queues[mine * size : (mine + 1) * size], table, begins[first:last], rows[first:last]
        serve(todo, (KEPT, TICKET, LATE), graph, records, answers, late, counts, rooms, budget, work)

    return explore


@cache
def explore_late_kernel(counting: bool = False):
    """The kernel whose searches, a crew each, have their room in global memory."""
    serve, width = _server(crew, counting), crew.WIDTH

    @cuda.jit(cache=True)
    def explore_late(todo, graph, records, answers, lost, counts, budget, work, queues, tables):
        """Search counts[LATE] queries of `todo`; those unsettled go to `lost`.

        queues int32[crews, size], tables int32[crews, 2 size], empty before and after. A grid of `crews` crews.
        """
        begins = cuda.shared.array(width, int32)
        rows = cuda.shared.array(width, int64)
        rooms = queues[cuda.blockIdx.x], tables[cuda.blockIdx.x], begins, rows
        serve(todo, (LATE, LATE_TICKET, LOST), graph, records, answers, lost, counts, rooms, budget, work)

    return explore_late


@cuda.jit(cache=True)
def clear(tables):
    """Empty all tables, int32[crews, 2 size]."""
    for i in range(cuda.grid(1), tables.size, cuda.gridsize(1)):
        tables[i // tables.shape[1], i % tables.shape[1]] = EMPTY
