"""Stage 3 of `streamed`: the edges of a leveled DAG as compressed blocks of whole rows, read in either direction.

A block has the rows of consecutive vertices (`graph.leveled` numbers them) in two parts, each with a varint for every
row's length and one for each edge: the difference from the target before it, or for the first one from the source, with
the sign in the lowest bit. The first part has the deep edges in the order of the DAG's rows, the second one the others,
ascending. Before them are 48 bytes: the first row, the number of rows, the deep and the other edges, the bytes of both
parts, and the CRC of the bytes, little-endian. Where blocks begin stands in a file of its own.

To write them, the edges are sorted by level as stage 1 sorts them by id.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grailbench.errors import InputError
from grailbench.outofcore import edges, levels
from grailbench.util.compiled import njit

EDGES = 1 << 18  #: of a block, unless one row has more
_HEAD = struct.Struct("<qqqqIII4x")
_BLOCKS, _PLACES = "edges.blocks", "edges.places"
_7, _127 = np.uint64(7), np.uint64(127)
_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class Rows(NamedTuple):
    """Rows of consecutive vertices: those of `first` + i are targets[starts[i] : starts[i + 1]].

    starts int64[rows + 1], targets int32[edges]; both are overwritten by the next block
    """

    first: int
    starts: np.ndarray
    targets: np.ndarray


class Writer:
    """Writes blocks to a folder; `close` makes them readable."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._file = open(folder / _BLOCKS, "wb")  # noqa: SIM115 - closed by `close`
        self._places: list[int] = []
        self._at = self._deep = self._far = 0

    def add(self, first: int, rows: int, edges: tuple[int, int], deep: np.ndarray, far: np.ndarray) -> None:
        """Appends a block. deep, far: uint8[bytes] as `put` fills them; edges: how many are in each."""
        check = zlib.crc32(far, zlib.crc32(deep))
        self._places.append(self._at)
        for part in (_HEAD.pack(first, rows, *edges, deep.size, far.size, check), deep, far):
            self._file.write(part)
        self._at += _HEAD.size + deep.size + far.size
        self._deep, self._far = max(self._deep, edges[0]), max(self._far, edges[1])

    def close(self) -> int:
        """Ends the files; returns the bytes of all blocks."""
        self._file.close()
        np.array([*self._places, self._at, self._deep, self._far], np.int64).tofile(self._folder / _PLACES)
        return self._at


def read(folder: Path, only_deep: bool = False, backward: bool = False) -> Iterator[tuple[Rows, ...]]:
    """The deep and the other edges of each block, from the first row on or, `backward`, from the last block on; all
    come in the same memory. `only_deep`: without the others, and not checked, since these are not read."""
    *places, deep, far = np.fromfile(folder / _PLACES, np.int64).tolist()
    path, numbers, parts = folder / _BLOCKS, range(len(places) - 1), 1 if only_deep else 2
    targets, starts = (np.empty(deep, np.int32), np.empty(far, np.int32)), [np.empty(0, np.int64)] * 2
    with open(path, "rb", buffering=0) as file:
        for number in reversed(numbers) if backward else numbers:
            file.seek(places[number])
            size = places[number + 1] - places[number]
            if only_deep:
                head = file.read(_HEAD.size)
                size = _HEAD.size + (_HEAD.unpack(head)[4] if len(head) == _HEAD.size else 0)
                file.seek(places[number])
            content = np.frombuffer(file.read(size), np.uint8)
            if content.size != size:
                raise InputError("the file is cut off", path=path, remedy="delete the folder and begin again")
            first, rows, *counts, deep, far, check = _HEAD.unpack(content[: _HEAD.size])
            both = content[_HEAD.size : _HEAD.size + deep], content[_HEAD.size + deep :]
            if not only_deep and zlib.crc32(both[1], zlib.crc32(both[0])) != check:
                raise InputError("a block is damaged", path=path, remedy="delete the folder and begin again")
            found = []
            for part in range(parts):
                if starts[part].size <= rows:
                    starts[part] = np.empty(2 * rows + 1, np.int64)
                found.append(Rows(first, starts[part][: rows + 1], targets[part][: counts[part]]))
                _decode(both[part], *found[part])
            yield tuple(found)


@njit(cache=True, inline="always")
def put(value, to, at):
    """Writes an unsigned number as a varint at to[at]; returns the place after it."""
    while value > _127:
        to[at] = (value & _127) | np.uint64(128)
        value >>= _7
        at += 1
    to[at] = value
    return at + 1


@njit(cache=True, inline="always")
def signed(difference):
    """An integer as an unsigned one with its sign in the lowest bit."""
    return np.uint64((difference << 1) ^ (difference >> 63))


@njit(cache=True, inline="always")
def _take(content, pos):
    """The number of the varint at content[pos], and the place after it."""
    byte = np.int64(content[pos])
    pos += 1
    value, shift = byte & 127, 7
    while byte > 127:
        byte = np.int64(content[pos])
        pos += 1
        value |= (byte & 127) << shift
        shift += 7
    return value, pos


