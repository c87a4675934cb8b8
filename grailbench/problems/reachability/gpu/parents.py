"""The DFS parent of every vertex, by shortest weights (thesis algorithm 7 and section 4.4) or by comparing paths
(Computation 2020, algorithm 3 and section 4.1).

The weight of edge p -> c is 1 + the sizes of c's earlier siblings, so the cost of a path is its position in the
pre-order of the unfolded DAG, and the cheapest is the one that the DFS takes. If all costs of a vertex are at the
ceiling, the root paths of its parents are compared, in O(log depth) steps by skew-binary jump pointers (Myers 1983).

By paths alone (`dag_to_dt`), every visited vertex offers itself, top-down, to its children as parent; a child keeps the
offer whose path comes first. An offer is one word, parent above and the child's rank below, for one compare-and-swap.
"""

from collections import namedtuple

import numpy as np
from numpy import int32, int64, uint64

from grailbench.cuda.frontier import by_edges, by_sums, trio
from grailbench.cuda.gateway import cuda
from grailbench.cuda.launch import typed
from grailbench.cuda.primitives import MOST
from grailbench.problems.reachability.gpu.ranks import ONE, add, mark_all, start

PARENT, RANK, DEPTH, JUMP = range(4)  # columns of `path`


_COSTS = "prefix cost parent path costs offers ranks starts cards visited status compared ceiling"


class Costs(namedtuple("Costs", _COSTS)):
    """The arrays of the search for the parents.

    prefix uint64[m]: the sizes of earlier siblings, by edge
    cost uint64[n], parent int32[n], path int32[n, 4]: by vertex; path has one row unless some weight is saturated
    costs uint64[m], offers int32[m], ranks int32[m]: cost, parent and rank among its children of each candidate, by the
    parents' edges, whose rows are starts int64[n] and cards int32[n]; ranks has one element if there are no paths
    visited int32[n], status uint8[n]: as in `sizes.Visits`
    compared int64[1]: number of comparisons of paths; ceiling uint64: the greatest cost
    """


@cuda.jit(device=True)
def _lift(path, v, depth):
    """Returns the ancestor of v at `depth`, which is at most the depth of v."""
    while path[v, DEPTH] > depth:
        jump = path[v, JUMP]
        v = jump if path[jump, DEPTH] >= depth else path[v, PARENT]
    return v


@cuda.jit(device=True)
def before(path, p, p_rank, q, q_rank):
    """Returns whether a DFS reaches the common child v of p and q over p before it reaches v over q.

    v is child number `p_rank` of p and `q_rank` of q; p and q differ. path int32[n, 4] is complete for p, q and all
    their ancestors. The root is its own parent, at depth 0.
    """
    a, b = p, q
    if path[p, DEPTH] > path[q, DEPTH]:
        a = _lift(path, p, path[q, DEPTH] + 1)
        if path[a, PARENT] == q:
            return path[a, RANK] < q_rank
        a = path[a, PARENT]
    elif path[q, DEPTH] > path[p, DEPTH]:
        b = _lift(path, q, path[p, DEPTH] + 1)
        if path[b, PARENT] == p:
            return p_rank < path[b, RANK]
        b = path[b, PARENT]
    while path[a, PARENT] != path[b, PARENT]:
        if path[a, JUMP] != path[b, JUMP]:  # jumps from the same depth lead to the same depth
            a, b = path[a, JUMP], path[b, JUMP]
        else:
            a, b = path[a, PARENT], path[b, PARENT]
    return path[a, RANK] < path[b, RANK]


@cuda.jit(device=True)
def root_path(path, root):
    """Writes the path of the root, its own parent at depth 0."""
    path[root, PARENT] = root
    path[root, RANK] = 0
    path[root, DEPTH] = 0
    path[root, JUMP] = root


@cuda.jit(device=True)
def extend_path(path, v, p, rank):
    """Writes the path of v, child number `rank` of p, whose path is complete."""
    jump = path[p, JUMP]
    even = path[p, DEPTH] - path[jump, DEPTH] == path[jump, DEPTH] - path[path[jump, JUMP], DEPTH]
    path[v, PARENT] = p
    path[v, RANK] = rank
    path[v, DEPTH] = path[p, DEPTH] + 1
    path[v, JUMP] = path[jump, JUMP] if even else p


@cuda.jit(device=True)
def _choose(v, slot, of):
    """Makes candidate `slot` the parent of v."""
    p = of.offers[slot]
    of.cost[v] = of.costs[slot]
    of.parent[v] = p
    if of.path.shape[0] > 1:
        extend_path(of.path, v, p, of.ranks[slot])


@cuda.jit(device=True)
def _earlier(slot, other, of):
    return before(of.path, of.offers[slot], of.ranks[slot], of.offers[other], of.ranks[other])


@cuda.jit(cache=True)
def _start(of, root):
    """Gives the root cost 0 and no parent; one thread."""
    of.cost[root] = 0
    of.parent[root] = -1
    if of.path.shape[0] > 1:
        root_path(of.path, root)


@cuda.jit(cache=True)
def _choose_thread(queue, size, of):
    """Chooses the cheapest candidate for each vertex; one thread per vertex."""
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first, card = of.starts[v], of.cards[v]
        if card > 0:
            best = first
            for slot in range(first + 1, first + card):
                if of.costs[slot] < of.costs[best]:
                    best = slot
            if of.costs[best] == of.ceiling and card > 1:
                for slot in range(first + 1, first + card):  # all at the ceiling: best is the first
                    if _earlier(slot, best, of):
                        best = slot
                cuda.atomic.add(of.compared, 0, card - 1)
            _choose(v, best, of)


