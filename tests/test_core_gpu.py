"""`core-gpu`: what it peels is what `core` peels, its closure that of `core` bit for bit, and its answers the oracle's.

In the simulator a grid is one block of four threads; on a GPU the same tests run with whole grids.
"""

from importlib import import_module
from types import FunctionType

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from dags import between_trees, layers
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import closure
from strategies import dag_of, dags, digraphs, graph_of

import grailbench as gb
from grailbench.cuda import gateway
from grailbench.cuda.edges import library, rows
from grailbench.cuda.gateway import cuda
from grailbench.errors import MachineLacks, TooLittleMemory
from grailbench.graph.csr import Graph
from grailbench.harness.timing import PhaseTimer
from grailbench.problems.reachability.core import records
from grailbench.problems.reachability.core.peel import NONE, Peeled, peel
from grailbench.problems.reachability.gpu.core import build
from grailbench.problems.reachability.gpu.core import peel as _peel
from grailbench.problems.reachability.gpu.core.peel import sum_before as _sum_before
from grailbench.problems.reachability.index import NoTimer, Params, implementation

gateway.require()
MANY = settings(max_examples=5 if gateway.simulated else 100)
FEW = settings(max_examples=2 if gateway.simulated else 50)
MOST_PAIRS = 300 if gateway.simulated else 3000
DIAMOND = 8, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (7, 1)]


def built(name, dag, memory=0):
    return implementation(name).build(dag, Params(memory=memory), NoTimer())


def ask(index, sources, targets):
    ends = (np.ascontiguousarray(each, np.int32) for each in (sources, targets))
    return index.query_batch(*ends, NoTimer()).tolist()


def pairs_of(vertices, seed=1):
    return np.divmod(np.random.default_rng(seed).permutation(vertices**2)[:MOST_PAIRS], max(vertices, 1))


@MANY
@given(graph=digraphs(), short=st.booleans())
def test_answers_are_the_oracles_and_arrays_those_of_the_cpu(graph, short):
    assert_right(graph, 0, short)


@FEW
@given(graph=dags(12).filter(lambda graph: built("core", dag_of(*graph)).core > 2), short=st.booleans())
def test_answers_are_the_oracles_where_the_closure_does_not_fit(graph, short):
    assert_right(graph, 1, short)


