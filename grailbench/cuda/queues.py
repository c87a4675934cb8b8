"""Kernels that process the queues of the Enterprise BFS with one thread, one warp or one block for each vertex.

A step of an algorithm is a `Trio` of kernels. Most steps do something for every edge of a vertex (`by_edges`) or
compute sums over its edges (`by_sums`). Device functions define what is done, so the distribution of the work among
threads is implemented only once.
"""

from __future__ import annotations

from typing import NamedTuple

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.scan import MOST


class Trio(NamedTuple):
    """Three kernels of one step, with a thread, a warp and a block for each vertex; all take (queue, size, *args).

    In the last two, a row of the block is a team that processes a vertex together: threadIdx.x of blockDim.x is the
    lane, and threadIdx.y of blockDim.y is the number of the team in its block.
    """

    thread: object
    warp: object
    block: object


@cuda.jit(device=True)
def _warp_barrier():
    cuda.syncwarp()


@cuda.jit(device=True)
def _block_barrier():
    cuda.syncthreads()


def trio(thread, make_team) -> Trio:
    """A trio whose team kernels are `make_team(barrier)`, with the barrier of a warp and with that of a block."""
    # The simulator has no warps; there a team of the medium queue is a whole block.
    return Trio(thread, make_team(_block_barrier if simulated else _warp_barrier), make_team(_block_barrier))


@cuda.jit(device=True)
def _nothing_shared(state, level):
    return level


@cuda.jit(device=True)
def _every_vertex(v, lane, state, shared):
    return True, 0


def by_edges(visit, begin=_every_vertex, prepare=_nothing_shared) -> Trio:
    """A trio that visits every edge of every vertex in a queue. Its kernels take (queue, size, rows, state, level).

    rows is a `csr.Rows`; state is a NamedTuple or tuple of device arrays and scalars. Three device functions define
    what is done. `prepare(state, level)` is called once by all threads of a block together, and returns the argument
    `shared` of the other two (by default the level). `begin(v, lane, state, shared)` is called by every lane for
    vertex v, and returns whether to visit its edges and the argument `own` of `visit`. `visit((v, c, k, place), own,
    state, shared)` is called by one lane for the edge from v to c, where k is the index among all edges and `place` is
    that in the row of v.
    """

    @cuda.jit(cache=True)
    def by_thread(queue, size, rows, state, level):
        shared = prepare(state, level)
        for q in range(cuda.grid(1), size, cuda.gridsize(1)):
            v = queue[q]
            wanted, own = begin(v, 0, state, shared)
            if wanted:
                first = rows.starts[v]
                for k in range(first, first + rows.cards[v]):
                    visit((v, rows.edges[k], k, k - first), own, state, shared)

    @cuda.jit(cache=True)
    def by_team(queue, size, rows, state, level):
        shared = prepare(state, level)
        lane, width = cuda.threadIdx.x, cuda.blockDim.x
        team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
            v = queue[q]
            wanted, own = begin(v, lane, state, shared)
            if wanted:
                first = rows.starts[v]
                for k in range(first + lane, first + rows.cards[v], width):
                    visit((v, rows.edges[k], k, k - first), own, state, shared)

    return Trio(by_thread, by_team, by_team)


def by_sums(term, place, finish, plus, dtype) -> Trio:
    """A trio of prefix sums over the edges of every vertex in a queue (thesis, algorithms 4 and 10).

    Its kernels take (queue, size, rows, state), with rows and state as in `by_edges`. Four device functions define the
    sums: `term(v, c, state)` returns the term of the edge from v to c; `plus(a, b, state)` adds; `place(k, first,
    before, value, c, state)` is called for edge k of the row that begins at `first`, with the sum before it and its
    term; `finish(v, total, state)` is called once for each vertex. dtype is the numpy type of the sums. A team
    processes as many edges at a time as it has lanes.
    """

    @cuda.jit(cache=True)
    def by_thread(queue, size, rows, state):
        for q in range(cuda.grid(1), size, cuda.gridsize(1)):
            v = queue[q]
            first = rows.starts[v]
            total = dtype(0)
            for k in range(first, first + rows.cards[v]):
                c = rows.edges[k]
                value = term(v, c, state)
                place(k, first, total, value, c, state)
                total = plus(total, value, state)
            finish(v, total, state)

    def make_team(barrier):
        @cuda.jit(cache=True)
        def by_team(queue, size, rows, state):
            sums = cuda.shared.array(MOST, dtype)
            lane, width = cuda.threadIdx.x, cuda.blockDim.x
            base = cuda.threadIdx.y * width
            team = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
            for q in range(team, size, cuda.gridDim.x * cuda.blockDim.y):
                v = queue[q]
                first, card = rows.starts[v], rows.cards[v]
                total = dtype(0)
                for chunk in range(0, card, width):
                    k = chunk + lane
                    c, value = 0, dtype(0)
                    if k < card:
                        c = rows.edges[first + k]
                        value = term(v, c, state)
                    sums[base + lane] = value
                    stride = 1
                    while stride < width:
                        barrier()
                        before = sums[base + lane - stride] if lane >= stride else dtype(0)
                        barrier()
                        sums[base + lane] = plus(sums[base + lane], before, state)
                        stride *= 2
                    barrier()
                    if k < card:
                        before = plus(total, sums[base + lane - 1], state) if lane > 0 else total
                        place(first + k, first, before, value, c, state)
                    total = plus(total, sums[base + width - 1], state)
                    barrier()
                if lane == 0:
                    finish(v, total, state)

        return by_team

    return trio(by_thread, make_team)
