"""A file that is written is there whole or not at all, and takes the place of no input, pipe or terminal."""

import errno
import os
import subprocess
import threading
from pathlib import Path

import click
import numpy as np
import pytest
from commands import call
from outcomes import tells
from stored import everything, store

import grailbench as gb
from grailbench.cli.main import COMMANDS, cli
from grailbench.cli.options import Output
from grailbench.errors import InputError
from grailbench.graph.readers import read_graph
from grailbench.graph.writers import write_lines
from grailbench.util import outputs

EDGES = "0 1\n1 2\n"


@pytest.fixture(autouse=True)
def here(tmp_path_factory, monkeypatch):
    """A current folder of its own for each test, with a graph, and no memory of what earlier tests read."""
    monkeypatch.setattr(outputs, "_files", {})
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    monkeypatch.setenv("GRAILBENCH_CACHE", str(Path("cache").absolute()))
    Path("g.edges").write_text(EDGES)


def test_a_block_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), outputs.atomic_file(tmp_path / "new" / "f"):
        1 / 0  # noqa: B018
    assert os.listdir(tmp_path / "new") == []


def test_a_full_disk_names_the_file_that_had_no_room(tmp_path):
    with pytest.raises(OSError, match="No space left") as raised, outputs.atomic_file(tmp_path / "f"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert raised.value.filename == str(tmp_path / "f")
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------ inputs


@pytest.mark.parametrize("alias", ["g.edges", "./folder/../g.edges", "symbolic", "hard", "linked/g.edges"])
def test_a_file_that_was_read_is_not_replaced_by_any_name(alias):
    """An edge list was lost to the answers on it."""
    Path("folder").mkdir()
    Path("symbolic").symlink_to("g.edges")
    Path("linked").symlink_to(".")
    os.link("g.edges", "hard")
    read_graph("g.edges")
    with pytest.raises(InputError, match=r"the output would replace an input.* \(name another file\)"):
        write_lines(alias, "", np.arange(3))
    assert Path("g.edges").read_text() == EDGES


def test_a_file_that_is_read_while_the_output_is_open_is_not_replaced():
    def write():
        with outputs.replaced("g.edges") as stream:
            stream.write(b"answers")
            read_graph("g.edges")

    with pytest.raises(InputError, match="would replace an input"):
        write()
    assert Path("g.edges").read_text() == EDGES


def test_what_this_process_wrote_or_what_is_no_input_any_more_is_replaced():
    read_graph("g.edges")
    Path("g.edges").unlink()
    for value in (3, 4):  # the inode of the input may be that of the new file
        write_lines("g.edges", "", np.full(2, value), np.arange(2))
        assert read_graph("g.edges").edges == 2
    Path("g.edges").rename("h.edges")
    write_lines("h.edges", "", np.arange(1), np.arange(1))


def test_what_one_command_read_another_may_replace(capsys):
    assert call(capsys, "ask", "g.edges", "0", "1")[0] == 0
    Path("h.edges").write_text("0 1\n")
    assert call(capsys, "ask", "h.edges", "0", "1", "--out", "g.edges")[0] == 0
    assert Path("g.edges").read_text() == "0 1 1\n"


def test_files_that_were_read_are_forgotten_before_they_are_too_many(monkeypatch):
    monkeypatch.setattr(outputs, "_MOST", 2)
    for number in range(5):
        Path(f"{number}").write_text(EDGES)
        read_graph(f"{number}")
        assert len(outputs._files) <= 2


def test_no_output_is_written_into_a_repository_that_was_read_as_a_graph():
    subprocess.run(["git", "init", "-q", "tree"], check=True)
    commit = "-c user.name=n -c user.email=e commit -q --allow-empty -m first"
    subprocess.run(["git", "-C", "tree", *commit.split()], check=True)
    read_graph("tree")
    with pytest.raises(InputError, match="would replace an input, .*tree/.git"):
        write_lines("tree/.git/HEAD", "", np.arange(1))
    write_lines("tree/answers", "", np.arange(1))


def test_an_index_replaces_an_index_and_nothing_else_that_was_read():
    graph = gb.Graph.read("g.edges")
    index = gb.build(graph, "sequential")
    index.save("g.index")
    outputs._files.clear()
    gb.load("g.index").save("g.index")
    np.save("pairs.npy", np.array([[0, 2], [2, 0]]))
    outputs._files.clear()
    index = gb.load("g.index")
    outputs.protect("g.edges")
    for write in (lambda: index.save("g.edges"), lambda: index.stream_to("g.index", "pairs.npy"),
                  lambda: index.stream_to("pairs.npy", "pairs.npy")):  # fmt: skip
        with pytest.raises(InputError, match="would replace an input"):
            write()
    assert gb.load("g.index").reaches(0, 2)


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "g.edges", "0", "1", "--out", "g.edges"),
        ("ask", "g.edges", "0", "1", "--impl", "core", "--save", "g.edges"),
        ("ask", "other.edges", "--pairs", "g.edges", "--out", "g.edges"),
        ("ask", "--out", "g.edges", "g.edges", "0", "1"),
        ("build", "g.edges", "--out", "g.edges"),
        ("build", "g.edges", "--impl", "streamed", "--out", "g.edges"),
        ("run", "--dataset", "path-4", "--impl", "core", "--queries", "g.edges", "--answers", "g.edges"),
        ("profile", "g.edges", "--record", "g.edges"),
        ("history", "--gate", "g.edges", "--html=g.edges"),
    ],
)
def test_a_command_refuses_an_input_as_its_output_before_it_begins(words, capsys):
    """Answers, indexes and outlines replaced the graph or the pairs that they were made of."""
    said = "error: g.edges: the output would replace an input (name another file)\n"
    assert call(capsys, *words) == (2, "", said)
    assert Path("g.edges").read_text() == EDGES


