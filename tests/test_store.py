"""What is stored comes back whole, or not at all; what is damaged is rebuilt."""

import io
import json
import logging
import os
import tracemalloc
import zipfile
import zlib
from contextlib import suppress

import numpy as np
import pytest
from dags import DAG_ARRAYS, same_dag, some_graph
from hypothesis import given
from hypothesis import strategies as st
from strategies import digraphs

from grailbench.errors import InputError
from grailbench.graph import store
from grailbench.graph.condense import condense
from grailbench.graph.csr import Graph
from grailbench.util import caches, paths

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("stored")


def never() -> Graph:
    raise AssertionError("the cache should have had it")


def cached_file(cache, key="abc"):
    return cache / "dags" / f"{key}-v{store.FORMAT_VERSION}.npz"


# ---------------------------------------------------------------------------------------- raw graphs


@given(digraphs(), st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.text(), st.booleans()), max_size=3))
def test_graph_and_meta_round_trip(folder, drawn, meta):
    vertices, edges = drawn
    graph = Graph.from_edges(vertices, *np.array(edges, np.int64).reshape(-1, 2).T)
    written = store.save_graph(folder / "g.npz", graph, meta)
    back, read = store.load_graph(folder / "g.npz")
    assert (back.vertices, back.edges) == (vertices, len(edges))
    assert back.sources.tolist() == graph.sources.tolist()
    assert back.targets.tolist() == graph.targets.tolist()
    assert back.sources.flags.writeable
    assert read == written == store.read_meta(folder / "g.npz")
    assert all(read[key] == meta[key] for key in meta if key not in ("kind", "edges"))


def test_sha256_of_a_graph_tells_vertices_edges_and_their_order_apart():
    drawn = (3, [0], [1]), (4, [0], [1]), (3, [1], [0]), (3, [0, 1], [1, 2]), (3, [1, 0], [2, 1]), (3, [], [])
    assert len({store.graph_sha256(Graph.from_edges(*graph)) for graph in drawn}) == 6


def test_equal_graphs_give_equal_bytes(tmp_path):
    store.save_graph(tmp_path / "a.npz", some_graph(), {"b": 1, "a": 2})
    store.save_graph(tmp_path / "b.npz", some_graph(), {"a": 2, "b": 1})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_numpy_alone_opens_a_stored_graph(tmp_path):
    store.save_graph(tmp_path / "g.npz", some_graph())
    with np.load(tmp_path / "g.npz") as arrays:
        assert arrays["sources"].tolist() == some_graph().sources.tolist()


def test_every_flipped_data_byte_is_found(tmp_path):
    path = tmp_path / "g.npz"
    graph = some_graph()
    store.save_graph(path, graph)
    whole = path.read_bytes()
    start = whole.index(graph.targets.tobytes())
    for at in range(start, start + graph.targets.nbytes):
        torn = bytearray(whole)
        torn[at] ^= 128
        path.write_bytes(torn)
        with pytest.raises(store.Damaged):
            store.load_graph(path)


def test_torn_header_chooses_no_allocation(tmp_path):
    path = tmp_path / "g.npz"
    store.save_graph(path, some_graph(edges=5000))  # so long that no read-ahead comes to the CRC first
    whole = path.read_bytes()
    huge = whole.replace(b"(5000,), }            ", b"(5000000000000000,), }")
    assert len(huge) == len(whole)
    assert huge != whole
    path.write_bytes(huge)
    with pytest.raises(store.Damaged, match="does not fit"):
        store.load_graph(path)


def test_a_size_that_a_damaged_file_states_is_not_allocated(tmp_path):
    path = tmp_path / "g.npz"
    store.save_graph(path, some_graph(edges=5000))
    whole = path.read_bytes()
    entry = whole.rindex(b"PK\1\2")  # of meta.json in the directory; its sizes lie 20 and 24 bytes on
    sizes, huge = slice(entry + 20, entry + 28), b"\xff\xff\xff\x6f"
    for stated in (whole[sizes][:4] + huge, huge + whole[sizes][4:], huge * 2):
        torn = bytearray(whole)
        torn[sizes] = stated
        path.write_bytes(torn)
        tracemalloc.start()
        try:
            with suppress(store.Damaged):
                store.read_meta(path)
            caches._meta(path)
            assert tracemalloc.get_traced_memory()[1] < 8 << 20
        finally:
            tracemalloc.stop()


