"""The components of a digraph by level on the device, from its edges in the memory of the host, and a bit set of each
of the vertices that it reaches.

Large graphs are condensed by the device (`cuda.edges`), small ones by the host (`graph.numbering`). Each block of
threads goes through all levels for its own strip of words. Importing this module imports CUDA.
"""

from collections import namedtuple
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy import int64, uint64

from grailbench.cuda.describe import require_memory
from grailbench.cuda.edges import build, library, staging
from grailbench.cuda.edges.rows import place_of
from grailbench.cuda.edges.staging import Outgoing
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, Shape, cooperative_shape
from grailbench.cuda.primitives import MOST, exclusive_sum
from grailbench.graph import numbering
from grailbench.graph.csr import Graph
from grailbench.problems.closure.bits import words
from grailbench.problems.closure.index import Block, spread
from grailbench.problems.contract import Timer

FEWEST = 1 << 17  #: edges, and vertices, from which on the device condenses; with fewer, the host is ready before
LONG = 6 if simulated else 64  #: children from which on a set is made by all threads of a block together


class Order(namedtuple("Order", "numbers starts children level_starts long")):
    """The k components on the device, by level: the edges of each lead to later levels. Place 0 is the super-root's.

    numbers       int32[n]          the place of each vertex, from 1 on
    starts        int32[k + 2], or int64  where the children of each place begin
    children      int32             places
    level_starts  int32[levels + 1] the first place of each level, and the end
    long          int32             places with more than `LONG` children, ascending, then `k + 1`
    """


class Ordered(NamedTuple):
    """An `Order`, the numbers of its places (k + 1), levels and long places, and of edges between components."""

    order: Order
    places: int
    levels: int
    long: int
    edges: int


def ordered(graph: Graph, timer: Timer) -> Ordered:
    """Orders the components of a graph with vertices. Records the phases `host_to_device` and `condense`.

    Raises TooLittleMemory.
    """
    small = graph.edges < FEWEST and graph.vertices < FEWEST
    with library.counted():
        numbers, starts, children, level_starts, edges = (_by_host if small else _by_device)(graph, timer)
        with timer.phase("condense"):
            xp = library.arrays()
            places, levels = int(starts.shape[0]) - 1, int(level_starts.shape[0]) - 1
            long = 1 + xp.flatnonzero((starts[2:] - starts[1:-1]) > LONG)
            count = int(long.shape[0])
            found = library.full(count + 1, places, np.int32)
            found[:count] = long
            library.arrays()
            order = Order(numbers, starts, children, level_starts, found)
            cuda.synchronize()
    return Ordered(order, places, levels, count, edges)


def _by_host(graph: Graph, timer: Timer):
    n = graph.vertices
    with timer.phase("condense"):
        words = np.empty(numbering.most_words(n, graph.edges), np.int32)
        fields, component = numbering.number(graph, words)
        rank = words[fields.rank]
        numbers = rank[:n] if component is None else rank[component]
        starts, children, levels = words[fields.starts], words[fields.targets], words[fields.level_starts]
        packed = np.concatenate((numbers, starts, children, levels))
        ends = np.cumsum([each.shape[0] for each in (numbers, starts, children, levels)]).tolist()
    with timer.phase("host_to_device"):
        (there,) = staging.to_device(packed)
        cuda.synchronize()
    columns = [there[low:high] for low, high in zip([0, *ends], ends, strict=False)]
    if not children.shape[0]:
        columns[2] = library.full(0, 0, np.int32)
    return *columns, int(children.shape[0] - starts[1])


@cuda.jit(cache=True)
def _to_places(targets, rank, edges):
    """Makes places of the targets of a walk (`cuda.edges.walk.Walk`)."""
    for k in range(cuda.grid(1), edges, cuda.gridsize(1)):
        v = targets[k]
        targets[k] = rank[~v if v < 0 else v]


