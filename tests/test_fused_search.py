"""Filter, searches and sweep on the device: answers are the oracle's, whatever stage gives them.

In the simulator a warp group has four lanes and memories are tiny, so that a dozen vertices overflow every stage.
"""

from dataclasses import replace

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from fused import searcher_on
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, digraphs

from grailbench.cuda import block_group, gateway, warp_group
from grailbench.errors import MachineLacks, TooLittleMemory
from grailbench.problems.reachability.gpu.fused.batch import SearchSizes, usual
from grailbench.problems.reachability.index import FILTERS, NoTimer, Params, implementation

gateway.require()
MANY = settings(max_examples=6 if gateway.simulated else 150)
MOST_PAIRS = 60 if gateway.simulated else 3000

WARPS = 1 if gateway.simulated else 4
FEW = dict(warps=WARPS, blocks=2, late_blocks=2)
ROOMY = SearchSizes(size=1024, budget=10**6, late_size=2048, late_budget=10**6, **FEW)
LATE = SearchSizes(size=2 * warp_group.WIDTH, budget=6, late_size=1024, late_budget=10**6, **FEW)
SWEPT = SearchSizes(size=2 * warp_group.WIDTH, budget=0, late_size=2 * block_group.WIDTH, late_budget=0, **FEW)
SIZES = [ROOMY, LATE, SWEPT, usual()]
some_filters = st.sampled_from([(), ("level",), ("tree",), ("hubs",), FILTERS])


def pairs_of(vertices, seed):
    u, v = np.divmod(np.random.default_rng(seed).permutation(vertices**2)[:MOST_PAIRS], vertices)
    return u, v


