"""The contract of an implementation of `closure`.

An implementation prepares a solver for a relation: it allocates memory and brings the input into its own form on the
host. The solver then computes the closure, from host memory to host memory. The closure has an edge (u, v) for every
two different vertices with a path from u to v.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from grailbench import contract
from grailbench.closure import bits as packed
from grailbench.contract import NoTimer, Params, Timer, register
from grailbench.graph.csr import Graph, rows_of

__all__ = ["Closed", "Implementation", "NoTimer", "Params", "Relation", "Solver", "Timer", "register"]


@dataclass(frozen=True)
class Relation:
    """A raw digraph in the forms that implementations start from. Each form is made once and must not be written to.

    timer  records the time to make a form, as the phase `input`, apart
    """

    graph: Graph
    timer: Timer = field(default_factory=NoTimer, compare=False)

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return self.graph.vertices

    @cached_property
    def matrix(self) -> np.ndarray:
        """The adjacency matrix, int32[n, n] of 0 and 1, without self-loops."""
        with self.timer.phase("input", apart=True):
            return packed.matrix_of(self.graph)

    @cached_property
    def bits(self) -> np.ndarray:
        """The adjacency matrix as packed bits (`closure.bits`), uint64[n, words]."""
        with self.timer.phase("input", apart=True):
            return packed.pack_graph(self.graph)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The edges in CSR form, int64[n + 1] offsets and int32[m] targets, with self-loops and duplicates."""
        with self.timer.phase("input", apart=True):
            return rows_of(self.graph)


@dataclass(frozen=True)
class Closed:
    """A closure on the host, as a matrix or as bits, and its number of edges. Its diagonal is ignored.

    matrix  int32[n, n or more], nonzero where there is a path
    bits    uint64[n or more, words or more]
    """

    vertices: int
    edges: int
    matrix: np.ndarray | None = None
    bits: np.ndarray | None = None

    def packed(self) -> np.ndarray:
        """Returns the closure as uint64[n, words], a new array with a clear diagonal."""
        n = self.vertices
        if self.bits is None:
            return packed.pack_matrix(self.matrix[:n, :n])
        found = self.bits[:n, : packed.words(n)].copy()
        packed.clear_diagonal(found)
        return found


class Solver(ABC):
    """Computes the closure, any number of times. It does not change its input."""

    #: exact work counts of one `solve`, by name
    counters: dict[str, int] = {}
    #: bytes held in addition to the input
    held_bytes: int = 0

    @abstractmethod
    def solve(self, timer: Timer) -> Closed:
        """Returns the closure, whose arrays the next call may overwrite.

        Records the phases `host_to_device`, `kernel`, `count_edges` and `device_to_host` on a device, and `condense`
        where the host condenses.
        """


class Implementation(contract.Implementation):
    """A way to compute closures. Subclasses set the class variables and define `prepare`; `@register` adds them."""

    problem: ClassVar[str] = "closure"

    @classmethod
    @abstractmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        """Returns a solver. Raises MachineLacks if an extra, a device or memory is missing."""
