"""Generates the deepest graphs: one chain, and a comb, whose every other vertex is a tooth."""

from __future__ import annotations

import numpy as np

from grailbench.graph.csr import Graph
from grailbench.graph.generate.rows import checked, renumbered
from grailbench.graph.hashing import stream

_ORDER = 0  # the random stream of a seed


def chain(vertices: int, seed: int = 1) -> Graph:
    """One path through all vertices, whose ids are random. Raises InputError if there are none, or too many."""
    n = checked(vertices)
    offsets = np.minimum(np.arange(n + 1, dtype=np.int64), n - 1)
    return renumbered(offsets, np.arange(1, n, dtype=np.int32), stream(seed, _ORDER))


def comb(vertices: int, seed: int = 1) -> Graph:
    """A path through half of the vertices, rounded up, each with one more child as long as there are vertices; ids do
    not depend on the place. Raises InputError if there are too many, or none."""
    n = checked(vertices)
    back = (n + 1) // 2
    teeth = n - back
    counts = np.zeros(n, np.int64)
    counts[: back - 1] = 1
    counts[:teeth] += 1
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    children = np.empty(int(offsets[-1]), np.int32)
    children[offsets[: back - 1]] = np.arange(1, back)
    children[offsets[1 : teeth + 1] - 1] = back + np.arange(teeth)
    return renumbered(offsets, children, stream(seed, _ORDER))
