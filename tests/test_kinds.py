"""Kinds of edges: kept from every format that has them, in files and graphs; graphs and indexes of some kinds, against
the oracle."""

import json
import pickle

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from commands import call
from hypothesis import given
from hypothesis import strategies as st
from naive import closure
from strategies import digraphs

import grailbench as gb
from grailbench.data.imported import import_graph
from grailbench.graph.kinds import Kinds, joined
from grailbench.graph.readers import read
from grailbench.graph.store import load_graph
from grailbench.problems.closure.export import export

NAMES = ("runtime", "dev", "")
NEEDS = [("app", "lib", "runtime"), ("app", "pytest", "dev"), ("lib", "zlib", "runtime"), ("lib", "pytest", "")]


def with_kinds(vertices, edges, kinds):
    sources, targets = zip(*edges, strict=True) if edges else ([], [])
    return gb.Graph.from_edges(list(sources), list(targets), vertices=vertices, kinds=kinds)


def kinds_in(graph):
    """Each edge of a graph by its ids, and its kind."""
    raw, label = graph.raw, graph.ids.label_of
    codes = zip(raw.sources.tolist(), raw.targets.tolist(), raw.kinds.codes.tolist(), strict=True)
    return sorted((label(u), label(v), raw.kinds.names[code]) for u, v, code in codes)


@given(digraphs(), st.data())
def test_a_graph_of_some_kinds_has_their_edges_and_an_index_by_kinds_names_those_with_a_path(drawn, data):
    vertices, edges = drawn
    kinds = data.draw(st.lists(st.sampled_from(NAMES), min_size=len(edges), max_size=len(edges)))
    graph = with_kinds(vertices, edges, kinds)
    graph = data.draw(st.sampled_from([graph, pickle.loads(pickle.dumps(graph))]))
    assert graph.kinds == tuple(dict.fromkeys(kinds))
    if not kinds:
        with pytest.raises(gb.InputError, match="the edges of this graph have no kinds"):
            graph.only(kind="dev")
        return
    wanted = data.draw(st.sets(st.sampled_from(graph.kinds)))
    chosen = [edge for edge, kind in zip(edges, kinds, strict=True) if kind in wanted]
    part = graph.only(kind=wanted)
    assert (part.vertices, {*part.kinds}) == (vertices, wanted)
    every = list(range(vertices))
    found = np.unpackbits(gb.build(part, "dfs").matrix(every, every), axis=1, count=vertices)
    assert [set(np.flatnonzero(row).tolist()) for row in found] == closure(vertices, chosen)
    parts = {"chosen": wanted} | {kind: {kind} for kind in graph.kinds}
    reach = {
        name: closure(vertices, [edge for edge, kind in zip(edges, kinds, strict=True) if kind in some])
        for name, some in parts.items()
    }
    by_kind, by_parts = gb.build(graph, "dfs", by="kind"), gb.build(graph, "dfs", by=parts)
    assert (by_kind.kinds, by_parts.kinds) == (graph.kinds, tuple(parts))
    for u, v in data.draw(st.lists(st.tuples(st.sampled_from(every), st.sampled_from(every)), max_size=5)):
        expected = {name for name in parts if v in reach[name][u]}
        assert by_parts.reaches(u, v) == expected
        assert by_kind.reaches(u, v) == expected & {*graph.kinds} - {"chosen"}
        many = by_parts.reaches_many([u, v], [v, u])
        assert {name: column.tolist() for name, column in many.items()} == {
            name: [v in reach[name][u], u in reach[name][v]] for name in parts
        }


def test_an_edge_of_several_kinds_is_one_of_each():
    graph = with_kinds(3, [(0, 1), (0, 1), (1, 2)], ["a", "b", "b"])
    kinds = gb.build(graph, by="kind")
    assert (graph.edges, kinds.reaches(0, 1), kinds.reaches(0, 2), kinds.reaches(2, 2)) == (
        2, {"a", "b"}, {"b"}, {"a", "b"})  # fmt: skip
    assert kinds["b"].path(0, 2) == [0, 1, 2]
    assert kinds.nbytes == kinds["a"].nbytes + kinds["b"].nbytes
    assert repr(kinds).endswith("of 'a', 'b'>")


