"""The folder of this package's compiled kernels in numba's cache, so that an outdated kernel is never run.

numba compiles a kernel anew when the kernel's own file changes. It does not notice a change in another file whose
function is inlined or whose constant is read. Therefore the name of our folder contains a hash of every file with
kernels and of the files that these import from: after any change there, kernels are compiled into a new folder.

numba numbers the entries of a function, and two processes that compile it at once for different arguments give both the
same number: one then finds the code of the other. So here an entry is named by a hash of what it was compiled for.

numba asks a list of locators where the cache entries of a function are. `adopt` puts our locator in front of that list.
It answers only for files of this package, and not if `NUMBA_CACHE_DIR` is set, so that other kernels are unaffected.
"""

from __future__ import annotations

import fcntl
import functools
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from grailbench.errors import InputError
from grailbench.util import memory, paths, temporary

STATES = 4  #: of the code whose compiled kernels are kept: this one, and those used last before
_PACKAGE = Path(__file__).resolve().parents[1]
_NAME = "kernels-"
_OURS = re.compile(rf"{_NAME}[0-9a-f]{{12}}")
_VARIABLE = "NUMBA_CACHE_DIR"
_held: list[int] = []  # the handle of the folder that this process uses
_temporary: list[temporary.Folder] = []  # where it has none
_log = logging.getLogger(__name__)
_CACHING, _LOADING = os.path.join("core", "caching.py"), ("_load_overload", "_load_index", "_load_data")
_IMPORTED = re.compile(rb"^ *from grailbench\.([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


def digest() -> str:
    """A short hash of all modules with kernels and of the modules that these import from."""
    import hashlib  # here, so that `grailbench --help` starts without it

    texts = {path: path.read_bytes() for path in sorted(_PACKAGE.rglob("*.py"))}
    kernels = {path for path, text in texts.items() if b"njit" in text or b"cuda.jit" in text}
    files = kernels | {file for path in kernels for file in _imported(texts[path])}
    found = hashlib.sha256()
    for path, text in texts.items():
        if path in files:
            found.update(text)
    return found.hexdigest()[:12]


def _imported(text: bytes):
    """The files that a module may import from this package: `from grailbench.a import b` gives a.py and a/b.py."""
    for module, names in _IMPORTED.findall(text):
        at = _PACKAGE.joinpath(*module.decode().split("."))
        yield at.with_suffix(".py")
        yield from (at / f"{name}.py" for name in re.findall(r"\w+", names.decode()))


@functools.cache
def folder() -> Path:
    """The folder of compiled kernels: in the package, or else in the user's cache, or else, with a warning, a temporary
    one of this process. Raises InputError if none can be written.

    This process then uses it until it ends. If the folder is new, those of `STATES` - 1 former states of the code stay,
    and of the others those that a running process uses.
    """
    for where in _places():
        found = where / f"{_NAME}{digest()}"
        try:
            new = not found.exists()
            _held.append(_made(found))
            tempfile.TemporaryFile(dir=found).close()
        except OSError:
            continue
        if new:
            remove(sorted(former(), key=_used)[: 1 - STATES])
        return found
    return _of_this_process()


def _of_this_process() -> Path:
    places = " nor ".join(map(str, _places()))
    try:
        made = temporary.Folder("kernels")
    except OSError:
        remedy = f"{_VARIABLE} names a folder for them"
        raise InputError(
            f"compiled kernels cannot be kept: neither {places} nor TMPDIR can be written", remedy=remedy
        ) from None
    _temporary.append(made)
    _log.warning(
        "compiled kernels cannot be kept, as neither %s can be written: each process compiles them again (%s names a "
        "folder for them)", places, _VARIABLE,
    )  # fmt: skip
    return made.path


def _places() -> Iterator[Path]:
    yield _PACKAGE / "__pycache__"
    yield paths.user_cache()


def _made(found: Path) -> int:
    """Makes the folder, and returns a handle of it, open and locked together with others who use it."""
    while True:
        found.mkdir(parents=True, exist_ok=True)
        handle = os.open(found, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_SH)
        if found.exists() and os.path.samestat(os.fstat(handle), found.stat()):
            with suppress(OSError):
                os.utime(handle)
            return handle
        os.close(handle)  # another process removed it meanwhile


def folders() -> list[Path]:
    """The folders of compiled kernels, of this state of the code and of former ones."""
    found = (path for where in _places() for path in where.glob(f"{_NAME}*"))
    return sorted(path for path in found if _OURS.fullmatch(path.name) and path.is_dir())


def former() -> list[Path]:
    """Those of former states of the code, or of another installation."""
    return [path for path in folders() if path.name != f"{_NAME}{digest()}"]


def remove(found: Iterable[Path], dry: bool = False) -> list[Path]:
    """Removes folders of compiled kernels that no running process uses, and returns them.

    dry  only tell which would be
    """
    gone = []
    for path in found:
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where another process uses it
                if not dry:
                    shutil.rmtree(path)
                gone.append(path)
            finally:
                os.close(handle)
    return gone


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class Locator:
    """Tells numba where the cache entries of one function are; its methods are those of `numba.core.caching`."""

    beside = ""  #: the folder in that of this package, for a compiler whose entries have the same names

    def __init__(self, function, file: str):
        self._py_file = file  # numba reads it for its warnings
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function, file: str) -> Locator | None:
        """The locator of a function of this package; None for any other function, and numba asks the next class."""
        from numba.core import config

        if config.CACHE_DIR or not Path(file).is_relative_to(_PACKAGE):
            return None
        return cls(function, file)

    def get_cache_path(self) -> str:
        """The folder of the entries; there is one for each folder of the package."""
        return str(folder().joinpath(self.beside, "-".join(Path(self._py_file).relative_to(_PACKAGE).parent.parts)))

    def ensure_cache_path(self) -> None:
        """Creates that folder."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """A text that changes when entries are outdated: the name of the folder, which contains the hash."""
        return folder().name

    def get_disambiguator(self) -> str:
        """A text that distinguishes functions of the same name in one file."""
        return str(self._line)


def adopt(implementation: type | None = None, beside: str = "") -> None:
    """Puts `Locator` in front of the locators of numba, or of the package that compiles kernels for a GPU, which has
    entries of its own in a folder `beside`; call it before kernels are decorated.

    implementation: the class of caches that has the locators, that of numba if None. Raises MachineLacks if `ulimit`
    leaves too little memory to load numba.
    """
    memory.require_loadable()
    if implementation is None:
        from numba.core.caching import CompileResultCacheImpl as implementation
    for cls in implementation.__mro__:
        if (files := getattr(sys.modules[cls.__module__], "IndexDataCacheFile", None)) is not None:
            _name_apart(files)
    locators = implementation._locator_classes
    if not issubclass(locators[0], Locator):
        locators.insert(0, type("Locator", (Locator,), {"beside": beside}) if beside else Locator)


def _name_apart(files: type) -> None:
    """Has a class of numba's, which writes the entries of a function, name each by what it was compiled for."""
    numbered = files.save
    if hasattr(numbered, "numbered"):
        return

    @functools.wraps(numbered)
    def save(self, key, data) -> None:
        from numba.core import config

        mine = folder()
        if not config.CACHE_DIR and (mine is None or self._source_stamp != mine.name):
            return numbered(self, key, data)
        import hashlib

        name = self._data_name(int(hashlib.sha256(self._dump(key)).hexdigest()[:16], 16))
        self._save_data(name, data)  # before the index, which another process may read at once
        overloads = self._load_index()
        if overloads.get(key) != name:
            overloads[key] = name
            self._save_index(overloads)
        return None

    save.numbered = numbered
    files.save = save


def forget(error: BaseException) -> bool:
    """Deletes the cache entry that caused `error`, if it was one that numba could not read; returns whether it did.

    The work that failed can then be repeated, which compiles the kernel again. numba does not check its entries, so a
    damaged one may raise anything.
    """
    trace = error.__traceback__
    while trace is not None:
        code, caller = trace.tb_frame.f_code, trace.tb_frame.f_locals.get("self")
        if code.co_name in _LOADING and code.co_filename.endswith(_CACHING):
            index = getattr(getattr(caller, "_cache_file", caller), "_index_path", None)
            try:
                os.unlink(index)
            except (OSError, TypeError):
                return False
            return True
        trace = trace.tb_next
    return False
