"""`gb.build(graph)`: which index it takes, that graph and parameters alone decide, and that its answers are right."""

import pickle

import numpy as np
import pytest
from dags import layers
from hypothesis import given
from naive import closure
from strategies import digraphs, graph_of

import grailbench as gb
from grailbench.util import memory


def layered():
    """A graph whose core is all of its 320 vertices; the closure of that takes about 10 KiB."""
    vertices, edges = layers()
    return gb.Graph.from_edges(*np.array(edges).T, vertices=vertices)


@pytest.mark.parametrize(
    ("given", "taken"),
    [({}, "core"), ({"memory": "1KiB"}, "supports"), ({"memory": 1024, "threads": 1}, "supports"),
     ({"memory": "1MB"}, "core"), ({"pairs": 1}, "core"), ({"memory": 1024, "pairs": 512}, "sweep"),
     ({"memory": 1024, "pairs": 513}, "supports")],
)  # fmt: skip
@pytest.mark.parametrize("free", [0, 2**40])
def test_core_is_taken_where_its_closure_fits_whatever_memory_is_free(monkeypatch, given, taken, free):
    monkeypatch.setattr(memory, "available", lambda: free)
    index = gb.build(layered(), **{"threads": 2} | given)
    assert index.implementation == taken
    assert index.reaches(0, 319)
    assert not index.reaches(0, 1)
    assert (index.explain(0, 319).by == "closure") == (taken == "core")


@pytest.mark.slow
@given(drawn=digraphs())
def test_what_auto_builds_answers_every_pair_and_so_does_its_file(drawn, tmp_path_factory):
    path = tmp_path_factory.mktemp("auto") / "x.index"
    graph = gb.Graph(graph_of(*drawn), gb.Graph.from_edges([], [], vertices=drawn[0]).ids)
    index = gb.build(graph)
    index.save(path)
    right = closure(*drawn)
    for each in (index, gb.load(path), pickle.loads(pickle.dumps(index))):
        assert (each.implementation, each.params) == ("core", index.params)
        every = np.arange(drawn[0])
        found = np.unpackbits(each.matrix(every, every), axis=1, count=drawn[0])
        assert [set(np.flatnonzero(row).tolist()) for row in found] == right
    for u in range(min(4, drawn[0])):
        for v in range(drawn[0]):
            assert index.reaches(u, v) == index.explain(u, v).reachable == (v in right[u])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"memory": "much"}, "'much' is no size"),
        ({"memory": 0}, "memory 0: 1 or more is expected"),
        ({"device": 0}, "'auto' runs on the CPU"),
    ],
)
def test_what_auto_cannot_mean_is_refused(wrong, said):
    with pytest.raises(gb.InputError, match=said):
        gb.build(layered(), **wrong)
