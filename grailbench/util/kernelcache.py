"""The folders of this package's compiled kernels in numba's cache, so that an outdated kernel is never run.

numba compiles a kernel anew when its own file changes, but not when another file does whose function is inlined or
whose constant is read. So the name of a folder has a hash of the files with the code of its kernels, and of all files
of this package that these import, at any depth. `adopt` puts our locator in front of those that numba asks for the
folder of a function; it answers for files of this package alone, and not if `NUMBA_CACHE_DIR` is set.

numba also numbers the entries of a function, and gives two processes that compile it at once for different arguments
the same number. So here an entry is named by a hash of what it was compiled for. Of several processes that need a
kernel one compiles it, and the others wait for it (`_waits`).
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType

from grailbench.errors import InputError
from grailbench.util import memory, paths, temporary

STATES = 4  #: of a module's code whose compiled kernels stay: this one, and those used last before
LONGEST_S = 60  #: that a process waits for another that compiles a kernel, which may have been stopped
_POLL_S = 0.01
_OTHER = "NUMBA_CACHE_DIR names one"
compiled = 0  #: kernels that this process compiled and kept
on_first: Callable[[], None] | None = None  #: called once, when a kernel is found in no cache and is to be compiled
_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDER = "grailbench-kernels"
_STATE = re.compile(r"(.+)-([0-9a-f]{12})")  # the folder of a module: its name, and the digest of its code
_temporary: list[temporary.Folder] = []  # where no folder can be written
_log = logging.getLogger(__name__)
_CACHING, _LOADING = os.path.join("core", "caching.py"), ("_load_overload", "_load_index", "_load_data")
_IMPORT = re.compile(rb"^ *from grailbench(?:\.([\w.]+))? import (\([^)]*\)|.*)", re.MULTILINE)


# ------------------------------------------------------------------ what a kernel depends on


def files_of(function) -> frozenset[Path]:
    """The files of this package with the code of a function, and of functions that it closes over, at any depth: what
    makes kernels of functions need not import these."""
    seen, todo = {}, [function]
    while todo:
        each = todo.pop()
        each = getattr(each, "py_func", each)
        if isinstance(each, tuple):
            todo += each
        elif isinstance(each, FunctionType) and id(each) not in seen:
            seen[id(each)] = Path(each.__code__.co_filename)
            for cell in each.__closure__ or ():
                with suppress(ValueError):  # it is empty: of a function that calls itself
                    todo.append(cell.cell_contents)
    return frozenset(path for path in seen.values() if path.is_relative_to(_PACKAGE))


@functools.cache
def digest(files: frozenset[Path]) -> str:
    """A short hash of files of this package and of all files of it that these import, and those import."""
    found, todo = set(), files
    while todo:
        found |= todo
        todo = {each for path in todo for each in _read(path)[1]} - found
    content = hashlib.sha256()
    for path in sorted(found):
        content.update(b"%s\0%s\0" % (os.fsencode(path.relative_to(_PACKAGE)), _read(path)[0]))
    return content.hexdigest()[:12]


@functools.cache
def _read(path: Path) -> tuple[bytes, frozenset[Path]]:
    """The digest of a file, and the files of this package that it imports: `from grailbench.a import b` names a.py,
    a/__init__.py and a/b.py."""
    text, found = path.read_bytes(), set()
    for module, names in _IMPORT.findall(text):
        at = _PACKAGE.joinpath(*module.decode().split("."))
        inside = (at / name for name in re.findall(r"\w+", names.decode()))
        found |= {file for each in (at, *inside) for file in (each.with_suffix(".py"), each / "__init__.py")}
    return hashlib.sha256(text).digest(), frozenset(filter(Path.is_file, found))


# ------------------------------------------------------------------ folders


def _places() -> Iterator[Path]:
    yield _PACKAGE / "__pycache__" / _FOLDER
    yield paths.user_cache() / _FOLDER


@functools.cache
def folder() -> Path:
    """The folder of all compiled kernels: in the package, or else in the user's cache, or else, with a warning, a
    temporary one of this process. Raises InputError if none can be written."""
    for found in _places():
        with suppress(OSError):
            found.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=found).close()
            return found
    neither = f"neither {' nor '.join(map(str, _places()))}"
    try:
        _temporary.append(temporary.Folder("kernels"))
    except OSError:
        raise InputError(
            f"no folder for compiled kernels: {neither} nor TMPDIR can be written", remedy=_OTHER
        ) from None
    _log.warning(
        "compiled kernels cannot be kept, as %s can be written: each process compiles them again (NUMBA_CACHE_DIR "
        "names a folder for them)", neither,
    )  # fmt: skip
    return _temporary[-1].path


def lasting_folder() -> Path:
    """The folder where later processes find compiled kernels: that of `NUMBA_CACHE_DIR`, or ours. Raises InputError if
    it cannot be written."""
    from numba.core import config

    found = Path(config.CACHE_DIR) if config.CACHE_DIR else folder()
    try:
        found.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=found).close()
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path=found, remedy=_OTHER) from None
    if _temporary:
        raise InputError("no folder can keep compiled kernels", remedy=_OTHER)
    return found


def folders() -> list[Path]:
    """The folders of compiled kernels, one for each state of a module's code, those that were used last first."""
    found = []
    for path in (path for where in _places() for path in where.glob("*-*")):
        with suppress(OSError):  # another process removed it
            if _STATE.fullmatch(path.name) and path.is_dir():
                found.append((path.stat().st_mtime, path))
    return [path for _, path in sorted(found, reverse=True)]


def former(states: int = 1) -> list[Path]:
    """Those of former states of the code: for each module, all but so many states, those used last."""
    seen: Counter[str] = Counter()
    found = []
    for path in folders():
        module = path.name.rpartition("-")[0]
        seen[module] += 1
        if seen[module] > states:
            found.append(path)
    return found


