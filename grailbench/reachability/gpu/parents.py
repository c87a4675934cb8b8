"""The DFS parent of every vertex by shortest weights: thesis algorithm 7 and section 4.4.

The weight of edge p -> c is 1 + the sizes of c's earlier siblings. The cost of a path is then its place in the
pre-order of the unfolded DAG: no two paths have the same, and the cheapest to v is the one that the DFS takes. That
holds while weights are exact. A cost at the ceiling says only that the true one is there or beyond, so a vertex all of
whose costs are there is settled by comparing its parents' root paths: the first step in which they differ decides.

A path is not stored. Parent, rank among the parent's children, depth and one skew-binary jump pointer (Myers 1983)
a vertex, 16 bytes, compare two paths in O(log depth) steps.
"""

from __future__ import annotations

from numba import int32, uint64

from grailbench.device.frontier import trio
from grailbench.device.gateway import cuda
from grailbench.device.scan import MOST
from grailbench.reachability.gpu.sizes import ONE, add

PARENT, RANK, DEPTH, JUMP = range(4)  # columns of `path`


@cuda.jit(device=True)
def _lift(path, v, depth):
    """The ancestor of v at `depth`, at most v's."""
    while path[v, DEPTH] > depth:
        jump = path[v, JUMP]
        v = jump if path[jump, DEPTH] >= depth else path[v, PARENT]
    return v


