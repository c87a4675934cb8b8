"""Tables, names, DOT, GraphML, OBO and Python trees: what is read from a good file, and how a bad one is refused."""

import csv
import io
import json
import os
import re
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from commands import call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import edges_of

import grailbench
from grailbench.errors import InputError, MachineLacks
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Counted, Listed, Named
from grailbench.graph.readers import FOLDERS, FORMATS, read
from grailbench.graph.writers import write_csv, write_edges

ON_DISK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)


def named_edges(found):
    """The edges of a reading, by the ids of the file."""
    label = found.ids.label_of
    return [(label(u), label(v)) for u, v in edges_of(found.graph)]


def read_text(tmp_path, name, text, format=None, **options):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(tmp_path / name, format, **options)


# ---------------------------------------------------------------------------------------- tables and names


@pytest.mark.parametrize(
    ("name", "text", "options", "note"),
    [
        ("g.csv", "source,target\nann,bob\nbob,eve\n", {}, "edges go from column 'source' to column 'target'"),
        ("g.csv", '# c\n"id","To",FROM\n1, bob,ann\n2,eve , bob\n\n', {}, "from column 'FROM' to column 'To'"),
        ("g.csv", "#src;dst\nann;bob\nbob;eve\n", {}, "'src' to column 'dst'"),
        ("g.csv", "ann,bob\r\nbob,eve\r\n", {}, "its first line is an edge and no header"),
        ("g.csv", "a,b\nann,bob\nbob,eve\n", {"source": "a", "target": "b"}, "from column 'a' to column 'b'"),
        ("g.csv", "ann,bob\nbob,eve\n", {"header": False}, "from column '1' to column '2'"),
        ("g.csv", "edge_id,from_node,to_node\n1,ann,bob\n2,bob,eve\n", {}, "'from_node' to column 'to_node'"),
        ("g.csv", ":START_ID,role,:END_ID\nann,x,bob\nbob,x,eve\n", {}, "':START_ID' to column ':END_ID'"),
        ("g.csv", ":END_ID(P),:START_ID(A-x)\nbob,ann\neve,bob\n", {}, "':START_ID(A-x)' to column ':END_ID(P)'"),
        ("g.csv", "x:START_ID(P-x);role;y:END_ID{label:M}\nann;x;bob\nbob;x;eve\n", {}, "column 'x:START_ID(P-x)'"),
        ("g.csv", ",target,source\n0,bob,ann\n1,eve,bob\n", {}, "'source' to column 'target'"),
        ("g.csv", "Source Node;Destination Id\nann;bob\nbob;eve\n", {}, "'Source Node' to column 'Destination Id'"),
        ("g.csv", "start,end,source,target\n0,1,ann,bob\n1,2,bob,eve\n", {}, "'source' to column 'target'"),
        ("g.csv", "tail,head\nann,bob\nbob,eve\n", {}, "'tail' to column 'head'"),
        ("g.csv", "child,parent\nbob,ann\neve,bob\n", {}, "'parent' to column 'child'"),
        ("g.csv", "sep=;\r\nsource;target\r\nann;bob\r\nbob;eve\r\n", {}, "'source' to column 'target'"),
        ("g", '"SEP=|"\nsource|target\nann|bob\nbob|eve\n', {}, "'source' to column 'target'"),
        ("g.tsv", "FromNodeId\tToNodeId\nann\tbob\nbob\teve\n", {}, "'FromNodeId' to column 'ToNodeId'"),
        ("g.tsv", "x\ty\tz\n-\tann\tbob\n-\tbob\teve\n", {"source": "y", "target": "Z"}, "'y' to column 'z'"),
        ("g.tsv", "ann\tx\tbob\nbob\tx\teve\n", {"header": False, "source": "1", "target": "3"}, "'1' to column '3'"),
        ("g.txt", "ann bob\nbob eve\n% c\n", {"format": "names"}, None),
        ("g.txt", "# c\nann\tbob\nbob eve\n", {"format": "names"}, None),
    ],
)
def test_edges_between_names(tmp_path, name, text, options, note):
    """Holds, among others, the fault that the first two columns were taken for an edge whatever their names."""
    found = read_text(tmp_path, name, text, **options)
    assert named_edges(found) == [("ann", "bob"), ("bob", "eve")]
    assert isinstance(found.ids, Named)
    assert note is None or note in found.notes[0]


