"""The hubs filter: which vertices, which words, and that what it says of a pair is true."""

import numpy as np
from dags import hub_words
from hypothesis import given
from naive import closure
from strategies import dag_of, digraphs

from grailbench.problems.reachability import hubs
from grailbench.problems.reachability.index import FILTERS, NoTimer, Params, implementation


def edges_of(dag):
    return np.repeat(np.arange(dag.vertices), np.diff(dag.offsets)).tolist(), dag.children.tolist()


@given(digraphs())
def test_hubs_are_the_vertices_of_largest_weight_ties_by_lower_id(graph):
    dag = dag_of(*graph)
    sources, targets = edges_of(dag)
    weight = {v: (targets.count(v) + 1) * (sources.count(v) + 1) for v in range(dag.super_root)}
    expected = sorted(weight, key=lambda v: (-weight[v], v))[:64]
    assert hubs.choose(dag).tolist() == expected


@given(digraphs())
def test_words_say_which_hubs_a_vertex_reaches_and_which_reach_it(graph):
    dag = dag_of(*graph)
    reach = closure(dag.vertices, list(zip(*edges_of(dag), strict=True)))
    chosen, words = hubs.choose(dag).tolist(), hub_words(dag).tolist()
    for v in range(dag.vertices):
        assert words[2 * v] == sum(1 << j for j, hub in enumerate(chosen) if hub in reach[v])
        assert words[2 * v + 1] == sum(1 << j for j, hub in enumerate(chosen) if v in reach[hub])


@given(digraphs())
def test_what_hubs_prove_of_a_pair_is_true(graph):
    dag = dag_of(*graph)
    reach = closure(dag.vertices, list(zip(*edges_of(dag), strict=True)))
    words = hub_words(dag)
    for u in range(0, dag.vertices, 1 + dag.vertices // 30):
        for v in range(dag.vertices):
            if hubs.joined(words[2 * u], words[2 * v + 1]):
                assert v in reach[u]
            if hubs.parted(words[2 * u], words[2 * u + 1], words[2 * v], words[2 * v + 1]):
                assert v not in reach[u]


def test_among_up_to_64_vertices_every_one_is_a_hub_so_nothing_is_searched():
    dag = dag_of(40, [(u, v) for u in range(40) for v in (u + 1, 2 * u + 3) if v < 40])
    index = implementation("sequential").build(dag, Params(filters=FILTERS, count=True), NoTimer())
    sources, targets = (ends.astype(np.int32) for ends in np.divmod(np.arange(1600), 40))
    index.query_batch(sources, targets, NoTimer())
    assert index.counters["searches"] == 0
    assert index.counters["accepted_by_hubs"] + index.counters["excluded_by_hubs"] > 0
    assert index.counters["hub_edges_scanned"] <= 2 * dag.edges


def test_a_build_without_the_filter_holds_no_words():
    dag = dag_of(3, [(0, 1), (1, 2)])
    plain, with_hubs = (
        implementation("sequential").build(dag, Params(filters=filters), NoTimer())
        for filters in (("level", "tree"), FILTERS)
    )
    assert plain.hubs is None
    assert with_hubs.index_bytes == plain.index_bytes + 16 * dag.vertices
