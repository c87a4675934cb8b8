"""`gpu-fused`: labels are the twin's element by element, words of hubs those of the CPU, answers the oracle's.

In the simulator blocks are tiny; on a GPU the same tests run with real blocks, on the real graphs too.
"""

from importlib import import_module

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from dags import hub_words
from fused_twin import records
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, digraphs

from grailbench.cuda import gateway, graphs, several
from grailbench.cuda.launch import Shape, as_numba
from grailbench.errors import InputError
from grailbench.graph.csr import Dag
from grailbench.graph.leveled import by_level
from grailbench.problems.reachability import hubs
from grailbench.problems.reachability.gpu.fused import columns, grid, small
from grailbench.problems.reachability.gpu.fused.host import record_width, salts
from grailbench.problems.reachability.gpu.fused.hubs import choosing
from grailbench.problems.reachability.gpu.fused.replicas import Labeler, device_bytes
from grailbench.problems.reachability.index import NoTimer, Params, implementation

gateway.require()
MANY = settings(max_examples=7 if gateway.simulated else 150)
SHAPES = [Shape(1, 1), Shape(1, 4)] if gateway.simulated else [None, Shape(1, 512), Shape(3, 64)]


def labelled(dag, dim, seed, **how):
    graph = by_level(dag)
    labeler = Labeler(graphs.Outline.of(graph), graphs.upload_leveled(graph, graph.parents()), dim, seed, **how)
    labeler.run()
    found = labeler.records
    lanes = found.lanes.copy_to_host().reshape(dag.vertices, int(found.width))
    return graph, lanes, found.hubs.copy_to_host()


@MANY
@given(
    graph=digraphs(),
    dim=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 2**64 - 1),
    how=st.one_of(
        st.sampled_from([{"way": small}, {"way": columns}]),
        st.fixed_dictionaries(
            {"way": st.just(grid), "shape": st.sampled_from(SHAPES), "narrow": st.sampled_from([0, 3, 2048])}
        ),
    ),
)
def test_labels_are_the_twins_and_words_those_of_the_cpu(graph, dim, seed, how):
    assert_as_the_twin(dag_of(*graph), dim, seed, how)


@pytest.mark.parametrize("how", [{"way": small}, {"way": columns}, {"way": grid}])
def test_long_rows_are_ordered_tile_by_tile(how):
    children = 2100
    edges = [(0, v) for v in range(1, children)] + [(1, children), (children - 1, children)]
    assert_as_the_twin(dag_of(children + 1, edges), 1, 5, how)


@pytest.mark.parametrize("how", [{"way": small}, {"way": columns}, {"way": grid, "narrow": 0}, {"way": grid}])
@pytest.mark.parametrize("vertices", [0, 1, 300])
def test_no_vertex_one_and_a_chain(vertices, how):
    assert_as_the_twin(dag_of(vertices, [(v, v + 1) for v in range(vertices - 1)]), 2, 3, how)


@pytest.mark.skipif(not gateway.simulated, reason="counts in the simulator")
@pytest.mark.parametrize("narrow", [0, 3, 2048])
@pytest.mark.parametrize("vertices", [0, 10])
def test_barriers_are_counted_as_they_are(vertices, narrow, monkeypatch):
    met, simulator = [], gateway.cuda.jit.__module__.rpartition(".")[0]
    group = import_module(f"{simulator}.kernelapi").GridGroup
    sync = group.sync
    monkeypatch.setattr(group, "sync", lambda self: met.append(sync(self)))
    graph = by_level(dag_of(vertices, [(u, v) for u in range(vertices) for v in (u + 1, u + 2) if v < vertices]))
    device = graphs.upload_leveled(graph, graph.parents())
    labeler = Labeler(graphs.Outline.of(graph), device, 1, 1, way=grid, shape=Shape(1, 1), narrow=narrow)
    labeler.run()
    of_all = len(met)
    met.clear()
    choosing(device)[0].launch()
    assert labeler.work["label_barriers"] == of_all - len(met) > 0


@pytest.mark.parametrize("dim", [1, 8])
def test_the_need_for_memory_covers_what_is_held_at_once(dim):
    n = 10**9
    need = device_bytes(n, 0, 1, dim) - graphs.leveled_bytes(n, 0, 1)
    assert 0 < need - (4 * record_width(dim) + 16 + 24 * dim) * n < 2**30


@pytest.mark.parametrize("lane", [3, 4])
def test_a_subtree_that_is_none_is_found(lane):
    dag = dag_of(6, [(0, 1), (0, 2), (0, 3), (3, 4), (3, 5)])
    index = implementation("gpu-fused").build(dag, Params(dim=1), NoTimer())
    on_device = as_numba(index.records[0].lanes)
    lanes, _ = index.fetch()
    ranks = -lanes[:, 4]
    leaves = lanes[:, 3] == ranks
    if lane == 3:  # a leaf claims the vertex before it
        wrong = np.flatnonzero(leaves & (ranks > 1))[0]
        lanes[wrong, [0, 3]] -= 1
        lanes[:4, 0] = 1  # and all above contain it
    else:  # two leaves of different parents change places
        one, other = (np.flatnonzero(leaves & (lanes[:, 2] == level))[0] for level in (2, 3))
        lanes[[one, other], 3:5] = lanes[[other, one], 3:5]
        lanes[:, 0], lanes[:, 1] = 1, -dag.vertices
    on_device.copy_to_device(lanes.ravel())
    assert "is no subtree of a tree of edges" in index.check_labels(dag)


def assert_as_the_twin(dag, dim, seed, how):
    leveled_dag, lanes, words = labelled(dag, dim, seed, **how)
    expected = records(leveled_dag, salts(seed, range(dim)), dim, lanes.shape[1])
    assert np.array_equal(lanes, expected)
    assert np.array_equal(words.reshape(-1, 2), hub_words(dag).reshape(-1, 2)[leveled_dag.vertex])


