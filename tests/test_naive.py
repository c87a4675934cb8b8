"""The oracle itself, against networkx and by hand."""

import networkx as nx
from hypothesis import given
from naive import SUPER_ROOT, closure, components, condensed_edges, reachable_from, reaches
from strategies import digraphs


def _networkx(vertices, edges):
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(vertices))
    return graph


@given(digraphs())
def test_closure_is_the_descendants_of_networkx_and_the_vertex_itself(graph):
    other = _networkx(*graph)
    assert closure(*graph) == [nx.descendants(other, u) | {u} for u in range(graph[0])]


@given(digraphs())
def test_components_are_the_strong_components_of_networkx(graph):
    ours = components(*graph)
    theirs = [set(c) for c in nx.strongly_connected_components(_networkx(*graph))]
    assert sorted(map(sorted, theirs)) == sorted(
        [v for v in range(graph[0]) if ours[v] == c] for c in range(len(theirs))
    )


def test_super_root_reaches_all_and_nothing_else_reaches_it():
    assert reachable_from(2, [], SUPER_ROOT) == {SUPER_ROOT, 0, 1}
    assert not reaches(2, [(0, 1)], 0, SUPER_ROOT)


def test_condensed_edges_of_a_cycle_with_a_tail():
    assert condensed_edges(4, [(0, 1), (1, 0), (1, 2), (0, 2), (3, 3)]) == {(0, 1), (3, 0), (3, 2)}
