"""Both CUDA pipelines, the thesis's and that of Computation 2020: labels equal the sequential DFS's element by element,
answers are the oracle's, and what the machine lacks is said."""

import numpy as np
import pytest
from commands import call_apart
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import closure
from pipelines import MANY, SHAPES, SMALLEST, assert_as_sequential, hubs, on_gpu, shapes, some_params
from strategies import dag_of, dags, digraphs

from grailbench.cuda import describe, gateway
from grailbench.cuda.frontier import Enterprise
from grailbench.errors import InputError, MachineLacks, TooLittleMemory
from grailbench.graph.csr import Dag, transpose
from grailbench.problems.reachability.gpu import index as gpu_index
from grailbench.problems.reachability.gpu import pipeline, search
from grailbench.problems.reachability.index import NoTimer, Params, implementation

METHODS = {"gpu": pipeline.label, "gpu-path": pipeline.label_by_paths}
both = pytest.mark.parametrize("method", METHODS)
SEARCHES = {  # by implementation: who labels, what searches its graph and labels, queries in a group
    "gpu": ("gpu", lambda *made: search.Searcher(*made, 64), 64),
    "gpu-32": ("gpu", lambda *made: search.Searcher(*made, 32), 32),
    "gpu-path": ("gpu-path", search.PathSearcher, 64),
}
PHASES = {
    "gpu": {"subsizes_dag", "parent_sssp", "edges_rc", "subsizes_dt", "post_order", "min_post", "overhead"},
    "gpu-path": {"child_order", "dag_to_dt", "sizes", "post_order", "min_post", "overhead"},
}


def labelled(method, dag, params, shape):
    return METHODS[method](dag, params, NoTimer(), shape)


# ------------------------------------------------------------------ labels


@both
@MANY
@given(graph=dags(max_vertices=14), params=some_params, shape=shapes)
def test_labels_are_the_sequential_dfs_element_by_element(method, graph, params, shape):
    dag = dag_of(*graph)
    built = labelled(method, dag, params, shape)
    assert_as_sequential(built, dag, params)
    assert built.counts.get("settled_comparisons", 0) == 0  # of the thesis's alone


@both
def test_several_roots_without_a_super_root_are_refused(method):
    offsets, children = np.array([0, 1, 2, 2]), np.array([2, 2], np.int32)
    order = np.array([0, 1, 2], np.int32)
    dag = Dag(offsets, children, np.array([0, 0, 1], np.int32), order, order, reverse=transpose(offsets, children))
    with pytest.raises(InputError, match="2 vertices have no parent .*super-root"):
        labelled(method, dag, Params(dim=1), SMALLEST)


@both
def test_too_little_memory_is_said_with_need_and_free_before_anything_is_allocated(method, monkeypatch):
    monkeypatch.setattr(describe, "memory", lambda: (1000, 1 << 30))
    for name in ("Work", "PathWork"):
        monkeypatch.setattr(pipeline, name, None)
    for name in ("device_bytes", "path_device_bytes"):
        monkeypatch.setattr(pipeline, name, lambda *args: 5 << 30)
    with pytest.raises(TooLittleMemory, match=r"3 vertices .* needs 5\.00 GiB .* 0\.00 GiB of 1\.00 GiB are free"):
        labelled(method, dag_of(2, [(0, 1)]), Params(), SMALLEST)


