"""The library from edges on the device: no pass over edges or queries on the host that condenses or maps; bad input."""

import gzip
import pickle
import re

import numpy as np
import pytest
import simulated as _simulated  # noqa: F401 - before any CUDA code
from commands import call

import grailbench as gb
from grailbench.api import graph as of_user
from grailbench.api import kernels
from grailbench.cuda.edges import staging
from grailbench.graph.csr import Graph as Raw
from grailbench.graph.ids import Counted, Listed, Named
from grailbench.problems.reachability.gpu.fused import batch
from grailbench.problems.reachability.gpu.fused import index as fused

CYCLIC = [0, 1, 2, 2, 4, 6, 5, 5], [1, 2, 0, 3, 3, 6, 4, 4]
ACYCLIC = [5, 4, 0, 0], [4, 3, 5, 2]
IDS = {
    "numbers": Counted(7),
    "numbers from 3 on": Counted(7, 3),
    "any numbers": Listed(np.array([9, 4, 70, 1, 2, 3, 5])),
    "names": Named(list("abcdefg")),
}


@pytest.fixture
def condensing(monkeypatch):
    """Graphs of any size are condensed on the device; returns the graphs that the host condensed."""
    monkeypatch.setattr(fused, "FEWEST", 0)
    seen, real = [], of_user.condensed
    monkeypatch.setattr(of_user, "condensed", lambda raw: seen.append(raw) or real(raw))
    return seen


def reachable(sources, targets, n=7):
    """bool[n, n]: the closure, each vertex itself included."""
    found = np.eye(n, dtype=bool)
    found[sources, targets] = True
    for _ in range(n):
        found |= found @ found
    return found


@pytest.mark.parametrize(("edges", "ids"), [*((CYCLIC, each) for each in IDS), (ACYCLIC, "numbers")])
def test_the_host_condenses_nothing_for_pairs_of_the_users_ids(edges, ids, condensing):
    graph = gb.Graph(Raw.from_edges(7, *map(np.array, edges)), IDS[ids])
    index = gb.build(graph, "gpu-fused")
    asked = [graph.ids_of(ends) for ends in np.divmod(np.arange(49), 7)]
    right = reachable(*edges)
    assert np.array_equal(index.reaches_many(*asked).reshape(7, 7), right)
    if graph.ids.numeric:
        narrow = [ends.astype(np.int8) for ends in asked]
        assert np.array_equal(index.reaches_many(*narrow).reshape(7, 7), right)
    assert np.array_equal(np.unpackbits(index.matrix(asked[1][:7], asked[1][:7]), axis=1, count=7), right)
    assert index.reaches(*graph.ids_of(np.array(edges)[:, 0]).tolist())
    assert (graph.vertices, index.graph.vertices, condensing) == (7, 7, [])


def test_pairs_are_checked_and_narrowed_on_all_cores_into_the_memory_that_travels(condensing, monkeypatch):
    monkeypatch.setattr(kernels, "PIECE", 3)
    monkeypatch.setattr(kernels, "usable_cores", lambda: 4)
    built = gb.build(gb.Graph.from_edges(*CYCLIC), "gpu-fused")
    copied, real = [], batch._Batch.bring

    def bring(self, sources, targets):
        copied.append(not (sources is self.host_sources and targets is self.host_targets))
        real(self, sources, targets)

    monkeypatch.setattr(batch._Batch, "bring", bring)
    us, vs = np.divmod(np.arange(49), 7)
    for size in (49, 20, 49):
        right = reachable(*CYCLIC)[us[:size], vs[:size]]
        assert np.array_equal(built.reaches_many(us[:size], vs[:size]), right)
        assert np.array_equal(built.reaches_many(us[:size].astype(np.int32), vs[:size]), right)
    assert copied == [False] * 6
    for at in (0, 25, 48):
        with pytest.raises(gb.InputError, match=f"place {at} of 49: vertex 7 is out"):
            built.reaches_many(us, np.where(np.arange(49) == at, 7, vs))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64])
def test_edges_are_checked_and_narrowed(dtype):
    ends = np.arange(20, dtype=dtype)
    found = Raw.from_edges(20, ends, ends[::-1])
    assert (found.sources.dtype, found.sources.tolist()) == (np.int32, list(range(20)))
    assert found.targets.tolist() == list(range(20))[::-1]
    assert (found.sources is ends) == (dtype == np.int32)
    for at in (0, 10, 19):
        with pytest.raises(gb.InputError, match=f"edge {at}: target 20 is out of range for 20 vertices"):
            Raw.from_edges(20, ends, np.where(np.arange(20) == at, 20, ends).astype(dtype))


