"""What is the CUDA pipeline of Computation 2020's alone: trees and schedules, its search, its phases and memory."""

import numpy as np
import pytest
from pipelines import SHAPES, SMALLEST, assert_as_sequential, hubs, on_gpu
from strategies import dag_of

from grailbench.cuda import gateway
from grailbench.cuda.frontier import Enterprise, Frontier, Schedule
from grailbench.cuda.gateway import cuda
from grailbench.errors import TooLittleMemory
from grailbench.problems.reachability.cpu.traverse import shuffle_rows
from grailbench.problems.reachability.gpu import pipeline, search
from grailbench.problems.reachability.index import NoTimer, Params, implementation


def labelled(dag, params, shape):
    return pipeline.label_by_paths(dag, params, NoTimer(), shape)


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("order", ["random", "lexicographic"])
def test_labels_hold_where_queues_of_all_sizes_meet_hubs(shape, order):
    dag, params = dag_of(*hubs(22, 6)), Params(dim=3, seed=3, order=order)
    assert_as_sequential(labelled(dag, params, shape), dag, params)


def test_later_pairs_find_no_frontier_of_the_dag_again():
    """Layers that are completely linked: every pair's tree has a level a layer, so both sweeps of it do."""
    dag = dag_of(*hubs(22, 6))
    one, two, three = (labelled(dag, Params(dim=dim), SMALLEST).counts["label_generations"] for dim in (1, 2, 3))
    sweep = dag.depth + 1  # the last frontier is empty
    assert one == 2 * sweep + 2 + 2 * sweep  # down and up the DAG, everyone once, up and down the tree
    assert two - one == three - two == 2 * sweep


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_change_no_child_order(threads, monkeypatch):
    from grailbench.problems.reachability.cpu import traverse

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


def test_a_query_visits_a_vertex_once_and_stops_when_it_is_answered():
    """Ten diamonds in a row: whoever remembers expands each level once."""
    ladder = [(3 * i + a, 3 * i + b) for i in range(10) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))]
    dag = dag_of(31, [*ladder, (0, 30)])
    built = labelled(dag, Params(dim=1), SMALLEST)
    searcher = search.PathSearcher(built.graph.children, built.pairs, SMALLEST)
    for target, levels in ((3, 3), (30, 2)):  # the level after the one that found it finds nobody left to go on
        before = searcher.levels
        answers, _ = searcher.search(np.array([0], np.int32), np.array([target], np.int32))
        assert answers.tolist() == [True]
        assert searcher.levels - before <= levels


# ------------------------------------------------------------------ memory, and real graphs


def test_the_simulator_counts_no_device_memory():
    from grailbench.cuda import allocator

    if gateway.simulated:
        allocator.restart()
        assert (allocator.held(), allocator.peak()) == (None, None)


class TestMemory:
    pytestmark = on_gpu

    def test_an_array_that_does_not_fit_says_its_need_and_what_is_free(self):
        with pytest.raises(TooLittleMemory, match=r"4096\.00 GiB beside .* does not fit .* GiB are free"):
            cuda.device_array(1 << 42, np.uint8)

    def test_what_is_dropped_is_held_until_it_is_released(self):
        from grailbench.cuda import allocator

        allocator.restart()
        before = allocator.held()
        array = cuda.device_array(1 << 24, np.uint8)
        assert allocator.held() == allocator.peak() == before + (1 << 24)
        del array
        allocator.release()
        assert (allocator.held(), allocator.peak()) == (before, before + (1 << 24))

    def test_the_high_water_mark_is_the_need_within_a_tenth(self):
        from grailbench.cuda import allocator
        from grailbench.graph.condense import condense
        from grailbench.graph.generate import random_dag

        dag = condense(random_dag(200_000, 20, seed=1))
        allocator.restart()
        before = allocator.held()
        implementation("gpu-path").build(dag, Params(dim=2), NoTimer())
        need = pipeline.path_device_bytes(dag, 2, Enterprise())
        assert 0.9 * need < allocator.peak() - before < 1.1 * need


@pytest.mark.mirror
def test_a_small_real_graph_is_labelled_and_searched_in_the_simulator_too(mirror):
    from grailbench.data.fetch import fetch
    from grailbench.data.library import open_graph
    from grailbench.data.registry import registry

    fetch([registry()["kegg"]], mirror=str(mirror), offline=True)
    dag, params = open_graph("kegg").dag, Params(dim=1, order="lexicographic")
    index = implementation("gpu-path").build(dag, params, NoTimer())
    other = implementation("sequential").build(dag, params, NoTimer())
    assert np.array_equal(index.labels.lanes, other.labels.lanes)
    sources, targets = np.random.default_rng(1).integers(0, dag.vertices - 1, (2, 200)).astype(np.int32)
    answers = index.query_batch(sources, targets, NoTimer())
    assert np.array_equal(answers, other.query_batch(sources, targets, NoTimer()))
    assert 0 < answers.sum() < 200
