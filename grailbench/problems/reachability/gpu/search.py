"""Search of groups of queries at once by bit masks: thesis algorithms 11 and 12, and Computation 2020, algorithm 7.

Bit i of the status of a vertex means that query i visits it next. In the thesis a query visits a vertex again on every
level on which a path leads to it; in Computation 2020 once, and it stops at its target. Importing this module imports
CUDA.
"""

from collections import namedtuple
from functools import cache

import numpy as np
from numba import njit
from numpy import int32, uint64

from grailbench.cuda.frontier import Enterprise, Frontier, Trio, by_edges
from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import typed
from grailbench.cuda.primitives import Scan
from grailbench.problems.reachability.labels import contains

WORDS = {64: np.uint64, 32: np.uint32}  #: queries per group to the type of a mask
_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def cpu_filter(sources, targets, lanes, width, pairs, answers, left):
    """Compares the labels of each query on the CPU, and returns how many queries are left open.

    sources, targets int32[k]. Writes answers, bool[k], and the indices of open queries to left, int32[k].
    """
    count = 0
    for i in range(sources.shape[0]):
        u, v = np.uint64(sources[i]), np.uint64(targets[i])
        answers[i] = u == v
        left[count] = i
        count += (u != v) & contains(lanes, u * width, lanes, v * width, pairs)
    return count


@cuda.jit(device=True)
def lowest(mask):
    """Returns the position of the lowest set bit of a uint64 other than 0."""
    return cuda.popc(~mask & (mask - _1))


class Group(namedtuple("Group", "masks status goals goal_labels starts ends results")):
    """The arrays of a group of queries.

    masks uintX[n]: the queries at each vertex at the beginning of the level, search_indices in the thesis
    status uintX[n]: the queries that visit each vertex on the next level
    goals int32[size]: targets, -1 for none; goal_labels int32[2 d, size]; starts, ends int32[d, n]: the graph's labels
    results int32[1, size]: 1 where the target was reached
    """


def goals_of(dim: int):
    """Returns two device functions on the targets of a group, for `dim` label pairs.

    The first makes vertex `goal` the target of query i and copies its labels; the second returns whether the labels of
    vertex c contain those of target i, which are in wanted, int32[2 d, size].
    """

    @cuda.jit(device=True)
    def set_goal(i, goal, of):
        of.goals[i] = goal
        for p in range(dim):
            of.goal_labels[2 * p, i] = of.starts[p, goal]
            of.goal_labels[2 * p + 1, i] = of.ends[p, goal]

    @cuda.jit(device=True)
    def contains_goal(c, i, wanted, of):
        fits = True
        for p in range(dim):
            fits = fits and of.starts[p, c] <= wanted[2 * p, i] and wanted[2 * p + 1, i] <= of.ends[p, c]
        return fits

    return set_goal, contains_goal


@cache
def _kernels(dim: int, size: int) -> tuple[object, Trio]:
    """Returns the kernels that start and explore groups (algorithm 12) of `size` queries, for `dim` label pairs."""
    word, lanes = WORDS[size], 2 * dim
    set_goal, contains_goal = goals_of(dim)

    @cuda.jit(cache=True)
    def start(first, queries, of):
        """Starts a group, by one block: copies the labels of the targets, and puts every query at its source.

        queries: sources, targets int32[k].
        """
        sources, targets = queries
        i = cuda.threadIdx.x
        of.results[0, i] = 0
        of.goals[i] = -1
        if first + i < sources.shape[0]:
            set_goal(i, targets[first + i], of)
            cuda.atomic.or_(of.status, sources[first + i], word(_1 << np.uint64(i)))

    @cuda.jit(device=True)
    def share_goals(of, level):
        """Returns the labels of the targets, in shared memory, and the level."""
        wanted = cuda.shared.array((lanes, size), int32)
        mine = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        for i in range(mine, size, cuda.blockDim.x * cuda.blockDim.y):
            for lane in range(lanes):
                wanted[lane, i] = of.goal_labels[lane, i]
        cuda.syncthreads()
        return wanted, level

    @cuda.jit(device=True)
    def queries_at(v, lane, of, shared):
        return True, of.masks[v]

    @cuda.jit(device=True)
    def visit(edge, found, of, shared):
        """Answers those of the queries at v whose target is its child c, and moves others on to c."""
        c, wanted = edge[1], shared[0]
        flags = np.uint64(found)
        while flags != _0:
            i = lowest(flags)
            flags &= flags - _1
            if of.goals[i] == c:
                of.results[0, i] = 1
            if contains_goal(c, i, wanted, of):
                cuda.atomic.or_(of.status, c, word(_1 << np.uint64(i)))

    return start, by_edges(visit, queries_at, share_goals)