@pytest.mark.parametrize("edges", [CYCLIC, ACYCLIC])
def test_what_needs_the_condensed_graph_on_the_host_condenses_it_once(edges, condensing, tmp_path):
    graph = gb.Graph.from_edges(*edges, vertices=7)
    index, right = gb.build(graph, "gpu-fused"), gb.build(gb.Graph.from_edges(*edges, vertices=7), "dfs")
    condensing.clear()
    every = range(7)
    assert [index.descendants(v).tolist() for v in every] == [right.descendants(v).tolist() for v in every]
    assert [index.ancestors(v).tolist() for v in every] == [right.ancestors(v).tolist() for v in every]
    assert index.count_descendants().tolist() == (reachable(*edges).sum(axis=1) - 1).tolist()
    assert index.path(5, 3) == [5, 4, 3]
    assert [index.explain(5, 3).reachable, index.explain(3, 5).reachable] == [True, False]
    assert index.reaches_any([3, 5], [4])
    assert condensing == [graph.raw]
    index.save(tmp_path / "saved.index")
    us, vs = np.divmod(np.arange(49), 7)
    for each in (pickle.loads(pickle.dumps(index)), gb.load(tmp_path / "saved.index", graph)):
        assert np.array_equal(each.reaches_many(us, vs).reshape(7, 7), reachable(*edges))


def test_a_graph_whose_condensed_form_alone_is_in_memory_is_built_from_that(condensing):
    graph = gb.Graph.open("path-4")
    index = gb.build(graph, "gpu-fused")
    assert not graph.loaded
    assert index.reaches_many([0, 3], [3, 0]).tolist() == [True, False]
    assert graph.raw.edges == 3
    assert gb.build(graph, "gpu-fused").reaches_many([0, 3], [3, 0]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("sources", "targets", "says"),
    [
        ([0, 7], [1, 1], r"place 1 of 2: vertex 7 is out of range"),
        ([0, 1], [-1, 1], r"place 0 of 2: vertex -1 "),
        ([2**31, 1], [1, 1], r"place 0 of 2: vertex 2147483648 "),
        ([2**32, 1], [1, 1], r"place 0 of 2: vertex 4294967296 "),
    ],
)
def test_ids_out_of_range_never_reach_the_device(sources, targets, says, condensing):
    index = gb.build(gb.Graph.from_edges(*CYCLIC), "gpu-fused")
    with pytest.raises(gb.InputError, match=says):
        index.reaches_many(np.array(sources), np.array(targets))
    if max(sources) < 2**31:
        with pytest.raises(gb.InputError, match="out of range: the graph has 7"):
            index.reaches_many_vertices(np.array(sources, np.int32), np.array(targets, np.int32))
    assert index.reaches_many([0], [3]).tolist() == [True]
    assert index.reaches_many([], []).tolist() == []


@pytest.mark.parametrize("ends", [([0, 3], [1, -2]), ([0, 9], [1, 2]), ([2**40, 0], [1, 2])])
def test_edges_out_of_range_are_refused_before_anything_is_copied(ends, condensing, monkeypatch):
    monkeypatch.setattr(staging, "to_device", lambda *columns: pytest.fail("edges were copied"))
    with pytest.raises(gb.InputError, match=r"is out of range for 5 vertices"):
        gb.build(gb.Graph.from_edges(*map(np.array, ends), vertices=5), "gpu-fused")


@pytest.mark.parametrize("vertices", [0, 1, 4])
def test_no_edges_and_no_vertices(vertices, condensing):
    index = gb.build(gb.Graph.from_edges([], [], vertices=vertices), "gpu-fused")
    us, vs = np.divmod(np.arange(vertices**2), max(vertices, 1))
    assert np.array_equal(index.reaches_many(us, vs), us == vs)
    with pytest.raises(gb.InputError):
        index.reaches_many([vertices], [vertices])


NEED = r"condensing and labeling 7 vertices and 8 edges on the GPU needs 0\.00 GiB of device memory"


def test_edges_beyond_device_memory_are_refused_with_the_need(condensing, device_memory, monkeypatch, tmp_path, capsys):
    gb.build(gb.Graph.from_edges(*CYCLIC), "gpu-fused")  # loads kernels, with graphs of its own
    device_memory(1000)
    monkeypatch.setattr(staging, "to_device", lambda *columns: pytest.fail("edges were copied"))
    with pytest.raises(gb.MachineLacks, match=rf"{NEED}.*take `parallel`") as told:
        gb.build(gb.Graph.from_edges(*CYCLIC), "gpu-fused")
    assert (told.value.exit_code, "\n" in str(told.value)) == (4, False)
    assert gb.build(gb.Graph.from_edges(*CYCLIC), "parallel", threads=1).reaches(5, 3)
    path = tmp_path / "cycles.el.gz"
    path.write_bytes(gzip.compress("".join(f"{u} {v}\n" for u, v in zip(*CYCLIC, strict=True)).encode()))
    code, out, err = call(capsys, "ask", path, "5", "3", "--impl", "gpu-fused")
    assert (code, out) == (4, "")
    assert re.fullmatch(r"error: labeling .* needs .* of device memory; .*take `parallel`.*", err.splitlines()[-1])
