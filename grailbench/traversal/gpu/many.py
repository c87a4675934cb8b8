"""BFS from up to 4,096 sources at once, a bit each, in one cooperative launch (MS-BFS, Then et al. 2014, on a GPU).

A vertex has a row of words for the sources that have seen it, and one for those whose search is there (its *front*). A
mask of one bit a word says which words of a front are not 0, so that words without a search are neither read nor
written; a row of one word is its own mask, and has a kernel of its own. A level is one step, with one barrier: its
fronts are entered among what is seen, those of the level before are cleared, and those of the next are made: pushed
along the edges of the fronts where these are few, else pulled by the vertices that some source has not seen. As fronts
may be entered or not yet while others ask, who asks looks at what is seen and at the front. Where few edges leave a
level, the vertices of the next are listed, so that a narrow level goes through no others. Long rows are cut into
pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy import int32, int64, uint32, uint64

from grailbench.device.describe import memory, require_memory
from grailbench.device.gateway import cuda, simulated
from grailbench.device.launch import Prepared, cooperative_shape, kernel_of
from grailbench.device.mixing import mixed
from grailbench.traversal.check import SALT
from grailbench.traversal.gpu import worklist
from grailbench.traversal.gpu.resident import blocks_for, fill, turned, upload, usual_threads
from grailbench.traversal.gpu.worklist import FOUND, LISTED, SLOT, SLOTS
from grailbench.traversal.index import FAR, Found, Network, Timer, Together

WORDS = 4 if simulated else 64  #: most words of a row: a mask has one bit for each. Few make the simulator quick
THREADS, BLOCKS, REGISTERS = 512, 2, 64  #: of a block, blocks of a multiprocessor, and registers of a thread
HELD = 16 if simulated else 1024  #: entries of a list that a block gathers in shared memory
KEPT_BYTES = 1 << 30  #: most bytes of distances that are kept at a time
_TABLE = 64 * WORDS
_WORD, _MASKS, _ENTRY = 32, 72, 32  # bytes a word and, beside the graph, a vertex takes, and a piece of a row more
_FRONTS, _TURNS = 3, 4  # levels whose fronts, and whose masks and lists, are there at a time
_0, _1, _ALL = uint64(0), uint64(1), uint64(2**64 - 1)
_HALF, _LOW = 32, 2**32 - 1
LEVELS, BOTTOM_UP, LISTS = 0, 1, 2  # positions in `counted`


class Rule(NamedTuple):
    """alpha: fronts are pushed if fewer than one in so many edges leave them; lanes: binary logarithm of the most
    threads that share the words of a row; long: most edges of a row that is not cut into pieces."""

    alpha: int = 4
    lanes: int = 5
    long: int = 32


ONE = Rule(4, 0, 8)  #: for rows of one word


class Edges(NamedTuple):
    """Rows on the device: int32[n + 1], int32[m], and pieces of rows that are long, int32[p, 3]: vertex, begin, end;
    (-1, 0, 0) if there are none."""

    starts: object
    targets: object
    pieces: object


class Bits(NamedTuple):
    """The arrays of searches. Fronts of level d are in part d mod 3 of `fronts`, masks and lists in part d mod 4.

    seen uint64[n * words]; fronts uint64[3 * n * words]; masks uint64[4 * n]; done uint64[n]: bit w if all sources of
    word w have seen the vertex; lists int64[4 * most]: vertices in the low half, where a piece of their row begins in
    the high half; counters int64[6] (`worklist`); levels int32[k * n]: the distances, if they are kept
    """

    seen: object
    fronts: object
    masks: object
    done: object
    lists: object
    counters: object
    levels: object


class Sums(NamedTuple):
    """Of each source as in `Found`: reached int64, edges int64, farthest int32, marks uint32; counted int32[3]."""

    reached: object
    edges: object
    farthest: object
    marks: object
    counted: object


class Step(NamedTuple):
    """What is fixed during a level: the number of sources; words of a row; the binary logarithm of the threads that
    share it; most edges of a piece; the level; whether fronts of the next level are listed; the first rows of the
    fronts and masks of this level and the next."""

    count: int
    words: int
    bits: int
    long: int
    level: int
    listing: bool
    front: int
    mask: int
    next_front: int
    next_mask: int


class Block(NamedTuple):
    """Shared memory of a block. marks uint32, farthest int32: tables of `WORDS` columns of 64 sources: a column is a
    word or, where words are few, one of `copies` of a word; buffer int64[HELD], held int64[2]: what it has listed."""

    marks: object
    farthest: object
    copies: int
    buffer: object
    held: object


@cuda.jit(device=True, inline=True)
def _full(count, w):
    """Returns the bits of word w that have a source, of `count` sources."""
    left = count - (w << 6)
    if left >= 64:
        return _ALL
    return (_1 << uint64(max(left, 0))) - _1


@cuda.jit(device=True, inline=True)
def _share(lane, bits):
    """Returns the words, as a mask, that are those of a thread of 2 ** bits."""
    mine = _1 << uint64(lane)
    while bits < 6:
        mine |= mine << uint64(1 << bits)
        bits = int32(bits + 1)
    return mine


@cuda.jit(device=True, inline=True)
def _first(mask):
    """Returns the number of the lowest bit of a mask that is not 0."""
    return int32(cuda.popc((mask & (~mask + _1)) - _1))


@cuda.jit(device=True)
def _come(v, at, starts, of, block):
    """Counts v among the vertices of the next level, and lists it if they are listed; by the first that brings a search
    there. Returns what it adds to the packed sums: vertices in the high half, edges in the low."""
    begin, end = int64(starts[v]), int64(starts[v + 1])
    if at.listing:
        count = int64(1)
        if end - begin > at.long:
            count = (end - begin + at.long - 1) // at.long
        first, base = cuda.atomic.add(block.held, 0, count), int64(0)
        if first + count > HELD:  # those that the buffer has no room for go to the list itself
            more, turn = count - max(HELD - first, 0), worklist.slot(at.level + 1)
            base = _list(at.level + 1, of) + (cuda.atomic.add(of.counters, turn + LISTED, more << _HALF) >> _HALF)
            base -= max(first, HELD)
        i = int64(0)
        while i < count:
            entry = (begin + i * at.long) << _HALF | v
            if first + i < HELD:
                block.buffer[first + i] = entry
            else:
                of.lists[base + first + i] = entry
            i += 1
    return (int64(1) << _HALF) + end - begin


@cuda.jit(device=True, inline=True)
def _list(level, of):
    """Returns where the list of a level begins."""
    return int64(level % _TURNS) * (of.lists.shape[0] // _TURNS)


@cuda.jit(device=True, inline=True)
def _flush(at, of, block):
    """Adds what a block has gathered to the list of the next level; by all its threads."""
    cuda.syncthreads()
    size = min(block.held[0], HELD)
    if cuda.threadIdx.x == 0 and size:
        turn = worklist.slot(at.level + 1)
        block.held[1] = cuda.atomic.add(of.counters, turn + LISTED, size << _HALF) >> _HALF
    cuda.syncthreads()
    base = _list(at.level + 1, of) + block.held[1]
    for i in range(cuda.threadIdx.x, size, cuda.blockDim.x):
        of.lists[base + i] = block.buffer[i]
    if cuda.threadIdx.x == 0:
        block.held[0] = 0


@cuda.jit(device=True)
def _bring_word(v, w, new, at, starts, of, block):
    """Adds searches, rows of one word, to the front of v at the next level. Returns as `_come`."""
    if cuda.atomic.or_(of.fronts, at.next_front + v, new) == _0:
        return _come(v, at, starts, of, block)
    return int64(0)


@cuda.jit(device=True)
def _bring(v, w, new, at, starts, of, block):
    """Adds searches of word w to the front of v at the next level. Returns as `_come`."""
    bit = _1 << uint64(w)
    cuda.atomic.or_(of.fronts, (at.next_front + v) * at.words + w, new)
    # another thread may set the bit between the two
    if not of.masks[at.next_mask + v] & bit and cuda.atomic.or_(of.masks, at.next_mask + v, bit) == _0:
        return _come(v, at, starts, of, block)
    return int64(0)


@cuda.jit(device=True, inline=True)
def _push_word(v, begin, end, whole, share, at, edges, starts, of, block):
    """Offers the searches in the front of v, rows of one word, to its children begin..end - 1; as `_come`."""
    bits, total, k = of.fronts[at.front + v], int64(0), begin if share else end
    if bits == _0:
        k = end
    while k < end:  # the loads of four children overlap; the last stands for those that are not there
        last = end - 1
        a, b = int64(edges.targets[k]), int64(edges.targets[min(k + 1, last)])
        c, d = int64(edges.targets[min(k + 2, last)]), int64(edges.targets[min(k + 3, last)])
        one, two = bits & ~(of.seen[a] | of.fronts[at.front + a]), bits & ~(of.seen[b] | of.fronts[at.front + b])
        three, four = bits & ~(of.seen[c] | of.fronts[at.front + c]), bits & ~(of.seen[d] | of.fronts[at.front + d])
        stop = min(k + 4, end)
        while k < stop:
            if one:
                total += _bring_word(a, 0, one, at, starts, of, block)
            a, b, c = b, c, d
            one, two, three = two, three, four
            k += 1
    return total


@cuda.jit(device=True, inline=True)
def _push(v, begin, end, whole, share, at, edges, starts, of, block):
    """Offers the searches in the words `share` of the front of v to its children begin..end - 1; as `_come`."""
    left, total = of.masks[at.mask + v] & share, int64(0)
    while left:
        bit, w = left & (~left + _1), _first(left)
        left ^= bit
        bits = of.fronts[(at.front + v) * at.words + w]
        for k in range(begin, end):
            child = int64(edges.targets[k])
            seen, mask = of.seen[child * at.words + w], of.masks[at.mask + child]
            new = bits & ~seen
            if new and mask & bit:
                new &= ~of.fronts[(at.front + child) * at.words + w]
            if new:
                total += _bring(child, w, new, at, starts, of, block)
    return total


@cuda.jit(device=True, inline=True)
def _pull_word(v, begin, end, whole, share, at, edges, starts, of, block):
    """Looks among the parents begin..end - 1 of v for searches that have not seen it, rows of one word; all its parents
    if `whole`. Returns as `_come`."""
    # indices of type uint64 are not tested for being negative, a third of the instructions of this loop and the next
    need, got, k = _full(at.count, 0) & ~(of.seen[v] | of.fronts[at.front + v]), _0, begin
    if need == _0 or not share:
        k = end
    while k < end:
        last = end - 1
        a, b = int64(edges.targets[uint64(k)]), int64(edges.targets[uint64(min(k + 1, last))])
        c, d = int64(edges.targets[uint64(min(k + 2, last))]), int64(edges.targets[uint64(min(k + 3, last))])
        one, two = of.fronts[uint64(at.front + a)], of.fronts[uint64(at.front + b)]
        three, four = of.fronts[uint64(at.front + c)], of.fronts[uint64(at.front + d)]
        got |= (one | two) | (three | four)
        k = end if got & need == need else k + 4
    got &= need
    if got == _0:
        return int64(0)
    if not whole:
        return _bring_word(v, 0, got, at, starts, of, block)
    of.fronts[at.next_front + v] = got
    return _come(v, at, starts, of, block)


@cuda.jit(device=True, inline=True)
def _pull(v, begin, end, whole, share, at, edges, starts, of, block):
    """Looks among the parents begin..end - 1 of v, all of them if `whole`, for searches of the words `share` that have
    not seen it; as `_come`."""
    left = ~of.done[v] & (_ALL >> uint64(64 - at.words)) & share
    own, total, added = of.masks[at.mask + v], int64(0), _0
    while left:
        bit, w = left & (~left + _1), _first(left)
        left ^= bit
        place, need, got, k = (at.front + v) * at.words + w, _ALL, _0, begin
        while k < end:
            last = end - 1
            a, b = int64(edges.targets[uint64(k)]), int64(edges.targets[uint64(min(k + 1, last))])
            c, d = int64(edges.targets[uint64(min(k + 2, last))]), int64(edges.targets[uint64(min(k + 3, last))])
            one, two = of.masks[uint64(at.mask + a)] & bit, of.masks[uint64(at.mask + b)] & bit
            three, four = of.masks[uint64(at.mask + c)] & bit, of.masks[uint64(at.mask + d)] & bit
            if one | two | three | four:
                if need == _ALL:  # what is lacking is read late: on roads few parents have a search
                    need = _full(at.count, w) & ~of.seen[v * at.words + w]
                    if own & bit:
                        need &= ~of.fronts[place]
                # one without a search stands for itself, and adds nothing that is needed
                fa = of.fronts[uint64((at.front + a) * at.words + w if one else place)]
                fb = of.fronts[uint64((at.front + b) * at.words + w if two else place)]
                fc = of.fronts[uint64((at.front + c) * at.words + w if three else place)]
                fd = of.fronts[uint64((at.front + d) * at.words + w if four else place)]
                got |= need & ((fa | fb) | (fc | fd))
            k = end if got == need else k + 4
        if got:
            if whole:
                of.fronts[(at.next_front + v) * at.words + w] = got
            else:
                cuda.atomic.or_(of.fronts, (at.next_front + v) * at.words + w, got)
            added |= bit
    if added and cuda.atomic.or_(of.masks, at.next_mask + v, added) == _0:
        total = _come(v, at, starts, of, block)
    return total


def _over(visit):
    """Returns a device function that sums what `visit` returns for all rows, those that are long in pieces, or for the
    `entries` of this level's list if `listed`."""

    @cuda.jit(device=True)
    def go_over(workers, at, listed, entries, edges, starts, of, block):
        thread, threads = workers
        n, bits, total = int64(of.done.shape[0]), int32(0 if listed else at.bits), int64(0)
        count, list_at = entries if listed else n + edges.pieces.shape[0], _list(at.level, of)
        share, item = _share(int32(thread & ((1 << bits) - 1)), bits), thread
        while item >> bits < count:
            i = item >> bits
            v, whole = i, i < n
            begin, end = int64(0), int64(0)
            if listed:
                v, begin = of.lists[list_at + i] & _LOW, of.lists[list_at + i] >> _HALF
                end = min(begin + at.long, int64(edges.starts[v + 1]))
            elif whole:
                begin, end = int64(edges.starts[v]), int64(edges.starts[v + 1])
                if end - begin > at.long:
                    end = begin
            else:
                v = int64(edges.pieces[i - n, 0])
                begin, end = int64(edges.pieces[i - n, 1]), int64(edges.pieces[i - n, 2])
            if begin < end:
                total += visit(v, begin, end, whole, share, at, edges, starts, of, block)
            item += threads
        return total

    return go_over


