"""A random graph, and whether two condensed graphs are the same, for tests of what is stored."""

import numpy as np

from grailbench.graph.csr import Dag, Graph
from grailbench.problems.reachability.index import NoTimer, Params, implementation

DAG_ARRAYS = ("offsets", "children", "levels", "order", "component", "parent_offsets", "parents")


def some_graph(seed=1, vertices=40, edges=90) -> Graph:
    drawn = np.random.default_rng(seed).integers(0, vertices, (2, edges))
    return Graph.from_edges(vertices, *drawn)


def same_dag(one: Dag, other: Dag) -> bool:
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in DAG_ARRAYS)
    return arrays and (one.duplicates, one.loops) == (other.duplicates, other.loops)


def layers(vertices=320, wide=8):
    """The number of vertices and the edges of a DAG of layers, each vertex with an edge to each of the next layer: no
    vertex can be peeled, all are its core."""
    parts = [range(first, min(first + wide, vertices)) for first in range(0, vertices, wide)]
    return vertices, [(u, v) for a, b in zip(parts, parts[1:], strict=False) for u in a for v in b]


def hub_words(dag: Dag) -> np.ndarray:
    """The words of hubs that `sequential` makes, uint64[2 n]."""
    params = Params(dim=1, filters=("hubs",))
    return implementation("sequential").build(dag, params, NoTimer()).hubs


def between_trees():
    """The number of vertices and the edges of a DAG of in-trees, a core below them, and out-trees below that."""
    into = [(0, 2), (1, 2), (2, 6), (3, 5), (4, 5), (5, 6), (6, 7)]
    between = [(7, 8), (7, 9), (8, 10), (9, 10), (8, 9), (10, 11), (10, 12)]
    out = [(u, v) for u in range(11, 17) for v in (2 * u - 9, 2 * u - 8)]
    return 25, into + between + out
