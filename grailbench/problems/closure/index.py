"""The contract of an implementation of `closure`: it prepares a solver for a relation, and the solver computes the
closure, from host memory to host memory, which has an edge (u, v) for every two different vertices with a path from u
to v."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph.csr import Graph, rows_of
from grailbench.problems import contract
from grailbench.problems.closure import bits as packed
from grailbench.problems.contract import NoTimer, Timer, register
from grailbench.util import memory
from grailbench.util.words import decimal_size

__all__ = [
    "Block", "Closed", "Implementation", "NoTimer", "Params", "Relation", "Solver", "Streaming", "Timer", "register",
]  # fmt: skip


@dataclass(frozen=True)
class Params(contract.Params):
    """The parameters of a cell of `closure`.

    memory  bytes that the sets of a closure may take at most; where they do not fit, it is computed in blocks of
            targets, of which one is held at a time. 0 for all that is free, and no blocks
    """

    memory: int = 0

    def __post_init__(self):
        super().__post_init__()
        if self.memory < 0:
            raise InputError(f"memory {self.memory}: a number of bytes, or 0 for all that is free")


@dataclass(frozen=True)
class Relation:
    """A raw digraph in the forms that implementations start from. Each form is made once and must not be written to.

    timer  records the time to make a form, as the excluded phase `input`
    """

    graph: Graph
    timer: Timer = field(default_factory=NoTimer, compare=False)

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return self.graph.vertices

    @cached_property
    def matrix(self) -> np.ndarray:
        """The adjacency matrix, int32[n, n] of 0 and 1, without self-loops. Raises TooLittleMemory."""
        require_memory(3 * 4 * self.vertices**2, self.vertices)
        with self.timer.phase("input", excluded=True):
            return packed.matrix_of(self.graph)

    @cached_property
    def bits(self) -> np.ndarray:
        """The adjacency matrix as packed bits (`closure.bits`), uint64[n, words]. Raises TooLittleMemory."""
        require_memory(3 * packed.size(self.vertices), self.vertices)
        with self.timer.phase("input", excluded=True):
            return packed.pack_graph(self.graph)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The edges in CSR form, int64[n + 1] offsets and int32[m] targets, with self-loops and duplicates."""
        with self.timer.phase("input", excluded=True):
            return rows_of(self.graph)


class Block(NamedTuple):
    """A part of a closure: what reaches some vertices.

    targets  int32[t]
    bits     uint64[n or more, words(t) or more]: bit b of row u is set if u reaches targets[b]; u itself is ignored
    """

    targets: np.ndarray
    bits: np.ndarray


