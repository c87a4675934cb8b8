"""Computation 2020's CUDA pipeline: labels equal the sequential DFS's element by element, answers are the oracle's."""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from commands import call_apart
from hypothesis import given
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, dags, digraphs
from test_gpu import MANY, SHAPES, SMALLEST, assert_as_sequential, hubs, on_gpu, shapes, some_params

from grailbench.device import gateway
from grailbench.device.frontier import Enterprise, Frontier
from grailbench.device.gateway import cuda
from grailbench.device.schedule import Schedule
from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph.csr import Dag, transpose
from grailbench.reachability.cpu.traverse import shuffle_rows
from grailbench.reachability.gpu import path_pipeline, path_search
from grailbench.reachability.index import NoTimer, Params, implementation

gateway.require()


def labelled(dag, params, shape):
    return path_pipeline.label(dag, params, NoTimer(), shape)


# ------------------------------------------------------------------ labels


@MANY
@given(graph=dags(max_vertices=14), params=some_params, shape=shapes)
def test_labels_are_the_sequential_dfs_element_by_element(graph, params, shape):
    dag = dag_of(*graph)
    assert_as_sequential(labelled(dag, params, shape), dag, params)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["random", "lexicographic"])
def test_labels_hold_where_queues_of_all_sizes_meet_hubs(shape, order):
    dag, params = dag_of(*hubs(22, 6)), Params(dim=3, seed=3, order=order)
    assert_as_sequential(labelled(dag, params, shape), dag, params)


