"""Weights of a file are kept and used, or the import says why not; other columns and formats are no weights."""

import importlib
import json
import re
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from commands import call
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import distances_from
from outcomes import as_json
from strategies import digraphs, edges_of, graph_of

from grailbench.data.imported import import_graph
from grailbench.data.library import open_raw
from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Counted
from grailbench.graph.readers import guess_format, read, read_graph
from grailbench.graph.readers.parsers import weight_at
from grailbench.graph.weights import MOST_WEIGHT, of_values
from grailbench.graph.writers import write_tuwien
from grailbench.problems.closure.export import FORMATS as EXPORTED
from grailbench.problems.contract import implementation
from grailbench.problems.contract import problem as problem_of
from grailbench.problems.reachability.pairs import read_pairs
from grailbench.problems.traversal.index import FAR

FEW = settings(max_examples=20)

pytestmark = pytest.mark.usefixtures("module_cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("weights")


def rows(edges, first=0):
    return "".join(f"{u + first} {v + first} {w}\n" for u, v, w in edges)


def mtx(n, edges, kind="integer general"):
    return f"%%MatrixMarket matrix coordinate {kind}\n{n} {n} {len(edges)}\n{rows(edges, 1)}"


def metis(n, edges):
    beside = [[] for _ in range(n)]
    for u, v, w in edges:
        beside[u].append(f"{v + 1} {w}")
        beside[v].append(f"{u + 1} {w}")
    return f"{n} {len(edges)} 1\n" + "".join(" ".join(row) + "\n" for row in beside)


def both(edges):
    return edges + [(v, u, w) for u, v, w in edges if u != v]


#: format -> (file, the edges it means)
FORMATS = {
    "edges": (lambda n, edges: f"# Nodes: {n} Edges: {len(edges)}\n{rows(edges)}", list),
    "edges konect": (lambda n, edges: f"% sym weighted\n% {len(edges)} {n} {n}\n{rows(edges, 1)}", both),
    "mtx": (mtx, list),
    "mtx symmetric": (lambda n, edges: mtx(n, [(u, v, f"{w}.0") for u, v, w in edges], "real symmetric"), both),
    "metis": (metis, both),
    "tuwien": (lambda n, edges: f"{n} {len(edges)} directed\n{rows(edges)}", list),
}


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@FEW
@given(graph=digraphs().filter(lambda graph: 0 < graph[0] <= 15 and graph[1]), data=st.data())
def test_shortest_paths_go_by_the_weights_of_the_file(folder, format, graph, data):
    write, meant = FORMATS[format]
    vertices, pairs = graph
    if format == "metis":
        pairs = [(u, v) for u, v in pairs if u != v]
    weights = data.draw(st.lists(st.integers(1, 30), min_size=len(pairs), max_size=len(pairs)))
    edges = [(u, v, w) for (u, v), w in zip(pairs, weights, strict=True)]
    (folder / "g").write_text(write(vertices, edges))
    import_graph(folder / "g", "weighed", format.split()[0], replace=True)
    opened = open_raw("weighed")
    if not edges:
        return
    for name in ("sssp", "apsp"):
        problem = problem_of(name)
        network = problem.data(opened, problem.spec("random", 1, 1))
        solver = implementation("dijkstra", name).prepare(network, problem.params(), None)
        expected = [distances_from(vertices, meant(edges), u) for u in range(vertices)]
        whole = [[found.get(v, int(FAR)) for v in range(vertices)] for found in expected]
        found = [solver.solve(u, None).tolist() for u in range(vertices)] if name == "sssp" else solver.solve(0, None)
        assert np.array_equal(found, whole)


def test_parallel_edges_count_by_the_lightest_also_for_the_check(tmp_path):
    (tmp_path / "w.txt").write_text("0 1 9\n0 1 2\n0 1 5\n1 2 1\n")
    import_graph(tmp_path / "w.txt", "parallel-edges", replace=True)
    problem, opened = problem_of("sssp"), open_raw("parallel-edges")
    spec = problem.spec("random", 3, 1)
    network = problem.data(opened, spec)
    assert network.weights.tolist() == [2, 5, 9, 1]
    workload = problem.workload(spec, opened, network, None)
    attempt = problem.attempt(implementation("dijkstra", "sssp"), problem.params(), network, workload.batch, dict)
    assert (workload.method, workload.judge("cell", attempt).fault) == ("certificate", None)
    assert "weights of the file" in workload.describe()


def test_the_way_from_raw_edges_goes_by_the_weights_of_the_file_too(capsys, tmp_path):
    (tmp_path / "w.txt").write_text("0 1 9\n0 1 2\n1 2 5\n0 2 20\n2 0 1\n")
    import_graph(tmp_path / "w.txt", "from-raw-edges", replace=True)
    words = ["--problem", "sssp", "--dataset", "from-raw-edges", "--impl", "dijkstra", "--from-edges", "--trials", 1]
    assert call(capsys, "run", *words, "--warmup", 0, "--no-fetch", "--out", tmp_path / "run")[0] == 0
    rows = [json.loads(line) for line in (tmp_path / "run" / "trials.jsonl").read_text().splitlines()]
    assert {row["status"] for row in rows} == {"ok"}
    assert "ready" in {row["phase"] for row in rows}


def test_weights_are_drawn_where_the_file_has_none_and_that_is_said(tmp_path):
    (tmp_path / "p.txt").write_text("0 1\n1 2\n")
    import_graph(tmp_path / "p.txt", "plain-edges", replace=True)
    problem, opened = problem_of("sssp"), open_raw("plain-edges")
    spec = problem.spec("random", 3, 1)
    workload = problem.workload(spec, opened, problem.data(opened, spec), None)
    assert "drawn weights" in workload.describe()


def test_a_path_too_long_for_32_bits_is_refused(tmp_path):
    (tmp_path / "w.txt").write_text(f"0 1 {MOST_WEIGHT}\n1 2 {MOST_WEIGHT}\n2 3 {MOST_WEIGHT}\n")
    import_graph(tmp_path / "w.txt", "long-edges", replace=True)
    for name in ("sssp", "apsp"):
        problem = problem_of(name)
        network = problem.data(open_raw("long-edges"), problem.spec("random", 1, 1))
        with pytest.raises(InputError, match="too long for 32-bit distances"):
            implementation("dijkstra", name).prepare(network, problem.params(), None).solve(0, None)


# ---------------------------------------------------------------------------------------- what does not serve


@pytest.mark.parametrize(
    ("text", "format", "said"),
    [
        ("0 1 3\n1 2 0.5\n", "edges", "not used: line 2 has 0.5, which is not whole"),
        ("0 1 3\n1 2 -4\n", "edges", "not used: line 2 has -4, which is not positive"),
        ("0 1 3\n\n1 2 0\n", "edges", "not used: line 3 has 0, which is not positive"),
        ("0 1 3\n1 2 nan\n", "edges", "not used: line 2 has nan, which is not finite"),
        ("0 1 3\n1 2 -Infinity 7\n", "edges", "not used: line 2 has -Infinity, which is not finite"),
        (f"0 1 {MOST_WEIGHT + 1}\n", "edges", "which is more than 1073741823"),
        ("0 1 2004-05-01\n", "edges", "which is no number"),
        ("0 1 3\n1 2\n", "edges", "not used: not every edge has one (line 2 differs from those before)"),
        ("0 1\n1 2 3\n", "edges", "not used: not every edge has one (line 2 differs from those before)"),
        (mtx(2, [(0, 1, "1 2")], "complex general"), "mtx", "not used: the values are complex"),
        (mtx(2, [(1, 0, 4)], "integer skew-symmetric"), "mtx", "not used: half of the values"),
        (mtx(2, [(0, 1, "1.5e-3")], "real general"), "mtx", "not used: line 3 has 1.5e-3, which is not whole"),
        ("2 1 1\n2 0\n1 0\n", "metis", "not used: line 2 has 0, which is not positive"),
        ("2 1 1\n0 1 -1\n", "tuwien", "not used: line 2 has -1, which is not positive"),
    ],
)
def test_values_that_cannot_serve_are_said_with_their_line(tmp_path, text, format, said):
    (tmp_path / "g").write_text(text)
    reading = read(tmp_path / "g", format)
    assert reading.graph.weights is None
    assert said in reading.weights


def test_commands_say_why_weights_are_not_used(capsys, tmp_path):
    (tmp_path / "g").write_text("0 1 3\n1 2 0.5\n")
    words = ["import", tmp_path / "g", "--name", "unfit", "--format", "edges"]
    assert "not used: line 2 has 0.5" in " ".join(call(capsys, *words)[1].split())
    assert "line 2 has 0.5, which is not whole" in json.loads(call(capsys, "info", "unfit", "--json")[1])["weights"]


@pytest.mark.parametrize(
    ("text", "format", "said"),
    [
        ("0 1\n", "edges", None),
        ("0 1 3\n1 2 9\n", "edges", "column 3, 3 to 9"),
        ("0 1 3.0 1082040961\n1 2 9e0 1082040961\n", "edges", "column 3, 3 to 9"),
        (mtx(2, [(0, 1, "")], "pattern general"), "mtx", None),
        (mtx(2, [(0, 1, "12.0")], "real general"), "mtx", "values, 12 to 12"),
        ("2 1 11\n7 2 5\n8 1 5\n", "metis", "of edges, 5 to 5"),
        ("2 1 10\n7 2\n8 1\n", "metis", None),
        ("1\n0: #\n", "gra", None),
    ],
)
def test_what_weights_a_file_has_is_said(tmp_path, text, format, said):
    (tmp_path / "g").write_text(text)
    reading = read(tmp_path / "g", format)
    assert reading.weights == said
    assert (reading.graph.weights is None) == (said is None)


def test_a_time_in_the_fourth_column_is_said_to_be_no_weight(tmp_path):
    (tmp_path / "g.txt").write_text("0 1 3 1082040961\n")
    reading = read(tmp_path / "g.txt")
    assert reading.graph.weights.tolist() == [3]
    assert reading.notes == ("column 4 (a time) is not used",)


NUMBERS = st.one_of(
    st.integers(-5, 2**70).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-10, max_value=2**31, places=3).map(str),
    st.builds(
        "{}{}{}e{}".format, st.sampled_from(["", "+", "-"]), st.integers(0, 10**20),
        st.sampled_from(["", ".", ".0", ".5", ".250"]), st.integers(-25, 25),
    ),
)  # fmt: skip


