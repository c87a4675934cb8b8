"""Hypothesis strategies for digraphs of the shapes that break reachability code."""

import numpy as np
from hypothesis import strategies as st

from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph

LONGEST_CHAIN = 300


@st.composite
def _any_edges(draw):
    """Anything goes: cycles, self-loops, duplicates, isolated vertices; sometimes no vertex at all."""
    vertices = draw(st.integers(0, 25))
    if vertices == 0:
        return 0, []
    vertex = st.integers(0, vertices - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=3 * vertices))
    repeats = draw(st.lists(st.sampled_from(edges), max_size=4)) if edges else []
    return vertices, edges + repeats


@st.composite
def dags(draw, max_vertices=25):
    """Acyclic, but the ids follow no topological order."""
    vertices = draw(st.integers(1, max_vertices))
    vertex = st.integers(0, vertices - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=4 * vertices))
    place = draw(st.permutations(range(vertices)))
    return vertices, [(place[min(u, v)], place[max(u, v)]) for u, v in pairs if u != v]


@st.composite
def _chains(draw):
    """A long path, forward or backward, perhaps closed to a cycle, with a few shortcuts."""
    vertices = draw(st.integers(2, LONGEST_CHAIN))
    edges = [(u, u + 1) for u in range(vertices - 1)]
    vertex = st.integers(0, vertices - 1)
    shortcuts = draw(st.lists(st.tuples(vertex, vertex), max_size=5))
    edges += [(min(u, v), max(u, v)) for u, v in shortcuts]
    if draw(st.booleans()):
        edges.append((vertices - 1, draw(vertex)))
    if draw(st.booleans()):
        edges = [(vertices - 1 - u, vertices - 1 - v) for u, v in edges]
    return vertices, edges


@st.composite
def _hubs(draw):
    """One vertex with many parents and many children, and some edges beside it."""
    vertices = draw(st.integers(3, 120))
    vertex = st.integers(0, vertices - 1)
    hub, parents = draw(vertex), draw(st.integers(0, vertices - 1))
    edges = [(u, hub) if u < parents else (hub, u) for u in range(vertices) if u != hub]
    return vertices, edges + draw(st.lists(st.tuples(vertex, vertex), max_size=10))


@st.composite
def _with_isolated(draw, graphs):
    vertices, edges = draw(graphs)
    return vertices + draw(st.integers(0, 5)), edges


def digraphs():
    """`(vertices, edges)`: cycles, self-loops, duplicates, isolated vertices, chains, hubs, none at all."""
    return _with_isolated(st.one_of(_any_edges(), dags(), _chains(), _hubs()))


def graph_of(vertices, edges):
    """A drawn graph as a `Graph`."""
    sources, targets = zip(*edges, strict=True) if edges else ([], [])
    return Graph.from_edges(vertices, np.array(sources, int), np.array(targets, int))


def edges_of(graph):
    """The edges of a `Graph` as a list of pairs, in its order: what `graph_of` was given."""
    return list(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))


def dag_of(vertices, edges):
    """A drawn graph, condensed."""
    return condense(graph_of(vertices, edges))
