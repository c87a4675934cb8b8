"""Small graphs from edges: the index is that of the way over the host, and its memory serves one after another."""

import gc

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dag_of, digraphs, graph_of

from grailbench.cuda import gateway, launch
from grailbench.problems.reachability.gpu.fused import columns, from_edges, grid, replicas, small
from grailbench.problems.reachability.index import Implementation, NoTimer, Params, implementation

gateway.require()
MANY = settings(max_examples=4 if gateway.simulated else 150)
SOME = digraphs().filter(lambda graph: 0 < graph[0] <= (20 if gateway.simulated else 10**6))
Fused = implementation("gpu-fused")


def all_pairs(vertices):
    return np.divmod(np.arange(min(vertices**2, 400), dtype=np.int32), vertices)


@MANY
@given(graph=SOME, dim=st.integers(1, 2), way=st.sampled_from([small, columns, grid]))
def test_labels_hubs_and_answers_are_those_of_the_way_over_the_host(graph, dim, way):
    raw, dag, params = graph_of(*graph), dag_of(*graph), Params(dim=dim, seed=7)
    host = Implementation.ready.__func__(Fused, raw, params, NoTimer())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_edges, "way_of", lambda outline: way)
        found = from_edges.built_at_once(raw, params, NoTimer())
    assert found._edges == dag.edges
    for mine, other in zip(found.fetch(), host.fetch(), strict=True):
        assert np.array_equal(mine, other)
    sources, targets = all_pairs(raw.vertices)
    wanted = host.query_batch(dag.component[sources], dag.component[targets], NoTimer())
    assert np.array_equal(found.query_batch(sources, targets, NoTimer()), wanted)


def test_a_large_graph_that_condenses_to_few_vertices_asks_for_the_shared_memory_that_a_block_has(monkeypatch):
    asked = []

    class Recorded(launch.Prepared):
        def __init__(self, kernel, args, shape, shared_bytes=0, moving=()):
            asked.append(shared_bytes)
            super().__init__(kernel, args, shape, shared_bytes, moving)

    monkeypatch.setattr(replicas, "Prepared", Recorded)
    from_edges._workspaces.clear()
    n = small.most_vertices() + 1
    ring = graph_of(n + 1, [(v, (v + 1) % n) for v in range(n)] + [(0, n)])
    found = Fused.ready(ring, Params(dim=1), NoTimer())
    assert found.query_batch(np.array([7, n], np.int32), np.array([3, 3], np.int32), NoTimer()).tolist() == [
        True,
        False,
    ]
    assert 0 < max(asked) <= launch.most_shared_bytes()


def test_the_memory_of_an_index_that_is_gone_serves_the_next_and_that_of_one_in_use_does_not(monkeypatch):
    made = []
    real = from_edges.Workspace.__init__
    monkeypatch.setattr(from_edges.Workspace, "__init__", lambda space, kind: made.append(kind) or real(space, kind))
    from_edges._workspaces.clear()
    path, ring = graph_of(3, [(0, 1), (1, 2)]), graph_of(4, [(0, 1), (1, 0), (2, 3)])
    first = Fused.ready(path, Params(dim=1), NoTimer())
    second = Fused.ready(ring, Params(dim=1), NoTimer())
    ends = np.array([0, 1, 2], np.int32), np.array([2, 0, 0], np.int32)
    assert first.query_batch(*ends, NoTimer()).tolist() == [True, False, False]
    assert second.query_batch(*ends, NoTimer()).tolist() == [False, True, False]
    assert len(made) == 2
    del first
    gc.collect()
    third = Fused.ready(ring, Params(dim=1), NoTimer())
    for one in (second, third):
        assert one.query_batch(*ends, NoTimer()).tolist() == [False, True, False]
    assert len(made) == 2
    Fused.ready(path, Params(dim=1, seed=9), NoTimer())
    assert len(made) == 3, "salts are of the seed"


@pytest.mark.parametrize("back", [[], [(599, 590)]])
def test_the_host_labels_deep_graphs(back, monkeypatch):
    raw, dims = graph_of(600, [(u, u + 1) for u in range(599)] + back), []
    real = replicas.host.labels_on_host
    monkeypatch.setattr(replicas.host, "labels_on_host", lambda graph, *a: dims.append(a[0]) or real(graph, *a))
    found = from_edges.built_at_once(raw, Params(dim=2), NoTimer())
    assert dims == [2]
    sources, targets = np.array([0, 599, 595, 3], np.int32), np.array([599, 0, 591, 3], np.int32)
    assert found.query_batch(sources, targets, NoTimer()).tolist() == [True, False, bool(back), True]


def test_counts_take_another_way(monkeypatch):
    taken = []
    monkeypatch.setattr(from_edges, "built_at_once", lambda *args: taken.append(1))
    path = graph_of(3, [(0, 1), (1, 2)])
    Fused.ready(path, Params(dim=1, count=True), NoTimer())
    assert not taken
    Fused.ready(path, Params(dim=1), NoTimer())
    assert taken
