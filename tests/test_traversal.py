"""Every traversal faces the oracle on digraphs of every shape: levels, distances, all pairs."""

from itertools import cycle

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import distances_from
from strategies import digraphs, graph_of

from grailbench.cuda import gateway
from grailbench.cuda.floyd_warshall import Tile, Tiles
from grailbench.cuda.frontier import Enterprise
from grailbench.errors import InputError
from grailbench.graph.csr import rows_of
from grailbench.graph.ids import Counted
from grailbench.problems.contract import implementation, implementations
from grailbench.problems.contract import problem as problem_of
from grailbench.problems.traversal import check, cpu
from grailbench.problems.traversal.index import FAR, MOST_WEIGHT, Network, NoTimer, Params, drawn_weights
from grailbench.problems.traversal.problem import Apsp, Bfs, draw_sources, traversed

gateway.require()
CPU = [("bfs", "sequential"), ("sssp", "dijkstra"), ("sssp", "buckets"), ("apsp", "dijkstra")]
graphs = digraphs().filter(lambda graph: graph[0] > 0)


def network_of(graph, problem, seed=1):
    """A drawn graph as a network, weighted unless for BFS, and its edges as (u, v, weight)."""
    offsets, targets = rows_of(graph_of(*graph))
    weights = None if problem == "bfs" else drawn_weights(offsets, targets, seed, False)
    network = Network(offsets, targets, weights)
    sources = np.repeat(np.arange(network.vertices), np.diff(offsets))
    each = np.ones(network.edges, int) if weights is None else weights
    return network, list(zip(sources.tolist(), targets.tolist(), each.tolist(), strict=True))


def expected(graph, edges, source):
    found = distances_from(graph[0], edges, source)
    return [found.get(v, int(FAR)) for v in range(graph[0])]


def assert_right(problem, name, graph, source, **made):
    """An implementation's distances are the oracle's."""
    network, edges = network_of(graph, problem)
    solver = implementation(name, problem).prepare(network, Params(), NoTimer(), **made)
    if problem == "apsp":
        assert solver.solve(0, NoTimer()).tolist() == [expected(graph, edges, u) for u in range(graph[0])]
        return
    for at in dict.fromkeys((source, 0, source)):  # a solver may be asked again
        found = solver.solve(at, NoTimer())
        assert found.dtype == np.int32
        assert found.tolist() == expected(graph, edges, at)


@pytest.mark.parametrize(("problem", "name"), CPU)
@settings(max_examples=30)
@given(graph=graphs, data=st.data())
def test_distances_are_the_oracles(problem, name, graph, data):
    if problem == "apsp" and graph[0] > 60:
        return
    assert_right(problem, name, graph, data.draw(st.integers(0, graph[0] - 1)))


@settings(max_examples=30)
@given(graph=graphs, most=st.integers(1, 60), data=st.data())
def test_buckets_may_have_several_distances(graph, most, data):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cpu, "MOST_BUCKETS", most)
        assert_right("sssp", "buckets", graph, data.draw(st.integers(0, graph[0] - 1)))


# ------------------------------------------------------------------ kernels

GPU = [
    (problem, name)
    for problem in ("bfs", "sssp", "apsp")
    for name, found in implementations(problem).items()
    if "gpu" in found.needs and name not in ("harish-racy", "fused-many")  # the latter: test_many.py
]
TINY = Enterprise(blocks=2, threads=2, lanes=1, small=1, large=1)
#: sizes that let a dozen edges span blocks, pieces of rows, both directions and both ends of every list
RULES = {
    "fused": [
        (1, 1, 0, 14, 24),
        (2, 0, 9, 2, 2),
        (2, 1, 4, 10**6, 10**6),
        (128, 256, 1024, 14, 24),
        (128, 256, 0, 1, 2),
    ],
    "near-far": [(1, 1, 0), (2, 500, 9, 1, 0), (2, 1, 2**20, 2, 1), (128, 0, 1024, 3)],
}
#: as many pivots as a tile has rows, staged in two parts; fewer; and rest wider than high
TILES = [
    Tiles(Tile(2, 2, 4, 4), Tile(2, 2, 4, 2), Tile(2, 2, 4, 4), 4),
    Tiles(Tile(2, 2, 2, 2), Tile(1, 2, 4, 1), Tile(2, 2, 4, 4), 4),
    Tiles(Tile(1, 4, 4, 1), Tile(2, 4, 2, 1), Tile(2, 2, 2, 4), 4),
]
MANY = settings(max_examples=7 if gateway.simulated else 4)
small_graphs = graphs.filter(lambda graph: graph[0] <= (40 if gateway.simulated else 10**6))


