"""The library with indexes of a GPU: the same answers, from any thread; without a GPU, in numba's simulator."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401 - before any CUDA code

import grailbench as gb
from grailbench.cuda.gateway import simulated as in_simulator
from grailbench.problems.contract import implementations

GPU = [name for name, found in implementations().items() if "gpu" in found.needs]


def test_an_index_of_a_gpu_answers_pickled_saved_and_from_other_threads(tmp_path):
    name, sources, targets = "gpu-fused", [0, 1, 2, 2, 4, 6], [1, 2, 0, 3, 3, 6]
    graph = gb.Graph.from_edges(sources, targets, names=[f"v{v}" for v in range(7)])
    index = gb.build(graph, name, device=0)
    every = [f"v{v}" for v in range(7)]
    right = gb.build(graph, "dfs").matrix(every, every)
    index.save(tmp_path / "gpu.index")
    for each in (index, pickle.loads(pickle.dumps(index)), gb.load(tmp_path / "gpu.index", graph)):
        assert np.array_equal(each.matrix(every, every), right)
        assert each.reaches("v1", "v3")
        assert each.explain("v4", "v0").by == name
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: index.reaches("v0", "v3"), range(4)))
        found = pool.map(lambda _: index.reaches_many(every, every[::-1]), range(4))
        assert len({answers.tobytes() for answers in found}) == 1


def test_what_streamed_saved_answers_on_a_gpu(tmp_path):
    sources, targets = np.random.default_rng(1).integers(0, 60, (2, 150))
    sources, targets = (
        np.minimum(sources, targets)[sources != targets],
        np.maximum(sources, targets)[sources != targets],
    )
    here = gb.build([(sources, targets)], "streamed", d=2, seed=5, folder=tmp_path / "built", vertices=60)
    here.save(tmp_path / "streamed.index")
    there = gb.load(tmp_path / "streamed.index", implementation="gpu-fused")
    every = range(60)
    assert np.array_equal(there.matrix(every, every), here.matrix(every, every))
    assert (there.explain(0, 1).by, here.explain(0, 1).by) == ("gpu-fused", "streamed")
    fused, streamed = there._engine, here._engine
    (record,) = fused.run(lambda: fused.index.records)
    assert record.lanes.nbytes == streamed.index.records.lanes.nbytes
    assert there._engine.params.seed == 5


def test_a_gpu_that_the_host_has_not_is_refused():
    with pytest.raises(gb.MachineLacks, match="GPU 70000 is asked for, this host has"):
        gb.build(gb.Graph.from_edges([0], [1]), "gpu-fused", device=70_000)
    with pytest.raises(gb.InputError, match="device 0 and 2 devices"):
        gb.build(gb.Graph.from_edges([0], [1]), "gpu-fused", device=0, devices=2)


@pytest.mark.gpu
@pytest.mark.skipif(in_simulator, reason="needs a GPU")
@pytest.mark.parametrize("name", GPU)
def test_many_pairs_on_a_gpu_have_the_answers_of_a_search(name):
    graph = gb.Graph.open("kegg-like")
    us, vs = np.random.default_rng(3).integers(0, graph.vertices, (2, 100_000))
    right = gb.build(graph, "sequential").reaches_many(us, vs)
    index = gb.build(graph, name)
    assert np.array_equal(index.reaches_many(us, vs), right)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda part: index.reaches_many(us[part::8], vs[part::8]), range(8)))
    assert all(np.array_equal(parts[part], right[part::8]) for part in range(8))
