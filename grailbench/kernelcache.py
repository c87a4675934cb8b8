"""Where numba keeps compiled kernels, so that no stale one is ever run.

numba tells a stale cache entry by the file of the kernel itself. A kernel that inlines a predicate of another file, or
reads a constant of one, would go on running the old one after an update. So the cache folder is named after the text of
every file that compiles anything, and of those that they import from: any change there starts a fresh folder.
`NUMBA_CACHE_DIR`, where set, is left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_IMPORTED = re.compile(rb"^ *from grailbench\.([\w.]+) import (\([^)]*\)|.*)", re.MULTILINE)


def digest() -> str:
    """A short hash of the text of every module with kernels, and of the modules that these import from."""
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


def choose() -> None:
    """Point numba at the folder for this code; called before numba is first imported."""
    if "NUMBA_CACHE_DIR" not in os.environ and os.access(_PACKAGE, os.W_OK):
        os.environ["NUMBA_CACHE_DIR"] = str(_PACKAGE / "__pycache__" / f"kernels-{digest()}")
