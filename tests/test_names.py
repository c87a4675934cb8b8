"""Names as vertex ids: the mapping itself, its stored form, and suggestions for a mistyped one."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import graph_of

from grailbench.errors import InputError
from grailbench.graph import ids as module
from grailbench.graph import store
from grailbench.graph.ids import Counted, Listed, Named, from_stored

NAMES = st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=30)


@given(NAMES, st.lists(st.text(max_size=6), max_size=10))
def test_names_and_vertices_are_each_others_inverse(names, others):
    ids = Named(names)
    said, arrays = ids.stored()
    again = from_stored(len(names), json.loads(json.dumps(said)), arrays)
    assert again.digest == ids.digest != ""
    for mapping in (ids, again):
        assert [mapping.label_of(v) for v in range(len(names))] == names
        assert mapping.labels_of(np.arange(len(names))).tolist() == names
        assert [mapping.vertex_of(name) for name in names] == list(range(len(names)))
        asked = names + others
        expected = [names.index(name) if name in names else -1 for name in asked]
        for column in (asked, np.array(asked, object), pd.Series(asked, dtype=object), pd.Series(asked, dtype="str")):
            assert mapping.vertices_of(column).tolist() == expected
    for name in set(others) - set(names):
        with pytest.raises(InputError, match="no vertex is named"):
            ids.vertex_of(name)


def test_a_surrogate_keeps_its_place_and_can_be_printed():
    ids = Named(["a\ud800", "\udc00", "é"])
    again = from_stored(3, *ids.stored())
    assert again.names.tolist() == ["a\ud800", "\udc00", "é"]
    (ids.describe() + str(ids.unknown("\ud800"))).encode()


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["a", ""], "the name of vertex 1 is ''"),
        (["a", 5], "the name of vertex 1 is 5"),
        ([None], "the name of vertex 0 is None"),
        (["a", "b", "a"], "two vertices are named 'a'"),
    ],
)
def test_names_have_to_be_different_texts(names, why):
    with pytest.raises(InputError, match=why):
        Named(names)


def test_many_names_are_found_as_single_ones_are(monkeypatch):
    ids = Named([f"n{v}" for v in range(50)])
    asked = np.array([["n7", "x"], ["n49", "n0"]], object)
    few = ids.vertices_of(asked)
    monkeypatch.setattr(module, "_FEW", 0)
    assert ids.vertices_of(asked).tolist() == few.tolist() == [[7, -1], [49, 0]]
    assert ids.vertices_of([7, None, "n1"]).tolist() == [-1, -1, 1]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("alise", "'alice'"), ("ALICE", "'alice'"), ("go:0008151", "'GO:0008150'"), ("ab", "'abc'"), ("zoë", "'Zoë'")],
)
def test_the_nearest_names_are_suggested(typed, meant):
    ids = Named(["alice", "bob", "GO:0008150", "abc", "Zoë"])
    assert f"did you mean {meant}" in str(ids.unknown(typed))


def test_without_a_near_name_two_are_shown_as_examples():
    assert str(Named(["ann", "bob", "eve"]).unknown("qqq")) == (
        "no vertex is named 'qqq' (it has 3 names such as 'ann' and 'bob')"
    )
    assert "it has no vertices" in str(Named([]).unknown("a"))
    assert "it has" in str(Named(["ann"]).unknown(""))


def test_a_suggestion_looks_at_few_of_many_names(monkeypatch):
    monkeypatch.setattr(module, "_SEARCHED", 3)
    ids = Named([f"vertex-{v}" for v in range(5)])
    assert "did you mean 'vertex-2'" in str(ids.unknown("vertex-22"))
    assert "did you mean 'vertex-4'" not in str(ids.unknown("vertex-44"))


@pytest.mark.parametrize("ids", [Counted(3), Listed(np.array([2, 0, 1]))])
def test_ids_that_are_numbers_may_be_asked_for_in_any_column(ids):
    for column in ([1, 7], (1, 7), pd.Series([1, 7]), np.array([1, 7], np.uint8), ["1", "7"]):
        assert ids.vertices_of(column).tolist() == [ids.vertex_of("1"), -1]
    assert ids.vertices_of(["a", "1_0", " 1", "\u0661", "-0", "9" * 30]).tolist() == [-1] * 6
    for wrong in ([1.0], [0.5], [None], [True], [float("nan")], [2**63], [2**70]):
        with pytest.raises(ValueError, match="not whole numbers"):
            ids.vertices_of(wrong)


def test_a_number_is_no_name():
    assert Named(["1", "2"]).vertices_of([1, "2"]).tolist() == [-1, 1]


# ---------------------------------------------------------------------------------------- stored


def test_a_stored_graph_keeps_its_names(tmp_path):
    ids = Named(["alice", "Zoë", "b c"])
    path = tmp_path / "g.npz"
    meta = store.save_graph(path, graph_of(3, [(0, 1)]), {}, ids)
    again = store.load_ids(path)
    assert (again.names.tolist(), again.digest) == (["alice", "Zoë", "b c"], ids.digest)
    assert meta["sha256"] != store.save_graph(path, graph_of(3, [(0, 1)]), {}, Named(["alice", "Zoe", "b c"]))["sha256"]


@pytest.mark.parametrize("array", ["name_bytes", "name_ends"])
def test_changed_names_are_seen(tmp_path, array):
    path = tmp_path / "g.npz"
    store.save_graph(path, graph_of(2, [(0, 1)]), {}, Named(["alice", "bob"]))
    with np.load(path) as whole:
        wanted = whole[array].tobytes()
    raw = bytearray(path.read_bytes())
    raw[raw.find(wanted)] ^= 1
    path.write_bytes(raw)
    with pytest.raises(store.Damaged):
        store.load_ids(path)


@pytest.mark.parametrize(
    ("said", "content", "ends"),
    [
        ({}, b"ab", [1]),
        ({}, b"ab", [1, 1]),
        ({}, b"ab", [1, 3]),
        ({}, b"ab", [2, 1]),
        ({"repository": 5}, b"ab", [1, 2]),
    ],
)
def test_arrays_that_hold_no_names_are_refused(said, content, ends):
    arrays = {"name_bytes": np.frombuffer(content, np.uint8), "name_ends": np.array(ends, np.int64)}
    with pytest.raises(ValueError, match="its"):
        from_stored(2, {"kind": "named", **said}, arrays)
