"""The caches of this machine: what each folder holds, who uses it now, their bound, and what may be removed.

An entry is what this program wrote, by its name, its note or its content; other files in a cache are left alone. A
process that uses an entry holds a lock on it (flock, together with others), which ends with the process. Above the
bound, of what can be had again, that which was used longest ago is removed first.
"""

import fcntl
import json
import logging
import os
import re
import time
import zipfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import IO

from grailbench.errors import InputError
from grailbench.util import kernelcache, memory, paths, temporary
from grailbench.util.files import FAULTS
from grailbench.util.records import opened
from grailbench.util.words import count, decimal_size

SIZE = "GRAILBENCH_CACHE_SIZE"  #: the variable that sets the bound
USUAL = 64_000_000_000  #: bytes of what can be had again, where the variable is not set
_MOST_USED = 32  # entries that a process holds locks on, the last it used: a process may open few files
_MOST_META = 1 << 20  # bytes of what a stored graph says of itself

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kind:
    """A folder of the cache.

    what   what it holds, in words
    names  a pattern of the names of entries; '' if each has a note with a checksum beside it, NAME.json, instead
    again  how an entry can be had again; '' if entries are kept
    stored whether each is a stored graph, with metadata in it
    """

    name: str
    what: str
    names: str
    again: str
    stored: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        Kind("downloads", "archives as downloaded", "", "fetched again"),
        Kind("graphs", "graph files of the registry", "", "fetched again"),
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

    kind    a key of `KINDS`, `KERNELS`, or 'temporary'
    files   the paths that are removed together: the file, and its note if it has one; a note may be alone
    bytes   of all of them
    used    when it was last used or written, in ns since 1970
    again   whether it can be had again, and so counts towards the bound
    """

    kind: str
    files: tuple[Path, ...]
    bytes: int
    used: int
    again: bool

    @property
    def path(self) -> Path:
        """The path that stands for the entry."""
        return self.files[0]


# ------------------------------------------------------------------ what there is


def entries() -> list[Entry]:
    """Every entry of the cache, by kind and name; compiled kernels are not among them."""
    found = []
    for kind in KINDS.values():
        folder = paths.cache_dir() / kind.name
        for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
            with suppress(OSError):  # another process removed it
                found += _entry(kind, folder / name)
    return found


def _entry(kind: Kind, path: Path) -> Iterator[Entry]:
    """The entry that a file is, or whose note it is; none of a file that this program did not write."""
    files, again = (path,), bool(kind.again)
    if not kind.names:
        if path.suffix != ".json" or not _is_note(path):
            return
        about = path.with_suffix("")
        files = (about, path) if about.exists() else (path,)  # a note that is alone is of a fetch that was killed
    elif not re.fullmatch(kind.names, path.name):
        return
    elif kind.stored:
        meta = _meta(path)
        if meta.get("kind") != "graph":
            return
        again = again and meta.get("by_name") is True  # its name says all of it
    yield Entry(kind.name, files, sum(map(temporary.size_of, files)), _used(files[0]), again)


def _used(path: Path) -> int:
    found = path.stat()
    return max(found.st_atime_ns, found.st_mtime_ns)


def _is_note(path: Path) -> bool:
    """Whether a file is the note that is written of something that was fetched."""
    try:
        with open(path, "rb") as file:
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
    except FAULTS:
        return {}
    return found if isinstance(found, dict) else {}


def _unnoticed(path: str, flags: int) -> int:
    """Opens a file without setting its time of last use, if the system can."""
    try:
        return os.open(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        return os.open(path, flags)


def kernels() -> list[Entry]:
    """The folders of compiled kernels, one for each state of a module's code."""
    found = []
    for path in kernelcache.folders():
        with suppress(OSError):
            found.append(Entry(KERNELS, (path,), temporary.size_of(path), _used(path), True))
    return found


# ------------------------------------------------------------------ the bound


