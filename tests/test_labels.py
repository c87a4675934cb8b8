"""Labelings against the recursion of algorithm 1; which vertices are hubs, and their words."""

import re

import numpy as np
import pytest
from dags import hub_words
from hypothesis import given
from hypothesis import strategies as st
from naive import closure, grail_labels
from strategies import dag_of, digraphs

from grailbench.problems.reachability import hubs
from grailbench.problems.reachability import labels as lanes
from grailbench.problems.reachability.cpu.grail import Sequential
from grailbench.problems.reachability.cpu.traverse import shuffle_rows
from grailbench.problems.reachability.index import FILTERS, NoTimer, Params, implementation

ORDERS = ("lexicographic", "random")


def visiting_order(dag, params, pair):
    """Children of each vertex as traversal `pair` visits them."""
    rows = dag.children
    if params.order == "random" or pair > 1:
        rows = shuffle_rows(dag.offsets, rows, params.seed, pair)
    step = -1 if params.order == "lexicographic" and pair == 1 else 1
    return {u: rows[dag.offsets[u] : dag.offsets[u + 1]].tolist()[::step] for u in range(dag.vertices)}


@pytest.mark.parametrize("order", ORDERS)
@given(graph=digraphs(), dim=st.integers(1, 5), seed=st.integers(0, 3))
def test_labels_are_those_of_the_recursion_with_the_same_child_order(order, graph, dim, seed):
    dag, params = dag_of(*graph), Params(dim=dim, order=order, seed=seed, filters=("level", "tree"))
    index = Sequential.build(dag, params, NoTimer())
    starts, ends = lanes.columns(index.labels)
    records = index.labels.lanes.reshape(dag.vertices, -1)
    for pair in range(dim):
        expected = grail_labels(visiting_order(dag, params, pair), dag.super_root)
        found = {v: (starts[pair, v], ends[pair, v], records[v, 2 * dim + 1 + pair]) for v in range(dag.vertices)}
        assert found == expected
    assert records[:, 2 * dim].tolist() == dag.levels.tolist()
    assert index.check_labels(dag) is None


@given(graph=digraphs(), seed=st.integers(0, 9))
def test_shuffled_rows_hold_the_same_children(graph, seed):
    dag = dag_of(*graph)
    shuffled = shuffle_rows(dag.offsets, dag.children, seed, 0)
    for u in range(dag.vertices):
        row = slice(dag.offsets[u], dag.offsets[u + 1])
        assert sorted(shuffled[row].tolist()) == dag.children[row].tolist()


@pytest.mark.parametrize(
    ("vertex", "lane", "value", "complaint"),
    [
        (1, 0, 2, "edge 1 -> 2: .*pair 0, start"),
        (2, 1, -4, "edge 1 -> 2: .*pair 0, end"),
        (2, 2, 0, "edge 1 -> 2: .*level"),
        (2, 1, 0, "pair 0: the ends are no permutation"),
    ],
)
def test_a_planted_fault_in_the_labels_is_named(vertex, lane, value, complaint):
    chain = dag_of(3, [(0, 1), (1, 2)])
    index = Sequential.build(chain, Params(dim=1, filters=("level",)), NoTimer())
    index.labels.lanes.reshape(chain.vertices, -1)[vertex, lane] = value
    assert re.match(complaint, index.check_labels(chain))


def test_a_filter_that_is_off_is_neutral_data():
    dag = dag_of(4, [(0, 1), (1, 2), (0, 3)])
    records = Sequential.build(dag, Params(dim=2), NoTimer()).labels.lanes.reshape(dag.vertices, -1)
    assert np.all(records[:, 4] == 0)
    assert np.all(records[:, 5:7] == lanes.NEVER)


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


def test_among_up_to_64_vertices_every_one_is_a_hub_so_nothing_is_searched():
    dag = dag_of(40, [(u, v) for u in range(40) for v in (u + 1, 2 * u + 3) if v < 40])
    index = implementation("sequential").build(dag, Params(filters=FILTERS, count=True), NoTimer())
    sources, targets = (ends.astype(np.int32) for ends in np.divmod(np.arange(1600), 40))
    index.query_batch(sources, targets, NoTimer())
    assert index.counters["searches"] == 0
    assert index.counters["accepted_by_hubs"] + index.counters["excluded_by_hubs"] > 0
    assert index.counters["hub_edges_scanned"] <= 2 * dag.edges
    plain = implementation("sequential").build(dag, Params(filters=("level", "tree")), NoTimer())
    assert plain.hubs is None
    assert index.index_bytes == plain.index_bytes + 16 * dag.vertices