@pytest.mark.slow
@pytest.mark.parametrize("words", [("report", "run", "--html=run/trials.html"), ("export", "mine", "{stored}")])
def test_files_that_no_word_names_are_not_replaced_either(words, capsys):
    """A report replaced the rows of its run, an export the stored graph that it read."""
    store(Path("run"), everything())
    Path("run/trials.html").symlink_to("trials.jsonl")
    assert call(capsys, "import", "g.edges", "--name", "mine")[0] == 0
    kept = Path("cache/imported/mine.npz").absolute()
    before = kept.read_bytes(), Path("run/trials.jsonl").read_bytes()
    code, _, err = call(capsys, *(word.format(stored=kept) for word in words))
    assert (code, err.count("error: "), "would replace an input" in err) == (2, 1, True)
    assert (kept.read_bytes(), Path("run/trials.jsonl").read_bytes()) == before


def test_a_run_puts_no_file_in_the_place_of_its_pairs(capsys):
    Path("run").mkdir()
    Path("run/errors.txt").write_text("0 1\n")
    words = ("run", "--dataset", "path-4", "--impl", "dfs", "--queries", "run/errors.txt", "--out", "run")
    tells(capsys, 2, "run/errors.txt: ", *words)
    assert os.listdir("run") == ["errors.txt"]


# ------------------------------------------------------------------ links, pipes and terminals


def test_an_output_that_is_a_symbolic_link_is_written_where_it_leads():
    Path("there").mkdir()
    for name in ("old", "new"):
        Path(name).symlink_to(f"there/{name}")
    Path("there/old").write_text("old")
    for name in ("old", "new"):
        write_lines(name, "", np.arange(1))
        assert (os.readlink(name), Path("there", name).read_text()) == (f"there/{name}", "0\n")


def test_a_link_in_a_folder_that_somebody_sent_is_replaced(capsys):
    """A report in such a folder is written there, and nowhere else."""
    store(Path("run"), everything())
    Path("run/report").mkdir()
    Path("run/report/report.md").symlink_to("../../g.edges")
    assert call(capsys, "report", "run", "--out", "run/report")[0] == 0
    assert Path("g.edges").read_text() == EDGES
    assert not Path("run/report/report.md").is_symlink()


def test_answers_go_through_a_pipe_which_stays_one(capsys):
    """A pipe became a regular file, and its reader waited for ever."""
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_text()), daemon=True)
    reader.start()
    while True:  # until the reader is there
        code, _, err = call(capsys, "ask", "g.edges", "0", "2", "--out", "pipe")
        if "nobody reads" not in err:
            break
    assert (code, Path("pipe").is_fifo()) == (0, True)
    reader.join()
    assert read == ["0 2 1\n"]


NOT_REGULAR = "a device, pipe or socket; a regular file is needed (name another file)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ask", "g.edges", "0", "2", "--out"), "nobody reads from this pipe (start its reader first)"),
        (("build", "g.edges", "--out"), NOT_REGULAR), (("ask", "g.edges", "0", "1", "--save"), NOT_REGULAR),
        (("generate", "random", "--vertices", "9", "--degree", "2", "--stream"), NOT_REGULAR),
    ],
)  # fmt: skip
def test_a_pipe_that_nobody_reads_or_where_a_regular_file_is_needed_is_said_in_one_line(words, said, capsys):
    os.mkfifo("pipe")
    assert call(capsys, *words, "pipe") == (2, "", f"error: pipe: {said}\n")
    assert Path("pipe").is_fifo()


def test_a_terminal_is_written_to_as_it_is():
    """As root, `--out` put a regular file in the place of a device."""
    screen, terminal = os.openpty()
    Path("terminal").symlink_to(os.ttyname(terminal))
    write_lines("terminal", "", np.arange(1))
    assert Path("terminal").is_char_device()
    assert os.read(screen, 9) == b"0\r\n"
    os.close(terminal)
    os.close(screen)


# ------------------------------------------------------------------ all commands


def test_what_names_a_file_or_folder_of_a_command_is_an_output_or_one_of_these_inputs():
    """An output that is no `Output` is not refused before a command begins."""
    named = {
        (name, each.name) for name in COMMANDS for each in cli.get_command(None, name).params
        if not isinstance(each.type, Output)
        and (isinstance(each.type, click.Path) or {"FILE", "DIR"} & {*str(each.metavar).strip("[=]").split("-")})
    }  # fmt: skip
    assert named - {(name, each) for name, each in named if each in ("gate_file", "index_file", "pairs", "config")} == {
        ("fetch", "mirror"), ("import", "path"), ("report", "ceilings"), ("report", "pages"), ("plot", "profile"),
    }  # fmt: skip
