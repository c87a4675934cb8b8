"""A name is that of one graph, whoever takes it at the same time; answers are of the graph that was meant.

Two files of one stem that were asked at once on a fresh cache: one was answered from the other's graph. Two imports
under one name both said that they were done. Here the other process comes at a chosen moment.
"""

from pathlib import Path

import pytest
from commands import call

from grailbench.api import Graph, build
from grailbench.data import imported
from grailbench.data.imported import import_graph, named
from grailbench.data.library import open_graph, open_raw
from grailbench.errors import InputError
from grailbench.graph import generate, store
from grailbench.util import paths

VERTICES = 9


pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def files(tmp_path):
    """Two files of one stem: a path from 0 to 8, and one from 8 to 0."""
    found = []
    for folder, step in (("up", 1), ("down", -1)):
        (tmp_path / folder).mkdir()
        edges = [(u, u + 1)[::step] for u in range(VERTICES - 1)]
        found.append(tmp_path / folder / "g.csv")
        found[-1].write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in edges))
    return tuple(map(str, found))


def upwards(graph):
    """Whether a graph is the path from 0 to 8."""
    index = build(graph, "sequential")
    assert index.reaches(0, 8) != index.reaches(8, 0)
    return index.reaches(0, 8)


def before(monkeypatch, where, what, other):
    """Has `other` happen once, before a function is called."""
    real, left = getattr(where, what), [other]

    def later(*given, **named):
        if left:
            left.pop()()
        return real(*given, **named)

    monkeypatch.setattr(where, what, later)


def test_of_two_imports_under_one_name_one_is_refused(files, monkeypatch, capsys):
    before(monkeypatch, store, "save_graph", lambda: import_graph(files[1], "mine"))
    code, out, err = call(capsys, "import", files[0], "--name", "mine")
    assert (code, out) == (2, "")
    assert err.startswith("error: 'mine' was imported before, from ")
    assert len(err.splitlines()) == 1
    assert not upwards(Graph.open("mine"))


def test_an_import_of_the_same_file_at_the_same_time_is_no_other(files, monkeypatch):
    before(monkeypatch, store, "save_graph", lambda: import_graph(files[0], "mine"))
    assert import_graph(files[0], "mine").meta["sha256"] == open_graph("mine").sha256


def test_two_files_of_one_stem_that_are_asked_at_once_are_two_graphs(files, monkeypatch, capsys):
    before(monkeypatch, store, "save_graph", lambda: Graph.open(*named(files[1])))
    code, out, err = call(capsys, "ask", files[0], "0", "8")
    assert (code, out) == (0, "0 8 1\n")
    assert err.startswith("imported as g_2: 'g' was imported before, from")
    assert call(capsys, "ask", files[1], "0", "8")[:2] == (0, "0 8 0\n")


