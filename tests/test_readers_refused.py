"""Every way a file can be wrong is refused by file and line."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import digraphs
from texts import as_gra

from grailbench.errors import InputError
from grailbench.graph.readers import read_graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Path: one folder for all the files of this module (hypothesis forbids function-scoped fixtures)."""
    return tmp_path_factory.mktemp("graphs")


# ---------------------------------------------------------------------------------------- .gra refused


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
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
    path.write_text(text[: data.draw(st.integers(1, text.rindex("#")))])
    with pytest.raises(InputError, match=r"cut\.gra, line \d+"):
        read_graph(path, "gra")


def test_uniprotenc_150_in_circulation_is_refused(refused):
    lines = "".join(f"{v}: {v - 1 if v else ''} #\n" for v in range(184_672))
    error = refused(f"graph_for_greach\n25037600\n{lines}184672: 18", "uniprotenc_150m.scc.gra")
    assert error.line == 2
    assert "25037600 vertices, but 2917208 bytes follow, too few" in str(error)
    assert "fetch or copy it again" in error.remedy


# ---------------------------------------------------------------------------------------- edge lists refused


@pytest.mark.parametrize("large", ["2147483646", "4294967296", "99999999999999999999"])
def test_ids_that_are_too_large_are_read_as_names_which_the_error_says(refused, tmp_path, large):
    text = f"0 1\n1 {large}\n"
    assert "--format names takes ids of any size" in str(refused(text, "g.txt", "edges"))
    path = tmp_path / "large.txt"
    path.write_text(text)
    assert read_graph(path, "names").edges == 2


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
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
