"""From raw edges to a DAG by levels on the device: bit for bit what `condense` and `by_level` make on the host.

In the simulator grids are of one block and graphs small; on a GPU the same tests run with real grids.
"""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import dag_of, digraphs, graph_of

from grailbench.cuda import gateway, graphs
from grailbench.cuda.edges import build, library, rows, staging, walk
from grailbench.data.fetch import fetch
from grailbench.data.library import open_raw
from grailbench.data.registry import registry
from grailbench.errors import MachineLacks, TooLittleMemory
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.graph.leveled import by_level
from grailbench.problems.reachability.gpu.fused import from_edges, index, replicas
from grailbench.problems.reachability.index import NoTimer, Params, implementation

gateway.require()
MANY = settings(max_examples=5 if gateway.simulated else 150)
DEEP = {"free": 0, "edges_a_level": 10**6}  #: by which every graph of two levels is deep
MOST = 60 if gateway.simulated else 10**6  #: vertices: a level takes the simulator some milliseconds
SOME = digraphs().filter(lambda graph: 0 < graph[0] <= MOST)
Fused = implementation("gpu-fused")


def assert_as_on_the_host(graph, **how):
    """All arrays, the components and the outline are those of the host's way; how: as `walk.walk_levels` takes it."""
    dag = condense(graph)
    wanted = by_level(dag)
    with library.counted():
        walked, component = build.condensed(
            graph.vertices, graph.edges, *staging.to_device(*graph_columns(graph)), **how
        )
        assert walked.reached == dag.vertices
        found, outline = build.leveled(walked.reached, walked)
    own = np.arange(graph.vertices) if component is None else library.to_host(component)
    assert np.array_equal(own, dag.component)
    for name, array, expected in zip(found._fields, found, (*wanted, *wanted.parents()), strict=True):
        assert np.array_equal(library.to_host(array)[: expected.shape[0]], expected), name
    of_host = graphs.Outline.of(wanted)
    assert outline[:3] == of_host[:3]
    assert all(map(np.array_equal, outline[3:], of_host[3:]))
    return component, outline, found


def graph_columns(graph):
    return graph.sources, graph.targets


@MANY
@given(graph=SOME, narrow=st.sampled_from([0, 3, 4096]))
def test_all_arrays_are_those_of_the_host(graph, narrow):
    assert_as_on_the_host(graph_of(*graph), narrow=narrow)


@MANY
@given(graph=SOME, deep=st.booleans())
def test_with_offsets_of_64_bits_all_arrays_are_the_same(graph, deep):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "WIDE", 0)
        _, _, found = assert_as_on_the_host(graph_of(*graph), **(DEEP if deep else {}))
    assert {found.starts.dtype, found.deep_starts.dtype, found.parent_starts.dtype} == {np.dtype(np.int64)}


def test_offsets_are_of_64_bits_if_edges_and_those_to_roots_may_need_them(monkeypatch):
    graph = graph_of(3, [(0, 1), (0, 1), (1, 2)])
    columns = staging.to_device(*graph_columns(graph))
    for limit, dtype in ((6, np.int64), (7, np.int32)):
        monkeypatch.setattr(rows, "WIDE", limit)
        assert rows.simple_rows(3, 3, *columns).starts.dtype == dtype
        assert rows.given_rows(np.array([0, 2, 3, 3]), np.array([1, 2, 2], np.int32)).starts.dtype == dtype


