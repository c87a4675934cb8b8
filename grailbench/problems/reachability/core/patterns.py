"""The rows of the closure of the contracted core, by their patterns, laid over one another.

A row is cut into words of 64 columns, the blocks. Most of these are empty, and the others repeat few patterns:

words  uint64[p]       the patterns
owner  uint16[p / 16]  the block of each page of 16 patterns, all of which are of that block; page 0 belongs to no
                       block, and its patterns are zero
table  uint16[t]       of each row the numbers of its patterns, that of block c at `row + c`
usual  uint64[c + 1]   what rows without a pattern of a block have there: its commonest word, nearly always 0

The rows lie over one another in the table, and each fills holes that others leave (Tarjan and Yao, *Storing a sparse
table*, Communications of the ACM 22, 1979). No two start at the same place, so an entry is of the row that asks for
block c if the page of its pattern belongs to block c. Equal rows are kept once. Packed bits are never made.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.instructions import lowest

PAGE = 16  #: patterns of a page
MOST = 2**16  #: patterns that 16 bits can number
SPARSE = 4  #: edges per vertex of the core up to which children are taken as they come
WIDEST = 2**16  #: most columns; a larger core has more patterns than can be numbered
empty = np.empty  #: where memory may run out
_NOBODY = 2**16 - 1
_0, _1, _4, _6, _63 = (np.uint64(each) for each in (0, 1, 4, 6, 63))
_MIX, _STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_GRIDS = tuple(np.uint64(each) for each in (2**64 - 1, 0x5555555555555555, 0x1111111111111111, 0x0101010101010101))


class Patterns(NamedTuple):
    """The arrays above, and the grid: a row is known by its place in the table shifted right by that many bits."""

    grid: int
    table: np.ndarray
    owner: np.ndarray
    words: np.ndarray
    usual: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self[1:])


@njit(cache=True, inline="always")
def bit_of(row, column, grid, table, owner, words, usual):
    """Returns the bit of a row and column, 0 or 1; all uint64 but the arrays of `Patterns`."""
    block = column >> _6
    entry = np.uint64(table[(row << grid) + block])
    own = _0 - np.uint64(np.uint64(owner[entry >> _4]) == block)
    return (((words[entry] & own) | (usual[block] & ~own)) >> (column & _63)) & _1


def find_patterns(core: tuple, columns: int, rows: int, most: int, short: bool) -> tuple[Patterns, np.ndarray] | None:
    """Returns the `Patterns` of the rows, and by what each row and an empty one are known, int64[rows + 1].

    core: starts, targets and parents as `rows.graph_of_core` returns them, column, row and owned as `rows.number` does;
    short: whether a row is to be known by less than 2 ** 16 - 1. None if there are too many columns or patterns to
    number, if the arrays take more than `most` bytes, or if rows cannot be short. Raises MemoryError.
    """
    if columns >= WIDEST:
        return None
    starts, targets, parents, *_ = core
    if targets.shape[0] > SPARSE * parents.shape[0]:
        core = starts, _sorted(starts, targets), *core[2:]
    blocks = columns // 64 + 1
    found = _Rows(rows, blocks)
    if not found.close(core, most // 2):
        return None
    count, filled, pages, _ = found.counts.tolist()
    begins, entries = found.begins[: count + 1], found.entries[:filled]
    common = _commonest(count, entries, found.owner, blocks)
    usual = np.where(common > 0, found.words[common], 0).astype(np.uint64)
    if common.any():
        if pages + blocks > MOST // PAGE:  # each block may need one more for its pattern of zeros
            return None
        begins, entries, pages = _spared(begins, entries, found.owner, found.words, found.unused, common, pages)
    for grid, places in enumerate(_GRIDS if short else _GRIDS[:1]):
        if short and entries.shape[0] >> grid >= MOST:
            continue
        table, place = _displace(begins, entries, found.owner, blocks, grid, places)
        if not short or (table.shape[0] and place.max() >> grid < MOST - 1):
            patterns = Patterns(grid, table, found.owner[:pages].copy(), found.words[: pages * PAGE].copy(), usual)
            return (patterns, (place >> grid)[found.kept]) if patterns.nbytes <= most else None
    return None


@njit(cache=True, nogil=True)
def _sorted(starts, targets):
    """Returns the children of each vertex, ascending: one that reaches others comes before them."""
    k, edges = starts.shape[0] - 1, targets.shape[0]
    begins, free = np.zeros(k + 2, np.int32), np.empty(k, np.int32)
    for j in range(edges):
        begins[np.uint64(targets[j]) + _1] += 1
    for i in range(k):
        begins[i + 1] += begins[i]
        free[i] = begins[i]
    listed, ascending = np.empty(edges, np.int32), np.empty(edges, np.int32)
    for i in range(k):
        for j in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
            child = np.uint64(targets[j])
            listed[np.uint64(free[child])] = i
            free[child] += 1
    free[:] = starts[:k]
    for child in range(k):
        for j in range(np.uint64(begins[child]), np.uint64(begins[child + 1])):
            i = np.uint64(listed[j])
            ascending[np.uint64(free[i])] = child
            free[i] += 1
    return ascending


class _Rows:
    """The rows found so far; all arrays but `counts` are as `_fill` says.

    counts  int64[4]: different rows, entries, pages and patterns so far
    """

    def __init__(self, rows: int, blocks: int):
        self.counts, self.blocks = np.array([1, 0, 1, 0], np.int64), blocks
        self.kept, self.begins = np.zeros(rows + 1, np.int32), np.zeros(rows + 3, np.int32)
        self.filters = np.zeros((rows + 2) * ((blocks + 63) >> 6), np.uint64)
        self.entries, self.owner = empty(1 << 17, np.uint16), np.full(MOST // PAGE, _NOBODY, np.uint16)
        self.words = empty(MOST, np.uint64)
        self.words[:PAGE] = 0
        self.unused, self.slots = np.zeros(blocks, np.int32), np.zeros(1 << 15, np.uint16)
        self.row_slots = np.zeros(1 << rows.bit_length() + 1, np.int32)

    def close(self, core: tuple, most: int) -> bool:
        """Finds all rows; returns False if there are more than `most` entries or too many patterns."""
        left = core[0].shape[0] - 1
        while True:
            left = _fill(
                core, left, self.counts, self.kept, self.begins, self.filters, self.entries, self.words, self.owner,
                self.unused, self.slots, self.row_slots,
            )  # fmt: skip
            _, entries, pages, patterns = self.counts.tolist()
            if left == 0:
                return entries <= most
            if pages + self.blocks > self.owner.shape[0] or entries > most:
                return False
            if entries + self.blocks > self.entries.shape[0]:
                self.entries = np.concatenate((self.entries, np.empty_like(self.entries)))
            if 2 * (patterns + self.blocks) > self.slots.shape[0]:
                self.slots = np.zeros(4 * self.slots.shape[0], np.uint16)
                _rehash(self.words, self.owner, self.slots, pages)


@njit(cache=True, nogil=True)
def _fill(core, left, counts, kept, begins, filters, entries, words, owner, unused, slots, row_slots):
    """Finds the rows of the vertices before `left`, the last one first: the union of the children's rows and columns.

    Returns how many vertices are left because an array may run full. Arrays that grow:
    kept int32[rows + 1]: of each row the number of an equal one, or its own; 0, also of the last, is an empty row
    begins int32[rows + 3]: where the entries of a row start; filters uint64[(rows + 2) * b]: in which blocks they are
    entries uint16[e]: numbers of patterns, by block; words uint64[2 ** 16], owner uint16[2 ** 12]: see above
    unused int32[blocks]: the next number on the last page of a block
    slots uint16, row_slots int32: hash tables of the patterns and of the rows, powers of two
    No array is replaced in here: that would make the loops three times slower.
    """
    starts, targets, parents, column, row, owned = core
    blocks = unused.shape[0]
    masks = (blocks + 63) >> 6
    union, guess = np.zeros(blocks, np.uint64), np.zeros(blocks, np.uint16)
    present = np.zeros(masks, np.uint64)
    rows, filled, pages, patterns = counts[0], counts[1], counts[2], counts[3]
    slot_mask, row_mask = np.uint64(slots.shape[0] - 1), np.uint64(row_slots.shape[0] - 1)
    while left > 0:
        if filled + blocks > entries.shape[0] or pages + blocks > owner.shape[0]:
            break
        if 2 * (patterns + blocks) > slots.shape[0]:
            break
        left -= 1
        if owned[left] == 0:
            continue
        first, last = starts[left], starts[left + 1]
        for j in range(first - (owned[left] == 2), last):
            child = targets[j] if j >= first else left  # perhaps its own column, then its children
            if parents[child] >= 2:
                at = np.uint64(column[child])
                bit = _1 << (at & _63)
                block = at >> _6
                if union[block] & bit:
                    continue  # another child reaches this one, and has all its bits
                union[block] |= bit
                present[block >> _6] |= _1 << (block & _63)
            if j < first or row[child] < 0:
                continue
            beyond = np.uint64(kept[np.uint64(row[child])])
            for x in range(masks):
                present[x] |= filters[beyond * np.uint64(masks) + np.uint64(x)]
            for e in range(np.uint64(begins[beyond]), np.uint64(begins[beyond + _1])):
                pattern = np.uint64(entries[e])
                block = np.uint64(owner[pattern >> _4])
                joined = union[block] | words[pattern]
                union[block] = joined
                guess[block] = entries[e] if joined == words[pattern] else guess[block]
        begin, key = filled, _0
        for x in range(masks):
            bits = present[x]
            filters[rows * masks + x] = bits
            present[x] = _0
            while bits:
                block = np.uint64(x << 6) + lowest(bits)
                bits &= bits - _1
                word = union[block]
                union[block] = _0
                pattern = np.uint64(guess[block])
                if not _holds(words, owner, pattern, block, word):
                    slot = _slot(block, word) & slot_mask
                    pattern = np.uint64(slots[slot])
                    while pattern and not _holds(words, owner, pattern, block, word):
                        slot = (slot + _1) & slot_mask
                        pattern = np.uint64(slots[slot])
                    if not pattern:
                        if unused[block] % PAGE == 0:
                            owner[pages] = block
                            unused[block] = pages * PAGE
                            for at in range(pages * PAGE, pages * PAGE + PAGE):
                                words[at] = _0
                            pages += 1
                        pattern = np.uint64(unused[block])
                        unused[block] += 1
                        words[pattern] = word
                        slots[slot] = pattern
                        patterns += 1
                entries[filled] = pattern
                filled += 1
                key = (key ^ pattern) * _MIX
        slot = (key >> np.uint64(32)) & row_mask
        length = filled - begin
        other = np.int64(row_slots[slot])
        while other and not _same(entries, begins[other], begins[other + 1], begin, length):
            slot = (slot + _1) & row_mask
            other = np.int64(row_slots[slot])
        if other:
            filled = begin
        else:
            row_slots[slot] = other = rows
            rows += 1
            begins[rows] = filled
        kept[row[left]] = other
    counts[0], counts[1], counts[2], counts[3] = rows, filled, pages, patterns
    return left


@njit(cache=True, inline="always")
def _holds(words, owner, pattern, block, word):
    """Whether a pattern is a word of a block."""
    return (words[pattern] == word) & (np.uint64(owner[pattern >> _4]) == block)


@njit(cache=True, inline="always")
def _slot(block, word):
    """The hash of a pattern."""
    key = (word ^ block) * _MIX
    return ((key ^ (key >> np.uint64(32))) * _STIR) >> np.uint64(40)


@njit(cache=True, inline="always")
def _same(entries, begin, end, other, length):
    """Whether the entries from `begin` to `end` are those of a number from `other` on."""
    if end - begin != length:
        return False
    for e in range(length):  # noqa: SIM110 - kernels know no generators
        if entries[begin + e] != entries[other + e]:
            return False
    return True


@njit(cache=True, nogil=True)
def _rehash(words, owner, slots, pages):
    """Puts the patterns so far, which are not zero, into a hash table of zeros."""
    mask = np.uint64(slots.shape[0] - 1)
    for number in range(PAGE, pages * PAGE):
        word = words[number]
        if word != _0:
            slot = _slot(np.uint64(owner[number >> 4]), word) & mask
            while slots[slot]:
                slot = (slot + _1) & mask
            slots[slot] = number


@njit(cache=True, nogil=True)
def _commonest(rows, entries, owner, blocks):
    """Returns the commonest pattern of each block where it is commoner than none, else 0; int32[blocks]."""
    times, filled = np.zeros(MOST, np.int32), np.zeros(blocks, np.int32)
    common = np.zeros(blocks, np.int32)
    for e in range(entries.shape[0]):
        pattern = np.uint64(entries[e])
        block = np.uint64(owner[pattern >> _4])
        times[pattern] += 1
        filled[block] += 1
        common[block] = entries[e] if times[pattern] > times[common[block]] else common[block]
    for block in range(blocks):
        if times[common[block]] <= rows - filled[block]:
            common[block] = 0
    return common


@njit(cache=True, nogil=True)
def _spared(begins, entries, owner, words, unused, common, pages):
    """Returns the rows without the commonest patterns and with a pattern of zeros where a row has nothing instead.

    Returns begins and entries anew, and the number of pages, which may grow by one for each block.
    """
    rows, blocks = begins.shape[0] - 1, common.shape[0]
    special, zero = np.flatnonzero(common), np.zeros(blocks, np.int32)
    for block in special:
        if unused[block] % PAGE == 0:
            owner[pages] = block
            words[pages * PAGE : pages * PAGE + PAGE] = _0
            unused[block] = pages * PAGE
            pages += 1
        zero[block] = unused[block]
    room = entries.shape[0] + rows * special.shape[0] + 1
    starts, kept = np.zeros(rows + 1, np.int32), np.empty(room, np.uint16)
    filled = np.uint64(0)
    for r in range(rows):
        s = 0  # the blocks with a commonest pattern are met in order, as those of the entries are
        for e in range(np.uint64(begins[r]), np.uint64(begins[r + 1])):
            block = np.int64(owner[np.uint64(entries[e]) >> _4])
            while s < special.shape[0] and special[s] < block:
                kept[filled] = zero[special[s]]
                filled += _1
                s += 1
            s += s < special.shape[0] and special[s] == block
            kept[filled] = entries[e]
            filled += np.uint64(entries[e] != common[block])
        for x in range(s, special.shape[0]):
            kept[filled] = zero[special[x]]
            filled += _1
        starts[r + 1] = filled
    return starts, kept[:filled].copy(), pages


@njit(cache=True, nogil=True)
def _displace(starts, entries, owner, blocks, shift, grid):
    """Lays the rows over one another, the longest first, each at the first place after the row before where it fits.

    Returns the table, uint16[t], and where each row starts, int64[r]; the table is empty if they did not fit. 64 places
    are tried at once, as bits of a word. Short rows are tried from the beginning again. grid: the places of a word that
    are multiples of 2 ** shift.
    """
    rows = starts.shape[0] - 1
    counts = np.zeros(blocks + 2, np.int64)
    for r in range(rows):
        counts[blocks - (starts[r + 1] - starts[r]) + 1] += 1
    for i in range(blocks + 1):
        counts[i + 1] += counts[i]
    order, row = np.empty(rows, np.int64), np.full(rows, -1, np.int64)
    for r in range(rows):
        at = blocks - (starts[r + 1] - starts[r])
        order[counts[at]] = r
        counts[at] += 1
    spaces = (2 * entries.shape[0] + (rows << shift) >> 6) + (blocks >> 6) + 8
    taken, begun = np.zeros(spaces, np.uint64), np.zeros(spaces, np.uint64)
    table, own = np.zeros(spaces << 6, np.uint16), np.empty(blocks + 1, np.uint64)
    limit, last, at, before = np.uint64(spaces - (blocks >> 6) - 2), _0, _0, -1
    for i in range(rows):
        r = order[i]
        begin, length = starts[r], starts[r + 1] - starts[r]
        for e in range(length):
            own[e] = owner[np.uint64(entries[begin + e]) >> _4]
        if length != before and 8 * length <= blocks:
            at = _0
        before = length
        while at < limit:
            busy = begun[at] | ~grid
            for e in range(length):
                block = own[e]
                word, low = at + (block >> _6), block & _63
                busy |= (taken[word] >> low) | ((taken[word + _1] << _1) << (_63 - low))
            if ~busy != _0:
                break
            at += _1
        if at == limit:
            return table[:0], row
        place = lowest(~busy)
        begun[at] |= _1 << place
        place += at << _6
        row[r] = np.int64(place)
        for e in range(length):
            to = place + own[e]
            taken[to >> _6] |= _1 << (to & _63)
            table[to] = entries[begin + e]
        last = max(last, place)
    return table[: last + np.uint64(blocks)].copy(), row
