"""Query files, messages and exported graphs speak the ids of the imported file, whatever the format does to them."""

import json

import numpy as np
import pytest
from commands import call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import closure
from outcomes import succeeds, tells
from strategies import digraphs, edges_of, graph_of
from texts import as_gra, as_metis, as_mtx

from grailbench.data import cache as cached
from grailbench.data.imported import import_graph
from grailbench.data.library import open_graph, open_raw
from grailbench.data.registry import find
from grailbench.errors import InputError
from grailbench.graph import store
from grailbench.graph.ids import Counted, Listed, from_stored, ids_from
from grailbench.graph.readers import read, read_graph
from grailbench.graph.writers import write_edges
from grailbench.problems.closure import bits as packed
from grailbench.problems.contract import Attempt, Checks, implementation
from grailbench.problems.contract import problem as problem_of
from grailbench.problems.reachability.problem import Reachability
from grailbench.problems.reachability.queries import QuerySpec, query_set
from grailbench.util import paths

K3 = "% asym unweighted\n% 3 5 5\n1 2\n3 4\n5 1\n"  # 3 is not reachable from 2; inside, 2 -> 3 is an edge
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])

pytestmark = pytest.mark.usefixtures("module_cache")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ids")


def lines(labels, edges):
    return "".join(f"{labels[u]} {labels[v]}\n" for u, v in edges)


def snap(labels, edges):
    return f"# Nodes: {len(labels)} Edges: {len(edges)}\n{lines(labels, edges)}"


def konect(labels, edges):
    return f"% asym unweighted\n% {len(edges)} {len(labels)} {len(labels)}\n{lines(labels, edges)}"


def adjlist(labels, edges):
    return "".join(
        " ".join(str(labels[w]) for w in [u, *(v for s, v in edges if s == u)]) + "\n" for u in range(len(labels))
    )


def tuwien(labels, edges):
    rows = "".join(f"{labels[u]} {labels[v]} 1\n" for u, v in edges)
    return f"{len(labels)} {len(edges)} directed\n{rows}"


#: format -> (file, where its ids begin, or None for any numbers; whether a vertex without an edge has a place in it)
FORMATS = {
    "gra": (lambda labels, edges: as_gra(len(labels), edges), 0, True),
    "edges": (lines, 0, False),
    "edges snap": (snap, 0, True),
    "edges snap from 1": (snap, 1, False),
    "edges snap with gaps": (snap, None, False),
    "edges konect": (konect, 1, True),
    "adjlist": (adjlist, None, True),
    "mtx": (lambda labels, edges: as_mtx(len(labels), edges), 1, True),
    "metis": (lambda labels, edges: as_metis(len(labels), edges), 1, True),
    "tuwien": (tuwien, 0, True),
}


def compact(vertices, edges):
    """The graph without its vertices that have no edge."""
    used = {v: i for i, v in enumerate(sorted({v for edge in edges for v in edge}))}
    return len(used), [(used[u], used[v]) for u, v in edges]


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@FEW
@given(graph=digraphs().filter(lambda graph: 0 < graph[0] <= 12 and graph[1]), data=st.data())
def test_a_query_file_of_all_pairs_is_answered_for_the_ids_of_the_file(folder, format, graph, data):
    write, first, isolated = FORMATS[format]
    vertices, edges = graph if isolated else compact(*graph)
    if format == "metis":
        edges = [(u, v) for u, v in edges if u != v]
    if first is None:
        numbers = st.lists(st.integers(0, 10**9), min_size=vertices, max_size=vertices, unique=True)
        labels = data.draw(numbers)
    else:
        labels = list(range(first, first + vertices))
    (folder / "g").write_text(write(labels, edges))
    both = [(v, u) for u, v in edges] if format == "metis" else []
    reach = closure(vertices, edges + both)
    pairs = [(u, v, int(v in reach[u])) for u in range(vertices) for v in range(vertices)]
    (folder / "q").write_text("".join(f"{labels[u]} {labels[v]} {answer}\n" for u, v, answer in pairs))
    import_graph(folder / "g", "all-pairs", format.split()[0], replace=True)
    problem = Reachability()
    opened = problem.open("all-pairs")
    spec = problem.spec(str(folder / "q"), 0, 0)
    checker = problem.workload(spec, opened, opened.dag, Checks())  # raises where the oracle differs from the file
    asked = problem.attempt(implementation("sequential"), problem.params(dim=2), opened.dag, checker.batch, dict)
    assert checker.judge("cell", asked).fault is None
    assert asked.answers.tolist() == [bool(answer) for _, _, answer in pairs]


