"""Graph languages, listings, JSON, lock files and packed files: what is read from each, as other programs write it."""

import bz2
import io
import json
import lzma
import tarfile
import zipfile

import lark
import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import scipy.io
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import digraphs, edges_of

from grailbench.errors import InputError
from grailbench.graph.readers import guess_format, languages, read
from grailbench.util import files

DAG = {("a", "b"), ("b", "c")}
BOTH = "undirected: each edge in both directions"
DEPENDS = "edges go from a package to what it depends on"


def named_edges(found):
    label = found.ids.label_of
    return {(label(u), label(v)) for u, v in edges_of(found.graph)}


def as_json(**keys):
    return json.dumps(keys)


def packages(*each, head=""):
    """A lock file in TOML: of each package its name and further lines."""
    return head + "".join(
        f'[[package]]\nname = "{name}"\n' + "".join(f"{line}\n" for line in lines) for name, *lines in each
    )


NODES = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
DEPENDENCIES = [{"ref": "a", "dependsOn": ["b"]}, {"ref": "b", "dependsOn": ["c"]}]
PLACES = [{"source": 0, "target": 1}, {"source": 1, "target": 2}]
LINKS = [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]

WRITTEN = {
    # name and content, the edges, the notes
    "attributes of DOT": (
        "g.dot",
        '// by a tool\ndigraph\n"x::y"\n{ graph [pad="0"; sep=1]; a [label=<<b>]</b>>]; a -> b [x=1; y="]"];\n'
        "# line\nb:p:n -> c [a=1][b=2] }",
        DAG,
        (),
    ),
    "several DOT graphs": (
        "g.dot",
        'digraph "1" { a -> b }\ndigraph { b -> c }',
        DAG,
        ("2 graphs, read as one: vertices of one name are one",),
    ),
    "joined and continued names of DOT": ("g.dot", 'digraph { "a" -> "b\\\n" -> "" + "c" }', DAG, ()),
    "lists of nodes of DOT": ("g.dot", "digraph { a, x -> b; b -> {c} }", {*DAG, ("x", "b")}, ()),
    "named subgraphs of DOT": (
        "g.dot",
        "digraph { subgraph s { a } subgraph s { x -> y } -> b; subgraph { subgraph s { y } -> c } {z} -> {} }",
        {("x", "y"), ("a", "b"), ("x", "b"), ("y", "b"), ("y", "c")},
        (),
    ),
    "comments of DOT": (
        "g.dot",
        'digraph { a -> b # -> x\n  # y "\n b -> c [c=#ff0000, d=1 # z ] "\n ] }',
        DAG,
        (),
    ),
    "mixed DOT graphs": (
        "g.dot",
        "digraph { a -> b }\ngraph { b -- c }",
        {*DAG, ("c", "b")},
        ("2 graphs, read as one: vertices of one name are one", "undirected: 1 of 2 edges in both directions"),
    ),
    "GML with labels": (
        "g.gml",
        'Creator "x"\ngraph [ directed 1 node [ id 0 label "a" graphics [ x 1.5 ] ] node [ id 1 label "b" ]\n'
        'node [ id 2 label "c" ] edge [ source 0 target 1 ] edge [ source 1 target 2 value 2 ] ]',
        DAG,
        ("vertices are named by their labels",),
    ),
    "GML of one label": (
        "g.gml",
        'graph [ node [ id 0 label "x" ] node [ id 1 label "x" ] edge [ source 0 target 1 ] ]',
        {(0, 1), (1, 0)},
        ("vertices are named by their ids, as not each has a label of its own", BOTH),
    ),
    "several GraphML graphs": (
        "g.graphml",
        "\ufeff<?xml version='1.0'?><graphml><graph edgedefault='directed'><edge source='a' target='b'/></graph>"
        "<graph edgedefault='directed'><edge source='b' target='c'/></graph></graphml>",
        DAG,
        ("2 graphs, read as one: vertices of one name are one",),
    ),
    "GEXF": (
        "g.gexf",
        "<gexf xmlns='http://gexf.net/1.3'><meta><creator>x</creator></meta><graph defaultedgetype='directed'>"
        "<nodes><node id='a' label='A'><nodes><node id='in'/></nodes></node><node id='b'/></nodes><edges>"
        "<edge id='0' source='a' target='b'/><edge source='b' target='c' type='mutual'/></edges></graph></gexf>",
        {*DAG, ("c", "b")},
        ("undirected: 1 of 2 edges in both directions",),
    ),
    "Pajek": (
        "g.net",
        '%x\n*Vertices 3\n1 "a" 0.1 0.2\n2 b\n3 "c"\n*Arcs :1 "r"\n1 2 1\n*Arcslist\n2 3\n',
        DAG,
        ("vertices are named by their labels",),
    ),
    "edges and a matrix of Pajek": (
        "g.net",
        "*Network x\n*vertices 3\n*edges\n1 2\n*matrix\n0 0 0\n0 0 2.5\n0.0 0 0\n",
        {(1, 2), (2, 1), (2, 3)},
        ("undirected: 1 of 2 edges in both directions",),
    ),
    "TGF": ("g.tgf", "1 a\n2 b\n3 c\n#\n1 2 compile\n2 3\n", DAG, ("vertices are named by their labels",)),
    "SIF": ("g.sif", "a pp b\nb pd c\nalone\n", DAG, ("2 kinds of edges: 'pp', 'pd'",)),
    "targets of SIF": ("g.sif", "a\tpp\tb c\td\n", {("a", "b c"), ("a", "d")}, ("1 kind of edges: 'pp'",)),
    "N-Triples": (
        "g.nt",
        '# x\n<a> <e:p> <b> .\n<b> <e:q> <c> <graph> . # y\n<c> <name> "c \\" x"@en .\n_:x <p> "1"^^<int> .\n',
        DAG,
        ("edges go from subject to object", "2 triples with a literal left out", "2 kinds of edges: 'e:p', 'e:q'"),
    ),
    "node-link of NetworkX": ("g.json", as_json(directed=True, graph={}, nodes=NODES, links=LINKS), DAG, ()),
    "undirected node-link": (
        "g.json",
        as_json(directed=False, nodes=NODES, edges=LINKS[:1]),
        {("a", "b"), ("b", "a")},
        (BOTH,),
    ),
    "places of d3": (
        "g.json",
        as_json(nodes=[{"name": each} for each in "abc"], links=PLACES),
        DAG,
        ("ends of links are places of nodes, from 0",),
    ),
    "JSON Graph Format": ("g.json", as_json(graph={"nodes": {"a": {}, "b": {}}, "edges": LINKS}), DAG, ()),
    "several of JSON Graph Format": (
        "g.json",
        as_json(graphs=[{"nodes": NODES, "edges": LINKS[:1]}, {"edges": LINKS[1:]}]),
        DAG,
        ("2 graphs, read as one: vertices of one name are one",),
    ),
    "Cytoscape.js": ("g.json", as_json(elements=[{"data": each} for each in NODES[:1] + LINKS]), DAG, ()),
    "CycloneDX": (
        "bom.json",
        as_json(bomFormat="CycloneDX", dependencies=DEPENDENCIES),
        DAG,
        (DEPENDS,),
    ),
    "SPDX": (
        "x.spdx.json",
        as_json(
            spdxVersion="SPDX-2.3",
            packages=[{"SPDXID": "a"}],
            relationships=[
                {"spdxElementId": "a", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": "b"},
                {"spdxElementId": "c", "relationshipType": "BUILD_DEPENDENCY_OF", "relatedSpdxElement": "b"},
                {"spdxElementId": "doc", "relationshipType": "DESCRIBES", "relatedSpdxElement": "a"},
            ],
        ),
        DAG,
        (DEPENDS, "relationships left out: 1 DESCRIBES", "2 kinds of edges: 'DEPENDS_ON', 'BUILD_DEPENDENCY_OF'"),
    ),
    "package-lock.json": (
        "package-lock.json",
        as_json(
            lockfileVersion=3,
            packages={
                "": {"name": "app", "dependencies": {"a": "1", "b": "2"}},
                "node_modules/a": {
                    "version": "1.0.0",
                    "dependencies": {"b": "1"},
                    "optionalDependencies": {"gone": "1"},
                },
                "node_modules/a/node_modules/b": {"version": "1.0.0"},
                "node_modules/b": {"version": "2.0.0", "dependencies": {"a": "1"}},
            },
        ),
        {("app", "a"), ("app", "b@2.0.0"), ("a", "b@1.0.0"), ("b@2.0.0", "a")},
        (DEPENDS, "1 kind of edges: 'dependencies'"),
    ),
    "Cargo.lock": (
        "Cargo.lock",
        packages(
            ("a", 'version = "1"', 'dependencies = ["b 2", "c"]'),
            ("b", 'version = "1"'),
            ("b", 'version = "2"'),
            ("c", 'version = "1"'),
            head="# by Cargo\nversion = 4\n\n",
        ),
        {("a", "b@2"), ("a", "c")},
        (DEPENDS,),
    ),
    "uv.lock": (
        "uv.lock",
        packages(
            ("a", 'dependencies = [{ name = "b" }]'), ("b",), head='version = 1\nresolution-markers = [\n "x",\n]\n'
        ),
        {("a", "b")},
        (DEPENDS,),
    ),
    "poetry.lock": (
        "poetry.lock",
        packages(("a", "[package.dependencies]", 'b = ">1"'), ("b", 'version = "2"')),
        {("a", "b")},
        (DEPENDS,),
    ),
    "groups and extras of uv": (
        "uv.lock",
        packages(
            (
                "a",
                "[package.optional-dependencies]",
                'x = [{ name = "b" }]',
                "[package.dev-dependencies]",
                'dev = [{ name = "c" }]',
            ),
            ("b",),
            ("c",),
            head="version = 1\n",
        ),
        {("a", "b"), ("a", "c")},
        (DEPENDS, "2 kinds of edges: 'optional-dependencies', 'dev-dependencies'"),
    ),
    "names that Poetry writes as their authors do": (
        "poetry.lock",
        packages(
            ("flask", "[package.dependencies]", 'Jinja2 = ">=3"', 'zope_x = "1"', 'away = "1"'),
            ("jinja2",),
            ("zope.x",),
        ),
        {("flask", "jinja2"), ("flask", "zope.x")},
        (DEPENDS, "1 dependency left out, as the file does not lock them"),
    ),
    "SPDX of GitHub": (
        "sbom.json",
        as_json(
            sbom={
                "spdxVersion": "SPDX-2.3",
                "relationships": [{"spdxElementId": "a", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": "b"}],
            }
        ),
        {("a", "b")},
        (DEPENDS, "1 kind of edges: 'DEPENDS_ON'"),
    ),
    "go mod graph of a new module": (
        "deps.txt",
        "example.org/app go@1.21.0\nexample.org/app toolchain@go1.21.0\n",
        {("example.org/app", "go@1.21.0"), ("example.org/app", "toolchain@go1.21.0")},
        (),
    ),
    "numbers with commas": (
        "g.txt",
        "1,2\n2,3\n",
        {(1, 2), (2, 3)},
        (
            "its first line is an edge and no header, because it looks like the others",
            "edges go from column '1' to column '2'",
        ),
    ),
    "dates after the edge": (
        "g.txt",
        "0 1 2009-01-01 00:00:01\n1 2 2009-01-02 10:00:01\n",
        {(0, 1), (1, 2)},
        ("what follows the numbers of an edge is not used, such as '2009-01-01 00:00:01'",),
    ),
    "GraphML in another case": (
        "g.graphml",
        '<graphml><graph edgedefault="DIRECTED"><edge source="a" target="b"/></graph></graphml>',
        {("a", "b")},
        (),
    ),
    "go mod graph": (
        "deps.txt",
        "example.org/app x.org/a@v1.0.0\nx.org/a@v1.0.0 go@1.21\n",
        {("example.org/app", "x.org/a@v1.0.0"), ("x.org/a@v1.0.0", "go@1.21")},
        (),
    ),
    "arcs of DIMACS": ("g.gr", "c roads\np sp 3 2\na 1 2 7\nc x\na 2 3 9\n", {(1, 2), (2, 3)}, ()),
    "edges of DIMACS": ("g.col", "p edge 2 1\ne 1 2\n", {(1, 2), (2, 1)}, (BOTH,)),
    "attributes of networkx": (
        "g.edgelist",
        "0 1 {}\n1 2 {'weight': 3}\n",
        {(0, 1), (1, 2)},
        ("what follows the numbers of an edge is not used, such as '{}'",),
    ),
    "words after the edge": (
        "g.txt",
        "7 8 1341 MT\n8 9 1342 RT x\n",
        {(7, 8), (8, 9)},
        (
            "the least id of an edge is 7; those below are vertices without an edge",
            "what follows the numbers of an edge is not used, such as 'MT'",
        ),
    ),
    "a banner of networkrepository.com": (
        "g.mtx",
        "%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n",
        {(1, 2), (2, 1)},
        ("symmetric: each entry in both directions",),
    ),
    "a banner of scipy": (
        "g.mtx",
        "%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 2 5\n",
        {(1, 2)},
        (),
    ),
    "fractions of METIS": ("g.graph", "2 1 11\n0.5 2 0.25\n1e0 1 .25\n", {(1, 2), (2, 1)}, (BOTH,)),
    "an array of Matrix Market": ("g.mtx", "%%MatrixMarket matrix array real general\n2 2\n0\n0\n3\n0\n", {(1, 2)}, ()),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_edges_and_notes_of_what_other_programs_write(tmp_path, case):
    name, text, edges, notes = WRITTEN[case]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = read(path)
    assert (named_edges(found), found.notes) == (edges, notes)


#: what DOT files are made of, apart from what begins and ends a graph
PIECES = [
    *("a", "b1", "Node", "12", "-.5", '"q x"', '"a\\"b"', '""', "<h<i>>", "->", "--", ";", ",", ":", "=", "+", "[x=1]"),
    *(
        '[l="]"; /* ] */ h=<]>]',
        "{",
        "}",
        "subgraph",
        "node",
        "graph",
        "edge [a]",
        "// c ->\n",
        "/* ; */",
        "#x\n",
        "\n",
    ),
    *(
        "a -> b",
        "b -> c -> 1",
        "c:p:n -> a [x];",
        '"q x" -> <h<i>> ;',
        "{a b} -> c",
        "subgraph s { a; b -> 2 }",
        "x = y;",
    ),
    *("a, b -> c\n", '"a" + "b" -> b1', "1 -> -2.5", "a;", "node [shape=box]", "x = y;", "\n", " "),
]
WITHOUT_PLAIN = lark.Lark(languages._DOT.replace("(PLAIN | statement)*", "statement*"), parser="lalr")


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=9), blank=st.sampled_from(["", " "]))
def test_plain_statements_of_dot_are_read_as_by_the_whole_grammar(pieces, blank):
    """They are one token of the grammar, which takes a twentieth of the time."""
    text = np.frombuffer(f"digraph {{ {blank.join(pieces)} }}".encode(), np.uint8)
    parsers = languages._dot_parser(), WITHOUT_PLAIN
    read_by = []
    for parser in parsers:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(languages, "_dot_parser", lambda parser=parser: parser)
            try:
                found = languages.read_dot(text)
                read_by.append((found.ids.labels_of(np.arange(found.graph.vertices)).tolist(), edges_of(found.graph)))
            except InputError as error:
                read_by.append(error.line is None)
    assert read_by[0] == read_by[1]


@pytest.mark.parametrize(
    "name", ["g.dot", "g.gml", "g.graphml", "g.gexf", "g.net", "g.nt", "g.json", "Cargo.lock", "g.gr", "go"]
)
def test_formats_are_detected_by_their_beginning(tmp_path, name):
    """So they are from a pipe, which has no name."""
    given, text = next(
        each[:2] for each in WRITTEN.values() if each[0].startswith(name) or (name == "go" and "go@1" in each[1])
    )
    (tmp_path / given).write_text(text, encoding="utf-8")
    (tmp_path / "unnamed").write_text(text, encoding="utf-8")
    assert guess_format(tmp_path / "unnamed") == guess_format(tmp_path / given)


WRITERS = {
    "g.gml": nx.write_gml,
    "g.gexf": nx.write_gexf,
    "g.net": nx.write_pajek,
    "g.json": lambda graph, path: path.write_text(json.dumps(nx.node_link_data(graph, edges="links"))),
    "g.edgelist": nx.write_edgelist,
    "g.mtx": lambda graph, path: scipy.io.mmwrite(path, nx.to_scipy_sparse_array(graph, dtype=np.uint8).tocoo()),
}


@pytest.mark.parametrize("name", WRITERS)
@given(drawn=digraphs())
def test_what_networkx_and_scipy_write_is_read_back(tmp_path_factory, name, drawn):
    vertices, edges = drawn
    assume(edges)
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(range(vertices))
    path = tmp_path_factory.mktemp("written") / name
    WRITERS[name](graph, path)
    found = {(int(u), int(v)) for u, v in named_edges(read(path))}
    order = list(graph)
    assert ({(order[u - 1], order[v - 1]) for u, v in found} if name == "g.mtx" else found) == set(graph.edges)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "complex"])
