"""The characteristics of a condensed graph, including those in the papers' tables of data sets; and the whole structure
of a graph, as far as it decides which index suits it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag, Graph, rows_of

QUANTILES = (50, 90, 99, 99.9)  #: of the degrees, in per cent


def characteristics(dag: Dag) -> dict[str, int | float]:
    """The characteristics of a condensed graph.

    vertices, edges   including the super-root, its edges, and duplicate edges, as printed in the thesis
    distinct_edges    the same without duplicates: the edges that a search can scan
    degree            edges / vertices
    levels            levels by longest path, including that of the super-root
    roots, sinks      vertices whose only parent is the super-root, vertices without children
    max_in_degree, max_out_degree
                      over distinct edges, without those of the super-root
    """
    parents, children = degrees(dag)
    return {
        "vertices": dag.vertices,
        "edges": dag.printed_edges,
        "distinct_edges": dag.edges,
        "degree": dag.printed_edges / dag.vertices,
        "levels": dag.depth,
        "roots": int(dag.roots.shape[0]),
        "sinks": int(np.count_nonzero(children == 0)),
        "max_in_degree": int(parents.max(initial=0)),
        "max_out_degree": int(children.max(initial=0)),
    }


def degrees(dag: Dag) -> tuple[np.ndarray, np.ndarray]:
    """The number of parents and of children of each vertex, int64[n - 1] each, without the super-root."""
    inner = dag.children[: int(dag.offsets[-2])]
    return np.bincount(inner, minlength=dag.vertices - 1), np.diff(dag.offsets[:-1])


@dataclass(frozen=True)
class Tail:
    """A distribution of degrees, of the parents or of the children of the vertices of a condensed graph.

    mean, most  the mean and the largest degree
    quantiles   the degrees at `QUANTILES`: that many per cent of the vertices have no larger one
    top         the share of the edges at the 1 % of the vertices (at least one) with the largest degrees
    at_most_one number of vertices with degree 0 or 1
    counts      int64[distinct, 2]: each degree that occurs, ascending, and its number of vertices
    """

    mean: float
    most: int
    quantiles: tuple[int, ...]
    top: float
    at_most_one: int
    counts: np.ndarray


@dataclass(frozen=True)
class Structure:
    """The structure of a graph and of its condensed graph, without the super-root.

    vertices, edges      of the file
    duplicates, loops    edges of the file that repeat another; edges from a vertex to itself
    components           strong components, which are the vertices of the condensed graph
    largest              vertices of the largest of them
    nontrivial, cyclic   components of more than one vertex, and the number of vertices in them
    weak, widest_weak    weak components of the condensed graph, and the vertices (of it) of the largest of these
    dag_edges            distinct edges of the condensed graph
    roots, sinks, isolated
                         its vertices without parents, without children, and without both
    widths               int64[depth]: its vertices on each level, from the roots' on
    parents, children    its degrees
    """

    vertices: int
    edges: int
    duplicates: int
    loops: int
    components: int
    largest: int
    nontrivial: int
    cyclic: int
    weak: int
    widest_weak: int
    dag_edges: int
    roots: int
    sinks: int
    isolated: int
    widths: np.ndarray
    parents: Tail
    children: Tail

    @property
    def depth(self) -> int:
        """Number of levels."""
        return int(self.widths.shape[0])

    @property
    def beyond_forest(self) -> int:
        """Edges of the condensed graph that a spanning forest of it, directions ignored, does not need."""
        return self.dag_edges - self.components + self.weak


def structure(graph: Graph, dag: Dag) -> Structure:
    """Measures a graph and its condensed graph."""
    sizes = component_sizes(dag)
    parents, children = degrees(dag)
    weak = _weak_components(dag)
    measured = characteristics(dag)
    return Structure(
        vertices=graph.vertices,
        edges=graph.edges,
        duplicates=int(_repeated(*rows_of(graph))),
        loops=int(np.count_nonzero(graph.sources == graph.targets)),
        components=dag.vertices - 1,
        largest=int(sizes.max(initial=0)),
        nontrivial=int(np.count_nonzero(sizes > 1)),
        cyclic=int(sizes[sizes > 1].sum()),
        weak=int(weak.shape[0]),
        widest_weak=int(weak.max(initial=0)),
        dag_edges=int(dag.offsets[-2]),
        roots=measured["roots"],
        sinks=measured["sinks"],
        isolated=int(np.count_nonzero((parents == 0) & (children == 0))),
        widths=np.bincount(dag.levels[:-1])[1:],
        parents=_tail(parents),
        children=_tail(children),
    )


def component_sizes(dag: Dag) -> np.ndarray:
    """The number of original vertices of each vertex of a condensed graph, int64[n - 1], without the super-root."""
    return np.bincount(dag.component, minlength=dag.vertices - 1)


def _weak_components(dag: Dag) -> np.ndarray:
    """The number of vertices of each weak component, without the super-root."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = dag.vertices - 1
    if n == 0:
        return np.empty(0, np.int64)
    inner = dag.children[: int(dag.offsets[-2])]
    adjacency = csr_array((np.ones(inner.shape[0], np.int8), inner, dag.offsets[:-1]), shape=(n, n))
    return np.bincount(connected_components(adjacency, directed=True, connection="weak")[1])


def _tail(degree: np.ndarray) -> Tail:
    if degree.size == 0:
        return Tail(0.0, 0, (0,) * len(QUANTILES), 0.0, 0, np.empty((0, 2), np.int64))
    vertices = np.bincount(degree)
    occurring = np.flatnonzero(vertices)
    reached = np.cumsum(vertices)
    quantiles = tuple(int(np.searchsorted(reached, np.ceil(q / 100 * degree.size))) for q in QUANTILES)
    few = max(1, degree.size // 100)
    top = int(np.partition(degree, degree.size - few)[degree.size - few :].sum())
    return Tail(
        mean=float(degree.mean()),
        most=int(degree.max()),
        quantiles=quantiles,
        top=top / max(1, int(degree.sum())),
        at_most_one=int(vertices[:2].sum()),
        counts=np.stack((occurring, vertices[occurring]), axis=1),
    )


@njit(cache=True)
def _repeated(offsets, targets):
    """The number of edges that repeat another; offsets int64[n + 1], targets int32[m], rows ascending."""
    found = 0
    for u in range(offsets.shape[0] - 1):
        for k in range(offsets[u] + 1, offsets[u + 1]):
            found += targets[k] == targets[k - 1]
    return found
