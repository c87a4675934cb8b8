"""Searches from many sources at once: what is counted of each, and the distances, are those of the oracle."""

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive import distances_from
from planned import ran
from strategies import digraphs, graph_of

from grailbench.cuda import gateway
from grailbench.errors import TooLittleMemory
from grailbench.graph.csr import rows_of
from grailbench.harness.timing import PhaseTimer
from grailbench.problems import contract
from grailbench.problems.contract import implementation
from grailbench.problems.traversal import cpu as on_cpu
from grailbench.problems.traversal.gpu import many as on_gpu
from grailbench.problems.traversal.index import FAR, Implementation, Network, NoTimer, Params, Together
from grailbench.problems.traversal.problem import Bfs

gateway.require()
LOW = 2**32 - 1


def mixed(vertex, salt):
    """32 bits of hash of a vertex, in plain Python."""
    x = vertex ^ salt
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & LOW
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & LOW
    return x ^ (x >> 16)


def told(edges, found):
    """What `Found` has of a search, by the distances that the oracle found."""
    mark = 0
    for v, distance in found.items():
        mark ^= mixed(v, mixed(distance, 0x9E3779B9))
    return len(found), sum(u in found for u, _ in edges), max(found.values()), mark


def network_of(vertices, edges):
    return Network(*rows_of(graph_of(vertices, edges)))


def assert_right(solver, vertices, edges, sources):
    asked, each = np.array(sources), [(u, v, 1) for u, v in edges]
    truth = [distances_from(vertices, each, source) for source in sources]
    solver.expect(asked.size)
    for _ in range(2):  # a solver may be asked again
        found = solver.search(asked, NoTimer())
        assert [tuple(map(int, line)) for line in zip(*found, strict=True)] == [told(edges, one) for one in truth]
    distances = list(solver.solve_each(asked, NoTimer()))
    assert [one.tolist() for one in distances] == [[one.get(v, int(FAR)) for v in range(vertices)] for one in truth]
    assert all(one.dtype == np.int32 for one in distances)


def path(length):
    return length, [(u, u + 1) for u in range(length - 1)]


graphs = digraphs().filter(lambda graph: 0 < graph[0] <= 90)
#: a hub with rows of seventy both ways, self-loops, duplicates, isolated vertices
HUB = (72, [(u, 0) for u in range(70)] + [(0, u) for u in range(70)] + [(5, 6), (5, 6), (7, 7)])


@pytest.mark.parametrize("threads", [1, 3])
@settings(max_examples=8)
@given(graph=graphs, data=st.data())
@example(graph=HUB, data=None)
@example(graph=path(70), data=None)
def test_searches_on_the_cpu_are_the_oracles(threads, graph, data):
    sources = range(graph[0]) if data is None else data.draw(st.permutations(range(graph[0])))
    if data is not None:
        sources = sources[: data.draw(st.integers(1, graph[0]))]
    solver = implementation("many", "bfs").prepare(network_of(*graph), Params(threads=threads), NoTimer())
    assert_right(solver, *graph, list(sources))


@pytest.mark.parametrize("alpha", [0, 10**9])
def test_the_cpu_pushes_and_pulls_the_same(alpha, monkeypatch):
    monkeypatch.setattr(on_cpu, "ALPHA", alpha)
    search = on_cpu._search.py_func  # compiled code would keep the constant
    monkeypatch.setattr(on_cpu, "_search", search)
    solver = implementation("many", "bfs").prepare(network_of(*HUB), Params(threads=1), NoTimer())
    assert_right(solver, *HUB, list(range(72)))
    assert (solver.counters["bottom_up"] == 0) == (alpha == 0)


SMALL = gateway.simulated
#: rules that push, pull, cut every row; few words a launch
MADE = [{"rule": (0, 0, 1)}, {"rule": (10**6, 1, 2)}, {"rule": (2, 2, 3), "most": 1}]


