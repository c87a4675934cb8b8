"""The registered closures, on the CPU and on a GPU. Importing this module imports no CUDA module."""

from collections.abc import Iterator

import numpy as np

from grailbench.problems.closure import bits as packed
from grailbench.problems.closure import index, sweep, warshall
from grailbench.problems.closure.index import Closed, Implementation, Params, Relation, Solver, Streaming
from grailbench.problems.closure.sweep import Blocks, Condensed, condense
from grailbench.problems.contract import Timer, register


@register
class Floyd(Solver, Implementation):
    """Floyd-Warshall on 32-bit integers, one thread.

    For each pivot k, row i becomes row i or row k wherever i has an edge to k.
    """

    name = "floyd-warshall"
    source = "Fenz et al. 2022, section 3.1"
    cost = "O(n^3); 4 n^2 bytes"

    def __init__(self, relation: Relation, params: Params):
        self._given = relation.matrix
        self._matrix = self._given.copy()
        self.held_bytes = self._matrix.nbytes

    def solve(self, timer: Timer) -> Closed:
        self._matrix[:] = self._given
        warshall.close_matrix(self._matrix)
        n = self._matrix.shape[0]
        return Closed(n, warshall.count_matrix(self._matrix), matrix=self._matrix)


@register
class Warshall(Solver, Implementation):
    """Warshall on packed bits, 64 pivots at a time, with tables of unions.

    A step closes the paths through 64 pivots: their own rows first, then every row gets the union of the pivots' rows
    selected by one word of its bits. Unions are read from tables, one for each 8 pivots, made once per step.
    """

    name = "warshall-bits"
    source = "Warshall 1962; Arlazarov, Dinic, Kronrod and Faradzev 1970"
    cost = "O(n^3 / 512) words; n^2 / 8 bytes"
    axes = frozenset({"threads"})

    def __init__(self, relation: Relation, params: Params):
        self._given, self._workers = relation.bits, params.workers
        self._bits = self._given.copy()
        self.held_bytes = self._bits.nbytes

    def solve(self, timer: Timer) -> Closed:
        self._bits[:] = self._given
        warshall.close_bits(self._bits, self._workers)
        packed.clear_diagonal(self._bits)
        return Closed(self._bits.shape[0], packed.count(self._bits), bits=self._bits)


class _Condensing(Solver, Implementation):
    """From edges: strong components first. Subclasses use blocks of targets."""

    axes = frozenset({"threads", "memory"})
    counts = ("components", "component_edges", "blocks")

    def __init__(self, relation: Relation, params: Params):
        self.vertices = relation.vertices
        self._rows, self._workers, self._memory = relation.rows, params.workers, params.memory

    def _condensed(self, timer: Timer) -> Condensed:
        with timer.phase("condense"):
            condensed = condense(*self._rows)
        self.counters = {"components": condensed.count, "component_edges": int(condensed.children.shape[0])}
        return condensed

    def _blocks(self, condensed: Condensed, memory: int) -> Blocks:
        """Blocks of at most so many bytes."""
        blocks = Blocks(condensed, index.block_words(memory, 8 * condensed.count, self.vertices), self._workers)
        self.held_bytes = blocks.bytes
        self.counters["blocks"] = len(blocks)
        return blocks


@register
class Sweep(_Condensing):
    """Strong components of the edges, then bit sets in reverse topological order.

    From the last component to the first, the set of each is the union of those of the components that its edges lead
    to, but for those that the union has already, and of its own members. Threads have ranges of words. With `memory`,
    blocks of targets come one after the other, and are counted.
    """

    name = "condense-bits"
    source = "Tarjan 1972; Purdom 1970; Goralcikova and Koubek 1979"
    cost = "O(n + m), and O(n / 64) an edge between components that is not redundant; n^2 / 8 bytes, or `memory`"

    def __init__(self, relation: Relation, params: Params):
        super().__init__(relation, params)
        n, self._bits = self.vertices, None
        if not self._memory or self._memory >= packed.size(n):
            index.require_memory(packed.size(n), n, 8 * n)
            self._bits = packed.reusable(n, packed.words(n))
            self.held_bytes = self._bits.nbytes

    def solve(self, timer: Timer) -> Closed:
        condensed = self._condensed(timer)
        with timer.phase("sweep"):
            if self._bits is not None:
                reached = sweep.close(condensed, self._bits, self._workers)
                return Closed(self.vertices, int(reached.sum(dtype=np.int64)), bits=self._bits)
            blocks = self._blocks(condensed, self._memory)
            return Closed(self.vertices, blocks.count(), parts=blocks.spread, reached=blocks.reached)


SOME = 1 << 26  #: bytes of a block of `condense-pairs`, unless `memory` says otherwise


@register
class Pairs(Streaming, _Condensing):
    """As `condense-bits` in blocks, whose bits are listed as pairs of 32-bit integers.

    A block of targets takes 64 MiB, or `memory`. Pairs are handed over a million at a time and not kept: what Datalog
    systems make, in the order of blocks.
    """

    name = "condense-pairs"
    source = "Tarjan 1972; Goralcikova and Koubek 1979"
    cost = "as condense-bits, and O(1) a pair; 64 MiB, or `memory`"

    def pairs(self, timer: Timer) -> Iterator[np.ndarray]:
        condensed = self._condensed(timer)
        with timer.phase("sweep"):
            blocks = self._blocks(condensed, self._memory or max(SOME, 8 * condensed.count))
            yield from blocks.pairs()
        self.reached = blocks.reached


class _OnGpu(Implementation):
    """Its solver is the class of the same name in `gpu.solvers`."""

    needs = ("gpu",)

    @classmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        """Allocates on host and device. Raises MachineLacks if the device has too little memory."""
        cls.require()
        from grailbench.problems.closure.gpu import solvers

        return getattr(solvers, cls.__name__)(relation, params)


