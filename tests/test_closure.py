"""Closures: every implementation equals the oracle bit by bit, on the CPU, in the simulator, and on a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import given, settings
from naive import closure
from strategies import digraphs, edges_of, graph_of

from grailbench.closure import bits as packed
from grailbench.closure import check
from grailbench.closure.condense import condense
from grailbench.closure.cpu import sweep, warshall
from grailbench.closure.index import Closed, NoTimer, Params, Relation
from grailbench.closure.problem import Closure, checksum
from grailbench.contract import Attempt, implementations
from grailbench.device import gateway
from grailbench.errors import CheckFailed, InputError, MachineLacks
from grailbench.graph.generate.shapes import parse_shape
from grailbench.graph.ids import Counted

gateway.require()


def runs(cls):
    """Whether this machine can run it: `managed` wants CuPy on a GPU."""
    try:
        cls.require()
    except MachineLacks:
        return False
    return True


ON_CPU = [name for name, cls in implementations("closure").items() if "gpu" not in cls.needs]
ON_GPU = [name for name, cls in implementations("closure").items() if "gpu" in cls.needs and runs(cls)]
#: in the simulator, a launch a pivot and a Python thread an entry bound what can be tried
FEW = settings(max_examples=5 if gateway.simulated else 60)
BITS = ["warshall-bits-gpu", "condense-bits-gpu"]
SMALL = 14 if gateway.simulated else 60


def expected(vertices, edges):
    """bool[n, n]: the oracle's closure, nobody reaching himself."""
    found = np.zeros((vertices, vertices), bool)
    for u, reached in enumerate(closure(vertices, edges)):
        found[u, sorted(reached - {u})] = True
    return found


def solved(name, graph, threads=1):
    """The closure by one implementation, asked twice: the second answer counts, the input must be as it was."""
    relation = Relation(graph)
    solver = implementations("closure")[name].prepare(relation, Params(threads=threads), NoTimer())
    solver.solve(NoTimer())
    found = solver.solve(NoTimer())
    assert np.array_equal(relation.matrix, packed.matrix_of(graph))
    assert np.array_equal(relation.bits, packed.pack_graph(graph))
    return found


def assert_closed(name, vertices, edges, threads=1):
    found = solved(name, graph_of(vertices, edges), threads)
    right = expected(vertices, edges)
    assert np.array_equal(packed.unpack(found.packed()), right)
    assert found.edges == right.sum()


# ------------------------------------------------------------------ packed bits


@given(graph=digraphs())
def test_packed_bits_hold_what_the_matrix_holds(graph):
    bits, matrix = packed.pack_graph(graph_of(*graph)), packed.matrix_of(graph_of(*graph))
    assert np.array_equal(packed.unpack(bits), matrix.astype(bool))
    assert np.array_equal(packed.pack_matrix(matrix), bits)
    assert np.array_equal(packed.unpack(packed.transpose(bits)), matrix.T.astype(bool))
    assert packed.count(bits) == matrix.sum()
    assert edges_of(packed.graph_of_bits(bits)) == sorted({(u, v) for u, v in graph[1] if u != v})


@given(graph=digraphs())
def test_components_are_the_oracles_and_in_topological_order(graph):
    from naive import components

    found = condense(packed.pack_graph(graph_of(*graph)))
    theirs = components(*graph)
    assert len(set(zip(found.component.tolist(), theirs, strict=True))) == len(set(theirs)) == found.count
    assert all(found.component[u] <= found.component[v] for u, v in graph[1])
    for c in range(found.count):
        members = found.members[found.starts[c] : found.starts[c + 1]]
        assert np.array_equal(members, np.flatnonzero(found.component == c))


# ------------------------------------------------------------------ every implementation


@pytest.mark.parametrize("name", ON_CPU)
@given(graph=digraphs())
def test_on_the_cpu_the_closure_is_the_oracles(name, graph):
    if graph[0]:
        assert_closed(name, *graph)