@given(NUMBERS)
def test_a_weight_is_the_whole_number_that_its_digits_spell(text):
    found = int(weight_at(np.frombuffer(f"{text} ".encode(), np.uint8), 0, len(text)))
    number = Fraction(text)
    if number.denominator == 1 and 1 <= number <= MOST_WEIGHT:
        assert found == number
    else:
        assert found < 0


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.array([1.0, 2.0]), "values, 1 to 2"),
        (np.array([3, 2], np.uint64), "values, 2 to 3"),
        (np.array([1.0, np.nan]), "not used: edge 1 has nan, which is not finite"),
        (np.array([1.0, 0.5]), "not used: edge 1 has 0.5, which is not whole"),
        (np.array([-1, 2]), "not used: edge 0 has -1, which is not positive"),
        (np.array([2**63], np.uint64), "which is more than"),
        (np.array([1j]), "not used: values holds complex numbers"),
        (np.array(["a"]), "not used: values is of type"),
    ],
)
def test_values_of_an_array_serve_or_are_said_not_to(values, said):
    weights, found = of_values(values, "values")
    assert said in found
    assert (weights is None) == ("not used" in said or "more than" in said)
    assert weights is None or weights.dtype == np.int32


def test_an_npz_of_csr_arrays_may_have_weights(tmp_path):
    np.savez(tmp_path / "w.npz", offsets=[0, 1, 2], targets=[1, 0], weights=[4, 6])
    assert read(tmp_path / "w.npz").graph.weights.tolist() == [4, 6]
    np.savez(tmp_path / "x.npz", offsets=[0, 1, 2], targets=[1, 0], weights=[4])
    with pytest.raises(InputError, match="weights of shape"):
        read(tmp_path / "x.npz")


