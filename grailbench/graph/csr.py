"""The two shapes a graph has here: `Graph`, the edges as read, and `Dag`, what every index is built on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from grailbench.errors import InputError

VERTEX = np.int32
OFFSET = np.int64
MAX_VERTICES = 2**31 - 2  # one id is kept for the super-root


@dataclass(frozen=True)
class Graph:
    """A directed graph as a file gives it: cycles, self-loops and duplicate edges included.

    `sources` and `targets` are int32[m], contiguous, ids in [0, vertices). Made through `Graph.from_edges`,
    which checks; a reader that has checked already may construct it directly. `weights` are int32[m], an edge each,
    as `grailbench.graph.weights` has them, or None.
    """

    vertices: int
    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None

    @property
    def edges(self) -> int:
        """Number of edges as read, duplicates counted."""
        return int(self.sources.shape[0])

    @classmethod
    def from_edges(cls, vertices: int, sources, targets, weights: np.ndarray | None = None) -> Graph:
        """Check and convert edge arrays (any integer dtype, equal length); `weights` int32[m] or None.

        Raises InputError when a vertex id is out of range, lengths differ, there are too many vertices, or a weight
        is not positive.
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
        if weights is not None and (weights.shape != sources.shape or (weights.size and int(weights.min()) < 1)):
            raise InputError(f"weights of shape {weights.shape}; each of {sources.size} edges needs a positive one")
        return cls(
            int(vertices),
            np.ascontiguousarray(sources, dtype=VERTEX),
            np.ascontiguousarray(targets, dtype=VERTEX),
            None if weights is None else np.ascontiguousarray(weights, dtype=np.int32),
        )


@dataclass(frozen=True)
class Dag:
    """A condensed graph: acyclic, no duplicate edges, one super-root linked to every root.

    Vertices are components. The component ids follow their least original vertex, so a graph that was acyclic
    keeps its ids; the super-root is the last vertex, `vertices - 1`. Adjacency rows are ascending.

    offsets, children        int64[n + 1], int32[m]   CSR of children
    levels                   int32[n]                 longest path from the super-root, which has level 0
    order                    int32[n]                 vertices in a topological order, ascending by level
    component                int32[original n]        original vertex to component
    duplicates               int                      edges dropped as duplicates of one kept
    loops                    int                      edges dropped because both ends are one component
    reverse                  int64[n + 1], int32[m]   CSR of parents, or None to have it made when first asked for

    The papers print edge counts of graphs whose files hold duplicate edges (kegg: 487) and count them:
    compare `printed_edges` with print, `edges` with anything that scans the graph.
    """

    offsets: np.ndarray
    children: np.ndarray
    levels: np.ndarray
    order: np.ndarray
    component: np.ndarray
    duplicates: int = 0
    loops: int = 0
    reverse: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def vertices(self) -> int:
        """Number of vertices, the super-root counted (the thesis's convention)."""
        return int(self.offsets.shape[0] - 1)

    @property
    def edges(self) -> int:
        """Number of edges, those of the super-root counted."""
        return int(self.children.shape[0])

    @property
    def printed_edges(self) -> int:
        """Number of edges as the thesis counts them: those of the super-root, and duplicates, counted."""
        return self.edges + self.duplicates

    @property
    def super_root(self) -> int:
        """The id of the super-root."""
        return self.vertices - 1

    @property
    def roots(self) -> np.ndarray:
        """int32[r]: the vertices without parents before the super-root came (its children)."""
        return self.children[int(self.offsets[-2]) :]

    @property
    def parent_offsets(self) -> np.ndarray:
        """int64[n + 1]: where the parents of each vertex begin in `parents`."""
        return self._parent_csr[0]

    @property
    def parents(self) -> np.ndarray:
        """int32[m]: the parents of each vertex, ascending."""
        return self._parent_csr[1]

    @cached_property
    def _parent_csr(self) -> tuple[np.ndarray, np.ndarray]:
        return transpose(self.offsets, self.children) if self.reverse is None else self.reverse

    @cached_property
    def depth(self) -> int:
        """Number of levels, that of the super-root counted."""
        return int(self.levels[self.order[-1]]) + 1

    def edges_without_super_root(self) -> tuple[np.ndarray, np.ndarray]:
        """int32[m - r] twice: sources and targets of the edges that do not start at the super-root."""
        inner = int(self.offsets[-2])
        counts = np.diff(self.offsets[:-1])
        return np.repeat(np.arange(self.vertices - 1, dtype=VERTEX), counts), self.children[:inner]


def rows_of(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """int64[n + 1], int32[m]: the CSR of a raw graph, rows ascending, duplicates and self-loops kept."""
    offsets, sources = _bucketed(graph.vertices, graph.targets, graph.sources)
    return transpose(offsets, sources)


def weighted_rows_of(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int64[n + 1], int32[m], int32[m]: as `rows_of`, and the weight of each edge; of duplicates the lightest first."""
    places = np.arange(graph.edges, dtype=np.int64)
    _, by_target = _bucketed(graph.vertices, graph.targets, places)
    offsets, order = _bucketed(graph.vertices, graph.sources[by_target], by_target)
    targets, weights = graph.targets[order], graph.weights[order]
    _lightest_first(offsets, targets, weights)
    return offsets, targets, weights


@njit(cache=True)
def _lightest_first(offsets, targets, weights):
    """Sort the weights (int32[m]) of duplicates within the rows (int64[n + 1], int32[m])."""
    for u in range(offsets.shape[0] - 1):
        first = offsets[u]
        while first < offsets[u + 1]:
            last = first + 1
            while last < offsets[u + 1] and targets[last] == targets[first]:
                last += 1
            if last - first > 1:
                weights[first:last].sort()
            first = last


@njit(cache=True)
def _bucketed(n, keys, values):
    """The values (any[m]) by key (int32[m]) as a CSR: int64[n + 1], any[m]; each row in the order they came."""
    offsets = np.zeros(n + 1, np.int64)
    for k in range(keys.shape[0]):
        offsets[keys[k] + 1] += 1
    for v in range(n):
        offsets[v + 1] += offsets[v]
    at, found = offsets[:n].copy(), np.empty_like(values)
    for k in range(keys.shape[0]):
        found[at[keys[k]]] = values[k]
        at[keys[k]] += 1
    return offsets, found


@njit(cache=True)
def transpose(offsets, targets):
    """The reverse of a CSR. offsets: int64[n + 1], targets: int32[m]. Returns the same shapes, rows ascending."""
    n, m = offsets.shape[0] - 1, targets.shape[0]
    at = np.zeros(n + 1, np.int64)
    for k in range(m):
        at[targets[k]] += 1
    total = np.int64(0)
    for v in range(n + 1):
        total, at[v] = total + at[v], total
    sources = np.empty(m, np.int32)
    for u in range(n):
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            sources[at[v]] = u
            at[v] += 1
    # Filling moved each row's start to its end, which is the next row's start.
    starts = np.empty(n + 1, np.int64)
    starts[0] = 0
    starts[1:] = at[:n]
    return starts, sources
