"""Stage 1 of `streamed`: the edges, made unique and sorted, as rows of a CSR on disk.

An edge is a key of 64 bits, its source in the upper half. Keys are dealt into files by ranges of sources, again where a
file has more keys than memory, and each file is then sorted in memory; of one vertex with more edges than that, pieces
are merged. They come back as a stream, from which duplicates are dropped.
"""

import hashlib
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import MAX_VERTICES
from grailbench.outofcore import folder
from grailbench.util.compiled import njit

BATCH = 1 << 18  #: edges that are read at a time
_KEYS = 32  #: bytes that sorting takes for a key: read, sorted, without duplicates, and as a child
_FILES = 256  #: into which keys are dealt at a time
OFFSETS, PARENTS, CHILDREN = "offsets", "parents", "children"
_32 = np.uint64(32)


def sort(blocks: Iterable[tuple[np.ndarray, np.ndarray]], vertices: int | None, memory: int, to: Path,
         given: int = 0) -> dict:  # fmt: skip
    """Writes to a folder offsets (int64[n + 1]), children (int32[m]) and numbers of parents (int32[n]).

    blocks    columns of sources and targets: integers, [k] each
    vertices  how many there are; None for one more than the greatest id
    memory    bytes that the process may use
    given     about how many edges come; 0 if nobody knows

    Returns vertices, edges, duplicates, loops, `given`, the number of edges that came, and their `checksum`. Raises
    InputError for ids out of range, TooLittleMemory, and OSError for a full disk.
    """
    seen, spill = _Seen(vertices), to / "spill"
    spill.mkdir()
    ordered = in_order(seen.keys(blocks), 0, vertices or MAX_VERTICES, given, _room(memory, vertices or 0), spill)
    least = next(ordered, np.empty(0, np.uint64))  # when all edges were seen
    folder.spare(memory, seen.vertices)
    offsets, parents = np.zeros(seen.vertices + 1, np.int64), np.zeros(seen.vertices, np.int32)
    with open(to / CHILDREN, "wb", buffering=0) as file:
        for keys in chain([least], ordered):
            file.write(_take(keys, offsets, parents))
    shutil.rmtree(spill)
    np.cumsum(offsets, out=offsets)
    offsets.tofile(to / OFFSETS)
    parents.tofile(to / PARENTS)
    kept = int(offsets[-1])
    return {
        "vertices": seen.vertices, "edges": kept, "given": seen.given, "loops": seen.loops,
        "duplicates": seen.given - seen.loops - kept, "checksum": seen.digest.hexdigest(),
    }  # fmt: skip


def checksum(blocks: Iterable[tuple[np.ndarray, np.ndarray]], vertices: int | None) -> str:
    """The checksum that `sort` returns of these edges, which pass by once; it depends on their order, not on how they
    are cut into blocks. Raises InputError for ids out of range."""
    seen = _Seen(vertices)
    deque(seen.keys(blocks), maxlen=0)
    return seen.digest.hexdigest()


class _Seen:
    """Counts what comes, and takes its checksum."""

    def __init__(self, vertices: int | None):
        self._stated, self._greatest = vertices, -1
        self.given = self.loops = 0
        self.digest = hashlib.sha256()

    @property
    def vertices(self) -> int:
        return self._greatest + 1 if self._stated is None else self._stated

    def keys(self, blocks) -> Iterator[np.ndarray]:
        """The keys of edges between different vertices, uint64[k] at a time."""
        most = MAX_VERTICES if self._stated is None else self._stated
        for sources, targets in blocks:
            for ends, side in ((sources, "source"), (targets, "target")):
                if ends.size and (int(ends.min()) < 0 or int(ends.max()) >= most):
                    at = int(np.flatnonzero((ends < 0) | (ends >= most))[0])
                    message = f"edge {self.given + at:,}: {side} {int(ends[at])} is out of range for {most:,} vertices"
                    raise InputError(message, remedy="number the vertices from 0")
                self._greatest = max(self._greatest, int(ends.max())) if ends.size else self._greatest
            self.given += sources.size
            between = sources != targets
            self.loops += sources.size - int(np.count_nonzero(between))
            keys = (sources.astype(np.uint64) << _32) | targets.astype(np.uint64)
            self.digest.update(keys)
            yield keys if between.all() else keys[between]