def _choose_team(barrier):
    @cuda.jit(cache=True)
    def choose_team(queue, size, of):
        """As `_choose_thread`, by a team: each lane finds the least of its share, then makes one atomic minimum."""
        least = cuda.shared.array(MOST, uint64)
        found = cuda.shared.array(MOST, int32)
        lane, width, mine = cuda.threadIdx.x, cuda.blockDim.x, cuda.threadIdx.y
        base = mine * width
        team = cuda.blockIdx.x * cuda.blockDim.y + mine
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first, card = of.starts[v], of.cards[v]
            if lane == 0:
                least[mine] = of.ceiling
            best = first + lane
            for slot in range(first + lane + width, first + card, width):
                if of.costs[slot] < of.costs[best]:
                    best = slot
            barrier()
            if lane < card:
                cuda.atomic.min(least, mine, of.costs[best])
            barrier()
            if least[mine] < of.ceiling:
                if lane < card and of.costs[best] == least[mine]:  # costs below the ceiling are unique
                    _choose(v, best, of)
            else:
                for slot in range(first + lane + width, first + card, width):  # all at the ceiling: best is the first
                    if _earlier(slot, best, of):
                        best = slot
                found[base + lane] = best - first if lane < card else -1
                stride = width // 2
                while stride > 0:
                    barrier()
                    if lane < stride and found[base + lane + stride] >= 0:
                        one, other = first + found[base + lane], first + found[base + lane + stride]
                        if _earlier(other, one, of):
                            found[base + lane] = found[base + lane + stride]
                    stride //= 2
                if lane == 0:
                    _choose(v, first + found[base], of)
                    cuda.atomic.add(of.compared, 0, card - 1)
            barrier()

    return choose_team


@cuda.jit(device=True)
def _cost_of(v, lane, of, level):
    return True, of.cost[v]


@cuda.jit(device=True)
def _offer(edge, cost, of, level):
    """Offers v as the parent of its child at an edge, in the next free slot of the child's parent edges.

    A child with offers from all parents is in the next frontier.
    """
    v, c, k, rank = edge
    place = cuda.atomic.add(of.visited, c, 1)
    slot = of.starts[c] + place
    of.costs[slot] = add(cost, add(of.prefix[k], ONE, of.ceiling), of.ceiling)
    of.offers[slot] = v
    if of.ranks.shape[0] > 1:
        of.ranks[slot] = rank
    if place + 1 == of.cards[c]:
        of.status[c] = 1


_decide = trio(_choose_thread, _choose_team)
_expand = by_edges(_offer, _cost_of)


def parent_sssp(work, children, parents, ceiling) -> None:
    """Finds the DFS parent of each vertex, in `work.parent`. With the rows of `work.path`, ties of saturated costs are
    decided by paths, and `work.compared` counts their comparisons."""
    visited, _, status = start(work, parents.cards)
    costs = typed(
        Costs(
            work.prefix, work.cost, work.parent, work.path, work.costs, work.candidates, work.ranks, parents.starts,
            parents.cards, visited, status, work.compared, ceiling,
        )
    )  # fmt: skip
    _start[1, 1](costs, work.vertices - 1)
    while work.frontier.generate(status, parents.cards, clear=False):
        work.frontier.consume(_decide, costs)
        work.frontier.generate(status, children.cards)
        work.frontier.consume(_expand, children, costs, 0)


_NONE = np.int64(-1)
_RANK = np.int64(0xFFFFFFFF)
_32 = np.int64(32)


class Offers(namedtuple("Offers", "best parent path awaited visited status")):
    """The tree while it grows.

    best int64[n]: the best offer to a vertex; parent int32[n]; path int32[n, 4] (`parents`); awaited int32[n]: the
    number of its parents; visited int32[n], status uint8[n]: as in `sizes.Visits`
    """


class TreeRows(namedtuple("TreeRows", "parent cards edges")):
    """The parents in the tree, int32[n], and its rows, which are written: cards int32[n] and edges int32[m]."""


@cuda.jit(cache=True)
def _start_offers(offers, root):
    """Clears the offers, and gives vertex `root` its path and parent -1."""
    for v in range(cuda.grid(1), offers.best.shape[0], cuda.gridsize(1)):
        offers.best[v] = _NONE
    if cuda.grid(1) == 0:
        offers.parent[root] = -1
        root_path(offers.path, root)


@cuda.jit(device=True)
def _offer_path(edge, own, offers, level):
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


@cuda.jit(device=True)
def _in_tree(v, c, tree):
    return int32(tree.parent[c] == v)


@cuda.jit(device=True)
def _plus(a, b, tree):
    return int32(a + b)


@cuda.jit(device=True)
def _keep_edge(k, first, before, wanted, c, tree):
    if wanted:
        tree.edges[first + before] = c


@cuda.jit(device=True)
def _store_card(v, total, tree):
    tree.cards[v] = total


_offer_to_children = by_edges(_offer_path)
_erase = by_sums(_in_tree, _keep_edge, _store_card, _plus, np.int32)  # keeps tree edges in order, first in each row


def dag_to_dt(work, children, parents) -> None:
    """Computes the DFS parent of each vertex in `work.parent`, and the rows of the tree in `work.tree`."""
    visited, awaited, status = start(work, parents.cards)
    offers = typed(Offers(work.best, work.parent, work.path, awaited, visited, status))
    tree = typed(TreeRows(work.parent, work.tree.cards, work.tree.edges))
    _start_offers[work.grid](offers, work.vertices - 1)
    for _ in work.down.levels(status, children.cards):
        work.frontier.consume(_offer_to_children, children, offers, 0)
    mark_all[work.grid](status)
    for _ in work.everyone.levels(status, children.cards):
        work.frontier.consume(_erase, children, tree)
