"""Temporary files and folders are gone with their process, and those of a live one are never touched."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from grailbench.util import outputs, temporary
from grailbench.util.temporary import Folder

FILE = ".kegg.npz.{}-4711-0123abcd.tmp"
FOLDER = "grailbench-spread-{}-4711-0123abcd"
HOLDING = """
import sys, time
from pathlib import Path
from grailbench.util.temporary import File, Folder
import tempfile; tempfile.tempdir = sys.argv[1]
held = File(Path(sys.argv[1], "graph.npz")), Folder("spread")
held[0].path.write_bytes(b"half"); (held[1].path / "spread.index").write_bytes(b"half")
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _unswept():
    temporary._sweep_once.cache_clear()


def names(folder):
    return sorted(os.listdir(folder))


def test_a_killed_process_leaves_what_is_swept_and_a_live_one_what_stays(tmp_path, monkeypatch):
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout.readline() == b"ready\n"
            there = names(tmp_path)
            monkeypatch.setattr(time, "time", lambda: 1e11)  # no clock makes a live one stale
            for path in tmp_path.iterdir():
                os.utime(path, (0, 0))
            assert (temporary.sweep(tmp_path), names(tmp_path)) == ([], there)
        finally:
            running.send_signal(signal.SIGKILL)
    assert len(there) == 2
    assert {path.name for path, _ in temporary.sweep(tmp_path, dry=True)} == set(there)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Folder("pack") as mine:
        assert names(tmp_path) == [mine.name]
    assert names(tmp_path) == []


def test_every_writer_of_a_file_sweeps_its_folder(tmp_path):
    (tmp_path / FILE.format(temporary.boot())).write_bytes(b"half")
    with outputs.atomic_file(tmp_path / "dag.npz") as stream:
        stream.write(b"whole")
    assert names(tmp_path) == ["dag.npz"]


def test_a_file_that_is_being_written_is_locked_until_it_has_its_name(tmp_path, monkeypatch):
    replace = os.replace

    def replaced(made, path):
        assert temporary.sweep(tmp_path) == []
        replace(made, path)

    monkeypatch.setattr(os, "replace", replaced)
    with outputs.atomic_file(tmp_path / "dag.npz") as stream:
        assert temporary.sweep(tmp_path) == []
        stream.write(b"whole")
    assert names(tmp_path) == ["dag.npz"]


@pytest.mark.parametrize("name", [FILE, FOLDER])
@pytest.mark.parametrize(("mark", "age", "swept"), [(None, 0, True), ("0" * 8, 999, False), ("0" * 8, 10**6, True)])
def test_of_another_start_of_a_system_only_what_is_old_goes(tmp_path, name, mark, age, swept):
    path = tmp_path / name.format(mark or temporary.boot())
    path.mkdir() if name == FOLDER else path.touch()
    os.utime(path, (time.time() - age,) * 2)
    assert (len(temporary.sweep(tmp_path)), not path.exists()) == (swept, swept)


def test_where_there_are_no_locks_age_decides(tmp_path, monkeypatch):
    def none(*args):
        raise OSError("no locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    path = tmp_path / FILE.format(temporary.boot())
    path.touch()
    assert temporary.sweep(tmp_path) == []
    os.utime(path, (time.time() - 2 * temporary.QUIET_S,) * 2)
    assert temporary.sweep(tmp_path) == [(path, 0)]


@pytest.mark.parametrize(
    "name", [".bashrc", ".notes.tmp", "kegg.npz", "grailbench-notes", ".a.12-xyz.tmp", "grailbench-spread-1-2-3"]
)
def test_what_is_not_ours_stays(tmp_path, name):
    (tmp_path / name).touch()
    os.utime(tmp_path / name, (0, 0))
    assert (temporary.sweep(tmp_path), names(tmp_path)) == ([], [name])


def test_a_link_of_our_name_is_not_followed(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (tmp_path / "swept").mkdir()
    (tmp_path / "swept" / FOLDER.format(temporary.boot())).symlink_to(tmp_path / "mine")
    (tmp_path / "swept" / FILE.format(temporary.boot())).symlink_to(tmp_path / "mine" / "file")
    assert temporary.sweep(tmp_path / "swept") == []
    assert names(tmp_path / "mine") == ["file"]


def test_a_long_name_leaves_room_for_that_of_its_temporary_file(tmp_path):
    with outputs.atomic_file(tmp_path / ("é" * 127)) as stream:
        stream.write(b"whole")
    assert names(tmp_path) == ["é" * 127]


def test_a_forked_process_removes_no_folder_of_its_parent():
    folder = Folder("pack")
    if (pid := os.fork()) == 0:
        folder.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert folder.path.is_dir()
    folder.close()
    assert not folder.path.exists()