class Locator:
    """Tells numba where the cache entries of one function are; its methods are those of `numba.core.caching`."""

    def __init__(self, function, file: str):
        self._py_file = file  # numba reads it for its warnings
        self._line = function.__code__.co_firstlineno
        files = files_of(function)
        modules = "+".join(sorted(".".join(each.relative_to(_PACKAGE).with_suffix("").parts) for each in files))
        self._path = folder() / f"{modules}-{digest(files)}"
        with suppress(OSError):  # it is not there yet
            os.utime(self._path)

    @classmethod
    def from_function(cls, function, file: str) -> Locator | None:
        """The locator of a function of this package; None for any other function, and numba asks the next class."""
        from numba.core import config

        if config.CACHE_DIR or not Path(file).is_relative_to(_PACKAGE):
            return None
        return cls(function, file)

    def get_cache_path(self) -> str:
        """The folder of the entries."""
        return str(self._path)

    def ensure_cache_path(self) -> None:
        """Creates that folder. Of the states of its code, `STATES` stay, those used last."""
        if not self._path.exists():
            self._path.mkdir(parents=True, exist_ok=True)
            for path in former(STATES):  # a process that uses one meanwhile compiles its kernels again
                shutil.rmtree(path, ignore_errors=True)

    def get_source_stamp(self) -> str:
        """A text that changes when entries are outdated: the name of the folder, which contains the hash."""
        return self._path.name

    def get_disambiguator(self) -> str:
        """A text that distinguishes functions of the same name in one file."""
        return str(self._line)


def adopt(implementation: type | None = None) -> None:
    """Puts `Locator` in front of the locators of numba; call it before kernels are decorated.

    implementation: the class of caches that has the locators, that of kernels on the CPU if None. Raises MachineLacks
    if `ulimit` leaves too little memory to load numba.
    """
    memory.require_loadable()
    if implementation is None:
        from numba.core.caching import CompileResultCacheImpl as implementation
    if Locator not in implementation._locator_classes:
        implementation._locator_classes.insert(0, Locator)
    for cls in implementation.__mro__:
        files = getattr(sys.modules[cls.__module__], "IndexDataCacheFile", None)
        if files is not None and not hasattr(files.save, "numbered"):
            files.save, files.load = _saves_by_key(files.save), _waits(files.load)


def _saves_by_key(numbered):
    """The method by which numba writes an entry of a function, with a name that tells what it was compiled for."""

    @functools.wraps(numbered)
    def save(self, key, data) -> None:
        global compiled
        if not _ours(self):
            return numbered(self, key, data)
        compiled += 1
        try:
            name = self._data_name(int(_hash(self, key), 16))
            self._save_data(name, data)  # before the index, which another process may read at once
            overloads = self._load_index()
            if overloads.get(key) != name:
                self._save_index(overloads | {key: name})
        finally:
            for path in [path for path in _locked if path.startswith(_locks_of(self))]:
                _release(path)  # numba-cuda may have looked for another key
        return None

    save.numbered = numbered
    return save


def _ours(files) -> bool:
    """Whether entries are in a folder of ours, or in one that the user chose."""
    from numba.core import config

    return bool(config.CACHE_DIR) or Path(files._cache_path).is_relative_to(folder())


def _hash(files, key) -> str:
    return hashlib.sha256(files._dump(key)).hexdigest()[:16]


# ------------------------------------------------------------------ several processes

_locked: dict[str, int] = {}  # the locks of kernels that this process compiles, by path


def _lock_of(files, key) -> str:
    """The file that a process locks while it compiles a kernel for some arguments."""
    return f"{_locks_of(files)}{_hash(files, key)}.lock"


def _locks_of(files) -> str:
    """How the paths of all such files of a kernel begin."""
    name = hashlib.sha256(os.fsencode(files._index_path)).hexdigest()[:16]
    return os.path.join(os.path.dirname(files._cache_path), f"{name}.")


def _waits(read):
    """The method by which numba looks for an entry of a function: where another process compiles it, it waits for that.
    Where there is none the lock is this process's, until it saves the entry."""

    @functools.wraps(read)
    def load(self, key):
        global on_first
        found = read(self, key)
        if found is not None or not _ours(self):
            return found
        path, until = _lock_of(self, key), time.monotonic() + LONGEST_S
        while path not in _locked and time.monotonic() < until:
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
            except OSError:  # the folder cannot be written
                break
            if temporary.lock(handle) is not False:
                _locked[path] = handle
                if (found := read(self, key)) is not None:  # the other process saved it just before
                    _release(path)
                    return found
                break
            os.close(handle)
            time.sleep(_POLL_S)
            if (found := read(self, key)) is not None:
                return found
        if on_first is not None:
            first, on_first = on_first, None
            first()
        return None

    load.read = read
    return load


def _release(path: str) -> None:
    """Lets go of the lock of a kernel."""
    if (handle := _locked.pop(path, None)) is not None:
        with suppress(OSError):
            os.unlink(path)
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_UN)  # a forked process may have the file too
        os.close(handle)


def forget(error: BaseException) -> bool:
    """Deletes the cache entry that caused `error`, if it was one that numba could not read; returns whether it did.

    The work that failed can then be repeated, which compiles the kernel again. numba does not check its entries, so a
    damaged one may raise anything.
    """
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code, caller = frame.f_code, frame.f_locals.get("self")
        if code.co_name in _LOADING and code.co_filename.endswith(_CACHING):
            with suppress(OSError, TypeError):
                os.unlink(getattr(getattr(caller, "_cache_file", caller), "_index_path", None))
                return True
            return False
    return False
