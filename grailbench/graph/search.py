"""Searches in numpy alone, for a single question: to load compiled kernels takes longer than most searches."""

import numpy as np

from grailbench.graph.csr import Dag

# What takes more is left to a kernel: so many steps or edges take about as long as loading one.
_MOST_STEPS, _MOST_EDGES = 1 << 14, 1 << 24


def reaches(dag: Dag, source: int, target: int) -> bool | None:
    """Whether a component reaches another, by a search that enters none beyond the target's level; None if `reached`
    gave up."""
    seen = reached(dag.offsets, dag.children, np.array([source]), dag.levels <= dag.levels[target], target)
    return None if seen is None else bool(seen[target])


def reached(
    offsets: np.ndarray, targets: np.ndarray, starts: np.ndarray, entered: np.ndarray | None = None, target: int = -1
) -> np.ndarray | None:
    """What a breadth-first search of a CSR (int64[n + 1], int32[m]) from `starts` (int[s]) meets, with these, bool[n];
    None if it gave up, after 16,384 steps or 16,777,216 edges.

    entered  bool[n], the vertices that it may enter; None for all
    target   a vertex at which it ends; -1 for none
    """
    seen, writer, scanned = np.zeros(offsets.size - 1, np.bool_), np.empty(offsets.size - 1, np.int64), 0
    seen[starts], frontier = True, starts
    for _ in range(_MOST_STEPS):
        if not frontier.size or (target >= 0 and seen[target]):
            return seen
        ends = offsets[frontier + 1]
        lengths = ends - offsets[frontier]
        edges = np.arange(lengths.sum())
        scanned += edges.size
        if scanned > _MOST_EDGES:
            return None
        found = targets[np.repeat(ends - np.cumsum(lengths), lengths) + edges]  # the rows, one after the other
        found = found[~seen[found] if entered is None else entered[found] & ~seen[found]]
        seen[found], writer[found] = True, edges[: found.size]
        frontier = found[writer[found] == edges[: found.size]]  # each vertex once
    return None