@cuda.jit(device=True)
def before(path, p, p_rank, q, q_rank):
    """Whether a DFS reaches their common child v over p, whose child number `p_rank` it is, before over q.

    path int32[n, 4], complete for p and q and all above; p and q differ. The root is its own parent, at depth 0.
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
def _choose(v, slot, candidates, chosen, path):
    """Make candidate `slot` the parent of v."""
    costs, parents, ranks = candidates
    cost, parent = chosen
    p = parents[slot]
    cost[v] = costs[slot]
    parent[v] = p
    if path.shape[0] > 1:
        jump = path[p, JUMP]
        path[v, PARENT] = p
        path[v, RANK] = ranks[slot]
        path[v, DEPTH] = path[p, DEPTH] + 1
        even = path[p, DEPTH] - path[jump, DEPTH] == path[jump, DEPTH] - path[path[jump, JUMP], DEPTH]
        path[v, JUMP] = path[jump, JUMP] if even else p


@cuda.jit(device=True)
def _earlier(slot, other, candidates, path):
    return before(path, candidates[1][slot], candidates[2][slot], candidates[1][other], candidates[2][other])


@cuda.jit(cache=True)
def _start(chosen, path, root):
    """One thread: the root costs nothing and has no parent."""
    cost, parent = chosen
    cost[root] = 0
    parent[root] = -1
    if path.shape[0] > 1:
        path[root, PARENT] = root
        path[root, RANK] = 0
        path[root, DEPTH] = 0
        path[root, JUMP] = root


@cuda.jit(cache=True)
def _choose_thread(queue, size, parents, candidates, chosen, path, ceiling, settled):
    """Each vertex takes its cheapest candidate.

    parents: Rows of the DAG; candidates: costs uint64[m], parents int32[m], ranks int32[m], by parent edges;
    chosen: cost uint64[n], parent int32[n]; path int32[n, 4], or one row where no weight is saturated; settled
    int64[1] counts comparisons of paths.
    """
    starts, cards, _ = parents
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first, card = starts[v], cards[v]
        if card > 0:
            best = first
            for slot in range(first + 1, first + card):
                if candidates[0][slot] < candidates[0][best]:
                    best = slot
            if candidates[0][best] == ceiling and card > 1:
                for slot in range(first + 1, first + card):  # all at the ceiling: best is the first
                    if _earlier(slot, best, candidates, path):
                        best = slot
                cuda.atomic.add(settled, 0, card - 1)
            _choose(v, best, candidates, chosen, path)


def _choose_team(barrier):
    @cuda.jit(cache=True)
    def choose_team(queue, size, parents, candidates, chosen, path, ceiling, settled):
        """As `_choose_thread`; lanes keep the least of their share, then agree by one atomic minimum each."""
        least = cuda.shared.array(MOST, uint64)
        found = cuda.shared.array(MOST, int32)
        starts, cards, _ = parents
        lane, width, mine = cuda.threadIdx.x, cuda.blockDim.x, cuda.threadIdx.y
        base = mine * width
        team = cuda.blockIdx.x * cuda.blockDim.y + mine
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first, card = starts[v], cards[v]
            if lane == 0:
                least[mine] = ceiling
            best = first + lane
            for slot in range(first + lane + width, first + card, width):
                if candidates[0][slot] < candidates[0][best]:
                    best = slot
            barrier()
            if lane < card:
                cuda.atomic.min(least, mine, candidates[0][best])
            barrier()
            if least[mine] < ceiling:
                if lane < card and candidates[0][best] == least[mine]:  # costs below the ceiling are unique
                    _choose(v, best, candidates, chosen, path)
            else:
                for slot in range(first + lane + width, first + card, width):  # all at the ceiling: best is the first
                    if _earlier(slot, best, candidates, path):
                        best = slot
                found[base + lane] = best - first if lane < card else -1
                stride = width // 2
                while stride > 0:
                    barrier()
                    if lane < stride and found[base + lane + stride] >= 0:
                        one, other = first + found[base + lane], first + found[base + lane + stride]
                        if _earlier(other, one, candidates, path):
                            found[base + lane] = found[base + lane + stride]
                    stride //= 2
                if lane == 0:
                    _choose(v, first + found[base], candidates, chosen, path)
                    cuda.atomic.add(settled, 0, card - 1)
            barrier()

    return choose_team


@cuda.jit(device=True)
def _offer(v, k, first, children, parents, weights, candidates, marks, ceiling):
    """Offer v as the parent of its child at edge k: the next free place among the child's parent edges.

    weights: prefix uint64[m], cost uint64[n]; marks: visited int32[n], status uint8[n].
    """
    prefix, cost = weights
    visited, status = marks
    costs, candidate, ranks = candidates
    c = children.edges[k]
    place = cuda.atomic.add(visited, c, 1)
    slot = parents.starts[c] + place
    costs[slot] = add(cost[v], add(prefix[k], ONE, ceiling), ceiling)
    candidate[slot] = v
    if ranks.shape[0] > 1:
        ranks[slot] = k - first
    if place + 1 == parents.cards[c]:
        status[c] = 1


@cuda.jit(cache=True)
def _expand_thread(queue, size, children, parents, weights, candidates, marks, ceiling):
    """Offer each vertex to its children; a child that all its parents were offered to is in the next frontier."""
    for q in range(cuda.grid(1), size, cuda.gridsize(1)):
        v = queue[q]
        first = children.starts[v]
        for k in range(first, first + children.cards[v]):
            _offer(v, k, first, children, parents, weights, candidates, marks, ceiling)


def _expand_team(barrier):
    @cuda.jit(cache=True)
    def expand_team(queue, size, children, parents, weights, candidates, marks, ceiling):
        """As `_expand_thread`, a child a lane."""
        team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            first = children.starts[v]
            for k in range(first + cuda.threadIdx.x, first + children.cards[v], cuda.blockDim.x):
                _offer(v, k, first, children, parents, weights, candidates, marks, ceiling)

    return expand_team


_decide = trio(_choose_thread, _choose_team)
_expand = trio(_expand_thread, _expand_team)


def parent_sssp(work, children, parents, ceiling) -> None:
    """The DFS parent of each vertex into `work.parent`; each level sorted by parents to choose, then by children to
    expand. Where `work.keep_paths` was called, saturated costs are settled, and `work.settled` counts comparisons."""
    work.begin(parents.cards)
    chosen = work.cost, work.parent
    candidates = work.costs, work.candidates, work.ranks
    weights, marks = (work.prefix, work.cost), (work.visited, work.status)
    _start[1, 1](chosen, work.path, work.vertices - 1)
    while work.frontier.generate(work.status, parents.cards, clear=False):
        work.frontier.consume(_decide, parents, candidates, chosen, work.path, ceiling, work.settled)
        work.frontier.generate(work.status, children.cards)
        work.frontier.consume(_expand, children, parents, weights, candidates, marks, ceiling)
