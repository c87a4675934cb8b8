"""Answers single pairs by levels and a search from both ends, for callers that ask one pair at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grailbench.problems.reachability.sweep.search import REACHED, settle

if TYPE_CHECKING:
    from grailbench.problems.reachability.sweep.index import SweepIndex

ALL = 2**62  #: edges that a search may look at which has no bound


class OnePair:
    """Answers queries of two original vertices, one at a time; any number of threads may ask.

    component: int32[original n], or None if each vertex is its own component
    """

    __slots__ = ("_component", "_index", "_vertices", "at")

    def __init__(self, component: np.ndarray | None, index: SweepIndex):
        self._component, self._index, self.at = component, index, 0
        self._vertices = index.dag.vertices - 1 if component is None else component.shape[0]

    def quick(self, at: int, source: int, target: int) -> bool | None:
        """Returns True for a vertex and itself, False where the levels say so, and None else."""
        if not (0 <= source < self._vertices and 0 <= target < self._vertices):
            return None
        source, target = self._ends(source, target)
        levels = self._index.dag.levels
        return True if source == target else False if levels[source] >= levels[target] else None

    def search(self, source: int, target: int) -> bool:
        """Answers by a search from both ends."""
        return found_by_search(self._index, *self._ends(source, target), None)

    def _ends(self, source: int, target: int) -> tuple[int, int]:
        component = self._component
        return (source, target) if component is None else (int(component[source]), int(component[target]))


def found_by_search(index: SweepIndex, source: int, target: int, counts: np.ndarray | None) -> bool:
    """Whether a vertex of the `Dag` reaches another one; `counts` as in `search.settle`."""
    ends, state = (np.array([source], np.int32), np.array([target], np.int32)), np.empty(1, np.int8)
    with index.scratch() as scratch:
        settle(*index.ways, index.dag.levels, ends, ALL, scratch, state, (0, 1), counts)
    return bool(state[0] == REACHED)