@pytest.mark.parametrize(
    ("text", "ids", "edges"),
    [
        ("source,target\n0,2\n1,2\n", Counted, [(0, 2), (1, 2)]),
        ("7,3\n3,900000000000\n", Listed, [(7, 3), (3, 900000000000)]),
        ("from,to\n07,3\n3,7\n", Named, [("07", "3"), ("3", "7")]),
        ("from,to\n-7,3\n3,9223372036854775807\n", Listed, [(-7, 3), (3, 2**63 - 1)]),
        ("from,to\n-7,9223372036854775808\n", Named, [("-7", "9223372036854775808")]),
    ],
)
def test_ids_stay_numbers_if_all_are(tmp_path, text, ids, edges):
    found = read_text(tmp_path, "g.csv", text)
    assert (type(found.ids), named_edges(found)) == (ids, edges)
    assert any("no header" in note for note in found.notes) == text.startswith("7")


@pytest.mark.parametrize(
    ("types", "edges", "notes"),
    [
        (("Undirected", "Undirected"), ["ab", "bc", "ba", "cb"], ("undirected: each edge in both directions",)),
        (("directed", "UNDIRECTED"), ["ab", "bc", "cb"], ("undirected: 1 of 2 edges in both directions",)),
        (("Mutual", "Directed"), ["ab", "bc", "ba"], ("undirected: 1 of 2 edges in both directions",)),
        (("Directed", "Directed"), ["ab", "bc"], ()),
        (("friend", ""), ["ab", "bc"], ()),
    ],
)
def test_a_column_type_of_gephi_is_obeyed(tmp_path, types, edges, notes):
    """Holds the fault that undirected edges of Gephi were read as directed."""
    text = f"EdgeId,Source,Target,Type,Weight\n0,a,b,{types[0]},4\n1,b,c,{types[1]},5\n"
    found = read_text(tmp_path, "g.csv", text, weight="weight")
    assert ["".join(edge) for edge in named_edges(found)] == edges
    assert found.graph.weights.tolist() == [4, 5, *([4] * ("ba" in edges)), *([5] * ("cb" in edges))]
    assert found.notes[1:] == notes


def test_blanks_at_the_ends_of_a_cell_count_in_quotes_alone(tmp_path):
    """Holds the fault that a padded cell was another name where a cell in quotes had the same blanks."""
    text = 'source,target\nx," b"\ny, b\n  "z ",b\n\ty \t,"say "" , b"\n'
    expected = [("x", " b"), ("y", "b"), ("z ", "b"), ("y", 'say " , b')]
    assert named_edges(read_text(tmp_path, "g.csv", text)) == expected


def test_a_table_of_numbers_with_tabs_is_an_edge_list_until_columns_are_asked_for(tmp_path):
    assert read_text(tmp_path, "g.tsv", "3\t1\n1\t2\n").format == "edges"
    found = read(tmp_path / "g.tsv", source="2", target="1", header=False)
    assert (found.format, named_edges(found)) == ("tsv", [(1, 3), (2, 1)])


def test_weights_of_a_table_are_kept_if_they_are_asked_for(tmp_path):
    text = "from,to,cost,share\na,b,3,0.5\nb,c,4.0,0.25\n"
    assert read_text(tmp_path, "g.csv", text).graph.weights is None
    found = read(tmp_path / "g.csv", weight="cost")
    assert (found.graph.weights.tolist(), found.weights) == ([3, 4], "column 'cost', 3 to 4")
    assert "not used: edge 0 has 0.5, which is not whole" in read(tmp_path / "g.csv", weight="share").weights
    assert read_text(tmp_path, "g", "a b 3\nb a 4\n", "names").graph.weights.tolist() == [3, 4]
    assert "(line 2 differs" in read_text(tmp_path, "g", "a b 3\nb a\n", "names").weights


NAMES = st.text(st.characters(codec="utf-8"), max_size=5).map(lambda text: f"n{text}n")


