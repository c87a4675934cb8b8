"""The contract of an implementation of `bfs`, `sssp` or `apsp`.

An implementation prepares a solver for a network (uploads it, allocates); the solver is then asked, source by source,
or, for `apsp`, once for all pairs. Graphs are raw: cycles, self-loops and duplicate edges included, not condensed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from grailbench import contract
from grailbench.contract import NoTimer, Params, Timer, implementation, implementations, register
from grailbench.graph.csr import transpose

__all__ = [
    "FAR",
    "Implementation",
    "Network",
    "NoTimer",
    "Params",
    "Solver",
    "Timer",
    "implementation",
    "implementations",
    "register",
]

#: the distance of what is not reached; every other distance is less
FAR = np.int32(2**31 - 1)


@dataclass(frozen=True)
class Network:
    """A raw digraph as rows, with or without weights.

    offsets  int64[n + 1]  where each row begins in `targets`
    targets  int32[m]      rows ascending, duplicates and self-loops included
    weights  int32[m]      positive, of duplicates the least first; None for `bfs`
    of_file  whether the weights are those of the graph's file, not drawn
    """

    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None
    of_file: bool = False

    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return int(self.offsets.shape[0] - 1)

    @property
    def edges(self) -> int:
        """Number of edges, duplicates and self-loops counted."""
        return int(self.targets.shape[0])

    @cached_property
    def reverse(self) -> tuple[np.ndarray, np.ndarray]:
        """int64[n + 1], int32[m]: the rows of the edges turned round."""
        return transpose(self.offsets, self.targets)

    @cached_property
    def symmetric(self) -> bool:
        """Whether every edge is there both ways, equally often: an undirected graph."""
        offsets, sources = transpose(self.offsets, self.targets)  # not kept: where it is the same nobody needs it
        return np.array_equal(offsets, self.offsets) and np.array_equal(sources, self.targets)


class Solver(ABC):
    """What is ready to be asked. The same question always gives the same distances."""

    #: exact work done so far, by name
    counters: dict[str, int] = {}

    @abstractmethod
    def solve(self, source: int, timer: Timer) -> np.ndarray:
        """int32[n]: the distance of every vertex from `source`, `FAR` where there is no path.

        For `apsp` the source is ignored and the result is int32[n, n], row u the distances from u. What a caller would
        not wait for who uses the result where it was made, a copy to the host above all, is a phase apart.
        """


class Implementation(contract.Implementation):
    """A way to solve `problem`. Subclasses set the class variables and `prepare`; `@register` files them."""

    problem: ClassVar[str]
    rounds: ClassVar[int] = 1  #: verifying passes; more for what may be right by luck

    @classmethod
    @abstractmethod
    def prepare(cls, network: Network, params: Params, timer: Timer) -> Solver:
        """Make ready for a network. Raises MachineLacks when an extra, a device or memory is missing."""
