"""Search of groups of queries at once by bit masks: thesis algorithms 11 and 12.

Bit i of a vertex's status says that query i of the group goes on there. Nothing remembers earlier levels: a vertex
comes again on every level on which a path leads to it, as in the thesis. Importing this imports CUDA.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import int32, njit

from grailbench.device.frontier import Enterprise, Frontier, Trio, trio
from grailbench.device.gateway import cuda
from grailbench.device.scan import Scan
from grailbench.reachability.labels import contains

WORDS = {64: np.uint64, 32: np.uint32}  #: queries in a group to the type of a mask
_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def cpu_filter(sources, targets, lanes, width, pairs, answers, left):
    """One comparison of labels a query, on the CPU. int32[k] twice; answers bool[k] and left int32[k] are written.

    Returns how many queries are left open; `left` holds their indices.
    """
    count = 0
    for i in range(sources.shape[0]):
        u, v = np.uint64(sources[i]), np.uint64(targets[i])
        answers[i] = u == v
        left[count] = i
        count += (u != v) & contains(lanes, u * width, lanes, v * width, pairs)
    return count


@cuda.jit(device=True)
def _lowest(mask):
    """Position of the lowest set bit of a uint64 that is not 0."""
    return cuda.popc(~mask & (mask - _1))


@cache
def _kernels(dim: int, size: int) -> tuple[object, Trio]:
    """The start of a group and its exploration, for `dim` label pairs and groups of `size` queries."""
    word = WORDS[size]
    lanes = 2 * dim

    @cuda.jit(cache=True)
    def start(first, queries, pairs, goals, goal_labels, status, results):
        """One block: cache the labels of the group's targets, start every query at its source.

        queries: sources, targets int32[k]; pairs: starts, ends int32[d, n]; goals int32[size]; goal_labels
        int32[2 d, size]; status uintX[n]; results int32[1, size].
        """
        sources, targets = queries
        starts, ends = pairs
        i = cuda.threadIdx.x
        results[0, i] = 0
        goals[i] = -1
        if first + i < sources.shape[0]:
            goal = targets[first + i]
            goals[i] = goal
            for p in range(dim):
                goal_labels[2 * p, i] = starts[p, goal]
                goal_labels[2 * p + 1, i] = ends[p, goal]
            cuda.atomic.or_(status, sources[first + i], word(_1 << np.uint64(i)))

    @cuda.jit(device=True)
    def visit(c, found, goals, wanted, pairs, status, results):
        """Child c of a vertex at which the queries of mask `found` are: who has arrived, who goes on."""
        starts, ends = pairs
        flags = np.uint64(found)
        while flags != _0:
            i = _lowest(flags)
            flags &= flags - _1
            if goals[i] == c:
                results[0, i] = 1
            inside = True
            for p in range(dim):
                inside = inside and starts[p, c] <= wanted[2 * p, i] and wanted[2 * p + 1, i] <= ends[p, c]
            if inside:
                cuda.atomic.or_(status, c, word(_1 << np.uint64(i)))

    @cuda.jit(cache=True)
    def explore_thread(queue, count, rows, masks, goals, goal_labels, pairs, status, results):
        """Algorithm 12. rows: children; masks uintX[n]: the search_indices, status as the level began."""
        wanted = cuda.shared.array((lanes, size), int32)
        for i in range(cuda.threadIdx.x, size, cuda.blockDim.x):
            for lane in range(lanes):
                wanted[lane, i] = goal_labels[lane, i]
        cuda.syncthreads()
        for q in range(cuda.grid(1), count, cuda.gridsize(1)):
            v = queue[q]
            first = rows.starts[v]
            for k in range(first, first + rows.cards[v]):
                visit(rows.edges[k], masks[v], goals, wanted, pairs, status, results)

    def explore_team(barrier):
        @cuda.jit(cache=True)
        def explore(queue, count, rows, masks, goals, goal_labels, pairs, status, results):
            """As `explore_thread`, a child a lane."""
            wanted = cuda.shared.array((lanes, size), int32)
            mine = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
            for i in range(mine, size, cuda.blockDim.x * cuda.blockDim.y):
                for lane in range(lanes):
                    wanted[lane, i] = goal_labels[lane, i]
            cuda.syncthreads()
            team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
            for q in range(team, count, cuda.gridDim.x * cuda.blockDim.y):
                v = queue[q]
                first = rows.starts[v]
                for k in range(first + cuda.threadIdx.x, first + rows.cards[v], cuda.blockDim.x):
                    visit(rows.edges[k], masks[v], goals, wanted, pairs, status, results)

        return explore

    return start, trio(explore_thread, explore_team)


class Searcher:
    """Device arrays for searches on one labelled graph, `size` queries at once (64 or 32)."""

    starts = 1  #: launches that begin a group

    def __init__(self, rows, pairs, shape: Enterprise, size: int):
        """rows: children on the device; pairs: starts and ends, int32[d, n] on the device."""
        n, dim = rows.cards.shape[0], pairs[0].shape[0]
        self.rows, self.pairs, self.size = rows, pairs, size
        self.frontier = Frontier(n, shape)
        self.status = cuda.to_device(np.zeros(n, WORDS[size]))
        self.masks = cuda.device_array(n, WORDS[size])
        self.goals = cuda.device_array(size, np.int32)
        self.goal_labels = cuda.device_array((2 * dim, size), np.int32)
        self.results = cuda.device_array((1, size), np.int32)
        self.scan = Scan(1, size, size)
        self.groups = self.levels = 0
        self._start, self._explore = self.kernels(dim, size)

    @staticmethod
    def kernels(dim: int, size: int) -> tuple[object, Trio]:
        """What begins a group, and what explores."""
        return _kernels(dim, size)

    @staticmethod
    def bytes(vertices: int, shape: Enterprise, size: int) -> int:
        """Device bytes of a searcher, but for what does not grow with the graph."""
        return Frontier.bytes(vertices, shape) + 2 * vertices * size // 8

    @property
    def launches(self) -> int:
        """Kernel launches so far."""
        return self.frontier.launches + self.groups * (self.starts + Scan.launches)

    def start(self, first: int, queries: tuple) -> None:
        """Begin the group whose first query is number `first`, in `starts` launches."""
        self._start[1, self.size](first, queries, self.pairs, self.goals, self.goal_labels, self.status, self.results)

    def explore(self, level: int) -> None:
        """Go on from the frontier, which is `level` steps from the sources."""
        goals = self.goals, self.goal_labels
        self.frontier.consume(self._explore, self.rows, self.masks, *goals, self.pairs, self.status, self.results)

    def search(self, sources: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, int]:
        """Algorithm 11 on int32[k] sources and targets: bool[k], and how many are reached."""
        answers = np.zeros(sources.shape[0], np.bool_)
        if sources.shape[0] == 0:
            return answers, 0
        queries = cuda.to_device(sources), cuda.to_device(targets)
        sums = cuda.pinned_array((1, self.size), np.int32)
        positives = 0
        for first in range(0, sources.shape[0], self.size):
            self.start(first, queries)
            level = 0
            while self.frontier.generate(self.status, self.rows.cards, kept=self.masks):
                self.explore(level)
                level += 1
            self.levels += level
            self.scan.run(self.results)
            self.scan.within.copy_to_host(sums)
            group = np.diff(sums[0], prepend=0)[: sources.shape[0] - first]
            answers[first : first + group.size] = group
            positives += int(sums[0, -1])
            self.groups += 1
        return answers, positives