@MANY
@given(
    graph=digraphs().filter(lambda g: 0 < g[0] <= 40),
    dim=st.sampled_from([1, 2, 3]),
    filters=some_filters,
    sizes=st.sampled_from(SIZES),
    seed=st.integers(0, 99),
)
def test_answers_are_the_oracles(graph, dim, filters, sizes, seed):
    dag, reach = dag_of(*graph), closure(*graph)
    searcher = searcher_on(dag, Params(dim=dim, filters=filters, seed=seed), sizes)
    u, v = pairs_of(graph[0], seed)
    expected = [b in reach[a] for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    assert searcher.search(dag.component[u], dag.component[v]).tolist() == expected


def layered(layers, fan):
    """Layers of `fan` vertices; each but the last of a layer is linked to its two neighbours in the next."""
    return layers * fan, [
        (layer * fan + i, (layer + 1) * fan + (i + shift) % fan)
        for layer in range(layers - 1)
        for i in range(fan)
        for shift in (0, 1)
    ]


@pytest.mark.parametrize(("sizes", "stage"), [(ROOMY, "opened"), (LATE, "searched_again"), (SWEPT, "swept")])
def test_every_stage_answers_what_the_one_before_left(sizes, stage):
    graph = layered(6, 7)
    dag, reach = dag_of(*graph), closure(*graph)
    searcher = searcher_on(dag, Params(dim=1), sizes)
    u, v = pairs_of(graph[0], 5)
    found = searcher.search(u.astype(np.int32), v.astype(np.int32))
    assert found.tolist() == [b in reach[a] for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    stages = ["opened", "searched_again", "swept"]
    reached = [getattr(searcher, name) > 0 for name in stages]
    assert reached == [k <= stages.index(stage) for k in range(3)]


def test_the_filter_leaves_open_exactly_what_that_of_the_cpu_does():
    dag = dag_of(*layered(6, 14 if gateway.simulated else 20))
    ids = np.arange(dag.vertices, dtype=np.int32)
    u, v = (ends[:: 29 if gateway.simulated else 1] for ends in (np.repeat(ids, ids.size), np.tile(ids, ids.size)))
    for filters in ((), FILTERS):
        params = Params(dim=1, filters=filters, count=True)
        index = implementation("sequential").build(dag, params, NoTimer())
        index.query_batch(u, v, NoTimer())
        searcher = searcher_on(dag, params)
        searcher.search(u, v)
        assert searcher.opened == index.counters["searches"] > 0


def test_a_batch_that_does_not_fit_is_refused_before_anything_of_it_is_made(device_memory):
    searcher = searcher_on(dag_of(*layered(3, 3)), Params(dim=1))
    u, v = (np.resize(ends, 1000).astype(np.int32) for ends in pairs_of(9, 1))
    for free, k in ((33 * 1000, 1000), (9 * 500, 500)):
        device_memory(free)
        with pytest.raises(TooLittleMemory, match=f"a batch of {k:,} queries needs .* are free on .*--count"):
            searcher.search(u[:k], v[:k])
        device_memory(free + 200)
        assert searcher.search(u[:k], v[:k]).shape == (k,)  # the lists of the larger batch serve the smaller


def test_a_batch_answers_alike_after_a_larger_one():
    dag = dag_of(*layered(5, 6))
    searcher = searcher_on(dag, Params(dim=1), SWEPT)
    u, v = (ends.astype(np.int32) for ends in pairs_of(30, 3))
    some = searcher.search(u[:20], v[:20])
    assert some.any()
    assert searcher.swept
    searcher.search(*(np.tile(ends[::-1], 2) for ends in (u, v)))
    assert searcher.search(u[:20], v[:20]).tolist() == some.tolist()


def test_a_sweep_shares_out_levels_of_many_edges():
    layers, fan = 3, 40
    dag, reach = dag_of(*layered(layers, fan)), closure(*layered(layers, fan))
    searcher = searcher_on(dag, Params(dim=1), SWEPT)
    u, v = (ends.astype(np.int32) for ends in np.divmod(np.arange((layers * fan) ** 2)[::37], layers * fan))
    expected = [b in reach[a] for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    assert searcher.search(u, v).tolist() == expected
    assert searcher.swept > 1


def test_without_the_level_filter_a_source_may_lie_below_its_target():
    dag, swept = dag_of(6, [(0, 1), (3, 4), (4, 5), (5, 1)]), 0
    for seed in range(20):  # in some child orders the interval of 5, on level 3, holds that of 2, on level 1
        searcher = searcher_on(dag, Params(dim=1, filters=(), seed=seed), replace(SWEPT, peeked=0))
        assert searcher.search(dag.component[[5]], dag.component[[2]]).tolist() == [False]
        swept += searcher.swept
    assert swept


@pytest.mark.gpu
@pytest.mark.mirror
@pytest.mark.skipif(gateway.simulated, reason="needs a GPU")
def test_real_graphs_are_answered_as_the_cpu_does(real_graphs):
    from grailbench.data.library import open_graph
    from grailbench.problems.reachability.queries import QuerySpec, query_set

    for name in real_graphs:
        opened = open_graph(name)
        params = Params(dim=2, filters=FILTERS)
        index = implementation("sequential").build(opened.dag, params, NoTimer())
        for kind in ("random", "balanced"):
            queries = query_set(QuerySpec.parse(kind, 100_000, 1), opened.dag, opened.sha256)
            expected = index.query_batch(queries.u, queries.v, NoTimer())
            for sizes in (usual(), LATE, SWEPT):
                found = searcher_on(opened.dag, params, sizes).search(queries.u, queries.v)
                assert np.array_equal(found, expected), f"{name}, {kind}, {sizes}"


def test_the_time_on_the_device_is_told_sweeps_and_all():
    from grailbench.harness.timing import PhaseTimer

    dag = dag_of(*layered(4, 5))
    u, v = (ends.astype(np.int32) for ends in pairs_of(20, 1))
    searcher = searcher_on(dag, Params(dim=1), SWEPT)
    timer = PhaseTimer()
    with timer.phase("query"):
        searcher.search(u, v, timer)
    assert timer.phases["", "query"] > timer.phases["query", "on_device"] > 0


def test_more_gpus_than_the_host_has_are_refused(monkeypatch):
    from grailbench.cuda import several

    monkeypatch.setattr(several, "count", lambda: 2)
    with pytest.raises(MachineLacks, match="3 GPUs are asked for, this host has 2"):
        several.device_threads(3)


def test_a_kernel_that_devices_share_is_not_unloaded_once_for_each():
    import weakref
    from types import SimpleNamespace

    from grailbench.cuda import several

    class Module:
        def __init__(self):
            self._finalizer = weakref.finalize(self, unloaded.append, "code")

    unloaded: list[str] = []
    contexts = [SimpleNamespace(modules={"code": Module()}) for _ in range(2)]
    several.keep_loaded(contexts)
    contexts.clear()
    assert not unloaded


def test_more_queries_than_a_batch_can_count_and_vertices_than_a_table_are_refused_before_any_work(monkeypatch):
    from grailbench.problems.reachability.gpu.fused import batch, replicas

    monkeypatch.setattr(batch, "MOST_QUERIES", 5)
    searcher = searcher_on(dag_of(*layered(5, 6)), Params(dim=1))
    searcher.prepare(5)
    with pytest.raises(MachineLacks, match=r"up to 5 queries at once, not 6 \(ask fewer at once with --count"):
        searcher.prepare(6)
    monkeypatch.setattr(batch, "MOST_VERTICES", 30)
    monkeypatch.setattr(replicas, "_everywhere", None)
    dag = dag_of(*layered(5, 6))
    with pytest.raises(MachineLacks, match="fewer than 30 vertices, this one has 31: take `parallel`"):
        implementation("gpu-fused").build(dag, Params(), NoTimer())


def test_what_searches_count_is_exact_however_blocks_arrive():
    dag = dag_of(*layered(7, 9))
    u, v = (ends.astype(np.int32) for ends in pairs_of(63, 4))
    sizes = SearchSizes(size=2 * warp_group.WIDTH, budget=8, late_size=2 * block_group.WIDTH, late_budget=30, **FEW)
    found = set()
    for order in (slice(None), slice(None, None, -1)):
        searcher = searcher_on(dag, Params(dim=1), sizes, counting=True)
        searcher.search(np.ascontiguousarray(u[order]), np.ascontiguousarray(v[order]))
        found.add((searcher.opened, searcher.searched_again, searcher.swept, searcher.scanned))
    assert len(found) == 1
    assert all(found.pop()) or not gateway.simulated  # on a GPU nothing of so few queries is swept


def test_one_step_decides_what_it_can():
    dag = dag_of(8, [(0, 1), (0, 2), (3, 1), (3, 2), (1, 4), (2, 5), (4, 6), (5, 7)])
    searcher = searcher_on(dag, Params(dim=1), replace(ROOMY, peeked=8), counting=True)
    u, v = (ends.ravel().astype(np.int32) for ends in np.indices((8, 8)))
    reach = closure(8, [(0, 1), (0, 2), (3, 1), (3, 2), (1, 4), (2, 5), (4, 6), (5, 7)])
    assert searcher.search(u, v).tolist() == [b in reach[a] for a, b in zip(u.tolist(), v.tolist(), strict=True)]
    assert searcher.opened > searcher.searched