def _by_device(graph: Graph, timer: Timer):
    n = graph.vertices
    what = f"condensing {n:,} vertices and {graph.edges:,} edges on the GPU"
    require_memory(
        build.EDGE_BYTES * graph.edges + build.VERTEX_BYTES * n, what, "take `condense-bits`, or a GPU with more"
    )
    with timer.phase("host_to_device"):
        sources, targets = staging.to_device(graph.sources, graph.targets)
        cuda.synchronize()
    with timer.phase("condense"):
        walked, component = build.condensed(n, graph.edges, sources, targets)
        del sources, targets
        walk = walked.arrays
        library.launch(_to_places, walked.edges, walk.targets, walk.rank, walked.edges)
        numbers = walk.rank[:n] if component is None else walk.rank[component]
        starts, levels = walk.starts[: walked.reached + 1], walk.level_starts[: walked.depth + 1]
        return numbers, starts, walk.targets, levels, walked.edges - library.last_of(starts[:2])


THREADS = 8 if simulated else 1024
STRIP = 2 if simulated else 4  #: the least words of a strip: bytes travel in groups of 32
_ROWS = Shape(2, 4) if simulated else Shape(132 * 8, 256)  #: of kernels with a block a row
PIECE = 8 if simulated else 1 << 22  #: elements of 64 bits that travel to the host at once, or one row


@cuda.jit(cache=True)
def _sweep(order, long, levels, targets, count, ascend, strip, top, reach):
    """Fills the rows of the places before `top` of reach, uint64[>= top, strips * strip], a block a strip.

    Bit b of the row of a component is set if it reaches targets[b], int32[>= count]; bits from `count` on are clear.
    Every strip has a target. Rows from `top` on would be empty. ascend: 1 if the places of the targets ascend; long,
    levels: of `Ordered`.
    """
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    lane, group, groups = thread % strip, thread // strip, threads // strip
    word = cuda.blockIdx.x * strip + lane
    if group < groups:
        for r in range(group, top, groups):
            reach[r, word] = uint64(0)
    cuda.syncthreads()
    first = 64 * cuda.blockIdx.x * strip
    end = min(first + 64 * strip, count)
    for b in range(first + thread, end, threads):
        cuda.atomic.or_(reach, (order.numbers[targets[b]], b >> 6), uint64(1) << uint64(b & 63))
    cuda.syncthreads()
    last = order.numbers[targets[end - 1]] if ascend else top - 1
    level = place_of(order.level_starts, 0, levels, last)
    at = long - 1
    while level > 0:
        low, high = int64(order.level_starts[level]), min(int64(order.level_starts[level + 1]), int64(top))
        if group < groups:
            for r in range(low + group, high, groups):
                k, stop = order.starts[r], order.starts[r + 1]
                if k == stop or stop - k > LONG:
                    continue
                found = reach[r, word]
                while k + 3 < stop:  # the loads of four children overlap; one without a row adds nothing
                    a, b, c, d = order.children[k], order.children[k + 1], order.children[k + 2], order.children[k + 3]
                    one, two = reach[a if a < top else r, word], reach[b if b < top else r, word]
                    three, four = reach[c if c < top else r, word], reach[d if d < top else r, word]
                    found |= (one | two) | (three | four)
                    k += 4
                while k < stop:
                    a = order.children[k]
                    if a < top:
                        found |= reach[a, word]
                    k += 1
                reach[r, word] = found
        while at >= 0 and order.long[at] >= low:
            r = order.long[at]
            if r < high and group < groups:
                found = uint64(0)
                for k in range(order.starts[r] + group, order.starts[r + 1], groups):
                    a = order.children[k]
                    if a < top:
                        found |= reach[a, word]
                if found != uint64(0):
                    cuda.atomic.or_(reach, (r, word), found)
            at -= 1
        cuda.syncthreads()
        level -= 1


@cuda.jit(cache=True)
def _count(reach, width, top, counts):
    """Sets counts, int32[>= top], to the number of bits in the first `width` words of each row; a block a row."""
    partial = cuda.shared.array(MOST, int64)
    for r in range(cuda.blockIdx.x, top, cuda.gridDim.x):
        mine = int64(0)
        for w in range(cuda.threadIdx.x, width, cuda.blockDim.x):
            mine += cuda.popc(reach[r, w])
        before, total = exclusive_sum(mine, partial)
        if cuda.threadIdx.x == 0:
            counts[r] = total
        cuda.syncthreads()