def bound() -> int | None:
    """The most bytes of entries that can be had again; None for no bound. Raises InputError if the variable is no
    size."""
    value = os.environ.get(SIZE, "").strip()
    if value.casefold() == "none":
        return None
    try:
        return memory.parsed(value) if value else USUAL
    except InputError:
        raise InputError(f"{SIZE} is {value!r}", remedy="a size, such as 20GB, or none for no bound") from None


def added(path: Path) -> None:
    """Says that this process added a file to the cache, and uses it; see `use`. If that is above the bound, what was
    used longest ago is removed, with one line of warning.

    Raises InputError if the variable of the bound is no size; what was added stays.
    """
    use(path)
    most = bound()
    if most is None or not path.is_relative_to(paths.cache_dir()):
        return
    if gone := remove(least_used(entries(), most)):
        _log.warning(
            "the cache was above its bound of %s: removed %s that can be had again, %s, used longest ago (%s sets it)",
            decimal_size(most), count(len(gone), "entry"), decimal_size(sum(entry.bytes for entry in gone)), SIZE,
        )  # fmt: skip


def least_used(found: Iterable[Entry], most: int) -> list[Entry]:
    """Those entries, used longest ago first, without which the others are within the bound. What a running process
    uses is not among them."""
    found = [entry for entry in found if entry.again]
    size, gone = sum(entry.bytes for entry in found), []
    for entry in sorted(found, key=lambda entry: (entry.used, str(entry.path))):
        if size <= most:
            break
        if not in_use(entry.path):
            gone.append(entry)
            size -= entry.bytes
    return gone


def remove(found: Iterable[Entry], dry: bool = False) -> list[Entry]:
    """Removes entries that no running process uses. Returns those; what cannot be removed stays and is not among them.

    dry  only list them
    """
    gone = []
    for entry in found:
        with suppress(OSError), _alone(entry.path) as alone:
            for file in entry.files if alone and not dry else ():
                file.unlink(missing_ok=True)
            if alone:
                gone.append(entry)
    return gone


def left_behind(dry: bool = False) -> list[Entry]:
    """Removes stale temporary files of the cache and stale temporary folders of the system; see `temporary.sweep`.

    dry  only list them
    """
    cache = paths.cache_dir()
    folders = [*(cache / kind for kind in KINDS), cache, Path(gettempdir())]
    swept = (each for folder in folders for each in temporary.sweep(folder, dry))
    return [Entry("temporary", (path,), size, 0, False) for path, size in swept]


# ------------------------------------------------------------------ who uses what

_in_use: OrderedDict[Path, IO[bytes]] = OrderedDict()  # the entries that this process used last, open and locked


def use(path: Path) -> None:
    """Says that this process uses an entry of the cache, if it is there, from now on until the process ends: nobody
    removes it meanwhile. Call it before looking whether the entry is there."""
    if not path.is_relative_to(paths.cache_dir()):
        return
    with suppress(OSError):  # it is not there
        file = open(path, "rb", opener=_unnoticed)  # noqa: SIM115 - until the process ends
        temporary.lock(file.fileno(), fcntl.LOCK_SH)
        if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            return use(path)  # it was replaced meanwhile
        _in_use[path] = file
        if len(_in_use) > _MOST_USED:
            _in_use.popitem(last=False)
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def let_go(path: Path) -> None:
    """Says that this process uses an entry no more."""
    if (file := _in_use.pop(path, None)) is not None:
        file.close()


def in_use(path: Path) -> bool:
    """Whether a running process uses an entry, this one or another."""
    with suppress(OSError), _alone(path) as alone:
        return not alone
    return False


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Has the lock of an entry that no process uses until the block ends; gives False if one does. Raises OSError if it
    is not there."""
    with open(path, "rb", opener=_unnoticed) as file:
        locked = temporary.lock(file.fileno())
        if locked is None:  # there are no locks here
            locked = time.time_ns() - _used(path) > temporary.QUIET_S * 10**9
        yield locked and os.path.samestat(os.fstat(file.fileno()), path.stat())  # else it was replaced meanwhile