def made(tmp_path, text, name="k3", format=None):
    (tmp_path / f"{name}.txt").write_text(text)
    return import_graph(tmp_path / f"{name}.txt", name, format, replace=True)


def test_verify_takes_pairs_by_the_ids_of_a_konect_file(capsys, tmp_path):
    made(tmp_path, K3)
    (tmp_path / "q.txt").write_text("2 3 0\n5 2 1\n3 4 1\n4 5 0\n")
    words = ["verify", "--dataset", "k3", "--impl", "sequential", "--no-fetch", "--queries"]
    assert "ok" in succeeds(capsys, *words, tmp_path / "q.txt")[0]
    (tmp_path / "bad.txt").write_text("5 2\n2 3 1\n")
    tells(capsys, 2, "bad.txt, line 2: the answer 1 to 2 3 is wrong: it is not reachable", *words, tmp_path / "bad.txt")
    (tmp_path / "far.txt").write_text("5 2\n1 6\n")
    tells(capsys, 2, "far.txt, line 2: vertex 6 is out of range: the graph has 1..5", *words, tmp_path / "far.txt")
    (tmp_path / "low.txt").write_text("0 2\n")
    assert "vertex 0 is out of range: the graph has 1..5" in call(capsys, *words, tmp_path / "low.txt")[2]


def test_a_wrong_answer_is_told_by_the_ids_of_the_file(tmp_path):
    made(tmp_path, K3)
    (tmp_path / "q.txt").write_text("5 2\n2 3\n")
    problem, opened = Reachability(), open_graph("k3")
    checker = problem.workload(problem.spec(str(tmp_path / "q.txt"), 0, 0), opened, opened.dag, Checks())
    fault = checker.judge("cell", Attempt(np.array([False, True]))).fault
    assert fault == "2 of 2 answers are wrong: 5 -> 2 is reachable, 2 -> 3 is not reachable"


def test_wrong_distances_and_closures_are_told_by_the_ids_of_the_file(tmp_path, monkeypatch):
    made(tmp_path, K3)
    opened = open_raw("k3")
    bfs = problem_of("bfs")
    spec = bfs.spec("random", 3, 1)
    data = bfs.data(opened, spec)
    workload = bfs.workload(spec, opened, data, None)
    sequential = implementation("sequential", "bfs")

    solver = type(sequential.prepare(data, bfs.params(), None))
    right = solver.solve

    def wrong(*given):
        distances = right(*given)
        distances[1] = 9  # 2 in the file
        return distances

    monkeypatch.setattr(solver, "solve", wrong)
    attempt = bfs.attempt(sequential, bfs.params(), data, np.array([4]), dict)  # 5 in the file
    assert "from 5: vertex 2 is nearer than 9" in workload.judge("cell", attempt).fault
    closing = problem_of("closure")
    relation = closing.data(opened, closing.spec("random", 1, 1))
    whole = closing.workload(closing.spec("random", 1, 1), opened, relation, None)
    bits = np.zeros((5, 1), np.uint64)
    bits[[0, 2, 4], 0] = [1 << 1, 1 << 3, 1 << 0]  # but 5 reaches 2 as well
    assert "the first (5, 2): there is a path" in whole.judge("cell", Attempt((bits, int(packed.count(bits))))).fault


def test_one_query_file_on_equal_edges_with_other_ids_is_another_query_set(tmp_path):
    made(tmp_path, "# Nodes: 3 Edges: 2\n0 1\n1 2\n", "zero")
    made(tmp_path, "# Nodes: 3 Edges: 2\n1 2\n2 3\n", "one")
    assert edges_of(open_raw("zero").graph) == edges_of(open_raw("one").graph)
    (tmp_path / "q.txt").write_text("1 2\n2 1\n")
    spec = QuerySpec.parse(str(tmp_path / "q.txt"), 0, 0)
    found = {}
    for name in ("zero", "one"):
        opened = open_graph(name)
        found[name] = query_set(spec, opened.dag, opened.sha256, lambda opened=opened: opened.ids)
    assert found["zero"].path != found["one"].path
    assert (found["zero"].sources.tolist(), found["one"].sources.tolist()) == ([1, 2], [0, 1])


def test_a_stored_query_set_of_other_vertices_is_not_taken_for_the_file(tmp_path):
    opened = open_graph(made(tmp_path, K3).name)
    (tmp_path / "q.txt").write_text("1 2\n")
    spec = QuerySpec.parse(str(tmp_path / "q.txt"), 0, 0)
    query_set(spec, opened.dag, opened.sha256)  # as if the ids were vertices
    again = query_set(spec, opened.dag, opened.sha256, lambda: opened.ids)
    assert (again.sources.tolist(), again.targets.tolist()) == ([0], [1])