@pytest.mark.slow
@ON_DISK
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=8))
def test_what_pandas_writes_is_read_back(tmp_path, edges):
    frame = pd.DataFrame(edges, columns=["source", "target"])
    frame.to_csv(tmp_path / "g.csv", index=False, quoting=csv.QUOTE_ALL)  # else it leaves a CR without quotes
    frame.to_parquet(tmp_path / "g.parquet")
    for name in ("g.csv", "g.parquet"):
        assert named_edges(read(tmp_path / name)) == edges


@pytest.mark.parametrize(
    ("columns", "edges"),
    [
        ({"u": [7, 3], "v": [3, 9]}, [(7, 3), (3, 9)]),
        ({"u": np.array([7, 3], np.uint8), "v": ["3", "x"]}, [("7", "3"), ("3", "x")]),
        ({"u": pd.Categorical(["u", "v"]), "v": ["v", "w"]}, [("u", "v"), ("v", "w")]),
        ({"w": [1, 1], "target": ["b", "c"], "source": ["a", "b"]}, [("a", "b"), ("b", "c")]),
        ({"u": [-1, 3], "v": [3, 4]}, [(-1, 3), (3, 4)]),
        ({"to_id": ["b"], "from_id": ["a"], "Type": pd.Categorical(["Undirected"])}, [("a", "b"), ("b", "a")]),
    ],
)
def test_columns_of_parquet(tmp_path, columns, edges):
    pd.DataFrame(columns).to_parquet(tmp_path / "g.pq")
    found = read(tmp_path / "g.pq")
    assert (found.format, named_edges(found)) == ("parquet", edges)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"u": ["x", None], "v": ["y", "z"]}, "row 2 of column 'u' is missing"),
        ({"u": ["x", ""], "v": ["y", "z"]}, "row 2 of column 'u' is empty"),
        ({"u": [0.5], "v": [1]}, "column 'u' is of type double: text or whole numbers"),
        ({"a": [1]}, "one column; an edge needs two"),
        ({"a": [1], "b": [2]}, "no columns that are named as source and target: 'a', 'b' .--source COLUMN --target"),
        ({"u": np.array([], np.int64), "v": np.array([], np.int64)}, "the file holds no edge"),
    ],
)
def test_bad_columns_of_parquet(tmp_path, columns, why):
    pd.DataFrame(columns).to_parquet(tmp_path / "g.pq")
    with pytest.raises(InputError, match=rf"g\.pq: {why}"):
        read(tmp_path / "g.pq")


@pytest.mark.parametrize(
    ("name", "text", "options", "why"),
    [
        ("g.csv", "source,target\na,b\na\n", {}, "line 3: 1 cells, but the first line has 2"),
        ("g.csv", "source,target\na,b\n,b\n", {}, "line 3: the cell of column 'source' is empty"),
        ("g.csv", "source,target\na,\n", {}, "line 2: the cell of column 'target' is empty"),
        ("g.csv", 'source,target\na,"b\n', {}, "line 2: no row of cells"),
        ("g.csv", "source,target\n", {}, "line 1: the file holds no edge"),
        ("g.csv", "# a\n", {}, "the file holds nothing but comments"),
        ("g.csv", "ab\ncd\n", {}, "line 1: one column; an edge needs two"),
        ("g.csv", "a,b\nann,bob\n", {}, "line 1: no columns.*: 'a', 'b' .--source COLUMN --target.*; with --no-header"),
        ("g.csv", "id,parent\n2,1\n3,1\n", {}, "line 1: no columns that are named as source.*: 'id', 'parent'"),
        ("g.csv", "0,1,5\n1,2,5\n", {}, "line 1: no columns that are named as source and target: '0', '1', '5'"),
        ("g.csv", "0,1,5\n1,2,5\n", {"header": False}, "line 1: no columns that are named as source and target"),
        ("g.csv", "from,source,to\na,b,c\n", {}, "line 1: its edges may go from '(source|from)' to 'to' or"),
        ("g.csv", "head,relation,tail\na,b,c\n", {}, "line 1: its edges may go from 'tail' to 'head' or 'head' to"),
        ("g.csv", "u,v,Type\na,b,Directed\nb,c,x\n", {}, "line 3: 'x' in column 'Type': Directed or Undirected is"),
        ("g.csv", "# source,target\n", {"header": False}, "the file holds nothing but comments"),
        ("g.csv", b"a,b\nx,\xff\n", {}, "line 2: no UTF-8 text, at byte 6"),
        ("g.csv", "who,whom\na,b\n", {"source": "wo", "target": "whom"}, "line 1: no column is named 'wo'.*mean who"),
        ("g.csv", "a,a,b\nx,y,z\n", {"source": "a", "target": "b"}, "line 1: 2 columns are named 'a'"),
        ("g.csv", "a,b\nx,y\n", {"source": "a"}, "--source and --target: both or none"),
        ("g.csv", "u,v,w\nx,y,z\n", {"weight": "w"}, "line 2: 'z' in column 'w': a number is expected"),
        ("g.csv", "a,b\nx,y\n", {"renumber": True}, "--renumber is for edges; this is csv"),
        ("g.gra", "2\n0: 1 #\n1: #\n", {"relations": ("a",)}, "--relation is for obo; this is gra"),
        ("g", "a\n", {"format": "names"}, "line 1: 1 words"),
        ("g", "a\t\n", {"format": "names"}, "line 1: 1 words"),
        ("g", "a\t\tb\n", {"format": "names"}, "line 1: 3 words, or an empty one"),
        ("g", "a b\na b c\n", {"format": "names"}, "line 2: 'c' after the edge is no weight"),
        ("g", "# a\n", {"format": "names"}, "the file holds no edge"),
        ("g.el", "0 1\n1 ann\n", {}, "line 2: a vertex id expected.*--format names if the ids are words"),
        ("g", "ann bob\n", {}, "cannot detect the format.*names if a line is two words"),
    ],
)
def test_a_bad_line_is_named_with_what_was_expected(tmp_path, name, text, options, why):
    with pytest.raises(InputError, match=rf"{name}(, |: )(.*: )?{why}"):
        read_text(tmp_path, name, text, **options)


