"""The library: graphs of the user's ids, questions to indexes of every implementation, against the one oracle."""

import doctest
import enum
import importlib
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import closure, reachable_from
from strategies import digraphs

import grailbench as gb
from grailbench.api import index as index_module
from grailbench.api import kernels
from grailbench.problems.contract import implementations
from grailbench.problems.counts.sweep import count_all

OURS = [name for name, found in implementations().items() if not found.needs and not name.startswith("peer:")]


def library_graph(vertices, edges, named=True):
    """A drawn graph whose vertex v is named 'v<v>', or numbered."""
    sources, targets = zip(*edges, strict=True) if edges else ([], [])
    names = [f"v{v}" for v in range(vertices)] if named else None
    return gb.Graph.from_edges(list(sources), list(targets), names, vertices=vertices)


def number(names):
    return [int(name[1:]) for name in names]


@pytest.mark.parametrize("module", ["graph", "index", "building", "kinds", "updates"])
def test_examples_of_the_docstrings_are_true(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = gb.Graph.from_edges(["flour", "dough", "oven"], ["dough", "bread", "bread"])
    needs = gb.Graph.from_edges(["app", "lib", "lib"], ["lib", "zlib", "cc"], kinds=["runtime", "runtime", "dev"])
    known = {"gb": gb, "np": np, "index": gb.build(graph), "kinds": gb.build(needs, by="kind")}
    loaded = importlib.import_module(f"grailbench.api.{module}")
    found = doctest.testmod(loaded, extraglobs=known, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0
    assert found.attempted


@given(digraphs(), st.data())
def test_sets_within_a_number_of_edges_with_distances_and_in_topological_order(drawn, data):
    vertices, edges = drawn
    graph = library_graph(vertices, edges, named=False)
    index, reach = gb.build(graph, "dfs"), closure(vertices, edges)
    given = data.draw(st.lists(st.integers(0, vertices - 1), max_size=4)) if vertices else []
    most = data.draw(st.none() | st.integers(0, 4))
    for asked, rows in (index.descendants, edges), (index.ancestors, [(v, u) for u, v in edges]):
        away, front, steps = dict.fromkeys(given, 0), {*given}, 0
        while front and (most is None or steps < most):
            steps += 1
            front = {v for u, v in rows if u in front} - away.keys()
            away |= dict.fromkeys(front, steps)
        expected = {v: far for v, far in away.items() if far}
        ids, far = asked(given, within=most, distances=True)
        assert dict(zip(ids.tolist(), far.tolist(), strict=True)) == expected
        assert ids.tolist() == sorted(expected) == asked(given, within=most).tolist()
        ordered = asked(given, within=most, topological=True).tolist()
        assert sorted(ordered) == sorted(expected)
        later = [(u, v) for at, v in enumerate(ordered) for u in ordered[at + 1 :]]
        assert not any(v in reach[u] and u not in reach[v] for u, v in later)
    with pytest.raises(gb.InputError, match="within"):
        index.descendants(given, within=-1)


@given(digraphs())
def test_a_graph_is_a_collection_of_its_ids_with_neighbours(drawn):
    vertices, edges = drawn
    graph = library_graph(vertices, edges)
    assert (len(graph), list(graph), bool(graph)) == (vertices, [f"v{v}" for v in range(vertices)], True)
    assert ["v0" in graph, "w" in graph, 0 in graph, None in graph] == [vertices > 0, False, False, False]
    for v in range(vertices):
        assert number(graph.successors(f"v{v}")) == sorted({t for s, t in edges if s == v != t})
        assert number(graph.predecessors(f"v{v}")) == sorted({s for s, t in edges if t == v != s})


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
@given(data=st.data())
def test_every_question_has_the_oracles_answer(name, data):
    vertices, edges = data.draw(digraphs())
    filters = data.draw(st.sampled_from([None, "none", "level", "tree,hubs"]))
    index = gb.build(library_graph(vertices, edges), name, d=data.draw(st.integers(1, 3)), filters=filters, threads=1)
    if data.draw(st.booleans()):
        index = pickle.loads(pickle.dumps(index))
    reach = closure(vertices, edges)
    assert index.count_descendants().tolist() == [len(reached) - 1 for reached in reach]
    above = [sum(v in reached for reached in reach) - 1 for v in range(vertices)]
    assert index.count_ancestors().tolist() == above
    if not vertices:
        return
    vertex = st.integers(0, vertices - 1)
    u, v = data.draw(vertex), data.draw(vertex)
    us, vs = (data.draw(st.lists(vertex, min_size=1, max_size=12)) for _ in range(2))
    names = [[f"v{end}" for end in ends] for ends in (us, vs)]
    assert index.reaches(f"v{u}", f"v{v}") == (v in reach[u])
    pairs = [(s, t) for s in us for t in vs]
    answers = [t in reach[s] for s, t in pairs]
    assert index.reaches_many([f"v{s}" for s, _ in pairs], [f"v{t}" for _, t in pairs]).tolist() == answers
    assert index.reaches_any(*names) == any(answers)
    bits = np.unpackbits(index.matrix(*names), axis=1, count=len(vs))
    assert bits.ravel().tolist() == answers
    assert number(index.descendants(f"v{u}")) == sorted(reach[u] - {u})
    ancestors = {w for w in range(vertices) if v in reach[w]}
    assert number(index.ancestors(f"v{v}")) == sorted(ancestors - {v})
    assert number(index.descendants(names[0])) == sorted(set().union(*(reach[s] for s in us)) - {*us})
    assert index.count_descendants([f"v{u}"]).tolist() == [len(reach[u]) - 1]
    assert index.count_ancestors([f"v{u}"] * 2).tolist() == [sum(u in reached for reached in reach) - 1] * 2
    common = {w for w in range(vertices) if {u, v} <= reach[w]}
    assert number(index.common_ancestors(f"v{u}", f"v{v}")) == sorted(common)
    lowest = [w for w in sorted(common) if all(w in reach[x] for x in reach[w] & common)]
    assert number(index.lowest_common_ancestors(f"v{u}", f"v{v}")) == lowest
    check_path(index.path(f"v{u}", f"v{v}"), u, v, vertices, edges)
    explained = index.explain(f"v{u}", f"v{v}")
    assert explained.reachable == (v in reach[u])
    assert (explained.path is not None) == explained.reachable
    assert str(explained).startswith(f"v{u} {'reaches' if explained.reachable else 'does not reach'} v{v} (by ")


def check_path(path, u, v, vertices, edges):
    if path is None:
        assert v not in reachable_from(vertices, edges, u)
        return
    steps = number(path)
    assert (steps[0], steps[-1]) == (u, v)
    assert set(zip(steps, steps[1:], strict=False)) <= set(edges)
    near, length = {u}, 0
    while v not in near:
        near, length = near | {t for s, t in edges if s in near}, length + 1
    assert length == len(steps) - 1


@given(drawn=digraphs(), bits=st.sampled_from([64, 128]), data=st.data())
def test_sweeps_of_several_blocks_agree_with_searches(drawn, bits, data):
    vertices, edges = drawn
    graph = library_graph(vertices, edges, named=False)
    reach = closure(vertices, edges)
    kept = kernels.BITS, kernels.FEW
    kernels.BITS, kernels.FEW = bits, 0
    try:
        index = gb.build(graph, "dfs")
        assert index.count_descendants().tolist() == [len(reached) - 1 for reached in reach]
        every = np.arange(vertices)
        rows = np.repeat(every, 3)
        found = np.unpackbits(index.matrix(rows, every), axis=1, count=vertices)
    finally:
        kernels.BITS, kernels.FEW = kept
    assert [set(np.flatnonzero(row).tolist()) for row in found] == [reach[u] for u in rows.tolist()]


@pytest.mark.parametrize("bits", [1, 512])
def test_few_vertices_are_counted_by_searches_and_many_by_sweeps(monkeypatch, bits):
    edges = [(0, 1), (1, 2), (2, 1), (0, 3), (3, 2), (2, 4), (4, 4), (5, 4)]
    index, called = gb.build(library_graph(7, edges, named=False), "dfs"), []
    monkeypatch.setattr(kernels, "BITS", bits)
    monkeypatch.setattr(index_module, "count_all", lambda *given: called.append(given) or count_all(*given))
    assert index.count_descendants([2, 0, 2, 6]).tolist() == [2, 4, 2, 0]
    assert index.count_ancestors([4, 1]).tolist() == [5, 3]
    assert len(called) == (0 if bits == 1 else 2)


def test_estimates_lie_between_their_bounds_which_hold_the_count():
    edges = [(u, v) for u in range(40) for v in range(40, 80)] + [(u, u + 1) for u in range(79, 99)] + [(98, 97)]
    index = gb.build(library_graph(100, edges, named=False), "dfs")
    estimates, least, most = index.estimate_descendants(confidence=1 - 1e-9, seed=3)
    right = index.count_descendants()
    assert ((least <= right + 1e-9) & (right <= most + 1e-9)).all()
    assert (least <= estimates).all()
    assert (estimates <= most).all()
    assert (least < most)[:40].all()
    assert estimates[80:].tolist() == right[80:].tolist()  # a chain
    with pytest.raises(gb.InputError, match="confidence"):
        index.estimate_descendants(confidence=95)


@pytest.mark.parametrize("name", ["peer:networkx", "peer:scipy"])
def test_indexes_of_other_libraries_answer_in_the_users_ids_too(name, tmp_path):
    edges = [(0, 1), (1, 2), (2, 0), (2, 3), (4, 3), (6, 6)]
    index = gb.build(library_graph(7, edges), name)
    every = [f"v{v}" for v in range(7)]
    found = np.unpackbits(index.matrix(every, every), axis=1, count=7)
    assert [set(np.flatnonzero(row).tolist()) for row in found] == closure(7, edges)
    assert index.explain("v4", "v0").by == name
    with pytest.raises(gb.InputError, match="keeps its index to itself"):
        index.save(tmp_path / "x")


# ------------------------------------------------------------------ graphs


def test_graphs_of_files_names_and_other_libraries_keep_their_ids(tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    assert gb.build(gb.Graph.read(tmp_path / "edges.txt")).reaches(0, 2)
    assert gb.build(gb.Graph.open("path-5"), "sequential").path(0, 4) == [0, 1, 2, 3, 4]
    graph = gb.Graph.from_edges(np.array([0, 4]), [2, 0], vertices=7)
    assert (graph.vertices, graph.edges, gb.build(graph).reaches(np.int64(4), np.uint8(2))) == (7, 2, True)
    import igraph
    import networkx as nx
    import scipy.sparse

    directed = nx.DiGraph([("x", "y"), ("y", "z")])
    assert gb.build(gb.Graph.from_networkx(directed)).path("x", "z") == ["x", "y", "z"]
    both = gb.Graph.from_networkx(nx.Graph([(5, 6)]))
    assert gb.build(both).reaches(6, 5)
    several = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("a", "c")])
    hidden = nx.restricted_view(several, [], [("a", "b", 0), ("a", "b", 1), ("a", "c", 0)])
    for graph, right in ((several, [True, True]), (hidden, [False, True])):
        assert gb.build(gb.Graph.from_networkx(graph)).reaches_many(["a", "b"], ["c", "c"]).tolist() == right
    matrix = scipy.sparse.coo_array(([1, 0, 2], ([0, 1, 1], [1, 0, 2])), shape=(4, 4))
    assert gb.Graph.from_scipy(matrix).edges == 2
    assert gb.Graph.from_scipy(matrix, names=list("abcd")).vertex("d") == 3

    graph = igraph.Graph.TupleList([("s", "t"), ("t", "u")], directed=True)
    assert gb.build(gb.Graph.from_igraph(graph)).reaches("s", "u")
    assert gb.build(gb.Graph.from_igraph(igraph.Graph([(0, 1)]))).reaches(1, 0)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: gb.Graph.from_edges([0, 1], [1]), "2 sources and 1 targets"),
        (lambda: gb.Graph.from_edges(["a"], [None]), "place 0 of 1: the id is missing"),
        (lambda: gb.Graph.from_edges(["a"], [1]), "one column holds names"),
        (lambda: gb.Graph.from_edges([-1], [1]), r"source -1 is out of range.*renumber=True"),
        (lambda: gb.Graph.from_edges([0], [10**9]), "makes a graph of 1,000,000,001 vertices"),
        (lambda: gb.Graph.from_edges([0], [1], names=["a"]), "target 1 is out of range"),
        (lambda: gb.Graph.from_edges([0], [1], names=["a", "a"]), "two vertices are named 'a'"),
        (lambda: gb.Graph.from_edges([0], [1], vertices=1), "out of range"),
        (lambda: gb.Graph.from_scipy(np.zeros((2, 2))), "a square sparse matrix is expected"),
        (lambda: gb.Graph.open("kegg-lik"), "did you mean kegg-like"),
    ],
)
def test_bad_graphs_are_refused(make, says):
    with pytest.raises(gb.InputError, match=says):
        make()


