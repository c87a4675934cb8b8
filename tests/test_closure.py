"""Closures: every implementation equals the oracle bit by bit, on the CPU, in the simulator, and on a GPU."""

import subprocess
import sys

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive import closure, components
from strategies import digraphs, edges_of, graph_of

from grailbench.cuda import gateway
from grailbench.errors import CheckFailed, InputError, MachineLacks, TooLittleMemory
from grailbench.graph.csr import rows_of
from grailbench.graph.generate.shapes import parse_shape
from grailbench.graph.ids import Counted
from grailbench.problems.closure import bits as packed
from grailbench.problems.closure import check, index, sweep
from grailbench.problems.closure import problem as closure_problem
from grailbench.problems.closure.gpu import sweep as gpu_sweep
from grailbench.problems.closure.index import Block, NoTimer, Params, Relation
from grailbench.problems.closure.problem import Closure, checksum
from grailbench.problems.closure.sweep import condense
from grailbench.problems.contract import Attempt, implementations

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
PAIRS = {"condense-pairs", "condense-pairs-gpu"}
SMALL = 9 if gateway.simulated else 60
MOST = 150 if gateway.simulated else 10**6  #: vertices: levels of the simulator take milliseconds


def expected(vertices, edges):
    """bool[n, n]: the oracle's closure, nobody reaching himself."""
    found = np.zeros((vertices, vertices), bool)
    for u, reached in enumerate(closure(vertices, edges)):
        found[u, sorted(reached - {u})] = True
    return found


def matrix(vertices, closed):
    """bool[n, n]: a closure in any form."""
    if closed.parts is None:
        return packed.unpack(closed.packed())
    assert closed.reached.sum() == closed.edges
    return assembled(vertices, closed.parts())


def assembled(vertices, blocks):
    """bool[n, n]: the closure that blocks make up, without its diagonal."""
    found = np.zeros((vertices, vertices), bool)
    for block in blocks:
        at = np.arange(block.targets.shape[0])
        found[:, block.targets] = (block.bits[:, at >> 6] >> (at & 63).astype(np.uint64)) & np.uint64(1)
    np.fill_diagonal(found, False)
    return found


def solved(name, graph, threads=1):
    """The closure by one implementation, asked twice: the second answer counts, the input must be as it was."""
    relation = Relation(graph)
    solver = implementations("closure")[name].prepare(relation, Params(threads=threads), NoTimer())
    solver.solve(NoTimer())
    found = solver.solve(NoTimer())
    assert {"matrix", "bits"}.isdisjoint(vars(relation)) or "condense" not in name
    assert np.array_equal(relation.matrix, packed.matrix_of(graph))
    assert np.array_equal(relation.bits, packed.pack_graph(graph))
    return found


def assert_closed(name, vertices, edges, threads=1):
    found = solved(name, graph_of(vertices, edges), threads)
    right = expected(vertices, edges)
    assert np.array_equal(matrix(vertices, found), right)
    assert found.edges == right.sum()


# ------------------------------------------------------------------ packed bits


@given(graph=digraphs())
def test_components_are_the_oracles_and_in_topological_order(graph):
    found = condense(*rows_of(graph_of(*graph)))
    theirs, component = components(*graph), found.component.tolist()
    assert len(set(zip(component, theirs, strict=True))) == len(set(theirs)) == found.count
    for c in range(found.count):
        members = found.members[found.starts[c] : found.starts[c + 1]]
        assert np.array_equal(members, np.flatnonzero(found.component == c))
        children = found.children[found.offsets[c] : found.offsets[c + 1]].tolist()
        assert children == sorted({component[v] for u, v in graph[1] if component[u] == c} - {c})
        assert all(child > c for child in children)