# ---------------------------------------------------------------------------------------- every format


@pytest.mark.parametrize("format", [format for format in FORMATS if format not in FOLDERS])
def test_an_empty_file_is_called_empty(tmp_path, format):
    for content, why in ((b"", "the file is empty"), (b" \n\n", "the file holds nothing but blanks")):
        with pytest.raises(InputError, match=f"g: {why}"):
            read_text(tmp_path, "g", content, format)


@pytest.mark.parametrize(
    ("module", "format"),
    [("pyarrow", "parquet"), ("lark", "dot")],
)
def test_a_missing_library_is_said_with_what_installs_it(tmp_path, monkeypatch, module, format):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MachineLacks, match="pip install 'lark"):
        read_text(tmp_path, "g", "x", format)


# ---------------------------------------------------------------------------------------- DOT, GraphML, OBO


@pytest.mark.slow
def test_dot(tmp_path):
    text = """
    /* a comment */ strict digraph "G" {
      node [shape=box]; rankdir=LR;
      a -> b -> c [label="x -> y"];
      "New \\"York\\"" -> { a b } // and another
      subgraph cluster_0 { label=x; d:port -> a:n; alone }
      subgraph { e -> f } -> g;
    }"""
    found = read_text(tmp_path, "g.dot", text)
    york = 'New "York"'
    edges = {("a", "b"), ("b", "c"), (york, "a"), (york, "b"), ("d", "a"), ("e", "f"), ("e", "g"), ("f", "g")}
    assert (set(named_edges(found)), found.graph.edges) == (edges, 8)
    assert set(found.ids.names) == {"a", "b", "c", 'New "York"', "d", "alone", "e", "f", "g"}
    assert found.notes == ()


@pytest.mark.slow
def test_an_undirected_dot_gives_both_directions_and_numbers_stay_numbers(tmp_path):
    found = read_text(tmp_path, "g.gv", "graph { 1 -- 2; 3 }")
    assert (named_edges(found), found.ids.vertices) == ([(1, 2), (2, 1)], 3)
    assert found.notes == ("undirected: each edge in both directions",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("digraph {\n a -> \n}\n", r", line \d: a graph in the DOT language expected"),
        ("digraph { a }\nrest", ", line 2: a graph in the DOT language expected"),
        ("digraph { }", ": the file holds no vertex"),
        ("digraph { a -> b" + "{" * 5000, "nested too deep|expected"),
    ],
)
def test_bad_dot(tmp_path, text, why):
    with pytest.raises(InputError, match=rf"g\.dot(.*: )?{why}"):
        read_text(tmp_path, "g.dot", text)


