"""Condensation against the plain-Python oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import components, condensed_edges
from pieces import small_pieces
from strategies import dag_of, digraphs, graph_of

from grailbench.graph.condense import condense, simple_rows
from grailbench.graph.csr import Graph
from grailbench.graph.threads import ThreadPool


def edge_list(offsets, targets):
    sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


@given(digraphs())
def test_components_and_edges_are_those_of_the_oracle_and_every_edge_read_is_kept_or_counted(graph):
    vertices, edges = graph
    dag = dag_of(vertices, edges)
    assert dag.component.tolist() == components(vertices, edges)
    forward = edge_list(dag.offsets, dag.children)
    assert forward == sorted(condensed_edges(vertices, edges))
    assert edge_list(dag.parent_offsets, dag.parents) == sorted((v, u) for u, v in forward)
    assert dag.loops == sum(dag.component[u] == dag.component[v] for u, v in edges)
    assert dag.printed_edges - len(dag.roots) + dag.loops == len(edges)


@given(digraphs())
def test_levels_are_longest_paths_and_the_order_is_topological(graph):
    dag = dag_of(*graph)
    levels, place = dag.levels, np.empty(dag.vertices, int)
    place[dag.order] = np.arange(dag.vertices)
    longest = {dag.super_root: 0}
    for u in dag.order.tolist():
        for v in dag.children[dag.offsets[u] : dag.offsets[u + 1]].tolist():
            assert place[u] < place[v]
            longest[v] = max(longest.get(v, 0), longest[u] + 1)
    assert levels.tolist() == [longest[v] for v in range(dag.vertices)]
    assert np.all(np.diff(levels[dag.order]) >= 0)
    assert dag.depth == max(longest.values()) + 1


FIELDS = ("offsets", "children", "levels", "order", "component", "duplicates", "loops")


def assert_same(found, expected):
    for field in FIELDS:
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field
        assert getattr(getattr(found, field), "dtype", int) == getattr(getattr(expected, field), "dtype", int), field


@pytest.mark.slow
@given(graph=digraphs(), threads=st.integers(1, 5), block_bits=st.integers(0, 3), wide=st.integers(2, 5))
def test_threads_give_what_one_gives_for_edges_in_any_order(graph, threads, block_bits, wide):
    vertices, edges = graph
    grouped = sorted(edges, key=lambda edge: (edge[0], edge[1] % 7, -edge[1]))
    for ordered in (edges, grouped, sorted(edges), sorted(set(edges)), edges[::-1]):
        expected = dag_of(vertices, ordered)
        with small_pieces(block_bits, wide):
            assert_same(condense(graph_of(vertices, ordered), threads), expected)


@given(graph=digraphs(), threads=st.integers(1, 3))
def test_rows_are_without_duplicates_and_loops(graph, threads):
    vertices, edges = graph
    with small_pieces():
        found = edge_list(*simple_rows(graph_of(vertices, edges), threads))
    assert found == sorted({(u, v) for u, v in edges if u != v})


def test_small_graphs_are_one_threads(monkeypatch):
    monkeypatch.setattr(ThreadPool, "_others", None)
    graph = graph_of(900, [(u, 300 + (7 * u + k) % 600) for u in range(300) for k in range(5)])
    assert condense(graph, 16).vertices == 901
    with small_pieces(), pytest.raises(AttributeError):
        condense(graph, 16)


def test_an_empty_graph_is_a_super_root_alone_and_edge_arrays_without_it_give_the_dag_back():
    dag = dag_of(0, [])
    assert (dag.vertices, dag.edges, dag.depth) == (1, 0, 1)
    dag = dag_of(5, [(0, 1), (1, 2), (2, 1), (3, 0), (3, 0)])
    again = condense(Graph(dag.vertices - 1, *dag.edges_without_super_root()))
    assert again.children.tolist() == dag.children.tolist()
    assert again.offsets.tolist() == dag.offsets.tolist()