@settings(max_examples=20)
@given(graph=digraphs(), width=st.integers(1, 3), workers=st.integers(1, 3))
def test_blocks_of_any_width_make_up_the_closure_and_so_do_their_pairs(graph, width, workers):
    vertices, edges = graph
    if not vertices:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "LEAST", 1)
        patch.setattr(sweep, "PIECE", 16)  # a thread for each pair
        condensed, right = condense(*rows_of(graph_of(*graph))), expected(*graph)
        whole = np.full((vertices, packed.words(vertices)), 2**64 - 1, np.uint64)
        assert np.array_equal(sweep.close(condensed, whole, workers), right.sum(1))
        assert np.array_equal(packed.unpack(whole), right)
        blocks = sweep.Blocks(condensed, width, workers)
        assert blocks.count() == right.sum()
        assert np.array_equal(blocks.reached, right.sum(1))
        assert len(list(blocks.spread())) == len(blocks) == -(-packed.words(vertices) // width)
        for free in (10**9, 0):
            patch.setattr(index.memory, "available", lambda free=free: free)
            assert np.array_equal(assembled(vertices, blocks.spread()), right)
        pieces = [piece.copy() for piece in blocks.pairs(1)]
    found = sorted(tuple(pair) for piece in pieces for pair in piece.tolist())
    assert found == list(zip(*(ends.tolist() for ends in np.nonzero(right)), strict=True))
    assert all(0 < len(piece) <= 64 * width for piece in pieces)


# ------------------------------------------------------------------ every implementation


@pytest.mark.parametrize("name", ON_CPU)
@example(graph=(1, [(0, 0)]))
@given(graph=digraphs())
def test_on_the_cpu_the_closure_is_the_oracles(name, graph):
    if graph[0]:
        assert_closed(name, *graph)


@pytest.mark.parametrize("name", [name for name in ON_GPU if name not in PAIRS])
@FEW
@example(graph=(1, [(0, 0)]))
@example(graph=(3, [(1, 0)]))
@given(graph=digraphs())
def test_kernels_give_the_oracles_closure(name, graph):
    vertices = graph[0] if name in BITS else min(graph[0], SMALL)
    edges = [(u, v) for u, v in graph[1] if u < vertices and v < vertices]
    if vertices:
        assert_closed(name, vertices, edges)


@pytest.mark.parametrize("spec", ["path-130", "cycle-129", "custom-150-0.012"])
@pytest.mark.parametrize("name", BITS)
def test_kernels_on_bits_span_several_steps_and_strips(name, spec):
    graph = parse_shape(spec).graph()
    assert_closed(name, graph.vertices, edges_of(graph))


@settings(max_examples=6 if gateway.simulated else 60)
@example(graph=(150, [(u, v) for u in range(150) for v in range(u + 7, min(u + 36, 150), 7)]), width=1, fewest=0)
@given(graph=digraphs(), width=st.integers(1, 5), fewest=st.sampled_from([0, gpu_sweep.FEWEST]))
def test_sets_on_the_device_are_right_in_blocks_of_any_width_and_so_are_their_pairs(graph, width, fewest):
    vertices = min(graph[0], MOST)
    edges = [(u, v) for u, v in graph[1] if u < vertices and v < vertices]
    if not vertices:
        return
    right = expected(vertices, edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_sweep, "FEWEST", fewest)
        patch.setattr(gpu_sweep, "PIECE", 64)
        given = gpu_sweep.ordered(graph_of(vertices, edges), NoTimer())
        sets = gpu_sweep.Sets(given, vertices, width)
        assert sets.count() == right.sum()
        assert np.array_equal(sets.reached, right.sum(1))
        assert np.array_equal(assembled(vertices, sets.spread()), right)
        found = [tuple(pair) for piece in sets.pairs() for pair in piece.tolist()]
    assert sorted(found) == list(zip(*(ends.tolist() for ends in np.nonzero(right)), strict=True))
    assert np.array_equal(sets.reached, right.sum(1))
    assert (given.places, len(sets)) == (1 + len(set(components(vertices, edges))), -(-packed.words(vertices) // width))
    assert not sets.whole or found == sorted(found)


@pytest.mark.parametrize("fewest", [0, gpu_sweep.FEWEST])
def test_vertices_of_many_children_share_the_threads_of_a_block(monkeypatch, fewest):
    """A hub above and one below, and two hubs on a level, with more children than `LONG` and than threads."""
    monkeypatch.setattr(gpu_sweep, "FEWEST", fewest)
    many = 3 * gpu_sweep.LONG
    leaves = range(4, 4 + many)
    edges = [(0, 1), (0, 2), *((u, v) for u in (1, 2) for v in leaves), *((v, 3) for v in leaves)]
    given = gpu_sweep.ordered(graph_of(4 + many, edges), NoTimer())
    assert given.long == 2
    sets = gpu_sweep.Sets(given, 4 + many, 9)
    assert sets.count() == expected(4 + many, edges).sum()


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


def test_too_little_memory_is_said_with_the_need(device_memory):
    device_memory(100)
    relation = Relation(parse_shape("path-64").graph())
    for name in ON_GPU:
        if name != "zero-copy":
            with pytest.raises(MachineLacks, match=r"closure of 64 vertices .* needs 0\.00 GiB of device memory"):
                implementations("closure")[name].prepare(relation, Params(), NoTimer()).solve(NoTimer())


# ------------------------------------------------------------------ as the harness sees it


class Opened:
    """A raw graph with a name."""

    def __init__(self, graph):
        self.name, self.graph, self.ids = "g", graph, Counted(graph.vertices)


def judged(graph, spoil=lambda bits, edges: (bits, edges), **params):
    problem = Closure()
    data = problem.data(Opened(graph), problem.spec("random", 1, 1))
    workload = problem.workload(problem.spec("random", 1, 1), Opened(graph), data, None)
    attempt = problem.attempt(implementations("closure")["condense-bits"], Params(**params), data, None, dict)
    return workload.judge("key", Attempt(spoil(*attempt.answers)))


def test_a_right_closure_is_judged_right_with_its_edges_and_checksum_and_a_wrong_count_or_none_is_said():
    graph = parse_shape("cycle-70").graph()
    verdict = judged(graph)
    assert (verdict.fault, verdict.positives) == (None, 70 * 69)
    everything = np.packbits(~np.eye(70, 128, dtype=bool) & (np.arange(128) < 70), axis=1, bitorder="little")
    assert verdict.checksum == checksum(everything.view(np.uint64))
    verdict = judged(parse_shape("path-9").graph(), lambda bits, edges: (bits, edges + 1))
    assert verdict.fault == "37 edges were counted, and the closure has 36"
    with pytest.raises(InputError, match="no vertices"):
        Closure().workload(None, Opened(graph_of(0, [])), Relation(graph_of(0, [])), None)


def test_a_large_closure_has_a_checksum_of_all_its_pieces(monkeypatch):
    monkeypatch.setattr(closure_problem, "PIECE", 64)
    bits = np.arange(40, dtype=np.uint64).reshape(10, 4)
    marks = {checksum(bits)}
    for at in range(40):
        other = bits.copy()
        other[at // 4, at % 4] ^= np.uint64(1)
        marks.add(checksum(other))
    assert len(marks) == 41


def test_a_closure_in_blocks_is_compared_bit_by_bit(monkeypatch):
    graph = parse_shape("custom-150-0.02").graph()
    whole, parts = judged(graph), judged(graph, memory=8 * 150)
    assert (parts.fault, parts.positives) == (None, whole.positives)
    assert parts.checksum != whole.checksum
    right = sweep.Blocks.spread

    def wrong(self):
        for block in right(self):
            if 7 in block.targets:
                block.bits[101, 0] ^= np.uint64(1) << np.uint64(block.targets.tolist().index(7))
            yield block

    monkeypatch.setattr(sweep.Blocks, "spread", wrong)
    assert judged(graph, memory=8 * 150).fault.startswith("1 pairs are wrong, the first (101, 7): there is ")
    monkeypatch.setattr(sweep.Blocks, "spread", lambda self: list(right(self))[1:])
    with pytest.raises(CheckFailed, match="every target once"):
        judged(graph, memory=8 * 150)


def test_a_closure_too_large_for_memory_says_which_block_would_do(monkeypatch):
    from grailbench.util import memory

    monkeypatch.setattr(memory, "available", lambda: 5000)
    graph = parse_shape("path-300").graph()
    with pytest.raises(TooLittleMemory, match=r"needs 0\.0 MB .*\(--memory 2400: in blocks of 64 targets\)"):
        judged(graph)
    verdict = judged(graph, memory=2400)
    assert (verdict.fault, verdict.positives) == (None, 300 * 299 // 2)
    with pytest.raises(TooLittleMemory, match=r"\(--memory 2400 or more\)"):
        judged(graph, memory=2399)
    with pytest.raises(TooLittleMemory, match="take a smaller graph"):
        implementations("closure")["floyd-warshall"].prepare(Relation(graph), Params(), NoTimer())


def test_pairs_of_vertices_on_cycles_are_counted_beside():
    # a cycle of 50 vertices, a tail of three, the last of which has a self-loop
    edges = [(v, (v + 1) % 50) for v in range(50)] + [(7, 50), (50, 51), (51, 52), (52, 52)]
    verdict = judged(graph_of(53, edges))
    assert verdict.positives == 50 * 49 + 50 * 3 + 3
    assert verdict.counters["pairs_with_cycles"] == verdict.positives + 51


@given(graph=digraphs(), words=st.integers(1, 3), data=st.data())
def test_every_wrong_bit_is_counted_and_the_diagonal_is_not_looked_at(graph, words, data):
    vertices, edges = graph
    if not vertices:
        return
    right = expected(vertices, edges)
    found = np.zeros((vertices, 64 * packed.words(vertices)), bool)
    found[:, :vertices] = data.draw(st.sampled_from([right, ~right, right.T]))
    found[:, vertices:] = True
    differing = found[:, :vertices] ^ right
    np.fill_diagonal(differing, False)
    bits = np.packbits(found, axis=1, bitorder="little").view(np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "WORDS", words)
        said = check.Reference(Relation(graph_of(*graph))).compare([Block(np.arange(vertices, dtype=np.int32), bits)])
    assert (said.edges, said.wrong) == (right.sum(), differing.sum())
    if said.wrong:
        u, v, path = said.first
        assert u == np.flatnonzero(differing.any(1))[0]
        assert differing[u, v]
        assert path == right[u, v]


@pytest.mark.parametrize(("made", "fault"), [(9, "row 0 differs"), (2, "other strong components")])
def test_a_wrong_reference_is_noticed(monkeypatch, made, fault):
    Right = check.Columns
    monkeypatch.setattr(check, "Columns", lambda graph: Right(graph_of(9, [(0, 1), (1, 0)] if made == 2 else [])))
    with pytest.raises(CheckFailed, match=fault):
        judged(parse_shape("path-9").graph())


def test_the_closure_of_a_graph_is_exported_and_read_back(session_cache, tmp_path):
    from grailbench.graph.readers import read_graph
    from grailbench.problems.closure.export import export

    record = export("cycle-5", tmp_path / "c.tuwien", closure=True)
    assert (record["vertices"], record["edges"]) == (5, 20)
    assert edges_of(read_graph(tmp_path / "c.tuwien")) == [(u, v) for u in range(5) for v in range(5) if u != v]


def test_memory_of_bits_serves_the_next_closure_once_nothing_refers_to_it():
    packed.drop_reusable()
    part = packed.reusable(70, 2)[3:]
    place = part.ctypes.data
    assert packed.reusable(70, 2).ctypes.data != place - 3 * 16
    packed.drop_reusable()
    del part
    (spare,) = packed._last
    assert packed.reusable(70, 2).ctypes.data == spare.ctypes.data == place - 3 * 16
    packed.reusable(71, 2)
    assert packed._last[0].size == 142


#: `os` is emptied after the modules that were imported later, whose names are None by then
OUTLIVING = """
import os
from grailbench.problems.closure import bits
os.last = bits.reusable(4, 4), bits
"""


@pytest.mark.processes
def test_bits_may_outlive_the_modules_of_a_process_that_ends():
    done = subprocess.run([sys.executable, "-c", OUTLIVING], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_counts_past_32_bits_are_exact():
    solver = implementations("closure")["condense-bits"].prepare(
        Relation(parse_shape("path-70000").graph()), Params(memory=1 << 25), NoTimer()
    )
    assert solver.solve(NoTimer()).edges == 70_000 * 69_999 // 2 > 2**31


def pairs_of(path):
    return sorted(map(tuple, np.fromfile(path, "<i4").reshape(-1, 2).tolist()))


@pytest.mark.parametrize("impl", sorted(PAIRS))
def test_pairs_of_a_closure_are_streamed_to_a_file(session_cache, tmp_path, impl):
    from grailbench.problems.closure.export import export

    right = [(u, v) for u in range(129) for v in range(129) if u != v]
    record = export("cycle-129", tmp_path / "c.pairs", closure=True, format="pairs", impl=impl, block=2000)
    assert (record["edges"], pairs_of(tmp_path / "c.pairs")) == (len(right), right)
    parquet = pytest.importorskip("pyarrow.parquet")
    export("cycle-129", tmp_path / "c.parquet", closure=True, format="parquet", impl=impl)
    table = parquet.read_table(tmp_path / "c.parquet")
    assert sorted(zip(*(table[name].to_pylist() for name in ("source", "target")), strict=True)) == right


def test_a_stream_that_breaks_off_leaves_the_file_as_it_was(session_cache, tmp_path, monkeypatch):
    from grailbench.problems.closure.export import export

    right = sweep.Blocks.pairs

    def broken(self, piece=64):
        for number, found in enumerate(right(self, piece)):
            if number == 2:
                raise KeyboardInterrupt
            yield found

    monkeypatch.setattr(sweep.Blocks, "pairs", broken)
    (tmp_path / "c.pairs").write_bytes(b"before")
    for name, format in (("c.pairs", "pairs"), ("c.parquet", "parquet")):
        with pytest.raises(KeyboardInterrupt):
            export("path-300", tmp_path / name, closure=True, format=format)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"c.pairs": b"before"}


def test_a_closure_too_large_to_be_sorted_names_the_formats_that_are_not(session_cache, tmp_path, monkeypatch):
    from grailbench.problems.closure import export as module

    monkeypatch.setattr(module.memory, "available", lambda: 10**6)
    with pytest.raises(TooLittleMemory, match="--format pairs or parquet"):
        module.export("path-300", tmp_path / "c.tuwien", closure=True)
    with pytest.raises(InputError, match="makes no pairs"):
        module.export("path-300", tmp_path / "c.tuwien", closure=True, impl="condense-bits")
