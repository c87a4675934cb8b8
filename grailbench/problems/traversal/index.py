"""The contract of an implementation of `bfs`, `sssp` or `apsp`: it prepares a solver for a network, which is asked once
per source, or for all sources at once (`Together`), or, for `apsp`, once for all pairs. Graphs are raw: they have
cycles, self-loops and duplicate edges. Weights of graphs that have none are drawn: a function of the seed and the
endpoints, not of the order of edges."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.hashing import below, draw, stream
from grailbench.graph.rows import transpose
from grailbench.problems import contract
from grailbench.problems.contract import NoTimer, Params, Timer, register

__all__ = [
    "FAR", "Found", "Implementation", "Network", "NoTimer", "Params", "Solver", "Timer", "Together", "register",
]  # fmt: skip

#: the distance of vertices that are not reached; every other distance is less
FAR = np.int32(2**31 - 1)


@dataclass(frozen=True)
class Network:
    """A raw digraph in CSR form, with or without weights.

    offsets  int64[n + 1]  where each row begins in `targets`
    targets  int32[m]      each row ascending, with duplicates and self-loops
    weights  int32[m]      positive; among duplicates the least comes first; None for `bfs`
    of_file  whether the weights come from the graph's file; otherwise they are drawn
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
        """Number of edges, with duplicates and self-loops."""
        return int(self.targets.shape[0])

    @cached_property
    def reverse(self) -> tuple[np.ndarray, np.ndarray]:
        """The reversed edges in CSR form, int64[n + 1] and int32[m]."""
        return transpose(self.offsets, self.targets)

    @cached_property
    def symmetric(self) -> bool:
        """Whether the graph is undirected: every edge and its reverse occur equally often."""
        offsets, sources = transpose(self.offsets, self.targets)  # not cached: an undirected graph needs no reverse
        return np.array_equal(offsets, self.offsets) and np.array_equal(sources, self.targets)


class Solver(contract.Solver):
    """Computes distances. The same question always gives the same distances; `counters` are counts so far."""

    @abstractmethod
    def solve(self, source: int, timer: Timer) -> np.ndarray:
        """Returns the distance of every vertex from `source`, int32[n], with `FAR` where there is no path.

        For `apsp` the source is ignored and the result is int32[n, n], whose row u has the distances from u. Work that
        is not needed where the result is used on the device, such as its copy to the host, is an excluded phase.
        """

    def solve_each(self, sources: np.ndarray, timer: Timer) -> Iterator[np.ndarray]:
        """Yields what `solve` returns for each of the sources, int64[k], in their order."""
        for source in sources.tolist():
            yield self.solve(source, timer)

    def count(self, **more: int) -> None:
        """Adds to the counters."""
        counted = {name: self.counters.get(name, 0) + int(value) for name, value in more.items()}
        self.counters = {**self.counters, **counted}


class Found(NamedTuple):
    """What searches found, an item for each source, in place of the distances.

    reached   int64[k]   vertices, the source among them
    edges     int64[k]   edges that leave these
    farthest  int32[k]   the greatest distance
    marks     uint32[k]  a checksum of the distances (`check.summary`)
    """

    reached: np.ndarray
    edges: np.ndarray
    farthest: np.ndarray
    marks: np.ndarray

    @classmethod
    def of_parts(cls, parts: list[Found], order: np.ndarray) -> Found:
        """Joins what was found in parts, of the sources in another order: int64[k], the place of each."""
        place = np.argsort(order)
        return cls(*(np.concatenate(each)[place] for each in zip(*parts, strict=True)))


class Together(Solver):
    """Searches from many sources at once. Distances are kept only where they are asked, by `solve_each`."""

    def expect(self, count: int) -> None:  # noqa: B027 - most have nothing to do
        """Makes room for searches from `count` sources at once. Raises TooLittleMemory."""

    @abstractmethod
    def search(self, sources: np.ndarray, timer: Timer) -> Found:
        """Searches from different sources, int64[k], and returns what is found, without distances."""

    @abstractmethod
    def solve_each(self, sources: np.ndarray, timer: Timer) -> Iterator[np.ndarray]: ...

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        return next(self.solve_each(np.array([source]), timer))


class Implementation(contract.Prepared):
    """A way to solve `problem`: prepares a `Solver` for a `Network`."""

    rounds: ClassVar[int] = 1  #: verifying passes; more than one for implementations with races


MOST_WEIGHT = 255
_WEIGHTS = 7  # number of the random stream of weights


def drawn_weights(offsets: np.ndarray, targets: np.ndarray, seed: int, both_ways: bool) -> np.ndarray:
    """Returns a uniform weight in 1..`MOST` for each edge, int32[m]. offsets int64[n + 1], targets int32[m].

    Duplicates of an edge have the same weight; with `both_ways`, so do an edge and its reverse.
    """
    return _drawn(offsets, targets, stream(seed, _WEIGHTS), both_ways)


@njit(cache=True, nogil=True)
def _drawn(offsets, targets, key, both_ways):
    weights = np.empty(targets.shape[0], np.int32)
    for u in range(offsets.shape[0] - 1):
        for k in range(offsets[u], offsets[u + 1]):
            a, b = np.int64(u), np.int64(targets[k])
            if both_ways and a > b:
                a, b = b, a
            weights[k] = 1 + below(draw(key, (a << 31) | b), MOST_WEIGHT)
    return weights