# ---------------------------------------------------------------------------------------- stored


@pytest.mark.parametrize("text", ["0 1\n", K3, "# Nodes: 3 Edges: 2\n70 20\n20 90\n"])
def test_ids_are_stored_with_the_graph(tmp_path, text):
    reading = made(tmp_path, text, "kept").reading
    (tmp_path / "kept.txt").unlink()
    for ids in (open_graph("kept").ids, open_raw("kept").ids):
        assert type(ids) is type(reading.ids)
        assert (ids.vertices, ids.digest, ids.describe()) == (
            reading.ids.vertices, reading.ids.digest, reading.ids.describe()
        )  # fmt: skip


def test_an_import_of_an_old_version_without_ids_is_refused(capsys):
    graph = graph_of(3, [(0, 1), (1, 2)])
    meta = {"kind": "graph", "vertices": 3, "edges": 2, "sha256": store.graph_sha256(graph), "name": "old"}
    path = paths.cache_dir() / "imported" / "old.npz"
    store._write(path, meta, {"sources": graph.sources, "targets": graph.targets})
    for opening in (open_graph, open_raw):
        with pytest.raises(InputError, match="an old version stored it, without its ids.*import or generate it again"):
            opening("old").ids  # noqa: B018 - ids may be read when they are first needed


def test_a_renumbered_import_is_asked_by_the_ids_of_its_file(capsys, tmp_path):
    (tmp_path / "far.txt").write_text("70 2000000000\n9 70\n")
    words = ["import", tmp_path / "far.txt", "--name", "far"]
    tells(capsys, 2, "far.txt, line 1: id 2000000000 makes a graph of 2,000,000,001 vertices", *words)
    assert call(capsys, *words, "--renumber")[0] == 0
    (tmp_path / "q.txt").write_text("9 2000000000 1\n70 9 0\n2000000000 70 0\n")
    asking = ["verify", "--dataset", "far", "--impl", "sequential", "--no-fetch", "--queries"]
    assert "ok" in succeeds(capsys, *asking, tmp_path / "q.txt")[0]
    (tmp_path / "inside.txt").write_text("0 1\n")
    said = "vertex 0 is out of range: the graph has 3 ids from 9 to 2000000000"
    tells(capsys, 2, said, *asking, tmp_path / "inside.txt")


def test_vertices_that_the_caller_states_count_from_the_first_id_of_the_format(capsys, tmp_path):
    for text, stated, told in (("0 2\n", 5, "0..4"), ("1 5\n", 5, "1..5"), ("% asym un\n1 2\n", 4, "1..4")):
        (tmp_path / "v.txt").write_text(text)
        words = ["import", tmp_path / "v.txt", "--name", "stated", "--vertices", stated, "--replace"]
        assert f"{told}, as in the file" in succeeds(capsys, *words)[0]


def test_a_dataset_read_from_an_edge_list_has_the_ids_of_that_file():
    dataset = find("cit-patents")
    form = next(form for form in dataset.forms if form.format == "edges")
    path = cached.graph_path(dataset, form)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# Nodes: 3 Edges: 2\n3858241\t956203\n956203\t6009554\n")
    cached.write_note(path, {"sha256": store.sha256_file(path)})
    for opened in (open_graph("cit-patents"), open_raw("cit-patents")):
        assert [opened.ids.vertex_of(label) for label in ("956203", "3858241", "6009554")] == [0, 1, 2]


# ---------------------------------------------------------------------------------------- the mapping itself


NUMBERS = st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1)


@given(st.lists(NUMBERS, unique=True, max_size=40) | st.builds(lambda k: [*range(k, k + 9)], NUMBERS.filter(
    lambda k: k < 2**63 - 9)), st.lists(NUMBERS, max_size=20))  # fmt: skip
def test_labels_and_vertices_are_each_others_inverse(labels, others):
    """Negative ids, and those of 19 digits, were made and then not found."""
    ids = ids_from(np.array(labels, np.int64))
    assert isinstance(ids, Listed) or labels == list(range(ids.first, ids.first + len(labels)))
    said, arrays = ids.stored()
    for mapping in (ids, from_stored(len(labels), json.loads(json.dumps(said)), arrays)):
        assert [mapping.label_of(v) for v in range(len(labels))] == labels
        assert mapping.labels_of(np.arange(len(labels))).tolist() == labels
        assert [mapping.vertex_of(str(label)) for label in labels] == list(range(len(labels)))
        asked = np.array(labels + others, np.int64)
        expected = [labels.index(label) if label in labels else -1 for label in asked.tolist()]
        assert mapping.vertices_of(asked).tolist() == expected
        assert mapping.vertices_of([str(label) for label in asked.tolist()]).tolist() == expected
    for label in set(others) - set(labels):
        with pytest.raises(InputError, match=f"vertex {label} is out of range"):
            ids.vertex_of(str(label))


