"""From the tree to labels: thesis algorithm 6 without the pre-order, and the least post-order of all reached."""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.device.frontier import trio
from grailbench.device.gateway import cuda


@njit(cache=True, nogil=True)
def tree_rows(offsets, children, parent):
    """Edges RC: CSR of the tree, on the CPU as the thesis has it, children in the DAG's order.

    offsets int64[n + 1], children int32[m], parent int32[n]. Returns int64[n + 1], int32[n - 1].
    """
    n = offsets.shape[0] - 1
    starts = np.empty(n + 1, np.int64)
    edges = np.empty(n - 1, np.int32)
    count = 0
    for u in range(n):
        starts[u] = count
        for k in range(offsets[u], offsets[u + 1]):
            if parent[children[k]] == u:
                edges[count] = children[k]
                count += 1
    starts[n] = count
    return starts, edges


@cuda.jit(cache=True)
def _start(before, status, root):
    """One thread: the root is the frontier, and nothing comes before its subtree. `status` is clear as BFS leave it."""
    before[root] = 0
    status[root] = 1


@cuda.jit(cache=True)
def _post_thread(queue, size, tree, prefix, sizes, before, post, status):
    """A vertex's post-order rank, from 1, and to its children what comes before their subtrees.

    tree: rows of the tree; prefix uint64[m] by its edges; sizes, before uint64[n]; post int32[n].
    """
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first, passed = tree.starts[v], before[v]
        post[v] = passed + sizes[v]
        for k in range(first, first + tree.cards[v]):
            c = tree.edges[k]
            before[c] = passed + prefix[k]
            status[c] = 1


def _post_team(barrier):
    @cuda.jit(cache=True)
    def post_team(queue, size, tree, prefix, sizes, before, post, status):
        """As `_post_thread`, a child a lane."""
        team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first, passed = tree.starts[v], before[v]
            if cuda.threadIdx.x == 0:
                post[v] = passed + sizes[v]
            for k in range(first + cuda.threadIdx.x, first + tree.cards[v], cuda.blockDim.x):
                c = tree.edges[k]
                before[c] = passed + prefix[k]
                status[c] = 1

    return post_team


@cuda.jit(cache=True)
def _copy(source, target):
    for v in range(cuda.grid(1), source.shape[0], cuda.gridsize(1)):
        target[v] = source[v]


@cuda.jit(device=True)
def _lower(k, mine, parents, cards, visited, least, status):
    """Tell the parent at edge k the least rank that its child reaches."""
    p = parents.edges[k]
    if least[p] > mine:  # most of the time somebody was lower before: no atomic needed
        cuda.atomic.min(least, p, mine)
    if cuda.atomic.add(visited, p, 1) + 1 == cards[p]:
        status[p] = 1


@cuda.jit(cache=True)
def _least_thread(queue, size, parents, cards, visited, least, status):
    """Each vertex gives its parents the least rank it reaches; least int32[n] begins as the post-order ranks."""
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first, mine = parents.starts[v], least[v]
        for k in range(first, first + parents.cards[v]):
            _lower(k, mine, parents, cards, visited, least, status)


def _least_team(barrier):
    @cuda.jit(cache=True)
    def least_team(queue, size, parents, cards, visited, least, status):
        """As `_least_thread`, a parent a lane."""
        team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first, mine = parents.starts[v], least[v]
            for k in range(first + cuda.threadIdx.x, first + parents.cards[v], cuda.blockDim.x):
                _lower(k, mine, parents, cards, visited, least, status)

    return least_team


_post = trio(_post_thread, _post_team)
_least = trio(_least_thread, _least_team)


def post_order(work, tree, post) -> None:
    """Post-order ranks, from 1, of the tree into `post`, int32[n], from the tree's sizes and prefix sums."""
    _start[1, 1](work.cost, work.status, work.vertices - 1)
    while work.frontier.generate(work.status, tree.cards):
        work.frontier.consume(_post, tree, work.prefix, work.sizes, work.cost, post, work.status)


def min_post(work, children, parents, post, least, schedule=None) -> None:
    """The least rank that each vertex reaches in the DAG into `least`, int32[n]; `schedule` (`device.schedule`) keeps
    the frontiers, which are the same for every pair."""
    work.begin(children.cards)
    _copy[work.grid](post, least)
    for _ in (schedule or work.frontier).levels(work.status, parents.cards):
        work.frontier.consume(_least, parents, children.cards, work.visited, least, work.status)
