"""The frontier of the Enterprise BFS (Liu and Huang 2015) as the thesis uses it (section 3.4).

A status array marks the next frontier. Each thread sorts a part of it into three bins, for few, medium and many
neighbours; prefix sums place the bins in three queues, processed by one thread, one warp and one block a vertex: a
`Trio` of kernels. `by_edges` does something for every edge of a vertex, `by_sums` computes sums over them. A `Schedule`
stores the frontiers for later traversals of the same levels.
"""

from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.primitives import MOST, Scan


class Trio(namedtuple("Trio", "thread warp block")):
    """Three kernels of one step, with a thread, a warp and a block for each vertex; all take (queue, size, *args). In
    the last two a row of the block is a team: threadIdx.x is the lane, threadIdx.y the number of the team."""


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

    rows is a `graphs.Rows`; state is a NamedTuple or tuple of device arrays and scalars. Three device functions define
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


WARP = 32  #: threads of a warp


@dataclass(frozen=True)
class Enterprise:
    """Sizes of launches and queues; the defaults are those of the thesis.

    blocks, threads  of the kernel that fills the bins, and at most of the kernels that process the queues
    lanes            threads for each vertex of the medium queue
    small, large     vertices with fewer than `small` neighbours go to the small queue, with more than `large` to the
                     large queue
    """

    blocks: int = 256
    threads: int = 256
    lanes: int = 32
    small: int = 32
    large: int = 256

    def __post_init__(self):
        powers = all(size & (size - 1) == 0 for size in (self.threads, self.lanes))
        fits = 0 < self.lanes <= min(self.threads, WARP) and self.threads <= MOST and 0 < self.blocks <= MOST
        if not powers or not fits:
            raise ValueError(
                f"{self}: threads and lanes are powers of two, lanes <= threads <= {MOST} >= blocks, and a team of "
                f"lanes fits a warp of {WARP}"
            )


#: small, because each simulated thread is a Python thread
SIMULATED = Enterprise(blocks=2, threads=4, lanes=2, small=3, large=6)


def usual() -> Enterprise:
    """The sizes of the thesis on a GPU, and few and small blocks in the simulator."""
    return SIMULATED if simulated else Enterprise()


@cuda.jit(cache=True)
def _fill_bins(status, kept, cards, rule, bins, counts):
    """Each thread scans every gridsize-th element of the status array and puts the marked vertices into its bins.

    status: uintX[n]; kept: as status, receives the marks if `keep`; cards: int32[n]; rule: (small, large, clear,
    keep); bins: int32[3, threads of the grid, capacity]; counts: int32[3, threads of the grid].
    """
    small, large, clear, keep = rule
    thread = cuda.grid(1)
    few = medium = many = 0
    for v in range(thread, status.shape[0], cuda.gridsize(1)):
        flag = status[v]
        if flag != 0:
            if clear:
                status[v] = 0
            if keep:
                kept[v] = flag
            card = cards[v]
            if card < small:
                bins[0, thread, few] = v
                few += 1
            elif card > large:
                bins[2, thread, many] = v
                many += 1
            else:
                bins[1, thread, medium] = v
                medium += 1
    counts[0, thread] = few
    counts[1, thread] = medium
    counts[2, thread] = many


@cuda.jit(cache=True)
def _copy_bins(bins, counts, within, totals, queues, sizes):
    """Each thread copies its bin for queue blockIdx.y to its place; sizes: int32[3]. Blocks are as in the scan."""
    row, thread = cuda.blockIdx.y, cuda.grid(1)
    count = counts[row, thread]
    first = within[row, thread] - count
    if cuda.blockIdx.x > 0:
        first += totals[row, cuda.blockIdx.x - 1]
    for j in range(count):
        queues[row, first + j] = bins[row, thread, j]
    if thread == counts.shape[1] - 1:
        sizes[row] = first + count


