"""Sub-graph sizes by a bottom-up BFS: thesis algorithms 5, 9 and 10, on the DAG and on the tree.

zeta(v) = 1 + the sum of zeta over v's children counts vertices with multiplicity, and overflows any word on dense DAGs.
So every sum saturates at `ceiling`. Saturated addition is associative: prefix sums may be computed in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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


class Visits(NamedTuple):
    """visited, awaited int32[n]: how many neighbours have visited a vertex, and how many it waits for; status uint8[n]:
    1 for the vertices of the next frontier."""

    visited: object
    awaited: object
    status: object


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