@cuda.jit(device=True, inline=True)
def _mark(v, w, bits, hashed, at, keep, of, block):
    """Enters the searches `bits` of word w that have come to v in the tables of the block."""
    column = w + at.words * (int32(v) & (block.copies - 1))
    while bits:
        place = _first(bits)
        bits &= bits - _1
        cuda.atomic.xor(block.marks, place * WORDS + column, hashed)
        block.farthest[place * WORDS + column] = at.level
        if keep:
            of.levels[int64(w * 64 + place) * of.done.shape[0] + v] = at.level


def _commits(one):
    """Returns the device functions that enter the fronts of a level, and that clear those before. one: rows are of one
    word, which is its own mask."""

    @cuda.jit(device=True)
    def commit(workers, at, listed, entries, keep, starts, of, block):
        """Enters the fronts of a level among what is seen, of all vertices or of those listed."""
        thread, threads = workers
        n, bits, salted = int64(of.done.shape[0]), int32(0 if listed else at.bits), mixed(at.level, SALT)
        count, list_at = entries if listed else n, _list(at.level, of)
        share, item = _share(int32(thread & ((1 << bits) - 1)), bits), thread
        while item >> bits < count:
            v, begins = item >> bits, True
            if listed:
                v = of.lists[list_at + (item >> bits)]
                v, begins = v & _LOW, v >> _HALF == starts[v & _LOW]
            left, done = share if begins else _0, _0
            if one:
                left &= _1 if of.fronts[at.front + v] else _0
            else:
                left &= of.masks[at.mask + v]
            hashed = uint32(mixed(v, salted))
            while left:
                bit, w = left & (~left + _1), _first(left)
                left ^= bit
                place = v * at.words + w
                come = of.fronts[at.front * at.words + place]
                seen = of.seen[place] | come
                of.seen[place] = seen
                if seen == _full(at.count, w):
                    done |= bit
                _mark(v, w, come, hashed, at, keep, of, block)
            if done and not one:
                cuda.atomic.or_(of.done, v, done)
            item += threads

    @cuda.jit(device=True)
    def clear(workers, at, before, of):
        """Clears the fronts of the level before, and the masks of the one before that. before: of both, whether they
        were listed and the entries of their lists."""
        thread, threads = workers
        listed, entries, listed_masks, entries_masks = before
        n = int64(of.done.shape[0])
        front, mask = int64((at.level + 2) % _FRONTS) * n, int64((at.level + 3) % _TURNS) * n
        bits = int32(0 if listed else at.bits)
        count, list_at = entries if listed else n, _list(at.level + 3, of)
        share, item = _share(int32(thread & ((1 << bits) - 1)), bits), thread
        while item >> bits < count:
            v = item >> bits
            if listed:
                v = of.lists[list_at + v] & _LOW
            if one:
                of.fronts[front + v] = _0
            else:
                left = of.masks[mask + v] & share
                while left:
                    of.fronts[(front + v) * at.words + _first(left)] = _0
                    left &= left - _1
            item += threads
        if not one:
            mask = int64((at.level + 2) % _TURNS) * n
            count, list_at = entries_masks if listed_masks else n, _list(at.level + 2, of)
            for i in range(thread, count, threads):
                v = i
                if listed_masks:
                    v = of.lists[list_at + i] & _LOW
                of.masks[mask + v] = _0

    return commit, clear