RING = [(v, (v + 1) % 40) for v in range(40)]
SHAPES = {
    "no edges": (5, []),
    "one vertex": (1, []),
    "self-loops alone": (3, [(0, 0), (2, 2), (2, 2)]),
    "the same edge": (3, [(2, 0)] * 9),
    "one ring": (40, RING),
    "a path against the ids": (90, [(v + 1, v) for v in range(89)]),
    "a hub": (150, [(v, 77) for v in range(70)] + [(77, v) for v in range(80, 150)]),
    "a ring, a way in and a way out": (43, [*RING, (41, 7), (3, 40), (40, 42)]),
    "many of two": (16, [edge for v in range(0, 16, 2) for edge in ((v, v + 1), (v + 1, v), (v, (v + 2) % 16))][:-1]),
    "two rings in a row": (6, [(5, 4), (4, 3), (3, 5), (3, 2), (2, 1), (1, 0), (0, 2)]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_break_condensing(shape):
    component, *_ = assert_as_on_the_host(graph_of(*SHAPES[shape]), narrow=2)
    assert (component is None) == (not any(word in shape for word in ("ring", "two")))


@pytest.mark.mirror
@pytest.mark.parametrize(("name", "piece"), [("ol-cedge", None), ("wiki-vote", 400)])
def test_real_digraphs_are_condensed_as_on_the_host(name, piece, mirror, session_cache, monkeypatch):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(session_cache))
    fetch([registry()[name]], str(mirror), offline=True)
    graph = open_raw(name).graph
    if piece and gateway.simulated:
        inside = (graph.sources < piece) & (graph.targets < piece)
        graph = Graph(piece, graph.sources[inside], graph.targets[inside])
    component, *_ = assert_as_on_the_host(graph)
    assert (component is None) == (name == "ol-cedge")


@pytest.mark.parametrize(("name", "more"), [("MOST_VERTICES", 4), ("MOST_EDGES", 3)])
def test_a_walk_takes_no_more_than_it_can_count(name, more, monkeypatch):
    found = rows.simple_rows(4, 3, *staging.to_device(*graph_columns(graph_of(4, [(0, 1), (0, 2), (2, 3)]))))
    monkeypatch.setattr(walk, name, more + 1)
    assert walk.walk_levels(4, found).reached == 5
    monkeypatch.setattr(walk, name, more)
    with pytest.raises(MachineLacks, match="4 vertices and 3 edges on the GPU: levels are found there of fewer than"):
        walk.walk_levels(4, found)


def test_a_graph_is_deep_by_its_levels_and_edges_alone():
    chain = Graph(2000, np.arange(1999, dtype=np.int32), np.arange(1, 2000, dtype=np.int32))
    wide = Graph(2000, np.arange(1000, dtype=np.int32), np.arange(1000, 2000, dtype=np.int32))
    assert graphs.Outline.of(by_level(condense(chain))).deep
    assert not graphs.Outline.of(by_level(condense(wide))).deep
    assert not graphs.Outline.of(by_level(condense(Graph(200, chain.sources[:199], chain.targets[:199])))).deep


@pytest.mark.parametrize("free", [1, 4, 30])
def test_a_walk_stops_where_the_outline_says_deep(free, monkeypatch):
    monkeypatch.setattr(graphs, "DEEP_LEVELS", free)
    monkeypatch.setattr(graphs, "DEEP_EDGES", 3)
    graph = graph_of(24, [(v, v + 1) for v in range(23)] + [(0, v) for v in range(2, 12)])
    found = rows.simple_rows(24, graph.edges, *staging.to_device(*graph_columns(graph)))
    stopped = walk.walk_levels(24, found, free=free, edges_a_level=3).deep
    assert stopped == graphs.Outline.of(by_level(condense(graph))).deep == (free < 30)


@settings(max_examples=2 if gateway.simulated else 60)
@given(graph=SOME, dim=st.sampled_from([1, 2]), seed=st.integers(0, 2**64 - 1))
def test_an_index_by_the_device_is_the_index_by_the_host(graph, dim, seed):
    params = Params(dim=dim, seed=seed)
    dag = dag_of(*graph)
    want = Fused.build(dag, params, NoTimer()).fetch()
    ways = {"edges": lambda: Fused.ready(graph_of(*graph), params, NoTimer()),
            "rows": lambda: Fused.build(dag, params, NoTimer())}  # fmt: skip
    for way, deep, wide in (("edges", True, False), ("rows", False, True)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(index, "FEWEST", 0)
            patch.setattr(rows, "WIDE", 0 if wide else 2**31)
            if deep:  # the host labels
                patch.setattr(graphs, "DEEP_LEVELS", 0)
                patch.setattr(graphs, "DEEP_EDGES", 10**6)
            found = ways[way]()
        starts = library.to_host(found.searchers[0].graph.adjacency.child_starts)
        assert starts.dtype == (np.int64 if wide else np.int32)
        assert all(map(np.array_equal, found.fetch(), want))
        assert found.check_labels(dag) is None
        vertices = np.arange(graph[0], dtype=np.int32)
        pairs = np.repeat(vertices, graph[0])[:200], np.tile(vertices, graph[0])[:200]
        inside = [dag.component[ends] for ends in pairs]
        oracle = Fused.build(dag, params, NoTimer()).query_batch(*inside, NoTimer())
        assert np.array_equal(found.query_batch(*(pairs if way == "edges" else inside), NoTimer()), oracle)


def test_a_deep_graph_is_labelled_by_the_host(monkeypatch):
    called = []
    real = replicas.host.labels_on_host
    monkeypatch.setattr(replicas.host, "labels_on_host", lambda *args: called.append(1) or real(*args))
    vertices = 600
    chain = Graph(vertices, np.arange(vertices - 1, dtype=np.int32), np.arange(1, vertices, dtype=np.int32))
    dag = condense(chain)
    found = Fused.build(dag, Params(dim=1), NoTimer())
    assert called
    assert found.check_labels(dag) is None


def test_too_little_memory_is_said_before_anything_is_allocated(monkeypatch, device_memory):
    monkeypatch.setattr(index, "FEWEST", 0)
    device_memory(1000)
    monkeypatch.setattr(staging, "to_device", lambda *columns: pytest.fail("edges were copied"))
    with pytest.raises(TooLittleMemory, match=r"40 vertices and 40 edges on the GPU needs .*take `parallel`"):
        Fused.ready(graph_of(*SHAPES["one ring"]), Params(dim=1), NoTimer())


def test_three_graphs_load_every_kernel_of_the_way(monkeypatch):
    taken = []
    for module, name in (
        (build, "strong_components"),
        (build, "walk_levels_on_host"),
        (replicas.host, "labels_on_host"),
    ):
        real = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, real=real, name=name: taken.append(name) or real(*a))
    from_edges.load(Params(dim=1))
    assert taken == ["strong_components", "walk_levels_on_host", "labels_on_host", "labels_on_host"]
