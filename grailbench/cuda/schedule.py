"""Stores the frontiers of a BFS for later traversals that visit the same vertices in the same levels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grailbench.cuda.frontier import Frontier
from grailbench.cuda.gateway import cuda


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

    @property
    def depth(self) -> int:
        """The number of frontiers; 0 before the first traversal."""
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