def assert_right(graph, memory, short):
    dag, reach = dag_of(*graph), closure(*graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grailbench.problems.reachability.core.index.PLAIN", 1 << 40)  # a closure of bits, as on the GPU
        if not short:  # wide records, which else only large graphs have
            patch.setattr(records, "SHORT", 0)
        index, of_cpu = built("core-gpu", dag, memory), built("core", dag, memory)
    us, vs = pairs_of(graph[0])
    expected = [v in reach[u] for u, v in zip(us.tolist(), vs.tolist(), strict=True)]
    assert ask(index, dag.component[us], dag.component[vs]) == expected
    everything, root = np.arange(dag.vertices), np.full(dag.vertices, dag.super_root)
    assert ask(index, root, everything) == [True] * dag.vertices
    assert ask(index, everything, root) == [False] * dag.super_root + [True]
    assert index.check_labels(dag) is None
    if "lanes" in of_cpu.arrays:  # the closure does not fit: on the CPU the index is that of `supports`
        return
    found, wanted = index.fetch(), of_cpu.arrays
    assert {name: (each.shape, each.dtype) for name, each in found.items()} == {
        name: (each.shape, each.dtype) for name, each in wanted.items()
    }
    for name in found.keys() & {"shape", "bits"}:
        assert np.array_equal(found[name], wanted[name])
    assert memory or index.index_bytes == of_cpu.index_bytes


def test_vertices_whose_children_are_shared_among_threads_reach_all_of_them():
    assert_right(layers(18, 6), 0, True)


@MANY
@given(graph=digraphs())
def test_forests_and_core_are_those_of_the_cpu(graph):
    assert_peeled_alike(dag_of(*graph))


@MANY
@given(graph=st.one_of(digraphs(), dags(12)))
def test_the_graph_of_the_core_is_that_of_its_edges(graph):
    dag = dag_of(*graph)
    places = {int(u): i for i, u in enumerate(peel(dag).core)}
    pairs = zip(*(ends.tolist() for ends in dag.edges_without_super_root()), strict=True)
    builder = build.of_dag(dag, 0, NoTimer())
    builder.run(NoTimer())
    made = builder.core_dag()
    wanted = dag_of(len(places), [(places[u], places[v]) for u, v in pairs if u in places and v in places])
    for name in ("offsets", "children", "levels", "order", "component"):
        assert getattr(made, name).tolist() == getattr(wanted, name).tolist()


#: cycles with trees and loops at them, one component of all, no edges, and a deep graph
WHOLE = [
    (9, [(0, 1), (1, 2), (2, 0), (2, 2), (2, 3), (2, 3), (3, 4), (4, 3), (5, 0), (6, 5), (4, 7)]),
    (40, [(v, (v + 1) % 40) for v in range(40)]), (1, []), (1, [(0, 0)]), (5, []), DIAMOND,
    (300, [(v, v + 1) for v in range(299)]),
]  # fmt: skip


def assert_right_from_edges(graph, memory=0):
    """The device condenses: answers are the oracle's, of vertices of the graph, and arrays those of the other way."""
    raw, dag, reach = graph_of(*graph), dag_of(*graph), closure(*graph)
    cls, params = implementation("core-gpu"), Params(memory=memory, count=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("grailbench.problems.reachability.gpu.fused.index.FEWEST", 0)
        assert cls.condenses(raw, params)
        with library.counted():
            patch.setattr("grailbench.problems.reachability.core.index.Core.build", None)
            patch.setattr("grailbench.problems.reachability.index.condense", None)
            index = cls.ready(raw, params, NoTimer())
            us, vs = pairs_of(graph[0])
            expected = [v in reach[u] for u, v in zip(us.tolist(), vs.tolist(), strict=True)]
            assert ask(index, us, vs) == expected
    other = cls.build(dag, params, NoTimer())
    assert ask(other, dag.component[us], dag.component[vs]) == expected
    assert index.counters == other.counters
    found, wanted = index.fetch(), other.fetch()
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


@MANY
@given(graph=digraphs().filter(lambda graph: graph[0] > 0))
def test_from_edges_answers_are_the_oracles_of_vertices_of_the_graph(graph):
    assert_right_from_edges(graph)


@pytest.mark.parametrize("graph", WHOLE)
@pytest.mark.parametrize("memory", [0, 1])
def test_from_edges_cycles_loops_duplicates_and_vertices_alone_are_condensed(graph, memory):
    assert_right_from_edges(graph, memory)


@given(graph=digraphs().filter(lambda graph: graph[0] > 0), wide=st.booleans())
@MANY
def test_the_dag_on_the_device_is_that_of_the_host(graph, wide):
    raw, dag = graph_of(*graph), dag_of(*graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "WIDE", 0 if wide else rows.WIDE)
        builder, component = build.of_edges(raw, 0, NoTimer())
    wanted = dag.offsets, dag.children, dag.parent_offsets, dag.parents, dag.order, dag.levels
    for found, expected in zip(builder._graph, wanted, strict=True):
        assert library.to_host(found).tolist() == expected.tolist()
    own = np.arange(graph[0]) if component is None else library.to_host(component)
    assert own.tolist() == dag.component.tolist()


def test_a_graph_is_condensed_where_it_is_ready_first():
    from grailbench.problems.reachability.gpu.fused.index import FEWEST, MOST

    cls = implementation("core-gpu")
    many = np.zeros(FEWEST, np.int32)
    assert cls.condenses(Graph(2, many, many), Params())
    assert not cls.condenses(Graph(2, many[1:], many[1:]), Params())
    assert not cls.condenses(Graph(MOST, many, many), Params())
    empty = Graph(0, many[:0], many[:0])
    assert cls.ready(empty, Params(), NoTimer()).query_batch(many[:0], many[:0], NoTimer()).size == 0


def test_what_does_not_fit_the_device_is_refused_before_anything_is_copied(device_memory, monkeypatch):
    monkeypatch.setattr("grailbench.problems.reachability.gpu.fused.index.FEWEST", 0)
    monkeypatch.setattr(build.staging, "to_device", None)
    device_memory(1000)
    with pytest.raises(TooLittleMemory, match="condensing 8 vertices and 8 edges on the GPU needs"):
        implementation("core-gpu").ready(graph_of(*DIAMOND), Params(), NoTimer())


def test_more_edges_of_the_condensed_graph_than_32_bits_count_are_refused(monkeypatch):
    monkeypatch.setattr("grailbench.problems.reachability.gpu.fused.index.FEWEST", 0)
    edges = dag_of(*DIAMOND).edges
    for most in (edges, edges - 1):
        monkeypatch.setattr(build, "MOST_EDGES", most)
        if most < edges:
            with pytest.raises(MachineLacks, match=f"up to {most} edges, this graph has {edges}: take"):
                implementation("core-gpu").ready(graph_of(*DIAMOND), Params(), NoTimer())
        else:
            implementation("core-gpu").ready(graph_of(*DIAMOND), Params(), NoTimer())


def assert_peeled_alike(dag):
    builder = build.of_dag(dag, 0, NoTimer())
    above, core = builder.run(NoTimer())[4:]
    parts, wanted = builder._parts, peel(dag)
    found = Peeled(above, parts.core.copy_to_host()[:core], *(each.copy_to_host() for each in parts[:3]))
    assert found.above == wanted.above
    assert np.array_equal(found.core, wanted.core)
    assert np.array_equal(found.gate, wanted.gate)
    assert np.array_equal(found.end - found.position, wanted.end - wanted.position)
    assert np.array_equal(np.sort(found.position), np.arange(dag.vertices))
    at = [(each.position[:, None] <= each.position) & (each.position < each.end[:, None]) for each in (found, wanted)]
    assert np.array_equal(*at), "other trees"
    assert found.gate[dag.super_root] == NONE


def sums_that_begin_at(number):
    """`_place_siblings` as it goes on after trees of so many vertices, in whose sizes each counts once an ancestor."""
    told = _peel._place_siblings.fn
    begun = FunctionType(told.__code__, told.__globals__ | {"sum_before": lambda *args: _sum_before(*args) + number})
    return cuda.jit(device=True)(begun)


@pytest.mark.skipif(not gateway.simulated, reason="replaces a function of a kernel")
@pytest.mark.parametrize("number", [2**31 - 3, 2**32 - 7, 2**40 - 4])
def test_sizes_of_trees_are_summed_beyond_two_to_the_32(number, monkeypatch):
    monkeypatch.setattr(_peel, "_place_siblings", sums_that_begin_at(number))
    assert_peeled_alike(dag_of(*between_trees()))


@pytest.mark.skipif(not gateway.simulated, reason="counts in the simulator")
@pytest.mark.parametrize("downward", [False, True])
def test_a_chain_takes_barriers_by_the_logarithm_of_its_length(downward, monkeypatch):
    met, simulator = [], gateway.cuda.jit.__module__.rpartition(".")[0]
    group = import_module(f"{simulator}.kernelapi").GridGroup
    sync = group.sync
    monkeypatch.setattr(group, "sync", lambda self: met.append(sync(self)))
    counts = []
    for length in (4, 256):
        chain = [(v, v + 1) for v in range(length)]
        fork = [(0, length + 1), (length + 1, 1)] if downward else [(length - 1, length + 1), (length + 1, length)]
        met.clear()
        built("core-gpu", dag_of(length + 2, [*chain, *fork]))
        counts.append(len(met) / build.Shape(1, 4).threads)
    assert counts[1] - counts[0] <= 3 * 4 * 6 + 256, "three loops of up to four barriers, six more rounds, and levels"


@pytest.mark.parametrize("name", ["core", "core-gpu"])
def test_where_no_core_is_left_between_the_forests_no_budget_is_too_small(name):
    graph = 5, [(0, 2), (1, 2), (2, 3), (2, 4)]
    index = built(name, dag_of(*graph), memory=1)
    us, vs = pairs_of(5)
    assert ask(index, us, vs) == [v in reach for u, v in zip(us, vs, strict=True) for reach in [closure(*graph)[u]]]
    assert "bits" in index.stored()


def test_a_graph_of_its_super_root_alone_is_left_to_the_host(monkeypatch):
    from grailbench.problems.reachability.gpu.fused import index

    monkeypatch.setattr(index, "FEWEST", 0)
    assert [index.on_the_device(dag_of(n, []), Params()) for n in (0, 1)] == [False, True]


def test_a_batch_or_a_graph_that_does_not_fit_is_refused(device_memory):
    index = built("core-gpu", dag_of(*DIAMOND))
    device_memory(9 * 1000 - 1)
    with pytest.raises(TooLittleMemory, match="a batch of 1,000 queries needs .* are free on .*--count"):
        ask(index, np.zeros(1000), np.zeros(1000))
    device_memory(1000)
    with pytest.raises(TooLittleMemory, match="peeling 9 vertices and 10 edges on the GPU needs"):
        built("core-gpu", dag_of(*DIAMOND))


def test_more_edges_than_32_bits_count_are_refused(monkeypatch):
    dag = dag_of(*DIAMOND)
    monkeypatch.setattr(build, "MOST_EDGES", dag.edges)
    assert ask(built("core-gpu", dag), [0], [0]) == [True]
    monkeypatch.setattr(build, "MOST_EDGES", dag.edges - 1)
    with pytest.raises(MachineLacks, match=f"up to {dag.edges - 1} edges, this graph has {dag.edges}: take"):
        built("core-gpu", dag)


def test_damage_on_the_device_is_found():
    dag = dag_of(*DIAMOND)
    index = built("core-gpu", dag)
    bits = index._device.bits.copy_to_host()
    index._device.bits.copy_to_device(bits ^ np.uint64(1 << 4))
    assert index.check_labels(dag) is not None
    index._device.bits.copy_to_device(bits)
    assert index.check_labels(dag) is None


@pytest.mark.parametrize("memory", [0, 1])
def test_an_index_is_restored_from_its_arrays(memory):
    dag = dag_of(*DIAMOND)
    index = built("core-gpu", dag, memory)
    arrays = index.stored()
    assert bool(arrays) == (memory == 0)
    again = implementation("core-gpu").restored(dag, Params(memory=memory), arrays)
    us, vs = np.divmod(np.arange(64), 8)
    assert ask(again, us, vs) == ask(index, us, vs)
    assert again.index_bytes == index.index_bytes


@pytest.mark.parametrize(("memory", "graph", "held"), [
    (0, DIAMOND, "bytes_of_bits"), (1, DIAMOND, "bytes_of_labels"), (0, (8, [(0, 1), (1, 2)]), None)
])  # fmt: skip
def test_counters_are_those_of_the_batches_and_tell_the_form_as_those_of_core(memory, graph, held):
    index, of_cpu = (
        implementation(name).build(dag_of(*graph), Params(count=True, memory=memory, threads=1), NoTimer())
        for name in ("core-gpu", "core")
    )
    ask(index, [0, 5], [2, 0])
    found = index.counters
    assert (found["queries"], found["positives"]) == (2, 1)
    assert set(found) == set(implementation("core-gpu").counts)
    assert [name for name in found if name.startswith("bytes_of") and found[name]] == ([held] if held else [])
    parts = "peeled_above", "peeled_below", "core_vertices"
    assert held == "bytes_of_labels" or [found[part] for part in parts] == [of_cpu.counters[part] for part in parts]
    assert found["closure_rows"] == (found["core_vertices"] if held == "bytes_of_bits" else 0)


def test_memory_for_a_batch_is_allocated_apart_from_the_time_of_its_queries():
    index, timer = built("core-gpu", dag_of(4, [(0, 1), (1, 2)])), PhaseTimer()
    with timer.phase("query"):
        index.query_batch(np.zeros(3, np.int32), np.ones(3, np.int32), timer)
    assert {("", "allocate"), ("", "query")} <= set(timer.phases)


def test_the_library_builds_from_edges_and_saves_what_it_then_loads(tmp_path, monkeypatch):
    monkeypatch.setattr("grailbench.problems.reachability.gpu.fused.index.FEWEST", 0)
    graph = gb.Graph.from_edges(["a", "b", "c", "d", "c"], ["b", "c", "a", "a", "e"])
    index = gb.build(graph, "core-gpu")
    index.save(tmp_path / "letters.index")
    for found in (index, gb.load(tmp_path / "letters.index")):
        assert [[found.reaches(u, v) for v in "abcde"] for u in "abcde"] == [
            [True, True, True, False, True]] * 3 + [[True] * 5, [False] * 4 + [True]]  # fmt: skip
