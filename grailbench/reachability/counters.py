"""Work counters: what an implementation did, exactly, for (graph, parameters, seed); never how long it took.

A kernel that counts takes an int64 array, and `None` in the build that is timed: the compiler drops the counting from
that one. Positions in the array are the constants below; `named` turns an array into the dictionary that rows carry.
What each means is in docs/measuring.md.
"""

from __future__ import annotations

import numpy as np

NAMES = (
    "label_vertices_expanded",
    "label_edges_scanned",
    "levels_compared",
    "excluded_by_level",
    "labels_tested",
    "excluded_by_labels",
    "accepted_by_tree",
    "searches",
    "vertices_expanded",
    "edges_scanned",
)
(
    LABEL_EXPANDED,
    LABEL_SCANNED,
    LEVELS_COMPARED,
    BY_LEVEL,
    LABELS_TESTED,
    BY_LABELS,
    BY_TREE,
    SEARCHES,
    EXPANDED,
    SCANNED,
) = range(len(NAMES))


def zeros() -> np.ndarray:
    """int64[len(NAMES)]: a fresh array of counters."""
    return np.zeros(len(NAMES), np.int64)


def named(*counts: np.ndarray) -> dict[str, int]:
    """The sums of several arrays (one a thread), by name."""
    return dict(zip(NAMES, (int(total) for total in np.sum(counts, axis=0)), strict=True))