def makings(name):
    """What a solver may be made with: one for the usual, and tiny ones."""
    if name in RULES:
        threads = [2, 8] if gateway.simulated else [32, 1024]
        return [{"rule": rule, "threads": t} for rule, t in zip(RULES[name], cycle(threads))]
    if name == "enterprise":
        return [{}, {"shape": TINY if gateway.simulated else Enterprise(small=2, large=4)}]
    if name == "floyd-warshall":
        return [{}]
    if name == "floyd-warshall-blocked":
        return [{}, {"tile": 2 if gateway.simulated else 8}]
    if name == "floyd-warshall-registers":
        return [{}, *({"tiles": tiles} for tiles in TILES)]
    return [{}, {"threads": 2}]


@pytest.mark.parametrize(("problem", "name", "made"), [(*one, made) for one in GPU for made in makings(one[1])])
@MANY
@given(graph=small_graphs, data=st.data())
def test_kernels_give_the_oracles_distances(problem, name, made, graph, data):
    if problem == "apsp" and graph[0] > (9 if gateway.simulated else 60):
        graph = (5, [(u % 5, v % 5) for u, v in graph[1]][:20])
    assert_right(problem, name, graph, data.draw(st.integers(0, graph[0] - 1)), **made)


@pytest.mark.parametrize("made", makings("floyd-warshall-registers"))
def test_tiles_in_registers_are_right_over_many_steps(made):
    edges = [(u, v) for u in range(20) for v in range(20) if (3 * u + 5 * v) % 7 < 3]
    assert_right("apsp", "floyd-warshall-registers", (20, edges), 0, **made)


