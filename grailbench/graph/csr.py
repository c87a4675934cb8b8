"""The two shapes a graph has here: `Graph`, the edges as read, and `Dag`, what every index is built on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grailbench.errors import InputError

VERTEX = np.int32
OFFSET = np.int64
MAX_VERTICES = 2**31 - 2  # one id is kept for the super-root


@dataclass(frozen=True)
class Graph:
    """A directed graph as a file gives it: cycles, self-loops and duplicate edges included.

    `sources` and `targets` are int32[m], contiguous, ids in [0, vertices). Made through `Graph.from_edges`,
    which checks; a reader that has checked already may construct it directly.
    """

    vertices: int
    sources: np.ndarray
    targets: np.ndarray

    @property
    def edges(self) -> int:
        """Number of edges as read, duplicates counted."""
        return int(self.sources.shape[0])

    @classmethod
    def from_edges(cls, vertices: int, sources, targets) -> Graph:
        """Check and convert edge arrays (any integer dtype, equal length).

        Raises InputError when a vertex id is out of range, lengths differ, or there are too many vertices.
        """
        sources, targets = np.asarray(sources), np.asarray(targets)
        if sources.shape != targets.shape or sources.ndim != 1:
            raise InputError(f"edge arrays of shapes {sources.shape} and {targets.shape}; two equal columns are needed")
        if not 0 <= vertices <= MAX_VERTICES:
            raise InputError(f"{vertices} vertices; at most {MAX_VERTICES} fit 32-bit ids")
        for side, ids in (("source", sources), ("target", targets)):
            if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= vertices):
                at = int(np.flatnonzero((ids < 0) | (ids >= vertices))[0])
                raise InputError(f"edge {at}: {side} {int(ids[at])} is out of range for {vertices} vertices")
        return cls(
            int(vertices), np.ascontiguousarray(sources, dtype=VERTEX), np.ascontiguousarray(targets, dtype=VERTEX)
        )


@dataclass(frozen=True)
class Dag:
    """A condensed graph: acyclic, no duplicate edges, one super-root linked to every root.

    Vertices are components. The component ids follow their least original vertex, so a graph that was acyclic
    keeps its ids; the super-root is the last vertex, `vertices - 1`. Adjacency rows are ascending.

    offsets, children        int64[n + 1], int32[m]   CSR of children
    parent_offsets, parents  int64[n + 1], int32[m]   CSR of parents
    levels                   int32[n]                 longest path from the super-root, which has level 0
    order                    int32[n]                 vertices in topological order (by level, then id)
    component                int32[original n]        original vertex to component
    """

    offsets: np.ndarray
    children: np.ndarray
    parent_offsets: np.ndarray
    parents: np.ndarray
    levels: np.ndarray
    order: np.ndarray
    component: np.ndarray

    @property
    def vertices(self) -> int:
        """Number of vertices, the super-root counted (the thesis's convention)."""
        return int(self.offsets.shape[0] - 1)

    @property
    def edges(self) -> int:
        """Number of edges, those of the super-root counted."""
        return int(self.children.shape[0])

    @property
    def super_root(self) -> int:
        """The id of the super-root."""
        return self.vertices - 1

    @property
    def roots(self) -> np.ndarray:
        """int32[r]: the vertices without parents before the super-root came (its children)."""
        return self.children[int(self.offsets[-2]) :]

    @cached_property
    def depth(self) -> int:
        """Number of levels, that of the super-root counted."""
        return int(self.levels.max()) + 1

    def edges_without_super_root(self) -> tuple[np.ndarray, np.ndarray]:
        """int32[m - r] twice: sources and targets of the edges that do not start at the super-root."""
        inner = int(self.offsets[-2])
        counts = np.diff(self.offsets[:-1])
        return np.repeat(np.arange(self.vertices - 1, dtype=VERTEX), counts), self.children[:inner]