@cuda.jit(device=True)
def _blank(workers, size, of, sums):
    """Clears all arrays; size: words of all rows."""
    thread, threads = workers
    n = of.done.shape[0]
    for i in range(thread, size, threads):
        of.seen[i] = _0
    for i in range(thread, _FRONTS * size, threads):
        of.fronts[i] = _0
    for i in range(thread, _TURNS * n, threads):
        of.masks[i] = _0
    for i in range(thread, n, threads):
        of.done[i] = _0
    for i in range(thread, sums.reached.shape[0], threads):
        sums.reached[i], sums.edges[i], sums.farthest[i], sums.marks[i] = 0, 0, 0, 0
    for i in range(thread, of.counters.shape[0], threads):
        of.counters[i] = 0


@cuda.jit(device=True)
def _sum_up(workers, at, starts, of, sums, block):
    """Adds the tables of all blocks, and counts what each source has seen."""
    thread, threads = workers
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, _TABLE, cuda.blockDim.x):
        column = i % WORDS
        if column < at.words * block.copies:
            source = (column % at.words) * 64 + i // WORDS
            if source < at.count:
                cuda.atomic.xor(sums.marks, source, block.marks[i])
                cuda.atomic.max(sums.farthest, source, block.farthest[i])
    n, columns = int64(of.done.shape[0]), int64(at.words * 64)
    parts = max(1, threads // columns)
    for item in range(thread, columns * parts, threads):
        source = item % columns
        if source < at.count:
            w, place = source >> 6, uint64(source & 63)
            reached, edges, v = int64(0), int64(0), item // columns
            while v < n:  # the loads of four vertices overlap; the last stands for those that are not there
                b, c, d = v + parts, v + 2 * parts, v + 3 * parts
                one = of.seen[v * at.words + w] >> place & _1
                two = of.seen[min(b, n - 1) * at.words + w] >> place & _1
                three = of.seen[min(c, n - 1) * at.words + w] >> place & _1
                four = of.seen[min(d, n - 1) * at.words + w] >> place & _1
                if one:
                    reached, edges = reached + 1, edges + starts[v + 1] - starts[v]
                if two and b < n:
                    reached, edges = reached + 1, edges + starts[b + 1] - starts[b]
                if three and c < n:
                    reached, edges = reached + 1, edges + starts[c + 1] - starts[c]
                if four and d < n:
                    reached, edges = reached + 1, edges + starts[d + 1] - starts[d]
                v += 4 * parts
            cuda.atomic.add(sums.reached, source, reached)
            cuda.atomic.add(sums.edges, source, edges)


@cuda.jit(device=True, inline=True)
def _step(count, words, bits, long, level, listing, n):
    """The `Step` of a level."""
    front, mask = int64((level + _FRONTS) % _FRONTS) * n, int64((level + _TURNS) % _TURNS) * n
    next_front, next_mask = int64((level + 1) % _FRONTS) * n, int64((level + 1) % _TURNS) * n
    return Step(count, words, bits, long, level, listing, front, mask, next_front, next_mask)


def _searching(one, bring, push, pull):
    """Returns the kernel of all searches, for rows of `one` word or of several."""
    push_all, pull_all = _over(push), _over(pull)
    commit, clear = _commits(one)

    @kernel_of(REGISTERS)
    def search(asked, rows, back, of, sums, rule):
        """All searches. asked int32[2 + ...]: how many sources, whether distances are kept, the sources; rows, back:
        `Edges` and the reversed edges; of: `Bits`. Cooperative, any grid."""
        grid = cuda.cg.this_grid()
        marks = cuda.shared.array(_TABLE, uint32)
        farthest = cuda.shared.array(_TABLE, int32)
        buffer = cuda.shared.array(HELD, int64)
        held = cuda.shared.array(2, int64)
        workers, n = (int64(cuda.grid(1)), int64(cuda.gridsize(1))), int64(of.done.shape[0])
        count, keep = asked[0], asked[1] != 0
        words, bits, copies = int32((count + 63) >> 6), int32(0), int32(1)
        while bits < rule.lanes and 2 << bits <= words:
            bits = int32(bits + 1)
        while 2 * copies * words <= WORDS:
            copies = int32(2 * copies)
        block = Block(marks, farthest, copies, buffer, held)
        for i in range(cuda.threadIdx.x, _TABLE, cuda.blockDim.x):
            marks[i], farthest[i] = 0, 0
        if cuda.threadIdx.x == 0:
            held[0], held[1] = 0, 0
        _blank(workers, n * words, of, sums)
        grid.sync()
        total, at = int64(0), _step(count, words, bits, rule.long, int32(-1), True, n)
        for i in range(workers[0], count, workers[1]):
            total += bring(int64(asked[2 + i]), int32(i >> 6), _1 << uint64(i & 63), at, rows.starts, of, block)
        level, pulled, lists, listing = int32(0), int32(0), int32(0), True
        entries, before = int64(0), (True, int64(0), True, int64(0))
        while True:
            if listing:
                _flush(at, of, block)
            now = worklist.slot(level)
            worklist.tally(of.counters, now, total & _LOW, total >> _HALF)
            grid.sync()
            if of.counters[now + FOUND] == 0:
                break
            listed, entries = listing, int64(worklist.ranges(of.counters[now + LISTED]))
            edges = int64(worklist.edges_of(of.counters[now + LISTED]))
            pushed = edges * rule.alpha < rows.starts[n]
            listing = pushed and edges < HELD * int64(cuda.gridDim.x)
            if workers[0] == 0:
                worklist.clear(of.counters, level)
            at = _step(count, words, bits, rule.long, level, listing, n)
            commit(workers, at, listed, entries, keep, rows.starts, of, block)
            clear(workers, at, before, of)
            if pushed:
                total = push_all(workers, at, listed, entries, rows, rows.starts, of, block)
            else:
                total = pull_all(workers, at, False, entries, back, rows.starts, of, block)
                pulled = int32(pulled + 1)
            if listed:
                lists = int32(lists + 1)
            before = listed, entries, before[0], before[1]
            level = int32(level + 1)
        _sum_up(workers, at, rows.starts, of, sums, block)
        if workers[0] == 0:
            sums.counted[LEVELS], sums.counted[BOTTOM_UP], sums.counted[LISTS] = level, pulled, lists

    return search


_search_word = _searching(True, _bring_word, _push_word, _pull_word)
_search = _searching(False, _bring, _push, _pull)


def pieces(offsets: np.ndarray, longest: int) -> np.ndarray:
    """Returns the pieces, of `longest` edges, of rows that have more, as `Edges` has them. offsets int64[n + 1]."""
    rows = np.flatnonzero(np.diff(offsets) > longest)
    if not rows.size:
        return np.array([[-1, 0, 0]], np.int32)
    each = -(-(offsets[rows + 1] - offsets[rows]) // longest)
    owner = np.repeat(rows, each)
    number = np.arange(owner.size) - np.repeat(np.cumsum(each) - each, each)
    begin = offsets[owner] + number * longest
    return np.stack((owner, begin, np.minimum(begin + longest, offsets[owner + 1])), axis=1).astype(np.int32)


def entries(offsets: np.ndarray, longest: int) -> int:
    """Returns the most entries of a list: one a vertex, or one a piece of its row. offsets int64[n + 1]."""
    return int(np.maximum(1, -(-np.diff(offsets) // longest)).sum())


class Many(Together):
    """Searches from as many sources at once as the memory of the device has words for."""

    def __init__(
        self,
        network: Network,
        threads: int = THREADS,
        blocks: int | None = BLOCKS,
        rule: tuple[int, ...] = (),
        most: int = WORDS,
    ):
        """threads, blocks: of a block, and blocks of a multiprocessor (None: as many as fit); rule: the first values of
        a `Rule`; most: words of a row at most."""
        self.counters: dict[str, int] = {}
        self._network, self._most, self._shape, self._asked_rule = network, most, (threads, blocks), rule
        back = 0 if network.symmetric else 4 * (network.vertices + 1 + network.edges)
        rows = upload(network, back + (_MASKS + _WORD) * network.vertices)
        self._rows = rows, turned(network, rows)
        more = entries(network.offsets, (rule + ONE[len(rule) :])[2]) - network.vertices
        self._beside = _MASKS * network.vertices + _ENTRY * more
        self._words = 0

    def expect(self, count: int) -> None:
        """Takes memory for rows of so many sources, or of as many as half of what is free has room for."""
        n = self._network.vertices
        wanted = min(self._most, max(1, -(-count // 64)))
        if self._words >= wanted:
            return
        self._words, self._bits, self._levels, self._launch = 0, None, None, None
        words = max(1, min(wanted, (memory()[0] // 2 - self._beside) // (_WORD * n)))
        needed = self._beside + _WORD * words * n
        require_memory(needed, f"searching {n:,} vertices from 64 sources at once", "fused needs less")
        k, kept = 64 * words, ONE if words == 1 else Rule()
        self._kernel = _search_word if words == 1 else _search
        self._rule = Rule(*map(np.int32, self._asked_rule + kept[len(self._asked_rule) :]))
        self._edges = self._cut(int(self._rule.long))
        self._asked = cuda.to_device(np.zeros(2 + k, np.int32))
        self._bits = [
            *(cuda.device_array(size * n, np.uint64) for size in (words, _FRONTS * words, _TURNS, 1)),
            cuda.device_array(_TURNS * entries(self._network.offsets, int(self._rule.long)), np.int64),
            cuda.to_device(np.zeros(SLOT * SLOTS, np.int64)),
        ]
        kinds = np.int64, np.int64, np.int32, np.uint32
        self._sums = Sums(*(cuda.device_array(k, kind) for kind in kinds), cuda.to_device(np.zeros(3, np.int32)))
        self._launch = self._prepared(cuda.device_array(1, np.int32))
        self._words = words

    def _cut(self, longest: int) -> tuple[Edges, Edges]:
        """Returns the rows and the reversed edges, those longer than `longest` cut into pieces."""
        network, (rows, other) = self._network, self._rows
        ahead = cuda.to_device(pieces(network.offsets, longest))
        behind = ahead if network.symmetric else cuda.to_device(pieces(network.reverse[0], longest))
        return Edges(rows.starts, rows.targets, ahead), Edges(other.starts, other.targets, behind)

    def _prepared(self, levels) -> Prepared:
        args = self._asked, *self._edges, Bits(*self._bits, levels), self._sums, self._rule
        return Prepared(self._kernel, args, cooperative_shape(self._kernel, args, *self._shape))

    def search(self, sources: np.ndarray, timer: Timer) -> Found:
        self.expect(sources.shape[0])
        order = np.argsort(sources)  # numbers that are near are often near in the graph, and share words
        return Found.of_parts([self._searched(part) for part in _parts(sources[order], 64 * self._words)], order)

    def solve_each(self, sources: np.ndarray, timer: Timer) -> Iterator[np.ndarray]:
        """Keeps distances of as many sources at a time as `KEPT_BYTES` and the device have room for; their copy to the
        host is phase `transfer`."""
        self.expect(sources.shape[0])
        n = self._network.vertices
        if self._levels is None:
            room = max(1, min(KEPT_BYTES, memory()[0] // 2) // (4 * n))
            size = min(room, 64 * self._words, sources.shape[0])
            require_memory(4 * n * size, f"the distances of {n:,} vertices")
            self._levels = cuda.device_array(size * n, np.int32)
            self._keeping = self._prepared(self._levels)
        for part in _parts(sources, self._levels.shape[0] // n):
            fill[blocks_for(4096, usual_threads()), usual_threads()](self._levels, FAR)
            self._searched(part, self._keeping)
            with timer.phase("transfer", apart=True):
                distances = self._levels.copy_to_host()
            yield from distances[: part.shape[0] * n].reshape(part.shape[0], n)

    def _searched(self, sources: np.ndarray, keeping: Prepared | None = None) -> Found:
        """Searches by one launch, and waits for it. keeping: the launch that keeps distances."""
        k = sources.shape[0]
        header = np.zeros(self._asked.shape[0], np.int32)
        header[:2], header[2 : 2 + k] = (k, keeping is not None), sources
        self._asked.copy_to_device(header)
        (keeping or self._launch).launch()
        found = Found(*(each.copy_to_host()[:k] for each in self._sums[:4]))
        counted = self._sums.counted.copy_to_host().tolist()
        for name, value in zip(("launches", "levels", "bottom_up", "listed"), (1, *counted), strict=True):
            self.counters[name] = self.counters.get(name, 0) + value
        return found


def _parts(sources: np.ndarray, most: int) -> list[np.ndarray]:
    """Returns the sources in parts of equal size, but for one, of at most `most`."""
    return np.array_split(sources, max(1, -(-sources.shape[0] // most)))