GROUP = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="y"><graph edgedefault="directed">
<node id="s"/><node id="f"><data key="d"><y:node id="no"/></data>
  <graph edgedefault="undirected"><node id="f::a"/><node id="f::b"/><edge source="f::a" target="f::b"/>
  <node id="in"><graph><edge source="f::b" target="deep"/></graph></node></graph></node>
<node id="t"/><edge source="s" target="f::a"/><edge source="f::b" target="t"/></graph></graphml>"""


def test_nodes_and_edges_inside_groups_of_graphml_are_read(tmp_path):
    """Holds the fault that what a group of yEd holds was lost."""
    found = read_text(tmp_path, "g.graphml", GROUP)
    assert found.ids.names.tolist() == ["s", "f", "f::a", "f::b", "in", "t", "deep"]
    edges = [("f::a", "f::b"), ("f::b", "deep"), ("s", "f::a"), ("f::b", "t")]
    both = [*edges, ("f::b", "f::a"), ("deep", "f::b")]
    assert (named_edges(found), found.notes) == (both, ("undirected: 2 of 4 edges in both directions",))


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.Graph, nx.MultiDiGraph])
def test_graphml_of_networkx(tmp_path, kind):
    graph = kind([("ann", "bob"), ("bob", "eve"), ("eve", "ann")])
    graph.add_node("alone")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    found = read(tmp_path / "g.graphml")
    edges = {("ann", "bob"), ("bob", "eve"), ("eve", "ann")}
    assert set(named_edges(found)) == (edges if graph.is_directed() else edges | {(v, u) for u, v in edges})
    assert found.ids.vertices == 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<graphml>\n<graph>\n", r", line 3: a graph in GraphML expected: no element found"),
        ("<graphml></graphml>", ": no graph"),
        ("<svg><graph><node id='a'/></graph></svg>", ": no graph"),
        ("<graphml xmlns='x'><graph edgedefault='directed'/></graphml>", ": the file holds no vertex"),
        ("<graphml><graph><node/></graph></graphml>", ": a node without id"),
        ("<graphml><graph edgedefault='directed'><edge source='a'/></graph></graphml>", ": an edge without target"),
        ("<graphml><graph edgedefault='no'><edge source='a' target='b'/></graph></graphml>", ": edgedefault 'no'"),
        ("<graphml><graph><edge source='a' target='b'/></graph></graphml>", ": edgedefault '': 'directed' or"),
        ("<graphml><graph><node id='a'/><hyperedge/></graph></graphml>", ": a hyperedge"),
        ("<graphml>" + "<graph><node id='a'>" * 5000, ", line 1: a graph in GraphML expected"),
    ],
)
def test_bad_graphml(tmp_path, text, why):
    with pytest.raises(InputError, match=rf"g\.graphml{why}"):
        read_text(tmp_path, "g.graphml", text)


OBO = """format-version: 1.2
ontology: test

[Term]
id: T:1
name: root

[Term]
id: T:2
is_a: T:1 ! root
relationship: part_of T:9 ! elsewhere

[Term]
id: T:3
name: alone

[Term]
id: T:4
is_obsolete: true