def test_a_path_on_which_kinds_alternate_is_one_of_the_part_that_has_them():
    graph = with_kinds(3, [(0, 1), (1, 2)], ["a", "b"])
    assert gb.build(graph, by="kind").reaches(0, 2) == set()
    assert gb.build(graph, by={"any": graph.kinds, "a": "a"}).reaches(0, 2) == {"any"}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda graph: graph.only(kind="runtim"), r"no edge is of kind 'runtim' \(did you mean 'runtime'\?\)"),
        (lambda graph: graph.only(kind=["dev", "x\ny"]), r"no edge is of kind 'x\\ny' \(3 kinds of edges: 'runtime', "),
        (lambda graph: graph.only(kind=7), "kind 7: a list or an array"),
        (lambda graph: gb.build(graph, by="scope"), "by 'scope': 'kind' is expected, or a dictionary"),
        (lambda graph: gb.build(graph, by={}), "no part is named"),
        (lambda graph: gb.build(graph, by={"a": "x"}), "no edge is of kind 'x'"),
        (lambda graph: gb.build(graph, by={1: "dev"}), "'kind' is expected, or a dictionary"),
        (lambda graph: gb.build("edges.txt", by="kind"), "'edges.txt' is no Graph, whose edges have kinds"),
        (lambda graph: gb.build(gb.Graph.open("path-3"), by="kind"), "the edges of this graph have no kinds"),
        (lambda graph: gb.build(graph, by="kind")["runtim"], "is no part of this index .*'runtime'"),
        (lambda graph: gb.build(graph, by="kind").reaches("app", "zlb"), "did you mean 'zlib'"),
        (lambda graph: gb.Graph.from_edges([0, 1], [1, 2], kinds=["a"]), "1 kinds for 2 edges"),
        (lambda graph: gb.Graph.from_edges([0, 1], [1, 2], kinds={"a", "b"}), "kinds as a set"),
        (lambda graph: gb.Graph.from_networkx(nx.path_graph(3), kind="scope"), "no edge has the attribute"),
        (lambda graph: Kinds.of([str(at) for at in range(65_537)]), "65,537 kinds of edges; at most 65,536"),
    ],
)
def test_mistakes_are_one_clear_error(wrong, says):
    sources, targets, kinds = zip(*NEEDS, strict=True)
    with pytest.raises(gb.InputError, match=says) as error:
        wrong(gb.Graph.from_edges(sources, targets, kinds=kinds))
    assert "\n" not in str(error.value)


@given(st.lists(st.lists(st.sampled_from("abc")) | st.integers(0, 3)))
def test_lists_of_edges_are_joined_with_their_kinds(parts):
    given = [(None, part) if isinstance(part, int) else (Kinds.of(part), len(part)) for part in parts]
    expected = [kind for part in parts for kind in ([""] * part if isinstance(part, int) else part)]
    found = joined(given)
    if all(kinds is None for kinds, _ in given):
        assert found is None
    else:
        assert [found.names[code] for code in found.codes] == expected
        assert {*found.names} == {*expected}


@pytest.mark.parametrize(("kinds", "bytes"), [(256, 1), (257, 2)])
def test_kinds_take_a_byte_an_edge_or_two(kinds, bytes):
    found = Kinds.of([f"k{at % kinds}" for at in range(600)])
    assert (found.codes.itemsize, found.names[kinds - 1]) == (bytes, f"k{kinds - 1}")
    part = found.at(np.array([0, kinds - 1]))
    assert ([part.names[code] for code in part.codes], part.codes.itemsize) == (["k0", f"k{kinds - 1}"], 1)


# ------------------------------------------------------------------ where they come from


def xml(text):
    return f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{text}</graphml>'


