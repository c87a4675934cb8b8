"""Inputs of public reports on which this or another program failed, with the right answers: one of each kind of fault,
and of kinds that were right from the beginning."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import grailbench as gb
from grailbench.errors import InputError
from grailbench.graph.readers import read
from grailbench.problems.reachability.pairs import read_pairs


def graphml(content, head="", space=' xmlns="http://graphml.graphdrawing.org/xmlns"'):
    return f'{head}<graphml{space}><graph edgedefault="directed">{content}</graph></graphml>'


def xml(u, v, inside="/>"):
    return f'<node id="{u}"/><node id="{v}"/><edge source="{u}" target="{v}"{inside}'


def obo(*lines):
    return "\n".join(("format-version: 1.2", *lines, ""))


GROUP = '<node id="f" yfiles.foldertype="folder"><graph edgedefault="directed" id="f:">{}</graph></node>'
GROUPED = f'<node id="s"/><node id="t"/>{GROUP.format(xml("f::a", "f::b"))}'
#: by who reported it: name and content of a file, options; a connected pair and one that is not; words of the notes
REPORTED = {
    "road networks": (
        "edges.csv", "edge_id,from_node,to_node,length\n100,1,2,5.5\n101,2,3,6.5\n", {}, (1, 3), (3, 1), "'from_node'"),
    "neo4j-admin": (
        "roles.csv", ':START_ID,role,:END_ID,:TYPE\nkim,"lead",m1,ACTED_IN\nlou,"guest",m1,ACTED_IN\n', {},
        ("kim", "m1"), ("m1", "kim"), ""),
    "graphia 12": ("pairs.csv", "a,b\nb,c\nc,d\n", {}, ("a", "c"), ("d", "a"), "column '1' to column '2'"),
    "gephi 2193, 1993": (
        "edges.csv", "EdgeId,Source,Target,Type,Weight\n0,a,b,Undirected,1\n1,b,c,Undirected,1\n2,d,d,Directed,1\n", {},
        ("c", "a"), ("a", "d"), "in both directions"),
    "PowerShell 7776, rainbow_csv 108": (
        "e.csv", "sep=;\nsource;target\na;b\nb;c\n", {}, ("a", "c"), ("c", "a"), "column 'source' to column 'target'"),
    "psi-ms-CV 381": (
        "x.obo", obo("", "[Term]", "id: X:1", "", "[Term]", "id: X:2", "is_a: X:1! one"), {},
        ("X:2", "X:1"), ("X:1", "X:2"), ""),
    "psi-ms-CV 381, a relationship": (
        "x.obo", obo("", "[Term]", "id: X:1", "", "[Term]", "id: X:2", "relationship: part_of X:1! one", "", "[Term]",
                     "id: X:3", "is_a: X:2"), {}, ("X:3", "X:2"), ("X:2", "X:1"), "left out: part_of"),
    "pronto 146": (
        "x.obo", obo("", "! section one", "[Term]", "id: X:1", "", "[Term]", "id: X:2", "is_a: X:1"), {},
        ("X:2", "X:1"), ("X:1", "X:2"), ""),
    "pronto 146, without blank lines": (
        "x.obo", obo("[Term]", "id: X:1", "[Term]", "id: X:2", "is_a: X:1"), {}, ("X:2", "X:1"), ("X:1", "X:2"), ""),
    "yEd and jgrapht, groups": (
        "x.graphml", graphml(GROUPED + '<edge source="s" target="f::a"/><edge source="f::b" target="t"/>'), {},
        ("s", "t"), ("t", "f::a"), ""),
    "several graphs of GraphML": (
        "x.graphml", graphml(xml("a", "b") + '</graph><graph edgedefault="directed">' + xml("b", "c")), {},
        ("a", "c"), ("c", "b"), "2 graphs"),
    "APOC, keys that are not declared": (
        "x.graphml", graphml(xml("n9", "n3", ' label="K"><data key="label">K</data></edge>')), {},
        ("n9", "n3"), ("n3", "n9"), ""),
    "keys inside": (
        "x.graphml", graphml('<key id="w" for="edge" attr.name="w" attr.type="int"/>'
                             + xml("a", "b", '><data key="w">1</data></edge>')), {}, ("a", "b"), ("b", "a"), ""),
    "a byte order mark": (
        "x.graphml", graphml(xml("a", "b"), '\ufeff<?xml version="1.0" encoding="UTF-8"?>\n'), {},
        ("a", "b"), ("b", "a"), ""),
    "networkx 784, Maltego": (
        "m.graphml", graphml('<node id="c"><data key="d4">z</data></node>' + xml("a", "b")).replace(
            "<graph ", '<key attr.name="E" for="node" id="d4"/><graph '), {}, ("a", "b"), ("b", "a"), ""),
    "networkx 2197, Cytoscape": ("c.graphml", graphml(xml(62, 64), space=""), {}, (62, 64), (64, 62), ""),
    "pydot 171": (
        "x.dot", 'digraph g {\n  graph [pad="0"; ranksep="0.25"];\n  a [shape=box; label="A"];\n'
                 "  a -> b [color=red; weight=2];\n  b -> c;\n}\n", {}, ("a", "c"), ("c", "a"), ""),
    "doxygen, a brace of its own line": ("-", 'digraph "App::run"\n{\n  Node1 -> Node2;\n}\n', {},
                                         ("Node1", "Node2"), ("Node2", "Node1"), ""),
    "a comment first": ("-", "// made by a tool\ndigraph g { a -> b }\n", {}, ("a", "b"), ("b", "a"), ""),
    "CMake, several digraphs": (
        "x.dot", 'digraph "app:1" {\n "app:1" -> "lib:2" ;\n}\ndigraph "lib:2" {\n "lib:2" -> "util:3" ;\n}\n', {},
        ("app:1", "util:3"), ("util:3", "app:1"), "2 graphs"),
    "terraform": (
        "x.dot", 'digraph {\n\tcompound = "true"\n\tsubgraph "root" {\n\t\t"[root] a (expand)" [label = "a"]\n\t\t'
                 '"[root] a (expand)" -> "[root] provider[\\"e.org/aws\\"]"\n\t\t"[root] root" -> "[root] a (expand)"\n'
                 "\t}\n}\n", {},
        ("[root] root", '[root] provider["e.org/aws"]'), ("[root] a (expand)", "[root] root"), ""),
    "networkx.write_edgelist": ("x.edgelist", "0 1 {}\n1 2 {'weight': 3}\n", {}, (0, 2), (2, 0), "such as '{}'"),
    "networkx.write_edgelist of names": ("y.txt", "a b {}\nb c {}\n", {"format": "names"}, ("a", "c"), ("c", "a"), ""),
    "SNAP's higgs-twitter": ("h.txt", "7 8 1341100972 MT\n8 9 1341100973 RT\n", {}, (7, 9), (9, 7), "such as 'MT'"),
    "SIF, words by their places": (
        "x.txt", "a pp b\nb pp c\n", {"format": "names", "source": "1", "target": "3"}, ("a", "c"), ("c", "a"), ""),
    "n m first": ("x.txt", "3 2\n1 2\n2 3\n", {}, (1, 3), (2, 1), "counts vertices and edges if it is none"),
    "networkrepository.com": (
        "nr.mtx", "%MatrixMarket matrix coordinate pattern symmetric\n5 5 3\n2 1\n3 2\n4 3\n", {}, (1, 4), (1, 5), ""),
    "scipy, unsigned-integer": (
        "u.mtx", "%%MatrixMarket matrix coordinate unsigned-integer general\n3 3 2\n1 2 5\n2 3 7\n", {},
        (1, 3), (3, 1), ""),
    "a # inside of a name": (
        "x.txt", "http://e.org/d#A http://e.org/d#B\nhttp://e.org/d#B dlC\ndlC digraph\n", {"format": "names"},
        ("http://e.org/d#A", "digraph"), ("digraph", "dlC"), ""),
    "rigraph 303, ids from 1": ("x.tsv", "1\t11\n1\t7\n2\t4\n10\t11\n", {}, (1, 11), (0, 1), "least id of an edge"),
    "snap 125 and 105, ids of 19 digits": (
        "x.txt", "1234567890123456789 1234567890123456790\n1234567890123456790 42\n", {"format": "names"},
        ("1234567890123456789", 42), (42, "1234567890123456790"), ""),
    "GML": ("x.gml", "graph [\n directed 1\n node [ id 1 ]\n node [ id 2 ]\n edge [ source 1 target 2 ]\n]\n", {},
            (1, 2), (2, 1), ""),
    "DIMACS": ("x.gr", "p sp 2 1\na 1 2 7\n", {}, (1, 2), (2, 1), ""),
    "JSON": ("x.json", '{"directed": true, "nodes": [{"id": "a"}, {"id": "b"}], '
                       '"links": [{"source": "a", "target": "b"}]}', {}, ("a", "b"), ("b", "a"), ""),
    "Pajek": ("x.net", '*Vertices 2\n1 "a"\n2 "b"\n*Arcs\n1 2\n', {}, ("a", "b"), ("b", "a"), ""),
    "N-Triples": ("x.nt", "<http://e/a> <http://e/p> <http://e/b> .\n", {}, ("http://e/a", "http://e/b"),
                  ("http://e/b", "http://e/a"), ""),
    "TGF": ("x.tgf", "1 app:jar:1\n2 lib:jar:2\n#\n1 2 compile\n", {}, ("app:jar:1", "lib:jar:2"),
            ("lib:jar:2", "app:jar:1"), ""),
    "padded cells": ("pad.csv", 'source,target\nx," b"\ny, b\nb,z\n', {}, ("y", "z"), ("x", "z"), ""),
    "CR alone": ("cr.edges", "0 1\r1 2\r", {}, (0, 2), (2, 0), ""),
    "CR and LF": ("cr.edges", "0 1\r1 2\n3 4\r5 6\n", {}, (5, 6), (4, 5), ""),
}  # fmt: skip


@pytest.mark.parametrize("case", REPORTED)
def test_files_of_public_reports_have_the_right_answers(case, tmp_path):
    name, text, options, connected, apart, note = REPORTED[case]
    path = tmp_path / ("piped" if name == "-" else name)
    path.write_text(text, encoding="utf-8", newline="")
    found = read(path, **options)
    index = gb.build(gb.Graph(found.graph, found.ids), "dfs")
    assert (index.reaches(*connected), index.reaches(*apart)) == (True, False)
    assert note in "; ".join(found.notes)


REFUSED = {
    "ids of 19 digits as numbers": ("x.txt", "1234567890123456789 42\n", {}, "--format names takes ids of any size"),
    "SIF as names": ("x.txt", "a pp b\n", {"format": "names"}, "--source 1 --target 3 takes those words"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_names_the_way(case, tmp_path):
    name, text, options, way = REFUSED[case]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as refused:
        read(tmp_path / name, **options)
    assert (way in str(refused.value), str(refused.value).count("\n")) == (True, 0)


@pytest.mark.parametrize(
    ("name", "text", "pairs"),
    [
        ("pairs.csv", ",source,target\n1,3,1\n", [(3, 1)]),  # motif.gl 135: the index of pandas
        ("pairs.csv", "target,source\n2,0\n", [(0, 2)]),
        ("pairs.csv", "weight,source,target\n1,0,2\n", [(0, 2)]),
        ("pairs.csv", "id,source,target\n2,0,1\n0,1,1\n", [(0, 1), (1, 1)]),
    ],
)
def test_tables_of_pairs_of_public_reports_are_read_by_their_headers(name, text, pairs, tmp_path):
    (tmp_path / name).write_text(text)
    found = read_pairs(tmp_path / name, gb.Graph.from_edges([0, 1, 2], [1, 2, 3]).ids)
    assert list(zip(found.sources.tolist(), found.targets.tolist(), strict=True)) == pairs


def test_python_trees_of_public_reports(tmp_path):
    """grimp 35: a folder without __init__.py in a package; pytype 133: a file that is no Python 3."""
    files = {
        "src/app/__init__.py": "", "src/app/models.py": "", "src/app/cli.py": "import app.management.commands.run\n",
        "src/app/management/commands/run.py": "from app.models import M\n", "src/app/old.py": 'print "old"\n',
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for folder in (tmp_path, tmp_path / "src"):
        found = read(folder, "python")
        assert gb.build(gb.Graph(found.graph, found.ids), "dfs").reaches("app.cli", "app.models")
        assert "old.py" in "; ".join(found.notes)


def test_columns_and_matrices_of_public_reports(tmp_path):
    """Stored zeros, blocks with zeros, ids beyond 2^63 - 1, and columns of floats, tables and pairs."""
    ones = scipy.sparse.csr_array(np.ones((2, 2), bool))
    ones[0, 1] = 0
    blocks = np.zeros((4, 4))
    blocks[0, 2] = 1
    for matrix, asked in ((ones, (0, 1)), (scipy.sparse.bsr_array(blocks, blocksize=(2, 2)), (1, 3))):
        scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
        graphs = gb.Graph.from_scipy(matrix), gb.Graph.read(tmp_path / "m.npz")
        assert [gb.build(graph, "dfs").reaches(*asked) for graph in graphs] == [False, False]
    beyond = np.array([2**63 + 1], np.uint64)
    table = pd.DataFrame({"source": beyond, "target": np.array([5], np.uint64)})
    table.to_parquet(tmp_path / "u.parquet")
    graph = nx.DiGraph([((0, 0), (0, 1))])
    mistakes = {
        "beyond 64 bits with a sign": lambda: gb.Graph.from_edges(beyond, [5], renumber=True),
        "beyond 64 bits": lambda: gb.Graph.read(tmp_path / "u.parquet"),
        "Index.stream does": lambda: read_pairs(tmp_path / "u.parquet", gb.Graph.from_edges([0], [1]).ids),
        "networkx.relabel_nodes": lambda: gb.Graph.from_networkx(graph),
        "from_edges(table['source'], table['target'])": lambda: gb.build(table),
        "int(id) a number": lambda: gb.Graph.from_edges([0.0, 1.0], [1.0, 2.0]),
        "place 1 of 2: the id is missing": lambda: gb.Graph.from_edges(pd.array([0, None], dtype="Int64"), [1, 2]),
    }
    for words, mistake in mistakes.items():
        with pytest.raises(gb.InputError) as found:
            mistake()
        assert (words in str(found.value), str(found.value).count("\n")) == (True, 0), words


def test_answers_of_public_reports_on_networkx():
    """NetworkX 7724, 7916 and 8351: a view of a multigraph; cycles and loops, which were always right."""
    graph = nx.MultiDiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    view = graph.edge_subgraph([("a", "b", 0), ("b", "c", 0)])
    assert nx.has_path(view, "a", "c", backend="grailbench")
    index = gb.build(gb.Graph.from_edges(["a", "b", "c", "c"], ["b", "a", "c", "d"]))
    assert (index.reaches("c", "c"), index.ancestors("a").tolist(), index.descendants("c").tolist()) == (
        True, ["b"], ["d"],
    )  # fmt: skip
    assert index.count_descendants(["a", "c"]).tolist() == [1, 1]
    both = nx.DiGraph([("x", "a"), ("x", "b"), ("a", "c"), ("b", "c"), ("a", "d"), ("b", "d")])
    found = gb.build(gb.Graph.from_networkx(both)).lowest_common_ancestors("c", "d")
    assert sorted(found.tolist()) == ["a", "b"]
    loops = nx.DiGraph([(1, 2), (2, 1), (3, 3), (3, 4)])
    closed = nx.transitive_closure(loops, backend="grailbench")
    assert sorted(closed.edges) == sorted(nx.transitive_closure(loops).edges)
