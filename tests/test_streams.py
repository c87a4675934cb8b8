"""A reader that leaves, a full disk and an encoding without a character end no command in a traceback."""

import os
import subprocess
import sys

import pytest
from commands import NO_GPU, ROOT
from stored import everything, store

from grailbench.graph.generate import random_dag
from grailbench.graph.store import save_graph

MEASURE = ("--dataset", "tiny-dag", "--impl", "dfs", "--count", "50", "--json")
COMMANDS = {
    "report-json": ("report", "RUN", "--json"),
    "list": ("list",),
    "run": ("run", *MEASURE, "--trials", "2", "--out", "NEW"),
}


@pytest.fixture
def started(session_cache, tmp_path):
    """Runs `grailbench WORDS` with that stdout in a process of its own; returns its exit code and stderr. The words RUN
    and NEW are a stored run and the folder of a new one."""
    run = store(tmp_path / "run", everything())
    save_graph(session_cache / "imported" / "tiny-dag.npz", random_dag(60, 2.0, seed=1), {"name": "tiny-dag"})

    def start(words, stdout, before=(), **env):
        places = {"RUN": str(run), "NEW": str(tmp_path / "new")}
        command = [sys.executable, "-m", "grailbench.cli.main", *(places.get(word, word) for word in words)]
        whole = {**os.environ, **NO_GPU, "PYTHONPATH": str(ROOT), **env}
        done = subprocess.run([*before, *command], stdout=stdout, stderr=subprocess.PIPE, text=True, env=whole)
        return done.returncode, done.stderr

    return start


@pytest.fixture
def left():
    """The writing end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_left_changes_nothing_else(started, left, name, tmp_path):
    code, err = started(COMMANDS[name], left)
    assert code == 0, err
    assert "Traceback" not in err
    assert "rror" not in err
    if name == "run":
        assert (tmp_path / "new" / "trials.jsonl").read_text().count("\n") == 4


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_one_line_and_exit_code_2(started, name, tmp_path):
    with open("/dev/full", "wb") as full:
        code, err = started(COMMANDS[name], full)
    assert code == 2
    assert err.splitlines()[-1].startswith("error: the output cannot be written: ")
    assert "Traceback" not in err
    if name == "run":
        assert (tmp_path / "new" / "trials.jsonl").read_text().count("\n") == 4


def test_characters_that_the_encoding_lacks_are_replaced(started, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        code, err = started(COMMANDS["list"], out, PYTHONIOENCODING="ascii")
    assert code == 0, err
    assert "Traceback" not in err
    assert (tmp_path / "out").read_bytes().isascii()
    assert (tmp_path / "out").stat().st_size > 100


def test_the_exit_code_of_a_check_survives_a_reader_that_left(started, left, tmp_path):
    store(tmp_path / "new", [row | {"counters": {"edges_scanned": 99_999_999}} for row in everything()])
    assert started(("compare", "RUN", "NEW"), left)[0] == 1


def test_a_closed_stdout_is_no_error(started):
    code, err = started(COMMANDS["list"], None, before=("sh", "-c", 'exec "$@" >&-', "sh"))
    assert (code, err) == (0, "")
