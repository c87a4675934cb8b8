"""Stage 3 of `streamed`: the rows renumbered by level and written as compressed blocks in that order.

One pass over the rows deals them into files by ranges of the order, each of which fits the memory; then each range is
read, ordered and written. So the edges are read twice and written twice, once of each compressed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

from grailbench.outofcore import edges, levels
from grailbench.outofcore.stored import EDGES, Writer, put, signed

_MOST = 256  #: files of ranges that are open at once
_EDGE = 4 + 10 + 4  #: bytes of an edge while its range is ordered: as read, at most compressed, and sorted


def write(rows: Path, leveled: Path, to: Path, spare: int, block: int = EDGES) -> dict:
    """Writes the blocks (`graph.blocks`) of the edges, without those of the super-root.

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
    count, held = 1, 0
    cuts[0] = 1  # behind the super-root
    for x in range(1, order.shape[0]):
        length = offsets[order[x] + 1] - offsets[order[x]]
        if held and held + length > most:
            cuts[count] = x
            count += 1
            held = 0
        held += length
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
    held, x = np.int64(0), first
    while x < low + places.shape[0] and x - first < block:
        length = words[places[x - low] + 1] if places[x - low] >= 0 else 0
        if x > first and held + length > block:
            break
        held += length
        x += 1
    return x, held


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