@given(graph=digraphs())
def test_any_number_of_workers_gives_the_same_bits(graph):
    bits = packed.pack_graph(graph_of(*graph))
    one, three = bits.copy(), bits.copy()
    warshall.close(one, 1)
    warshall.close(three, 3, least=1)
    assert np.array_equal(one, three)


@pytest.mark.parametrize("name", [name for name in ON_GPU if name not in BITS])
@FEW
@given(graph=digraphs())
def test_kernels_of_the_report_give_the_oracles_closure(name, graph):
    vertices = min(graph[0], SMALL)
    edges = [(u, v) for u, v in graph[1] if u < vertices and v < vertices]
    if vertices:
        assert_closed(name, vertices, edges)


@pytest.mark.parametrize("name", BITS)
@FEW
@given(graph=digraphs())
def test_kernels_on_bits_give_the_oracles_closure(name, graph):
    if graph[0]:
        assert_closed(name, *graph)


@pytest.mark.parametrize("spec", ["path-130", "cycle-129", "custom-150-0.012", "scale-free-140", "star-70"])
@pytest.mark.parametrize("name", BITS)
def test_kernels_on_bits_span_several_steps_and_strips(name, spec):
    graph = parse_shape(spec).graph()
    assert_closed(name, graph.vertices, edges_of(graph))


@pytest.mark.parametrize("name", ON_CPU + ON_GPU)
@pytest.mark.parametrize(("vertices", "edges"), [(1, []), (1, [(0, 0)]), (2, [(1, 0)]), (3, [])])
def test_the_least_graphs_are_closed(name, vertices, edges):
    assert_closed(name, vertices, edges)


