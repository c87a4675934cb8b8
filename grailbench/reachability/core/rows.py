"""The core without its chains: which of its vertices need a row or a column of the closure, and the closure of these.

A vertex of the core with one parent in the core is reached by what reaches that parent, so it takes that vertex's
column; it hangs below it in an out-tree, as the peeled out-trees do. Only vertices with two parents or more own a
column. A vertex with one child reaches what that child does, so it takes that vertex's row, unless it owns a column and
another vertex takes its own row. So a row is needed for two children or more, and seldom else. Columns count from 1 in
topological order; 0 and row `rows` stand for none.

Rows are kept without what is empty or equal: the columns are parted in chunks of 64; the words of all chunks that have
a bit are kept once each, and a row has a mask of its chunks, 64 a word, and points at its words. Equal rows are one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

_0, _1, _6, _12, _63 = (np.uint64(each) for each in (0, 1, 6, 12, 63))
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Rows(NamedTuple):
    """The closure of the contracted core: r rows, the last of which is empty, and c columns.

    masks     uint64[r * s]       bit j of word i of a row: whether the chunk 64 i + j has a bit; s = c // 4096 + 1
    starts    uint32[r * s]       where the pointers of the first of these chunks are
    pointers  uint16/uint32[p+1]  the number in `words` of each chunk that has a bit
    words     uint64[w]           different words
    """

    masks: np.ndarray
    starts: np.ndarray
    pointers: np.ndarray
    words: np.ndarray


@intrinsic
def _ones(typing, word):
    """The number of bits that are set in a uint64."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit(cache=True, inline="always")
def bit_of(row, column, spans, masks, starts, pointers, words):
    """Returns the bit of a row and column, 0 or 1; all uint64 but the arrays of `Rows`. spans: s."""
    chunk = column >> _6
    at, within = row * spans + (column >> _12), chunk & _63
    mask = masks[at]
    pointer = np.uint64(starts[at]) + _ones(mask & ((_1 << within) - _1))
    word = words[np.uint64(pointers[pointer])]
    return (word >> (column & _63)) & (mask >> within) & _1


@njit(cache=True, nogil=True)
def graph_of_core(offsets, children, core, place, first):
    """Returns the edges of the core as a CSR (int64[k + 1], int32[e]), the number of parents, up to 2, of each vertex
    (int8[k]) and the last of them (int32[k])."""
    k, count = core.shape[0], 0
    starts, parents, parent = np.empty(k + 1, np.int64), np.zeros(k, np.int8), np.full(k, -1, np.int32)
    for i in range(k):
        count += offsets[core[i] + 1] - offsets[core[i]]
    targets = np.empty(count, np.int32)
    count = 0
    for i in range(k):
        starts[i] = count
        u = core[i]
        for j in range(offsets[u], offsets[u + 1]):
            child = place[children[j]] - first
            if child < k:
                targets[count] = child
                count += 1
                parent[child] = i
                if parents[child] < 2:
                    parents[child] += 1
    starts[k] = count
    return starts, targets[:count], parents, parent


@njit(cache=True, nogil=True)
def number(starts, targets, parents, parent):
    """Returns the column of each vertex, owned or taken (int32[k]), the row of each, owned or taken, -1 for none
    (int32[k]), the numbers of columns and of rows, and which vertices own a row (bool[k])."""
    k = parents.shape[0]
    column, row, owned = np.zeros(k, np.int32), np.full(k, -1, np.int32), np.zeros(k, np.bool_)
    taken, columns, rows = np.zeros(k, np.bool_), 0, 0
    for i in range(k):
        if parents[i] >= 2:
            columns += 1
            column[i] = columns
        elif parents[i] == 1:
            column[i] = column[parent[i]]
        if starts[i + 1] - starts[i] == 1:
            taken[targets[starts[i]]] = True
    for i in range(k - 1, -1, -1):
        degree = starts[i + 1] - starts[i]
        if degree >= 2 or (parents[i] >= 2 and taken[i]):
            row[i] = rows
            owned[i] = True
            rows += 1
        elif degree == 1:
            row[i] = row[targets[starts[i]]]
    return column, row, columns, rows, owned


@njit(cache=True, nogil=True)
def close_rows(starts, targets, parents, column, row, owned, width, bits):
    """Fills bits (uint64[rows * width], zero): a row is the union of its children's rows and columns, and its own."""
    width = np.uint64(width)
    for i in range(row.shape[0] - 1, -1, -1):
        if not owned[i]:
            continue
        start = np.uint64(row[i]) * width
        if parents[i] >= 2:
            own = np.uint64(column[i])
            bits[start + (own >> _6)] |= _1 << (own & _63)
        for j in range(starts[i], starts[i + 1]):
            child = targets[j]
            first = _0
            if parents[child] >= 2:
                own = np.uint64(column[child])
                first = own >> _6
                if (bits[start + first] >> (own & _63)) & _1:
                    continue  # another child reaches this one, and has all its bits
                bits[start + first] |= _1 << (own & _63)
            if row[child] >= 0:
                beyond = np.uint64(row[child]) * width
                for w in range(first, width):
                    bits[start + w] |= bits[beyond + w]


@njit(cache=True, inline="always")
def _mixed(word):
    """A uint64 whose upper bits depend on all bits of a word."""
    word ^= word >> np.uint64(32)
    return word * _MIX


