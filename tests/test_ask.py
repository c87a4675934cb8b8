"""`grailbench ask`: answers in the ids of a file, in the order of the questions."""

import gzip
import io
import json

import numpy as np
import pytest
from commands import call

from grailbench.data.imported import import_graph
from grailbench.graph.ids import Named, write_pairs
from grailbench.problems.reachability.pairs import read_pairs

EDGES = "10 20\n20 30\n30 20\n30 40\n50 40\n"  # 20 and 30 are on a cycle


@pytest.fixture
def graph(tmp_path):
    """A graph of the ids 10, 20, ..., 50, in a file."""
    (tmp_path / "tens.txt").write_text(EDGES)
    import_graph(str(tmp_path / "tens.txt"), "tens", renumber=True)
    return "tens"


def ask(capsys, *words, code=0):
    found = call(capsys, "ask", *words)
    assert found[0] == code, found
    return found[1]


def test_negative_ids_in_every_place_of_the_command(capsys, tmp_path, monkeypatch):
    """An index of negative ids was saved and never opened again, and -3 was an unknown option."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "signed.csv").write_text("source,target\n-3,5\n5,-7\n9223372036854775807,-3\n")
    (tmp_path / "pairs.txt").write_text("-3 -7\n-7 -3 0\n9223372036854775807 5 1\n")
    for words in ("signed.csv", "--save", "signed.index"), ("signed.index",), ("signed.csv", "--index", "signed.index"):
        assert ask(capsys, *words, -3, -7) == "-3 -7 1\n"
        answers = "-3 -7 1\n-7 -3 0\n9223372036854775807 5 1\n"
        assert ask(capsys, *words[:1], "--pairs", "pairs.txt", *words[1:]) == answers
        assert ask(capsys, *words[:1], *words[1:], "--descendants", -3) == "-7\n5\n"
        assert ask(capsys, *words[:1], *words[1:], -3, -7, "--path") == "-3 -> 5 -> -7\n"
    assert "vertex -4 is out of range" in call(capsys, "ask", "signed.index", -4, 5)[2]
    for format, read_as in (("csv", "csv"), ("edges", "names")):
        assert call(capsys, "export", "signed", f"out.{format}", "--format", format)[0] == 0
        found = call(capsys, "import", f"out.{format}", "--format", read_as, "--name", f"again-{format}", "--json")[1]
        assert "4 ids from -7 to 9223372036854775807" in json.loads(found)["ids"]
        assert ask(capsys, f"again-{format}", -3, -7) == "-3 -7 1\n"


@pytest.mark.parametrize("text", ["-1 2\n", "1 2\n-1 2\n"])
def test_an_edge_list_of_negative_ids_is_refused_with_the_format_that_reads_it(capsys, tmp_path, text):
    (tmp_path / "g.txt").write_text(text)
    code, _, err = call(capsys, "ask", tmp_path / "g.txt", 1, 2)
    assert (code, err.count("\n"), "names" in err) == (2, 1, True)


def test_one_pair(capsys, graph):
    assert ask(capsys, graph, 10, 40) == "10 40 1\n"
    assert ask(capsys, graph, 40, 10) == "40 10 0\n"
    assert json.loads(ask(capsys, graph, 10, 40, "--json")) == {"source": 10, "target": 40, "reachable": True}
    assert ask(capsys, graph, 10, 40, "--path") == "10 -> 20 -> 30 -> 40\n"
    assert ask(capsys, graph, 50, 10, "--path") == "no path from 50 to 10\n"
    explained = ask(capsys, graph, 30, 20, "--explain")
    assert explained == (
        "30 reaches 20 (by component): both are in one strong component of 2 vertices, so there is a cycle through "
        "them\nshortest path: 30 -> 20 (1 edge)\n"
    )
    assert json.loads(ask(capsys, graph, 50, 10, "--explain", "--json"))["reachable"] is False


def test_pairs_of_files(capsys, graph, tmp_path):
    pairs, answers = "# some\n50 10\n10 30\n20 20\n", "50 10 0\n10 30 1\n20 20 1\n"
    (tmp_path / "q.txt").write_text(pairs)
    (tmp_path / "q.gz").write_bytes(gzip.compress(pairs.encode()))
    (tmp_path / "q.csv").write_text("source,target\n50,10\n10,30\n20,20\n")
    for name in ("q.txt", "q.gz", "q.csv"):
        assert ask(capsys, graph, "--pairs", tmp_path / name) == answers
    records = ask(capsys, graph, "--pairs", tmp_path / "q.txt", "--json", "--path").splitlines()
    assert [json.loads(line)["path"] for line in records] == [None, [10, 20, 30], [20]]
    assert ask(capsys, graph, "--pairs", tmp_path / "q.txt", "--out", tmp_path / "a.gz") == ""
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == answers
    assert ask(capsys, graph, "--pairs", tmp_path / "a.gz") == answers  # its answers are all right


def test_columns_of_pairs_are_named(capsys, graph, tmp_path):
    (tmp_path / "q.csv").write_text("id,sold,recalled\n10,30,50\n")
    asking = ("--pairs", tmp_path / "q.csv")
    code, _, err = call(capsys, "ask", graph, *asking)
    assert (code, "--source COLUMN --target COLUMN" in err) == (2, True)
    assert ask(capsys, graph, *asking, "--source", "recalled", "--target", "sold") == "50 30 0\n"
    for words in ((*asking, "--source", "recalled"), (10, 30, "--source", "a", "--target", "b")):
        code, _, err = call(capsys, "ask", graph, *words)
        assert (code, "--source and --target name columns of --pairs: both or none" in err) == (2, True)


def test_wrong_answers_of_a_file_are_named_and_pairs_of_another_graph_write_nothing(capsys, graph, tmp_path):
    (tmp_path / "q.txt").write_text("10 40 1\n\n40 10 1\n10 10 0\n")
    code, out, err = call(capsys, "ask", graph, "--pairs", tmp_path / "q.txt")
    assert (code, out) == (1, "10 40 1\n40 10 0\n10 10 1\n")
    assert "2 given answers of 3 wrong: line 3: 40 does not reach 10" in err
    (tmp_path / "q.txt").write_text("10 20\n10 60\n")
    code, out, err = call(capsys, "ask", graph, "--pairs", tmp_path / "q.txt", "--out", tmp_path / "a.txt")
    assert (code, out, "q.txt, line 2" in err, (tmp_path / "a.txt").exists()) == (2, "", True, False)


def test_an_exit_code_says_the_answer(capsys, graph):
    assert ask(capsys, graph, 10, 40, "--exit-code") == "10 40 1\n"
    assert ask(capsys, graph, 40, 10, "--exit-code", code=1) == "40 10 0\n"


def test_sets_and_counts(capsys, graph, tmp_path):
    assert ask(capsys, graph, "--descendants", 20) == "30\n40\n"
    assert ask(capsys, graph, "--ancestors", 40, "--count") == "4\n"
    assert json.loads(ask(capsys, graph, "--ancestors", 20, "--json")) == {"vertex": 20, "ancestors": [10, 30]}
    assert (
        ask(capsys, graph, "--ancestors", 40, "--ancestors", 20, "--within", 1, "--distances") == "10 1\n30 1\n50 1\n"
    )
    (tmp_path / "u.txt").write_text("10\n\n 50 \n")
    words = ("--descendants", "--from-file", tmp_path / "u.txt", "--topological", "--distances", "--json")
    found = json.loads(ask(capsys, graph, *words))
    assert (found["vertices"], sorted(found["descendants"]), found["descendants"][-1]) == ([10, 50], [20, 30, 40], 40)
    assert dict(zip(found["descendants"], found["distances"], strict=True)) == {20: 1, 30: 2, 40: 1}
    assert ask(capsys, graph, "--count") == "10 3\n20 2\n30 2\n40 0\n50 1\n"


def test_an_index_is_saved_and_opened(capsys, graph, tmp_path):
    index = tmp_path / "tens.index"
    assert ask(capsys, graph, 10, 40, "--save", index, "--impl", "sequential") == "10 40 1\n"
    assert ask(capsys, graph, 10, 40, "--index", index) == "10 40 1\n"
    code, _, err = call(capsys, "ask", "path-9", 0, 4, "--index", index)
    assert (code, "tens.index: it is the index of another graph" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((10,), "one vertex, 10: U V, or --descendants U"),
        ((), "one question: U V, --pairs"),
        ((10, 20, "--descendants", 10), "one question"),
        ((10, 20, "--count"), "--count is for"),
        ((10, 20, "--within", 2), "--within, --topological and --distances are for"),
        (("--descendants", 10, "--count", "--distances"), "--count is a number"),
        (("--count", "--exit-code"), "--exit-code is for U V"),
        (("--descendants", "--from-file", "none.txt"), "none.txt"),
        (("--count", "--path"), "--path and --explain are for pairs"),
        ((10, 20, "--path", "--explain"), "--explain gives the path too"),
        ((10, 20, "--index", "x", "--impl", "dfs"), "leave out --impl"),
        ((10, 11), "vertex 11"),
        ((10, "x"), "vertex x"),
        ((10, 20, "--impl", "sequentiell"), "did you mean sequential"),
        ((10, 20, "--filters", "deep"), "filter 'deep'"),
        (("--pairs", "none.txt"), "none.txt"),
        ((10, 20, "--index", "none.index"), "there is no such index file"),
        ((10, 20, "--out", "/dev/null/x"), "/dev/null"),
    ],
)
def test_bad_questions_are_refused(capsys, graph, words, says):
    code, out, err = call(capsys, "ask", graph, *words)
    assert (code, out) == (2, "")
    assert says in err


def test_written_pairs_are_read_back(tmp_path):
    ids = Named(["New York", "#tag", "b"])
    us, vs, answers = np.array([0, 1, 2]), np.array([2, 0, 1]), np.array([True, False, True])
    with open(tmp_path / "q", "wb") as stream:
        write_pairs(stream, ids, us, vs, answers)
    found = read_pairs(tmp_path / "q", ids)
    assert [each.tolist() for each in found[:3]] == [us.tolist(), vs.tolist(), answers.astype(int).tolist()]
    with pytest.raises(Exception, match="a tab or a line break"):
        write_pairs(io.BytesIO(), Named(["a\tb"]), np.zeros(1, int), np.zeros(1, int))
