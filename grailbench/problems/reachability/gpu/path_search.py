"""Search of groups of 64 queries at once: Computation 2020, algorithm 7.

It differs from the thesis's search (`search`) in that a query visits a vertex only once, 'until all nodes have been
visited', and stops when it has found its target (section 5). Importing this module imports CUDA.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy import int32, uint64

from grailbench.cuda.frontier import Enterprise, Trio, by_edges
from grailbench.cuda.gateway import cuda, holds_shared
from grailbench.cuda.launch import typed
from grailbench.problems.reachability.gpu.search import Searcher, goals_of, lowest

GROUP = 64  #: queries per group, k in the paper
_OPEN = np.int32(2**31 - 1)  #: the level of a query that is not answered yet
_0, _1 = np.uint64(0), np.uint64(1)


@cuda.jit(cache=True)
def _forget(seen):
    """Clears seen, uint64[n]."""
    for v in range(cuda.grid(1), seen.shape[0], cuda.gridsize(1)):
        seen[v] = 0


class PathGroup(NamedTuple):
    """As `search.Group`, with seen uint64[n]: the queries that have visited a vertex; reached int32[64]: the level on
    which each query was answered."""

    masks: object
    status: object
    goals: object
    goal_labels: object
    starts: object
    ends: object
    results: object
    seen: object
    reached: object


@cache
def _kernels(dim: int) -> tuple[object, Trio]:
    """Returns the kernels that start and explore a group, for `dim` label pairs."""
    lanes = 2 * dim
    set_goal, contains_goal = goals_of(dim)

    @cuda.jit(cache=True)
    def start(first, queries, of):
        """Starts a group, by one block of `GROUP` threads, one per query. queries: sources, targets int32[k]."""
        i = cuda.threadIdx.x
        sources, targets = queries
        of.goals[i] = -1
        of.results[0, i] = 0
        of.reached[i] = _OPEN
        if first + i < sources.shape[0]:
            source = sources[first + i]
            set_goal(i, targets[first + i], of)
            bit = _1 << uint64(i)
            cuda.atomic.or_(of.status, source, bit)
            cuda.atomic.or_(of.seen, source, bit)

    @cuda.jit(device=True, **holds_shared)
    def share_goals(of, level):
        """Returns targets, their labels and the queries answered on earlier levels, in shared memory, and the level."""
        goals = cuda.shared.array(GROUP, int32)
        wanted = cuda.shared.array((lanes, GROUP), int32)
        closed = cuda.shared.array(1, uint64)
        mine = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        if mine == 0:
            closed[0] = _0
        cuda.syncthreads()
        for i in range(mine, GROUP, cuda.blockDim.x * cuda.blockDim.y):
            goals[i] = of.goals[i]
            for line in range(lanes):
                wanted[line, i] = of.goal_labels[line, i]
            if of.reached[i] < level:
                cuda.atomic.or_(closed, 0, _1 << uint64(i))
        cuda.syncthreads()
        return goals, wanted, closed, level

    @cuda.jit(device=True)
    def queries_at(v, lane, of, shared):
        found = of.masks[v] & ~shared[2][0]
        return found != _0, found

    @cuda.jit(device=True)
    def visit(edge, found, of, shared):
        """Answers those of the queries `found` at v whose target is its child c, and moves others on to c."""
        c = edge[1]
        goals, wanted, closed, level = shared
        tested = found & ~of.seen[c]  # this may be an old value: the atomic below corrects it
        flags, on = tested, _0
        while flags != _0:
            i = lowest(flags)
            flags &= flags - _1
            if goals[i] == c:
                of.results[0, i] = 1
                of.reached[i] = level
            elif contains_goal(c, i, wanted, of):
                on |= _1 << uint64(i)
        if tested != _0:
            on &= ~cuda.atomic.or_(of.seen, c, tested)
            if on != _0:
                cuda.atomic.or_(of.status, c, on)

    return start, by_edges(visit, queries_at, share_goals)


class PathSearcher(Searcher):
    """A searcher that remembers which query has visited which vertex."""

    starts = 2

    def __init__(self, rows, pairs, shape: Enterprise, size: int = GROUP):
        super().__init__(rows, pairs, shape, size)
        n = rows.cards.shape[0]
        self.seen = cuda.device_array(n, np.uint64)
        self.group = typed(PathGroup(*self.group, self.seen, cuda.device_array(size, np.int32)))
        self._grid = min(shape.blocks, -(-n // shape.threads)), shape.threads

    @staticmethod
    def kernels(dim: int, size: int) -> tuple[object, Trio]:
        return _kernels(dim)

    @staticmethod
    def bytes(vertices: int, shape: Enterprise, size: int = GROUP) -> int:
        return Searcher.bytes(vertices, shape, size) + 8 * vertices

    def start(self, first: int, queries: tuple) -> None:
        _forget[self._grid](self.seen)
        super().start(first, queries)