@pytest.mark.parametrize("label", ["-1", "1.0", "x", "", "9" * 30, "²"])
def test_what_is_no_id_is_out_of_range(label):
    for ids in (Counted(5, 1), Listed(np.array([7, 3]))):
        with pytest.raises(InputError, match="out of range"):
            ids.vertex_of(label)


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ({}, None),
        ({"kind": "listed"}, None),
        ({"kind": "listed"}, np.array([1, 1])),
        ({"kind": "listed"}, np.array([1, 2, 3])),
        ({"kind": "counted"}, None),
        ({"kind": "counted", "first": 2**63 - 1}, None),
    ],
)
def test_what_describes_no_mapping_is_refused(said, labels):
    with pytest.raises(ValueError, match="ids"):
        from_stored(2, said, {} if labels is None else {"labels": labels})


def test_the_sha256_of_a_graph_tells_ids_apart_and_is_the_old_one_without():
    graph = graph_of(2, [(0, 1)])
    plain = store.graph_sha256(graph)
    assert plain == "118442ec07c7eddf1e27726b1a6e39635edb211dc00ee4d479f69642294ee635"  # as before ids were kept
    assert store.graph_sha256(graph, Counted(2)) == plain
    found = {plain, store.graph_sha256(graph, Counted(2, 1)), store.graph_sha256(graph, Listed(np.array([5, 3])))}
    assert len(found) == 3


# ---------------------------------------------------------------------------------------- exported


@FEW
@given(graph=digraphs().filter(lambda graph: graph[0] <= 20), first=st.sampled_from([0, 1]))
def test_an_exported_edge_list_is_read_back_with_its_ids(folder, graph, first):
    written, lost = write_edges(folder / "e.txt", graph_of(*graph), Counted(graph[0], first))
    found = read(folder / "e.txt", "edges")
    assert (found.graph.vertices, edges_of(found.graph)) == (graph[0], sorted(set(graph[1])))
    assert (written, lost, found.ids.extent()) == (len(set(graph[1])), 0, Counted(graph[0], first).extent())


def test_an_exported_edge_list_keeps_ids_with_gaps_and_says_what_it_cannot_hold(tmp_path):
    ids = Listed(np.array([20, 70, 90]))
    assert write_edges(tmp_path / "all.txt", graph_of(3, [(1, 0), (0, 2)]), ids) == (2, 0)
    assert read(tmp_path / "all.txt").ids.labels.tolist() == [20, 70, 90]
    assert write_edges(tmp_path / "some.txt", graph_of(3, [(1, 0)]), ids) == (1, 1)
    head = "# 1 of 3 vertices have no edge, and no line\n# Nodes: 2 Edges: 1\n"
    assert (tmp_path / "some.txt").read_text() == f"{head}70 20\n"
    assert read(tmp_path / "some.txt", "edges").ids.labels.tolist() == [20, 70]
    far = Listed(np.array([1, 2, 30_000_000]))  # which would be too many vertices of an edge, if none were stated
    assert write_edges(tmp_path / "far.txt", graph_of(3, [(1, 2)]), far) == (1, 1)
    assert read(tmp_path / "far.txt", "edges").ids.labels.tolist() == [2, 30_000_000]
    assert write_edges(tmp_path / "none.txt", graph_of(3, []), ids) == (0, 3)
    assert (tmp_path / "none.txt").read_text() == "# 3 of 3 vertices have no edge, and no line\n"


def test_export_keeps_the_ids_or_says_that_it_numbers_anew(capsys, tmp_path):
    made(tmp_path, K3)
    code, out, _ = call(capsys, "export", "k3", tmp_path / "c.txt", "--closure", "--format", "edges")
    assert (code, "5 vertices (1..5), 4 edges" in out, "no vertex has an edge to itself" in out) == (0, True, True)
    assert (tmp_path / "c.txt").read_text() == "% asym unweighted\n% 4 5 5\n1 2\n3 4\n5 1\n5 2\n"
    code, out, _ = call(capsys, "export", "k3", tmp_path / "c.tuwien")
    assert (code, "numbered anew from 0" in out, "(1..5)" in out) == (0, True, True)
    assert edges_of(read_graph(tmp_path / "c.tuwien")) == [(0, 1), (2, 3), (4, 0)]
