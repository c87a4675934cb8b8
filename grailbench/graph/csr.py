"""The two forms of a graph: `Graph`, the edges as read from a file, and `Dag`, from which every index is built."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.kinds import Kinds
from grailbench.graph.weights import of_values

VERTEX = np.int32
OFFSET = np.int64
MOST_REVERSED = 1 << 27  #: edges up to which rows of parents are stored, and made before anyone asks for them
MAX_VERTICES = 2**31 - 2  # one id is kept for the super-root


@dataclass(frozen=True)
class Graph:
    """A directed graph as a file gives it; it may have cycles, self-loops and duplicate edges.

    `sources` and `targets` are contiguous int32[m] with ids in [0, vertices). `weights` is int32[m], one positive
    weight an edge (see `grailbench.graph.weights`), or None; `kinds` are those of the edges, or None. The constructor
    checks nothing; `Graph.from_edges` does.
    """

    vertices: int
    sources: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None = None
    kinds: Kinds | None = None

    @property
    def edges(self) -> int:
        """Number of edges as read, including duplicates."""
        return int(self.sources.shape[0])

    @classmethod
    def from_edges(
        cls, vertices: int, sources, targets, weights: np.ndarray | None = None, kinds: Kinds | None = None
    ) -> Graph:
        """Checks edge arrays (any integer dtype, equal lengths; `weights` may be None) and makes a graph of them.

        Raises InputError if a vertex id is out of range, the lengths differ, there are too many vertices, a weight is
        not usable (see `grailbench.graph.weights`), or the kinds are not those of so many edges.
        """
        sources, targets = np.asarray(sources), np.asarray(targets)
        if sources.shape != targets.shape or sources.ndim != 1:
            raise InputError(f"edge arrays of shapes {sources.shape} and {targets.shape}; two equal columns are needed")
        if not 0 <= vertices <= MAX_VERTICES:
            raise InputError(f"{vertices} vertices; at most {MAX_VERTICES} fit 32-bit ids")
        columns = []
        for side, ids in (("source", sources), ("target", targets)):
            least, greatest = extent(ids)
            if least < 0 or greatest >= vertices:
                at = int(np.flatnonzero((ids < 0) | (ids >= vertices))[0])
                raise InputError(f"edge {at}: {side} {int(ids[at])} is out of range for {vertices} vertices")
            columns.append(np.ascontiguousarray(ids, VERTEX))
        if weights is not None:
            if weights.shape != sources.shape:
                raise InputError(f"weights of shape {weights.shape}; each of {sources.size} edges needs one")
            weights, message = of_values(np.asarray(weights), "the weights")
            if weights is None:
                raise InputError(f"the weights are {message}")
        if kinds is not None and (fault := kinds.fault(sources.size)):
            raise InputError(fault)
        return cls(int(vertices), *columns, weights, kinds)

    def at(self, places: np.ndarray) -> Graph:
        """The graph of the same vertices and the edges at these places (int64[k])."""
        weights = None if self.weights is None else self.weights[places]
        kinds = None if self.kinds is None else self.kinds.at(places)
        return Graph(self.vertices, self.sources[places], self.targets[places], weights, kinds)


def extent(ids: np.ndarray) -> tuple[int, int]:
    """The least and the greatest of ids (integers of any type, [k]); 0 and -1 if there are none."""
    return (int(ids.min()), int(ids.max())) if ids.size else (0, -1)


@dataclass(frozen=True)
class Dag:
    """A condensed graph: acyclic, without duplicate edges, with a super-root that has an edge to every root.

    Its vertices are the strong components, numbered in the order of their least original vertex, so an acyclic graph
    keeps its ids. The super-root is the last vertex, `vertices - 1`. Adjacency rows are ascending.

    offsets, children   int64[n + 1], int32[m]   CSR of children
    levels              int32[n]                 longest path from the super-root, which has level 0
    order               int32[n]                 a topological order of the vertices, ascending by level
    component           int32[original n]        the component of each original vertex
    duplicates          int                      number of duplicate edges that were dropped
    loops               int                      number of edges dropped because both ends are in one component
    reverse             int64[n + 1], int32[m]   CSR of parents; if None, it is computed on first use

    The papers count the duplicate edges that some files hold (kegg: 487): compare `printed_edges` with printed counts,
    and `edges` with what an algorithm scans.
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
        """Number of vertices including the super-root, as in the thesis."""
        return int(self.offsets.shape[0] - 1)

    @property
    def edges(self) -> int:
        """Number of edges including those of the super-root."""
        return int(self.children.shape[0])

    @property
    def printed_edges(self) -> int:
        """Number of edges as the thesis counts them: including those of the super-root and duplicates."""
        return self.edges + self.duplicates

    @property
    def super_root(self) -> int:
        """The id of the super-root."""
        return self.vertices - 1

    @property
    def roots(self) -> np.ndarray:
        """int32[r]: the children of the super-root, which have no other parent."""
        return self.children[int(self.offsets[-2]) :]

    @property
    def parent_offsets(self) -> np.ndarray:
        """int64[n + 1]: where the row of each vertex begins in `parents`."""
        return self._parent_csr[0]

    @property
    def parents(self) -> np.ndarray:
        """int32[m]: the parents of each vertex in ascending order."""
        return self._parent_csr[1]

    @cached_property
    def _parent_csr(self) -> tuple[np.ndarray, np.ndarray]:
        if self.reverse is not None:
            return self.reverse
        from grailbench.graph.rows import transpose

        return transpose(self.offsets, self.children)

    @cached_property
    def depth(self) -> int:
        """Number of levels including that of the super-root."""
        return int(self.levels[self.order[-1]]) + 1

    def edges_without_super_root(self) -> tuple[np.ndarray, np.ndarray]:
        """Sources and targets, each int32[m - r], of the edges that do not start at the super-root."""
        inner = int(self.offsets[-2])
        counts = np.diff(self.offsets[:-1])
        return np.repeat(np.arange(self.vertices - 1, dtype=VERTEX), counts), self.children[:inner]


def rows_of(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The CSR of a raw graph (int64[n + 1], int32[m]) with ascending rows; duplicates and self-loops are kept."""
    from grailbench.graph.rows import bucketed, transpose

    offsets, sources = bucketed(graph.vertices, graph.targets, graph.sources)
    return transpose(offsets, sources)


def weighted_rows_of(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same CSR and the weight of each edge, int32[m]; the lightest of several duplicates comes first."""
    from grailbench.graph.rows import bucketed, lightest_first

    places = np.arange(graph.edges, dtype=np.int64)
    _, by_target = bucketed(graph.vertices, graph.targets, places)
    offsets, order = bucketed(graph.vertices, graph.sources[by_target], by_target)
    targets, weights = graph.targets[order], graph.weights[order]
    lightest_first(offsets, targets, weights)
    return offsets, targets, weights
