"""Temporary files and folders: their names, the lock that their process holds on them, and the removal of stale ones.

One is stale when the process that made it is gone, and with it the lock (flock); process ids and clocks decide nothing.
With the mark of another start of the system, which may be that of another machine on a shared file system, or where
there are no locks, one is stale only if nothing was written to it for a long time, by the clock of its file system.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path

QUIET_S = 24 * 3600  #: a file that nobody can lock is stale when it was not written to for this long
QUIET_FOLDER_S = 7 * QUIET_S  #: the same of a folder, whose files may be read for days
_LONGEST = 40  # characters of a name that its temporary file shows: names have at most 255 bytes
_FILE = re.compile(r"\..*\.([0-9a-f]{8})-\d+-[0-9a-f]{8}\.tmp", re.DOTALL)
_FOLDER = re.compile(r"grailbench-[a-z]+-([0-9a-f]{8})-\d+-[0-9a-f]{8}")


@cache
def boot() -> str:
    """A mark of this start of the system, 8 hex digits."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
    except (OSError, ValueError):
        text = platform.node()
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _mark() -> str:
    return f"{boot()}-{os.getpid()}-{secrets.token_hex(4)}"


# ------------------------------------------------------------------ locks


def lock(handle: int, how: int = fcntl.LOCK_EX | fcntl.LOCK_NB) -> bool | None:
    """Locks an open file or folder until it is closed, alone unless `how` says otherwise. False if somebody else has
    the lock, None where there are no locks, as on some network file systems."""
    try:
        fcntl.flock(handle, how)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Locks a folder until the block ends; whoever else does so waits meanwhile. Where there are no locks, nobody
    waits. Raises OSError if the folder cannot be opened."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# ------------------------------------------------------------------ files and folders


def name_beside(path: Path) -> Path:
    """A new name for a temporary file in the folder of a path."""
    return path.with_name(f".{path.name[-_LONGEST:]}.{_mark()}.tmp")


class File:
    """A new empty file beside `path`, with the name `.path` and the open `handle`; it is locked, and removed by `close`
    or at the end of a `with` block unless it was renamed.

    Raises OSError, which names `path`, if it cannot be made.
    """

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep_once(os.path.abspath(path.parent), os.getpid())
        while True:
            self.path = name_beside(path)
            try:
                self.handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            except OSError as error:
                error.filename = str(path)
                raise
            if lock(self.handle) is not False and os.fstat(self.handle).st_nlink:
                return
            os.close(self.handle)  # whoever swept took it before it was locked

    def rename(self, path: Path) -> None:
        """Gives the file its name. From then on others may lock it too, together with this process."""
        os.replace(self.path, path)
        lock(self.handle, fcntl.LOCK_SH)

    def close(self, *raised: object) -> None:
        """Removes the file unless it was renamed."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        if self.handle >= 0:
            os.close(self.handle)
        self.handle = -1

    def __enter__(self) -> File:
        return self

    __exit__ = close


class Folder:
    """A new folder for temporary files, `path`, locked by this process and removed by `close`, at the end of a `with`
    block, when nobody refers to it any more, or when the interpreter ends.

    purpose  a word for its name, of small letters
    """

    def __init__(self, purpose: str):
        above = Path(tempfile.gettempdir())
        _sweep_once(os.path.abspath(above), os.getpid())
        while True:
            self.path = above / f"grailbench-{purpose}-{_mark()}"
            self.path.mkdir(mode=0o700)
            try:
                handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                continue  # whoever swept took it before it was locked
            if lock(handle) is not False and os.fstat(handle).st_nlink and self.path.is_dir():
                break
            os.close(handle)
        self.close = weakref.finalize(self, _remove, self.path, handle, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *raised: object) -> None:
        self.close()


def _remove(path: Path, handle: int, owner: int) -> None:
    if os.getpid() == owner:  # a process that was forked meanwhile removes nothing
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


# ------------------------------------------------------------------ sweeping


@lru_cache(1_000)  # a process that runs for weeks writes into ever new ones
def _sweep_once(folder: str, process: int) -> None:
    sweep(Path(folder))


def sweep(folder: Path, dry: bool = False) -> list[tuple[Path, int]]:
    """Removes what is stale in a folder: temporary files, and folders of our own. Returns what it removed, by path, and
    how many bytes each had.

    dry  only list it

    What cannot be read or removed stays, without a word.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = []
    for name in names:
        if match := _FOLDER.fullmatch(name) or _FILE.fullmatch(name):
            with suppress(OSError):
                found += _removed(folder / name, match[1], dry, whole=match.re is _FOLDER)
    return found


def _removed(path: Path, mark: str, dry: bool, whole: bool) -> Iterator[tuple[Path, int]]:
    """Removes a file, or if `whole` a folder, if it is stale."""
    handle = os.open(path, (os.O_RDONLY | os.O_DIRECTORY if whole else os.O_RDWR) | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(handle)
        mine = found.st_uid == os.geteuid() or not whole
        kind = stat.S_ISDIR if whole else stat.S_ISREG
        there = kind(found.st_mode) and os.path.samestat(found, os.lstat(path))
        if mine and there and _stale(handle, path, mark):
            size = size_of(path)
            if not dry:
                shutil.rmtree(path, ignore_errors=True) if whole else path.unlink()
            yield path, size
    finally:
        os.close(handle)


def _stale(handle: int, path: Path, mark: str) -> bool:
    """Whether the process that made an open file or folder is gone. If so, the handle has its lock."""
    if (locked := lock(handle)) is False:
        return False
    if locked and mark == boot():
        return True
    written = max(each.lstat().st_mtime for each in _within(path))
    with tempfile.TemporaryFile(dir=path.parent) as probe:  # has the time of the file system
        age = os.fstat(probe.fileno()).st_mtime - written
    return age > (QUIET_FOLDER_S if path.is_dir() else QUIET_S)


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files in a folder; what is gone meanwhile does not count."""
    size = 0
    for each in _within(path):
        with suppress(OSError):
            found = each.lstat()
            size += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return size


def _within(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        yield from path.rglob("*")