KEYS = '<key id="d0" for="edge" attr.name="scope"/><key id="d1" for="node" attr.name="x"/>'
GEXF = '<attributes class="edge"><attribute id="0" title="scope"><default>dev</default></attribute></attributes>'
LINK, OTHER = {"source": "a", "target": "b", "scope": "dev"}, {"source": "b", "target": "c"}
WRITTEN = {
    # name, content, options, each edge and its kind
    "csv": ("g.csv", "from,to,scope\na,b,dev\nb,c,\n", {"kind": "Scope"}, [("a", "b", "dev"), ("b", "c", "")]),
    "csv without a header": ("g.csv", "a,x,b\nb,y,c\n", {"source": "1", "target": "3", "kind": "2", "header": False},
                             [("a", "b", "x"), ("b", "c", "y")]),
    "tsv": ("g.tsv", "source\ttarget\tType\na\tb\tundirected\n", {"kind": "Type"}, [("a", "b", "undirected")]),
    "csv of Gephi": ("g.csv", "Source,Target,Type,Label\na,b,Undirected,x\n", {"kind": "Label"},
                     [("a", "b", "x"), ("b", "a", "x")]),
    "names": ("g.txt", "a b dev\nb c run\n", {"format": "names", "kind": "3"}, [("a", "b", "dev"), ("b", "c", "run")]),
    "triples of words": ("g.txt", "a is b\nb has c\n", {"format": "names", "source": "1", "target": "3", "kind": "2"},
                         [("a", "b", "is"), ("b", "c", "has")]),
    "numbers": ("g.txt", "1 2 dev\n2 3 run\n", {"kind": "3"}, [(1, 2, "dev"), (2, 3, "run")]),
    "GraphML": ("g.graphml", xml(KEYS + '<graph edgedefault="undirected"><edge source="a" target="b"><data key="d1">z'
                "</data><data key='d0'>dev</data></edge></graph>"), {"kind": "scope"},
                [("a", "b", "dev"), ("b", "a", "dev")]),
    "GEXF": ("g.gexf", f'<gexf><graph defaultedgetype="directed">{GEXF}<edges><edge source="a" target="b"><attvalues>'
             '<attvalue for="0" value="run"/></attvalues></edge><edge source="b" target="c"/></edges></graph></gexf>',
             {"kind": "scope"}, [("a", "b", "run"), ("b", "c", "dev")]),
    "labels of GEXF": ("g.gexf", '<gexf><graph defaultedgetype="directed"><edges><edge source="a" target="b" '
                       'label="x"/></edges></graph></gexf>', {"kind": "label"}, [("a", "b", "x")]),
    "GML": ("g.gml", "graph [ directed 1 node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 scope \"dev\" ] ]",
            {"kind": "scope"}, [(1, 2, "dev")]),
    "DOT": ("g.dot", 'digraph { edge [label=usual] a -> b; b -> c [color=red, "label"="d" + "ev"]; '
            '{ edge [label=in] c -> d } e -> {f} [label=<x>] f -> g -> h [label=1][label=""] // [label=no]\n'
            ' g -> i [x="label=no"] }',
            {"kind": "label"},
            [("a", "b", "usual"), ("b", "c", "dev"), ("c", "d", "in"), ("e", "f", "<x>"), ("f", "g", ""),
             ("g", "h", ""), ("g", "i", "usual")]),
    "node-link": ("g.json", json.dumps({"nodes": ["a", "b", "c"], "links": [LINK, OTHER]}), {"kind": "scope"},
                  [("a", "b", "dev"), ("b", "c", "")]),
    "JSON Graph Format": ("g.json", json.dumps({"graph": {"edges": [{**LINK, "relation": "needs"}, OTHER]}}), {},
                          [("a", "b", "needs"), ("b", "c", "")]),
    "metadata": ("g.json", json.dumps({"graph": {"edges": [{**OTHER, "metadata": {"w": 3}}]}}), {"kind": "w"},
                 [("b", "c", "3")]),
    "Cytoscape.js": ("g.json", json.dumps({"elements": [{"data": {**OTHER, "interaction": "pp"}}]}), {},
                     [("b", "c", "pp")]),
    "package-lock.json": ("g.json", json.dumps({"lockfileVersion": 3, "packages": {
        "": {"name": "app", "dependencies": {"a": "1"}, "devDependencies": {"b": "1"}},
        "node_modules/a": {}, "node_modules/b": {}}}), {},
        [("app", "a", "dependencies"), ("app", "b", "devDependencies")]),
    "uv.lock": ("uv.lock", '[[package]]\nname = "a"\ndependencies = [{ name = "b" }]\n[package.dev-dependencies]\n'
                'dev = [{ name = "c" }]\n[[package]]\nname = "b"\n[[package]]\nname = "c"\n', {},
                [("a", "b", "dependencies"), ("a", "c", "dev-dependencies")]),
    "poetry.lock": ("poetry.lock", '[[package]]\nname = "a"\n[package.dependencies]\nb = "1"\nc = {version = "1", '
                    'optional = true}\n[[package]]\nname = "b"\n[[package]]\nname = "c"\n', {},
                    [("a", "b", "dependencies"), ("a", "c", "optional-dependencies")]),
    "CycloneDX": ("g.json", json.dumps({"bomFormat": "CycloneDX", "components": [
        {"bom-ref": "b", "scope": "optional", "components": [{"bom-ref": "d", "scope": "excluded"}]}, {"bom-ref": "c"}],
        "dependencies": [{"ref": "a", "dependsOn": ["b", "c", "d"]}]}), {},
        [("a", "b", "optional"), ("a", "c", "required"), ("a", "d", "excluded")]),
    "SPDX": ("g.json", json.dumps({"spdxVersion": "2", "relationships": [
        {"spdxElementId": "c", "relationshipType": "BUILD_DEPENDENCY_OF", "relatedSpdxElement": "b"}]}), {},
        [("b", "c", "BUILD_DEPENDENCY_OF")]),
    "SIF": ("g.sif", "a pp b c\nb pd c\n", {}, [("a", "b", "pp"), ("a", "c", "pp"), ("b", "c", "pd")]),
    "N-Triples": ("g.nt", '<a> <p> <b> .\n<b> <q> _:c .\n<b> <r> "x" .\n', {}, [("a", "b", "p"), ("b", "_:c", "q")]),
    "relations of OBO": ("g.obo", "format-version: 1\n\n[Term]\nid: a\nis_a: b\nrelationship: part_of c\n",
                         {"relations": ("is_a", "part_of")}, [("a", "b", "is_a"), ("a", "c", "part_of")]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_kinds_in_files_are_read_imported_and_opened_again(tmp_path, case):
    name, text, options, edges = WRITTEN[case]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert kinds_in(gb.Graph.read(path, **options)) == sorted(edges)
    imported = import_graph(path, "kinds", replace=True, **options)
    assert f"{len({kind for *_, kind in edges})} kind" in imported.reading.notes[-1]
    graph = gb.Graph.open("kinds")
    assert {*graph.kinds} == {kind for *_, kind in edges}  # known without the edges
    assert not graph.loaded
    assert kinds_in(graph) == sorted(edges)
    stored = load_graph(imported.path)[0]
    assert stored.kinds.names == graph.raw.kinds.names


def test_kinds_in_columns_of_parquet_and_of_other_libraries(tmp_path):
    table = pd.DataFrame(NEEDS, columns=["source", "target", "scope"])
    table["kind"] = table["scope"].replace("", None).astype("category")
    table.to_parquet(tmp_path / "g.parquet")
    for column in "scope", "kind":
        assert kinds_in(gb.Graph.read(tmp_path / "g.parquet", kind=column)) == sorted(NEEDS)
    made = nx.MultiDiGraph()
    made.add_edges_from((u, v, {"scope": kind} if kind else {}) for u, v, kind in NEEDS)
    assert kinds_in(gb.Graph.from_networkx(made, kind="scope")) == sorted(NEEDS)
    both = gb.Graph.from_networkx(nx.Graph([("a", "b", {"w": 2})]), kind="w")
    assert kinds_in(both) == [("a", "b", "2"), ("b", "a", "2")]
    ends = igraph.Graph([(0, 1), (1, 2)], directed=True)
    ends.es["scope"] = ["x", None]
    assert kinds_in(gb.Graph.from_igraph(ends, kind="scope")) == [(0, 1, "x"), (1, 2, "")]
    assert kinds_in(gb.Graph.from_edges([5, 7], [7, 9], renumber=True, kinds=[1, 2])) == [(5, 7, "1"), (7, 9, "2")]


@pytest.mark.parametrize("name", ["g.graphml", "g.gml", "g.json"])
def test_an_attribute_that_no_edge_has_is_refused(tmp_path, name):
    written = next(text for file, text, *_ in WRITTEN.values() if file == name)
    (tmp_path / name).write_text(written)
    with pytest.raises(gb.InputError, match=rf"{name}: no edge has an attribute 'scoop' \(--kind names one"):
        read(tmp_path / name, kind="scoop")


@pytest.mark.parametrize("case", ["package-lock.json", "SPDX", "CycloneDX", "uv.lock", "SIF", "N-Triples"])
def test_kind_is_refused_where_a_format_has_kinds_of_its_own(tmp_path, case):
    name, text, *_ = WRITTEN[case]
    (tmp_path / name).write_text(text)
    with pytest.raises(gb.InputError, match="--kind (scope: .* has kinds of its own|is for names, csv, .*; this is )"):
        read(tmp_path / name, kind="scope")


@pytest.mark.parametrize("format", ["csv", "parquet", "edges", "tuwien", "pairs"])
def test_exported_files_keep_kinds_or_it_is_said(tmp_path, format):
    edges = [*NEEDS, ("app", "lib", " x"), NEEDS[0]]
    text = "source,target,scope\n" + "".join(f'{u},{v},"{kind}"\n' for u, v, kind in edges)
    (tmp_path / "g.csv").write_text(text)
    import_graph(tmp_path / "g.csv", "kinds", replace=True, kind="scope")
    out = tmp_path / f"out.{format}"
    notes = export("kinds", out, format=format)["notes"]
    if format not in ("csv", "parquet"):
        assert "kinds of edges are not in it: --format csv or parquet keeps them" in notes
        return
    assert "kinds of edges are in the column 'kind': import with --kind kind" in notes
    read_back = kinds_in(gb.Graph.read(out, kind="kind"))
    if format == "csv":
        assert read_back == sorted({*edges})
    else:
        assert sorted(kind for *_, kind in read_back) == sorted(kind for *_, kind in edges)


@pytest.mark.parametrize("edges", [NEEDS, [*NEEDS, ("zlib", "app", "dev")]], ids=["acyclic", "with a cycle"])
def test_kinds_are_in_a_saved_index(tmp_path, edges):
    sources, targets, kinds = zip(*edges, strict=True)
    gb.build(gb.Graph.from_edges(sources, targets, kinds=kinds)).save(tmp_path / "x.index")
    graph = gb.load(tmp_path / "x.index").graph
    assert graph.kinds == NAMES
    assert kinds_in(graph) == sorted(edges)
    assert graph.only(kind="dev").successors("app").tolist() == ["pytest"]
    gb.build(graph.only(kind="dev")).save(tmp_path / "y.index")
    assert gb.load(tmp_path / "y.index", graph.only(kind="dev")).graph.kinds == ("dev",)


# ------------------------------------------------------------------ the command


def test_ask_on_some_kinds_of_edges(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wants.csv").write_text("from,to,scope\n" + "".join(f"{u},{v},{kind}\n" for u, v, kind in NEEDS))

    def ask(*words):
        code, out, err = call(capsys, "ask", *words)
        return out or (code, err.splitlines()[-1])

    assert ask("wants.csv", "app", "lib", "--only", "kind=dev")[0] == 2  # it was imported without kinds
    assert call(capsys, "import", "wants.csv", "--name", "wants", "--kind", "scope", "--replace")[0] == 0
    assert ask("wants", "app", "zlib", "--only", "kind=runtime") == "app\tzlib\t1\n"
    assert ask("wants.csv", "app", "zlib", "--only", "kind=dev") == "app\tzlib\t0\n"
    assert ask("wants", "--descendants", "lib", "--only", "kind=") == "pytest\n"
    assert ask("wants", "--ancestors", "pytest", "--only", "kind=dev", "--only", "kind=runtime") == "app\n"
    assert ask("wants", "app", "pytest", "--only", "kind=runtime", "--save", "x.index") == "app\tpytest\t0\n"
    assert ask("x.index", "app", "zlib", "--path") == "app -> lib -> zlib\n"
    assert ask("wants", "app", "pytest", "--index", "x.index")[0] == 2
    assert ask("wants", "app", "pytest", "--only", "kind=runtime", "--index", "x.index") == "app\tpytest\t0\n"
    assert call(capsys, "build", "wants", "--out", "all.index")[0] == 0
    assert ask("all.index", "app", "pytest", "--only", "kind=runtime") == "app\tpytest\t0\n"
    assert ask("wants", "app", "lib", "--only", "kind=runtim") == (
        2, "error: no edge is of kind 'runtim' (did you mean 'runtime'?)")  # fmt: skip
    assert ask("wants", "app", "lib", "--only", "runtime") == (2, "error: --only runtime: kind=NAME is expected")
    assert ask("kegg-like", "1", "2", "--only", "kind=x")[1].startswith("error: the edges of this graph have no kinds")