@njit(cache=True, nogil=True)
def packed(bits, rows, width):
    """Returns the fields of `Rows` (pointers as uint32), and the number that each row got there (int32[rows + 1])."""
    spans, filled = (width + 63) // 64, 0
    for at in range(bits.shape[0]):
        filled += bits[at] != _0
    size, shift = 64, np.uint64(58)
    while size < 2 * filled + 2 * rows:
        size *= 2
        shift -= _1
    known, whose = np.full(size, -1, np.int32), np.full(size, -1, np.int32)
    masks, starts = np.zeros((rows + 1) * spans, np.uint64), np.zeros((rows + 1) * spans, np.uint32)
    pointers, words = np.zeros(filled + 1, np.uint32), np.empty(filled + 1, np.uint64)
    numbers = np.empty(rows + 1, np.int32)
    count, found, kept = 0, 0, 0
    low = np.uint64(size - 1)
    for r in range(rows):
        begin, mixed = count, _0
        for s in range(spans):
            mask = _0
            starts[kept * spans + s] = count
            for w in range(64 * s, min(64 * s + 64, width)):
                word = bits[r * width + w]
                if word == _0:
                    continue
                mask |= _1 << np.uint64(w & 63)
                slot = _mixed(word) >> shift
                while known[slot] >= 0 and words[known[slot]] != word:
                    slot = (slot + _1) & low
                if known[slot] < 0:
                    known[slot] = found
                    words[found] = word
                    found += 1
                pointers[count] = known[slot]
                mixed = _mixed(mixed + np.uint64(known[slot]))
                count += 1
            masks[kept * spans + s] = mask
            mixed = _mixed(mixed ^ mask)
        slot = mixed >> shift
        while whose[slot] >= 0:
            other = whose[slot]
            same = True
            for s in range(spans):
                same &= masks[other * spans + s] == masks[kept * spans + s]
            if same:
                first = np.int64(starts[other * spans])
                for j in range(count - begin):
                    if pointers[first + j] != pointers[begin + j]:
                        same = False
                        break
            if same:
                break
            slot = (slot + _1) & low
        if whose[slot] >= 0:
            numbers[r], count = whose[slot], begin
        else:
            whose[slot] = kept
            numbers[r] = kept
            kept += 1
    numbers[rows] = kept
    for s in range(spans):
        masks[kept * spans + s], starts[kept * spans + s] = _0, 0
    end = (kept + 1) * spans
    if found == 0:
        words[0] = _0
        found = 1
    return masks[:end].copy(), starts[:end].copy(), pointers[: count + 1].copy(), words[:found].copy(), numbers


@njit(cache=True, nogil=True)
def place_below(offsets, children, core, position, end, gate, above, starts, targets, parents, parent):
    """Returns the positions (int32[k]) and sizes (int32[k]) of the core in the out-trees that its vertices with one
    parent and the peeled ones form, and the positions of the peeled ones (int32[below]), by their present ones."""
    k, n = core.shape[0], position.shape[0] - 1
    first = above + k
    sizes, places, moved = np.ones(k, np.int32), np.full(k, -1, np.int32), np.full(n - first, -1, np.int32)
    for i in range(k - 1, -1, -1):
        u = core[i]
        for j in range(offsets[u], offsets[u + 1]):
            child = children[j]
            if position[child] >= first:
                sizes[i] += end[child] - position[child]
        if parents[i] == 1:
            sizes[parent[i]] += sizes[i]
    free = above
    for i in range(k):
        u = core[i]
        if parents[i] != 1:
            places[i] = free
            free += sizes[i]
        at = places[i] + 1
        for j in range(offsets[u], offsets[u + 1]):
            child = children[j]
            if position[child] >= first:
                for p in range(position[child] - first, end[child] - first):
                    moved[p] = at
                    at += 1
        for j in range(starts[i], starts[i + 1]):
            if parents[targets[j]] == 1:
                places[targets[j]] = at
                at += sizes[targets[j]]
    for p in range(n - first):
        if moved[p] < 0:
            moved[p] = free
            free += 1
    return places, sizes, moved


@njit(cache=True, nogil=True)
def fill(position, end, gate, above, core, places, sizes, moved, column, row, numbers, never, sources, targets):
    """Fills the records as `records` describes them. numbers: of `packed`, the last of which is the empty row."""
    n, below = position.shape[0] - 1, above + core
    none = numbers[numbers.shape[0] - 1]
    for v in range(n):
        at, beyond = position[v], gate[v]
        if at < above:
            targets[v, 0], targets[v, 1] = at, end[v] - at
            sources[v, 0], sources[v, 1], sources[v, 2], sources[v, 3] = at, none, 0, 0
            if beyond < 0:
                continue
            gate_at = position[beyond]
            if gate_at >= below:
                sources[v, 2], sources[v, 3] = moved[gate_at - below], end[beyond] - gate_at
                continue
            i = gate_at - above
        elif at < below:
            i = at - above
            targets[v, 0] = places[i]
            targets[v, 1] = above + column[i] if column[i] > 0 else 0
            sources[v, 0] = never
        else:
            low = moved[at - below]
            owner = 0 if beyond < 0 else column[position[beyond] - above]
            targets[v, 0], targets[v, 1] = low, (above + owner if owner > 0 else 0)
            sources[v, 0], sources[v, 1], sources[v, 2], sources[v, 3] = never, none, low, end[v] - at
            continue
        sources[v, 1] = none if row[i] < 0 else numbers[row[i]]
        sources[v, 2], sources[v, 3] = places[i], sizes[i]
    sources[n, 0], sources[n, 1], sources[n, 2], sources[n, 3] = never, none, 0, never
    targets[n, 0], targets[n, 1] = n, 0
