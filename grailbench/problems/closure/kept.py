"""Memory for a closure as bits, kept for the next one: the system may take longer to give pages than
a closure to fill them."""

from __future__ import annotations

import weakref
from threading import RLock

import numpy as np
import psutil

MOST = psutil.virtual_memory().total // 8  #: bytes that are kept at most, of one array

_spare: list[np.ndarray] = []  # at most one
_lock = RLock()  # a garbage collection may come in between


class _Lent:
    """Lends memory to arrays, and keeps it when the last of them is gone before the process ends."""

    def __init__(self, words: np.ndarray):
        self.__array_interface__ = words.__array_interface__
        weakref.finalize(self, _keep, words).atexit = False


def _keep(words: np.ndarray) -> None:
    if words.nbytes <= MOST:
        with _lock:
            _spare[:] = [words]


def empty(rows: int, words: int) -> np.ndarray:
    """Returns uint64[rows, words] that is not set, in memory that an array of this size had before, if one is kept."""
    with _lock:
        found = _spare.pop() if _spare and _spare[0].size == rows * words else None
        _spare.clear()
    found = np.empty(rows * words, np.uint64) if found is None else found
    return np.asarray(_Lent(found)).reshape(rows, words)


def drop() -> None:
    """Gives back what is kept."""
    with _lock:
        _spare.clear()