# ------------------------------------------------------------------ questions


@pytest.fixture(scope="module")
def numbers():
    return gb.build(gb.Graph.from_edges([0, 1, 5], [1, 2, 4]), "sequential")


class Color(str, enum.Enum):  # noqa: UP042 - whose str() is "Color.RED"
    RED, BLUE = "red", "blue"


class Step(enum.StrEnum):
    RED, BLUE = "red", "blue"


class Place(enum.IntEnum):
    FIRST, LAST = 7, 90


NAMES = ["red", "blue"], np.array(["red", "blue"], object), list(Color), list(Step)
NUMBERS = [7, 90], [np.int64(7), np.uint8(90)], list(Place)


def graphs_of(ids):
    """The graph of one edge between two ids, by every way in."""
    import networkx as nx

    yield gb.Graph.from_networkx(nx.DiGraph([tuple(ids)]))
    if isinstance(ids[0], str):
        yield gb.Graph.from_edges(ids[:1], ids[1:])
        yield gb.Graph.from_edges([0], [1], names=ids)
    else:
        yield gb.Graph.from_edges(ids[:1], ids[1:], renumber=True)


@pytest.mark.parametrize("kinds", [NAMES, NUMBERS], ids=["names", "numbers"])
def test_an_id_of_a_subclass_is_the_text_or_number_that_it_equals(kinds):
    """Nodes of `class S(str, Enum)` were named 'S.A': neither S.A nor 'a' was a vertex."""
    for ids in kinds:
        for graph in graphs_of(ids):
            index, right = gb.build(graph, "sequential"), None
            assert {type(index.graph.ids.label_of(vertex)) for vertex in (0, 1)} == {type(kinds[0][0])}
            for asked in kinds:
                first, last = asked
                found = [
                    index.reaches(first, last), index.path(first, last), index.explain(first, last).reachable,
                    index.descendants(first), index.common_ancestors(first, last), index.reaches_many([first], [last]),
                    index.matrix([first], [last]), index.count_ancestors([last]), index.graph.vertex(first),
                    [bits.tolist() for bits in index.stream(([first], [last]))],
                ]  # fmt: skip
                found = [each.tolist() if isinstance(each, np.ndarray) else each for each in found]
                assert found == (right := right or found)
                assert found[:4] == [True, kinds[0], True, kinds[0][1:]]


