"""Stage 3 of `streamed`: the edges of a leveled DAG as compressed blocks of whole rows, read in either direction.

A block has the rows of consecutive vertices (`graph.leveled` numbers them) in two parts, each with a varint for every
row's length and one for each edge: the difference from the target before it, or for the first one from the source, with
the sign in the lowest bit. The first part has the deep edges in the order of the DAG's rows, the second one the others,
ascending. Before them are 48 bytes: the first row, the number of rows, the deep and the other edges, the bytes of both
parts, and the CRC of the bytes, little-endian. Where blocks begin stands in a file of its own.

To write them, one pass over the rows deals them into files by ranges of the order of levels, each of which fits the
memory; then each range is read, ordered and written. So the edges are read twice and written twice, once of each
compressed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.outofcore import edges, levels

EDGES = 1 << 18  #: of a block, unless one row has more
_HEAD = struct.Struct("<qqqqIII4x")
_BLOCKS, _PLACES = "edges.blocks", "edges.places"
_7, _127 = np.uint64(7), np.uint64(127)
_MOST = 256  #: files of ranges that are open at once
_EDGE = 4 + 10 + 4  #: bytes of an edge while its range is ordered: as read, at most compressed, and sorted


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


class Reader:
    """Reads the blocks of a folder, one at a time, into the same memory."""

    def __init__(self, folder: Path):
        *places, deep, far = np.fromfile(folder / _PLACES, np.int64).tolist()
        self._path, self._places = folder / _BLOCKS, places
        self._targets = np.empty(deep, np.int32), np.empty(far, np.int32)
        self._starts = [np.empty(0, np.int64)] * 2

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks."""
        return self._places[-1]

    def deep(self) -> Iterator[Rows]:
        """The deep edges, from the first row on."""
        for rows in self._each(range(len(self._places) - 1), 1):
            yield rows[0]

    def ascending(self) -> Iterator[tuple[Rows, Rows]]:
        """The deep and the other edges of each block, from the first row on."""
        yield from self._each(range(len(self._places) - 1), 2)

    def descending(self) -> Iterator[tuple[Rows, Rows]]:
        """As `ascending`, from the last block on."""
        yield from self._each(range(len(self._places) - 2, -1, -1), 2)

    def _each(self, numbers: range, parts: int) -> Iterator[tuple[Rows, ...]]:
        with open(self._path, "rb", buffering=0) as file:
            for number in numbers:
                yield self._block(file, number, parts)

    def _block(self, file, number: int, parts: int) -> tuple[Rows, ...]:
        file.seek(self._places[number])
        size = self._places[number + 1] - self._places[number]
        if parts == 1:  # the deep edges only, which are not checked, since the others were not read
            head = file.read(_HEAD.size)
            size = _HEAD.size + (_HEAD.unpack(head)[4] if len(head) == _HEAD.size else 0)
            file.seek(self._places[number])
        content = np.frombuffer(file.read(size), np.uint8)
        if content.size != size:
            raise InputError("the file is cut off", path=self._path, remedy="delete the folder and begin again")
        first, rows, *edges, deep, far, check = _HEAD.unpack(content[: _HEAD.size])
        bytes_of = content[_HEAD.size : _HEAD.size + deep], content[_HEAD.size + deep :]
        if parts == 2 and zlib.crc32(bytes_of[1], zlib.crc32(bytes_of[0])) != check:
            raise InputError("a block is damaged", path=self._path, remedy="delete the folder and begin again")
        found = []
        for part in range(parts):
            if self._starts[part].size <= rows:
                self._starts[part] = np.empty(2 * rows + 1, np.int64)
            starts, targets = self._starts[part][: rows + 1], self._targets[part][: edges[part]]
            _decode(bytes_of[part], first, starts, targets)
            found.append(Rows(first, starts, targets))
        return tuple(found)


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
    the blocks and the number of ranges.
    """
    offsets, order = np.fromfile(rows / edges.OFFSETS, np.int64), np.fromfile(leveled / levels.ORDER, np.int32)
    starts = np.fromfile(leveled / levels.STARTS, np.int32)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.shape[0], dtype=np.int32)
    m = int(offsets[-1])
    most = max(block, spare // 2 // _EDGE, -(-m // (_MOST - 1)))
    cuts = np.empty(_MOST + m // most + 2, np.int64)
    cuts = cuts[: _cut(offsets, order, most, cuts)]
    paths = [to / f"range-{number}" for number in range(cuts.shape[0] - 1)]
    _deal_all(rows, offsets, rank, cuts, paths, max(1, min(most, spare // 16)))
    writer = Writer(to)
    for path, low, high in zip(paths, cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        words = np.fromfile(path, np.int32)
        path.unlink()
        _write_range(writer, words, low, high, starts, block)
    return {"bytes": writer.close(), "ranges": len(paths)}


def _deal_all(rows: Path, offsets, rank, cuts, paths: list[Path], most: int) -> None:
    """Deals all rows into files; each row is the place of its vertex, its length, and the places of its targets."""
    n = offsets.shape[0] - 1
    files = [open(path, "wb", buffering=0) for path in paths]  # noqa: SIM115 - closed below
    chunk = out = np.empty(0, np.int32)
    try:
        with open(rows / edges.CHILDREN, "rb", buffering=0) as file:
            u = 0
            while u < n:
                end = max(u + 1, int(np.searchsorted(offsets, offsets[u] + most, "right")) - 1)
                size = int(offsets[end] - offsets[u])
                if chunk.size < size or out.size < size + 2 * (end - u):
                    chunk, out = (
                        np.empty(max(size, most), np.int32),
                        np.empty(max(size, most) + 2 * (end - u), np.int32),
                    )
                _fill(file, chunk[:size])
                ends = np.zeros(len(paths) + 1, np.int64)
                _deal(offsets, u, end, chunk, rank, cuts, ends, out)
                for each, low, high in zip(files, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                    if low < high:
                        each.write(out[low:high])
                u = end
    finally:
        for each in files:
            each.close()


def _fill(file, into: np.ndarray) -> None:
    """Reads the next numbers of a file that was opened without a buffer."""
    view = memoryview(into).cast("B") if into.size else memoryview(b"")
    while len(view):
        got = file.readinto(view)
        if not got:
            raise EOFError("the rows are cut off")
        view = view[got:]


@njit(cache=True)
def _cut(offsets, order, most, cuts):
    """Sets where ranges of the order begin, each with at most `most` edges or one row; returns how many limits."""
    count, filled = 1, 0
    cuts[0] = 1  # behind the super-root
    for x in range(1, order.shape[0]):
        length = offsets[order[x] + 1] - offsets[order[x]]
        if filled and filled + length > most:
            cuts[count] = x
            count += 1
            filled = 0
        filled += length
    cuts[count] = order.shape[0]
    return count + 1


@njit(cache=True)
def _deal(offsets, first, last, chunk, rank, cuts, ends, out):
    """Deals the rows first to last - 1, whose targets are in `chunk`, into `out` by ranges; ends: int64[ranges + 1],
    zeros, where ranges begin and end afterwards."""
    base = offsets[first]
    for u in range(first, last):
        length = offsets[u + 1] - offsets[u]
        if length:
            ends[np.searchsorted(cuts, rank[u], "right")] += length + 2
    for k in range(1, ends.shape[0]):
        ends[k] += ends[k - 1]
    for u in range(first, last):
        length = offsets[u + 1] - offsets[u]
        if length:
            place = np.searchsorted(cuts, rank[u], "right") - 1
            at = ends[place]
            ends[place] += length + 2
            out[at], out[at + 1] = rank[u], length
            for k in range(length):
                out[at + 2 + k] = rank[chunk[offsets[u] - base + k]]
    for k in range(ends.shape[0] - 1, 0, -1):
        ends[k] = ends[k - 1]
    ends[0] = 0


def _write_range(writer: Writer, words: np.ndarray, low: int, high: int, starts: np.ndarray, block: int) -> None:
    """Writes the rows low to high - 1, which `words` has in any order."""
    places = np.full(high - low, -1, np.int64)
    longest = _place(words, low, places)
    deep, far = np.empty(0, np.uint8), np.empty(0, np.uint8)
    found, first = np.empty(longest, np.int32), low
    while first < high:
        last, sizes = _extent(words, places, low, first, block), np.zeros(4, np.int64)
        need = 5 * (last[1] + last[0] - first) + 16
        if deep.size < need:
            deep, far = np.empty(need, np.uint8), np.empty(need, np.uint8)
        _encode(words, places, low, first, last[0], starts, found, deep, far, sizes)
        writer.add(first, last[0] - first, (int(sizes[0]), int(sizes[1])), deep[: sizes[2]], far[: sizes[3]])
        first = last[0]


@njit(cache=True)
def _place(words, low, places):
    """Sets where the row of each vertex begins in `words`; returns the length of the longest."""
    at, longest = 0, 0
    while at < words.shape[0]:
        places[words[at] - low] = at
        longest = max(longest, words[at + 1])
        at += 2 + words[at + 1]
    return longest


@njit(cache=True)
def _extent(words, places, low, first, block):
    """The end of the rows from `first` on that have at most `block` edges, or are one or as many rows; their edges."""
    filled, x = np.int64(0), first
    while x < low + places.shape[0] and x - first < block:
        length = words[places[x - low] + 1] if places[x - low] >= 0 else 0
        if x > first and filled + length > block:
            break
        filled += length
        x += 1
    return x, filled


@njit(cache=True)
def _encode(words, places, low, first, last, starts, found, deep, far, sizes):
    """Writes both parts of a block. sizes: int64[4], deep and other edges, bytes of both."""
    level = np.searchsorted(starts, first, "right") - 1
    for x in range(first, last):
        while x >= starts[level + 1]:
            level += 1
        below = starts[level + 2] if level + 2 < starts.shape[0] else 0
        begin, length = places[x - low] + 2, np.int64(0)
        if begin >= 2:
            length = np.int64(words[begin - 1])
        count = 0
        for k in range(begin, begin + length):
            if words[k] >= below:
                found[count] = words[k]
                count += 1
        sizes[2] = put(np.uint64(length - count), deep, sizes[2])
        before = np.int64(x)
        for k in range(begin, begin + length):
            if words[k] < below:
                sizes[2] = put(signed(np.int64(words[k]) - before), deep, sizes[2])
                before = np.int64(words[k])
        sizes[3] = put(np.uint64(count), far, sizes[3])
        found[:count].sort()
        before = np.int64(x)
        for k in range(count):
            sizes[3] = put(signed(np.int64(found[k]) - before), far, sizes[3])
            before = np.int64(found[k])
        sizes[0] += length - count
        sizes[1] += count
