"""A file that is written is there whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from grailbench import outputs


def test_killed_writer_leaves_no_file_of_that_name(tmp_path):
    path = tmp_path / "g.npz"
    killed = (
        "import os, sys; from pathlib import Path; from grailbench.outputs import atomic_file\n"
        f"with atomic_file(Path({str(path)!r})) as stream:\n stream.write(b'half'); stream.flush(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", killed], check=False).returncode == 9
    assert not path.exists()
    if has_nameless_files(tmp_path):
        assert os.listdir(tmp_path) == []


def has_nameless_files(folder) -> bool:
    handle = outputs._nameless(folder)
    if handle is not None:
        os.close(handle)
    return handle is not None


def test_where_no_nameless_file_can_be_made_a_named_one_serves(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "_nameless", lambda folder: None)
    with outputs.atomic_file(tmp_path / "new" / "f") as stream:
        stream.write(b"whole")
        assert len(os.listdir(tmp_path / "new")) == 1
    assert (tmp_path / "new" / "f").read_bytes() == b"whole"
    with pytest.raises(ZeroDivisionError), outputs.atomic_file(tmp_path / "new" / "f"):
        1 / 0  # noqa: B018
    assert os.listdir(tmp_path / "new") == ["f"]


def test_a_full_disk_names_the_file_that_had_no_room(tmp_path):
    with pytest.raises(OSError, match="No space left") as raised, outputs.atomic_file(tmp_path / "f"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert raised.value.filename == str(tmp_path / "f")
    assert os.listdir(tmp_path) == []
