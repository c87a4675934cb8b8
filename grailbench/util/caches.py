"""The caches of this machine: what each folder holds, who uses it now, their bound, and what may be removed.

An entry is what this program wrote, by its name, its note or its content; other files in a cache are left alone.

Whatever can be had again counts towards one bound: when something is added that makes it more, what was used longest
ago is removed first, never what a running process uses. Graphs that were imported, and measured limits, are kept: only
their owner removes them. Compiled kernels have a bound of their own (`kernelcache.STATES`).

A process that uses an entry says so in a file of its own, `using/<mark>.txt`, on which it holds a lock as long as it
runs. Who removes entries holds `using/lock` meanwhile, and so does who begins to use one, with others. The file of a
process that was killed is removed by the next that begins or ends.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import logging
import os
import re
import struct
import threading
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from grailbench.errors import InputError
from grailbench.util import kernelcache, memory, paths, temporary
from grailbench.util.records import opened
from grailbench.util.words import count, decimal_size

SIZE = "GRAILBENCH_CACHE_SIZE"  #: the variable that sets the bound
USUAL = 64_000_000_000  #: bytes of what can be had again, where the variable is not set
_UNBOUND = "none"
_USING, _LOCK = "using", "lock"
_USER = re.compile(r"[0-9a-f]{8}-\d+-[0-9a-f]{8}\.txt")  # the file of a process that uses entries
_MOST_META = 1 << 20  # bytes of what a stored graph says of itself
_DAMAGED = (
    OSError, ValueError, LookupError, AttributeError, RuntimeError, EOFError, struct.error, zlib.error,
    zipfile.BadZipFile,
)  # fmt: skip
_LOOK_S = 60.0  # what other processes added is counted again after so many seconds

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kind:
    """A folder of the cache.

    what   what it holds, in words
    names  a pattern of the names of entries
    again  how an entry can be had again; '' if entries are kept
    noted  whether each has a note with a checksum beside it, NAME.json
    stored whether each is a stored graph, with metadata in it
    """

    name: str
    what: str
    names: str
    again: str
    noted: bool = False
    stored: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind("downloads", "archives as downloaded", r".+", "fetched again", noted=True),
        Kind("graphs", "graph files of the registry", r".+", "fetched again", noted=True),
        Kind("imported", "graphs that were imported", r".+\.npz", "", stored=True),
        Kind("generated", "graphs that were generated", r".+\.npz", "generated again", stored=True),
        Kind("dags", "condensed graphs", r"[0-9a-f]{64}-v\d+\.npz", "condensed again"),
        Kind("queries", "queries and the oracle's answers", r"[0-9a-f]{16}-.+\.npz", "drawn and answered again"),
        Kind("texts", "graphs as text", r"[0-9a-f]{16}\.[a-z]+", "written again"),
        Kind("limits", "measured limits of machines", r"[0-9a-f]{16}(-quick)?\.json", ""),
    )
}
KERNELS = "kernels"


@dataclass(frozen=True)
class Entry:
    """One thing in a cache.

    kind    a key of `KINDS`, or `KERNELS`
    path    what it is; of a note that is alone, the file that it is about, which may come at any moment
    files   the paths that are removed with it, its own first; a note goes with its file, whether both are there or not
    bytes   of all of them
    used    when it was last used or written, in ns since 1970
    again   whether it can be had again, and so counts towards the bound
    """

    kind: str
    path: Path
    files: tuple[Path, ...]
    bytes: int
    used: int
    again: bool


# ------------------------------------------------------------------ what there is


def entries() -> list[Entry]:
    """Every entry of the cache, by kind and name; compiled kernels are not among them."""
    return [entry for kind in KINDS.values() for entry in _of(kind)]


def _of(kind: Kind) -> Iterator[Entry]:
    folder = paths.cache_dir() / kind.name
    try:
        names = sorted(filter(re.compile(kind.names, re.DOTALL).fullmatch, os.listdir(folder)))
    except OSError:
        return
    notes = {name for name in names if kind.noted and name.endswith(".json")}
    for name in names:
        path = there = folder / name
        if name in notes and (name.removesuffix(".json") in names or not path.is_file()):
            continue
        if name in notes and f"{name}.json" not in notes:  # of a fetch that was killed, or that goes on
            path = path.with_suffix("")
        files = (path, path.with_name(f"{path.name}.json")) if kind.noted else (path,)
        if kind.noted and not _is_note(files[1]):
            continue
        meta = _meta(path) if kind.stored else {}
        if kind.stored and meta.get("kind") != "graph":
            continue
        with suppress(OSError):  # another process removed it
            found = there.stat()
            size = sum(temporary.size_of(each) for each in files)
            used = max(found.st_atime_ns, found.st_mtime_ns)
            again = bool(kind.again) and (not kind.stored or meta.get("by_name") is True)  # its name says all of it
            yield Entry(kind.name, path, files, size, used, again)


def _is_note(path: Path) -> bool:
    """Whether a file is the note that is written of something that was fetched."""
    try:
        with open(path, "rb", opener=_unnoticed) as file:
            return not opened(file.read(_MOST_META))[0].keys().isdisjoint(("sha256", "archive_sha256"))
    except (OSError, ValueError):
        return False


def _meta(path: Path) -> dict[str, object]:
    """The metadata of a stored graph; empty if there are none, or they are damaged."""
    try:
        with (
            open(path, "rb", opener=_unnoticed) as file,
            zipfile.ZipFile(file) as archive,
            archive.open("meta.json") as member,
        ):
            found = json.loads(member.read(_MOST_META))  # a damaged directory may say any size
    except _DAMAGED:
        return {}
    return found if isinstance(found, dict) else {}


def _unnoticed(path: str, flags: int) -> int:
    """Opens a file without setting its time of last use, if it is ours and the system can."""
    try:
        return os.open(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        return os.open(path, flags)


def kernels() -> list[Entry]:
    """The folders of compiled kernels, of this state of the code and of former ones."""
    found = []
    for path in kernelcache.folders():
        with suppress(OSError):
            used = max(path.stat().st_atime_ns, path.stat().st_mtime_ns)
            found.append(Entry(KERNELS, path, (path,), temporary.size_of(path), used, True))
    return found


# ------------------------------------------------------------------ the bound


def bound() -> int | None:
    """The most bytes of entries that can be had again; None for no bound. Raises InputError if the variable is no
    size."""
    said = os.environ.get(SIZE, "").strip()
    if said.casefold() == _UNBOUND:
        return None
    try:
        return memory.parsed(said) if said else USUAL
    except InputError:
        raise InputError(f"{SIZE} is {said!r}", remedy=f"a size, such as 20GB, or {_UNBOUND} for no bound") from None


@dataclass
class _Seen:
    """How much there was when this process looked last, with what it added since."""

    folder: Path | None = None
    bytes: int = 0
    at: float = 0.0


_seen = _Seen()


def keep_bound(path: Path) -> None:
    """Sees to the bound after a file was added to the cache: removes what was used longest ago, says so in one line.

    Raises InputError if the variable of the bound is no size; what was added stays.
    """
    most, folder = bound(), paths.cache_dir()
    if most is None or not path.is_relative_to(folder):
        return
    fresh = _seen.folder == folder and time.monotonic() - _seen.at < _LOOK_S
    if fresh:
        with suppress(OSError):
            _seen.bytes += path.stat().st_size
    if not fresh or _seen.bytes > most:
        again = [entry for entry in entries() if entry.again]
        _seen.folder, _seen.at, _seen.bytes = folder, time.monotonic(), sum(entry.bytes for entry in again)
    if _seen.bytes <= most:
        return
    gone = remove(least_used(again, most, {path}))
    if gone:
        _seen.bytes -= sum(entry.bytes for entry in gone)
        _log.warning(
            "the cache was above its bound of %s: removed %s that can be had again, %s, used longest ago (%s sets it)",
            decimal_size(most), count(len(gone), "entry"),
            decimal_size(sum(entry.bytes for entry in gone)), SIZE,
        )  # fmt: skip


def least_used(found: Iterable[Entry], most: int, spared: Iterable[Path] = ()) -> list[Entry]:
    """Those entries, used longest ago first, without which the others are within the bound. A running process's, and
    those that are `spared`, are not among them."""
    found = [entry for entry in found if entry.again]
    kept = in_use() | set(spared)
    size, gone = sum(entry.bytes for entry in found), []
    for entry in sorted(found, key=lambda entry: (entry.used, str(entry.path))):
        if size <= most:
            break
        if entry.path not in kept:
            gone.append(entry)
            size -= entry.bytes
    return gone


def remove(found: Iterable[Entry], dry: bool = False) -> list[Entry]:
    """Removes entries that no running process uses. Returns those; what cannot be removed stays and is not among them.

    dry  only tell which would be
    """
    gone = []
    with _removing():
        kept = in_use()
        for entry in found:
            if entry.path in kept:
                continue
            with suppress(OSError):
                if not dry:
                    for file in entry.files:
                        file.unlink(missing_ok=True)
                gone.append(entry)
    return gone


def left_behind(dry: bool = False) -> list[temporary.Leftover]:
    """Removes stale temporary files of the cache and stale temporary folders of the system; see `temporary`.

    dry  only tell which would be
    """
    cache = paths.cache_dir()
    found = [left for kind in KINDS for left in temporary.sweep(cache / kind, dry)]
    return [*found, *temporary.sweep(cache, dry), *temporary.sweep(Path(gettempdir()), dry)]


# ------------------------------------------------------------------ who uses what


class _Register:
    """The file in which this process says what it uses."""

    def __init__(self):
        self.folder, self.owner, self.handle, self.said = None, 0, -1, set()
        self.renew()

    def renew(self) -> None:
        """Forgets which thread is at it: after a fork that one is not here."""
        self._one = threading.Lock()

    def say(self, folder: Path, path: Path) -> None:
        """Adds a path of the cache `folder`. Raises OSError if that cannot be written."""
        with self._one:
            if (self.folder, self.owner) != (folder, os.getpid()):
                self._begin(folder)
            if path not in self.said:
                os.write(self.handle, os.fsencode(path.relative_to(folder)) + b"\0")
                self.said.add(path)

    def _begin(self, folder: Path) -> None:
        if self.handle >= 0 and self.owner == os.getpid():
            os.close(self.handle)  # of another cache
        self.handle = -1
        _forget_the_gone(folder)
        while self.handle < 0:
            path = folder / _USING / f"{temporary.boot()}-{os.getpid()}-{os.urandom(4).hex()}.txt"
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            if temporary.lock(handle) and os.fstat(handle).st_nlink:
                self.handle = handle
            else:
                os.close(handle)  # another process took it for one of a process that is gone, before it was locked
        atexit.register(_withdraw, path, os.getpid())
        self.folder, self.owner, self.said = folder, os.getpid(), set()


def _withdraw(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        _forget_the_gone(path.parent.parent)  # processes of cells are killed when they have nothing more to do


def _forget_the_gone(folder: Path) -> None:
    """Removes what processes said that are gone."""
    for left in _users(folder):
        _readers(left)


_register = _Register()
os.register_at_fork(after_in_child=lambda: _register.renew())


def use(path: Path, coming: bool = False) -> None:
    """Says that this process uses an entry of the cache, if it is there, from now on until the process ends: nobody
    removes it meanwhile. Call it before looking whether the entry is there. Where the cache cannot be written, nobody
    removes anything.

    coming  whether the entry is about to be made, and need not be there
    """
    folder = paths.cache_dir()
    if not path.is_relative_to(folder) or not (coming or path.exists()):
        return
    with suppress(OSError):
        (folder / _USING).mkdir(exist_ok=True)
        with _locked(folder, fcntl.LOCK_SH):
            if coming or path.exists():
                _register.say(folder, path)
    with suppress(OSError):
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def in_use() -> set[Path]:
    """The entries that running processes use, this one among them."""
    folder = paths.cache_dir()
    found: set[Path] = set()
    for each in _users(folder):
        found |= {folder / os.fsdecode(name) for name in _readers(each).split(b"\0") if name}
    return found


def _users(folder: Path) -> list[Path]:
    """The files of processes that use entries of a cache."""
    return sorted(each for each in (folder / _USING).glob("*.txt") if _USER.fullmatch(each.name))


def _readers(path: Path) -> bytes:
    """What a process said that it uses; nothing if it is gone, and its file is then removed."""
    try:
        said = path.read_bytes()
        return b"" if temporary.remove_stale(path, path.name.partition("-")[0]) else said
    except OSError:
        return b""


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    handle = os.open(folder / _USING / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


@contextmanager
def _removing() -> Iterator[None]:
    folder = paths.cache_dir()
    try:
        lock = _locked(folder, fcntl.LOCK_EX)
        lock.__enter__()
    except OSError:
        yield
        return
    try:
        yield
    finally:
        lock.__exit__(None, None, None)