def _room(memory: int, vertices: int) -> int:
    """Bytes for keys, half of what the rows, which are made meanwhile, leave."""
    return max(folder.LEAST // 2, (memory - folder.FIXED - 12 * vertices) // 2)


def in_order(keys: Iterable[np.ndarray], low: int, high: int, given: int, room: int, spill: Path) -> Iterator:
    """The keys in ascending order, uint64[k] at a time.

    low, high: their sources are from low to high - 1; given: about how many come, 0 if nobody knows
    """
    most = max(1, room // _KEYS)
    files = max(1, min(_FILES, high - low, -(-given // most) if given else _FILES))
    step = max(1, -(-(high - low) // files))
    paths = [spill / f"{first}-{min(first + step, high)}" for first in range(low, high, step)]
    _deal_all(keys, low, step, paths, min(most, 1 << 21))
    for path in filter(Path.exists, paths):
        count, (first, last) = path.stat().st_size // 8, map(int, path.name.split("-"))
        if count > most and last - first > 1:
            below = spill / f"of-{path.name}"
            below.mkdir()
            yield from in_order(_read(path, BATCH), first, last, count, room, below)
            below.rmdir()
            continue
        found = np.empty(0, np.uint64)
        for some in _read(path, most):
            found = np.concatenate((found, some))
            found.sort()
            found = found[np.append(True, found[1:] != found[:-1])]
        yield found


def _deal_all(keys: Iterable[np.ndarray], low: int, step: int, paths: list[Path], most: int) -> None:
    """Deals keys into files by their sources, `step` vertices each; `most` keys are kept back before they are written.

    A file that gets none is not made."""
    buffer, out, count = np.empty(most, np.uint64), np.empty(most, np.uint64), 0

    def write() -> None:
        ends = np.zeros(len(paths) + 1, np.int64)
        _deal(buffer[:count], low, step, ends, out)
        for path, first, last in zip(paths, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            if first < last:
                with open(path, "ab", buffering=0) as file:
                    file.write(out[first:last])

    for some in keys:
        while some.size:
            taken = min(some.size, most - count)
            buffer[count : count + taken], some = some[:taken], some[taken:]
            count += taken
            if count == most:
                write()
                count = 0
    write()


def _read(path: Path, most: int) -> Iterator[np.ndarray]:
    """The keys of a file, which is deleted, at most so many at a time."""
    with open(path, "rb", buffering=0) as file:
        while (some := np.fromfile(file, np.uint64, most)).size:
            yield some
    path.unlink()


@njit(cache=True)
def _deal(keys, low, step, ends, out):
    """Groups keys by range in `out`; ends: int64[ranges + 1], zeros, where ranges begin and end afterwards."""
    for key in keys:
        ends[(np.int64(key >> _32) - low) // step + 1] += 1
    for k in range(1, ends.shape[0]):
        ends[k] += ends[k - 1]
    for key in keys:
        place = (np.int64(key >> _32) - low) // step
        out[ends[place]] = key
        ends[place] += 1
    for k in range(ends.shape[0] - 1, 0, -1):
        ends[k] = ends[k - 1]
    ends[0] = 0


@njit(cache=True, nogil=True)
def _take(keys, offsets, parents):
    """Counts the children (at offsets[u + 1]) and parents of vertices by different keys; returns the targets of these,
    int32[k]."""
    children = np.empty(keys.shape[0], np.int32)
    for k in range(keys.shape[0]):
        u, v = np.int64(keys[k] >> _32), np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        offsets[u + 1] += 1
        parents[v] += 1
        children[k] = v
    return children
