"""An import appears whole or not at all, under a name of its own."""

import fcntl
import json

import pytest
from commands import call
from dags import same_dag

from grailbench.data.imported import import_graph, named, stem
from grailbench.data.library import open_graph
from grailbench.errors import InputError, TooLittleMemory
from grailbench.graph import store
from grailbench.util import memory, paths

pytestmark = pytest.mark.usefixtures("cache")


def gra(folder, text="3\n0: 1 1 #\n1: 2 #\n2: 1 #\n", name="mine.gra"):
    (folder / name).write_text(text)
    return folder / name


def sha256_of(name):
    return open_graph(name).sha256


def test_imported_graph_opens_under_its_name(tmp_path):
    result = import_graph(gra(tmp_path), "mine")
    opened = open_graph("mine")
    assert (opened.kind, opened.sha256) == ("imported", result.meta["sha256"])
    assert same_dag(opened.dag, result.dag)


@pytest.mark.parametrize("name", ["KEGG", "Cit-Patents", "kegg-like", "", "a/b", "..", "a b", "x" * 101])
def test_name_that_is_taken_or_no_name_is_refused(tmp_path, cache, name):
    with pytest.raises(InputError, match=r"name|dataset"):
        import_graph(gra(tmp_path), name)
    assert not (cache / "imported").exists()


def test_other_graph_under_the_same_name_needs_replace(tmp_path):
    import_graph(gra(tmp_path), "mine")
    import_graph(gra(tmp_path), "mine")
    other = gra(tmp_path, "1\n0: #\n", "other.gra")
    with pytest.raises(InputError, match="--replace"):
        import_graph(other, "mine")
    assert import_graph(other, "mine", replace=True).dag.component.size == 1


def test_damaged_import_gives_way(tmp_path, cache):
    import_graph(gra(tmp_path), "mine")
    (cache / "imported" / "mine.npz").write_bytes(b"")
    assert import_graph(gra(tmp_path), "mine").dag.component.size == 3


def test_faulty_file_leaves_nothing_imported(tmp_path, cache):
    with pytest.raises(InputError, match="line 3"):
        import_graph(gra(tmp_path, "2\n0: 1 #\n1: 9 #\n"), "mine")
    assert not (cache / "imported").exists()


def files_of(folder) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and path.name != paths.CACHE_MARK]


def test_an_import_whose_condensing_fails_leaves_nothing(tmp_path, cache, monkeypatch):
    def exhausted(graph):
        raise MemoryError

    monkeypatch.setattr(store, "condensed", exhausted)
    with pytest.raises(MemoryError):
        import_graph(gra(tmp_path), "mine")
    assert files_of(cache) == []


def test_an_import_that_would_not_fit_the_memory_ends_with_the_need(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 150)
    with pytest.raises(TooLittleMemory, match="mine.gra: a graph of 3 vertices and 4 edges: about 0.0 MB"):
        import_graph(gra(tmp_path), "mine")
    assert files_of(cache) == []


def test_import_command_prints_one_json_object_and_a_table(tmp_path, capsys):
    words = "import", gra(tmp_path), "--name", "mine"
    assert json.loads(call(capsys, *words, "--json")[1])["vertices"] == 3
    out = call(capsys, *words)[1]
    assert "mb per s" in out
    assert "max out degree" in out


def test_a_file_that_is_named_becomes_a_graph_of_its_stem_once(tmp_path):
    said = []
    assert (
        named(str(gra(tmp_path)), said.append) == named(str(gra(tmp_path)), said.append) == ("mine", sha256_of("mine"))
    )
    assert named("mine", said.append) == ("mine", None)
    assert said == ["imported as mine"]


def test_a_file_that_changed_is_read_again_unless_it_was_imported_in_a_way_of_its_own(tmp_path):
    said, path = [], gra(tmp_path)
    named(str(path))
    gra(tmp_path, text="2\n0: 1 #\n1: #\n")
    assert named(str(path), said.append) == ("mine", sha256_of("mine"))
    assert open_graph("mine").vertices == 3
    assert said == ["imported as mine again: it changed"]
    (tmp_path / "sparse.edges").write_text("3 9\n")
    import_graph(tmp_path / "sparse.edges", "sparse", renumber=True)
    assert named(str(tmp_path / "sparse.edges")).name == "sparse"
    (tmp_path / "sparse.edges").write_text("3 9\n9 4\n")
    with pytest.raises(InputError, match=r"imported before.*grailbench import .*sparse.edges --name NAME"):
        named(str(tmp_path / "sparse.edges"))


