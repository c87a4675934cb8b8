"""The closure report's format: what is written is read back, and a file that is wrong is refused by file and line."""

import pytest
from hypothesis import given
from strategies import digraphs, edges_of, graph_of

from grailbench.errors import InputError
from grailbench.graph.readers import read, read_graph
from grailbench.graph.writers import write_tuwien

FIGURE_1 = [(0, 1), (1, 2), (2, 3), (3, 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tuwien")


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
def test_wrong_files_are_refused_by_file_and_line(tmp_path, content, line, what):
    path = tmp_path / "bad.tuwien"
    path.write_text(content)
    with pytest.raises(InputError, match=what) as refusal:
        read_graph(path)
    assert (refusal.value.path, refusal.value.line) == (path, line)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(InputError, match="--out another folder"):
        write_tuwien(tmp_path / "taken", graph_of(2, [(0, 1)]))
    assert list(tmp_path.iterdir()) == [tmp_path / "taken"]
