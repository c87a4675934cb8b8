"""A reader that leaves, a full disk and an encoding without a character end no command in a traceback."""

import os
import subprocess
import sys

import pytest
from commands import NO_GPU, ROOT, call
from stored import everything, store

from grailbench.graph.generate import random_dag
from grailbench.graph.store import save_graph

MEASURE = ("--dataset", "tiny-dag", "--impl", "dfs", "--count", "50", "--json")
COMMANDS = (("report", "RUN", "--json"), ("list", "configs"), ("run", *MEASURE, "--trials", "2", "--out", "NEW"))


@pytest.fixture
def started(session_cache, tmp_path, capsys, monkeypatch):
    """Runs `grailbench WORDS` with that descriptor as stdout; returns its exit code and stderr. The words RUN and NEW
    are a stored run and the folder of a new one."""
    run = store(tmp_path / "run", everything())
    save_graph(session_cache / "imported" / "tiny-dag.npz", random_dag(60, 2.0, seed=1), {"name": "tiny-dag"})

    def start(words, stdout, encoding="utf-8"):
        places = {"RUN": str(run), "NEW": str(tmp_path / "new")}
        with open(stdout, "w", encoding=encoding, closefd=False) as stream, monkeypatch.context() as patch:
            for name in ("stdout", "__stdout__"):
                patch.setattr(sys, name, stream)
            code, _, err = call(capsys, *(places.get(word, word) for word in words))
        return code, err

    return start


@pytest.fixture
def left():
    """The writing end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_work_ends_with_its_reader_and_what_was_finished_is_kept(started, left, words, tmp_path):
    code, err = started(words, left)
    assert code == 0, err
    assert "rror" not in err
    if words[0] == "run":  # one trial of two, with both of its phases
        assert (tmp_path / "new" / "trials.jsonl").read_text().count("\n") == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_line_and_exit_code_2(started, words, tmp_path):
    with open("/dev/full", "wb") as full:
        code, err = started(words, full.fileno())
    assert code == 2
    assert err.splitlines()[-1].startswith("error: the output cannot be written: ")
    assert "Traceback" not in err
    if words[0] == "run":
        assert (tmp_path / "new" / "trials.jsonl").read_text().count("\n") == 4


def test_characters_that_the_encoding_lacks_are_replaced(started, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        assert started(("list", "configs"), out.fileno(), "ascii") == (0, "")
    assert (tmp_path / "out").read_bytes().isascii()
    assert (tmp_path / "out").stat().st_size > 100


def test_the_exit_code_of_a_check_survives_a_reader_that_left(started, left, tmp_path):
    store(tmp_path / "new", [row | {"counters": {"edges_scanned": 99_999_999}} for row in everything()])
    assert started(("compare", "RUN", "NEW"), left)[0] == 1


@pytest.mark.parametrize(("where", "code"), [("closed", 0), ("left", 0), ("/dev/full", 2)])
def test_a_process_ends_without_a_word_too_much(left, where, code):
    """Python itself writes at its end what a stream still holds."""
    closing = ("sh", "-c", 'exec "$@" >&-', "sh") if where == "closed" else ()
    with open(left if where == "left" else os.devnull if closing else where, "wb", closefd=where != "left") as stdout:
        command = [*closing, sys.executable, "-m", "grailbench", "list", "configs"]
        env = {**os.environ, **NO_GPU, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=env)
    assert (done.returncode, done.stderr.count("\n")) == (code, int(code > 0))
