"""A disk that is full or cannot be written, a cache that is no folder, entries that are damaged: one clear line, the
exit code that is documented, and nothing that was finished is lost."""

import errno
import os
import subprocess
import sys

import pytest
import stored
from commands import call, call_apart

from grailbench.data import cache as cached
from grailbench.graph import store
from grailbench.harness import folder as results
from grailbench.harness.limits import ceilings
from grailbench.util import paths

GRA = "4\n0: 1 #\n1: 2 #\n2: #\n3: #\n"
RUN = ("run", "--dataset", "diamond", "--impl", "dfs", "--count", "20", "--trials", "3")


@pytest.fixture
def gra(tmp_path):
    (tmp_path / "g.gra").write_text(GRA)
    return tmp_path / "g.gra"


def one_line(told: tuple[int, str, str], code: int, *said: str) -> None:
    """Holds the exit code, and that stderr ends in one error line, which says all of `said`."""
    assert told[0] == code
    lines = [line for line in told[2].splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    assert told[2].splitlines()[-1] == lines[0]
    assert all(part in lines[0] for part in said)
    assert "Traceback" not in told[2]


# ---------------------------------------------------------------------------------------- the cache


@pytest.mark.parametrize(
    "words",
    [
        ("import", "{gra}", "--name", "mine"),
        ("fetch", "kegg"),
        ("list", "datasets"),
        ("run", "--dataset", "kegg-like", "--impl", "dfs", "--out", "{gra}.run"),
    ],
)
def test_a_cache_that_is_a_file_or_below_one_ends_each_command_with_one_line(capsys, monkeypatch, gra, words):
    for cache, why in ((gra, "it is a file"), (gra / "below", "Not a directory")):
        monkeypatch.setenv("GRAILBENCH_CACHE", str(cache))
        told = call(capsys, *(word.format(gra=gra) for word in words))
        one_line(told, 2, f"{cache}: the cache cannot be kept here: {why}", "GRAILBENCH_CACHE names another")
        assert told[1] == ""


@pytest.mark.parametrize(
    ("folder", "words"),
    [("imported", ("import", "{gra}", "--name", "mine")), ("generated", ("generate", "kegg-like", "--no-compare"))],
)
def test_a_file_where_a_folder_of_the_cache_should_be_is_named(capsys, monkeypatch, gra, tmp_path, folder, words):
    monkeypatch.setenv("GRAILBENCH_CACHE", str(tmp_path / "cache"))
    (paths.cache_dir() / folder).write_text("")
    told = call(capsys, *(word.format(gra=gra) for word in words))
    one_line(told, 2, f"{tmp_path / 'cache' / folder}: it is no folder")


@pytest.mark.parametrize(
    ("number", "code", "remedy"),
    [(errno.ENOSPC, 4, "make room"), (errno.EDQUOT, 4, "make room"), (errno.EFBIG, 4, "make room"),
     (errno.EROFS, 2, "GRAILBENCH_CACHE")],
)  # fmt: skip
def test_a_full_disk_is_what_the_machine_lacks_and_a_read_only_one_an_input_error(
    capsys, monkeypatch, gra, number, code, remedy
):
    def refused(*given):
        raise OSError(number, os.strerror(number), "/the/file")

    monkeypatch.setattr(store, "save_graph", refused)
    told = call(capsys, "import", gra, "--name", "mine")
    one_line(told, code, f"/the/file: {os.strerror(number)} ({remedy}")


def test_ceilings_that_cannot_be_kept_are_shown_all_the_same(monkeypatch):
    def full(document):
        raise OSError(errno.ENOSPC, "No space left on device", "/the/file")

    notes = []
    monkeypatch.setattr(ceilings, "load", lambda quick: None)
    monkeypatch.setattr(ceilings, "save", full)
    monkeypatch.setattr(ceilings, "_measure_cpu", lambda *given: {"measurements": ["a row"]})
    assert ceilings.measure(("cpu",), note=notes.append)["cpu"] == {"measurements": ["a row"]}
    assert notes == ["not kept in the cache: /the/file: No space left on device"]


# ---------------------------------------------------------------------------------------- runs


def test_a_run_onto_a_full_disk_keeps_its_finished_rows_and_goes_on_later(diamond, tmp_path):
    warm = call_apart(*RUN, "--out", tmp_path / "warm")
    assert warm[0] == 0
    size = (tmp_path / "warm" / results.ROWS).stat().st_size
    most = max(size * 2 // 3, *(path.stat().st_size for path in (tmp_path / "warm").glob("*.json")))
    assert most < size
    words = [*RUN, "--out", str(tmp_path / "run")]
    code = (
        "import resource; from grailbench.cli.main import main\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
        f"main({words!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    one_line((done.returncode, done.stdout, done.stderr), 4, str(tmp_path / "run" / results.ROWS), "make room")
    rows, _ = results.read_rows(tmp_path / "run")
    assert 0 < len(rows) < 6
    resumed = call_apart("run", f"--resume={tmp_path / 'run'}")
    assert resumed[0] == 0, resumed[2]
    again, _ = results.read_rows(tmp_path / "run")
    assert again[: len(rows)] == rows
    assert len(again) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [(("export", "diamond", "{gra}/below"), ""), (("report", "--html", "{run}"), ""), (("plot", "{run}"), ""),
     ((*RUN, "--out", "{gra}/run"), "{gra}/run: it is no folder")],
)  # fmt: skip
def test_what_cannot_be_written_is_named(capsys, diamond, gra, tmp_path, words, said):
    run = tmp_path / "run"
    if words[-1] == "{run}":
        stored.store(run, stored.everything())
        for name in ("report", "figures"):
            (run / name).write_text("a file where the folder should be")
    one_line(call(capsys, *(word.format(gra=gra, run=run) for word in words)), 2, said.format(gra=gra))


# ---------------------------------------------------------------------------------------- damaged entries


@pytest.mark.parametrize("text", ["", "[]", "\x00", pytest.param("[" * 100_000, id="deep")])
def test_a_note_that_cannot_be_read_is_as_none(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    assert cached.read_note(tmp_path / "a") == {}


@pytest.mark.parametrize("change", [{"sha256": None}, {"sha256": 5}, {"vertices": "many"}])
def test_a_stored_graph_with_an_odd_meta_is_damaged(tmp_path, change, monkeypatch):
    meta = {"kind": "graph", "numbering": {}, "vertices": 0, "edges": 0, "sha256": "0" * 64} | change
    store._write(tmp_path / "g.npz", meta, {})
    with pytest.raises(store.Damaged, match="its meta lacks checksum or vertices"):
        store.read_meta(tmp_path / "g.npz")
    with pytest.raises(store.Damaged):
        store.stored_dag(tmp_path / "g.npz")
