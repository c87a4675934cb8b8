"""Stage 1 of `streamed`: the edges, made unique and sorted out of core by DuckDB, as rows of a CSR on disk.

An edge is a key of 64 bits, its source in the upper half. Keys are dealt into files by ranges of sources, so long that
DuckDB, whose memory grows with what it sorts, sorts one of them after the other well within its limit; of one vertex
with more edges it spills to the folder. They come back as a stream, from which duplicates are dropped.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numba import njit

from grailbench.errors import InputError, MachineLacks
from grailbench.graph.csr import MAX_VERTICES
from grailbench.outofcore import folder

BATCH = 1 << 18  #: edges that travel at a time
_KEYS = 24  #: bytes that DuckDB may take for a key: it holds keys, their sorted runs and what it merges
_FILES = 256  #: into which keys are dealt at a time
OFFSETS, PARENTS, CHILDREN = "offsets", "parents", "children"
_32 = np.uint64(32)


def require() -> None:
    """Raises MachineLacks without DuckDB or pyarrow."""
    try:
        import duckdb  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MachineLacks(
            f"streamed needs DuckDB and pyarrow, of which {error.name} is missing (pip install 'grailbench[streamed]')"
        ) from None


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
    require()
    seen, spill = _Seen(vertices), to / "spill"
    spill.mkdir()
    room = _room(memory, vertices or 0)
    with open(to / CHILDREN, "wb", buffering=0) as file:
        rows = None
        for keys in _in_order(seen.keys(blocks), 0, vertices or MAX_VERTICES, given, room, spill):
            if rows is None:
                rows = _Rows(seen.vertices, memory)
                room = min(room, _room(memory, seen.vertices))
            file.write(rows.take(keys))
    rows = rows or _Rows(seen.vertices, memory)
    shutil.rmtree(spill)
    np.cumsum(rows.offsets, out=rows.offsets)
    rows.offsets.tofile(to / OFFSETS)
    rows.parents.tofile(to / PARENTS)
    kept = int(rows.offsets[-1])
    return {
        "vertices": seen.vertices, "edges": kept, "given": seen.given, "loops": seen.loops,
        "duplicates": seen.given - seen.loops - kept, "checksum": seen.checksum,
    }  # fmt: skip


def checksum(blocks: Iterable[tuple[np.ndarray, np.ndarray]], vertices: int | None) -> str:
    """The checksum that `sort` returns of these edges, which pass by once; it depends on their order, not on how they
    are cut into blocks. Raises InputError for ids out of range."""
    seen = _Seen(vertices)
    deque(seen.keys(blocks), maxlen=0)
    return seen.checksum


class _Seen:
    """Counts what comes, and takes its checksum."""

    def __init__(self, vertices: int | None):
        self._stated, self._greatest = vertices, -1
        self.given = self.loops = 0
        self._digest = hashlib.sha256()

    @property
    def checksum(self) -> str:
        return self._digest.hexdigest()

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
                    raise InputError(
                        f"edge {self.given + at:,}: {side} {int(ends[at])} is out of range for {most:,} vertices",
                        remedy="number the vertices from 0",
                    )
                self._greatest = max(self._greatest, int(ends.max())) if ends.size else self._greatest
            self.given += sources.size
            between = sources != targets
            self.loops += sources.size - int(np.count_nonzero(between))
            keys = (sources.astype(np.uint64) << _32) | targets.astype(np.uint64)
            self._digest.update(keys)
            yield keys if between.all() else keys[between]


def _room(memory: int, vertices: int) -> int:
    """Bytes for DuckDB, which takes half as much again for batches and its allocator; rows are made meanwhile."""
    return max(folder.LEAST // 2, (memory - folder.FIXED - 12 * vertices) // 2)


def _in_order(keys: Iterable[np.ndarray], low: int, high: int, given: int, room: int, spill: Path) -> Iterator:
    """The keys in ascending order, uint64[k] at a time.

    low, high: their sources are from low to high - 1; given: about how many come, 0 if nobody knows
    """
    most = room // _KEYS
    files = min(_FILES, high - low, -(-given // most) if given else _FILES)
    if files <= 1 and given:
        yield from _sorted(keys, room, spill)
        return
    step = -(-(high - low) // max(files, 1))
    paths = [spill / f"{first}-{min(first + step, high)}" for first in range(low, high, step)]
    _deal_all(keys, low, step, paths, min(most, 1 << 21))
    for path in paths:
        if not path.exists():
            continue
        count, (first, last) = path.stat().st_size // 8, map(int, path.name.split("-"))
        if count > 2 * most and last - first > 1:
            below = spill / f"of-{path.name}"
            below.mkdir()
            yield from _in_order(_read(path), first, last, count, room, below)
            below.rmdir()
        else:
            yield from _sorted(_read(path), room, spill)


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


def _read(path: Path) -> Iterator[np.ndarray]:
    """The keys of a file, which is deleted."""
    with open(path, "rb", buffering=0) as file:
        while (some := np.frombuffer(file.read(8 * BATCH), np.uint64)).size:
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


def _sorted(keys: Iterable[np.ndarray], room: int, spill: Path) -> Iterator[np.ndarray]:
    """The keys in ascending order, uint64[k] at a time, sorted by DuckDB in `room` bytes."""
    import duckdb
    import pyarrow as arrow

    schema, failed = arrow.schema([("key", arrow.uint64())]), []

    def batches():
        try:
            for each in keys:
                for first in range(0, each.size, BATCH):
                    yield arrow.record_batch([arrow.array(each[first : first + BATCH])], schema=schema)
        except BaseException as error:  # kept, since DuckDB tells its text only
            failed.append(error)
            raise

    settings = {
        "memory_limit": f"{room // 1000}KB", "temp_directory": str(spill / "duckdb"),
        "threads": str(2 if room > 2**27 else 1), "max_temp_directory_size": "1000TB",
    }  # fmt: skip
    with duckdb.connect(":memory:", config=settings) as connection:
        connection.execute("SET enable_progress_bar = false")  # which it draws on stdout from the third second on
        edges = arrow.RecordBatchReader.from_batches(schema, batches())  # noqa: F841 - DuckDB finds it by its name
        try:
            relation = connection.sql("SELECT key FROM edges ORDER BY key")
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            for batch in reader(BATCH):
                yield batch.column(0).to_numpy()
        except (duckdb.Error, OSError, arrow.ArrowException) as error:
            raise failed[0] if failed else _explained(error) from None


def _explained(error: Exception) -> Exception:
    """An error of DuckDB as one that is expected."""
    message = str(error).partition("\n")[0]
    lower = message.casefold()
    if "no space left" in lower or "max_temp_directory_size" in lower or getattr(error, "errno", 0) == errno.ENOSPC:
        return OSError(errno.ENOSPC, message)
    if "memory" in lower:
        return MachineLacks(f"DuckDB cannot sort the edges within its memory: {message} (allow more by --memory)")
    return MachineLacks(f"DuckDB cannot sort the edges: {message}")


class _Rows:
    """Makes rows of sorted keys: out-degrees (at offsets[u + 1]) and numbers of parents."""

    def __init__(self, vertices: int, memory: int):
        folder.spare(memory, vertices)
        self.offsets, self.parents = np.zeros(vertices + 1, np.int64), np.zeros(vertices, np.int32)
        self._children, self._last = np.empty(BATCH, np.int32), np.zeros(1, np.uint64)

    def take(self, keys: np.ndarray) -> np.ndarray:
        """The targets of those keys that did not come before, int32[k]; it is overwritten by the next call."""
        if keys.size > self._children.size:
            self._children = np.empty(keys.size, np.int32)
        return self._children[: _take(keys, self._last, self.offsets, self.parents, self._children)]


@njit(cache=True, nogil=True)
def _take(keys, last, offsets, parents, children):
    found, before = 0, last[0]  # no key is 0: that would be a loop
    for key in keys:
        if key != before:
            u, v = np.int64(key >> _32), np.int64(key & np.uint64(0xFFFFFFFF))
            offsets[u + 1] += 1
            parents[v] += 1
            children[found] = v
            found += 1
            before = key
    last[0] = before
    return found
