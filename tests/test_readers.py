"""Every format round trips, is detected by content and name, and what is wrong is refused by file and line."""

import gzip
import importlib

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import digraphs, edges_of
from texts import as_edges, as_gra, as_metis, as_mtx

from grailbench.errors import InputError, MachineLacks
from grailbench.graph.csr import Graph
from grailbench.graph.readers import FORMATS, guess_format, read, read_graph
from grailbench.util import files


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Path: one folder for all the files of this module (hypothesis forbids function-scoped fixtures)."""
    return tmp_path_factory.mktemp("graphs")


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


@given(
    digraphs().filter(lambda drawn: drawn[1]),
    st.sampled_from(["\t", " ", " \t "]),
    st.sampled_from(["", " ", " 1", "\t-2.5e-3\t1082040961"]),
    st.booleans(),
)
def test_edge_lists_keep_edges_and_ids_and_read_over_weight_and_time(folder, drawn, blank, tail, crlf):
    _, edges = drawn
    assume(tail.strip() or edges[0][1] != len(edges) - 1)  # else it may begin with counts
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


@given(digraphs(), st.sampled_from([("pattern", ""), ("real", " 1.5e-3"), ("integer", " -7"), ("complex", " 0 -2")]))
def test_matrix_market_general_round_trips(folder, drawn, kind):
    vertices, edges = drawn
    graph = roundtrip(folder, as_mtx(vertices, edges, f"{kind[0]} general", kind[1]), "g.mtx")
    assert (graph.vertices, edges_of(graph)) == (vertices, edges)


@pytest.mark.parametrize(
    ("kind", "zeros", "values"),
    [("integer general", ("0", "-0"), "3"), ("real symmetric", ("0.0", "0e5"), "1e-9"), ("complex general", ("0 -0.0",
     "0e1 .0"), "0 1")],
)  # fmt: skip
def test_an_entry_of_value_0_is_no_edge(folder, kind, zeros, values):
    """Holds the fault that a Matrix Market file gave stored zeros as edges."""
    text = f"%%MatrixMarket matrix coordinate {kind}\n3 3 3\n2 1 {zeros[0]}\n3 2 {values}\n3 1 {zeros[1]}\n"
    graph = roundtrip(folder, text, "z.mtx")
    assert edges_of(graph) == [(2, 1), (1, 2)] if "symmetric" in kind else [(2, 1)]
    assert "2 stored zeros left out" in read(folder / "z.mtx").notes
    assert graph.weights is None or graph.weights.tolist() == [3]


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


@pytest.mark.parametrize("name", ["g.gra.gz", "misnamed.gra"])
def test_gzip_is_seen_through_by_content(folder, name):
    assert edges_of(roundtrip(folder, gzip.compress(as_gra(2, [(1, 0)]).encode()), name)) == [(1, 0)]


def test_two_gzip_members_are_one_text(folder):
    text = as_gra(3, [(0, 1), (2, 1)]).encode()
    assert roundtrip(folder, gzip.compress(text[:30]) + gzip.compress(text[30:]), "two.gra.gz").edges == 2


@pytest.mark.parametrize(("name", "content"), [("g.gra", as_gra), ("g.txt", lambda n, e: as_edges(e))])
def test_arrays_grow_past_their_first_room(folder, name, content):
    edges = [(u, (7 * u + k) % 30_000) for u in range(30_000) for k in range(3)]  # more than _FIRST_EDGES
    assert edges_of(roundtrip(folder, content(30_000, edges), name)) == edges


@pytest.mark.slow
def test_arrays_grow_inside_a_hub_line(folder):
    edges = [(1, v % 5) for v in range(300_000)]
    assert edges_of(roundtrip(folder, as_gra(5, edges), "hub.gra")) == edges


@pytest.mark.parametrize(
    "text", ["0 1\n1 2", "0 1\n\n\n1 2\n\n", "# c\n0 1\n# between\n% too\n1 2\n", "  0 1 \n\t1\t2\t\n"]
)
def test_blank_lines_comments_and_a_missing_last_newline_are_read_over(folder, text):
    assert edges_of(roundtrip(folder, text, "g.txt", "edges")) == [(0, 1), (1, 2)]


#: format -> a file of the edges 0 -> 1, 1 -> 2 and others, with comments where the format has them
_LINED = {
    "gra": as_gra(3, [(0, 1), (1, 2)]),
    "edges": "# Nodes: 3 Edges: 2\n0 1\n# c\n1 2\n",
    "names": "# c\nann bob\nbob\tNew York\n",
    "csv": 'source,target\nann,"b;c"\n"b;c",eve\n',
    "tsv": "source\ttarget\nann\tbob\nbob\teve\n",
    "adjlist": "#script\n# GMT Sat Nov 21 12:00:00 2026\n#\n0 1\n1 2\n2\n",
    "mtx": as_mtx(3, [(0, 1), (1, 2)]),
    "metis": as_metis(3, [(0, 1), (1, 2)]),
    "tuwien": "3 2 directed\n0 1 1\n1 2 1\n",
    "dot": "digraph {\n a -> b; // c\n b -> c\n}\n",
    "graphml": "<graphml>\n<graph edgedefault='directed'>\n<edge source='a'\ntarget='b'/></graph></graphml>\n",
    "obo": "format-version: 1.2\n\n[Term]\nid: a\nis_a: b\n\n[Term]\nid: b\n",
}


@pytest.mark.parametrize("format", _LINED)
@pytest.mark.parametrize("ends", [("\r",), ("\r\n",), ("\r", "\n"), ("\n", "\r"), ("\r\n", "\r", "\n")])
def test_lines_end_in_lf_crlf_cr_and_mixtures(folder, format, ends):
    """Holds the fault that carriage returns alone made edges and lost others without a word."""
    pieces = _LINED[format].split("\n")
    mixed = "".join(piece + (ends[at % len(ends)] if piece else "\r\n") for at, piece in enumerate(pieces[:-1]))
    expected = edges_of(roundtrip(folder, _LINED[format], "lf", format))
    path = folder / "mixed"
    path.write_bytes(mixed.encode())
    assert edges_of(read_graph(path, format)) == expected
    if format not in ("metis", "names"):  # which a name tells, or the user
        assert guess_format(path) == format


def test_a_fault_after_a_carriage_return_has_its_line(refused):
    assert refused("0 1\r1 2\r\n3 x\r", "g.edges").line == 3
    assert refused("source,target\ra,b\r\nc\r", "g.csv").line == 3


# ---------------------------------------------------------------------------------------- ids of edge lists


def test_sparse_ids_are_renumbered_when_exactly_the_stated_number_occurs(folder):
    text = "# Nodes: 3 Edges: 2\n3858241\t956203\n956203\t6009554\n"
    graph = roundtrip(folder, text, "patents.txt")
    assert (graph.vertices, edges_of(graph)) == (3, [(1, 0), (0, 2)])


@pytest.mark.parametrize("text", ["% sym unweighted\n1 2\n3 3\n", "# Undirected graph: g\n0 1\n2 2\n"])
def test_undirected_edge_lists_give_both_directions_and_loops_once(folder, text):
    assert sorted(edges_of(roundtrip(folder, text, "u.txt"))) == [(0, 1), (1, 0), (2, 2)]


PATH = "".join(f"{v} {v + 1}\n" for v in range(1, 12))  # of 11 edges


@pytest.mark.parametrize(("text", "vertices", "edges", "note"), [
    (f"12 11\n{PATH}", 12, 11, "its first line counts 12 vertices and 11 edges"),
    (f"# course\n14 11\n{PATH[:4]}\n# a\n{PATH[4:]}\n", 14, 11, "its first line counts 14 vertices and 11 edges"),
    ("4 3\n0 1 5\n2 3 7\n1 2 9\n", 4, 3, "its first line counts 4 vertices and 3 edges"),  # weights follow
    ("3 2\n1 2\n2 3\n", 4, 3, "its first line, read as an edge, counts vertices and edges if it is none"),
    (f"11 11\n{PATH}", 13, 12, None),  # an id beyond the vertices
    (f"12 10\n{PATH}", 13, 12, None),  # more edges
    (f"12 12\n# a comment\n{PATH}", 13, 12, None),  # fewer
])  # fmt: skip
def test_a_first_line_of_counts_is_no_edge_and_is_noted(folder, text, vertices, edges, note):
    (folder / "counts.txt").write_text(text)
    found = read(folder / "counts.txt")
    assert (found.graph.vertices, found.graph.sources.size) == (vertices, edges)
    assert [each for each in found.notes if "first line" in each] == ([] if note is None else [found.notes[0]])
    assert note is None or found.notes[0].startswith(note)
    stated = read(folder / "counts.txt", "edges", vertices=20)
    assert stated.graph.sources.size == sum(line[:1].isdigit() for line in text.splitlines())


def test_what_is_known_of_the_ids_is_said(folder):
    (folder / "one.txt").write_text("1 2\n")
    (folder / "k.txt").write_text("% asym unweighted\n% 1 2 2\n1 2\n")
    (folder / "p.txt").write_text("# Nodes: 2 Edges: 1\n70 20\n")
    one = read(folder / "one.txt")
    assert one.ids.describe() == "0..2, as in the file"
    assert one.notes == ("the least id of an edge is 1; those below are vertices without an edge",)
    assert read(folder / "k.txt").ids.describe() == "1..2, as in the file (inside 0 to 1)"
    assert read(folder / "p.txt").ids.describe() == "2 ids from 20 to 70, as in the file (inside 0 to 1)"


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
        ("a.tsv", "# c\n0\t1\n", "edges"),
        ("a.tsv", "alice\tbob\n", "tsv"),
        ("a.csv", "0,1\n", "csv"),
        ("a", '"id";source;target\n', "csv"),
        ("a.txt", "from\tto\n1\t2\n", "tsv"),
        ("a.parquet", "", "parquet"),
        ("a", "PAR1", "parquet"),
        ("a.gv", "", "dot"),
        ("a", "\nstrict digraph G {}", "dot"),
        ("a.graphml", "", "graphml"),
        ("a.xml", "<?xml version='1.0'?>\n<graphml xmlns='x'>", "graphml"),
        ("a.obo", "", "obo"),
        ("a", "format-version: 1.2\n", "obo"),
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


def test_command_offers_every_format():
    assert tuple(FORMATS) == importlib.import_module("grailbench.cli.import_").READ


# ---------------------------------------------------------------------------------------- refused by file and line


_MTX = "%%MatrixMarket matrix coordinate"

#: file -> what is wrong with it, with the line and what is said
FAULTY = {
    "g.gra": [
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
        ("2147483646\n0: 1 #\n", 1, "2147483646 vertices, but 7 bytes follow, too few for a line of each"),
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
    "g.txt": [
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
    "g.mtx": [
        (f"{_MTX}\n2 2 1\n1 2\n", 1, "no '%%MatrixMarket"),
        ("%%MatrixMarket matrix elemental real general\n2 2\n", 1, "of kind 'elemental real general'"),
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
    "g.graph": [
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
}


@pytest.mark.parametrize(("name", "text", "line", "said"), [(name, *row) for name in FAULTY for row in FAULTY[name]])
def test_a_faulty_line_is_refused_with_its_number(refused, name, text, line, said):
    error = refused(text, name, {"g.gra": "gra", "g.txt": "edges", "g.mtx": "mtx"}.get(name))
    assert error.line == line
    assert said in str(error)
    assert f"{name}, line {line}: " in str(error)


@given(digraphs().filter(lambda drawn: drawn[0] > 0), st.data())
def test_gra_cut_anywhere_before_the_last_hash_is_refused(folder, drawn, data):
    text = as_gra(*drawn)
    path = folder / "cut.gra"
    path.write_text(text[: data.draw(st.integers(1, text.rindex("#")))])
    with pytest.raises(InputError, match=r"cut\.gra, line \d+"):
        read_graph(path, "gra")


def test_uniprotenc_150_in_circulation_is_refused(refused):
    lines = "".join(f"{v}: {v - 1 if v else ''} #\n" for v in range(184_672))
    error = refused(f"graph_for_greach\n25037600\n{lines}184672: 18", "uniprotenc_150m.scc.gra")
    assert error.line == 2
    assert "25037600 vertices, but 2917208 bytes follow, too few" in str(error)
    assert "fetch or copy it again" in error.remedy


@pytest.mark.parametrize("large", ["2147483646", "4294967296", "99999999999999999999"])
def test_ids_that_are_too_large_are_read_as_names_which_the_error_says(refused, tmp_path, large):
    text = f"0 1\n1 {large}\n"
    assert "--format names takes ids of any size" in str(refused(text, "g.txt", "edges"))
    path = tmp_path / "large.txt"
    path.write_text(text)
    assert read_graph(path, "names").edges == 2


def test_directed_metis_is_refused(refused):
    assert "vertex 1 lists 2 neighbours, but 0 list it" in str(refused("3 1\n2 3\n\n\n", "g.graph"))


def test_damaged_gzip_is_refused(refused):
    zipped = gzip.compress(as_gra(2000, [(u, 7 * u % 2000) for u in range(2000)]).encode())
    flipped = bytearray(zipped)
    flipped[len(zipped) // 2] ^= 16
    for content in (*(zipped[:kept] for kept in (1, 5, 12, 200, -1, -8)), bytes(flipped)):
        assert "g.gra.gz" in str(refused(content, "g.gra.gz", "gra"))


@pytest.mark.parametrize("format", [None, "gra", "npz"])
def test_missing_file_and_folder_are_refused(tmp_path, format):
    with pytest.raises(InputError, match="there is no such file"):
        read_graph(tmp_path / "nowhere.gra", format)
    with pytest.raises(InputError):
        read_graph(tmp_path, format)