# ---------------------------------------------------------------------------------------- stored and exported


@pytest.mark.parametrize(
    "weights",
    [
        np.array([0, 1]), np.array([1]), np.array([1, -3]), np.array([2**32 + 5, 1]), np.array([0.5, 1]),
        np.array([1, np.inf]),
    ],
)  # fmt: skip
def test_weights_that_are_none_or_too_few_are_refused(weights):
    with pytest.raises(InputError, match=r"weights of shape|not used: edge [01] has .* which is"):
        Graph.from_edges(2, [0, 1], [1, 0], weights)


@given(digraphs().filter(lambda graph: graph[1]), st.data())
def test_weights_are_exported_of_duplicates_the_least(folder, graph, data):
    vertices, pairs = graph
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(pairs), max_size=len(pairs)))
    plain = graph_of(vertices, pairs)
    write_tuwien(folder / "w.tuwien", Graph.from_edges(vertices, plain.sources, plain.targets, np.array(weights)))
    found = read(folder / "w.tuwien").graph
    least = {}
    for pair, weight in zip(pairs, weights, strict=True):
        least[pair] = min(weight, least.get(pair, 9))
    assert dict(zip(edges_of(found), found.weights.tolist(), strict=True)) == least


def test_the_command_offers_every_format_of_export():
    assert tuple(EXPORTED) == importlib.import_module("grailbench.cli.export").WRITTEN


