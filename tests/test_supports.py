"""`supports` answers as the oracle does, whole or in halves, on any number of threads; its check finds damage; its
explanations name vertices that bear them out; what does not fit is refused before anything is allocated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, dags, digraphs

from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph import threads as sharing
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.index import Params
from grailbench.problems.reachability.supports import build, index
from grailbench.problems.reachability.supports.index import Supports
from grailbench.problems.reachability.supports.search import COUNTS

CHAIN = (400, [(u, u + 1) for u in range(399)])
STAR = (300, [(0, v) for v in range(1, 300)] + [(v, 299) for v in range(1, 299)])
BIPARTITE = (60, [(u, v) for u in range(30) for v in range(30, 60)])
LATTICE = (90, [(u, u + step) for u in range(90) for step in (1, 7, 9) if u + step < 90])
FORMS = {
    "trees": {"DENSE": 1 << 40},
    "words": {"DENSE": 0, "_edges": lambda found, pairs: 1},
    "halves": {"DENSE": -1, "_edges": lambda found, pairs: not found.halves},
}


@pytest.fixture(params=FORMS)
def form(request, monkeypatch):
    """Records are whole, with trees or without, or the index is in halves, whatever a sample says."""
    for name, value in FORMS[request.param].items():
        monkeypatch.setattr(index, name, value)
    return request.param


def built(graph, threads=1, **params):
    dag = dag_of(*graph)
    return Supports.build(dag, Params(threads=threads, **params), NoTimer()), dag


def answers(found, dag, vertices):
    """The answers to all pairs of original vertices, a set for each source."""
    us, vs = np.divmod(np.arange(vertices * vertices), max(vertices, 1))
    table = found.query_batch(dag.component[us], dag.component[vs], NoTimer()).reshape(vertices, vertices)
    return [set(np.flatnonzero(row).tolist()) for row in table]


@pytest.mark.usefixtures("form")
@given(graph=st.one_of(digraphs(), dags(12)), threads=st.sampled_from([1, 2]))
def test_batches_and_single_pairs_are_the_oracles(graph, threads):
    wanted = closure(*graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sharing, "PER_THREAD", 64)
        found, dag = built(graph, threads)
        assert answers(found, dag, graph[0]) == wanted
    assert (found.halves, found.trees is not None) == (index.DENSE < 0, index.DENSE > 0)
    assert found.check_labels(dag) is None
    one = found.one_pair(dag.component)
    for u in range(graph[0]):
        for v in range(graph[0]):
            quick = one.quick(one.at, u, v)
            assert (one.search(u, v) if quick is None else quick) == (v in wanted[u])
    assert one.quick(one.at, -1, 0) is one.quick(one.at, 0, graph[0]) is None


@pytest.mark.parametrize("levels", [2, 40])
def test_dense_graphs_have_trees_if_they_are_deep(levels, monkeypatch):
    """1,200 vertices in layers, and 13 edges from each to the next layer."""
    monkeypatch.setattr(index, "DEEP", 40)
    wide = 1200 // levels
    edges = [(u, (u // wide + 1) * wide + (u + i) % wide) for u in range(1200 - wide) for i in range(13)]
    found, _ = built((1200, edges))
    assert (found.trees is None) == (levels == 2)


@pytest.mark.parametrize(("graphs", "vertices", "count"), [(400, 14, 18), (60, 150, 200)])
def test_many_sparse_dags_are_answered_as_by_the_oracle(graphs, vertices, count):
    """Small ones have a block for each vertex, so that blocks alone tell what is not reached; large ones have not."""
    random = np.random.default_rng(1)
    for _ in range(graphs):
        place, ends = random.permutation(vertices), np.sort(random.integers(0, vertices, (count, 2)))
        edges = [(int(place[u]), int(place[v])) for u, v in ends if u != v]
        found, dag = built((vertices, edges))
        assert found.trees is not None
        assert answers(found, dag, vertices) == closure(vertices, edges)


@pytest.mark.parametrize("graph", [(0, []), (1, []), CHAIN, STAR, BIPARTITE, LATTICE])
def test_extreme_shapes_and_the_super_root(form, graph):
    found, dag = built(graph)
    assert answers(found, dag, graph[0]) == closure(*graph)
    root, everything = np.full(dag.vertices, dag.super_root, np.int32), np.arange(dag.vertices, dtype=np.int32)
    assert found.query_batch(root, everything, NoTimer()).all()
    assert found.query_batch(everything, root, NoTimer()).sum() == 1


@pytest.mark.usefixtures("form")
@given(graph=digraphs())
def test_stored_arrays_make_the_index_again(graph):
    found, dag = built(graph)
    again = Supports.restored(dag, Params(threads=1), found.stored())
    assert answers(again, dag, graph[0]) == closure(*graph)
    assert again.index_bytes == found.index_bytes


@pytest.mark.usefixtures("form")
@given(graph=digraphs(), data=st.data())
def test_damage_is_found_by_the_check(graph, data):
    found, dag = built(graph)
    before = answers(found, dag, graph[0])
    array = found.arrays[data.draw(st.sampled_from(sorted(found.arrays)))].view(np.uint8)
    if array.size == 0:
        return
    array[data.draw(st.integers(0, array.size - 1))] ^= np.uint8(1 << data.draw(st.integers(0, 7)))
    if found.check_labels(dag) is None:  # else a row may lead out of the arrays
        assert answers(found, dag, graph[0]) == before


@pytest.mark.parametrize("graph", [LATTICE, STAR])
def test_explanations_agree_with_answers_and_their_vertices_bear_them_out(form, graph):
    found, dag = built(graph)
    reach, by = closure(*graph), set()
    for u in range(graph[0]):
        for v in range(graph[0]):
            decision = found.decide(u, v)
            assert decision.reachable == (v in reach[u])
            assert decision.why.format(*decision.vertices)
            by.add(decision.by)
            if decision.by == "hubs":
                hub = decision.vertices[2]
                assert decision.reachable == (hub in reach[u] and v in reach[hub])
                assert decision.reachable or hub in reach[v] - reach[u] or (u in reach[hub]) > (v in reach[hub])
    assert by <= {"same", "level", "hubs", "search"} | ({"tree", "labels"} if form == "trees" else set())
    assert "hubs" in by or form != "words"
    assert form != "trees" or {"tree", "labels"} <= by
    assert found.decide(dag.super_root, 0).by == "root"


def test_counters_add_up(form):
    found, dag = built(LATTICE, count=True)
    answers(found, dag, 90)
    counted = found.counters
    assert set(counted) == set(COUNTS) == set(Supports.counts)
    assert counted["queries"] == 90 * 90
    assert sum(counted[name] for name in COUNTS[1:7]) == 90 * 89  # all but those of a vertex and itself
    assert built(LATTICE)[0].counters == {}


@pytest.mark.parametrize("kind", ["words", "trees"])
def test_supportive_vertices_settle_what_they_lie_between(kind, monkeypatch):
    for name, value in FORMS[kind].items():
        monkeypatch.setattr(index, name, value)
    hub = (101, [(u, 50) for u in range(50)] + [(50, v) for v in range(51, 101)])
    found, dag = built(hub, count=True)
    answers(found, dag, 101)
    by_tree = found.counters["accepted_by_tree"]
    assert found.counters["accepted_by_hubs"] == 50 * 50 + 100 - by_tree
    assert 0 < by_tree < 50 * 50 if kind == "trees" else by_tree == 0
    assert found.counters["searches"] == 0


def test_a_sample_decides_for_halves_on_a_sparse_random_dag_alone():
    ends = np.sort(np.random.default_rng(1).integers(0, 100_000, (700_000, 2)))
    ends = ends[ends[:, 0] < ends[:, 1]]
    dag = condense(Graph.from_edges(100_000, ends[:, 0], ends[:, 1]), 1)
    assert Supports.build(dag, Params(threads=1), NoTimer()).halves
    assert not built(LATTICE)[0].halves


def test_equal_graphs_give_equal_records_on_any_number_of_threads(form):
    one, three = (built(LATTICE, threads)[0].arrays for threads in (1, 3))
    assert all(np.array_equal(one[name], three[name]) for name in one)


def test_what_does_not_fit_is_refused(monkeypatch):
    dag = dag_of(*LATTICE)
    monkeypatch.setattr(index, "MOST_EDGES", dag.edges - 1)
    with pytest.raises(InputError, match="edges; `supports` numbers"):
        Supports.build(dag, Params(), NoTimer())
    monkeypatch.setattr(index, "MOST_EDGES", dag.edges)
    monkeypatch.setattr(index, "SMALL", 0)
    monkeypatch.setattr(index.memory, "available", lambda: 1_000)
    monkeypatch.setattr(build, "heights", None)
    with pytest.raises(TooLittleMemory, match="the index of 91 vertices: about"):
        Supports.build(dag, Params(), NoTimer())