def test_a_name_goes_before_a_file_and_an_unknown_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kegg").write_text("1\n0: #\n")
    said = []
    assert named("kegg", said.append) == ("kegg", None)
    assert said == ["kegg: the real graph kegg; ./kegg is the file"]
    assert named("./kegg", said.append).name == "kegg_2"
    assert said[1:] == ["imported as kegg_2: 'kegg' is a name of the dataset kegg"]
    with pytest.raises(InputError, match="no graph is named 'keg'.*kegg"):
        named("keg")


def edges(folder, *pairs, name="g.csv"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("source,target\n" + "".join(f"{u},{v}\n" for u, v in pairs))
    return str(folder / name)


def test_files_of_one_stem_are_graphs_of_their_own_known_by_their_paths(tmp_path, capsys):
    one, other, copy = (edges(tmp_path / folder, ends) for folder, ends in (("a", "xy"), ("b", "yx"), ("c", "xy")))
    asked = ((one, "imported as g\n"), (other, f"imported as g_2: 'g' was imported before, from {one}\n"), (copy, ""))
    for path, said in asked:
        assert call(capsys, "ask", path, "x", "y") == (0, f"x\ty\t{int(path != other)}\n", said)
        assert call(capsys, "ask", path, "x", "y")[2] == ""
    edges(tmp_path / "b", "yx", "xz")
    assert call(capsys, "ask", other, "x", "z") == (0, "x\tz\t1\n", "imported as g_2 again: it changed\n")
    for words in (("info", other), ("export", other, tmp_path / "out.edges"), ("plan", "--dataset", other)):
        code, out, _ = call(capsys, *words)
        assert (code, "g_2" in out or "3 vertices" in out) == (0, True)
    assert call(capsys, "forget", other)[0] == 0
    assert call(capsys, "info", other)[0] == 2
    assert call(capsys, "ask", one, "x", "y") == (0, "x\ty\t1\n", "")


def test_a_path_that_was_imported_under_another_name_is_that_graph_until_it_changes(tmp_path, capsys):
    path = edges(tmp_path / "a", "xy")
    import_graph(path, "snapshot")
    assert named(path).name == "snapshot"
    edges(tmp_path / "a", "yx")
    code, _, err = call(capsys, "info", path)
    assert (code, f"{path}: changed since it was imported as snapshot (grailbench import" in err) == (2, True)
    assert named(path).name == "g"
    assert json.loads(call(capsys, "info", path, "--json")[1])["name"] == "g"
    assert call(capsys, "ask", "snapshot", "x", "y")[1] == "x\ty\t1\n"
    assert call(capsys, "forget", path)[2].startswith(f"error: {path} was imported as g, snapshot (name one")


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/web-Google.txt.gz", "web-Google"), ("out.petster", "petster"), ("my graph.csv", "my-graph"), (".x.gra", "x")],
)
def test_stem_of_a_file(path, name):
    assert stem(path) == name


def test_a_folder_is_read_again_when_it_has_other_content(tmp_path):
    said, folder = [], tmp_path / "my tree"
    folder.mkdir()
    (folder / "one.py").write_text("import two\n")
    (folder / "two.py").write_text("")
    assert named(str(folder), said.append) == named(str(folder), said.append) == ("my-tree", sha256_of("my-tree"))
    assert said == ["imported as my-tree"]
    (folder / "three.py").write_text("import one\n")
    assert named(str(folder), said.append) == ("my-tree", sha256_of("my-tree"))
    assert said[1:] == ["imported as my-tree again: it changed"]


def test_a_graph_is_forgotten_by_name_and_no_other(capsys, tmp_path, cache):
    for name in ("mine", "other"):
        import_graph(gra(tmp_path), name)
    with open(cache / "imported" / "mine.npz", "rb") as file:  # as another process that uses it
        fcntl.flock(file, fcntl.LOCK_SH)
        code, out, err = call(capsys, "forget", "mine")
        assert (code, out, "another process uses it" in err) == (2, "", True)
    code, out, _ = call(capsys, "forget", "mine", "--json")
    assert (code, json.loads(out)["path"]) == (0, str(cache / "imported" / "mine.npz"))
    assert [path.stem for path in (cache / "imported").glob("*.npz")] == ["other"]
    for name in ("mine", "../imported/other", "kegg", "path-4"):
        code, _, err = call(capsys, "forget", name)
        assert (code, err.count("\n")) == (2, 1)
    assert "did you mean other?" in call(capsys, "forget", "othr")[2]
    assert (cache / "imported" / "other.npz").exists()
