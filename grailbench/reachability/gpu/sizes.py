"""Sub-graph sizes by a bottom-up BFS: thesis algorithms 5, 9 and 10, on the DAG and on the tree.

zeta(v) = 1 + the sum of zeta over v's children counts vertices with multiplicity and outgrows any word on dense DAGs,
so every sum saturates at `ceiling`. Saturated addition is associative: the prefix sums may be taken in any order.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from grailbench.device.frontier import trio
from grailbench.device.gateway import cuda
from grailbench.device.scan import MOST

CEILING = np.uint64(2**64 - 1)
ZERO, ONE = np.uint64(0), np.uint64(1)


@cuda.jit(device=True)
def add(a, b, ceiling):
    """a + b, at most `ceiling`; uint64, both at most `ceiling`."""
    return ceiling if a > ceiling - b else a + b


@cuda.jit(cache=True)
def begin(status, visited, cards):
    """Nobody has been visited; the frontier is whoever `cards`, int32[n], gives no neighbour to wait for."""
    for v in range(cuda.grid(1), status.shape[0], cuda.gridsize(1)):
        status[v] = cards[v] == 0
        visited[v] = 0


@cuda.jit(cache=True)
def _sum_thread(queue, size, rows, sizes, prefix, ceiling):
    """Algorithm 10: zero-started prefix sums of the children's sizes, and with them the vertex's own size.

    rows: children; sizes uint64[n]; prefix uint64[m], in the order of the children's edges.
    """
    starts, cards, edges = rows
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first = starts[v]
        total = ZERO
        for k in range(first, first + cards[v]):
            prefix[k] = total
            total = add(total, sizes[edges[k]], ceiling)
        sizes[v] = add(total, ONE, ceiling)


def _sum_team(barrier):
    @cuda.jit(cache=True)
    def sum_team(queue, size, rows, sizes, prefix, ceiling):
        """As `_sum_thread`; a team takes its width of children at a time and scans them (algorithm 4)."""
        sums = cuda.shared.array(MOST, uint64)
        starts, cards, edges = rows
        lane, width = cuda.threadIdx.x, cuda.blockDim.x
        base = cuda.threadIdx.y * width
        team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first, card = starts[v], cards[v]
            carry = ZERO
            for chunk in range(0, card, width):
                k = chunk + lane
                sums[base + lane] = sizes[edges[first + k]] if k < card else ZERO
                stride = 1
                while stride < width:
                    barrier()
                    before = sums[base + lane - stride] if lane >= stride else ZERO
                    barrier()
                    sums[base + lane] = add(sums[base + lane], before, ceiling)
                    stride *= 2
                barrier()
                if k < card:
                    prefix[first + k] = add(carry, sums[base + lane - 1], ceiling) if lane > 0 else carry
                carry = add(carry, sums[base + width - 1], ceiling)
                barrier()
            if lane == 0:
                sizes[v] = add(carry, ONE, ceiling)

    return sum_team


@cuda.jit(cache=True)
def _expand_thread(queue, size, parents, cards, visited, status):
    """Tell each parent that one more child has its size; who has heard of all is in the next frontier."""
    starts, counts, edges = parents
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first = starts[v]
        for k in range(first, first + counts[v]):
            p = edges[k]
            if cuda.atomic.add(visited, p, 1) + 1 == cards[p]:
                status[p] = 1


def _expand_team(barrier):
    @cuda.jit(cache=True)
    def expand_team(queue, size, parents, cards, visited, status):
        """As `_expand_thread`, a parent a lane."""
        starts, counts, edges = parents
        team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first = starts[v]
            for k in range(first + cuda.threadIdx.x, first + counts[v], cuda.blockDim.x):
                p = edges[k]
                if cuda.atomic.add(visited, p, 1) + 1 == cards[p]:
                    status[p] = 1

    return expand_team


@cuda.jit(cache=True)
def _expand_tree(queue, size, parent, cards, visited, status):
    """As `_expand_thread` where everybody has one parent, int32[n], or none: -1."""
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        p = parent[queue[q]]
        if p >= 0 and cuda.atomic.add(visited, p, 1) + 1 == cards[p]:
            status[p] = 1


_sum = trio(_sum_thread, _sum_team)
_expand = trio(_expand_thread, _expand_team)


def subsizes_dag(work, children, parents, ceiling) -> None:
    """Sizes and prefix sums of the DAG into `work.sizes`, `work.prefix`; each level sorted by children to sum, then
    by parents to expand (algorithm 9)."""
    work.begin(children.cards)
    while work.frontier.generate(work.status, children.cards, clear=False):
        work.frontier.consume(_sum, children, work.sizes, work.prefix, ceiling)
        work.frontier.generate(work.status, parents.cards)
        work.frontier.consume(_expand, parents, children.cards, work.visited, work.status)


def subsizes_tree(work, tree, ceiling) -> None:
    """As `subsizes_dag` on the tree, whose vertices have one parent: one sorting a level is enough."""
    work.begin(tree.cards)
    while work.frontier.generate(work.status, tree.cards):
        work.frontier.consume(_sum, tree, work.sizes, work.prefix, ceiling)
        work.frontier.consume_by_threads(_expand_tree, work.parent, tree.cards, work.visited, work.status)
