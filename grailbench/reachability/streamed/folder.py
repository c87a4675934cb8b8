"""The folder of a build out of memory: its stages, the room that it needs, and what each stage read and wrote.

A stage is a folder that is renamed when it is whole. So a killed build goes on from the last whole stage.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from grailbench import disk
from grailbench.errors import FULL, InputError, MachineLacks, TooLittleMemory
from grailbench.outputs import atomic_file
from grailbench.words import decimal_size

FORMAT = 1  #: of the stages; increase it when their files change
VERTEX_BYTES = 48  #: the most that is held for a vertex at any time, with 3 label pairs or fewer
FIXED = 200_000_000  #: bytes of the interpreter, its libraries and compiled kernels
LEAST = 64_000_000  #: bytes for blocks, and for DuckDB
_SAID, _BUILD, _PARTIAL = "stage.json", "build.json", ".partial"


def spare(memory: int, vertices: int) -> int:
    """The bytes that are left for blocks where `memory` are allowed.

    Raises TooLittleMemory, which names what would do, if that is too little.
    """
    need = FIXED + LEAST + VERTEX_BYTES * vertices
    if memory < need:
        raise TooLittleMemory(
            f"streamed: {vertices:,} vertices need {decimal_size(need)} of memory: {VERTEX_BYTES} bytes each, and "
            f"{decimal_size(FIXED + LEAST)} for the program and its blocks; {decimal_size(memory)} are allowed "
            f"(--memory {-(-need // 1_000_000)}MB)"
        )
    return memory - FIXED - VERTEX_BYTES * vertices


class Folder:
    """A folder with the stages of one build; only one process may use it at a time.

    identity  what the build is of: a dictionary for JSON. Another build is refused in the same folder.
    resume    whether to go on with the stages that are there; otherwise a folder with stages is refused

    Raises InputError for a folder of another build, or of something else, and MachineLacks if another process uses it.
    """

    def __init__(self, path: Path, identity: dict, resume: bool, note: Callable[[str], None] | None = None):
        self.path, self._note = path, note or (lambda text: None)
        identity = json.loads(json.dumps(identity | {"format": FORMAT}))
        path.mkdir(parents=True, exist_ok=True)
        self._lock = open(path / ".lock", "ab")  # noqa: SIM115 - held as long as the folder is
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise MachineLacks(f"{path}: another process builds in this folder (wait, or name another one)") from None
        known = path / _BUILD
        if known.exists():
            _require_same(path, _said_in(known), identity, resume)
        else:
            if others := sorted(each.name for each in path.iterdir() if not each.name.startswith((".", _BUILD))):
                raise InputError(f"it holds other files, as {others[0]!r}", path=path, remedy="name an empty folder")
            disk.sync(path.parent)
            with atomic_file(known) as stream:
                stream.write(json.dumps(identity).encode())

    def said(self, name: str) -> dict | None:
        """What a stage said of itself; None if it is not whole."""
        path = self.path / name / _SAID
        return _said_in(path) if path.exists() else None

    def stage(self, name: str, room: int, work: Callable[[Path], dict]) -> dict:
        """What `work` said of a stage: of a whole one, or after calling it with the folder that it must fill.

        room: bytes that it needs on disk. Raises MachineLacks if the disk has too little or is full.
        """
        done, partial = self.path / name, self.path / (name + _PARTIAL)
        if (known := self.said(name)) is not None:
            return known
        for left in (partial, done):  # `done` is no stage any more where `remove` was cut short
            shutil.rmtree(left, ignore_errors=True)
        if (free := shutil.disk_usage(self.path).free) < room:
            raise self._full(name, room, free)
        start, before = time.perf_counter(), _moved()
        try:
            partial.mkdir()
            said = work(partial)
            seconds, moved = time.perf_counter() - start, _moved()
            said |= {"seconds": round(seconds, 3)}
            said |= {key: moved[key] - before[key] for key in moved}
            (partial / _SAID).write_text(json.dumps(said), "utf-8")
            disk.sync(partial, whole=True)  # a stage that has its name is believed
            partial.rename(done)
            disk.sync(self.path)
        except OSError as error:
            if error.errno not in FULL:
                raise
            found = self._full(name, room, shutil.disk_usage(self.path).free, error)
            shutil.rmtree(partial, ignore_errors=True)
            raise found from None
        self._note(
            f"{name}: {seconds:.1f} s, {decimal_size(said.get('bytes_read', 0))} read, "
            f"{decimal_size(said.get('bytes_written', 0))} written"
        )
        return said

    def _full(self, name: str, room: int, free: int, error: OSError | None = None) -> MachineLacks:
        why = "the disk is full" if error is None or error.errno == errno.ENOSPC else os.strerror(error.errno)
        return MachineLacks(
            f"{self.path}: {why}: stage {name!r} needs about {decimal_size(room)} there, "
            f"{decimal_size(free)} are free (make room and go on with --resume, or name another --folder)"
        )

    def drop(self, *names: str) -> None:
        """Deletes stages that are needed no more."""
        for name in names:
            shutil.rmtree(self.path / name, ignore_errors=True)

    def close(self) -> None:
        """Lets other processes use the folder."""
        self._lock.close()


def _said_in(path: Path) -> dict:
    """The JSON object in a file. Raises InputError if it is none."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError("it is damaged", path=path, remedy="delete the folder, or name another one")
    return found


def remove(path: Path) -> None:
    """Deletes the folder of a build. Whoever is killed meanwhile leaves one that --resume builds in: no stage is taken
    for whole of which something is gone, and what says whose build it is goes last."""
    for stage in sorted(path.glob(f"*/{_SAID}")):
        stage.unlink()
    for each in sorted(path.iterdir()):
        if each.name not in (".lock", _BUILD):
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    disk.sync(path)
    for name in (_BUILD, ".lock"):
        (path / name).unlink(missing_ok=True)
    path.rmdir()


def _require_same(path: Path, known: dict, identity: dict, resume: bool) -> None:
    if known != identity:
        keys = ["source" if key == "of" else key for key in identity if known.get(key) != identity[key]]
        raise InputError(
            f"it holds a build of another {' and '.join(keys) or 'kind'}", path=path, remedy="name another folder"
        )
    if not resume:
        raise InputError(
            "it holds a build that was begun", path=path, remedy="--resume goes on with it, or delete the folder"
        )


def _moved() -> dict[str, int]:
    """Bytes that this process had read from disks and written to them, and those that it asked for."""
    try:
        found = psutil.Process().io_counters()
    except (AttributeError, OSError, psutil.Error):  # macOS has none
        return {}
    return {
        "bytes_read": found.read_bytes, "bytes_written": found.write_bytes,
        "bytes_asked": getattr(found, "read_chars", 0), "bytes_given": getattr(found, "write_chars", 0),
    }  # fmt: skip
