"""Temporary files and folders: their names, the lock that their process holds on them, and the removal of stale ones.

One is stale when the process that made it is gone. That process holds a lock (flock) on it from before anybody can see
it until it is renamed or removed, and the system releases the lock with the process, however that ends; numbers of
processes, which are given out again, and clocks, which are set, decide nothing. The name has a mark of this start of
the system. Where the mark is another one, on a file system that other machines may share, or where there are no locks,
one is stale only if nothing was written to it for a long time, by the clock of that file system.

Each folder that gets a temporary file is swept once by each process that puts one there.
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
from dataclasses import dataclass
from functools import cache
from pathlib import Path

QUIET_S = 24 * 3600  #: a file that nobody can lock is stale when it was not written to for this long
QUIET_FOLDER_S = 7 * QUIET_S  #: the same of a folder, whose files may be read for days
_LONGEST = 40  # characters of a name that its temporary file shows: names have at most 255 bytes
_FILE = re.compile(r"\..*\.([0-9a-f]{8})-\d+-[0-9a-f]{8}\.tmp", re.DOTALL)
_FOLDER = re.compile(r"grailbench-[a-z]+-([0-9a-f]{8})-\d+-[0-9a-f]{8}")
#: file systems that no other machine writes to
_OWN = {"apfs", "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "hfs", "jfs", "overlay", "ramfs", "tmpfs",
        "vfat", "xfs", "zfs"}  # fmt: skip
_swept: set[tuple[int, str]] = set()
_MOST_SWEPT = 1_000  # folders that are remembered: a process that runs for weeks writes into ever new ones


@dataclass(frozen=True)
class Leftover:
    """A file or folder that a process left, and its size in bytes."""

    path: Path
    bytes: int


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


# ------------------------------------------------------------------ files


def name_beside(path: Path) -> Path:
    """A new name for a temporary file in the folder of a path."""
    return path.with_name(f".{path.name[-_LONGEST:]}.{_mark()}.tmp")


def lock(handle: int) -> bool:
    """Locks a file or folder for as long as it is open; False if somebody else has the lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # there are no locks here: age decides
    return True


def new_beside(path: Path) -> tuple[Path, int]:
    """A new empty file in the folder of a path, opened and locked. Raises OSError, which names the path, if it cannot
    be made."""
    while True:
        made = name_beside(path)
        try:
            handle = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            error.filename = str(path)
            raise
        if lock(handle) and os.fstat(handle).st_nlink:
            return made, handle
        os.close(handle)  # whoever swept took it before it was locked