def test_names_that_the_graph_has_not_are_answered_with_the_nearest():
    index = gb.build(gb.Graph.from_edges(["flour"], ["bread"]))
    for ask in (lambda: index.reaches("flor", "bread"), lambda: index.reaches_many(["flor"], ["bread"])):
        with pytest.raises(gb.InputError, match="did you mean 'flour'"):
            ask()


def test_an_unknown_implementation_or_parameter_is_refused(numbers):
    graph = numbers.graph
    for wrong, says in (
        ({"implementation": "sequentiel"}, "did you mean sequential"),
        ({"filters": "levels"}, "filter 'levels'"),
        ({"d": 0}, "dim 0"),
        ({"implementation": "sequential", "device": 0}, "runs on the CPU"),
    ):
        with pytest.raises(gb.InputError, match=says):
            gb.build(graph, **wrong)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("wrong", [5, -1])
def test_a_number_out_of_range_is_found_wherever_it_stands(kind, wrong):
    index = gb.build(gb.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4]))
    for pairs in range(1, 11):  # columns are read in four parts and a rest
        for at in range(pairs):
            columns = np.zeros((2, pairs), np.int64)
            columns[pairs % 2, at] = wrong
            us, vs = columns.astype(kind)
            with pytest.raises(gb.InputError, match="out of range|vertex|64 bits"):
                index.reaches_many(us, vs)
            with pytest.raises(gb.InputError, match="out of range|64 bits"):
                index.reaches_many_vertices(us, vs)
    assert index.reaches_many(np.zeros(0, kind), np.zeros(0, kind)).tolist() == []
    assert index.reaches_many(np.arange(5).astype(kind), np.full(5, 4, kind)).all()
