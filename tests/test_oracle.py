"""The oracles agree with plain Python, however many sweeps and threads there are; and that with networkx."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import SUPER_ROOT, closure, components, condensed_edges, reachable_from, reaches
from strategies import dag_of, digraphs, graph_of

from grailbench.errors import CheckFailed
from grailbench.graph import oracle
from grailbench.graph.oracle import closure_answers, swept_answers

BRAID = (3000, [(u, u + step) for u in range(2993) for step in (1, 3, 7) if u % 5])


def all_pairs(dag):
    return (ends.ravel().astype(np.int32) for ends in np.indices((dag.vertices, dag.vertices)))


def every_answer(graph, dag, u, v):
    edges = list(condensed_edges(*graph))
    return [reaches(dag.vertices, edges, s, t) for s, t in zip(u.tolist(), v.tolist(), strict=True)]


def random_pairs(dag, count):
    return np.random.default_rng(1).integers(0, dag.vertices, (2, count), dtype=np.int32)


@given(digraphs().filter(lambda graph: graph[0] < 60))
def test_closure_agrees_with_plain_python_on_every_pair_super_root_included(graph):
    dag = dag_of(*graph)
    u, v = all_pairs(dag)
    assert closure_answers(dag, u, v).tolist() == every_answer(graph, dag, u, v)
    assert max(components(*graph), default=-1) + 1 == dag.super_root


@given(digraphs().filter(lambda graph: graph[0] < 60), st.integers(1, 130), st.integers(1, 3), st.integers(0, 4000))
def test_sweeps_agree_with_plain_python_on_many_and_few_pairs_super_root_included(graph, sources, threads, pairs):
    dag = dag_of(*graph)
    u, v = (ends[-pairs:] if pairs else ends[:0] for ends in all_pairs(dag))
    answers, known = swept_answers(dag, u, v, sources=sources, threads=threads)
    assert known.all()
    assert answers.tolist() == every_answer(graph, dag, u, v)


@pytest.mark.parametrize(("sources", "threads"), [(1024, 1), (1024, 4), (64, 4), (100, 3), (1, 2)])
def test_any_number_of_sweeps_and_threads_gives_what_the_closure_gives(sources, threads):
    dag = dag_of(*BRAID)
    u, v = random_pairs(dag, 20_000)
    answers, known = swept_answers(dag, u, v, sources=sources, threads=threads)
    assert known.all()
    assert (answers == closure_answers(dag, u, v)).all()
    assert 0 < answers.sum() < answers.size


def test_scratch_shrinks_with_the_memory_that_is_free(monkeypatch):
    def fitting(free, vertices=1_000_000):
        monkeypatch.setattr(oracle.memory, "available", lambda free=free: free)
        monkeypatch.setattr(oracle, "usable_cores", lambda: 8)
        return oracle._fitting(vertices)

    assert fitting(16 << 30) == (1024, 8)
    assert fitting(1 << 30) == (1024, 4)
    assert fitting(100 << 20) == (256, 1)
    assert fitting(0) == (64, 1)


def test_what_seconds_leave_unanswered_is_said_to_be_so():
    dag = dag_of(*BRAID)
    u, v = random_pairs(dag, 5_000)
    answers, known = swept_answers(dag, u, v, seconds=0, sources=64)
    assert 0 < known.sum() < 1_000
    assert (answers == closure_answers(dag, u, v))[known].all()


def test_an_order_that_is_not_topological_is_never_trusted():
    dag = dag_of(4, [(0, 1), (1, 2), (2, 3)])
    ends = np.zeros(1, np.int32)
    swapped, twice = dag.order.copy(), dag.order.copy()
    swapped[[1, 2]] = swapped[[2, 1]]
    twice[1] = twice[2]
    for order in (swapped, twice):
        for answers in (closure_answers, swept_answers):
            with pytest.raises(CheckFailed, match="not topological"):
                answers(replace(dag, order=order), ends, ends)


def test_long_sweeps_are_announced_with_the_option_that_ends_them(monkeypatch, caplog):
    monkeypatch.setattr(oracle, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(oracle, "SURE_SECONDS", 0.0)
    dag = dag_of(*BRAID)
    swept_answers(dag, *random_pairs(dag, 2_000), sources=64, threads=1)
    assert caplog.text.count("2,000 pairs") == 1
    assert "--oracle-seconds" in caplog.text
    caplog.clear()
    swept_answers(dag, *random_pairs(dag, 2_000), seconds=99, sources=64, threads=1)
    assert not caplog.text


@given(digraphs(), st.randoms(use_true_random=False))
def test_columns_are_those_of_the_naive_closure_in_any_order_and_part(drawn, random):
    n, edges = drawn
    reach, columns = closure(n, edges), oracle.Columns(graph_of(n, edges))
    some = random.sample(range(n), random.randint(1, n)) if n else []
    if some:
        rows = columns.reached(np.array(some, np.int32))
        found = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little", count=len(some))
        place = columns.place.tolist()
        reached = [{some[b] for b in np.flatnonzero(found[p])} if p < len(found) else set() for p in place]
        assert reached == [(reach[u] | {u}) & set(some) for u in range(n)]


# ------------------------------------------------------------------ the plain Python itself


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