@both
@pytest.mark.parametrize("vertices", [0, 1, 2, 9])
def test_trees_and_the_super_root_alone_are_labelled_for_every_pair(method, vertices):
    dag, params = dag_of(vertices, [((v - 1) // 2, v) for v in range(1, vertices)]), Params(dim=3)
    assert dag.edges == dag.vertices - 1
    assert_as_sequential(labelled(method, dag, params, SHAPES[1]), dag, params)


@both
def test_phases_are_the_columns_of_its_paper(method):
    from grailbench.harness.timing import PhaseTimer

    timer, dag = PhaseTimer(), dag_of(5, [(0, 1), (1, 2), (0, 3)])
    ids = np.arange(5, dtype=np.int32)
    with timer.phase("label"):
        index = implementation(method).build(dag, Params(dim=2), timer)
    with timer.phase("query"):
        index.query_batch(ids, ids, timer)
    assert {name for under, name in timer.phases if under == "label"} == PHASES[method]
    assert [name for under, name in timer.phases if under == "query"] == ["cpu_filter", "gpu_search"]
    assert {name for under, name in timer.phases if under == ""} == {"label", "query", "transfer", "allocate"}
    parts = sum(ms for (under, _), ms in timer.phases.items() if under == "label")
    assert parts == pytest.approx(timer.phases["", "label"])


# ------------------------------------------------------------------ search


@pytest.mark.parametrize("name", SEARCHES)
@settings(max_examples=4 if gateway.simulated else 150)
@given(graph=digraphs().filter(lambda g: 0 < g[0] <= 14), dim=st.sampled_from([1, 2]), shape=shapes)
def test_answers_are_the_oracles(name, graph, dim, shape):
    method, searcher_of, group = SEARCHES[name]
    dag, reach = dag_of(*graph), closure(*graph)
    built = labelled(method, dag, Params(dim=dim), shape)
    searcher = searcher_of(built.graph.children, built.pairs, shape)
    u, v = np.divmod(np.random.default_rng(1).permutation(graph[0] ** 2)[: group + 9], graph[0])
    answers, positives = searcher.search(dag.component[u], dag.component[v])
    other = dag.component[u] != dag.component[v]  # a vertex itself is the CPU filter's to find
    expected = [b in reach[a] for a, b in zip(u.tolist(), v.tolist(), strict=True)] & other
    assert answers.tolist() == expected.tolist()
    assert positives == int(answers.sum())


@pytest.mark.parametrize("name", SEARCHES)
def test_batches_larger_than_a_group_are_answered_and_counted(name):
    dag, size = dag_of(*hubs(18, 5)), 18
    index = implementation(name).build(dag, Params(dim=1, count=True), NoTimer())
    sources, targets = (ends.astype(np.int32) for ends in np.divmod(np.arange(size * size), size))
    reach = closure(*hubs(18, 5))
    expected = [t in reach[s] for s, t in zip(sources.tolist(), targets.tolist(), strict=True)]
    assert index.query_batch(sources, targets, NoTimer()).tolist() == expected
    counters = index.counters
    assert counters["queries"] == size * size
    assert counters["positives"] + size == sum(expected)  # what reaches itself needs no search
    assert counters["groups"] == -(-counters["queries_on_gpu"] // SEARCHES[name][2]) > 1
    assert index.check_labels(dag) is None
    assert index.query_batch(sources[:0], targets[:0], NoTimer()).tolist() == []


def test_more_queries_than_their_places_can_represent_are_refused(monkeypatch):
    index = implementation("gpu").build(dag_of(3, [(0, 1), (1, 2)]), Params(dim=1), NoTimer())
    monkeypatch.setattr(gpu_index, "MOST_QUERIES", 4)
    ids = np.zeros(5, np.int32)
    with pytest.raises(MachineLacks, match="up to 4 queries at once, not 5 .*--count"):
        index.query_batch(ids, ids, NoTimer())
    assert index.query_batch(ids[:4], ids[:4], NoTimer()).all()


# ------------------------------------------------------------------ the command line


@pytest.mark.parametrize(("command", "impl"), [("verify", "gpu"), ("run", "gpu-path")])
def test_without_a_gpu_one_error_names_extra_and_simulator_and_the_code_is_4(command, impl, tmp_path):
    words = ["--dataset", "kegg", "--impl", impl, "--dim", "2"]
    code, out, err = call_apart(command, *words, GRAILBENCH_CACHE=str(tmp_path))
    assert code == 4, err
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert "grailbench[gpu]" in err
    assert "--simulate" in err
    assert list(tmp_path.iterdir()) == []  # nothing was fetched, nothing was begun


def test_simulated_run_checks_and_records_no_time(diamond):
    words = ["run", "--dataset", diamond, "--impl", "gpu-path", "--dim", "1", "--count", "50", "--simulate", "--json"]
    code, out, err = call_apart(*words)
    assert code == 0, err
    assert '"ms": null' in out
    assert '"phase": null' in out


# ------------------------------------------------------------------ on a GPU


@both
@pytest.mark.parametrize("degree", [50, 100])
@pytest.mark.parametrize("order", ["random", "lexicographic"])
class TestDense:
    pytestmark = on_gpu

    def test_labels_hold_on_dense_random_dags(self, method, degree, order):
        from grailbench.graph.condense import condense
        from grailbench.graph.generate import random_dag

        dag, params = condense(random_dag(20_000, degree, seed=1)), Params(dim=2, order=order)
        built = labelled(method, dag, params, Enterprise())
        assert_as_sequential(built, dag, params)
        assert built.counts.get("saturated_pairs", 2) == 2  # of the thesis's alone


@pytest.mark.gpu
@pytest.mark.mirror
@pytest.mark.skipif(gateway.simulated, reason="needs a GPU")
@both
@pytest.mark.parametrize("order", ["random", "lexicographic"])
def test_labels_hold_on_every_real_graph(method, real_graphs, order):
    from grailbench.data.library import open_graph

    for name in real_graphs:
        dag = open_graph(name).dag
        for dim in (1, 2, 3):
            params = Params(dim=dim, order=order)
            assert_as_sequential(labelled(method, dag, params, Enterprise()), dag, params)