@pytest.mark.parametrize("name", [name for problem, name in GPU if name.startswith("floyd-warshall")])
def test_distances_just_below_the_bound_are_no_sums_that_overflow(name):
    weight = (int(FAR) // 2 - 1) // 4
    network = Network(np.array([0, 1, 2, 3, 4, 4]), np.arange(1, 5, dtype=np.int32), np.full(4, weight, np.int32))
    solver = implementation(name, "apsp").prepare(network, Params(), NoTimer())
    solver.solve(0, NoTimer())  # may be asked again
    assert solver.solve(0, NoTimer()).tolist() == [
        [weight * (v - u) if v >= u else int(FAR) for v in range(5)] for u in range(5)
    ]


@pytest.mark.parametrize("rule", RULES["fused"])
def test_fused_goes_bottom_up_and_back_past_hubs(rule):
    layers = [[0], range(1, 13), range(13, 20), [20], [21], [22]]
    edges = [(u, v) for a, b in zip(layers, layers[1:], strict=False) for u in a for v in b]
    assert_right("bfs", "fused", (24, edges), 0, rule=rule, threads=8 if gateway.simulated else 64)


def test_fused_lists_more_vertices_than_the_part_of_a_block_has_room_for():
    legs = [(0, v) for v in range(1, 13)] + [(v, v + 12) for v in range(1, 25)]  # twelve paths of three edges
    tail = [(v, v + 1) for v in range(36, 66)]  # what is unexplored keeps the search top-down
    made = {"rule": (128, 256, 0, 1, 2), "threads": 8 if gateway.simulated else 64}
    assert_right("bfs", "fused", (67, legs + tail), 0, **made)


@pytest.mark.parametrize("share", [0, 2**20])
def test_near_far_keeps_distances_that_are_a_threshold(share):
    offsets, targets = rows_of(graph_of(8, [(u, u + 1) for u in range(7)]))
    network = Network(offsets, targets, np.ones(7, np.int32))
    solver = implementation("near-far", "sssp").prepare(network, Params(), NoTimer(), rule=(1, 2, share), threads=32)
    assert solver.solve(0, NoTimer()).tolist() == list(range(8))


def test_near_far_gives_up_a_queue_that_overflows():
    steps = 6  # each finds two vertices, one more than there is room for
    edges = [(u, v) for u in range(steps) for v in (u + 1, u + 1 + steps)] + [(v, 0) for v in range(steps, 13)]
    offsets, targets = rows_of(graph_of(13, edges))
    network = Network(offsets, targets, np.ones(targets.size, np.int32))
    made = {"rule": (128, 100, 2**20, 1, 0), "threads": 1 if gateway.simulated else 32}
    solver = implementation("near-far", "sssp").prepare(network, Params(), NoTimer(), **made)
    solver.solve(0, NoTimer())
    assert solver.counters["rounds"] == steps + 1


@pytest.mark.gpu
@pytest.mark.skipif(gateway.simulated, reason="needs a GPU")
@pytest.mark.parametrize(("problem", "name"), GPU)
@pytest.mark.parametrize("graph", ["slides-apsp-4-like", "slides-apsp-2-like"])
def test_kernels_are_right_on_networks_that_fill_a_gpu(problem, name, graph):
    spec = problem_of(problem).spec("random", 4, 1)
    opened = problem_of(problem).open(graph)
    network = problem_of(problem).data(opened, spec)
    solver = implementation(name, problem).prepare(network, Params(), NoTimer())
    for source in draw_sources(network, 4, 1).tolist():
        distances = solver.solve(source, NoTimer())
        if problem == "apsp":
            distances = distances[source]
        assert check.fault(network, source, distances) is None


# ------------------------------------------------------------------ the check


@given(graph=graphs, weighted=st.booleans(), data=st.data())
def test_the_certificate_holds_for_the_truth_and_for_nothing_else(graph, weighted, data):
    network, edges = network_of(graph, "sssp" if weighted else "bfs")
    source = data.draw(st.integers(0, graph[0] - 1))
    truth = np.array(expected(graph, edges, source), np.int32)
    assert check.fault(network, source, truth) is None
    other = truth.copy()
    v = data.draw(st.integers(0, graph[0] - 1))
    other[v] = data.draw(st.sampled_from([0, 1, int(truth[v]) - 1, min(int(truth[v]) + 1, int(FAR)), int(FAR)]))
    if other[v] != truth[v] and other[v] >= 0:
        assert check.fault(network, source, other) is not None


@given(graph=graphs)
def test_reached_counts_vertices_and_the_edges_that_leave_them(graph):
    network, edges = network_of(graph, "bfs")
    found = expected(graph, edges, 0)
    inside = {v for v, d in enumerate(found) if d != FAR}
    vertices, count, farthest, _ = check.summary(network.offsets, np.array(found, np.int32))
    assert (vertices, count) == (len(inside), sum(u in inside for u, _, _ in edges))
    assert farthest == max(found[v] for v in inside)


@given(graph=graphs, seed=st.integers(0, 9))
def test_weights_depend_on_seed_and_ends_alone(graph, seed):
    offsets, targets = rows_of(graph_of(*graph))
    sources = np.repeat(np.arange(graph[0]), np.diff(offsets)).tolist()
    one, both = (drawn_weights(offsets, targets, seed, way).tolist() for way in (False, True))
    assert all(1 <= weight <= MOST_WEIGHT for weight in one + both)
    ends = list(zip(sources, targets.tolist(), strict=True))
    assert len(set(zip(ends, one, strict=True))) == len(set(ends))
    unordered = [(min(end), max(end)) for end in ends]
    assert len(set(zip(unordered, both, strict=True))) == len(set(unordered))


# ------------------------------------------------------------------ workloads


@given(graph=graphs, count=st.integers(1, 40), seed=st.integers(0, 5))
def test_sources_are_distinct_vertices_with_an_edge_out(graph, count, seed):
    network, edges = network_of(graph, "bfs")
    sources = draw_sources(network, count, seed).tolist()
    able = {u for u, _, _ in edges}
    assert len(set(sources)) == len(sources) == (min(count, len(able)) or 1)
    assert set(sources) <= (able or {0})


class Opened:
    """A graph as the library opens it."""

    name = "drawn"
    weighted_rows = None

    def __init__(self, vertices, edges):
        self.vertices, self.rows, self.ids = vertices, rows_of(graph_of(vertices, edges)), Counted(vertices)


def test_teps_count_an_undirected_edge_once():
    path = [(0, 1), (1, 2), (2, 3)]
    for edges, counts in ((path, [3, 2, 1, 0]), (path + [(v, u) for u, v in path], [3, 3, 3, 3])):
        network, weighted = network_of((4, edges), "bfs")
        for source, count in enumerate(counts):
            assert traversed(network, np.array(expected((4, edges), weighted, source), np.int32)) == count


def workload(problem, vertices, edges):
    graph, spec = Opened(vertices, edges), problem.spec("random", 4, 1)
    return problem.workload(spec, graph, problem.data(graph, spec), None)


def test_a_graph_without_vertices_and_one_too_large_for_all_pairs_are_refused():
    with pytest.raises(InputError, match="no vertices"):
        workload(Bfs(), 0, [])
    with pytest.raises(InputError, match="50,000 vertices are too many for apsp"):
        workload(Apsp(), 50_000, [])
