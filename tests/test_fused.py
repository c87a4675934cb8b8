"""`gpu-fused`: labels are the twin's element by element, words of hubs those of the CPU, answers the oracle's.

In the simulator blocks are tiny; on a GPU the same tests run with real blocks, on the real graphs too.
"""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from fused_twin import records, sibling_order
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dag_of, digraphs

from grailbench.device import gateway, leveled
from grailbench.device.launch import Shape
from grailbench.errors import InputError
from grailbench.graph.csr import Dag
from grailbench.graph.leveled import by_level
from grailbench.reachability import hubs
from grailbench.reachability.gpu import fused_hubs, fused_labels
from grailbench.reachability.index import NoTimer, Params, implementation

gateway.require()
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(gateway.simulated, reason="needs a GPU")]
MANY = settings(max_examples=12 if gateway.simulated else 150)
SHAPES = [Shape(1, 1), Shape(1, 4)] if gateway.simulated else [None, Shape(1, 512), Shape(3, 64)]


def labelled(dag, dim, seed, **how):
    graph = by_level(dag)
    labeler = fused_labels.Labeler(graph, leveled.upload(graph, graph.parents()), dim, seed, **how)
    labels = labeler.run()
    lanes = labels.lanes.copy_to_host().reshape(dag.vertices, labels.width)
    return graph, lanes, labels.hubs.copy_to_host().view(np.uint64)


@MANY
@given(
    graph=digraphs(),
    dim=st.sampled_from([1, 2, 3]),
    seed=st.integers(0, 2**64 - 1),
    how=st.one_of(
        st.just({"small": True}),
        st.fixed_dictionaries(
            {"small": st.just(False), "shape": st.sampled_from(SHAPES), "narrow": st.sampled_from([0, 3, 2048])}
        ),
    ),
)
def test_labels_are_the_twins_and_words_those_of_the_cpu(graph, dim, seed, how):
    assert_as_the_twin(dag_of(*graph), dim, seed, how)


@pytest.mark.parametrize("how", [{"small": True}, {"small": False}])
def test_long_rows_are_ordered_tile_by_tile(how):
    children = 2100
    edges = [(0, v) for v in range(1, children)] + [(1, children), (children - 1, children)]
    assert_as_the_twin(dag_of(children + 1, edges), 1, 5, how)


@pytest.mark.parametrize("length", [1, 2, 3, 2047, 2048, 2049, 5000])
def test_a_sibling_order_is_a_permutation(length):
    for h in (0, 12345, 2**32 - 1):
        assert np.array_equal(np.sort(sibling_order(length, h)), np.arange(length))


def assert_as_the_twin(dag, dim, seed, how):
    leveled_dag, lanes, words = labelled(dag, dim, seed, **how)
    expected = records(leveled_dag, fused_labels.salts(seed, dim), dim, lanes.shape[1])
    assert np.array_equal(lanes, expected)
    assert np.array_equal(words.reshape(-1, 2), hubs.hub_words(dag).reshape(-1, 2)[leveled_dag.vertex])


@MANY
@given(graph=digraphs(), most=st.integers(1, 5), threads=st.sampled_from([1, 4]))
def test_hubs_are_those_of_the_cpu(graph, most, threads):
    dag = dag_of(*graph)
    numbered = by_level(dag)
    shape = Shape(1, threads if gateway.simulated else 32 * threads)
    chooser = fused_hubs.Chooser(leveled.upload(numbered, numbered.parents()), shape, most, most)
    chooser.launch()
    expected = np.full(64, -1)
    first = numbered.rank[hubs.choose(dag)][:most]
    expected[: first.size] = first
    assert np.array_equal(chooser.chosen.copy_to_host(), expected)


def test_the_index_checks_its_labels_and_answers():
    vertices, edges = 30, [(u, v) for u in range(30) for v in range(u + 1, min(u + 4, 30))]
    dag = dag_of(vertices, edges)
    index = implementation("gpu-fused").build(dag, Params(count=True), NoTimer())
    assert index.check_labels(dag) is None
    u, v = (ends.ravel().astype(np.int32) for ends in np.indices((10, vertices)))
    assert np.array_equal(index.query_batch(u, v, NoTimer()), u <= v)
    assert index.counters["queries"] == 300
    lanes = index._labels.lanes.copy_to_host()
    lanes[-index._labels.width] = 0  # the last vertex reaches rank 0, and nobody above it knows
    index._labels.lanes.copy_to_device(lanes)
    assert "do not contain" in index.check_labels(dag)


def test_a_dag_of_two_roots_is_refused():
    dag = dag_of(2, [])
    torn = Dag(
        dag.offsets[:-1], dag.children[:0], np.zeros(2, np.int32), np.arange(2, dtype=np.int32), dag.component
    )
    with pytest.raises(InputError, match="2 vertices have no parent"):
        implementation("gpu-fused").build(torn, Params(), NoTimer())


@pytest.mark.gpu
@pytest.mark.mirror
@pytest.mark.skipif(gateway.simulated, reason="needs a GPU")
def test_real_graphs_are_labelled_soundly_and_alike_by_both_kernels(mirror):
    from grailbench.datasets.fetch import fetch
    from grailbench.datasets.library import open_graph
    from grailbench.datasets.registry import sets

    wanted = [dataset for part in sets().values() for dataset in part]
    names = [result.name for result in fetch(wanted, mirror=str(mirror), offline=True) if result.path]
    assert len(names) >= 17
    for name in names:
        dag = open_graph(name).dag
        index = implementation("gpu-fused").build(dag, Params(dim=2), NoTimer())
        assert index.check_labels(dag) is None, name
        numbered, lanes, words = labelled(dag, 2, 1, small=False)
        assert np.array_equal(lanes.ravel(), index._labels.lanes.copy_to_host()), name
        assert np.array_equal(words, index._labels.hubs.copy_to_host().view(np.uint64)), name
        assert np.array_equal(words.reshape(-1, 2), hubs.hub_words(dag).reshape(-1, 2)[numbered.vertex]), name
