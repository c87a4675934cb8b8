"""Frontiers of a BFS that are kept, so that BFS which take the same course need not find them again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grailbench.device.frontier import Frontier
from grailbench.device.gateway import cuda


@cuda.jit(cache=True)
def _keep(few, medium, many, sizes, kept, at):
    """Lay three queues one behind the other: kept int32[n] from `at`; sizes are the lengths of the queues."""
    for i in range(cuda.grid(1), sizes[0] + sizes[1] + sizes[2], cuda.gridsize(1)):
        if i < sizes[0]:
            kept[at + i] = few[i]
        elif i < sizes[0] + sizes[1]:
            kept[at + i] = medium[i - sizes[0]]
        else:
            kept[at + i] = many[i - sizes[0] - sizes[1]]


class Schedule:
    """The frontiers of one BFS that visits each vertex once: found by the first that asks, replayed for all others.

    A replay leaves the status array as its kernels set it, which is not clear.
    """

    def __init__(self, frontier: Frontier, vertices: int):
        self._frontier, self._kept = frontier, cuda.device_array(vertices, np.int32)
        self._levels: list[tuple[tuple, tuple]] | None = None

    @staticmethod
    def bytes(vertices: int) -> int:
        """Device bytes that a schedule takes."""
        return 4 * vertices

    @property
    def depth(self) -> int:
        """Number of frontiers, once they are known."""
        return len(self._levels or ())

    def levels(self, status, cards) -> Iterator[None]:
        """As `Frontier.levels`."""
        frontier = self._frontier
        if self._levels is not None:
            for queues, sizes in self._levels:
                frontier.load(queues, sizes)
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
