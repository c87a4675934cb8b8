"""Where numba keeps this package's compiled kernels, so that no stale one is ever run.

numba tells a stale cache entry by the file of the kernel itself. A kernel that inlines a predicate of another file, or
reads a constant of one, would go on running the old one after an update. So the folder of our kernels is named after
the text of every file that compiles anything, and of those that they import from: any change there starts a fresh one.

numba asks a list of locators where a function's entries are; `adopt` puts one in front that speaks for files of this
package alone. Environment, settings, and the kernels of other packages stay as they are. `NUMBA_CACHE_DIR`, where set,
is left alone.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CACHING, _LOADING = os.path.join("numba", "core", "caching.py"), ("_load_overload", "_load_index", "_load_data")
_IMPORTED = re.compile(rb"^ *from grailbench\.([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


def digest() -> str:
    """A short hash of the text of every module with kernels, and of the modules that these import from."""
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
    """Where what a module imports of this package may be: `from grailbench.a import b` is in a.py or is a/b.py."""
    for module, names in _IMPORTED.findall(text):
        at = _PACKAGE.joinpath(*module.decode().split("."))
        yield at.with_suffix(".py")
        yield from (at / f"{name}.py" for name in re.findall(r"\w+", names.decode()))


@functools.cache
def folder() -> Path | None:
    """Where the kernels of this code are: beside the package, or in the user's cache where that cannot be written; None
    where neither can."""
    import platformdirs

    for where in (_PACKAGE / "__pycache__", Path(platformdirs.user_cache_dir("grailbench"))):
        found = where / f"kernels-{digest()}"
        try:
            found.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=found).close()
        except OSError:
            continue
        return found
    return None


class Locator:
    """Says where the entries of one function are, as numba asks (`numba.core.caching`)."""

    def __init__(self, function, file: str):
        self._py_file = file  # numba reads it for its warnings
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function, file: str) -> Locator | None:
        """The locator of a function of this package; None for any other, for which numba asks the next one."""
        from numba.core import config

        if config.CACHE_DIR or not Path(file).is_relative_to(_PACKAGE) or folder() is None:
            return None
        return cls(function, file)

    def get_cache_path(self) -> str:
        """The folder of the kernels in files of one folder of the package."""
        return str(folder().joinpath("-".join(Path(self._py_file).relative_to(_PACKAGE).parent.parts)))

    def ensure_cache_path(self) -> None:
        """Make that folder."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        """What must not have changed: the folder is named after it."""
        return folder().name

    def get_disambiguator(self) -> str:
        """What tells functions of one name in one file apart."""
        return str(self._line)


def adopt(locators: list | None = None) -> None:
    """Put `Locator` in front of the locators of numba, or of a CUDA front end; before kernels of ours are decorated."""
    if locators is None:
        from numba.core.caching import CompileResultCacheImpl

        locators = CompileResultCacheImpl._locator_classes
    if Locator not in locators:
        locators.insert(0, Locator)


def forget(error: BaseException) -> bool:
    """Whether `error` came of an entry of the cache that cannot be read back.

    The entry is then forgotten, and what failed may be tried again, which compiles the kernel anew: numba takes its
    entries for whole, and raises whatever comes of that.
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
