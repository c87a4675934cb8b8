"""Search of groups of 64 queries at once: Computation 2020, algorithm 7.

As the thesis's (`search`), but that it remembers: a query visits a vertex once, 'until all nodes have been visited',
and one that has found its target goes no further (section 5). Importing this imports CUDA.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import int32, uint64

from grailbench.device.frontier import Enterprise, Trio, trio
from grailbench.device.gateway import cuda
from grailbench.reachability.gpu.search import Searcher

GROUP = 64  #: queries of a group, k in the paper
_OPEN = np.int32(2**31 - 1)  #: the level on which a query is answered that is not yet
_0, _1 = np.uint64(0), np.uint64(1)


@cuda.jit(cache=True)
def _forget(seen):
    """No vertex has been visited; seen uint64[n]."""
    for v in range(cuda.grid(1), seen.shape[0], cuda.gridsize(1)):
        seen[v] = 0


@cuda.jit(device=True)
def _lowest(mask):
    """Position of the lowest set bit of a uint64 that is not 0."""
    return cuda.popc(~mask & (mask - _1))


@cache
def _kernels(dim: int) -> tuple[object, Trio]:
    """The start of a group and its exploration, for `dim` label pairs."""
    lanes = 2 * dim

    @cuda.jit(cache=True)
    def start(first, queries, pairs, goals, masks, answers):
        """One block of `GROUP` threads: each puts a query of the group on its way.

        queries: sources, targets int32[k]; pairs: starts, ends int32[d, n]; goals: targets int32[64], labels int32[2 d,
        64]; masks: status, seen uint64[n]; answers: results int32[1, 64], level int32[64].
        """
        i = cuda.threadIdx.x
        sources, targets = queries
        starts, ends = pairs
        aims, wanted = goals
        status, seen = masks
        results, level = answers
        aims[i] = -1
        results[0, i] = 0
        level[i] = _OPEN
        if first + i < sources.shape[0]:
            goal, source = targets[first + i], sources[first + i]
            aims[i] = goal
            for p in range(dim):
                wanted[2 * p, i] = starts[p, goal]
                wanted[2 * p + 1, i] = ends[p, goal]
            bit = _1 << uint64(i)
            cuda.atomic.or_(status, source, bit)
            cuda.atomic.or_(seen, source, bit)

    @cuda.jit(device=True)
    def share(lane, width, goals, answers, depth, aims, wanted, closed):
        """Bring targets and their labels into shared memory, and who has been answered on an earlier level."""
        if lane == 0:
            closed[0] = _0
        cuda.syncthreads()
        for i in range(lane, GROUP, width):
            aims[i] = goals[0][i]
            for line in range(lanes):
                wanted[line, i] = goals[1][line, i]
            if answers[1][i] < depth:
                cuda.atomic.or_(closed, 0, _1 << uint64(i))
        cuda.syncthreads()

    @cuda.jit(device=True)
    def visit(c, found, aims, wanted, pairs, masks, answers, depth):
        """Child c of a vertex at which the queries of mask `found` are: who has arrived, who goes on."""
        starts, ends = pairs
        status, seen = masks
        tested = found & ~seen[c]  # perhaps an old value: the atomic below says
        flags, inside = tested, _0
        while flags != _0:
            i = _lowest(flags)
            flags &= flags - _1
            if aims[i] == c:
                answers[0][0, i] = 1
                answers[1][i] = depth
            else:
                fits = True
                for p in range(dim):
                    fits = fits and starts[p, c] <= wanted[2 * p, i] and wanted[2 * p + 1, i] <= ends[p, c]
                if fits:
                    inside |= _1 << uint64(i)
        if tested != _0:
            inside &= ~cuda.atomic.or_(seen, c, tested)
            if inside != _0:
                cuda.atomic.or_(status, c, inside)

    @cuda.jit(cache=True)
    def explore_thread(queue, count, rows, goals, pairs, masks, kept, answers, depth):
        """rows: children; kept uint64[n]: status as the level began; depth: the number of this level."""
        aims = cuda.shared.array(GROUP, int32)
        wanted = cuda.shared.array((lanes, GROUP), int32)
        closed = cuda.shared.array(1, uint64)
        share(cuda.threadIdx.x, cuda.blockDim.x, goals, answers, depth, aims, wanted, closed)
        for q in range(cuda.grid(1), count, cuda.gridsize(1)):
            v = queue[q]
            found = kept[v] & ~closed[0]
            if found != _0:
                first = rows.starts[v]
                for k in range(first, first + rows.cards[v]):
                    visit(rows.edges[k], found, aims, wanted, pairs, masks, answers, depth)

    def explore_team(barrier):
        @cuda.jit(cache=True)
        def explore(queue, count, rows, goals, pairs, masks, kept, answers, depth):
            """As `explore_thread`, a child a lane."""
            aims = cuda.shared.array(GROUP, int32)
            wanted = cuda.shared.array((lanes, GROUP), int32)
            closed = cuda.shared.array(1, uint64)
            lane = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
            share(lane, cuda.blockDim.x * cuda.blockDim.y, goals, answers, depth, aims, wanted, closed)
            team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
            for q in range(team, count, cuda.gridDim.x * cuda.blockDim.y):
                v = queue[q]
                found = kept[v] & ~closed[0]
                if found != _0:
                    first = rows.starts[v]
                    for k in range(first + cuda.threadIdx.x, first + rows.cards[v], cuda.blockDim.x):
                        visit(rows.edges[k], found, aims, wanted, pairs, masks, answers, depth)

        return explore

    return start, trio(explore_thread, explore_team)


class PathSearcher(Searcher):
    """A searcher that remembers who was where."""

    starts = 2

    def __init__(self, rows, pairs, shape: Enterprise, size: int = GROUP):
        super().__init__(rows, pairs, shape, size)
        n = rows.cards.shape[0]
        self.seen = cuda.device_array(n, np.uint64)
        self.reached = cuda.device_array(size, np.int32)
        self._grid = min(shape.blocks, -(-n // shape.threads)), shape.threads

    @staticmethod
    def kernels(dim: int, size: int) -> tuple[object, Trio]:
        """What begins a group, and what explores."""
        return _kernels(dim)

    @staticmethod
    def bytes(vertices: int, shape: Enterprise, size: int = GROUP) -> int:
        """Device bytes of a searcher, but for what does not grow with the graph."""
        return Searcher.bytes(vertices, shape, size) + 8 * vertices

    def start(self, first: int, queries: tuple) -> None:
        """Begin the group whose first query is number `first`."""
        goals, masks = (self.goals, self.goal_labels), (self.status, self.seen)
        _forget[self._grid](self.seen)
        self._start[1, self.size](first, queries, self.pairs, goals, masks, (self.results, self.reached))

    def explore(self, level: int) -> None:
        """Go on from the frontier, which is `level` steps from the sources."""
        goals, masks = (self.goals, self.goal_labels), (self.status, self.seen)
        answers = self.results, self.reached
        self.frontier.consume(self._explore, self.rows, goals, self.pairs, masks, self.masks, answers, np.int32(level))