def spread(targets: np.ndarray, place: np.ndarray, rows: Callable[[int, int], np.ndarray]) -> Iterator[Block]:
    """Yields the bits of components as blocks with a row a vertex, which the next one overwrites.

    They are as wide as an eighth of the free memory has room for.

    place  int32[n], the row of each vertex; one that is not there is empty
    rows   returns the words first to last - 1 of all rows, uint64[r, last - first]
    """
    n, width = place.shape[0], packed.words(targets.shape[0])
    step = max(1, min(width, memory.available() // 8 // (8 * n)))
    room = np.empty(n * step, np.uint64)
    for first in range(0, width, step):
        some = rows(first, min(first + step, width))
        bits = room[: n * some.shape[1]].reshape(n, -1)
        np.take(some, place, axis=0, mode="clip", out=bits)
        bits[place >= some.shape[0]] = 0
        yield Block(targets[64 * first : 64 * (first + step)], bits)


@dataclass(frozen=True)
class Closed:
    """A closure on the host, as a matrix or as bits, and its number of edges. Its diagonal is ignored.

    matrix   int32[n, n or more], nonzero where there is a path
    bits     uint64[n or more, words or more]
    parts    in place of both: computes the closure once more, a block after the other, of which one is held at a time
    reached  with `parts`: the number of other vertices that each vertex reaches, int[n]
    """

    vertices: int
    edges: int
    matrix: np.ndarray | None = None
    bits: np.ndarray | None = None
    parts: Callable[[], Iterator[Block]] | None = None
    reached: np.ndarray | None = None

    def packed(self) -> np.ndarray:
        """Returns a matrix, or bits, as uint64[n, words] with a clear diagonal; bits of that shape are not copied."""
        n = self.vertices
        if self.bits is None:
            return packed.pack_matrix(self.matrix[:n, :n])
        found = np.ascontiguousarray(self.bits[:n, : packed.words(n)])
        packed.clear_diagonal(found)
        return found


class Solver(contract.Solver):
    """Computes the closure, any number of times."""

    held_bytes: int = 0

    @abstractmethod
    def solve(self, timer: Timer) -> Closed:
        """Returns the closure, whose arrays the next call may overwrite.

        Records the phases `host_to_device`, `condense`, `kernel`, `count_edges` and `device_to_host` on a device, and
        `condense` and `sweep` where the host condenses.
        """


class Streaming(Solver):
    """A solver whose answer is all pairs of the closure, which are handed over and not kept.

    Subclasses set `reached`, int[n], the number of other vertices that each vertex reaches, as they count.
    """

    vertices: int
    reached: np.ndarray

    @abstractmethod
    def pairs(self, timer: Timer) -> Iterator[np.ndarray]:
        """Yields all pairs (u, v), int32[k, 2], in memory that later pieces overwrite. Records phases as `solve`."""

    def solve(self, timer: Timer) -> Closed:
        """Takes all pairs and counts them."""
        edges = sum(piece.shape[0] for piece in self.pairs(timer))
        return Closed(self.vertices, edges, parts=self._parts, reached=self.reached)

    def _parts(self) -> Iterator[Block]:
        """Yields blocks of what pairs say, as many targets at a time as an eighth of the free memory has bits for."""
        n = self.vertices
        width = max(1, min(memory.available() // 8 // (8 * n), packed.words(n)))
        for first in range(0, packed.words(n), width):
            targets = np.arange(64 * first, min(64 * (first + width), n), dtype=np.int32)
            bits = np.zeros((n, packed.words(targets.shape[0])), np.uint64)
            for piece in self.pairs(NoTimer()):
                packed.set_pairs(piece, 64 * first, bits)
            yield Block(targets, bits)


class Implementation(contract.Prepared):
    """A way to compute closures: prepares a `Solver` for a `Relation`."""

    problem: ClassVar[str] = "closure"
    neutral: ClassVar[tuple[str, ...]] = ("pairs_with_cycles",)


def require_memory(need: int, vertices: int, row: int = 0) -> None:
    """Raises TooLittleMemory if a closure of so many vertices needs more bytes than the host has.

    row: the bytes that a word of every set takes, where the closure can be computed in blocks; 0 where it cannot.
    """
    if need > memory.available():
        packed.drop_reusable()
    free = memory.available()
    if need > free:
        raise TooLittleMemory(
            f"the closure of {vertices:,} vertices needs {decimal_size(need)} of memory, and {decimal_size(free)} are "
            f"free ({remedy(free, row)})"
        )


def remedy(free: int, row: int) -> str:
    """Says with which memory a closure can be computed in blocks, where `free` bytes are; row: see `require_memory`."""
    fits = free // 2 // row if row else 0
    if not fits:
        return "take a smaller graph, or a machine with more"
    return f"--memory {fits * row}: in blocks of {64 * fits:,} targets"


def block_words(memory: int, row: int, vertices: int) -> int:
    """Returns the words of a block of targets that take `memory` bytes, `row` bytes each.

    Raises TooLittleMemory if not even one does.
    """
    if memory < row:
        raise TooLittleMemory(
            f"64 targets of a closure of {vertices:,} vertices take {decimal_size(row)}, and {decimal_size(memory)} "
            f"were given (--memory {row} or more)"
        )
    return min(memory // row, packed.words(vertices))