class File:
    """A new empty file beside `path` that others may write to by its name, `.path`; it is locked until `close`.

    Raises OSError if it cannot be made.
    """

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep_once(path.parent)
        self.path, self.handle = new_beside(path)

    def close(self) -> None:
        """Removes the file unless it was renamed."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)
        if self.handle >= 0:
            os.close(self.handle)
        self.handle = -1


@contextmanager
def locked(handle: int) -> Iterator[None]:
    """Holds the lock of an open file until the block ends, also if the file is closed before."""
    held = os.dup(handle)
    try:
        lock(held)
        yield
    finally:
        os.close(held)


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Locks a folder until the block ends; whoever else does so waits meanwhile. Where there are no locks, nobody
    waits. Raises OSError if the folder cannot be opened."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# ------------------------------------------------------------------ folders


class Folder:
    """A new folder for temporary files, `path`, locked by this process and removed by `close`, at the end of a `with`
    block, when nobody refers to it any more, or when the interpreter ends.

    purpose  a word for its name, of small letters
    """

    def __init__(self, purpose: str):
        above = Path(tempfile.gettempdir())
        sweep_once(above)
        while True:
            self.path = above / f"grailbench-{purpose}-{_mark()}"
            self.path.mkdir(mode=0o700)
            try:
                handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            except FileNotFoundError:
                continue  # whoever swept took it before it was locked
            if lock(handle) and os.fstat(handle).st_nlink and self.path.is_dir():
                break
            os.close(handle)
        self._end = weakref.finalize(self, _remove, self.path, handle, os.getpid())

    @property
    def name(self) -> str:
        """The path as text."""
        return str(self.path)

    def close(self) -> None:
        """Removes the folder with all that is in it."""
        self._end()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *raised: object) -> None:
        self.close()


def _remove(path: Path, handle: int, owner: int) -> None:
    if os.getpid() == owner:  # a process that was forked meanwhile removes nothing
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


# ------------------------------------------------------------------ sweeping


def sweep_once(folder: Path) -> None:
    """Sweeps a folder unless this process did so before."""
    key = (os.getpid(), os.path.abspath(folder))
    if key not in _swept:
        if len(_swept) >= _MOST_SWEPT:
            _swept.clear()
        _swept.add(key)
        sweep(folder)


def sweep(folder: Path, dry: bool = False) -> list[Leftover]:
    """Removes what is stale in a folder: temporary files, and folders of our own. Returns what it removed.

    dry  only tell what would be removed

    What cannot be read or removed stays, without a word.
    """
    found = []
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return []
    for name in sorted(names):
        if name.startswith("grailbench-") and (match := _FOLDER.fullmatch(name)):
            found.append(_swept_one(folder / name, match[1], dry, whole=True))
        elif name.startswith(".") and (match := _FILE.fullmatch(name)):
            found.append(_swept_one(folder / name, match[1], dry, whole=False))
    return [left for left in found if left is not None]


def _swept_one(path: Path, mark: str, dry: bool, whole: bool) -> Leftover | None:
    """Removes a file, or if `whole` a folder, if it is stale; None if it is not."""
    try:
        handle = os.open(path, (os.O_RDONLY | os.O_DIRECTORY if whole else os.O_RDWR) | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        found, now = os.fstat(handle), os.lstat(path)
        mine = found.st_uid == os.geteuid() or not whole
        kind = stat.S_ISDIR if whole else stat.S_ISREG
        if not mine or not kind(found.st_mode) or (found.st_dev, found.st_ino) != (now.st_dev, now.st_ino):
            return None
        if not _stale(handle, path, mark, whole):
            return None
        left = Leftover(path, size_of(path))
        if not dry:
            _take_away(path, whole)
        return left
    except OSError:
        return None
    finally:
        os.close(handle)


def remove_stale(path: Path, mark: str) -> bool:
    """Removes a file, whose process holds a lock on it, if it is stale; `mark` is the `boot` of that process. Returns
    whether it is gone."""
    return _swept_one(path, mark, dry=False, whole=False) is not None


def _take_away(path: Path, whole: bool) -> None:
    if whole:
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


def _stale(handle: int, path: Path, mark: str | None, whole: bool) -> bool:
    """Whether the process that made an open file or folder is gone. If so, the handle has its lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        mark = None
    if mark is not None and (mark == boot() or file_system(path) in _OWN):
        return True
    return _age(path) > (QUIET_FOLDER_S if whole else QUIET_S)


def _age(path: Path) -> float:
    """Seconds since something was written to a file, or into a folder, by the clock of its file system."""
    written = max(each.lstat().st_mtime for each in _within(path))
    with tempfile.TemporaryFile(dir=path.parent) as probe:
        return os.fstat(probe.fileno()).st_mtime - written


def file_system(path: Path) -> str:
    """The type of the file system that a path is on, such as 'ext4'; '' if it is not known."""
    import psutil  # here, as few need it

    best, kind = -1, ""
    where = os.path.realpath(path)
    with suppress(OSError, psutil.Error):
        for each in psutil.disk_partitions(all=True):
            root = each.mountpoint.rstrip("/") + "/"
            if len(root) > best and f"{where}/".startswith(root):
                best, kind = len(root), each.fstype
    return kind


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