def test_an_array_of_any_symmetry_is_what_scipy_wrote(tmp_path, symmetry, field):
    half = np.tril([[0, 1, 0, 2], [3, 0, 0, 0], [0, 4, 0, 0], [5, 0, 6, 0]]) * (1j if field == "complex" else 1.0)
    matrix = {"general": half, "symmetric": half + half.T, "skew-symmetric": half - half.T}[symmetry]
    scipy.io.mmwrite(tmp_path / "g.mtx", matrix, symmetry=symmetry)
    assert named_edges(read(tmp_path / "g.mtx")) == {(u + 1, v + 1) for u, v in zip(*np.nonzero(matrix), strict=True)}


MALFORMED = [
    ("g.gml", 'graph [ node "ab" ]', ": a node without id"),
    ("g.mtx", "%%MatrixMarket matrix array real general\n3 2\n1\n4\n3\n4*", ", line 2: the size line"),
    ("g.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4h", ", line 6: 1 numbers expected, found '4h'"),
    (
        "g.mtx",
        "%%MatrixMarket matrix array real general\n2 2\n1\n",
        ", line 2: 1 lines of values, but the matrix has 4",
    ),
    ("g.mtx", "%%MatrixMarket matrix array real general\n", ": the file ends before the size line"),
    ("g.dot", "digraph { a -- b }", ", line 1: '--' in a digraph: '->' is expected"),
    ("g.dot", "digraph {\n a [x", r", line 2: a graph in the DOT language expected: '\['? is not|, line 2: .*\[x"),
    ("g.gml", "graph [ node [ id 1 ] ", ", line 1: the file ends inside of a graph"),
    ("g.gml", "graph [\n node ]", ", line 2: GML: a value is expected, found ']'"),
    ("g.gml", "graph [ edge [ source 1 ] ]", ": an edge without target"),
    ("g.gml", "Creator x", r": no graph \[ ... \]"),
    ("g.net", "*Vertices 2\n*Arcs\n1 3\n", ", line 3: '3' is no vertex from 1 to 2"),
    ("g.net", "*Vertices 4 2\n", ", line 1: a network of two modes"),
    ("g.net", "*Vertices 1\n*Vertices 1\n", ", line 2: several networks"),
    ("g.net", "*Vertices 99999999999\n", ", line 1: 99,999,999,999 vertices, too many for a file of 22 bytes"),
    ("g.tgf", "1 a\n#\n1\n", ", line 3: 'source target"),
    ("g.sif", "a b\n", ", line 1: 'source relation target'"),
    ("g.nt", "<a> <p> b .\n", ", line 1: '<subject>"),
    ("g.json", '{"a": 1}', ": JSON of no kind that is read: a"),
    ("g.json", as_json(nodes=NODES[:1], links=LINKS[:1]), ": a link has the end 'b', which is no node"),
    ("g.json", '{"nodes": [', ", line 1: JSON expected"),
    ("Cargo.lock", "[[package]]\n", ": a lock file in TOML expected: 'name'"),
    ("g.gr", "p sp 2 2\na 1 2 7\n", "edges, but"),
    ("g.gr", "p sp 2 1\na 1 3 7\n", r", line 2: .*3 is out of range \(1 to 2\)"),
    ("g.gr", "p sp 2 1\na 1 2\n", ", line 2: 'a source target weight' expected"),
    ("g.txt", "0 1 x\n1 2\n", ", line 1: something that is no number follows the edge"),
    ("g.ttl", "@prefix x: <y> .", ": not read here, RDF: .* writes N-Triples"),
    ("g.gt", "\u26be gt", ": not read here, graph-tool's"),
    ("bom.xml", '<?xml version="1.0"?><bom/>', ": not read here, XML that is neither .* of CycloneDX the JSON is read"),
    ("g.gdf", "nodedef>name VARCHAR\n", ": not read here, Gephi opens it, and exports GEXF"),
    ("g.dl", "DL n=3\nformat=edgelist1\ndata:\n1 2\n", ": not read here, igraph reads it"),
]


