"""Labelings against the recursion of algorithm 1, and the predicates that kernels share."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import grail_labels
from strategies import dag_of, digraphs

from grailbench.problems.reachability import labels as lanes
from grailbench.problems.reachability.cpu.grail import Sequential
from grailbench.problems.reachability.cpu.traverse import shuffle_rows
from grailbench.problems.reachability.index import NoTimer, Params

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


def test_every_order_of_a_row_is_about_as_frequent():
    dag = dag_of(4, [(0, 1), (0, 2), (0, 3)])
    seen = {}
    for seed in range(600):
        row = tuple(shuffle_rows(dag.offsets, dag.children, seed, 1)[:3].tolist())
        seen[row] = seen.get(row, 0) + 1
    assert len(seen) == 6
    assert min(seen.values()) > 60


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