@MANY
@given(graph=digraphs(), most=st.integers(1, 5), threads=st.sampled_from([1, 4]))
def test_hubs_are_those_of_the_cpu(graph, most, threads):
    dag = dag_of(*graph)
    numbered = by_level(dag)
    shape = Shape(1, threads if gateway.simulated else 32 * threads)
    choose, chosen = choosing(graphs.upload_leveled(numbered, numbered.parents()), shape, most, most)
    choose.launch()
    expected = np.full(64, -1)
    first = numbered.rank[hubs.choose(dag)][:most]
    expected[: first.size] = first
    assert np.array_equal(chosen.copy_to_host(), expected)


@MANY
@given(graph=digraphs().filter(lambda g: g[0] <= 40), dim=st.sampled_from([1, 2, 5]), seed=st.integers(0, 99))
def test_answers_are_the_oracles_and_the_super_root_reaches_all(graph, dim, seed):
    dag, reach = dag_of(*graph), closure(*graph)
    index = implementation("gpu-fused").build(dag, Params(dim=dim, seed=seed), NoTimer())
    assert index.check_labels(dag) is None
    u, v = np.divmod(np.random.default_rng(seed).permutation(graph[0] ** 2)[:200], max(graph[0], 1))
    found = index.query_batch(dag.component[u], dag.component[v], NoTimer())
    assert found.tolist() == [b in reach[a] for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    everything = np.arange(dag.vertices, dtype=np.int32)
    root = np.full(dag.vertices, dag.super_root, np.int32)
    assert index.query_batch(root, everything, NoTimer()).all()
    assert index.query_batch(everything, root, NoTimer()).tolist() == [False] * dag.super_root + [True]


def test_the_index_checks_its_labels_and_answers():
    vertices, edges = 30, [(u, v) for u in range(30) for v in range(u + 1, min(u + 4, 30))]
    dag = dag_of(vertices, edges)
    index = implementation("gpu-fused").build(dag, Params(count=True), NoTimer())
    assert index.check_labels(dag) is None
    u, v = (ends.ravel().astype(np.int32) for ends in np.indices((10, vertices)))
    assert np.array_equal(index.query_batch(u, v, NoTimer()), u <= v)
    assert index.counters["queries"] == 300
    on_device = as_numba(index.records[0].lanes)
    for lane, wrong in ((0, 0), (2 * 2, dag.depth - 2)):  # the last reaches rank 0, or is on the level of its parent
        lanes, _ = index.fetch()
        right, lanes[-1, lane] = lanes[-1, lane], wrong
        on_device.copy_to_device(lanes.ravel())
        assert "do not contain" in index.check_labels(dag)
        lanes[-1, lane] = right
        on_device.copy_to_device(lanes.ravel())


def test_a_dag_of_two_roots_is_refused():
    dag = dag_of(2, [])
    torn = Dag(dag.offsets[:-1], dag.children[:0], np.zeros(2, np.int32), np.arange(2, dtype=np.int32), dag.component)
    with pytest.raises(InputError, match="2 vertices have no parent"):
        implementation("gpu-fused").build(torn, Params(), NoTimer())


@pytest.mark.gpu
@pytest.mark.mirror
@pytest.mark.skipif(gateway.simulated, reason="needs a GPU")
def test_real_graphs_are_labelled_soundly_and_alike_by_all_kernels(real_graphs):
    from grailbench.data.library import open_graph

    for name in real_graphs:
        dag = open_graph(name).dag
        index = implementation("gpu-fused").build(dag, Params(dim=2), NoTimer())
        assert index.check_labels(dag) is None, name
        for way in [grid, columns] if dag.vertices <= columns.most_vertices() else [grid]:
            numbered, lanes, words = labelled(dag, 2, 1, way=way)
            for one, other in zip((lanes, words), index.fetch(), strict=True):
                assert np.array_equal(one, other), (name, way)
        assert np.array_equal(words.reshape(-1, 2), hub_words(dag).reshape(-1, 2)[numbered.vertex]), name


@pytest.mark.gpu
@pytest.mark.skipif(gateway.simulated, reason="needs a GPU")
@pytest.mark.parametrize("n", [2_700, 2_900, 3_000, 3_071, 3_072, 3_073, 11_800, 12_287, 12_288, 12_289])
def test_labels_of_a_graph_that_takes_about_48_kib_of_shared_memory(n):
    """A block may take 48 KiB without leave, its static memory and the graph's, 16 or 4 bytes a vertex, together."""
    dag = dag_of(n, [(u, v) for u in range(n) for v in (u + 1, 2 * u + 1) if u < v < n])
    assert implementation("gpu-fused").build(dag, Params(dim=2), NoTimer()).check_labels(dag) is None


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_several_gpus_label_and_answer_as_one(devices):
    if several.count() < devices:
        pytest.skip(f"needs {devices} GPUs")
    dag = dag_of(40, [(u, v) for u in range(40) for v in (u + 1, u + 3, 2 * u + 1) if u < v < 40])
    one, many = (implementation("gpu-fused").build(dag, Params(dim=2, devices=n), NoTimer()) for n in (1, devices))
    assert len(many.records) == devices
    for device in range(devices):
        for expected, found in zip(one.fetch(), many.fetch(device), strict=True):
            assert np.array_equal(expected, found)
    u, v = (ends.ravel().astype(np.int32) for ends in np.indices((9, 40)))
    for k in (360, 7, 1, 0):
        assert np.array_equal(one.query_batch(u[:k], v[:k], NoTimer()), many.query_batch(u[:k], v[:k], NoTimer()))