[Typedef]
id: part_of
"""


def test_obo(tmp_path, capsys):
    found = read_text(tmp_path, "g.obo", OBO)
    assert (named_edges(found), found.ids.names.tolist()) == ([("T:2", "T:1")], ["T:1", "T:2", "T:3"])
    assert found.notes == (
        "edges of is_a, from child to parent: from a term to the one it is related to",
        "relations left out: part_of (--relation)",
        "1 obsolete term left out",
    )
    found = read(tmp_path / "g.obo", relations=("part_of", "is_a"))
    assert named_edges(found) == [("T:2", "T:1"), ("T:2", "T:9")]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "options", "why"),
    [
        (OBO.replace("name: root", "no tag here"), {}, ", line 6: 'tag: value' expected"),
        (OBO.replace("id: T:3\n", ""), {}, ", line 13: a term without an id"),
        (
            OBO.replace("part_of T:9", "part_of"),
            {},
            ", line 11: relationship 'part_of' of T:2: 'relation term' expected",
        ),
        (OBO, {"relations": ("part-of",)}, ": no relation 'part-of' .did you mean part_of"),
        ("format-version: 1.2\n", {}, ": the file holds no term"),
    ],
)
def test_bad_obo(tmp_path, text, options, why):
    with pytest.raises(InputError, match=rf"g\.obo{why}"):
        read_text(tmp_path, "g.obo", text, **options)


# ---------------------------------------------------------------------------------------- Python trees


@pytest.fixture
def tree(tmp_path):
    """A source tree with a package under src, a script, a test of the script's name, and what is left out."""
    files = {
        "src/pkg/__init__.py": "from . import a\nfrom .sub import deep",
        "src/pkg/a.py": "import os\nimport pkg.b as other\nimport numpy.linalg",
        "src/pkg/b.py": "def f():\n    from pkg.sub.deep import x\n    from pkg import a",
        "src/pkg/sub/__init__.py": "",
        "src/pkg/sub/deep.py": "from .. import b, nothing\nfrom ..a import *\nfrom .... import gone",
        "tools/run.py": "import pkg",
        "tests/run.py": "from tools import run",
        ".venv/x.py": "import pkg",
        "env/pyvenv.cfg": "",
        "env/y.py": "not Python",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


INSIDE = {
    ("pkg", "pkg.a"), ("pkg", "pkg.sub.deep"), ("pkg.a", "pkg.b"), ("pkg.b", "pkg.sub.deep"), ("pkg.b", "pkg.a"),
    ("pkg.sub.deep", "pkg.b"), ("pkg.sub.deep", "pkg"), ("pkg.sub.deep", "pkg.a"), ("tools.run", "pkg"),
    ("tests.run", "tools.run"),
}  # fmt: skip


@pytest.mark.parametrize("root", ["", "src"])
def test_a_folder_without_init_inside_of_a_package_belongs_to_it(tmp_path, root):
    files = {
        "src/app/__init__.py": "", "src/app/models.py": "", "src/app/cli.py": "import app.management.commands.run",
        "src/app/management/commands/run.py": "from app.models import M\nimport tools.used",
        "src/app/vendored/tools/__init__.py": "", "src/app/vendored/tools/used.py": "",
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    edges = set(named_edges(read(tmp_path / root, "python")))
    run = "app.management.commands.run"
    assert edges == {("app.cli", run), (run, "app.models"), (run, "app.vendored.tools.used")}


def test_imports_of_a_python_tree(tree):
    found = read(tree)
    assert (found.format, set(named_edges(found))) == ("python", INSIDE)
    assert found.ids.vertices == 7
    assert found.notes[1] == "3 imported modules outside of the tree left out (--outside)"
    assert set(named_edges(read(tree / "src" / "pkg"))) == {edge for edge in INSIDE if "run" not in edge[0]}
    wide = set(named_edges(read(tree, outside=True)))
    assert wide - INSIDE == {("pkg.a", "os"), ("pkg.a", "numpy.linalg"), ("pkg.sub.deep", "....")}


@pytest.mark.parametrize(
    ("name", "said"),
    [(b"b\xe5.py", "is no UTF-8 text"), (b"d\xe5/b.py", "is no UTF-8 text"), (b"b\n.py", "line break")],
)
def test_a_python_file_whose_name_no_table_can_hold_is_named(tree, name, said):
    path = os.fsdecode(os.path.join(os.fsencode(tree), name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("import a\n")
    if b"/" in name:  # only where two modules would have one name is that of the folder among it
        (tree / "b.py").write_text("import a\n")
    with pytest.raises(InputError, match=said) as caught:
        read(tree, "python")
    assert os.fspath(caught.value.path) == path


def test_a_file_that_is_no_python_has_no_edges_and_is_noted_with_its_line(tree):
    before = read(tree)
    (tree / "src" / "pkg" / "bad.py").write_text("import a\nif\n")
    found = read(tree)
    assert (set(named_edges(found)), found.ids.vertices) == (set(named_edges(before)), before.ids.vertices + 1)
    why = r"1 file without edges: src/pkg/bad\.py, line 2: no Python of version 3\.\d+: invalid syntax"
    assert any(re.fullmatch(why, note) for note in found.notes)


def test_a_folder_that_is_no_graph_is_said_to_be_none(tmp_path):
    with pytest.raises(InputError, match="a folder without a git repository and without Python files"):
        read(tmp_path)
    with pytest.raises(InputError, match="it is a folder, and csv is a format of files .folders are read as git or"):
        read(tmp_path, "csv")
    with pytest.raises(InputError, match="the folder holds no commit and no Python file"):
        read(tmp_path, "python")


# ---------------------------------------------------------------------------------------- the commands


@pytest.mark.usefixtures("module_cache")
def test_a_graph_of_names_goes_through_every_command(capsys, tmp_path):
    (tmp_path / "g.csv").write_text("follower,followed,since\nann,bob,1\nbob,New York,2\n#x,ann,3\nann,bob,1\n")
    words = ["import", tmp_path / "g.csv", "--name", "people", "--source", "follower", "--target", "followed"]
    code, out, _ = call(capsys, *words, "--json")
    record = json.loads(out)
    assert (code, record["format"], record["file_vertices"]) == (0, "csv", 4)
    assert record["ids"] == "4 names such as 'ann' and 'bob', as in the file (inside 0 to 3)"
    code, _, err = call(capsys, *words, "--weight", "since")
    assert (code, "was imported before" in err) == (2, True)
    assert call(capsys, *words)[0] == 0
    assert "'ann' and 'bob', as in the file" in call(capsys, "info", "people")[1]
    (tmp_path / "q").write_text("ann\tNew York\t1\nNew York\t#x\t0\n#x\tNew York\n")
    asking = ["verify", "--dataset", "people", "--impl", "sequential", "--no-fetch", "--queries"]
    code, out, err = call(capsys, *asking, tmp_path / "q")
    assert (code, "ok" in out) == (0, True), err
    (tmp_path / "wrong").write_text("ann bob\nann\tNew York\t0\n")
    code, _, err = call(capsys, *asking, tmp_path / "wrong")
    assert code == 2
    assert "wrong, line 2: the answer 0 to ann New York is wrong: it is reachable" in err
    code, _, err = call(capsys, "export", "people", tmp_path / "out.edges", "--format", "edges")
    assert (code, "'#x' begins a comment" in err, "--format csv" in err) == (2, True, True)
    assert not (tmp_path / "out.edges").exists()
    code, out, _ = call(capsys, "export", "people", tmp_path / "out.csv", "--format", "csv")
    assert (code, "4 vertices (4 names such as 'ann' and 'bob'), 3 edges" in out) == (0, True)
    assert set(named_edges(read(tmp_path / "out.csv"))) == {("ann", "bob"), ("bob", "New York"), ("#x", "ann")}
    code, out, _ = call(capsys, "export", "people", tmp_path / "out.tuwien")
    assert (code, "--format edges or csv keeps the ids" in out) == (0, True)


def test_names_that_are_alike_up_to_a_nul_are_two(tmp_path, monkeypatch):
    """pandas 2 takes them as one, unless not all labels are text."""
    of_pandas = pd.factorize

    def as_pandas_2_does(labels):
        texts = all(isinstance(label, str) for label in labels)
        return of_pandas(np.array([label.partition("\0")[0] for label in labels], object) if texts else labels)

    monkeypatch.setattr(pd, "factorize", as_pandas_2_does)
    (tmp_path / "g.csv").write_bytes(b"source,target\na\0\0,b\na\0,b\na,b\n")
    assert named_edges(read(tmp_path / "g.csv")) == [("a\0\0", "b"), ("a\0", "b"), ("a", "b")]
    built = grailbench.Graph.from_edges(["a\0", "a"], ["a", "b"])
    assert built.ids.names.tolist() == ["a\0", "a", "b"]


@pytest.mark.parametrize("name", ["a\tb", "a\nb", " a", "a\r", "%a"])
def test_a_name_that_an_edge_list_cannot_hold_is_refused_and_a_table_holds_it(tmp_path, name):
    graph, ids = Graph.from_edges(2, [0], [1]), Named([name, "b"])
    with pytest.raises(InputError, match="--format csv"):
        write_edges(tmp_path / "g", graph, ids)
    write_csv(tmp_path / "g.csv", graph, ids)
    content = (tmp_path / "g.csv").read_bytes().decode()
    assert list(csv.reader(io.StringIO(content, newline=""))) == [["source", "target"], [name, "b"]]
