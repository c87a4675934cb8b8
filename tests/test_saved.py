"""Index files: whole or refused, of one graph and one version, shared by threads and processes."""

import json
import os
import pickle
import shutil
import struct
import threading
import time
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import closure
from strategies import digraphs, graph_of

import grailbench as gb
import grailbench.api.spread
from grailbench import api
from grailbench.api.index import _unpacked
from grailbench.distributed import implementations as dask
from grailbench.graph import mapped
from grailbench.problems.contract import implementations

EDGES = (["b", "a", "c", "d", "e"], ["c", "b", "b", "e", "c"])  # a cycle of b and c


@pytest.fixture
def file(tmp_path):
    gb.build(gb.Graph.from_edges(*EDGES), "sequential").save(tmp_path / "letters.index")
    return tmp_path / "letters.index"


@pytest.mark.slow
@given(drawn=digraphs(), data=st.data())
def test_a_saved_index_has_every_answer(drawn, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "x.index"
    name = data.draw(st.sampled_from(["sequential", "parallel", "dfs", "bfs"]))
    filters = data.draw(st.sampled_from([None, "none", "tree", "hubs"]))
    graph = gb.Graph(graph_of(*drawn), gb.Graph.from_edges([], [], vertices=drawn[0]).ids)
    gb.build(graph, name, filters=filters, search=data.draw(st.sampled_from(["dfs", "bfs"]))).save(path)
    index = gb.load(path, graph=graph if data.draw(st.booleans()) else None)
    every = np.arange(drawn[0])
    found = np.unpackbits(index.matrix(every, every), axis=1, count=drawn[0])
    assert [set(np.flatnonzero(row).tolist()) for row in found] == closure(*drawn)
    assert all(index.path(u, v) for u, reached in enumerate(closure(*drawn)[:8]) for v in reached)
    assert index.graph.checksum == graph.checksum


def test_ids_parameters_and_size_are_kept(file):
    index = gb.load(file)
    assert index.reaches("a", "c")
    assert not index.reaches("c", "a")
    assert index.descendants("d").tolist() == ["b", "c", "e"]
    built = gb.build(gb.Graph.from_edges(*EDGES), "sequential")
    assert (index.implementation, index.params, index.nbytes) == ("sequential", built.params, built.nbytes)
    assert repr(index) == repr(built)
    again = pickle.loads(pickle.dumps(index))
    assert again.path("a", "c") == ["a", "b", "c"]


def test_equal_indexes_are_equal_files(file, tmp_path):
    gb.load(file).save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def test_opening_reads_no_array(file, monkeypatch):
    looked = []
    monkeypatch.setattr(mapped.Check, "_compare", lambda self: looked.append(self))
    index = gb.load(file)
    assert looked == []
    index.reaches("a", "b")
    index.reaches("b", "a")
    assert len(looked) == 1


@pytest.mark.slow
def test_damage_anywhere_is_refused(file):
    whole = file.read_bytes()
    for at in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        file.write_bytes(damaged)
        if whole[at : at + 1] == b"\0" and _answers(file):
            continue  # between the arrays, where nothing is read
        with pytest.raises(gb.InputError, match=r"letters.index: (the index is damaged|it is no index)"):
            gb.load(file).reaches("a", "b")


def _answers(file):
    try:
        return gb.load(file).reaches("a", "c")
    except gb.InputError:
        return False


def test_no_implementation_gets_arrays_before_they_are_checked(file, monkeypatch):
    """The first question to a damaged index of `sweep` crashed: its arrays were followed when the file was opened."""
    gb.build(gb.Graph.from_edges(*EDGES), "sweep").save(file)
    whole = file.read_bytes()
    start = mapped.header(whole, None)[1]
    file.write_bytes(whole[:start] + bytes([whole[start] ^ 0x40]) + whole[start + 1 :])
    sweep, seen = implementations()["sweep"], []
    monkeypatch.setattr(sweep, "restored", classmethod(lambda cls, *given: seen.append(given)))
    for index in (gb.load(file), gb.load(file, mmap=False), _unpacked(file.read_bytes())):
        for question in (lambda: index.reaches("a", "b"), lambda: index.nbytes, lambda: index.graph):  # noqa: B023
            with pytest.raises(gb.InputError, match="the index is damaged: array .* differs .*build it again and save"):
                question()
    with pytest.raises(gb.InputError, match="the index is damaged: array"):
        gb.load(file, implementation="dfs")
    assert seen == []


@pytest.mark.parametrize("left", [0, 23, 200, 4096, -1])
def test_a_file_that_was_cut_is_refused(file, left):
    file.write_bytes(file.read_bytes()[:left])
    with pytest.raises(gb.InputError, match=r"letters.index: (the index is damaged|it is no index)"):
        gb.load(file)


def test_another_version_is_refused(file, monkeypatch):
    monkeypatch.setattr(mapped, "VERSION", 2)
    with pytest.raises(gb.InputError, match="it is of format 1, written by grailbench .*; this version reads format 2"):
        gb.load(file)


def test_a_header_that_holds_nonsense_is_refused(file):
    whole = file.read_bytes()
    length = struct.unpack("<II", whole[16:24])[0]
    header = json.loads(whole[24 : 24 + length])
    for key, value in (("arrays", {}), ("params", {"dim": 0}), ("implementation", "nothing"), ("graph", {})):
        said = json.dumps({**header, key: value}, sort_keys=True).encode().ljust(length)
        if len(said) > length:
            continue
        file.write_bytes(whole[:16] + struct.pack("<II", length, zlib.crc32(said)) + said + whole[24 + length :])
        with pytest.raises(gb.InputError):
            gb.load(file)


def test_another_graph_is_refused(file):
    with pytest.raises(gb.InputError, match="it is the index of another graph, of 5 vertices"):
        gb.load(file, graph=gb.Graph.from_edges(["a"], ["b"]))
    renamed = gb.Graph.from_edges(*([each.upper() for each in ends] for ends in EDGES))
    with pytest.raises(gb.InputError, match="another graph"):
        gb.load(file, graph=renamed)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(gb.InputError, match="there is no such index file"):
        gb.load(tmp_path / "none")
    with pytest.raises(gb.InputError, match="cannot be read"):
        gb.load(tmp_path)
    index = gb.build(gb.Graph.from_edges([0], [1]))
    (tmp_path / "file").write_text("")
    with pytest.raises(gb.InputError, match="file"):
        index.save(tmp_path / "file" / "x")
    assert (tmp_path / "file").read_text() == ""


def test_saving_over_a_file_that_is_loaded_harms_nobody(file):
    """Readers see the old file or the new one, whole, and an index that was loaded keeps its own."""
    first, faults = gb.load(file), []
    other = gb.build(gb.Graph.from_edges(["a", "x"], ["x", "c"]), "sequential")

    def read():
        for _ in range(40):
            index = gb.load(file)
            if not index.reaches("a", "c"):
                faults.append(index)

    def write():
        for _ in range(20):
            other.save(file)
            first.save(file)

    threads = [threading.Thread(target=each) for each in (read, read, write)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert faults == []
    assert first.reaches("e", "b")
    assert [each.name for each in file.parent.iterdir()] == [file.name]


# ------------------------------------------------------------------ files that change under a loaded index

QUESTIONS = {
    "reaches": lambda index: index.reaches("a", "c"),
    "reaches_vertices": lambda index: index.reaches_vertices(2, 1),
    "reaches_many_vertices": lambda index: index.reaches_many_vertices(*np.array([[2], [1]]))[0],
    "matrix": lambda index: index.matrix(["a"], ["c"])[0, 0],
    "descendants": lambda index: "c" in index.descendants("a"),
    "path": lambda index: index.path("a", "c"),
    "explain": lambda index: index.explain("a", "c").reachable,
    "graph": lambda index: index.graph,
    "pickle": pickle.dumps,
}


@pytest.fixture
def old(file):
    """The file of an index, written long ago."""
    os.utime(file, (1, 1))
    return file


def _overwritten(file):
    """Writes an index of another graph into the file, as cp does, which has the same size."""
    other = file.with_name("other.index")
    gb.build(gb.Graph.from_edges(*EDGES[::-1]), "sequential").save(other)
    assert other.stat().st_size == file.stat().st_size
    shutil.copyfile(other, file)
    assert not gb.load(file).reaches("a", "c")


@pytest.mark.parametrize("change", [_overwritten, lambda file: os.truncate(file, 5000)])
def test_a_file_that_was_changed_under_an_index_is_refused(old, change):
    """An index file that was overwritten in place gave wrong answers or crashed, one that was cut ended in SIGBUS."""
    index = gb.load(old)
    own = [index, gb.load(old, implementation="dfs"), gb.build(index.graph, "sweep")]  # which use the same arrays
    for each in own:
        assert all(question(each) for question in QUESTIONS.values())
    change(old)
    time.sleep(0.02)  # single questions look at the file every 10 ms
    for each in (*own, index):
        for question in QUESTIONS.values():
            with pytest.raises(gb.InputError, match=r"letters.index: the index file was changed .*\(load it again"):
                question(each)


def test_no_answers_are_returned_of_a_file_that_was_changed_meanwhile(old, monkeypatch):
    index = gb.load(old)
    inner = index._engine.index
    right = inner.query_batch
    monkeypatch.setattr(inner, "query_batch", lambda *given: (right(*given), os.utime(old, (2, 2)))[0])
    with pytest.raises(gb.InputError, match="was changed"):
        index.reaches_many(["a"], ["c"])


@pytest.mark.parametrize("change", [os.unlink, lambda file: gb.build(gb.Graph.from_edges(["a"], ["b"])).save(file)])
def test_a_file_that_was_replaced_or_deleted_stays_as_it_was_under_an_index(old, change):
    index = gb.load(old)
    assert index.reaches("a", "c")
    change(old)
    time.sleep(0.02)
    assert all(question(index) for question in QUESTIONS.values())


def test_an_index_in_memory_does_not_depend_on_its_file(old):
    index = gb.load(old, mmap=False)
    _overwritten(old)
    assert all(question(index) for question in QUESTIONS.values())


def test_workers_refuse_a_file_that_was_changed(old):
    """Workers of a cluster answered wrongly from a file that was overwritten in place."""
    opened = [api.spread.opened(old, 1), dask.opened(old, 1)]
    ends = np.zeros((2, 1), np.int32)
    assert all(each.answers(*ends, ids=False)[0] for each in opened)
    _overwritten(old)
    for each in opened:
        with pytest.raises(gb.InputError, match="was changed"):
            each.answers(*ends, ids=False)


def test_workers_map_the_file(old):
    with pytest.raises(gb.InputError, match="mmap=False: the workers of `client` map the file"):
        gb.load(old, client=object(), mmap=False)


def test_the_index_of_a_gpu_needs_one(tmp_path, monkeypatch):
    def without_gpu():
        raise gb.MachineLacks("no CUDA here")

    index = gb.build(gb.Graph.from_edges(*EDGES), "sequential")
    index._engine.implementation = implementations()["gpu-fused"]
    index.save(tmp_path / "gpu.index")
    monkeypatch.setattr(implementations()["gpu-fused"], "require", without_gpu)
    with pytest.raises(gb.MachineLacks, match="no CUDA here"):
        gb.load(tmp_path / "gpu.index")


def test_an_index_that_is_kept_elsewhere_cannot_be_saved(tmp_path, toys):
    index = gb.build(gb.Graph.from_edges([0], [1]), "toy:right")
    assert index.reaches(0, 0)
    assert index.explain(0, 1).by == "toy:right"
    for keep in (lambda: index.save(tmp_path / "x"), lambda: pickle.dumps(index)):
        with pytest.raises(gb.InputError, match="toy:right keeps its index to itself"):
            keep()
    assert list(tmp_path.iterdir()) == []