def test_an_array_larger_than_the_file_is_damage_though_all_say_so(tmp_path):
    path = tmp_path / "g.npz"
    entry, size = zipfile.ZipInfo("sources.npy"), 1 << 50
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i4", "fortran_order": False, "shape": (size,)})
    content = header.getvalue() + bytes(8)
    said = {"dtype": "<i4", "shape": [size], "crc": zlib.crc32(content)}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(entry, content)
        meta = {"kind": "graph", "numbering": {}, "arrays": {"sources": said, "targets": said}}
        archive.writestr("meta.json", json.dumps(meta))
    with pytest.raises(store.Damaged, match="does not fit"):
        store.load_graph(path)


def test_graph_file_cut_anywhere_is_found(tmp_path):
    path = tmp_path / "g.npz"
    store.save_graph(path, some_graph())
    whole = path.read_bytes()
    for kept in range(0, len(whole), 3):
        path.write_bytes(whole[:kept])
        with pytest.raises(store.Damaged):
            store.load_graph(path)


def test_a_missing_stored_graph_and_a_folder_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="no such stored graph"):
        store.load_graph(tmp_path / "none.npz")
    with pytest.raises(InputError, match="cannot be read"):
        store.load_graph(tmp_path)


def test_another_kind_of_npz_is_refused(cache, tmp_path):
    store.cached_dag("abc", some_graph)
    with pytest.raises(store.Damaged, match="holds no graph"):
        store.load_graph(cached_file(cache))
    np.savez(tmp_path / "other.npz", sources=[1])
    with pytest.raises(store.Damaged):
        store.load_graph(tmp_path / "other.npz")


# ---------------------------------------------------------------------------------------- condensed graphs


@given(digraphs())
def test_cached_dag_is_the_condensed_graph(drawn):
    vertices, edges = drawn
    graph = Graph.from_edges(vertices, *np.array(edges, np.int64).reshape(-1, 2).T)
    key = store.graph_sha256(graph)
    assert same_dag(store.cached_dag(key, lambda: graph), condense(graph))
    loaded = store.cached_dag(key, never)
    assert same_dag(loaded, condense(graph))
    assert {name: getattr(loaded, name).dtype for name in DAG_ARRAYS} == {
        name: getattr(condense(graph), name).dtype for name in DAG_ARRAYS
    }


def test_key_is_the_source_and_the_format_version(cache, monkeypatch):
    store.cached_dag("abc", some_graph)
    assert cached_file(cache).is_file()
    assert store.cached_dag("abd", lambda: some_graph(2, vertices=9)).component.size == 9
    monkeypatch.setattr(store, "FORMAT_VERSION", store.FORMAT_VERSION + 1)
    assert store.cached_dag("abc", lambda: some_graph(2, vertices=9)).component.size == 9


@pytest.mark.parametrize("key", ["", "../x", "a/b", ".hidden", "a\n"])
def test_key_that_is_no_file_name_is_refused(key):
    with pytest.raises(ValueError, match="no key"):
        store.cached_dag(key, never)


def rebuilt(cache, caplog) -> str:
    """Check that the damaged cache of 'abc' is not trusted but made anew, with a warning; give the warning."""
    path, made = cached_file(cache), []
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        dag = store.cached_dag("abc", lambda: made.append(1) or some_graph())
    assert made == [1]
    assert same_dag(dag, condense(some_graph()))
    assert str(path) in caplog.text
    assert same_dag(store.cached_dag("abc", never), dag)
    return caplog.text


