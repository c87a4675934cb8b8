"""Where numba keeps compiled kernels, so that no stale one is ever run.

numba tells a stale cache entry by the file of the kernel itself. A kernel that inlines a predicate of another file
would go on running the old predicate after an update. So the cache folder is named after the text of every file
that compiles anything: any change there starts a fresh folder. `NUMBA_CACHE_DIR`, where set, is left alone.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def digest() -> str:
    """A short hash of the text of every module with kernels."""
    found = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        if b"njit" in text or b"cuda.jit" in text:
            found.update(text)
    return found.hexdigest()[:12]


def choose() -> None:
    """Point numba at the folder for this code; called before numba is first imported."""
    if "NUMBA_CACHE_DIR" not in os.environ and os.access(_PACKAGE, os.W_OK):
        os.environ["NUMBA_CACHE_DIR"] = str(_PACKAGE / "__pycache__" / f"kernels-{digest()}")