@cuda.jit(cache=True)
def _spread(reach, numbers, first, last, width, found):
    """Writes the rows of the vertices first to last - 1, `width` words each, without their own bits, one after the
    other. Bit v stands for vertex v."""
    for u in range(first + cuda.blockIdx.x, last, cuda.gridDim.x):
        row, to = numbers[u], (u - first) * width
        for w in range(cuda.threadIdx.x, width, cuda.blockDim.x):
            x = reach[row, w]
            if u >> 6 == w:
                x &= ~(uint64(1) << uint64(u & 63))
            found[to + w] = x


@cuda.jit(cache=True)
def _pairs_of(numbers, bit_of, begin, count, top, counts, sizes, vertices):
    """Sets sizes, int32[n], to the number of pairs (u, v) of each vertex u, of `count` bits from `begin` on."""
    for u in range(cuda.grid(1), vertices, cuda.gridsize(1)):
        row, own = numbers[u], bit_of[u] - begin
        if row < top:
            sizes[u] = counts[row] - (1 if 0 <= own < count else 0)
        else:
            sizes[u] = 0


@cuda.jit(cache=True)
def _list(reach, width, numbers, bit_of, begin, targets, top, ends, first, last, found):
    """Lists the pairs of the vertices first to last - 1, v in the upper half of an int64 and u in the lower; a block a
    vertex. ends int64[n]: the prefix sums of `_pairs_of`; targets: the vertex of each bit."""
    partial = cuda.shared.array(MOST, int64)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    before = int64(0)
    if first > 0:
        before = ends[first - 1]
    for u in range(first + cuda.blockIdx.x, last, cuda.gridDim.x):
        row, own = numbers[u], bit_of[u] - begin
        if row >= top:
            continue
        at = int64(0)
        if u > 0:
            at = ends[u - 1]
        at -= before
        for left in range(0, width, threads):
            w = left + thread
            x = uint64(0)
            if w < width:
                x = reach[row, w]
                if own >= 0 and own >> 6 == w:
                    x &= ~(uint64(1) << uint64(own & 63))
            some, total = exclusive_sum(int64(cuda.popc(x)), partial)
            to = at + some
            while x != uint64(0):
                low = x & (~x + uint64(1))
                bit = int64(cuda.popc(low - uint64(1)))
                found[to] = (int64(targets[64 * w + bit]) << 32) | int64(u)
                to += 1
                x ^= low
            at += total
            cuda.syncthreads()


