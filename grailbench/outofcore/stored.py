"""Edges of a leveled DAG on disk, as compressed blocks of whole rows that are read in either direction.

A block has the rows of consecutive vertices (`graph.leveled` numbers them) in two parts, each with a varint for every
row's length and one for each edge: the difference from the target before it, or for the first one from the source, with
the sign in the lowest bit. The first part has the deep edges in the order of the DAG's rows, the second one the others,
ascending. Before them are 48 bytes: the first row, the number of rows, the deep and the other edges, the bytes of both
parts, and the CRC of the bytes, little-endian. Where blocks begin stands in a file of its own.
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

EDGES = 1 << 18  #: of a block, unless one row has more
_HEAD = struct.Struct("<qqqqIII4x")
_BLOCKS, _PLACES = "edges.blocks", "edges.places"
_7, _127 = np.uint64(7), np.uint64(127)


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