@pytest.mark.parametrize(("name", "text", "why"), MALFORMED)
def test_malformed_files_are_refused_with_line_or_way(tmp_path, name, text, why):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"{name}(.*{why})"):
        read(path)


def test_words_of_a_line_are_picked_by_place(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("1 pp 2 x\n2 pp 3\n# c\n", encoding="utf-8")
    found = read(path, "names", source="1", target="3")
    assert (named_edges(found), found.notes) == (
        {(1, 2), (2, 3)}, ("edges go from word 1 to word 3 of a line; others are not used",),
    )  # fmt: skip
    with pytest.raises(InputError, match="line 2: 3 words, but the end of an edge is word 4"):
        read(path, "names", source="1", target="4")


# ---------------------------------------------------------------------------------------- packed files


EDGES = b"0 1\n1 2\n"


def tarred(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("_", "."))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return out.getvalue()


PACKED = {
    "g.txt.bz2": bz2.compress(EDGES),
    "g.txt.xz": lzma.compress(EDGES),
    "g.txt.zst": pa.compress(EDGES, "zstd", asbytes=True),
    "g.tar.gz": tarred(g_csv=b"source,target\n0,1\n1,2\n", readme_txt=b"x"),
    "g.zip": zipped(g_edges=EDGES, readme_html=b"<html>"),
}


def test_a_spreadsheet_is_called_one_and_no_archive(tmp_path):
    (tmp_path / "g.xlsx").write_bytes(zipped(workbook_xml=b"x", sheet_xml=b"y"))
    with pytest.raises(InputError, match=r"g\.xlsx: not read here, a spreadsheet: save it as CSV"):
        read(tmp_path / "g.xlsx")


@pytest.mark.parametrize("name", PACKED)
def test_packed_files_are_unpacked_and_damaged_ones_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(PACKED[name])
    found = read(path)
    assert named_edges(found) == {(0, 1), (1, 2)}
    path.write_bytes(PACKED[name][:-9])
    with pytest.raises(InputError, match=f"{name}: "):
        read(path)


@pytest.mark.parametrize("name", ["g.txt.bz2", "g.txt.xz", "g.txt.zst"])
def test_a_format_is_detected_without_unpacking_the_whole_file(tmp_path, monkeypatch, name):
    """`streamed` detects those of files that memory does not hold."""
    (tmp_path / name).write_bytes(PACKED[name])
    monkeypatch.setattr(files, "_gathered", None)
    assert guess_format(tmp_path / name) == "edges"


@pytest.mark.parametrize("pack", [tarred, zipped])
def test_an_archive_of_several_files_is_refused(tmp_path, pack):
    path = tmp_path / "g.archive"
    path.write_bytes(pack(a_txt=EDGES, b_txt=EDGES))
    with pytest.raises(InputError, match=r"an archive of 2 files: a\.txt, b\.txt \(unpack it\)"):
        read(path)