class Sets:
    """The sets of all components on the device, for the targets of one block of `width` words at most at a time.

    In a block of all targets bit v stands for vertex v. Those of smaller blocks are in topological order, so that what
    reaches a block are the places up to that of its last target. reached: int32[n], the number of other vertices that
    each vertex reaches, once `count` or `pairs` has ended.
    """

    def __init__(self, ordered: Ordered, vertices: int, width: int):
        self.ordered, self._vertices, self._width = ordered, vertices, min(width, words(vertices))
        self.whole = self._width == words(vertices)
        xp, numbers = library.arrays(), ordered.order.numbers
        self._bounds = [64 * at for at in range(0, words(vertices), self._width)] + [vertices]
        with library.counted():
            self._targets = self._bit_of = xp.arange(vertices, dtype=np.int32)
            self._tops = [ordered.places]
            if not self.whole:
                self._targets = xp.argsort(numbers, kind="stable").astype(np.int32)
                every, self._bit_of = self._bit_of, library.empty(vertices, np.int32)
                self._bit_of[self._targets] = every
                lasts = self._targets[xp.asarray(np.array(self._bounds[1:]) - 1)]
                self._tops = [int(place) + 1 for place in library.to_host(numbers[lasts])]
            self._strip = self._strip_of()
            stride = -(-self._width // self._strip) * self._strip
            self._reach = library.empty(ordered.places * stride, np.uint64).reshape(ordered.places, stride)
            self._counts = library.empty(ordered.places, np.int32)

    def __len__(self) -> int:
        return len(self._tops)

    @property
    def bytes(self) -> int:
        """Bytes of a block."""
        return int(self._reach.nbytes)

    def _strip_of(self) -> int:
        """Returns the words of a strip, such that the blocks of all strips run at once, if they can."""
        rows = library.empty(1, np.uint64).reshape(1, 1)
        args = self.ordered.order, 0, 0, self._targets, 0, 0, 1, 0, rows
        resident = 2 if simulated else cooperative_shape(_sweep, args, THREADS).blocks
        strip = max(STRIP, -(-self._width // resident))
        return min(strip + strip % 2, THREADS)

    def fill(self, number: int) -> None:
        """Fills and counts the sets of block `number`; does not wait."""
        given, targets, top = self.ordered, self.targets(number), self._tops[number]
        count = int(targets.shape[0])
        args = (given.order, given.long, given.levels, targets, count, int(not self.whole), self._strip, top,
                self._reach)  # fmt: skip
        Prepared(_sweep, args, Shape(-(-words(count) // self._strip), THREADS)).launch()
        Prepared(_count, (self._reach, words(count), top, self._counts), _ROWS).launch()

    def targets(self, number: int):
        """The vertex of each bit of a block."""
        return self._targets[self._bounds[number] : self._bounds[number + 1]]

    def sizes(self, number: int):
        """Returns the number of pairs (u, v) of each u in the block that was filled, int32[n]; does not wait."""
        low, high, n = self._bounds[number], self._bounds[number + 1], self._vertices
        numbers, found = self.ordered.order.numbers, library.empty(n, np.int32)
        library.launch(_pairs_of, n, numbers, self._bit_of, low, high - low, self._tops[number], self._counts, found, n)
        return found

    def count(self) -> int:
        """Fills all blocks, one after the other; returns the number of pairs."""
        with library.counted():
            reached = library.full(self._vertices, 0, np.int32)
            for number in range(len(self)):
                self.fill(number)
                reached += self.sizes(number)
            self.reached = library.to_host(reached)
        return int(self.reached.sum(dtype=np.int64))

    def bits_to(self, host: np.ndarray) -> None:
        """Copies the closure, if all is one block, which was filled, to uint64[n, words] in pinned memory."""
        n, width = self._vertices, words(self._vertices)
        rows = max(1, PIECE // width)

        def fills():
            for low in range(0, n, rows):
                high = min(low + rows, n)
                fixed = self._reach, self.ordered.order.numbers, low, high, width
                yield (
                    lambda there, fixed=fixed: Prepared(_spread, (*fixed, there), _ROWS).launch(),
                    (high - low) * width,
                )

        Outgoing(rows * width, np.uint64).carry(fills(), host.reshape(-1))

    def pairs(self) -> Iterator[np.ndarray]:
        """Yields all pairs (u, v) of the closure, int32[k, 2], in pieces that the next but one overwrites.

        They come by block, then ascend by u, then by the bit of v.
        """
        size = max(PIECE, min(64 * self._width, self._vertices))
        for piece in Outgoing(size, np.int64).pieces(self._lists(size)):
            yield piece.view(np.int32).reshape(-1, 2)

    def _lists(self, size: int):
        with library.counted():
            reached = library.full(self._vertices, 0, np.int32)
        for number in range(len(self)):
            with library.counted():
                self.fill(number)
                reached += (sizes := self.sizes(number))
                there = library.sums(sizes, True)
            ends, low, targets = library.to_host(there), 0, self.targets(number)
            fixed = (self._reach, words(int(targets.shape[0])), self.ordered.order.numbers, self._bit_of,
                     self._bounds[number], targets, self._tops[number], there)  # fmt: skip
            while low < self._vertices:
                before = int(ends[low - 1]) if low else 0
                high = int(np.searchsorted(ends, before + size, "right"))
                if (count := int(ends[high - 1]) - before) > 0:
                    args = *fixed, low, high
                    yield lambda found, args=args: Prepared(_list, (*args, found), _ROWS).launch(), count
                low = high
        self.reached = library.to_host(reached)

    def spread(self) -> Iterator[Block]:
        """Yields the blocks, filled one after the other, with a row a vertex, on the host."""
        place = library.to_host(self.ordered.order.numbers)
        for number in range(len(self)):
            self.fill(number)
            filled = self._reach[: self._tops[number]]
            targets = library.to_host(self.targets(number))
            yield from spread(targets, place, lambda a, b, filled=filled: library.to_host(filled[:, a:b]))