def test_figure_2_of_the_report():
    found = solved("floyd-warshall", graph_of(4, [(0, 1), (1, 2), (2, 3), (3, 1)]))
    right = [[0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    assert packed.unpack(found.packed()).astype(int).tolist() == right


def test_powers_stop_when_they_repeat():
    relation = Relation(parse_shape("path-12").graph())
    solver = implementations("closure")["matmul"].prepare(relation, Params(), NoTimer())
    solver.solve(NoTimer())
    assert solver.counters["products"] == 10
    complete = implementations("closure")["matmul"].prepare(
        Relation(parse_shape("complete-12").graph()), Params(), NoTimer()
    )
    complete.solve(NoTimer())
    assert complete.counters["products"] == 2  # the second power has the diagonal that the first lacks


def test_too_little_memory_is_said_with_the_need(monkeypatch):
    from grailbench.device import describe

    monkeypatch.setattr(describe, "memory", lambda: (100, 1 << 30))
    relation = Relation(parse_shape("path-64").graph())
    for name in ON_GPU:
        if name != "zero-copy":
            with pytest.raises(MachineLacks, match=r"closure of 64 vertices .* needs 0\.00 GiB of device memory"):
                implementations("closure")[name].prepare(relation, Params(), NoTimer())


# ------------------------------------------------------------------ as the harness sees it


class Opened:
    """A raw graph with a name."""

    def __init__(self, graph):
        self.name, self.graph, self.ids = "g", graph, Counted(graph.vertices)


def judged(graph, spoil=lambda bits, edges: (bits, edges)):
    problem = Closure()
    data = problem.data(Opened(graph), problem.spec("random", 1, 1))
    workload = problem.workload(problem.spec("random", 1, 1), Opened(graph), data, None)
    attempt = problem.attempt(implementations("closure")["condense-bits"], Params(), data, None, dict)
    return workload.judge("key", Attempt(spoil(*attempt.answers)))


def test_a_right_closure_is_judged_right_with_its_edges_and_checksum():
    graph = parse_shape("cycle-70").graph()
    verdict = judged(graph)
    assert (verdict.fault, verdict.positives) == (None, 70 * 69)
    assert verdict.checksum == checksum(check.reference(Relation(graph)))


def test_one_wrong_bit_is_found_and_named():
    def spoil(bits, edges):
        bits[3, 1] ^= np.uint64(1) << np.uint64(2)
        return bits, edges

    assert (
        judged(parse_shape("cycle-70").graph(), spoil).fault == "1 pairs are wrong, the first (3, 66): there is a path"
    )
    assert judged(parse_shape("star-70").graph(), spoil).fault.endswith("(3, 66): there is no path")


def test_a_wrong_count_of_edges_is_a_fault():
    verdict = judged(parse_shape("path-9").graph(), lambda bits, edges: (bits, edges + 1))
    assert verdict.fault == "37 edges were counted, and the closure has 36"


def test_pairs_of_vertices_on_cycles_are_counted_beside():
    # a cycle of 50 vertices, a tail of three, the last of which has a self-loop
    edges = [(v, (v + 1) % 50) for v in range(50)] + [(7, 50), (50, 51), (51, 52), (52, 52)]
    verdict = judged(graph_of(53, edges))
    assert verdict.positives == 50 * 49 + 50 * 3 + 3
    assert verdict.counters["pairs_with_cycles"] == verdict.positives + 51


@given(graph=digraphs())
def test_vertices_on_cycles_are_those_that_a_walk_leads_back_to(graph):
    vertices, edges = graph
    reached = closure(vertices, edges)
    back = {u for u in range(vertices) if any(a == u and u in reached[b] for a, b in edges)}
    assert check.cyclic(graph_of(vertices, edges)) == len(back)


def test_the_two_references_agree(monkeypatch):
    relation = Relation(parse_shape("custom-150-0.02").graph())
    by_scipy = check.reference(relation)
    monkeypatch.setattr(check, "SCIPY_STEPS", 0)
    assert not check.scipy_suffices(relation)
    assert np.array_equal(check.reference(relation), by_scipy)


def test_a_wrong_sweep_is_judged_wrong_where_scipy_is_too_slow(monkeypatch):
    """The reference of large graphs shares no code with `condense-bits`."""
    right = sweep._spread

    def wrong(reach, component):
        found = right(reach, component)
        found[101, 1] ^= np.uint64(1) << np.uint64(7)
        return found

    monkeypatch.setattr(check, "SCIPY_STEPS", 0)
    monkeypatch.setattr(sweep, "_spread", wrong)
    graph = parse_shape("erdos-renyi-200-0.01").graph()
    assert "the first (101, 71)" in judged(graph, lambda bits, edges: (bits, None)).fault


def test_a_wrong_reference_is_noticed(monkeypatch):
    monkeypatch.setattr(check, "SCIPY_STEPS", 0)
    monkeypatch.setattr(check, "closure_rows", lambda graph: np.zeros((graph.vertices, 1), np.uint64))
    with pytest.raises(CheckFailed, match="row 0 differs"):
        check.reference(Relation(parse_shape("path-9").graph()))


def test_a_graph_without_vertices_is_refused():
    graph = graph_of(0, [])
    with pytest.raises(InputError, match="no vertices"):
        Closure().workload(None, Opened(graph), Relation(graph), None)


def test_a_closure_from_a_matrix_and_from_bits_is_the_same():
    graph = parse_shape("custom-70-0.03").graph()
    by_matrix, by_bits = solved("floyd-warshall", graph), solved("warshall-bits", graph)
    assert isinstance(by_matrix, Closed)
    assert np.array_equal(by_matrix.packed(), by_bits.packed())


def test_the_closure_of_a_graph_is_exported_and_read_back(session_cache, tmp_path):
    from grailbench.closure.export import export
    from grailbench.graph.readers import read_graph

    record = export("cycle-5", tmp_path / "c.tuwien", closure=True)
    assert (record["vertices"], record["edges"]) == (5, 20)
    assert edges_of(read_graph(tmp_path / "c.tuwien")) == [(u, v) for u in range(5) for v in range(5) if u != v]


def test_the_shipped_config_plans_every_implementation_on_every_kind_of_random_graph():
    from grailbench.bench.plan import load_config, make_plan

    cells = make_plan(load_config("closure")).cells
    assert {cell.impl for cell in cells} == set(implementations("closure"))
    assert {cell.dataset.rsplit("-", 2)[0].rstrip("-0123456789") for cell in cells} >= {"custom", "erdos-renyi"}
    assert all(cell.trials == 10 and cell.problem == "closure" for cell in cells)