def test_export_writes_the_weights_of_the_file_and_those_of_a_closure_are_one(capsys, tmp_path):
    (tmp_path / "w.txt").write_text("0 1 5\n1 2 7\n2 1 6\n")
    import_graph(tmp_path / "w.txt", "exported", replace=True)
    assert call(capsys, "export", "exported", tmp_path / "w.tuwien")[0] == 0
    assert (tmp_path / "w.tuwien").read_text() == "3 3 directed\n0 1 5\n1 2 7\n2 1 6\n"
    call(capsys, "export", "exported", tmp_path / "e.txt", "--format", "edges")
    assert (tmp_path / "e.txt").read_text() == "# Nodes: 3 Edges: 3\n0 1 5\n1 2 7\n2 1 6\n"
    assert as_json(capsys, "export", "exported", tmp_path / "c.tuwien", "--closure")[0]["weights"] is False
    assert (tmp_path / "c.tuwien").read_text() == "3 4 directed\n0 1 1\n0 2 1\n1 2 1\n2 1 1\n"


# ---------------------------------------------------------------------------------------- adjacency lists


@given(digraphs().filter(lambda graph: graph[0] > 0), st.integers(0, 3))
def test_an_adjacency_list_of_networkx_is_read_as_one(folder, graph, first):
    drawn = nx.DiGraph()
    drawn.add_nodes_from(range(first, first + graph[0]))
    drawn.add_edges_from((u + first, v + first) for u, v in graph[1])
    path = folder / "list.txt"
    nx.write_adjlist(drawn, path)
    found = read(path)
    assert (found.format, found.graph.vertices, found.weights) == ("adjlist", graph[0], None)
    named = [(found.ids.label_of(u), found.ids.label_of(v)) for u, v in edges_of(found.graph)]
    assert sorted(named) == sorted(drawn.edges)


THREE = "0 1 2\n1 2 3\n"  # two edges with weights, or four edges


def test_three_columns_are_edges_with_weights_or_an_adjacency_list_as_told(tmp_path):
    (tmp_path / "t.txt").write_text(THREE)
    assert edges_of(read(tmp_path / "t.txt").graph) == [(0, 1), (1, 2)]
    assert edges_of(read(tmp_path / "t.txt", "adjlist").graph) == [(0, 1), (0, 2), (1, 2), (1, 3)]
    head = "#write.py\n# GMT Sat Nov  7 09:05:01 2026\n# \n"
    (tmp_path / "t.txt").write_text(head + THREE)
    assert guess_format(tmp_path / "t.txt") == "adjlist"
    assert read(tmp_path / "t.txt", "edges").graph.weights.tolist() == [2, 3]


@pytest.mark.parametrize(("text", "line"), [("0 1 2\n1 2\n2 3 4\n", 2), ("0 1\n1 2 3\n", 2), ("0 1 2\n1\n", 2),
                                            ("0 1 2 3 4\n1 2\n", 1)])  # fmt: skip
def test_lines_of_different_lengths_are_refused_until_somebody_says_what_they_are(tmp_path, refused, text, line):
    error = refused(text, "t.txt")
    assert (error.line, "--format adjlist" in str(error)) == (line, True)
    assert read(tmp_path / "t.txt", "adjlist").graph.weights is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 1\n0 2\n", "vertex 0 begins 2 lines"),
        ("0 2\n1\n2\n1 0\n2 0\n", "vertex 1 begins 2 lines"),  # networkx.write_multiline_adjlist
        ("0 a\n", "a vertex id expected"),
        ("0 1,2\n", "a vertex id expected"),
        ("# nothing\n", "holds no vertex"),
        ("0 2147483647\n", "out of range"),
        ("0 9999999999999999999\n", "more than 18 digits"),
    ],
)
def test_faulty_adjacency_lists_are_refused(refused, text, said):
    assert said in str(refused(text, "t.txt", "adjlist"))


# ---------------------------------------------------------------------------------------- byte order marks

TEXTS = {
    "gra": "graph_for_greach\n2\n0: 1 #\n1: #\n",
    "edges": "0 1\n",
    "adjlist": "0 1\n1\n",
    "mtx": "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n",
    "metis": "2 1\n2\n1\n",
    "tuwien": "2 1 directed\n0 1 1\n",
}