_REPORT = "Fenz et al. 2022, section"
_CUBIC = "O(n^3), n launches; 4 n^2 bytes"


def _listed(name: str, source: str, what: str, steps: str, cost: str = _CUBIC, counts=("launches",)) -> None:
    """Registers an implementation; its docstring is `what`, a blank line, and `steps`."""
    body = {"name": name, "source": source, "cost": cost, "counts": counts}
    body |= {"__doc__": f"{what}\n\n{steps}", "__module__": __name__}
    register(type("".join(part.title() for part in name.split("-")), (_OnGpu,), body))


_listed(
    "matmul", f"{_REPORT} 3.2", "Powers of the matrix, with early stop (the report's kernel 1).",
    "A, A^2, A^3, ... by logical products, or'ed together, until a power equals the one before.",
    "O(n^3) a product, about one for each edge of the longest shortest path", ("launches", "products"),
)  # fmt: skip
_listed(
    "naive", f"{_REPORT} 3.3", "Floyd-Warshall, one launch per pivot, one thread per entry (kernel 2).",
    "In the launch of pivot k the thread of entry (i, j) sets it where (i, k) and (k, j) are set.",
)  # fmt: skip
_listed(
    "pinned", f"{_REPORT} 3.4", "As naive, from and to pinned host memory (kernel 3).",
    "Copies do not pass through a buffer of the driver.",
)  # fmt: skip
_listed(
    "zero-copy", f"{_REPORT} 3.5", "As naive, on host memory that is mapped into the device (kernel 4).",
    "Nothing is copied: the kernel reads and writes the host's memory over the bus.",
)  # fmt: skip
_listed(
    "pitched", f"{_REPORT} 3.6", "As naive, on rows with a pitch (kernel 5).",
    "Rows begin at multiples of 512 bytes and are copied as such.",
)  # fmt: skip
_listed(
    "pitched-2d", f"{_REPORT} 3.7", "As pitched, with two-dimensional blocks (kernel 6).",
    "A block is a square of entries instead of a part of a row.",
)  # fmt: skip
_listed(
    "tiled", f"{_REPORT} 3.8", "Katz and Kider's tiles of 16 x 16 in three phases (kernel 7).",
    "16 pivots at a time: the tile on the diagonal by itself, then those in its row and column, then all others, each "
    "in shared memory.",
    "O(n^3), 3 n / 16 launches; 4 n^2 bytes",
)  # fmt: skip
_listed(
    "tiled-registers", "Katz and Kider 2008; ours",
    "Tiles that stay in registers, 64 pivots a step, on the matrix of `tiled`.",
    "A thread has 16 rows of 4 entries each, which it loads once a step and keeps in registers; pivots' rows and "
    "columns come from shared memory, 32 pivots at a time. The kernels are those of `floyd-warshall-registers`, with "
    "'or' and 'and' in place of the minimum and the sum.",
    "O(n^3), 3 n / 64 launches; 4 n^2 bytes",
)  # fmt: skip
_listed(
    "sssp-each", f"{_REPORT} 3.10", "A search from every vertex (kernel 9).",
    "Breadth first, one thread per vertex and one launch per level; each row is copied out after its search.",
    "O(n (n + m)), one launch per level of each search", (),
)  # fmt: skip
_listed(
    "warshall-bits-gpu", "Warshall 1962; Arlazarov, Dinic, Kronrod and Faradzev 1970; ours",
    "Warshall on packed bits, 64 pivots a step, one cooperative launch.",
    "Every block closes the pivots' rows and makes tables of the unions of each 4 pivots, for its own columns. Then "
    "the rows are divided evenly, and each gets the union that is selected by one word of its bits. A barrier ends "
    "the step.",
    "O(n^3 / 256) words, a barrier each 64 pivots; n^2 / 8 bytes", ("launches", "steps"),
)  # fmt: skip


class _WithLibrary(_OnGpu):
    needs = ("gpu", "cupy")

    @classmethod
    def require(cls) -> None:
        super().require()
        from grailbench.cuda.device_arrays import require_library

        require_library()


@register
class CondenseBitsGpu(_WithLibrary):
    """From edges: strong components and their levels, then bit sets by levels in strips of words, on the device.

    The edges are condensed and numbered as for `gpu-fused`, on the host if there are fewer than 131,072 of them and of
    vertices. Then each block of threads goes through all levels, from the sinks up, for its own words of all sets. With
    `memory`, blocks of targets come one after the other, and are counted.
    """

    name = "condense-bits-gpu"
    source = "Purdom 1970; ours"
    cost = "O(m log m), and O(n / 64) an edge between components; n^2 / 8 bytes, or `memory`"
    axes = frozenset({"memory"})
    counts = ("components", "levels", "component_edges", "blocks", "launches")


@register
class CondensePairsGpu(_WithLibrary):
    """As `condense-bits-gpu`; the bits are listed on the device as pairs of 32-bit integers, which are copied out.

    Four million pairs travel to pinned memory while the next are listed; they are handed over and not kept: what
    Datalog systems make.
    """

    name = "condense-pairs-gpu"
    source = "Purdom 1970; ours"
    cost = "as condense-bits-gpu, and O(1) a pair"
    axes = frozenset({"memory"})
    counts = CondenseBitsGpu.counts


@register
class Managed(_WithLibrary):
    """As naive, in memory that CuPy owns, instead of Thrust (kernel 8).

    CuPy allocates and copies; the kernel is that of `naive`.
    """

    name = "managed"
    source = f"{_REPORT} 3.9"
    cost = _CUBIC
    counts = ("launches",)
