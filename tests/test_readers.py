"""Every format round trips; every way a file can be wrong is refused by file and line."""

from __future__ import annotations

import gzip
import importlib
import io
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import digraphs, edges_of

from grailbench import files
from grailbench.errors import InputError, MachineLacks
from grailbench.graph import readers
from grailbench.graph.csr import Graph
from grailbench.graph.readers import FORMATS, guess_format, read, read_graph


def as_gra(vertices, edges, header="graph_for_greach\n", blank=" ", end="\n", order=None):
    children = [[] for _ in range(vertices)]
    for u, v in edges:
        children[u].append(v)
    rows = [f"{u}:{''.join(f'{blank}{v}' for v in children[u])}{blank}#" for u in order or range(vertices)]
    return header.replace("\n", end) + end.join([str(vertices), *rows, ""])


def as_edges(edges, blank="\t", end="\n", tail=""):
    return "".join(f"{u}{blank}{v}{tail}{end}" for u, v in edges)


def as_mtx(vertices, edges, kind="pattern general", value=""):
    return f"%%MatrixMarket matrix coordinate {kind}\n% made by a test\n{vertices} {vertices} {len(edges)}\n" + "".join(
        f"{u + 1} {v + 1}{value}\n" for u, v in edges
    )


def as_metis(vertices, pairs, form="", before="", after=""):
    beside = [[] for _ in range(vertices)]
    for u, v in pairs:
        beside[u].append(v)
        beside[v].append(u)
    lines = [before + "".join(f" {v + 1}{after}" for v in row) for row in beside]
    return f"% comment\n{vertices} {len(pairs)} {form}\n" + "\n".join([*lines, ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Path: one folder for all the files of this module (hypothesis forbids function-scoped fixtures)."""
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture
def refused(tmp_path):
    """A function: write `content` as `name`, read it, give the InputError; its message must name the file."""

    def attempt(content, name, format=None):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(InputError) as caught:
            read_graph(path, format)
        assert str(path) in str(caught.value)
        return caught.value

    return attempt


def roundtrip(folder, content, name, format=None) -> Graph:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    graph = read_graph(path, format)
    assert graph.sources.dtype == graph.targets.dtype == np.int32
    assert graph.sources.flags.c_contiguous
    assert graph.sources.flags.owndata
    return graph


# ---------------------------------------------------------------------------------------- round trips


@given(digraphs(), st.sampled_from(["graph_for_greach\n", ""]), st.sampled_from([" ", "  ", "\t"]), st.booleans())
def test_gra_round_trips_with_any_header_blanks_and_line_ends(folder, drawn, header, blank, crlf):
    vertices, edges = drawn
    text = as_gra(vertices, edges, header, blank, "\r\n" if crlf else "\n")
    graph = roundtrip(folder, text, "g.gra")
    assert graph.vertices == vertices
    assert edges_of(graph) == sorted(edges, key=lambda edge: edge[0])


@given(digraphs(), st.randoms(use_true_random=False))
def test_gra_lines_may_come_in_any_order(folder, drawn, random):
    vertices, edges = drawn
    order = list(range(vertices))
    random.shuffle(order)
    graph = roundtrip(folder, as_gra(vertices, edges, order=order), "o.gra")
    assert sorted(edges_of(graph)) == sorted(edges)


@given(
    digraphs().filter(lambda drawn: drawn[1]),
    st.sampled_from(["\t", " ", " \t "]),
    st.sampled_from(["", " ", " 1", "\t-2.5e-3\t1082040961"]),
    st.booleans(),
)
def test_edge_lists_keep_edges_and_ids_and_read_over_weight_and_time(folder, drawn, blank, tail, crlf):
    _, edges = drawn
    graph = roundtrip(folder, as_edges(edges, blank, "\r\n" if crlf else "\n", tail), "g.txt")
    assert edges_of(graph) == edges
    assert graph.vertices == 1 + max(max(edge) for edge in edges)


@given(digraphs())
def test_snap_header_states_the_vertices(folder, drawn):
    vertices, edges = drawn
    head = f"# Directed graph: g.txt\n# Nodes: {vertices} Edges: {len(edges)}\n# FromNodeId\tToNodeId\n"
    graph = roundtrip(folder, head + as_edges(edges), "snap.txt", "edges")
    assert (graph.vertices, edges_of(graph)) == (vertices, edges)


@given(digraphs())
def test_konect_header_states_edges_and_vertices_and_ids_count_from_one(folder, drawn):
    vertices, edges = drawn
    up = [(u + 1, v + 1) for u, v in edges]
    head = f"% asym unweighted\n% {len(edges)} {vertices} {vertices}\n"
    graph = roundtrip(folder, head + as_edges(up, " "), "out.konect", "edges")
    assert (graph.vertices, edges_of(graph)) == (vertices, edges)  # whether or not the last vertex has an edge


@given(digraphs(), st.sampled_from([("pattern", ""), ("real", " 1.5e-3"), ("integer", " -7"), ("complex", " 1 -2")]))
def test_matrix_market_general_round_trips(folder, drawn, kind):
    vertices, edges = drawn
    graph = roundtrip(folder, as_mtx(vertices, edges, f"{kind[0]} general", kind[1]), "g.mtx")
    assert (graph.vertices, edges_of(graph)) == (vertices, edges)


@given(digraphs(), st.sampled_from(["pattern symmetric", "pattern skew-symmetric", "Pattern Hermitian"]))
def test_matrix_market_symmetric_gives_both_directions(folder, drawn, kind):
    vertices, edges = drawn
    graph = roundtrip(folder, as_mtx(vertices, edges, kind), "g.mtx")
    assert sorted(edges_of(graph)) == sorted(edges + [(v, u) for u, v in edges if u != v])


@given(digraphs(), st.sampled_from([("", "", ""), ("1", "", " 9"), ("011 2", "4 5", " 9"), ("100", "7", "")]))
def test_metis_gives_both_directions_whatever_weights_it_carries(folder, drawn, kind):
    vertices, edges = drawn
    edges = [edge for edge in edges if edge[0] != edge[1]]
    graph = roundtrip(folder, as_metis(vertices, edges, *kind), "g.graph")
    assert graph.vertices == vertices
    assert sorted(edges_of(graph)) == sorted(edges + [(v, u) for u, v in edges])


@given(digraphs(), st.sampled_from([np.int32, np.int64, np.uint64]))
def test_npz_of_csr_arrays_round_trips(folder, drawn, dtype):
    vertices, edges = drawn
    edges = sorted(edges)
    offsets = np.searchsorted([u for u, _ in edges], np.arange(vertices + 1)).astype(dtype)
    np.savez(folder / "g.npz", offsets=offsets, targets=np.array([v for _, v in edges], dtype))
    graph = read_graph(folder / "g.npz")
    assert (graph.vertices, edges_of(graph)) == (vertices, edges)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_npz_of_scipy_reads_every_layout(folder, layout):
    from scipy.sparse import coo_array, save_npz

    matrix = coo_array((np.ones(3), ([0, 2, 3], [1, 0, 3])), shape=(4, 4)).asformat(layout)
    save_npz(folder / "s.npz", matrix)
    graph = read_graph(folder / "s.npz")
    assert graph.vertices == 4
    assert sorted(edges_of(graph)) == [(0, 1), (2, 0), (3, 3)]


@pytest.mark.parametrize("name", ["g.gra.gz", "misnamed.gra"])
def test_gzip_is_seen_through_by_content(folder, name):
    assert edges_of(roundtrip(folder, gzip.compress(as_gra(2, [(1, 0)]).encode()), name)) == [(1, 0)]


def test_gzip_is_seen_through_for_npz(folder):
    np.savez(folder / "plain.npz", offsets=[0, 1, 1], targets=[1])
    zipped = gzip.compress((folder / "plain.npz").read_bytes())
    assert edges_of(roundtrip(folder, zipped, "z.npz.gz", "npz")) == [(0, 1)]


def test_two_gzip_members_are_one_text(folder):
    text = as_gra(3, [(0, 1), (2, 1)]).encode()
    assert roundtrip(folder, gzip.compress(text[:30]) + gzip.compress(text[30:]), "two.gra.gz").edges == 2


@pytest.mark.parametrize(("name", "content"), [("g.gra", as_gra), ("g.txt", lambda n, e: as_edges(e))])
def test_arrays_grow_past_their_first_room(folder, name, content):
    edges = [(u, (7 * u + k) % 30_000) for u in range(30_000) for k in range(3)]  # more than _FIRST_EDGES
    assert edges_of(roundtrip(folder, content(30_000, edges), name)) == edges


def test_arrays_grow_inside_a_hub_line(folder):
    edges = [(1, v % 5) for v in range(300_000)]
    assert edges_of(roundtrip(folder, as_gra(5, edges), "hub.gra")) == edges


def test_metis_arrays_grow_inside_a_hub_line(folder):
    pairs = [(0, v) for v in range(1, 80_000)]
    assert roundtrip(folder, as_metis(80_000, pairs), "hub.graph").edges == 2 * len(pairs)


@pytest.mark.parametrize(
    "text", ["0 1\n1 2", "0 1\n\n\n1 2\n\n", "# c\n0 1\n# between\n% too\n1 2\n", "  0 1 \n\t1\t2\t\n"]
)
def test_blank_lines_comments_and_a_missing_last_newline_are_read_over(folder, text):
    assert edges_of(roundtrip(folder, text, "g.txt", "edges")) == [(0, 1), (1, 2)]


def test_last_gra_line_needs_no_newline(folder):
    assert roundtrip(folder, "2\n0: 1 #\n1: #", "g.gra").edges == 1


# ---------------------------------------------------------------------------------------- ids of edge lists


def test_sparse_ids_are_renumbered_when_exactly_the_stated_number_occurs(folder):
    text = "# Nodes: 3 Edges: 2\n3858241\t956203\n956203\t6009554\n"
    graph = roundtrip(folder, text, "patents.txt")
    assert (graph.vertices, edges_of(graph)) == (3, [(1, 0), (0, 2)])


def test_very_sparse_ids_are_renumbered_without_an_array_as_long_as_the_greatest(folder):
    graph = roundtrip(folder, "# Nodes: 3 Edges: 2\n2147483645 0\n0 1000000000\n", "far.txt")
    assert (graph.vertices, edges_of(graph)) == (3, [(2, 0), (0, 1)])


@pytest.mark.parametrize("text", ["% sym unweighted\n1 2\n3 3\n", "# Undirected graph: g\n0 1\n2 2\n"])
def test_undirected_edge_lists_give_both_directions_and_loops_once(folder, text):
    assert sorted(edges_of(roundtrip(folder, text, "u.txt"))) == [(0, 1), (1, 0), (2, 2)]


def test_what_is_known_of_the_ids_is_said(folder):
    (folder / "one.txt").write_text("1 2\n")
    (folder / "k.txt").write_text("% asym unweighted\n% 1 2 2\n1 2\n")
    (folder / "p.txt").write_text("# Nodes: 2 Edges: 1\n70 20\n")
    one = read(folder / "one.txt")
    assert one.ids.describe() == "0 to 2, as in the file"
    assert one.notes == ("the least id of an edge is 1; those below are vertices without an edge",)
    assert read(folder / "k.txt").ids.describe() == "1 to 2, as in the file (inside 0 to 1)"
    assert read(folder / "p.txt").ids.describe() == "2 ids from 20 to 70, as in the file (inside 0 to 1)"


# ---------------------------------------------------------------------------------------- .gra refused


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "ends before the vertex count"),
        ("graph_for_greach\n", 1, "ends before the vertex count"),
        ("graph_for_greach\ngraph_for_greach\n", 2, "vertex count expected"),
        ("nodes\n", 1, "vertex count expected, found 'nodes'"),
        ("3 4\n0: #\n", 1, "vertex count expected"),
        ("2147483647\n0: #\n", 1, "at most 2147483646"),
        ("9" * 5000 + "\n", 1, "vertex count expected"),
        ("3\n0: 1 #\n1: 2", 3, "ends inside a vertex line, after 1 of 3"),
        ("3\n0: 1 #\n1: 2 ", 3, "ends inside a vertex line, after 1 of 3"),
        ("3\n0: 1 #\n1", 3, "ends inside a vertex line, after 1 of 3"),
        ("3\n0: 1 #\n1:", 3, "ends inside a vertex line, after 1 of 3"),
        ("3\n0: 1 #\n1: 2 #\n", 4, "ends after 2 of 3 vertex lines (vertex 2 has none)"),
        ("2147483646\n0: 1 #\n", 3, "ends after 1 of 2147483646 vertex lines (vertex 1 has none)"),
        ("3\n0: 1 #\n2: 1 #\n", 4, "(vertex 1 has none)"),
        ("3\n0: 1 #\n1: 2 #", 3, "ends after 2 of 3 vertex lines"),
        ("2\n0: 1\n1: #\n", 2, "vertex 0 does not end with '#'"),
        ("2\n0: 1 #\n0: #\n", 3, "vertex 0 has a second line"),
        ("2\n0: 1 #\n2: #\n", 3, "a vertex id 2 is out of range (0 to 1)"),
        ("2\n0: 2 #\n1: #\n", 2, "a child 2 is out of range (0 to 1)"),
        ("2\n0: 4294967297 #\n1: #\n", 2, "a child 4294967297 is out of range"),
        ("2\n0: 18446744073709551617 #\n1: #\n", 2, "a child has more than 18 digits"),
        ("2\n4294967296: #\n1: #\n", 2, "a vertex id 4294967296 is out of range"),
        ("2\n0: -1 #\n1: #\n", 2, "a child expected"),
        ("2\n0: 1x #\n1: #\n", 2, "a child expected"),
        ("2\n0 1 #\n1: #\n", 2, "a colon expected"),
        ("2\n: 1 #\n1: #\n", 2, "a vertex id expected"),
        ("2\n0: # 1\n1: #\n", 2, "something follows the '#'"),
        ("2\n0: #\n1: #\n\x00\x00\n", 4, "a vertex id expected"),
        ("2\n0: \x001 #\n1: #\n", 2, "a child expected"),
        ("2\r\n0: 1 #\r\n1: 5 #\r\n", 3, "a child 5 is out of range"),
    ],
)
def test_faulty_gra_is_refused_with_its_line(refused, text, line, said):
    error = refused(text, "g.gra", "gra")
    assert error.line == line
    assert said in str(error)
    assert f"line {line}" in str(error)


@given(digraphs().filter(lambda drawn: drawn[0] > 0), st.data())
def test_gra_cut_anywhere_before_the_last_hash_is_refused(folder, drawn, data):
    text = as_gra(*drawn)
    path = folder / "cut.gra"
    path.write_text(text[: data.draw(st.integers(0, text.rindex("#")))])
    with pytest.raises(InputError, match=r"cut\.gra, line \d+"):
        read_graph(path, "gra")


def test_uniprotenc_150_in_circulation_is_refused(refused):
    lines = "".join(f"{v}: {v - 1 if v else ''} #\n" for v in range(184_672))
    error = refused(f"graph_for_greach\n25037600\n{lines}184672: 18", "uniprotenc_150m.scc.gra")
    assert error.line == 184_675
    assert "after 184672 of 25037600" in str(error)
    assert "fetch or copy it again" in error.remedy


def test_message_shows_the_bytes_at_fault(refused):
    assert "at byte 14: '1: 0 oops #'" in str(refused("2\n0: 1 #\n1: 0 oops #\n", "g.gra"))


# ---------------------------------------------------------------------------------------- edge lists refused


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "holds no edge"),
        ("# a comment\n", 2, "holds no edge"),
        ("0 1\n2\n", 2, "only one number is here"),
        ("0 1\n2 ", 2, "only one number is here"),
        ("0 1\na b\n", 2, "a vertex id expected"),
        ("0 1\n-1 2\n", 2, "a vertex id expected"),
        ("0 1\n1 -2\n", 2, "a vertex id expected"),
        ("0 1\n1.5 2\n", 2, "a vertex id expected"),
        ("0 1\n1,2\n", 2, "a vertex id expected"),
        ("0 1\n1\x002\n", 2, "a vertex id expected"),
        ("0 1\n1 2 x\n", 2, "no number follows the edge"),
        ("0 1\n1 2 3 4 5\n", 2, "more than a weight and a time"),
        ("0 1\n2147483647 1\n", 2, "a vertex id 2147483647 is out of range"),
        ("0 1\n0 4294967297\n", 2, "a vertex id 4294967297 is out of range"),
        ("0 1\n0 99999999999999999999\n", 2, "more than 18 digits"),
        ("# Nodes: 2 Edges: 3\n0 1\n1 0\n", 4, "2 edges, but line 1 says 3"),
        ("# Nodes: 2 Edges: 1\n0 1\n1 0\n", 4, "2 edges, but line 1 says 1"),
        ("# Nodes: 2 Edges: 3\n0 1\n# more\n1 2\n2 3\n", 4, "ids reach 3, and 4 of them occur, but line 1 says 2"),
        ("# Nodes: 2 Edges: 2\n0 1\n1 2\n", 3, "ids reach 2, and 3 of them occur"),
        ("# Nodes: 99999999999 Edges: 1\n0 1\n", 1, "at most 2147483646"),
        ("% asym unweighted\n% 3 4 4\n1 2\n2 3\n", 5, "2 edges, but line 2 says 3"),
        ("% asym unweighted\n% 2 2 2\n1 2\n2 5\n", 4, "ids reach 5, and 3 of them occur, but line 2 says 2"),
        ("% asym unweighted\n% 2 4 5\n1 2\n2 3\n", 2, "two sides"),
        ("% bip unweighted\n1 1\n", 1, "bipartite"),
        ("% asym unweighted\n% 2 4 4\n1 2\n3 0\n", 4, "a vertex id 0, but KONECT counts from 1"),
        ("% sym unweighted\n0 2\n", 2, "a vertex id 0, but KONECT counts from 1"),
    ],
)
def test_faulty_edge_list_is_refused_with_its_line(refused, text, line, said):
    error = refused(text, "g.txt", "edges")
    assert error.line == line
    assert said in str(error)


# ---------------------------------------------------------------------------------------- others refused

_MTX = "%%MatrixMarket matrix coordinate"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "no '%%MatrixMarket"),
        (f"{_MTX}\n2 2 1\n1 2\n", 1, "no '%%MatrixMarket"),
        ("%%MatrixMarket matrix array real general\n2 2\n", 1, "of kind 'array real general'"),
        (f"{_MTX} quaternion general\n", 1, "quaternion"),
        (f"{_MTX} pattern general\n% only\n", 2, "ends before the size line"),
        (f"{_MTX} pattern general\n2 2\n1 2\n", 2, "size line"),
        (f"{_MTX} pattern general\n2 3 1\n1 2\n", 2, "2 by 3 is no graph"),
        (f"{_MTX} pattern general\n2147483647 2147483647 1\n1 2\n", 2, "at most"),
        (f"{_MTX} pattern general\n2 2 2\n1 2\n", 4, "1 entries, but line 2 says 2"),
        (f"{_MTX} pattern general\n2 2 1\n1 2\n2 1\n", 5, "2 entries, but line 2 says 1"),
        (f"{_MTX} pattern general\n2 2 1\n0 2\n", 3, "an index 0 is out of range (1 to 2)"),
        (f"{_MTX} pattern general\n2 2 1\n1 3\n", 3, "an index 3 is out of range (1 to 2)"),
        (f"{_MTX} pattern general\n2 2 1\n1 2 7\n", 3, "two indices and 0 values"),
        (f"{_MTX} real general\n2 2 2\n1 2 7\n2 1\n", 4, "two indices and 1 values"),
        (f"{_MTX} real general\n2 2 1\n1\n", 3, "two indices and 1 values"),
        (f"{_MTX} real general\n2 2 1\n1 2 much\n", 3, "two indices and 1 values"),
        (f"{_MTX} pattern general\n2 2 1\n1 b\n", 3, "an index expected"),
    ],
)
def test_faulty_matrix_market_is_refused_with_its_line(refused, text, line, said):
    error = refused(text, "g.mtx", "mtx")
    assert error.line == line
    assert said in str(error)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 1, "ends before the header"),
        ("% c\n", 1, "ends before the header"),
        ("2\n", 1, "header 'vertices edges"),
        ("2 1 2\n2\n1\n", 1, "fmt '2'"),
        ("2147483647 1\n", 1, "at most"),
        ("3 1\n2\n", 3, "ends after 1 of 3 vertex lines"),
        ("2 1 10\n4 2\n", 3, "ends after 1 of 2 vertex lines"),
        ("2 1\n3\n1\n", 2, "3 is out of range (1 to 2)"),
        ("2 1\n0\n1\n", 2, "0 is out of range (1 to 2)"),
        ("2 1\n2\n1\n1\n", 4, "follows the lines of all 2 vertices"),
        ("2 1\n2x\n1\n", 2, "expected"),
        ("2 1 1\n2 5\n1\n", 3, "before the weights"),
        ("2 1 10\n\n1 1\n", 2, "before the weights"),
        ("2 2\n2\n1\n", 4, "2 neighbours are listed, but the 2 edges of line 1 need 4"),
        ("2 1\n2\n\n", 4, "1 neighbours are listed"),
    ],
)
def test_faulty_metis_is_refused_with_its_line(refused, text, line, said):
    error = refused(text, "g.metis")
    assert error.line == line
    assert said in str(error)


def test_directed_metis_is_refused(refused):
    assert "vertex 1 lists 2 neighbours, but 0 list it" in str(refused("3 1\n2 3\n\n\n", "g.graph"))


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"offsets": [0, 2], "targets": [0]}, "do not run from 0 to the 1 targets"),
        ({"offsets": [1, 1], "targets": [0]}, "do not run from 0"),
        ({"offsets": [], "targets": []}, "a row of integers"),
        ({"offsets": [0, 2, 1, 3], "targets": [0, 0, 0]}, "offsets fall after vertex 1"),
        ({"offsets": [0, 1], "targets": [1]}, "target 1 is out of range"),
        ({"offsets": [0, 1], "targets": [4294967296]}, "target 4294967296 is out of range"),
        ({"offsets": [0, 1], "targets": [-1]}, "target -1 is out of range"),
        ({"offsets": [0.0, 1.0], "targets": [0]}, "a row of integers"),
        ({"a": [1]}, "an .npz of a"),
    ],
)
def test_faulty_npz_is_refused(refused, arrays, said):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    assert said in str(refused(stream.getvalue(), "g.npz"))


def test_damaged_npz_is_refused(refused):
    stream = io.BytesIO()
    np.savez(stream, offsets=np.zeros(100, np.int64), targets=np.zeros(0, np.int64))
    whole = stream.getvalue()
    flipped = bytearray(whole)
    flipped[300] ^= 1
    assert "damaged" in str(refused(bytes(flipped), "f.npz"))
    assert "damaged" in str(refused(whole[:-30], "c.npz"))


def test_npz_that_would_run_code_is_refused(refused):
    stream = io.BytesIO()
    np.savez(stream, offsets=np.array([{}], dtype=object), targets=np.array([0]))
    assert "damaged" in str(refused(stream.getvalue(), "g.npz"))


def test_rectangular_scipy_matrix_is_refused(refused):
    from scipy.sparse import csr_array, save_npz

    stream = io.BytesIO()
    save_npz(stream, csr_array(np.ones((2, 3))))
    assert "shape (2, 3) is no graph" in str(refused(stream.getvalue(), "g.npz"))


@pytest.mark.parametrize("kept", [1, 5, 12, 200, -1, -8])
def test_truncated_gzip_is_refused(refused, kept):
    zipped = gzip.compress(as_gra(2000, [(u, 7 * u % 2000) for u in range(2000)]).encode())
    refused(zipped[:kept], "g.gra.gz", "gra")


def test_flipped_bit_in_gzip_is_refused(refused):
    zipped = bytearray(gzip.compress(as_gra(2000, [(u, 7 * u % 2000) for u in range(2000)]).encode()))
    zipped[len(zipped) // 2] ^= 16
    assert "g.gra.gz" in str(refused(bytes(zipped), "g.gra.gz", "gra"))


@pytest.mark.parametrize("format", [None, "gra", "npz"])
def test_missing_file_and_folder_are_refused(tmp_path, format):
    with pytest.raises(InputError, match="there is no such file"):
        read_graph(tmp_path / "nowhere.gra", format)
    with pytest.raises(InputError):
        read_graph(tmp_path, format)


_WHOLE = {
    "gra": as_gra(12, [(u, v) for u in range(12) for v in range(0, u, 3)]),
    "edges": "# Nodes: 12 Edges: 9\n" + as_edges([(u, (5 * u + 1) % 12) for u in range(9)], tail=" 1.5"),
    "mtx": as_mtx(12, [(u, (5 * u + 1) % 12) for u in range(12)]),
    "metis": as_metis(12, [(u, v) for u in range(12) for v in range(0, u, 3)], "11", "3", " 1"),
}


@given(st.sampled_from(sorted(_WHOLE)), st.data())
def test_whatever_is_done_to_a_file_gives_an_input_error_or_ids_in_range(folder, format, data):
    torn = bytearray(_WHOLE[format].encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(torn) - 1))
        cut = at + data.draw(st.integers(0, 3))
        torn[at:cut] = data.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"9", b"\n", b" ", b"#", b":", b"%"]))
        )
        torn = torn or bytearray(b" ")
    (folder / "torn").write_bytes(torn)
    try:
        graph = read_graph(folder / "torn", format)
    except InputError:
        return
    Graph.from_edges(graph.vertices, graph.sources, graph.targets)  # checks


# ---------------------------------------------------------------------------------------- telling formats


@pytest.mark.parametrize(
    ("name", "content", "format"),
    [
        ("a.gra", "2\n0: #\n1: #\n", "gra"),
        ("a.txt", "graph_for_greach\n1\n0: #\n", "gra"),
        ("a", "2\r\n0: #\r\n1: #\r\n", "gra"),
        ("a.txt", "%%MatrixMarket matrix coordinate pattern general\n1 1 0\n", "mtx"),
        ("a.txt", "# SNAP\n0\t1\n", "edges"),
        ("out.a", "% asym unweighted\n1 2\n", "edges"),
        ("a.unknown", "\n% c\n\n# c\n 0 1\n", "edges"),
        ("a.graph", "2 1\n2\n1\n", "metis"),
        ("a.tsv", "", "edges"),
        ("a.txt", "2 1 directed\n0 1 1\n", "tuwien"),
        ("a.tuwien", "2 1 1\n0 1 1\n", "tuwien"),
    ],
)
def test_format_is_told_from_content_and_name(tmp_path, name, content, format):
    for path, bytes_ in (
        (tmp_path / name, content.encode()),
        (tmp_path / f"{name}.gz", gzip.compress(content.encode())),
    ):
        path.write_bytes(bytes_)
        assert guess_format(path) == format


def test_format_that_cannot_be_told_names_the_option(refused):
    assert "--format" in refused("hello\n", "a.unknown").remedy


def test_too_little_memory_is_said_as_such(folder, monkeypatch):
    def exhausted(path):
        raise MemoryError

    (folder / "m.gra").write_text(as_gra(2, [(0, 1)]))
    monkeypatch.setattr(files.Source, "text", property(exhausted))
    with pytest.raises(MachineLacks, match="too little memory"):
        read_graph(folder / "m.gra")


def test_unknown_format_names_the_known(tmp_path):
    with pytest.raises(InputError, match="gra, edges, adjlist, mtx, metis, tuwien, npz"):
        read_graph(tmp_path, "dot")


def test_command_offers_every_format():
    assert tuple(FORMATS) == importlib.import_module("grailbench.cli.import_").FORMATS


def test_benchmark_prints_a_rate(folder):
    (folder / "b.gra").write_text(as_gra(3, [(0, 1)]))
    assert "3 vertices, 1 edges" in readers.benchmark(folder / "b.gra", rounds=1)
    assert "MB/s" in readers.benchmark(folder / "b.gra", rounds=1)


# ---------------------------------------------------------------------------------------- real files

_REAL = {
    "sigmod08.tar.gz": ("sigmod08/kegg_dag_uniq.gra", 3617, 4395),
    "sigmod09.tar.gz": ("sigmod09/arXiv_sub_6000-1.gra", 6000, 66707),
    "scaleFree.tar.gz": ("scaleFree/ba10k5d.gra", 10000, 49975),
}


@pytest.mark.mirror
@pytest.mark.parametrize("archive", _REAL)
def test_real_gra_has_the_published_counts(mirror, tmp_path, archive):
    member, vertices, edges = _REAL[archive]
    with tarfile.open(mirror / archive) as tar:
        (tmp_path / "g.gra").write_bytes(tar.extractfile(member).read())
    graph = read_graph(tmp_path / "g.gra")
    assert (graph.vertices, graph.edges) == (vertices, edges)


@pytest.mark.mirror
def test_large_real_gra_has_the_published_counts(mirror):
    reading = read(mirror / "uniprotenc_22m.scc.gra.gz")
    assert (reading.graph.vertices, reading.graph.edges) == (1595444, 1595442)