def test_labels_hold_where_weights_of_paths_would_overflow():
    ladder = [(3 * i + a, 3 * i + b) for i in range(66) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    dag, params = dag_of(199, ladder), Params(dim=1)
    assert_as_sequential(labelled(dag, params, SMALLEST), dag, params)


@pytest.mark.parametrize("vertices", [0, 1, 2, 9])
def test_trees_and_the_super_root_alone_are_labelled_for_every_pair(vertices):
    dag, params = dag_of(vertices, [((v - 1) // 2, v) for v in range(1, vertices)]), Params(dim=3)
    assert dag.edges == dag.vertices - 1
    assert_as_sequential(labelled(dag, params, SHAPES[1]), dag, params)


def test_later_pairs_find_no_frontier_of_the_dag_again():
    """Layers that are completely linked: every pair's tree has a level a layer, so both sweeps of it do."""
    dag = dag_of(*hubs(22, 6))
    one, two, three = (labelled(dag, Params(dim=dim), SMALLEST).counts["label_generations"] for dim in (1, 2, 3))
    sweep = dag.depth + 1  # the last frontier is empty
    assert one == 2 * sweep + 2 + 2 * sweep  # down and up the DAG, everyone once, up and down the tree
    assert two - one == three - two == 2 * sweep


def test_several_roots_without_a_super_root_are_refused():
    offsets, children = np.array([0, 1, 2, 2]), np.array([2, 2], np.int32)
    order = np.array([0, 1, 2], np.int32)
    dag = Dag(offsets, children, np.array([0, 0, 1], np.int32), order, order, reverse=transpose(offsets, children))
    with pytest.raises(InputError, match="2 vertices have no parent .*super-root"):
        labelled(dag, Params(dim=1), SMALLEST)


def test_too_little_memory_is_said_with_need_and_free_before_anything_is_allocated(monkeypatch):
    from grailbench.device import describe

    monkeypatch.setattr(describe, "memory", lambda: (1000, 1 << 30))
    monkeypatch.setattr(path_pipeline, "Work", None)
    monkeypatch.setattr(path_pipeline, "device_bytes", lambda *args: 5 << 30)
    with pytest.raises(TooLittleMemory, match=r"3 vertices .* needs 5\.00 GiB .* 0\.00 GiB of 1\.00 GiB are free"):
        labelled(dag_of(2, [(0, 1)]), Params(), SMALLEST)


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_change_no_child_order(threads, monkeypatch):
    from grailbench.reachability.cpu import traverse

    monkeypatch.setattr(traverse, "_SHARE", 20)
    dag = dag_of(*hubs(60, 9))
    one = shuffle_rows(dag.offsets, dag.children, 5, 1)
    assert np.array_equal(one, shuffle_rows(dag.offsets, dag.children, 5, 1, threads))
    assert not np.array_equal(one, dag.children)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_schedule_replays_the_frontiers_of_the_first(shape):
    status = np.array([1, 0, 1, 1, 1, 0, 1, 1], np.uint8)
    cards, frontier = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.int32), Frontier(8, shape)
    schedule, seen = Schedule(frontier, 8), []
    there = cuda.to_device(status)
    for _ in range(2):
        for _ in schedule.levels(there, cuda.to_device(cards)):
            queues = zip(frontier.queues, frontier.sizes, strict=True)
            seen.append([sorted(queue.copy_to_host()[:size].tolist()) for queue, size in queues])
    assert schedule.depth == 1
    assert seen[0] == seen[1]
    assert sorted(sum(seen[0], [])) == np.flatnonzero(status).tolist()


# ------------------------------------------------------------------ search


@MANY
@given(graph=digraphs().filter(lambda g: 0 < g[0] <= 14), dim=st.sampled_from([1, 2]), shape=shapes)
def test_answers_are_the_oracles(graph, dim, shape):
    dag, reach = dag_of(*graph), closure(*graph)
    built = labelled(dag, Params(dim=dim), shape)
    searcher = path_search.PathSearcher(built.graph.children, built.pairs, shape)
    u, v = np.divmod(np.random.default_rng(1).permutation(graph[0] ** 2)[:73], graph[0])
    answers, positives = searcher.search(dag.component[u], dag.component[v])
    other = dag.component[u] != dag.component[v]  # a vertex itself is the pre-check's to find
    expected = [b in reach[a] for a, b in zip(u.tolist(), v.tolist(), strict=True)] & other
    assert answers.tolist() == expected.tolist()
    assert positives == int(answers.sum())


def test_a_query_visits_a_vertex_once_and_stops_when_it_is_answered():
    """Ten diamonds in a row: whoever remembers expands each level once."""
    ladder = [(3 * i + a, 3 * i + b) for i in range(10) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    dag = dag_of(31, [*ladder, (0, 30)])
    built = labelled(dag, Params(dim=1), SMALLEST)
    searcher = path_search.PathSearcher(built.graph.children, built.pairs, SMALLEST)
    for target, levels in ((3, 3), (30, 2)):  # the level after the one that found it finds nobody left to go on
        before = searcher.levels
        answers, _ = searcher.search(np.array([0], np.int32), np.array([target], np.int32))
        assert answers.tolist() == [True]
        assert searcher.levels - before <= levels


def test_batches_larger_than_a_group_are_answered_and_counted():
    dag, size = dag_of(*hubs(18, 5)), 18
    index = implementation("gpu-path").build(dag, Params(dim=1, count=True), NoTimer())
    sources, targets = (ends.astype(np.int32) for ends in np.divmod(np.arange(size * size), size))
    reach = closure(*hubs(18, 5))
    expected = [t in reach[s] for s, t in zip(sources.tolist(), targets.tolist(), strict=True)]
    assert index.query_batch(sources, targets, NoTimer()).tolist() == expected
    counters = index.counters
    assert counters["positives"] + size == sum(expected)
    assert counters["groups"] == -(-counters["queries_on_gpu"] // 64) > 1
    assert index.check_labels(dag) is None


def test_phases_are_the_four_steps():
    from grailbench.bench.timing import PhaseTimer

    timer, dag = PhaseTimer(), dag_of(5, [(0, 1), (1, 2), (0, 3)])
    ids = np.arange(5, dtype=np.int32)
    with timer.phase("label"):
        index = implementation("gpu-path").build(dag, Params(dim=2), timer)
    with timer.phase("query"):
        index.query_batch(ids, ids, timer)
    phases = ["child_order", "dag_to_dt", "sizes", "post_order", "min_post", "overhead"]
    assert sorted(name for under, name in timer.phases if under == "label") == sorted(phases)
    assert [name for under, name in timer.phases if under == "query"] == ["cpu_filter", "gpu_search"]
    assert {name for under, name in timer.phases if under == ""} == {"label", "query", "transfer", "allocate"}


# ------------------------------------------------------------------ the command line, and a GPU


def test_without_a_gpu_one_error_names_extra_and_simulator_and_the_code_is_4(tmp_path):
    code, out, err = call_apart("run", "--dataset", "kegg", "--impl", "gpu-path", GRAILBENCH_CACHE=str(tmp_path))
    assert code == 4, err
    assert out == ""
    assert "grailbench[gpu]" in err
    assert "--simulate" in err


def test_simulated_run_checks_and_records_no_time(diamond):
    words = ["run", "--dataset", diamond, "--impl", "gpu-path", "--dim", "1", "--count", "50", "--simulate", "--json"]
    code, out, err = call_apart(*words)
    assert code == 0, err
    assert '"ms": null' in out


@pytest.mark.parametrize("degree", [50, 100])
@pytest.mark.parametrize("order", ["random", "lexicographic"])
class TestDense:
    pytestmark = on_gpu

    def test_labels_hold_on_dense_random_dags(self, degree, order):
        from grailbench.graph.condense import condense
        from grailbench.graph.generate import random_dag

        dag, params = condense(random_dag(20_000, degree, seed=1)), Params(dim=2, order=order)
        assert_as_sequential(labelled(dag, params, Enterprise()), dag, params)


def test_the_simulator_counts_no_device_memory():
    from grailbench.device import memory

    if gateway.simulated:
        memory.restart()
        assert (memory.held(), memory.peak()) == (None, None)


class TestMemory:
    pytestmark = on_gpu

    def test_an_array_that_does_not_fit_says_its_need_and_what_is_free(self):
        with pytest.raises(TooLittleMemory, match=r"4096\.00 GiB beside .* does not fit .* GiB are free"):
            cuda.device_array(1 << 42, np.uint8)

    def test_what_is_dropped_is_held_until_it_is_released(self):
        from grailbench.device import memory

        memory.restart()
        before = memory.held()
        array = cuda.device_array(1 << 24, np.uint8)
        assert memory.held() == memory.peak() == before + (1 << 24)
        del array
        memory.release()
        assert (memory.held(), memory.peak()) == (before, before + (1 << 24))

    def test_the_high_water_mark_is_the_need_within_a_tenth(self):
        from grailbench.device import memory
        from grailbench.graph.condense import condense
        from grailbench.graph.generate import random_dag

        dag = condense(random_dag(200_000, 20, seed=1))
        memory.restart()
        before = memory.held()
        implementation("gpu-path").build(dag, Params(dim=2), NoTimer())
        need = path_pipeline.device_bytes(dag, 2, Enterprise())
        assert 0.9 * need < memory.peak() - before < 1.1 * need


@pytest.mark.mirror
@pytest.mark.parametrize(("name", "dim", "order"), [("kegg", 1, "random"), ("amaze", 2, "lexicographic")])
def test_the_smallest_real_graphs_are_labelled_and_searched_in_the_simulator_too(mirror, name, dim, order):
    from grailbench.datasets.fetch import fetch
    from grailbench.datasets.library import open_graph
    from grailbench.datasets.registry import registry

    fetch([registry()[name]], mirror=str(mirror), offline=True)
    dag, params = open_graph(name).dag, Params(dim=dim, order=order)
    index = implementation("gpu-path").build(dag, params, NoTimer())
    other = implementation("sequential").build(dag, params, NoTimer())
    assert np.array_equal(index.labels.lanes, other.labels.lanes)
    sources, targets = np.random.default_rng(1).integers(0, dag.vertices - 1, (2, 200)).astype(np.int32)
    answers = index.query_batch(sources, targets, NoTimer())
    assert np.array_equal(answers, other.query_batch(sources, targets, NoTimer()))
    assert 0 < answers.sum() < 200


@pytest.mark.gpu
@pytest.mark.mirror
@pytest.mark.skipif(gateway.simulated, reason="needs a GPU")
@pytest.mark.parametrize("order", ["random", "lexicographic"])
def test_labels_hold_on_every_real_graph(real_graphs, order):
    from grailbench.datasets.library import open_graph

    for name in real_graphs:
        dag = open_graph(name).dag
        for dim in (1, 3):
            params = Params(dim=dim, order=order)
            assert_as_sequential(labelled(dag, params, Enterprise()), dag, params)
