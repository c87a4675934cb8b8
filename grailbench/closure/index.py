"""The contract of an implementation of `closure`.

An implementation prepares a solver for a relation (allocates, brings the input into the form it wants on the host); the
solver then makes the closure, from host memory to host memory. The closure has an edge (u, v) for every two different
vertices with a path from u to v.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from grailbench import contract
from grailbench.closure import bits as packed
from grailbench.contract import NoTimer, Params, Timer, implementation, implementations, register
from grailbench.graph.csr import Graph, rows_of

__all__ = [
    "Closed",
    "Implementation",
    "NoTimer",
    "Params",
    "Relation",
    "Solver",
    "Timer",
    "implementation",
    "implementations",
    "register",
]


@dataclass(frozen=True)
class Relation:
    """A raw digraph, and the forms of it that implementations start from, each made once. None may be written to.

    timer  records what making a form takes: phase `input`, apart
    """

    graph: Graph
    timer: Timer = field(default_factory=NoTimer, compare=False)

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return self.graph.vertices

    @cached_property
    def matrix(self) -> np.ndarray:
        """int32[n, n]: the adjacency matrix, 0 and 1, without self-loops."""
        with self.timer.phase("input", apart=True):
            return packed.matrix_of(self.graph)

    @cached_property
    def bits(self) -> np.ndarray:
        """uint64[n, words]: the same as packed bits (`closure.bits`)."""
        with self.timer.phase("input", apart=True):
            return packed.pack_graph(self.graph)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """int64[n + 1], int32[m]: the same as rows of edges, self-loops and duplicates included."""
        with self.timer.phase("input", apart=True):
            return rows_of(self.graph)


@dataclass(frozen=True)
class Closed:
    """A closure on the host: its number of edges, and either form of it; diagonals mean nothing.

    matrix  int32[n, n or more], nonzero where there is a path
    bits    uint64[n or more, words or more]
    """

    vertices: int
    edges: int
    matrix: np.ndarray | None = None
    bits: np.ndarray | None = None

    def packed(self) -> np.ndarray:
        """uint64[n, words], the diagonal clear; a new array."""
        n = self.vertices
        if self.bits is None:
            return packed.pack_matrix(self.matrix[:n, :n])
        found = self.bits[:n, : packed.words(n)].copy()
        packed.clear_diagonal(found)
        return found


class Solver(ABC):
    """What is ready to make the closure, as often as it is asked; the input stays as it was."""

    #: exact work of one `solve`, by name
    counters: dict[str, int] = {}
    #: bytes held beyond the input
    held_bytes: int = 0

    @abstractmethod
    def solve(self, timer: Timer) -> Closed:
        """The closure. Records `host_to_device`, `kernel`, `count_edges`, `device_to_host` where there is a device,
        `condense` where the host condenses. What is returned may be overwritten by the next call."""


class Implementation(contract.Implementation):
    """A way to close a relation. Subclasses set the class variables and `prepare`; `@register` files them."""

    problem: ClassVar[str] = "closure"

    @classmethod
    @abstractmethod
    def prepare(cls, relation: Relation, params: Params, timer: Timer) -> Solver:
        """Make ready. Raises MachineLacks when an extra, a device or memory is missing."""
