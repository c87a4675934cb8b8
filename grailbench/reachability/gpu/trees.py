"""From DAG to directed tree by comparing paths: Computation 2020, algorithm 3 and section 4.1.

Top-down, every visited vertex offers itself to its children as parent, and a child keeps the offer whose path from the
root comes first in the order in which a DFS takes children: the DFS parent, whatever comes when. Paths are compared as
in `parents.before`, in O(log depth) steps and 16 bytes a vertex, where the paper stores blocks of them.

An offer is one word: the parent above, the child's rank among the parent's children below, so that one
compare-and-swap replaces both.
"""

from __future__ import annotations

import numpy as np
from numba import int32, int64

from grailbench.device.frontier import trio
from grailbench.device.gateway import cuda
from grailbench.device.scan import MOST
from grailbench.reachability.gpu.parents import DEPTH, JUMP, PARENT, RANK, before

_NONE = np.int64(-1)
_RANK = np.int64(0xFFFFFFFF)
_32 = np.int64(32)


@cuda.jit(cache=True)
def _start(best, parent, path, root):
    """No offers yet: best int64[n]; the root, which is vertex `root`, has path and parent (-1) already."""
    for v in range(cuda.grid(1), best.shape[0], cuda.gridsize(1)):
        best[v] = _NONE
    if cuda.grid(1) == 0:
        parent[root] = -1
        path[root, PARENT] = root
        path[root, RANK] = 0
        path[root, DEPTH] = 0
        path[root, JUMP] = root


@cuda.jit(device=True)
def _visit(v, k, first, edges, awaited, tree, marks):
    """Edge k from v: offer v to the child; the last of its parents writes the child's path.

    awaited int32[n]: parents of each vertex; tree: best int64[n], parent int32[n], path int32[n, 4]; marks: visited
    int32[n], status uint8[n].
    """
    best, parent, path = tree
    visited, status = marks
    c = edges[k]
    rank = int32(k - first)
    offer = (int64(v) << _32) | int64(rank)
    seen = best[c]  # perhaps an old one: the swap below says
    while seen < 0 or before(path, v, rank, int32(seen >> _32), int32(seen & _RANK)):
        found = cuda.atomic.cas(best, c, seen, offer)
        if found == seen:
            break
        seen = found
    cuda.threadfence()  # the offer is out before the visit is counted
    if cuda.atomic.add(visited, c, 1) + 1 == awaited[c]:
        last = cuda.atomic.max(best, c, _NONE)  # a read that sees all offers
        p = int32(last >> _32)
        jump = path[p, JUMP]
        even = path[p, DEPTH] - path[jump, DEPTH] == path[jump, DEPTH] - path[path[jump, JUMP], DEPTH]
        parent[c] = p
        path[c, PARENT] = p
        path[c, RANK] = int32(last & _RANK)
        path[c, DEPTH] = path[p, DEPTH] + 1
        path[c, JUMP] = path[jump, JUMP] if even else p
        status[c] = 1


@cuda.jit(cache=True)
def _visit_thread(queue, size, children, awaited, tree, marks):
    """Visit the children of each vertex; a child that all its parents were at is in the next frontier."""
    starts, cards, edges = children
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first = starts[v]
        for k in range(first, first + cards[v]):
            _visit(v, k, first, edges, awaited, tree, marks)


def _visit_team(barrier):
    @cuda.jit(cache=True)
    def visit_team(queue, size, children, awaited, tree, marks):
        """As `_visit_thread`, a child a lane."""
        starts, cards, edges = children
        team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first = starts[v]
            for k in range(first + cuda.threadIdx.x, first + cards[v], cuda.blockDim.x):
                _visit(v, k, first, edges, awaited, tree, marks)

    return visit_team


@cuda.jit(cache=True)
def _all(status):
    for v in range(cuda.grid(1), status.shape[0], cuda.gridsize(1)):
        status[v] = 1


@cuda.jit(cache=True)
def _erase_thread(queue, size, children, parent, cards, edges):
    """Of each row keep the edges of the tree, in their order, at the row's beginning.

    children: rows of the DAG; parent int32[n]; cards int32[n] and edges int32[m] become those of the tree.
    """
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first = children.starts[v]
        kept = 0
        for k in range(first, first + children.cards[v]):
            c = children.edges[k]
            if parent[c] == v:
                edges[first + kept] = c
                kept += 1
        cards[v] = kept


def _erase_team(barrier):
    @cuda.jit(cache=True)
    def erase_team(queue, size, children, parent, cards, edges):
        """As `_erase_thread`; a team takes its width of edges at a time and scans which are kept."""
        sums = cuda.shared.array(MOST, int32)
        lane, width = cuda.threadIdx.x, cuda.blockDim.x
        base = cuda.threadIdx.y * width
        team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first, card = children.starts[v], children.cards[v]
            kept = 0
            for chunk in range(0, card, width):
                c = children.edges[first + chunk + lane] if chunk + lane < card else 0
                mine = 1 if chunk + lane < card and parent[c] == v else 0
                sums[base + lane] = mine
                stride = 1
                while stride < width:
                    barrier()
                    earlier = sums[base + lane - stride] if lane >= stride else 0
                    barrier()
                    sums[base + lane] += earlier
                    stride *= 2
                barrier()
                if mine:
                    edges[first + kept + sums[base + lane] - 1] = c
                kept += sums[base + width - 1]
                barrier()
            if lane == 0:
                cards[v] = kept

    return erase_team


_visits = trio(_visit_thread, _visit_team)
_erase = trio(_erase_thread, _erase_team)


def dag_to_dt(work, children, parents) -> None:
    """The DFS parent of each vertex into `work.parent`, and the tree's rows into `work.tree`."""
    work.begin(parents.cards)
    _start[work.grid](work.best, work.parent, work.path, work.vertices - 1)
    tree, marks = (work.best, work.parent, work.path), (work.visited, work.status)
    for _ in work.down.levels(work.status, children.cards):
        work.frontier.consume(_visits, children, parents.cards, tree, marks)
    _all[work.grid](work.status)
    for _ in work.everyone.levels(work.status, children.cards):
        work.frontier.consume(_erase, children, work.parent, work.tree.cards, work.tree.edges)
