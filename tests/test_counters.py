"""The counters count what the algorithms do, and counting changes no answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import dag_of, digraphs

from grailbench.problems.reachability.counters import NAMES
from grailbench.problems.reachability.index import FILTERS, NoTimer, Params, implementation


def counted(name, dag, sources, targets, **params):
    index = implementation(name).build(dag, Params(count=True, **params), NoTimer())
    answers = index.query_batch(np.array(sources, np.int32), np.array(targets, np.int32), NoTimer())
    return index.counters, answers


def all_pairs(dag):
    ids = np.arange(dag.vertices, dtype=np.int32)
    return np.repeat(ids, dag.vertices), np.tile(ids, dag.vertices)


@pytest.mark.slow
@pytest.mark.parametrize("filters", [(), FILTERS])
@pytest.mark.parametrize("name", ["sequential", "parallel", "dfs", "bfs"])
@given(graph=digraphs())
def test_counting_changes_no_answer(name, filters, graph):
    dag = dag_of(*graph)
    sources, targets = all_pairs(dag)
    plain = implementation(name).build(dag, Params(filters=filters), NoTimer())
    assert plain.query_batch(sources, targets, NoTimer()).tolist() == (
        counted(name, dag, sources, targets, filters=filters)[1].tolist()
    )
    assert plain.counters == {}


@given(graph=digraphs(), dim=st.integers(1, 3))
def test_labeling_scans_every_edge_once_a_pair_and_every_query_is_decided_once(graph, dim):
    dag = dag_of(*graph)
    sources, targets = all_pairs(dag)
    found, _ = counted("sequential", dag, sources, targets, filters=FILTERS, dim=dim)
    assert found["label_edges_scanned"] == dim * dag.edges
    assert set(NAMES) <= set(found)
    assert found["queries"] == len(sources)
    decided = ("excluded_by_level", "excluded_by_labels", "accepted_by_tree", "excluded_by_hubs")
    decided += ("accepted_by_hubs", "searches")
    assert sum(found[name] for name in decided) == len(sources) == found["levels_compared"]


@given(graph=digraphs(), threads=st.integers(2, 4))
def test_counters_do_not_depend_on_threads(graph, threads):
    dag = dag_of(*graph)
    sources, targets = all_pairs(dag)
    alone, _ = counted("sequential", dag, sources, targets)
    many, _ = counted("parallel", dag, sources, targets, threads=threads)
    assert alone == many


def test_a_search_is_counted_vertex_by_vertex_and_from_both_ends_goes_on_where_less_is_to_be_expanded():
    dag = dag_of(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    found, answers = counted("dfs", dag, [0, 4], [4, 0])
    assert answers.tolist() == [True, False]
    assert (found["searches"], found["vertices_expanded"], found["edges_scanned"]) == (2, 4 + 1, 4)
    dag = dag_of(11, [*((0, v) for v in range(1, 9)), *((v, 9) for v in range(1, 9)), (9, 10)])
    found, answers = counted("sequential", dag, [0], [10], search="bbfs", order="lexicographic", dim=1)
    assert answers.tolist() == [True]  # 8 children of 0 wait, so the only parent of 10 is next, and finds one of them
    assert (found["searches"], found["vertices_expanded"], found["edges_scanned"]) == (1, 3, 8 + 1 + 1)


def test_traffic_follows_from_the_counts():
    dag = dag_of(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    found, _ = counted("sequential", dag, [0, 4], [4, 0], dim=2)
    # 0 -> 4: one filter test, then a search that scans 4 edges; 4 -> 0: one filter test, which excludes it
    assert (found["labels_tested"], found["edges_scanned"], found["excluded_by_labels"]) == (6, 4, 1)
    assert found["query_gathers"] == 2 * 2 + 4
    assert found["query_bytes_read"] == 8 * 2 + 28 * 8 + 4 * 4 + 16 * 4
    assert found["label_bytes_read"] == 2 * (12 * dag.edges + 16 * 5)  # a leaf is not expanded
    assert found["label_bytes_streamed"] == 2 * found["label_pass_bytes"] == 2 * (4 * dag.edges + 16 * 5)
    assert found["gather_table_bytes"] == 6 * 32
