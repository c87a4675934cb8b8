"""From the tree to labels: thesis algorithm 6 without the pre-order, and the least post-order of all reached."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.device.gateway import cuda
from grailbench.device.launch import typed
from grailbench.device.queues import by_edges
from grailbench.reachability.gpu.sizes import start


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


class Ranks(NamedTuple):
    """What the top-down BFS of the tree reads and writes.

    prefix: an unsigned [m], by edges of the tree; sizes, before uint64[n]: of the subtree, and of what comes before it;
    post int32[n]: the post-order ranks, from 1; status uint8[n]: who is in the next frontier
    """

    prefix: object
    sizes: object
    before: object
    post: object
    status: object


class Least(NamedTuple):
    """What the bottom-up BFS of the DAG reads and writes: least int32[n] begins as the post-order ranks and becomes the
    least rank that each vertex reaches; the rest as in `sizes.Visits`."""

    least: object
    visited: object
    awaited: object
    status: object


@cuda.jit(cache=True)
def _start(ranks, root):
    """One thread: the root is the frontier, and nothing comes before its subtree. `status` is clear as BFS leave it."""
    ranks.before[root] = 0
    ranks.status[root] = 1


@cuda.jit(device=True)
def _rank(v, lane, ranks, level):
    passed = ranks.before[v]
    if lane == 0:
        ranks.post[v] = passed + ranks.sizes[v]
    return True, passed


@cuda.jit(device=True)
def _pass_on(edge, passed, ranks, level):
    """To a child, what comes before its subtree."""
    c, k = edge[1], edge[2]
    ranks.before[c] = passed + ranks.prefix[k]
    ranks.status[c] = 1


@cuda.jit(cache=True)
def _copy(source, target):
    for v in range(cuda.grid(1), source.shape[0], cuda.gridsize(1)):
        target[v] = source[v]


@cuda.jit(device=True)
def _least_of(v, lane, of, level):
    return True, of.least[v]


@cuda.jit(device=True)
def _lower(edge, mine, of, level):
    """To a parent, the least rank that its child reaches."""
    p = edge[1]
    if of.least[p] > mine:  # most of the time somebody was lower before: no atomic needed
        cuda.atomic.min(of.least, p, mine)
    if cuda.atomic.add(of.visited, p, 1) + 1 == of.awaited[p]:
        of.status[p] = 1


_post = by_edges(_pass_on, _rank)
_least = by_edges(_lower, _least_of)


def post_order(work, tree, post) -> None:
    """Post-order ranks, from 1, of the tree into `post`, int32[n], from the tree's sizes and prefix sums."""
    ranks = typed(Ranks(work.prefix, work.sizes, work.cost, post, work.status))
    _start[1, 1](ranks, work.vertices - 1)
    while work.frontier.generate(work.status, tree.cards):
        work.frontier.consume(_post, tree, ranks, 0)


def min_post(work, children, parents, post, least, schedule=None) -> None:
    """The least rank that each vertex reaches in the DAG into `least`, int32[n]; `schedule` (`device.schedule`) keeps
    the frontiers, which are the same for every pair."""
    visited, awaited, status = start(work, children.cards)
    _copy[work.grid](post, least)
    of = typed(Least(least, visited, awaited, status))
    for _ in (schedule or work.frontier).levels(status, parents.cards):
        work.frontier.consume(_least, parents, of, 0)
