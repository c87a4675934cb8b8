"""Indexes of graphs that change: sequences of edges added and removed, against the oracle."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import closure, reachable_from
from strategies import digraphs

import grailbench as gb
from grailbench.api import updates
from grailbench.api.engine import Engine
from grailbench.problems.reachability import updated
from grailbench.problems.reachability.index import Implementation, Index, Params
from grailbench.problems.reachability.stored import here

NAMES = ["flour", "dough", "oven", "bread"]


def letters():
    """flour -> dough -> bread <- oven."""
    return gb.Graph.from_edges(["flour", "dough", "oven"], ["dough", "bread", "bread"])


def check(index, vertices, edges, name, pairs):
    """Answers, one by one and in a batch, and the evidence for them, of a graph whose vertex v is name(v)."""
    every, reach = [name(v) for v in range(vertices)], closure(vertices, edges)
    found = np.unpackbits(index.matrix(every, every), axis=1, count=vertices)
    assert [set(np.flatnonzero(row).tolist()) for row in found] == reach
    assert (index.graph.vertices, [*index.graph]) == (vertices, every)
    assert index.graph.edges == len({(u, v) for u, v in edges if u != v})
    for u, v in pairs:
        assert index.reaches(name(u), name(v)) == (v in reach[u])
        path = index.path(name(u), name(v))
        assert (path is not None) == (v in reach[u])
        assert index.explain(name(u), name(v)).reachable == (v in reach[u])
        assert {*index.descendants(name(u)).tolist()} == {name(w) for w in reach[u] - {u}}


@pytest.mark.slow
@pytest.mark.parametrize("implementation", ["auto", "sequential", "dfs", "sweep", "peer:scipy"])
@given(drawn=digraphs(), data=st.data())
def test_sequences_of_edges_added_and_removed_have_the_oracles_answers(implementation, drawn, data):
    vertices, edges = drawn
    named, before = data.draw(st.booleans()), []
    name = (lambda v: f"v{v}") if named else (lambda v: v)
    sources, targets = zip(*edges, strict=True) if edges else ([], [])
    graph = gb.Graph.from_edges(
        list(sources), list(targets), [f"v{v}" for v in range(vertices)] if named else None, vertices=vertices
    )
    index = gb.build(graph, implementation, threads=1)
    with pytest.MonkeyPatch.context() as patch:
        ways(patch, data.draw(st.sampled_from(["kept", "swept", "asked"])))
        for _ in range(data.draw(st.integers(1, 4))):
            change = data.draw(st.sampled_from(["add", "add", "remove", "rebuild"]))
            edges, before = list(edges), [*before, (index, vertices, edges)]
            if change == "add":
                more = data.draw(st.integers(0, 3))
                ends = st.integers(0, vertices + more - 1) if vertices + more else st.nothing()
                new = data.draw(st.lists(st.tuples(ends, ends), max_size=80) if vertices + more else st.just([]))
                ids = {end: at for at, end in enumerate(dict.fromkeys(w for e in new for w in e if w >= vertices))}
                new = [tuple(vertices + ids[w] if w in ids else w for w in edge) for edge in new]
                vertices, edges = vertices + len(ids), edges + new
                us, vs = zip(*new, strict=True) if new else ([], [])
                index = index.with_edges([name(u) for u in us], [name(v) for v in vs], add_vertices=bool(ids))
            elif change == "remove":
                gone = data.draw(st.lists(st.sampled_from(sorted({*edges})), max_size=4)) if edges else []
                edges = [edge for edge in edges if edge not in gone]
                us, vs = zip(*gone, strict=True) if gone else ([], [])
                index = index.without_edges([name(u) for u in us], [name(v) for v in vs])
            else:
                index = index.rebuild()
            ends = st.integers(0, vertices - 1)
            pairs = data.draw(st.lists(st.tuples(ends, ends), max_size=4)) if vertices else []
            check(index, vertices, edges, name, pairs)
        old, vertices, edges = data.draw(st.sampled_from(before))
        check(old, vertices, edges, name, [])  # no index changed


def ways(patch, way):
    """Rows are kept; or made for each batch, a word at a time; or the index is asked for them."""
    patch.setattr(updated, "fits", lambda size, params: way == "kept")
    patch.setattr(updated, "SMALL", 1 << 10)
    shared = updated.UpdatedIndex._shared

    def forced(self, us, vs):
        self._a_pair, self._sweeps = (0, 1) if way == "asked" else (1, 0)
        return shared(self, us, vs)

    patch.setattr(updated.UpdatedIndex, "_shared", forced)


@pytest.mark.parametrize("way", ["kept", "swept", "asked"])
@pytest.mark.parametrize("implementation", ["core", "sequential"])
def test_hundreds_of_new_edges_in_blocks_of_rows(monkeypatch, way, implementation):
    """More sources than a block of rows has bits, of a long path and back to its beginning."""
    ways(monkeypatch, way)
    rng, n = np.random.default_rng(3), 900
    edges = [(v, v + 1) for v in range(n - 1) if v % 3]
    new = [*zip(rng.permutation(n)[:700].tolist(), rng.permutation(n)[:700].tolist(), strict=True), (n - 1, 0)]
    index = gb.build(gb.Graph.from_edges(*zip(*edges, strict=True), vertices=n), implementation)
    changed = index.with_edges(*zip(*new[:350], strict=True)).with_edges(*zip(*new[350:], strict=True))
    us, vs = rng.integers(0, n, (2, 4000))
    reach = {u: reachable_from(n, edges + new, u) for u in {*us.tolist()}}
    expected = [v in reach[u] for u, v in zip(us.tolist(), vs.tolist(), strict=True)]
    assert changed.reaches_many(us, vs).tolist() == expected
    assert [changed.reaches(u, v) for u, v in zip(us.tolist()[:300], vs.tolist()[:300], strict=True)] == expected[:300]
    assert 0 < sum(expected) < len(expected)
    assert bool(changed._engine.index._kept) == (way == "kept")
    assert changed.nbytes > index.nbytes


class OfVertices(Implementation):
    """An index whose queries are of vertices of the graph, as of `gpu-fused`, and which knows no single pairs."""

    name, source, axes = "of vertices", "", frozenset()

    class Answers(Index):
        index_bytes = 0

        def __init__(self, graph):
            edges = zip(graph.raw.sources.tolist(), graph.raw.targets.tolist(), strict=True)
            self.reach = closure(graph.vertices, list(edges))

        def query_batch(self, sources, targets, timer):
            return np.array([v in self.reach[u] for u, v in zip(sources.tolist(), targets.tolist(), strict=True)], bool)

    @classmethod
    def build(cls, dag, params, timer):
        raise NotImplementedError


@given(drawn=digraphs(), data=st.data())
def test_an_index_whose_queries_are_of_vertices_of_the_graph_takes_new_edges(drawn, data):
    vertices, edges = drawn
    if not vertices:
        return
    sources, targets = zip(*edges, strict=True) if edges else ([], [])
    graph = gb.Graph.from_edges(list(sources), list(targets), vertices=vertices)
    index = gb.Index(graph, Engine(OfVertices, Params(), lambda: OfVertices.Answers(graph), here, graph.check, True))
    ends = st.integers(0, vertices)
    new = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=20))
    changed = index.with_edges(*zip(*new, strict=True), add_vertices=True)
    check(changed, vertices + any(vertices in edge for edge in new), edges + new, int, [(0, vertices - 1), new[0]])


def test_cycles_new_vertices_and_edges_that_change_nothing():
    index = gb.build(letters())
    changed = index.with_edges(["bread", "jam"], ["flour", "bread"], add_vertices=True)
    assert (changed.reaches("dough", "flour"), changed.reaches("jam", "flour"), changed.reaches("flour", "jam")) == (
        True, True, False)  # fmt: skip
    assert (changed.reaches("jam", "jam"), "jam" in changed.graph, "jam" in index.graph) == (True, True, False)
    assert changed.path("jam", "dough") == ["jam", "bread", "flour", "dough"]
    assert changed.descendants("jam", within=1).tolist() == ["bread"]
    same = index.with_edges(["flour", "flour", "oven"], ["bread", "flour", "bread"])
    assert [same.reaches(u, v) for u in NAMES for v in NAMES] == [index.reaches(u, v) for u in NAMES for v in NAMES]
    assert index.with_edges([], []).reaches("flour", "bread")
    assert str(changed.explain("oven", "dough")).startswith(
        "oven reaches dough (by core): asked together with 2 new edges on top of the index\nshortest path: oven -> "
    )
    assert repr(changed).endswith("of 5 vertices and 2 new edges>")
    numbered = gb.build(gb.Graph.open("path-3")).with_edges([2, -5], [7, 2], add_vertices=True)
    assert ([*numbered.graph], numbered.descendants(-5).tolist()) == ([0, 1, 2, 7, -5], [2, 7])


def test_new_edges_have_kinds():
    index = gb.build(gb.Graph.from_edges(["a", "b"], ["b", "c"], kinds=["x", "y"]))
    changed = index.with_edges(["c"], ["d"], add_vertices=True, kinds=["z"]).with_edges(["d"], ["a"])
    assert changed.graph.kinds == ("x", "y", "z", "")
    assert changed.graph.only(kind=["y", "z"]).successors("c").tolist() == ["d"]
    assert changed.without_edges(["c"], ["d"]).graph.kinds == ("x", "y", "")
    assert gb.build(letters()).with_edges(["bread"], ["oven"]).graph.kinds == ()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda index: index.with_edges(["bread"], ["toast"]), r"no vertex is named 'toast'.*\(add_vertices=True if"),
        (lambda index: index.with_edges([1], [2]), r"place 0 of 1: .*\(its ids are names: str\(id\)\)$"),
        (lambda index: index.with_edges([1], [2], add_vertices=True), "numbers cannot be added: the ids of this graph"),
        (lambda index: index.with_edges(["a"], [""], add_vertices=True), "a non-empty text is expected"),
        (lambda index: index.with_edges(["bread"], []), "1 sources and 0 targets"),
        (lambda index: index.with_edges(["bread"], ["oven"], kinds=["a", "b"]), "2 kinds for 1 edges"),
        (lambda index: index.with_edges(["bread"], ["oven"], add_vertices=1), "add_vertices 1: True or False"),
        (
            lambda index: index.without_edges(["bread"], ["oven"]),
            "place 0 of 1: there is no edge from 'bread' to 'oven'",
        ),
        (lambda index: index.without_edges(["flour"], ["toast"]), "no vertex is named 'toast'"),
        (lambda index: index.rebuild(background="yes"), "background 'yes': True or False"),
        (lambda index: index.rebuild_pays_from(-1), "pairs -1: 0 or more"),
        (
            lambda index: gb.build(gb.Graph.open("path-3")).with_edges(["a"], ["b"], add_vertices=True),
            "names cannot be",
        ),
        (
            lambda index: pickle.dumps(index.with_edges(["bread"], ["oven"])),
            r"1 new edge on top .* \(index.rebuild\(\)",
        ),
    ],
)
def test_mistakes_are_one_clear_error(wrong, says):
    with pytest.raises(gb.InputError, match=says) as error:
        wrong(gb.build(letters()))
    assert "\n" not in str(error.value)


def test_an_index_with_new_edges_is_saved_once_it_is_built_anew(tmp_path):
    gb.build(letters(), "sequential", d=3, seed=7).save(tmp_path / "x.index")
    changed = gb.load(tmp_path / "x.index").with_edges(["bread"], ["oven"])
    assert changed.reaches("flour", "oven")
    with pytest.raises(gb.InputError, match=r"1 new edge on top of an index cannot be saved \(index.rebuild\(\) makes"):
        changed.save(tmp_path / "y.index")
    again = changed.rebuild()
    assert (again.implementation, again.params) == (changed.implementation, changed.params)
    again.save(tmp_path / "y.index")
    assert gb.load(tmp_path / "y.index").descendants("bread").tolist() == ["oven"]


def test_a_file_that_was_changed_under_new_edges_is_noticed(tmp_path):
    path = tmp_path / "x.index"
    gb.build(letters(), "sequential").save(path)
    changed = gb.load(path).with_edges(["bread"], ["oven"])
    assert changed.reaches("flour", "oven")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(gb.InputError, match="changed while it was in use"):
        changed.reaches_many(["flour"], ["oven"])


def test_an_index_is_built_in_the_background_while_the_old_one_answers(monkeypatch):
    index, begun, go = gb.build(letters()).with_edges(["bread"], ["oven"]), threading.Event(), threading.Event()
    build = updates._rebuilt

    def waiting(graph, engine):
        begun.set()
        assert go.wait(60)
        return build(graph, engine)

    monkeypatch.setattr(updates, "_rebuilt", waiting)
    future = index.without_edges(["dough"], ["bread"], background=True)
    assert begun.wait(60)
    assert (future.done(), index.reaches("flour", "oven")) == (False, True)
    go.set()
    built = future.result(60)
    assert (built.reaches("flour", "oven"), built.reaches("bread", "oven")) == (False, True)
    assert repr(built).endswith("of 4 vertices>")


def test_threads_ask_an_index_with_new_edges():
    n = 400
    index = gb.build(gb.Graph.from_edges(np.arange(n - 1), np.arange(1, n)), "parallel", threads=2)
    changed = index.with_edges(np.arange(n - 1, 0, -7), np.arange(n - 1, 0, -7) - 1)
    reach = closure(n, [*zip(range(n - 1), range(1, n), strict=True), *((v, v - 1) for v in range(n - 1, 0, -7))])
    us, vs = np.random.default_rng(1).integers(0, n, (2, 500))
    expected = [v in reach[u] for u, v in zip(us.tolist(), vs.tolist(), strict=True)]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: changed.reaches_many(us, vs).tolist(), range(8)):
            assert found == expected


def test_an_index_that_workers_hold_takes_no_edges():
    graph = letters()
    index = gb.Index(graph, Engine(OfVertices, Params(), lambda: None, here, graph.check, spread=object()))
    for change in (index.with_edges, index.without_edges):
        with pytest.raises(gb.InputError, match=r"the workers hold this index as it was built \(gb.build"):
            change(["dough"], ["bread"])
    with pytest.raises(gb.InputError, match="the workers hold this index"):
        index.rebuild_pays_from()


@pytest.mark.parametrize(
    ("anew", "an_edge", "edges"),
    [(9, 1, 9), (0.5, 2, 1), (1e9, 1, 16_384), (63, 1, 63), (99, 1, 99)],
)
def test_a_rebuild_pays_where_new_edges_take_longer(monkeypatch, anew, an_edge, edges):
    """To build takes `anew` seconds, each new edge `an_edge`, and a batch of questions one second."""
    clock, batch = [0.0], updated.UpdatedIndex.__init__

    def takes(seconds, work):
        def slow(*given):
            clock[0] += seconds(given)
            return work(*given)

        return slow

    monkeypatch.setattr(updates, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(updates, "_rebuilt", takes(lambda given: anew, updates._rebuilt))
    monkeypatch.setattr(updated.UpdatedIndex, "__init__", takes(lambda given: an_edge * given[3].size, batch))
    monkeypatch.setattr(gb.Index, "_answers", takes(lambda given: 1, gb.Index._answers))
    assert gb.build(letters()).with_edges(["bread"], ["oven"]).rebuild_pays_from(pairs=3) == edges


def test_a_rebuild_of_no_vertex_pays_at_once_and_its_own_times_are_a_number():
    assert gb.build(gb.Graph.from_edges([], [])).rebuild_pays_from() == 1
    assert 1 <= gb.build(letters()).rebuild_pays_from(pairs=10) <= 16_384