@pytest.mark.parametrize("made", MADE)
@settings(max_examples=4 if SMALL else 20)
@given(graph=graphs.filter(lambda graph: graph[0] <= (20 if SMALL else 90)), data=st.data())
def test_searches_on_a_gpu_are_the_oracles(made, graph, data):
    sources = data.draw(st.permutations(range(graph[0])))[: data.draw(st.integers(1, graph[0]))]
    prepare = implementation("fused-many", "bfs").prepare
    solver = prepare(network_of(*graph), Params(), NoTimer(), threads=4 if SMALL else 64, **made)
    assert_right(solver, *graph, list(sources))


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("graph", [HUB, path(70)])
def test_more_sources_than_a_word_has_bits_go_past_hubs_and_long_chains(made, graph):
    vertices, edges = graph
    prepare = implementation("fused-many", "bfs").prepare
    solver = prepare(network_of(vertices, edges), Params(), NoTimer(), threads=8 if SMALL else 64, **made)
    assert_right(solver, vertices, edges, list(range(vertices - 2, 0, -1)))


def test_pieces_hold_every_edge_of_long_rows_once():
    offsets = np.array([0, 2, 2, 9, 12, 20])
    found = on_gpu.pieces(offsets, 3).tolist()
    assert found == [[2, 2, 5], [2, 5, 8], [2, 8, 9], [4, 12, 15], [4, 15, 18], [4, 18, 20]]
    assert on_gpu.pieces(offsets, 8).tolist() == [[-1, 0, 0]]


def test_sources_go_in_parts_where_all_do_not_fit_and_a_graph_that_does_not_is_refused(monkeypatch, device_memory):
    vertices, edges = path(130)
    prepare = implementation("fused-many", "bfs").prepare
    free = 2 * vertices * (on_gpu._MASKS + on_gpu._WORD)
    monkeypatch.setattr(on_gpu, "memory", lambda: (free, free))
    solver = prepare(network_of(vertices, edges), Params(), NoTimer(), threads=8 if SMALL else 64)
    assert solver.search(np.arange(130), NoTimer()).reached.tolist() == list(range(130, 0, -1))
    assert solver.counters["launches"] == 3
    solver = prepare(network_of(vertices, edges), Params(), NoTimer())
    device_memory(100)
    with pytest.raises(TooLittleMemory, match=r"searching 130 vertices from 64 sources .*\(fused needs less\)"):
        solver.expect(130)


class Spoiled(Together):
    """Right searches, but for one of what is told, or the distances."""

    def __init__(self, right, spoiled):
        self.right, self.spoiled = right, spoiled

    def search(self, sources, timer):
        found = self.right.search(sources, timer)
        found.reached[1] += self.spoiled == "reached"
        found.marks[0] ^= self.spoiled == "marks"
        return found

    def solve_each(self, sources, timer):
        for distances in self.right.solve_each(sources, timer):
            distances[distances == 1] = 2 if self.spoiled == "distances" else 1
            yield distances


@pytest.mark.parametrize(("spoiled", "wrong"), [("reached", 1), ("marks", 1), ("distances", 3), ("nothing", 0)])
def test_what_searches_together_tell_must_be_true_of_their_distances(diamond, tmp_path, monkeypatch, spoiled, wrong):
    def prepare(cls, network, params, timer):
        return Spoiled(implementation("many", "bfs").prepare(network, params, timer), spoiled)

    body = {"name": "toy", "problem": "bfs", "source": "tests", "prepare": classmethod(prepare)}
    toy = type("Toy", (Implementation,), body)
    monkeypatch.setitem(contract._registry["bfs"], "toy", toy)
    block = {"problem": "bfs", "datasets": [diamond], "trials": 2, "count": 3, "from_edges": True}
    rows = ran(tmp_path / "run", block | {"implementations": ["toy", "many"]}).rows
    (verdict,) = {(row["status"], (row["counters"] or {}).get("wrong_searches", 0)) for row in rows
                  if row["impl"] == "toy" and (wrong or row["phase"] == "solve")}  # fmt: skip
    assert verdict == (("wrong", wrong) if wrong else ("ok", 0))
    right = [row for row in rows if row["impl"] == "many" and row["phase"] == "solve" and not row["under"]]
    assert len(right) == 2
    assert all(row["rate"] > 0 for row in right)


def test_the_rate_counts_the_edges_of_all_searches_over_the_time_of_all():
    vertices, edges = path(4)
    data, timer = network_of(vertices, edges), PhaseTimer()
    trial = Bfs().trial(implementation("many", "bfs"), Params(threads=1), data, np.arange(3), timer)
    assert trial.rate == pytest.approx((3 + 2 + 1) / timer.phases["", "solve"] * 1e3)
