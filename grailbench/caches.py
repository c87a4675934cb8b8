"""The caches of this machine: what each folder holds, who uses it now, their bound, and what may be removed.

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

from grailbench import kernelcache, memory, paths, temporary
from grailbench.errors import InputError
from grailbench.words import count, decimal_size

SIZE = "GRAILBENCH_CACHE_SIZE"  #: the variable that sets the bound
USUAL = 64_000_000_000  #: bytes of what can be had again, where the variable is not set
_UNBOUND = "none"
_USING, _LOCK = "using", "lock"
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
    again  how an entry can be had again; '' if entries are kept
    noted  whether a file NAME.json beside NAME belongs to it
    """

    name: str
    what: str
    again: str
    noted: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind("downloads", "archives as downloaded", "fetched again", noted=True),
        Kind("graphs", "graph files of the registry", "fetched again", noted=True),
        Kind("imported", "graphs that were imported", ""),
        Kind("generated", "graphs that were generated", "generated again"),
        Kind("dags", "condensed graphs", "condensed again"),
        Kind("queries", "queries and the oracle's answers", "drawn and answered again"),
        Kind("texts", "graphs as text", "written again"),
        Kind("limits", "measured limits of machines", ""),
    )
}
KERNELS = "kernels"


@dataclass(frozen=True)
class Entry:
    """One thing in a cache.

    kind    a key of `KINDS`, or `KERNELS`
    path    what it is; of a note that is alone, the file that it is about, which may come at any moment
    files   the paths that are removed with it, its own last; a note goes with its file, whether both are there or not
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
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return
    notes = {name for name in names if kind.noted and name.endswith(".json")}
    for name in names:
        path = there = folder / name
        if name in notes and (name.removesuffix(".json") in names or not path.is_file()):
            continue
        if name in notes and f"{name}.json" not in notes:  # of a fetch that was killed, or that goes on
            path = path.with_suffix("")
        files = (path.with_name(f"{path.name}.json"), path) if kind.noted else (path,)
        with suppress(OSError):  # another process removed it
            found = there.stat()
            size = sum(temporary.size_of(each) for each in files)
            used = max(found.st_atime_ns, found.st_mtime_ns)
            yield Entry(kind.name, path, files, size, used, bool(kind.again) and _made_by_name(kind, path))


def _made_by_name(kind: Kind, path: Path) -> bool:
    """Whether the name of a generated graph is enough to generate it again; True for all others."""
    if kind.name != "generated":
        return True
    try:
        with zipfile.ZipFile(path) as archive, archive.open("meta.json") as member:
            return json.loads(member.read(_MOST_META)).get("by_name") is True  # a damaged directory may say any size
    except _DAMAGED:
        return False


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


def added(path: Path) -> None:
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
    gone = remove(over(again, most, {path}))
    if gone:
        _seen.bytes -= sum(entry.bytes for entry in gone)
        _log.warning(
            "the cache was above its bound of %s: removed %s that can be had again, %s, used longest ago (%s sets it)",
            decimal_size(most), count(len(gone), "entry").replace("entrys", "entries"),
            decimal_size(sum(entry.bytes for entry in gone)), SIZE,
        )  # fmt: skip


def over(found: Iterable[Entry], most: int, spared: Iterable[Path] = ()) -> list[Entry]:
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


def left_behind(dry: bool = False) -> list[temporary.Left]:
    """Removes stale temporary files of the cache and stale temporary folders of the system; see `temporary`.

    dry  only tell which would be
    """
    cache = paths.cache_dir()
    found = [left for kind in KINDS for left in temporary.sweep(cache / kind, dry, hidden=True)]
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
    for left in sorted((folder / _USING).glob("*.txt")):
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
    for each in (folder / _USING).glob("*.txt"):
        found |= {folder / os.fsdecode(name) for name in _readers(each).split(b"\0") if name}
    return found


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
