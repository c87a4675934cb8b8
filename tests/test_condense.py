"""Condensation against the plain-Python oracle."""

import numpy as np
import pytest
from hypothesis import given
from naive import components, condensed_edges
from strategies import dag_of, digraphs

from grailbench.errors import InputError
from grailbench.graph import condense as module
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph


def edge_list(offsets, targets):
    sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return list(zip(sources.tolist(), targets.tolist(), strict=True))


@given(digraphs())
def test_components_and_edges_are_those_of_the_oracle(graph):
    vertices, edges = graph
    dag = dag_of(vertices, edges)
    assert dag.component.tolist() == components(vertices, edges)
    found = edge_list(dag.offsets, dag.children)
    assert found == sorted(condensed_edges(vertices, edges))


@given(digraphs())
def test_parents_are_the_children_reversed_and_ascending(graph):
    dag = dag_of(*graph)
    forward = edge_list(dag.offsets, dag.children)
    assert edge_list(dag.parent_offsets, dag.parents) == sorted((v, u) for u, v in forward)


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


@given(digraphs())
def test_every_edge_read_is_kept_or_counted(graph):
    vertices, edges = graph
    dag = dag_of(vertices, edges)
    inside = sum(dag.component[u] == dag.component[v] for u, v in edges)
    assert dag.loops == inside
    assert dag.printed_edges - len(dag.roots) + dag.loops == len(edges)


@pytest.mark.parametrize("threads", [1, 3])
@given(graph=digraphs())
def test_edges_grouped_by_source_give_what_scattered_ones_do(threads, graph):
    vertices, edges = graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_EDGES_PER_THREAD", 10)
        patch.setattr(module, "_LARGE", 0)
        patch.setattr(module, "_LONG", 5)  # so that some rows are long
        sources, targets = np.array(sorted(edges, key=lambda e: (e[0], e[1] % 7, -e[1])), int).reshape(-1, 2).T
        grouped = condense(Graph.from_edges(vertices, sources, targets), threads)
    other = dag_of(vertices, edges[::-1])
    for field in ("offsets", "children", "levels", "order", "component", "duplicates", "loops"):
        assert np.array_equal(getattr(grouped, field), getattr(other, field)), field


def test_an_empty_graph_is_a_super_root_alone():
    dag = dag_of(0, [])
    assert (dag.vertices, dag.edges, dag.depth) == (1, 0, 1)


def test_edge_arrays_without_the_super_root_give_the_dag_back():
    dag = dag_of(5, [(0, 1), (1, 2), (2, 1), (3, 0), (3, 0)])
    again = condense(Graph(dag.vertices - 1, *dag.edges_without_super_root()))
    assert again.children.tolist() == dag.children.tolist()
    assert again.offsets.tolist() == dag.offsets.tolist()


def test_an_id_out_of_range_is_named():
    with pytest.raises(InputError, match="edge 1: target 3 is out of range for 3 vertices"):
        Graph.from_edges(3, [0, 1], [1, 3])