class Frontier:
    """The bins and queues for a graph of n vertices, and counters of launches and generated frontiers.

    Bins are long enough for all vertices that a thread scans (in the thesis: always 512 elements).
    """

    def __init__(self, vertices: int, shape: Enterprise):
        self.shape = shape
        blocks = _blocks(shape, vertices)
        threads = blocks * shape.threads
        self._grid = blocks
        self._bins = cuda.device_array((3, threads, -(-vertices // threads)), np.int32)
        self._counts = cuda.device_array((3, threads), np.int32)
        self._scan = Scan(3, threads, shape.threads)
        self._queues = cuda.device_array((3, vertices), np.int32)
        self._own = tuple(self._queues[row] for row in range(3))
        self.queues = self._own
        self._device_sizes = cuda.device_array(3, np.int32)
        self._host_sizes = cuda.pinned_array(3, np.int32)
        self.sizes = (0, 0, 0)
        self.launches = self.generations = 0

    @staticmethod
    def bytes(vertices: int, shape: Enterprise) -> int:
        """The size of a frontier on the device in bytes."""
        threads = _blocks(shape, vertices) * shape.threads
        return 4 * 3 * (vertices + threads + vertices + 2 * threads)

    def generate(self, status, cards, clear: bool = True, kept=None) -> int:
        """Sorts the marked vertices into queues by `cards` and waits. Returns the number of vertices."""
        shape = self.shape
        rule = (shape.small, shape.large, clear, kept is not None)
        threads = shape.threads
        _fill_bins[self._grid, threads](status, status if kept is None else kept, cards, rule, self._bins, self._counts)
        self._scan.run(self._counts)
        _copy_bins[(self._grid, 3), threads](
            self._bins, self._counts, self._scan.within, self._scan.totals, self._queues, self._device_sizes
        )
        self._device_sizes.copy_to_host(self._host_sizes)
        self.launches += 2 + Scan.launches
        self.generations += 1
        self.queues, self.sizes = self._own, tuple(int(size) for size in self._host_sizes)
        return sum(self.sizes)

    def levels(self, status, cards) -> Iterator[None]:
        """Generates one frontier after another until one is empty; each is to be consumed before the next."""
        while self.generate(status, cards):
            yield

    def consume(self, kernels: Trio, *args) -> None:
        """Launches the kernel of each queue that is not empty, without waiting."""
        shape = self.shape
        teams = 1 if simulated else shape.threads // shape.lanes
        few, medium, many = self.sizes
        if few:
            kernels.thread[min(shape.blocks, -(-few // shape.threads)), shape.threads](self.queues[0], few, *args)
        if medium:
            kernels.warp[min(shape.blocks, -(-medium // teams)), (shape.lanes, teams)](self.queues[1], medium, *args)
        if many:
            kernels.block[min(shape.blocks, many), (shape.threads, 1)](self.queues[2], many, *args)
        self.launches += (few > 0) + (medium > 0) + (many > 0)

    def consume_by_threads(self, kernel, *args) -> None:
        """Launches one kernel with one thread for each vertex on every queue that is not empty, without waiting."""
        for queue, size in zip(self.queues, self.sizes, strict=True):
            if size:
                threads = self.shape.threads
                kernel[min(self.shape.blocks, -(-size // threads)), threads](queue, size, *args)
                self.launches += 1


def _blocks(shape: Enterprise, vertices: int) -> int:
    return min(shape.blocks, -(-vertices // shape.threads))


@cuda.jit(cache=True)
def _keep(few, medium, many, sizes, kept, at):
    """Copies three queues one after another to kept (int32[n]) from `at` on; sizes: the lengths of the queues."""
    for i in range(cuda.grid(1), sizes[0] + sizes[1] + sizes[2], cuda.gridsize(1)):
        if i < sizes[0]:
            kept[at + i] = few[i]
        elif i < sizes[0] + sizes[1]:
            kept[at + i] = medium[i - sizes[0]]
        else:
            kept[at + i] = many[i - sizes[0] - sizes[1]]


class Schedule:
    """The frontiers of a BFS that visits each vertex once; the first traversal finds them, and later ones replay them.

    A replay does not clear the status array.
    """

    def __init__(self, frontier: Frontier, vertices: int):
        self._frontier, self._kept = frontier, cuda.device_array(vertices, np.int32)
        self._levels: list[tuple[tuple, tuple]] | None = None

    @staticmethod
    def bytes(vertices: int) -> int:
        """The size of a schedule on the device in bytes."""
        return 4 * vertices

    def levels(self, status, cards) -> Iterator[None]:
        """As `Frontier.levels`."""
        frontier = self._frontier
        if self._levels is not None:
            for frontier.queues, frontier.sizes in self._levels:
                yield
            return
        found, at = [], 0
        for _ in frontier.levels(status, cards):
            sizes = frontier.sizes
            blocks = min(frontier.shape.blocks, -(-sum(sizes) // frontier.shape.threads))
            _keep[blocks, frontier.shape.threads](*frontier.queues, sizes, self._kept, at)
            frontier.launches += 1
            bounds = np.cumsum((at, *sizes)).tolist()
            ends = zip(bounds[:-1], bounds[1:], strict=True)
            found.append((tuple(self._kept[a:b] if b > a else self._kept for a, b in ends), sizes))
            at = bounds[-1]
            yield
        self._levels = found
