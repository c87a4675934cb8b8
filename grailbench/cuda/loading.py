"""Has threads that need a kernel for the first time at once load it one after the other."""

from __future__ import annotations

import functools
import threading


def one_at_a_time(library: type) -> None:
    """Repairs a class of numba-cuda (seen with 0.30.4), the code of a kernel, whose `get_cufunc` loads it once.

    A kernel that comes from the disk cache is loaded at its first launch, and nothing keeps a second thread from doing
    the same meanwhile. It fails, and takes the code away from under the first one.
    """
    load, lock = library.get_cufunc, threading.RLock()

    @functools.wraps(load)
    def loaded(self):
        with lock:
            return load(self)

    library.get_cufunc = loaded