@pytest.mark.parametrize("name", DAG_ARRAYS)
def test_cache_with_a_flipped_byte_in_any_array_is_rebuilt(cache, caplog, name):
    dag = store.cached_dag("abc", some_graph)
    data = getattr(dag, name).tobytes()
    whole = cached_file(cache).read_bytes()
    for at in (whole.index(data), whole.index(data) + len(data) // 2, whole.index(data) + len(data) - 1):
        torn = bytearray(whole)
        torn[at] ^= 2
        cached_file(cache).write_bytes(torn)
        assert "damaged" in rebuilt(cache, caplog)


@pytest.mark.parametrize("kept", [0, 1, 100, 0.5, -1])
def test_truncated_cache_is_rebuilt(cache, caplog, kept):
    store.cached_dag("abc", some_graph)
    whole = cached_file(cache).read_bytes()
    cached_file(cache).write_bytes(whole[: int(kept * len(whole)) if kept == 0.5 else kept])
    rebuilt(cache, caplog)


def rewrite(path, **changes):
    """Write the cached graph again with some arrays or meta entries changed: every CRC is right."""
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read("meta.json"))
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in DAG_ARRAYS}
    del meta["arrays"]
    arrays.update({name: value for name, value in changes.items() if name in arrays})
    meta.update({name: value for name, value in changes.items() if name not in arrays})
    store._write(path, meta, arrays)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: {"children": d.children[:-1]}, "edge arrays"),
        (lambda d: {"children": d.children.reshape(1, -1)}, "edge arrays"),
        (lambda d: {"offsets": d.offsets[:-1]}, "offsets are not one longer"),
        (lambda d: {"levels": d.order[:3]}, "levels or order"),
        (lambda d: {"offsets": d.offsets[::-1].copy()}, "do not rise"),
        (lambda d: {"offsets": np.where(np.arange(d.vertices + 1) == 1, 10**6, d.offsets)}, "do not rise"),
        (lambda d: {"parent_offsets": d.parent_offsets + 1}, "do not rise"),
        (lambda d: {"children": d.children + np.int32(d.vertices)}, "children are out of range"),
        (lambda d: {"parents": d.parents - np.int32(d.vertices)}, "parents are out of range"),
        (lambda d: {"component": d.component + np.int32(d.vertices)}, "component are out of range"),
        (lambda d: {"children": d.children.astype(np.int64)}, "children is not the one"),
        (lambda d: {"edges": d.edges + 1}, "edge arrays"),
        (lambda d: {"vertices": None}, "counts"),
        (lambda d: {"key": "abd"}, "another source"),
        (lambda d: {"version": 0}, "another source or format"),
        (lambda d: {"kind": "graph"}, "holds no dag"),
    ],
)
def test_cache_whose_arrays_do_not_fit_is_rebuilt_though_every_crc_is_right(cache, caplog, change, said):
    rewrite(cached_file(cache), **change(store.cached_dag("abc", some_graph)))
    assert said in rebuilt(cache, caplog)


def test_of_a_large_graph_the_rows_of_parents_are_not_stored(cache, monkeypatch):
    monkeypatch.setattr(store, "MOST_REVERSED", 0)
    made = store.cached_dag("abc", some_graph)
    assert "_parent_csr" not in vars(made)
    read = store.cached_dag("abc", lambda: pytest.fail("condensed again"))
    assert read.reverse is None
    assert same_dag(read, condense(some_graph()))


def test_cache_that_cannot_be_written_is_a_warning(cache, caplog):
    (paths.cache_dir() / "dags").write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        assert same_dag(store.cached_dag("abc", some_graph), condense(some_graph()))
    assert "was not cached" in caplog.text


# ---------------------------------------------------------------------------------------- writing


def test_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    store.save_graph(tmp_path / "g.npz", some_graph(1))
    with pytest.raises(TypeError, match="not JSON serializable"):
        store.save_graph(tmp_path / "g.npz", some_graph(2), {"bad": object()})
    assert sorted(os.listdir(tmp_path)) == ["cache", "g.npz"]
    assert store.graph_sha256(store.load_graph(tmp_path / "g.npz")[0]) == store.graph_sha256(some_graph(1))


def test_file_mode_follows_the_umask(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    store.save_graph(tmp_path / "g.npz", some_graph())
    assert (tmp_path / "g.npz").stat().st_mode == (tmp_path / "plain").stat().st_mode