class Searcher:
    """The device arrays for searches on one labelled graph, `size` queries at once (64 or 32)."""

    starts = 1  #: launches that start a group
    kernels = staticmethod(_kernels)  #: returns the kernels that start and explore a group

    def __init__(self, rows, pairs, shape: Enterprise, size: int):
        """rows: children on the device; pairs: starts and ends, int32[d, n] on the device."""
        n, dim = rows.cards.shape[0], pairs[0].shape[0]
        self.rows, self.size = rows, size
        self.frontier = Frontier(n, shape)
        self.status = cuda.to_device(np.zeros(n, WORDS[size]))
        self.masks = cuda.device_array(n, WORDS[size])
        goals = cuda.device_array(size, np.int32)
        goal_labels = cuda.to_device(np.zeros((2 * dim, size), np.int32))  # a last group fills only some
        self.results = cuda.device_array((1, size), np.int32)
        self.group = typed(Group(self.masks, self.status, goals, goal_labels, *pairs, self.results))
        self.scan = Scan(1, size, size)
        self.groups = self.levels = 0
        self._start, self._explore = self.kernels(dim, size)

    @staticmethod
    def bytes(vertices: int, shape: Enterprise, size: int) -> int:
        """Returns the device bytes of a searcher that grow with the graph."""
        return Frontier.bytes(vertices, shape) + 2 * vertices * size // 8

    @property
    def launches(self) -> int:
        """Kernel launches so far."""
        return self.frontier.launches + self.groups * (self.starts + Scan.launches)

    def start(self, first: int, queries: tuple) -> None:
        """Starts the group whose first query is number `first`, in `starts` launches."""
        self._start[1, self.size](first, queries, self.group)

    def explore(self, level: int) -> None:
        """Expands the frontier, which is `level` steps from the sources."""
        self.frontier.consume(self._explore, self.rows, self.group, np.int32(level))

    def search(self, sources: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, int]:
        """Runs algorithm 11 on int32[k] sources and targets; returns answers, bool[k], and the number of positives."""
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


GROUP = 64  #: queries per group, k in the paper
_OPEN = np.int32(2**31 - 1)  #: the level of a query that is not answered yet


@cuda.jit(cache=True)
def _forget(seen):
    """Clears seen, uint64[n]."""
    for v in range(cuda.grid(1), seen.shape[0], cuda.gridsize(1)):
        seen[v] = 0


class PathGroup(namedtuple("PathGroup", (*Group._fields, "seen", "reached"))):
    """As `search.Group`, with seen uint64[n]: the queries that have visited a vertex; reached int32[64]: the level on
    which each query was answered."""


@cache
def _path_kernels(dim: int, size: int) -> tuple[object, Trio]:
    """As `_kernels`; `size` is always `GROUP`."""
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

    @cuda.jit(device=True)
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
    kernels = staticmethod(_path_kernels)

    def __init__(self, rows, pairs, shape: Enterprise, size: int = GROUP):
        super().__init__(rows, pairs, shape, size)
        n = rows.cards.shape[0]
        self.seen = cuda.device_array(n, np.uint64)
        self.group = typed(PathGroup(*self.group, self.seen, cuda.device_array(size, np.int32)))
        self._grid = min(shape.blocks, -(-n // shape.threads)), shape.threads

    @staticmethod
    def bytes(vertices: int, shape: Enterprise, size: int = GROUP) -> int:
        return Searcher.bytes(vertices, shape, size) + 8 * vertices

    def start(self, first: int, queries: tuple) -> None:
        _forget[self._grid](self.seen)
        super().start(first, queries)
