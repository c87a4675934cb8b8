"""A search in numpy alone, for a single question: to load compiled kernels takes longer than most searches."""

import numpy as np

from grailbench.graph.csr import Dag

# What takes more is left to a kernel: so many steps or edges take about as long as loading one.
_MOST_STEPS, _MOST_EDGES = 1 << 14, 1 << 24


def reaches(dag: Dag, source: int, target: int) -> bool | None:
    """Whether a vertex of the condensed graph reaches another, by a breadth-first search that enters none beyond the
    target's level; None if it gave up, after 16,384 steps or 16,777,216 edges."""
    deepest, scanned = dag.levels[target], 0
    seen, writer = np.zeros(dag.vertices, np.bool_), np.empty(dag.vertices, np.int64)
    frontier = np.array([source])
    for _ in range(_MOST_STEPS):
        if target in frontier:
            return True
        ends = dag.offsets[frontier + 1]
        lengths = ends - dag.offsets[frontier]
        edges = np.arange(lengths.sum())
        scanned += edges.size
        if scanned > _MOST_EDGES:
            return None
        found = dag.children[np.repeat(ends - np.cumsum(lengths), lengths) + edges]  # the rows, one after the other
        found = found[(dag.levels[found] <= deepest) & ~seen[found]]
        seen[found], writer[found] = True, edges[: found.size]
        frontier = found[writer[found] == edges[: found.size]]  # each vertex once
        if not frontier.size:
            return False
    return None
