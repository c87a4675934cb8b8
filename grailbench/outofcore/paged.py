"""Arrays in files, mapped into memory, and what the system is told of how they are read."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np

from grailbench.util.compiled import njit

PAGE = 4096
ALL = 2**62  #: more pages than a file has
_ASKED = 128 << 10  #: bytes that are asked for at a time: the system may read no more


class Mapped:
    """An array in a file, mapped copy-on-write: numba compiles other kernels for what cannot be written.

    array  the array
    base   the byte of the map at which it begins
    """

    def __init__(self, path: Path, dtype, count: int | None = None):
        size = path.stat().st_size if count is None else count * np.dtype(dtype).itemsize
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY) if size else None
        self.array, self.base = np.frombuffer(self._map or b"", dtype), 0

    @classmethod
    def of(cls, array: np.ndarray) -> Mapped | None:
        """The map in which an array lies; None if it is in memory, or the system takes no advice."""
        found = array
        while isinstance(found, np.ndarray | memoryview):
            found = found.obj if isinstance(found, memoryview) else found.base
        if not isinstance(found, mmap.mmap) or not hasattr(found, "madvise"):
            return None
        made = cls.__new__(cls)
        made._map, made.array = found, array
        made.base = array.ctypes.data - np.frombuffer(found, np.uint8).ctypes.data
        return made

    def at_random(self) -> None:
        """Has the system read pages of the array that are touched, and none around them."""
        if self._map is not None and hasattr(self._map, "madvise"):
            start = self.base // PAGE * PAGE
            self._map.madvise(mmap.MADV_RANDOM, start, self.base + self.array.nbytes - start)

    def ask(self, starts: np.ndarray, ends: np.ndarray) -> None:
        """Has the system read pages of the map, from starts to ends - 1, int64[k] each, while this process goes on."""
        if self._map is None or not hasattr(self._map, "madvise"):
            return
        last = len(self._map)
        for start, end in zip((starts * PAGE).tolist(), (ends * PAGE).tolist(), strict=True):
            for at in range(start, min(end, last), _ASKED):
                self._map.madvise(mmap.MADV_WILLNEED, at, min(_ASKED, end - at, last - at))


@njit(cache=True)
def read_runs(offsets, keys, first, most, base, gap, starts, ends):
    """Fills the pages of the rows of vertices from keys[first] on, ascending and in the upper half, as runs, until
    these are `most` pages; returns the next key and the number of runs.

    base: the byte in its first page at which rows begin; gap: so many pages between two rows are read along
    """
    count, pages, at = 0, 0, first
    while at < keys.shape[0] and (pages < most or at == first):
        u = np.int64(keys[at] >> np.uint64(32))
        if offsets[u] < offsets[u + 1]:
            low, high = (base + 4 * offsets[u]) // PAGE, (base + 4 * offsets[u + 1] - 1) // PAGE + 1
            if count and low <= ends[count - 1] + gap:
                pages += max(0, high - ends[count - 1])
                ends[count - 1] = max(high, ends[count - 1])
            else:
                starts[count], ends[count] = low, high
                pages += high - low
                count += 1
        at += 1
    return at, count
