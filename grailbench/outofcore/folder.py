"""The folder of a build out of memory: its stages, the room that it needs, and what each stage read and wrote.

A stage is a folder that is renamed when it is whole, and again before it is deleted. So a killed build goes on from the
last whole stage. What a build did not write is never deleted: it only takes an empty folder, and goes on in one that
holds nothing else.
"""

import errno
import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from grailbench.errors import FULL, InputError, MachineLacks, TooLittleMemory, of_system
from grailbench.util import outputs, paths, temporary
from grailbench.util.outputs import atomic_file
from grailbench.util.words import decimal_size

FORMAT = 2  #: of the stages; increase it when their files change
STAGES = ("1-edges", "2-levels", "3-blocks", "4-trees", "5-labels")
SAVED = "6-index"  #: the last stage, which leaves the index file
VERTEX_BYTES = 48  #: the most that is held for a vertex at any time, with 3 label pairs or fewer
FIXED = 200_000_000  #: bytes of the interpreter, its libraries and compiled kernels
LEAST = 64_000_000  #: bytes for blocks, and for keys that are sorted
_RESULT, _FILES, _BUILD, _PARTIAL = "stage.json", "files", "build.json", ".partial"
_WORDS = {"of": "source", "vertices": "number of vertices", "first": "least id"}  # of what a build is, for errors


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
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise of_system(error, path) from None
        try:
            if temporary.lock(self._lock) is False:
                raise MachineLacks(f"{path}: another process builds in this folder (wait, or name another one)")
            temporary.sweep(path)
            known = path / _BUILD
            if paths.marked(path, _BUILD, "build", "name a folder that is new or empty"):
                before = _said_in(known)
                if before != identity:
                    keys = [_WORDS.get(key, key) for key in identity if before.get(key) != identity[key]]
                    what = f"it has a build of another {' and '.join(keys) or 'kind'}"
                    raise InputError(what, path=path, remedy="name another folder")
                if not resume:
                    remedy = "--resume goes on with it, or delete the folder"
                    raise InputError("it has a build that was begun", path=path, remedy=remedy)
                paths.require_own(path, _others(path), "build")
            else:
                outputs.sync(path.parent)
                with atomic_file(known) as stream:
                    stream.write(json.dumps(identity).encode())
        except BaseException:
            self.close()
            raise

    def record(self, name: str) -> dict | None:
        """What a stage said of itself; None if it is not whole."""
        path = self.path / name / _RESULT
        return {key: value for key, value in _said_in(path).items() if key != _FILES} if path.exists() else None

    def stage(self, name: str, room: int, work: Callable[[Path], dict]) -> dict:
        """What `work` said of a stage: of a whole one, or after calling it with the folder that it must fill.

        room: bytes that it needs on disk. Raises MachineLacks if the disk has too little or is full.
        """
        done, partial = self.path / name, self.path / (name + _PARTIAL)
        if (known := self.record(name)) is not None:
            return known
        shutil.rmtree(partial, ignore_errors=True)
        if (free := shutil.disk_usage(self.path).free) < room:
            raise self._full(name, room, free)
        start, before = time.perf_counter(), _moved()
        try:
            partial.mkdir()
            result = work(partial)
            seconds, moved = time.perf_counter() - start, _moved()
            result |= {"seconds": round(seconds, 3)}
            result |= {key: moved[key] - before[key] for key in moved}
            (partial / _RESULT).write_text(json.dumps(result | {_FILES: _files(partial)}), "utf-8")
            outputs.sync(partial, whole=True)  # a stage that has its name is believed
            partial.rename(done)
            outputs.sync(self.path)
        except OSError as error:
            if error.errno not in FULL:
                raise
            found = self._full(name, room, shutil.disk_usage(self.path).free, error)
            shutil.rmtree(partial, ignore_errors=True)
            raise found from None
        self._note(
            f"{name}: {seconds:.1f} s, {decimal_size(result.get('bytes_read', 0))} read, "
            f"{decimal_size(result.get('bytes_written', 0))} written"
        )
        return result

    def _full(self, name: str, room: int, free: int, error: OSError | None = None) -> MachineLacks:
        why = "the disk is full" if error is None or error.errno == errno.ENOSPC else os.strerror(error.errno)
        return MachineLacks(
            f"{self.path}: {why}: stage {name!r} needs about {decimal_size(room)} there, "
            f"{decimal_size(free)} are free (make room and go on with --resume, or name another --folder)"
        )

    def drop(self, *names: str) -> None:
        """Deletes stages that are needed no more."""
        for name in names:
            _delete(self.path, name)

    def close(self) -> None:
        """Lets other processes use the folder."""
        os.close(self._lock)


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
    """Deletes what a build wrote, and its folder unless somebody put other files into it. Whoever is killed meanwhile
    leaves one that --resume builds in: no stage is taken for whole of which something is gone, and the mark goes
    last."""
    for name in (*STAGES, SAVED):
        _delete(path, name)
    outputs.sync(path)
    (path / _BUILD).unlink(missing_ok=True)
    with suppress(OSError):
        path.rmdir()


def _delete(path: Path, name: str) -> None:
    """Deletes a stage, whether it is whole or not."""
    partial = path / (name + _PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    with suppress(FileNotFoundError):
        (path / name).rename(partial)
        outputs.sync(path)
        shutil.rmtree(partial)


def _others(path: Path) -> list[str]:
    """Names in the folder of a build that are not of it."""
    names = {path / name for name in (*STAGES, SAVED)}
    own = {path / _BUILD, *(each.with_name(each.name + _PARTIAL) for each in names)}
    found = [each.name for each in path.iterdir() if each not in own and not (each in names and _is_stage(each))]
    for stage in filter(_is_stage, names):
        there = {*_files(stage)} - {*_said_in(stage / _RESULT).get(_FILES, ()), _RESULT}
        found += [f"{stage.name}/{name}" for name in there]
    return found


def _is_stage(path: Path) -> bool:
    return (path / _RESULT).is_file()


def _files(stage: Path) -> list[str]:
    """The files of a stage, by their paths in it."""
    return sorted(each.relative_to(stage).as_posix() for each in stage.rglob("*") if not each.is_dir())


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
