"""The closure report's eight kinds of graph: each has what its name promises, and is a function of its spec."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import edges_of

from grailbench.data import generating
from grailbench.data.library import open_raw
from grailbench.data.locate import locate
from grailbench.errors import InputError
from grailbench.graph.generate.shapes import DENSE, KINDS, Shape, parse_shape

sizes = st.integers(3, 60)
densities = st.sampled_from([0, 0.02, 0.1, 0.5, 0.77, 1])


def as_networkx(shape):
    found = nx.MultiDiGraph(edges_of(shape.graph()))
    found.add_nodes_from(range(shape.vertices))
    return found


def some(kind, vertices, density=0.1, seed=1):
    return Shape(kind, vertices, density if kind in DENSE else None, seed)


@pytest.mark.parametrize(
    ("kind", "edges"),
    [
        ("path", [(0, 1), (1, 2), (2, 3)]),
        ("cycle", [(0, 1), (1, 2), (2, 3), (3, 0)]),
        ("star", [(0, 1), (0, 2), (0, 3)]),
        ("complete", [(u, v) for u in range(4) for v in range(4) if u != v]),
    ],
)
def test_simple_kinds_are_what_they_are_called(kind, edges):
    assert edges_of(Shape(kind, 4).graph()) == edges


@given(n=sizes, density=densities, seed=st.integers(0, 99))
def test_custom_is_connected_and_has_its_edges_once(n, density, seed):
    found = edges_of(Shape("custom", n, density, seed).graph())
    assert len(found) == len(set(found)) == max(round(density * n * (n - 1)), n - 1)
    assert all(u != v for u, v in found)
    assert nx.is_weakly_connected(nx.DiGraph(found))


@given(n=st.integers(1, 60), density=densities, seed=st.integers(0, 99))
def test_erdos_renyi_has_no_loop_and_no_pair_twice(n, density, seed):
    found = edges_of(Shape("erdos-renyi", n, density, seed).graph())
    assert len(found) == len(set(found))
    assert all(u != v for u, v in found)
    assert density not in (0, 1) or len(found) == density * n * (n - 1)


@given(n=sizes, seed=st.integers(0, 99))
def test_a_random_tree_leads_away_from_vertex_0(n, seed):
    found = as_networkx(Shape("random-tree", n, seed=seed))
    assert nx.is_arborescence(found)
    assert found.in_degree(0) == 0


@given(n=sizes, seed=st.integers(0, 99))
def test_scale_free_is_weakly_connected_and_uses_every_vertex(n, seed):
    found = as_networkx(Shape("scale-free", n, seed=seed))
    assert found.number_of_nodes() == n
    assert nx.is_weakly_connected(found)


@pytest.mark.parametrize("kind", KINDS)
def test_the_spec_and_the_seed_make_the_graph(kind):
    shape = some(kind, 40, seed=5)
    again = parse_shape(shape.name)
    assert again == shape
    assert edges_of(again.graph()) == edges_of(shape.graph())
    if kind in ("custom", "erdos-renyi", "random-tree", "scale-free"):
        assert edges_of(some(kind, 40, seed=6).graph()) != edges_of(shape.graph())


def test_arrays_of_a_seed_never_change():
    """Known sums: whoever changes a generator changes what stored runs were measured on."""
    weigh = np.arange(1, 40)
    found = {}
    for kind in ("custom", "erdos-renyi", "random-tree", "scale-free"):
        graph = some(kind, 40).graph()
        found[kind] = (graph.edges, int(graph.sources[:39] @ weigh), int(graph.targets[:39] @ weigh))
    assert found == KNOWN


KNOWN = {
    "custom": (156, 5524, 14754),
    "erdos-renyi": (156, 4222, 13599),
    "random-tree": (39, 13311, 14437),
    "scale-free": (86, 6072, 846),
}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("path-100-0.1", "has no density"),
        ("erdos-renyi-100", "needs a density"),
        ("custom-10-1.5", "0 to 1"),
        ("scale-free-2", "between 3"),
        ("complete-70000", "at most 65536"),
        ("path-0", "between 1"),
        ("path-5-seed9999999999999999999", "2\\*\\*63"),
    ],
)
def test_a_spec_that_cannot_be_is_refused(name, what):
    with pytest.raises(InputError, match=what):
        parse_shape(name)


@pytest.mark.parametrize("name", ["kegg", "path", "path-", "tree-5", "path-5-seed", "erdos-renyi-5-.1"])
def test_other_names_are_no_specs(name):
    assert parse_shape(name) is None


def test_a_spec_names_a_graph_that_runs_can_open(session_cache):
    assert locate("erdos-renyi-20-0.50").name == "erdos-renyi-20-0.5"
    first, again = open_raw("erdos-renyi-20-0.5"), open_raw("erdos-renyi-20-0.5")
    assert (session_cache / "generated" / "erdos-renyi-20-0.5.npz").is_file()
    assert (first.kind, first.sha256) == ("synthetic", again.sha256)
    assert edges_of(first.graph) == edges_of(again.graph) == edges_of(Shape("erdos-renyi", 20, 0.5).graph())


def test_generate_takes_specs_and_a_seed(session_cache):
    found = list(generating.records(["random-tree-9", "path-4"], 7, None, None, None, None, True))
    assert [(record["name"], record["edges"]) for record in found] == [("random-tree-9-seed7", 8), ("path-4-seed7", 3)]