@pytest.mark.parametrize("format", TEXTS)
def test_a_byte_order_mark_is_read_over_in_every_text_format(tmp_path, refused, format):
    path = tmp_path / ("g.graph" if format == "metis" else "g.adjlist" if format == "adjlist" else "g.txt")
    path.write_bytes(TEXTS[format].encode("utf-8-sig"))
    found = read(path)
    assert (found.format, edges_of(found.graph)[0]) == (format, (0, 1))
    for wide in ("utf-16", "utf-16-be"):
        path.write_bytes(("\ufeff" * (wide == "utf-16-be") + TEXTS[format]).encode(wide))
        for told in (None, format):
            assert "UTF-16 text (save it as UTF-8" in str(refused(path.read_bytes(), path.name, told))


def test_a_byte_order_mark_leaves_lines_and_bytes_of_messages_as_they_are(refused):
    assert re.search("line 2: .* at byte 9: '1 x'", str(refused("0 1\n1 x\n".encode("utf-8-sig"), "g.txt")))


def test_a_byte_order_mark_is_read_over_in_query_files(tmp_path):
    path = tmp_path / "q.txt"
    path.write_bytes("0 1 1\n".encode("utf-8-sig"))
    assert read_pairs(str(path), Counted(2))[1].tolist() == [1]
    path.write_bytes("0 1 1\n".encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16 text"):
        read_pairs(str(path), Counted(2))


# ------------------------------------------------------------------ the closure report's format


FIGURE_1 = [(0, 1), (1, 2), (2, 3), (3, 1)]


@given(graph=digraphs())
def test_a_written_graph_is_read_back_without_its_duplicates(folder, graph):
    write_tuwien(folder / "g.tuwien", graph_of(*graph))
    found = read_graph(folder / "g.tuwien")
    assert found.vertices == graph[0]
    assert edges_of(found) == sorted(set(graph[1]))


def test_figure_1_is_written_in_strict_order_with_weights_of_1(tmp_path):
    write_tuwien(tmp_path / "f.txt", graph_of(4, FIGURE_1[::-1] + FIGURE_1))
    assert (tmp_path / "f.txt").read_text() == "4 4 directed\n0 1 1\n1 2 1\n2 3 1\n3 1 1\n"
    assert read(tmp_path / "f.txt").format == "tuwien"


@pytest.mark.parametrize("word", ["directed", "1", "TRUE", "d"])
def test_directed_files_are_read_with_any_weight(tmp_path, word):
    (tmp_path / "g.tuwien").write_text(f"\n3 2 {word}\r\n0 1 5\r\n\r\n1 2 -0.5e3\r\n")
    assert edges_of(read_graph(tmp_path / "g.tuwien")) == [(0, 1), (1, 2)]


def test_undirected_edges_stand_for_both_directions(tmp_path):
    (tmp_path / "g.tuwien").write_text("3 2 undirected\n0 1 1\n2 2 1\n")
    assert edges_of(read_graph(tmp_path / "g.tuwien")) == [(0, 1), (2, 2), (1, 0)]


@pytest.mark.parametrize(
    ("content", "line", "what"),
    [
        ("3 2\n", 1, "'vertices edges directed' expected"),
        ("3 2 perhaps\n", 1, "'vertices edges directed' expected.*the third word is"),
        ("3 x 1\n", 1, "'vertices edges directed' expected.*such as 4 4 directed"),
        ("99999999999 0 1\n", 1, "at most"),
        ("3 2 1\n0 1 1\n", 3, "1 edges, but line 1 says 2"),
        ("3 1 1\n0 1 1\n1 2 1\n", 4, "2 edges, but line 1 says 1"),
        ("3 1 1\n0 3 1\n", 2, "vertex id 3 is out of range.*correct the line"),
        ("3 1 1\n\n0 1\n", 3, "an edge is 'source destination weight'"),
        ("3 1 1\n0 1 1 1\n", 2, "an edge is 'source destination weight'"),
        ("3 1 1\n0 1 one\n", 2, "an edge is 'source destination weight'"),
        ("3 1 1\nzero 1 1\n", 2, "a vertex id expected"),
    ],
)
def test_wrong_files_are_refused_by_file_and_line(refused, content, line, what):
    error = refused(content, "bad.tuwien")
    assert (error.path.name, error.line) == ("bad.tuwien", line)
    assert re.search(what, str(error))


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="--out another folder"):
        write_tuwien(tmp_path / "taken", graph_of(2, [(0, 1)]))
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]
