"""From DAG to directed tree by comparing paths: Computation 2020, algorithm 3 and section 4.1.

Top-down, every visited vertex offers itself to its children as parent. A child keeps the offer whose path from the root
comes first in DFS order. This is its DFS parent, whatever the order of offers. Paths are compared as in
`parents.before`, in O(log depth) steps with 16 bytes per vertex; the paper stores blocks of paths.

An offer is one word, with the parent in its upper half and the child's rank among the parent's children in its lower
half, so that one compare-and-swap replaces both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import int32, int64

from grailbench.cuda.frontier import by_edges, by_sums
from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import typed
from grailbench.problems.reachability.gpu.parents import before, extend_path, root_path
from grailbench.problems.reachability.gpu.sizes import start

_NONE = np.int64(-1)
_RANK = np.int64(0xFFFFFFFF)
_32 = np.int64(32)


class Offers(NamedTuple):
    """The tree while it grows.

    best int64[n]: the best offer to a vertex; parent int32[n]; path int32[n, 4] (`parents`); awaited int32[n]: the
    number of its parents; visited int32[n], status uint8[n]: as in `sizes.Visits`
    """

    best: object
    parent: object
    path: object
    awaited: object
    visited: object
    status: object


class Kept(NamedTuple):
    """The parents in the tree, int32[n], and its rows, which are written: cards int32[n] and edges int32[m]."""

    parent: object
    cards: object
    edges: object


@cuda.jit(cache=True)
def _start(offers, root):
    """Clears the offers, and gives vertex `root` its path and parent -1."""
    for v in range(cuda.grid(1), offers.best.shape[0], cuda.gridsize(1)):
        offers.best[v] = _NONE
    if cuda.grid(1) == 0:
        offers.parent[root] = -1
        root_path(offers.path, root)


@cuda.jit(device=True)
def _offer(edge, own, offers, level):
    """Offers v to its child at an edge; the last of the child's parents writes its path."""
    v, c, k, place = edge
    best, rank = offers.best, int32(place)
    offer = (int64(v) << _32) | int64(rank)
    seen = best[c]  # this may be an old offer: the swap below checks it
    while seen < 0 or before(offers.path, v, rank, int32(seen >> _32), int32(seen & _RANK)):
        found = cuda.atomic.cas(best, c, seen, offer)
        if found == seen:
            break
        seen = found
    cuda.threadfence()  # the offer is visible before the visit is counted
    if cuda.atomic.add(offers.visited, c, 1) + 1 == offers.awaited[c]:
        last = cuda.atomic.max(best, c, _NONE)  # an atomic read, which sees all offers
        p = int32(last >> _32)
        offers.parent[c] = p
        extend_path(offers.path, c, p, int32(last & _RANK))
        offers.status[c] = 1


@cuda.jit(cache=True)
def _all(status):
    for v in range(cuda.grid(1), status.shape[0], cuda.gridsize(1)):
        status[v] = 1


@cuda.jit(device=True)
def _is_kept(v, c, kept):
    return int32(kept.parent[c] == v)


@cuda.jit(device=True)
def _plus(a, b, kept):
    return int32(a + b)


@cuda.jit(device=True)
def _keep_edge(k, first, before, wanted, c, kept):
    if wanted:
        kept.edges[first + before] = c


@cuda.jit(device=True)
def _store_card(v, total, kept):
    kept.cards[v] = total


_offer_to_children = by_edges(_offer)
_erase = by_sums(_is_kept, _keep_edge, _store_card, _plus, np.int32)  # keeps tree edges in order, first in each row


def dag_to_dt(work, children, parents) -> None:
    """Computes the DFS parent of each vertex in `work.parent`, and the rows of the tree in `work.tree`."""
    visited, awaited, status = start(work, parents.cards)
    offers = typed(Offers(work.best, work.parent, work.path, awaited, visited, status))
    kept = typed(Kept(work.parent, work.tree.cards, work.tree.edges))
    _start[work.grid](offers, work.vertices - 1)
    for _ in work.down.levels(status, children.cards):
        work.frontier.consume(_offer_to_children, children, offers, 0)
    _all[work.grid](status)
    for _ in work.everyone.levels(status, children.cards):
        work.frontier.consume(_erase, children, kept)
