"""`grailbench run --answers`: the answers of a verified cell, in ids of the file, which --queries reads back."""

import gzip

import numpy as np
import pytest
from commands import call
from naive import closure
from outcomes import succeeds, tells

from grailbench.graph.csr import Graph
from grailbench.graph.ids import Listed, Named
from grailbench.graph.store import save_graph
from grailbench.util import paths

EDGES = [(0, 1), (1, 2), (2, 0), (2, 3), (4, 3), (3, 5), (6, 6)]
NAMES = ["a", "the b", "#c", "d", "é", "f", "0"]
ONCE = ("--impl", "sequential", "--trials", "1", "--warmup", "0", "--count", "60", "--queries", "balanced")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A folder and a cache with the graphs `listed`, whose ids are 10, 20, ... in descending order, and `named`."""
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    paths.cache_dir()
    monkeypatch.chdir(tmp_path)
    graph = Graph.from_edges(7, *np.array(EDGES).T)
    for name, ids in (("listed", Listed(np.arange(70, 0, -10))), ("named", Named(NAMES))):
        meta = {"name": name, "source": "", "source_sha256": "", "format": "edges"}
        save_graph(tmp_path / "cache" / "imported" / f"{name}.npz", graph, meta, ids)
    return tmp_path


def measured(capsys, graph, *words):
    return call(capsys, "run", "--dataset", graph, *ONCE, *words)


@pytest.mark.parametrize("graph", ["listed", "named"])
def test_answers_are_those_of_plain_python_in_ids_of_the_file_and_verify_as_queries(capsys, here, graph):
    code, out, err = measured(capsys, graph, "--out", "run", "--answers", "answers.txt")
    assert code == 0, err
    assert "answers: answers.txt" in err
    labels = [str(10 * (7 - v)) for v in range(7)] if graph == "listed" else NAMES
    whole, lines = closure(7, EDGES), (here / "answers.txt").read_text().splitlines()
    assert len(lines) == 60
    for line in lines:
        u, v, answer = line.split(" " if graph == "listed" else "\t")
        assert (labels.index(v) in whole[labels.index(u)]) == bool(int(answer)), line
    again = "--queries", "answers.txt", "--impl", "dfs"
    tells(capsys, 0, "60 pairs reachable", "verify", "--dataset", graph, *again)
    (here / "answers.txt").write_text((here / "answers.txt").read_text().replace("1\n", "0\n"))
    assert call(capsys, "verify", "--dataset", graph, *again)[0] != 0


@pytest.mark.processes
def test_answers_are_packed_by_name_and_the_same_from_a_process_of_its_own_and_the_standard_output(capfdbinary, here):
    code, out, err = measured(capfdbinary, "listed", "--out", "a", "--answers", "a.txt.gz")
    assert (code, b"answers: a.txt.gz" in err) == (0, True), err
    lines = gzip.decompress((here / "a.txt.gz").read_bytes())
    code, out, err = measured(capfdbinary, "listed", "--out", "b", "--answers", "-", "--process", "own")
    assert (code, out) == (0, lines), err
    assert b"rows: " in err


def test_a_run_continued_writes_them_while_it_verifies_and_says_when_it_has_nothing_to_ask(capsys, here):
    assert measured(capsys, "listed", "--out", "run")[0] == 0
    resumed = "--out", "run", "--resume", "--answers", "a.txt"
    code, out, err = measured(capsys, "listed", *resumed)
    assert code == 2
    assert "no answers were written" in err
    assert not (here / "a.txt").exists()
    succeeds(capsys, "run", "--dataset", "listed", *ONCE, *resumed, "--trials", "2")
    assert len((here / "a.txt").read_text().splitlines()) == 60


@pytest.mark.slow
def test_wrong_answers_are_not_written(capsys, here, toys):
    code, _, err = call(capsys, "run", "--dataset", "listed", "--impl", "toy:wrong", "--trials", "1", "--count", "60",
                        "--out", "run", "--answers", "a.txt")  # fmt: skip
    assert code == 1, err
    assert not (here / "a.txt").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--dataset", "named"), "one graph; this run has listed, named (a run for each)"),
        (("--queries", "random"), "one query set; this run has balanced-60-s1, random-60-s1 (a run for each)"),
        (("--problem", "bfs"), "of problem bfs are no lines"),
        (("--answers", "a.CSV.gz"), "lines `u v 0|1`, no table"),
        (("--answers", "-", "--json"), "--answers - and --json both"),
    ],
)
def test_what_has_no_single_file_of_answers_is_refused_before_anything_runs(capsys, here, words, said):
    once = [word for word in ONCE if "--problem" not in words or word not in ("--queries", "balanced")]
    words = words if "--answers" in words else (*words, "--answers", "a.txt")
    tells(capsys, 2, said, "run", "--dataset", "listed", *once, "--out", "run", *words)
    assert not (here / "run").exists()
