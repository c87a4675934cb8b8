"""From the tree to labels: thesis algorithm 6 without the pre-order, and the least post-order rank of all reached."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.cuda.frontier import by_edges
from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import typed
from grailbench.problems.reachability.gpu.sizes import start


@njit(cache=True, nogil=True)
def tree_rows(offsets, children, parent):
    """Returns the CSR form of the tree (the thesis's 'edges RC'), int64[n + 1] and int32[n - 1], in the DAG's order.

    offsets int64[n + 1], children int32[m], parent int32[n].
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
    """The arrays of the top-down BFS of the tree.

    prefix: unsigned integers [m], by edges of the tree; sizes, before uint64[n]: the vertices of the subtree, and those
    before it; post int32[n]: the post-order ranks, from 1; status uint8[n]: 1 for the vertices of the next frontier
    """

    prefix: object
    sizes: object
    before: object
    post: object
    status: object


class Least(NamedTuple):
    """The arrays of the bottom-up BFS of the DAG: least int32[n] begins as the post-order ranks and becomes the least
    rank that each vertex reaches; the others as in `sizes.Visits`."""

    least: object
    visited: object
    awaited: object
    status: object


@cuda.jit(cache=True)
def _start(ranks, root):
    """Makes the root the frontier, by one thread; `status` is clear after every BFS."""
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
    """Gives a child the number of vertices before its subtree."""
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
    """Lowers the least rank of a parent to that of its child."""
    p = edge[1]
    if of.least[p] > mine:  # mostly it is lower already, and no atomic is needed
        cuda.atomic.min(of.least, p, mine)
    if cuda.atomic.add(of.visited, p, 1) + 1 == of.awaited[p]:
        of.status[p] = 1


_post = by_edges(_pass_on, _rank)
_least = by_edges(_lower, _least_of)


def post_order(work, tree, post) -> None:
    """Writes the post-order ranks of the tree, from 1, to `post`, int32[n], from the tree's sizes and prefix sums."""
    ranks = typed(Ranks(work.prefix, work.sizes, work.cost, post, work.status))
    _start[1, 1](ranks, work.vertices - 1)
    while work.frontier.generate(work.status, tree.cards):
        work.frontier.consume(_post, tree, ranks, 0)


def min_post(work, children, parents, post, least, schedule=None) -> None:
    """Writes the least rank that each vertex reaches in the DAG to `least`, int32[n].

    `schedule` (`device.schedule`) keeps the frontiers, which are the same for every pair.
    """
    visited, awaited, status = start(work, children.cards)
    _copy[work.grid](post, least)
    of = typed(Least(least, visited, awaited, status))
    for _ in (schedule or work.frontier).levels(status, parents.cards):
        work.frontier.consume(_least, parents, of, 0)
