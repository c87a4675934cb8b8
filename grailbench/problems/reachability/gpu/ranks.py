"""Sizes of sub-graphs by a bottom-up BFS (thesis algorithms 5, 9 and 10, on the DAG and on the tree), and from the tree
to labels: algorithm 6 without the pre-order, and the least post-order rank of all reached.

zeta(v) = 1 + the sum of zeta over v's children counts vertices with multiplicity, and overflows any word on dense DAGs.
So every sum saturates at `ceiling`. Saturated addition is associative: prefix sums may be computed in any order.
"""

from collections import namedtuple
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.cuda.frontier import by_edges, by_sums
from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import typed

CEILING = np.uint64(2**64 - 1)
ONE = np.uint64(1)


class Sums(NamedTuple):
    """sizes uint64[n]; prefix: exclusive prefix sums of the children's sizes, unsigned integers [m], by edges; ceiling:
    the greatest sum."""

    sizes: object
    prefix: object
    ceiling: np.uint64


class Visits(namedtuple("Visits", "visited awaited status")):
    """visited, awaited int32[n]: how many neighbours have visited a vertex, and how many it waits for; status uint8[n]:
    1 for the vertices of the next frontier."""


@cuda.jit(device=True)
def add(a, b, ceiling):
    """Returns a + b, saturated at `ceiling`; uint64, both at most `ceiling`."""
    return ceiling if a > ceiling - b else a + b


@cuda.jit(cache=True)
def begin(visits):
    """Clears the visits; the frontier is every vertex that waits for no neighbour."""
    for v in range(cuda.grid(1), visits.status.shape[0], cuda.gridsize(1)):
        visits.status[v] = visits.awaited[v] == 0
        visits.visited[v] = 0


@cuda.jit(cache=True)
def mark_all(status):
    """Makes every vertex the next frontier."""
    for v in range(cuda.grid(1), status.shape[0], cuda.gridsize(1)):
        status[v] = 1


@cuda.jit(device=True)
def visit(v, visits):
    """Counts one more visit of v; after the last one, v is in the next frontier."""
    if cuda.atomic.add(visits.visited, v, 1) + 1 == visits.awaited[v]:
        visits.status[v] = 1


@cuda.jit(device=True)
def _size_of_child(v, c, sums):
    return sums.sizes[c]


@cuda.jit(device=True)
def _plus(a, b, sums):
    return add(a, b, sums.ceiling)


@cuda.jit(device=True)
def _store_prefix(k, first, before, size, c, sums):
    sums.prefix[k] = before


@cuda.jit(device=True)
def _store_size(v, total, sums):
    sums.sizes[v] = add(total, ONE, sums.ceiling)


@cuda.jit(device=True)
def _visit_parent(edge, own, visits, level):
    visit(edge[1], visits)


@cuda.jit(cache=True)
def _visit_only_parent(queue, size, parent, visits):
    """As `_visit_parents` in a tree. parent int32[n], -1 for the root."""
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        p = parent[queue[q]]
        if p >= 0:
            visit(p, visits)


_sum_children = by_sums(_size_of_child, _store_prefix, _store_size, _plus, np.uint64)
_visit_parents = by_edges(_visit_parent)


def start(work, cards) -> Visits:
    """Begins a BFS from the vertices that have no neighbour by `cards`, int32[n] on the device."""
    visits = typed(Visits(work.visited, cards, work.status))
    begin[work.grid](visits)
    return visits


def subsizes_dag(work, children, parents, ceiling) -> None:
    """Computes sizes and prefix sums of the DAG in `work.sizes` and `work.prefix` (algorithm 9).

    Each level is sorted by children to sum, then by parents to visit them.
    """
    visits, sums = start(work, children.cards), typed(Sums(work.sizes, work.prefix, ceiling))
    while work.frontier.generate(work.status, children.cards, clear=False):
        work.frontier.consume(_sum_children, children, sums)
        work.frontier.generate(work.status, parents.cards)
        work.frontier.consume(_visit_parents, parents, visits, 0)


def subsizes_tree(work, tree, ceiling) -> None:
    """As `subsizes_dag` on the tree, whose vertices have one parent: one sort per level is enough."""
    visits, sums = start(work, tree.cards), typed(Sums(work.sizes, work.prefix, ceiling))
    while work.frontier.generate(work.status, tree.cards):
        work.frontier.consume(_sum_children, tree, sums)
        work.frontier.consume_by_threads(_visit_only_parent, work.parent, visits)


def sibling_sums(work, tree, ceiling) -> None:
    """Computes the prefix sums over siblings in a tree whose sizes are known, all vertices at once; sizes are written
    again as they are."""
    mark_all[work.grid](work.status)
    while work.frontier.generate(work.status, tree.cards):
        work.frontier.consume(_sum_children, tree, typed(Sums(work.sizes, work.prefix, ceiling)))


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


class Ranks(namedtuple("Ranks", "prefix sizes before post status")):
    """The arrays of the top-down BFS of the tree.

    prefix: unsigned integers [m], by edges of the tree; sizes, before uint64[n]: the vertices of the subtree, and those
    before it; post int32[n]: the post-order ranks, from 1; status uint8[n]: 1 for the vertices of the next frontier
    """


class Bounds(namedtuple("Bounds", "least most visited awaited status")):
    """As `Least`, with most int32[n], which begins as the post-order ranks and becomes the greatest rank reached."""


class Least(namedtuple("Least", "least visited awaited status")):
    """The arrays of the bottom-up BFS of the DAG: least int32[n] begins as the post-order ranks and becomes the least
    rank that each vertex reaches; the others as in `sizes.Visits`."""


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


@cuda.jit(device=True)
def _bounds_of(v, lane, of, level):
    return True, (of.least[v], of.most[v])


@cuda.jit(device=True)
def _widen(edge, mine, of, level):
    """Lowers the least rank of a parent to that of its child, and raises its greatest."""
    p = edge[1]
    if of.most[p] < mine[1]:
        cuda.atomic.max(of.most, p, mine[1])
    _lower(edge, mine[0], of, level)


_post = by_edges(_pass_on, _rank)
_least = by_edges(_lower, _least_of)
_bounds = by_edges(_widen, _bounds_of)


def post_order(work, tree, post) -> None:
    """Writes the post-order ranks of the tree, from 1, to `post`, int32[n], from the tree's sizes and prefix sums."""
    ranks = typed(Ranks(work.prefix, work.sizes, work.cost, post, work.status))
    _start[1, 1](ranks, work.vertices - 1)
    while work.frontier.generate(work.status, tree.cards):
        work.frontier.consume(_post, tree, ranks, 0)


def min_post(work, children, parents, post, least, schedule=None, both=False) -> None:
    """Writes the least rank that each vertex reaches in the DAG to `least`, int32[n]; with `both` the greatest to
    `post`, which is that of the vertex where the tree is a depth-first search of the DAG.

    `schedule` (`device.schedule`) keeps the frontiers, which are the same for every pair.
    """
    visits = start(work, children.cards)
    _copy[work.grid](post, least)
    of, kernels = typed(Bounds(least, post, *visits) if both else Least(least, *visits)), _bounds if both else _least
    for _ in (schedule or work.frontier).levels(work.status, parents.cards):
        work.frontier.consume(kernels, parents, of, 0)