@njit(cache=True, nogil=True)
def _decode(content, first, starts, targets):
    """Fills starts (int64[rows + 1]) and targets from the bytes of one part of a block."""
    pos, at = np.int64(0), np.int64(0)
    starts[0] = 0
    for row in range(starts.shape[0] - 1):
        length, pos = _take(content, pos)
        target = np.int64(first + row)
        for _ in range(length):
            value, pos = _take(content, pos)
            target += (value >> 1) ^ -(value & 1)
            targets[at] = target
            at += 1
        starts[row + 1] = at


# ------------------------------------------------------------------ stage 3


def write(rows: Path, leveled: Path, to: Path, spare: int, block: int = EDGES) -> dict:
    """Writes the blocks of the edges, without those of the super-root.

    rows, leveled: folders of stages 1 and 2; spare: bytes that may be used; block: edges a block. Returns the bytes of
    the blocks.
    """
    offsets, order = np.fromfile(rows / edges.OFFSETS, np.int64), np.fromfile(leveled / levels.ORDER, np.int32)
    starts = np.fromfile(leveled / levels.STARTS, np.int32)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.shape[0], dtype=np.int32)
    writer, spill = Writer(to), to / "spill"
    spill.mkdir()
    found = _renumbered(rows / edges.CHILDREN, offsets, rank)
    for keys in edges.in_order(found, 0, order.shape[0], int(offsets[-1]), spare, spill):
        begin = 0
        while begin < keys.shape[0]:
            end = _end(keys, begin, block)
            some, begin = keys[begin:end], end
            first, last = int(some[0] >> _32), int(some[-1] >> _32) + 1
            deep, far = np.empty((2, 5 * (some.shape[0] + last - first) + 16), np.uint8)
            sizes = np.zeros(4, np.int64)
            _encode(some, first, last, starts, order, rank, deep, far, sizes)
            writer.add(first, last - first, (int(sizes[0]), int(sizes[1])), deep[: sizes[2]], far[: sizes[3]])
    spill.rmdir()
    return {"bytes": writer.close()}


def _renumbered(children: Path, offsets: np.ndarray, rank: np.ndarray) -> Iterator[np.ndarray]:
    """The edges of all rows by level: keys of 64 bits, the source in the upper half, uint64[k] at a time."""
    at = 0
    with open(children, "rb", buffering=0) as file:
        while (some := np.fromfile(file, np.int32, min(edges.BATCH, int(offsets[-1]) - at))).size:
            yield _keys(offsets, at, some, rank)
            at += some.shape[0]


@njit(cache=True)
def _keys(offsets, at, targets, rank):
    """The keys of the edges from number `at` on, uint64[k]."""
    keys = np.empty(targets.shape[0], np.uint64)
    u = np.searchsorted(offsets, at, "right") - 1
    for k in range(targets.shape[0]):
        while at + k >= offsets[u + 1]:
            u += 1
        keys[k] = (np.uint64(rank[u]) << _32) | np.uint64(rank[targets[k]])
    return keys


@njit(cache=True)
def _end(keys, begin, block):
    """The end of the rows from keys[begin] on that have at most `block` edges and rows between them, or are one row."""
    first, end, at = np.int64(keys[begin] >> _32), begin, begin
    while at < keys.shape[0]:
        row = np.int64(keys[at] >> _32)
        while at < keys.shape[0] and np.int64(keys[at] >> _32) == row:
            at += 1
        if end > begin and (at - begin > block or row - first >= block):
            break
        end = at
    return end


@njit(cache=True)
def _encode(keys, first, last, starts, order, rank, deep, far, sizes):
    """Writes both parts of a block. sizes: int64[4], deep and other edges, bytes of both."""
    level, k = np.searchsorted(starts, first, "right") - 1, 0
    for x in range(first, last):
        while x >= starts[level + 1]:
            level += 1
        below = starts[level + 2] if level + 2 < starts.shape[0] else 0
        begin, middle = k, k
        while k < keys.shape[0] and np.int64(keys[k] >> _32) == x:
            middle += np.int64(keys[k] & _LOW) < below
            k += 1
        ids = np.empty(middle - begin, np.int32)
        for i in range(begin, middle):
            ids[i - begin] = order[keys[i] & _LOW]
        ids.sort()
        sizes[2] = put(np.uint64(ids.shape[0]), deep, sizes[2])
        before = np.int64(x)
        for child in ids:
            sizes[2] = put(signed(np.int64(rank[child]) - before), deep, sizes[2])
            before = np.int64(rank[child])
        sizes[3] = put(np.uint64(k - middle), far, sizes[3])
        before = np.int64(x)
        for i in range(middle, k):
            sizes[3] = put(signed(np.int64(keys[i] & _LOW) - before), far, sizes[3])
            before = np.int64(keys[i] & _LOW)
        sizes[0] += middle - begin
        sizes[1] += k - middle