COMMANDS = (
    ("ask", "{}", "0", "8"), ("build", "{}", "--out", "{}.index"), ("profile", "{}"),
    ("advise", "{}", "--impl", "dfs", "--out", "advised"),
)  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_file_whose_graph_is_replaced_before_it_is_opened_is_one_error(files, words, monkeypatch, capsys, tmp_path):
    """Each command that takes a file answered from the graph of another."""
    monkeypatch.chdir(tmp_path)

    def replaced(*given):
        found = named(*given)
        import_graph(files[1], "g", replace=True)
        return found

    monkeypatch.setattr(imported, "named", replaced)
    code, out, err = call(capsys, *(word.format(files[0]) for word in words))
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: g: another graph has this name now (")
    assert "Traceback" not in err


def test_a_file_that_changed_replaces_its_own_graph_and_no_other(files, monkeypatch):
    named(files[0])
    Path(files[0]).write_text("source,target\n0,1\n")
    before(monkeypatch, store, "save_graph", lambda: import_graph(files[1], "g", replace=True))
    assert named(files[0]).name == "g_2"
    assert not upwards(Graph.open("g"))


@pytest.mark.parametrize(
    "read", [lambda found: found.raw, lambda found: found.ids, lambda found: Graph.open("g", found.sha256)]
)
def test_an_opened_graph_gets_no_edges_or_ids_of_the_graph_that_replaced_it(files, read):
    import_graph(files[0], "g")
    found = open_graph("g")
    import_graph(files[1], "g", replace=True)
    with pytest.raises(InputError, match="g.*: another graph has this name now"):
        read(found)


def test_a_graph_is_not_condensed_from_the_edges_of_another(files, monkeypatch):
    """The condensed graph stayed in the cache, under the checksum of the graph that was replaced."""
    import_graph(files[0], "g")
    for path in (paths.cache_dir() / "dags").iterdir():
        path.unlink()
    before(monkeypatch, store, "load_graph", lambda: import_graph(files[1], "g", replace=True))
    with pytest.raises(InputError, match="another graph has this name now"):
        open_graph("g")
    import_graph(files[0], "g", replace=True)
    assert upwards(Graph.open("g"))


def test_edges_and_ids_are_of_one_graph(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name}1 {name}2\n")
        import_graph(tmp_path / f"{name}.txt", name, "names")
    place = paths.cache_dir() / "imported"
    before(monkeypatch, store, "load_ids", lambda: (place / "b.npz").replace(place / "a.npz"))
    with pytest.raises(InputError, match="another graph has this name now"):
        open_raw("a")


def test_a_name_is_not_both_imported_and_generated(files, monkeypatch, capsys):
    generate.made(generate.of_random(9, 1, 1, "drawn"))
    with pytest.raises(InputError, match="a generated graph is named 'drawn'"):
        import_graph(files[0], "drawn")
    before(monkeypatch, store, "save_graph", lambda: generate.made(generate.of_random(9, 1, 1, "mine")))
    with pytest.raises(InputError, match="a generated graph is named 'mine'"):
        import_graph(files[0], "mine")
    before(monkeypatch, store, "save_graph", lambda: import_graph(files[0], "later"))
    with pytest.raises(InputError, match="an imported graph is named 'later'"):
        generate.made(generate.of_random(9, 1, 1, "later"))
    assert upwards(Graph.open("later"))


@pytest.mark.parametrize("name", ["path-40", "random-n9-k1-s1", "kegg-like"])
def test_the_name_of_a_graph_that_can_be_generated_is_of_no_other(files, name, tmp_path):
    """A file `path-40.csv` became the graph of that name, which runs then took."""
    with pytest.raises(InputError, match="a name of generated graphs"):
        import_graph(files[0], name)
    with pytest.raises(InputError, match="the name of another graph that can be generated"):
        generate.made(generate.of_random(8, 1, 7, name))
    assert not (paths.cache_dir() / "imported").exists()


def test_a_generated_graph_is_not_replaced_by_one_of_other_parameters(monkeypatch):
    first = generate.made(generate.of_random(9, 1, 1, "drawn"))[1]
    assert store.graph_sha256(generate.made(generate.of_random(9, 1, 1, "drawn"))[1]) == store.graph_sha256(first)
    with pytest.raises(InputError, match="'drawn' was generated before, with other parameters .*delete .*drawn.npz"):
        generate.made(generate.of_random(9, 1, 2, "drawn"))
    before(monkeypatch, store, "save_graph", lambda: generate.made(generate.of_random(9, 1, 1, "other")))
    with pytest.raises(InputError, match="with other parameters"):
        generate.made(generate.of_random(9, 1, 2, "other"))
    (paths.cache_dir() / "generated" / "drawn.npz").write_bytes(b"damaged")
    generate.made(generate.of_random(9, 1, 2, "drawn"))
    monkeypatch.setattr(generate, "GENERATOR", generate.GENERATOR + 1)
    generate.made(generate.of_random(9, 1, 2, "drawn"))
