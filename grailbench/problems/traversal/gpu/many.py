"""BFS from up to 4,096 sources at once, a bit each, in one cooperative launch (MS-BFS, Then et al. 2014, on a GPU).

A vertex has a row of words for the sources that have seen it, and one for its *front*, the searches that are there,
with a mask of its words that are not 0. In a level the next fronts are pushed where edges are few, else pulled; then
they are counted and entered. Long rows of edges are cut into pieces.
"""

from collections import namedtuple
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy import int32, int64, uint32, uint64

from grailbench.cuda.describe import memory, require_memory
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, cooperative_shape, kernel_of
from grailbench.cuda.primitives import mixed
from grailbench.problems.traversal.check import SALT
from grailbench.problems.traversal.gpu import worklist
from grailbench.problems.traversal.gpu.resident import blocks_for, fill, turned, upload, usual_threads
from grailbench.problems.traversal.gpu.worklist import FOUND, LISTED, SLOT, SLOTS
from grailbench.problems.traversal.index import FAR, Found, Network, Timer, Together

WORDS = 4 if simulated else 64  #: most words of a row: a mask has one bit for each. Few make the simulator quick
THREADS, BLOCKS, REGISTERS = 1024, 1, 64  #: of a block, blocks of a multiprocessor, and registers of a thread
KEPT_BYTES = 1 << 30  #: most bytes of distances that are kept at a time
_TABLE = 64 * WORDS
_WORD, _MASKS = 24, 32  # bytes a word and, beside the graph, a vertex takes
_0, _1, _ALL = uint64(0), uint64(1), uint64(2**64 - 1)
LEVELS, BOTTOM_UP = 0, 1  # positions in `counted`


class Rule(NamedTuple):
    """alpha: fronts are pushed if fewer than one in so many edges leave them; lanes: binary logarithm of the most
    threads that share a row; long: most edges of a row that is not cut into pieces."""

    alpha: int = 8
    lanes: int = 5
    long: int = 32


class Edges(namedtuple("Edges", "starts targets pieces")):
    """Rows on the device: int32[n + 1], int32[m], and pieces of rows that are long, int32[p, 3]: vertex, begin, end;
    (-1, 0, 0) if there are none."""


class Bits(namedtuple("Bits", "seen fronts masks done counters levels")):
    """The arrays of searches. Fronts of level d are in part d mod 2 of `fronts`, their masks in d mod 3 of `masks`.

    seen uint64[n * words]; fronts uint64[2 * n * words]; masks uint64[3 * n]; done uint64[n]: bit w if all sources of
    word w have seen the vertex; counters int64[6] (`worklist`); levels int32[k * n]: the distances, if they are kept
    """


class Sums(namedtuple("Sums", "reached edges farthest marks counted")):
    """Of each source as in `Found`: reached int64, edges int64, farthest int32, marks uint32; counted int32[2]."""


@cuda.jit(device=True, inline=True)
def _full(count, w):
    """Returns the bits of word w that have a source, of `count` sources."""
    left = count - (w << 6)
    if left >= 64:
        return _ALL
    return (_1 << uint64(max(left, 0))) - _1


class Step(namedtuple("Step", "count words lanes bits level fronts masks other_fronts other_masks")):
    """What is fixed during a level: how many sources there are, words of a row, threads that share it and their binary
    logarithm; the level, where its fronts and masks begin, and those of the next level, for a commit of the last."""


@cuda.jit(device=True, inline=True)
def _step(count, words, bits, level, ahead, n):
    """The `Step` of a level and of the one `ahead` (1 or -1) of it."""
    now, other = level & 1, (level + 1) & 1
    size, mask, other_mask = n * words, level % 3, (level + 3 + ahead) % 3
    lanes = int32(1 << bits)
    return Step(count, words, lanes, bits, level, int64(now) * size, int64(mask) * n, other * size, other_mask * n)


@cuda.jit(device=True, inline=True)
def _push(v, begin, end, lane, whole, at, edges, of):
    """Offers the searches in the front of v to its children begin..end - 1."""
    mask = of.masks[at.masks + v]
    w = lane if mask else at.words
    while w < at.words:
        bit = _1 << uint64(w)
        if mask & bit:
            bits = of.fronts[at.fronts + v * at.words + w]
            for k in range(begin, end):
                child = int64(edges.targets[k])
                place = child * at.words + w
                new = bits & ~of.seen[place]
                if new:
                    cuda.atomic.or_(of.fronts, at.other_fronts + place, new)
                    if not of.masks[at.other_masks + child] & bit:  # another thread may set it meanwhile
                        cuda.atomic.or_(of.masks, at.other_masks + child, bit)
        w = int32(w + at.lanes)


@cuda.jit(device=True, inline=True)
def _pull(v, begin, end, lane, whole, at, edges, of):
    """Looks among the parents begin..end - 1 of v, all of them if `whole`, for searches that have not seen it."""
    done, some = of.done[v], _0
    every = _ALL >> uint64(64 - at.words)
    if done != every:
        for k in range(begin, end):
            some |= of.masks[at.masks + int64(edges.targets[k])]
            if some | done == every:
                break
    some &= ~done
    added, w = _0, lane if some else at.words
    while w < at.words:
        bit = _1 << uint64(w)
        if some & bit:
            place, got = v * at.words + w, _0
            need = _full(at.count, w) & ~of.seen[place]
            for k in range(begin, end):
                parent = int64(edges.targets[k])
                if of.masks[at.masks + parent] & bit:
                    got |= need & of.fronts[at.fronts + parent * at.words + w]
                    if got == need:
                        break
            if got:
                if whole:
                    of.fronts[at.other_fronts + place] = got
                else:
                    cuda.atomic.or_(of.fronts, at.other_fronts + place, got)
                added |= bit
        w = int32(w + at.lanes)
    if added:
        cuda.atomic.or_(of.masks, at.other_masks + v, added)


def _over_rows(visit):
    """Returns a device function that calls `visit` for all rows, those that are long in pieces."""

    @cuda.jit(device=True)
    def go_over(workers, at, long, edges, of):
        thread, threads = workers
        lane = int32(thread & (at.lanes - 1))
        item = thread
        while item >> at.bits < of.done.shape[0]:
            v = item >> at.bits
            begin, end = edges.starts[v], edges.starts[v + 1]
            if end - begin <= long:
                visit(v, begin, end, lane, True, at, edges, of)
            item += threads
        item = thread
        while item >> at.bits < edges.pieces.shape[0]:
            piece = item >> at.bits
            v = int64(edges.pieces[piece, 0])
            if v >= 0:
                visit(v, edges.pieces[piece, 1], edges.pieces[piece, 2], lane, False, at, edges, of)
            item += threads

    return go_over


_push_all, _pull_all = _over_rows(_push), _over_rows(_pull)


@cuda.jit(device=True, inline=True)
def _mark(v, w, bits, hashed, at, keep, of, shared):
    """Enters the searches `bits` of word w that have come to v. shared: the block's tables of marks and of distances,
    `WORDS` columns of 64 sources: a column is a word or, where words are few, one of `copies` of a word."""
    marks, farthest, copies = shared
    column = w + at.words * (int32(v) & (copies - 1))
    while bits:
        low = bits & (~bits + _1)
        place = int32(cuda.popc(low - _1))
        bits ^= low
        cuda.atomic.xor(marks, place * WORDS + column, hashed)
        farthest[place * WORDS + column] = at.level
        if keep:
            of.levels[int64(w * 64 + place) * of.done.shape[0] + v] = at.level


@cuda.jit(device=True)
def _commit(workers, at, keep, starts, of, shared):
    """Enters the fronts of a level among what is seen, clears those of the level before, and tallies."""
    thread, threads = workers
    lane, salted = int32(thread & (at.lanes - 1)), mixed(at.level, SALT)
    found, edges, item = int32(0), int32(0), thread
    while item >> at.bits < of.done.shape[0]:
        v = item >> at.bits
        mask, before, done = of.masks[at.masks + v], of.masks[at.other_masks + v], _0
        hashed = uint32(mixed(v, salted))
        w = lane if mask | before else at.words
        while w < at.words:
            bit, place = _1 << uint64(w), v * at.words + w
            if before & bit:
                of.fronts[at.other_fronts + place] = _0
            if mask & bit:
                come = of.fronts[at.fronts + place]
                seen = of.seen[place] | come
                of.seen[place] = seen
                if seen == _full(at.count, w):
                    done |= bit
                _mark(v, w, come, hashed, at, keep, of, shared)
            w = int32(w + at.lanes)
        if done:
            cuda.atomic.or_(of.done, v, done)
        if mask and lane == 0:
            found = int32(found + 1)
            edges = int32(edges + starts[v + 1] - starts[v])
        item += threads
    worklist.tally(of.counters, worklist.slot(at.level), edges, found)


@cuda.jit(device=True)
def _clear(workers, size, of, sums):
    """Clears all arrays; size: words of all rows."""
    thread, threads = workers
    n = of.done.shape[0]
    for i in range(thread, size, threads):
        of.seen[i] = _0
        of.fronts[i] = _0
        of.fronts[size + i] = _0
    for i in range(thread, n, threads):
        of.masks[i] = _0
        of.masks[n + i] = _0
        of.masks[2 * n + i] = _0
        of.done[i] = _0
    for i in range(thread, sums.reached.shape[0], threads):
        sums.reached[i], sums.edges[i], sums.farthest[i], sums.marks[i] = 0, 0, 0, 0
    for i in range(thread, of.counters.shape[0], threads):
        of.counters[i] = 0


@cuda.jit(device=True)
def _sum_up(workers, at, starts, of, sums, shared):
    """Adds the tables of all blocks, and counts what each source has seen."""
    thread, threads = workers
    marks, farthest, copies = shared
    cuda.syncthreads()
    for source in range(cuda.threadIdx.x, at.count, cuda.blockDim.x):  # atomics of all blocks on one source are slow
        mark, far, first = uint32(0), int32(0), (source & 63) * WORDS + (source >> 6)
        for i in range(copies):
            mark ^= marks[first + i * at.words]
            far = max(far, farthest[first + i * at.words])
        if mark or far:
            cuda.atomic.xor(sums.marks, source, mark)
            cuda.atomic.max(sums.farthest, source, far)
    n, columns = of.done.shape[0], at.words * 64
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


@kernel_of(REGISTERS)
def _search(query, rows, back, of, sums, rule):
    """All searches. query int32[2 + ...]: how many sources, whether distances are kept, the sources; rows, back:
    `Edges` and the reversed edges; of: `Bits`. Cooperative, any grid.
    """
    grid = cuda.cg.this_grid()
    marks = cuda.shared.array(_TABLE, uint32)
    farthest = cuda.shared.array(_TABLE, int32)
    workers, n = (int64(cuda.grid(1)), int64(cuda.gridsize(1))), int64(of.done.shape[0])
    count, keep = query[0], query[1] != 0
    words, bits, copies = int32((count + 63) >> 6), int32(0), int32(1)
    while bits < rule.lanes and 2 << bits <= words:
        bits = int32(bits + 1)
    while 2 * copies * words <= WORDS:
        copies = int32(2 * copies)
    shared = marks, farthest, copies
    for i in range(cuda.threadIdx.x, _TABLE, cuda.blockDim.x):
        marks[i], farthest[i] = 0, 0
    cuda.syncthreads()
    _clear(workers, n * words, of, sums)
    grid.sync()
    for i in range(workers[0], count, workers[1]):
        v, w = int64(query[2 + i]), i >> 6
        cuda.atomic.or_(of.fronts, v * words + w, _1 << uint64(i & 63))
        cuda.atomic.or_(of.masks, v, _1 << uint64(w))
    grid.sync()
    level, pulled = int32(0), int32(0)
    while True:
        _commit(workers, _step(count, words, bits, level, -1, n), keep, rows.starts, of, shared)
        grid.sync()
        now = worklist.slot(level)
        if of.counters[now + FOUND] == 0:
            break
        edges = worklist.edges_of(of.counters[now + LISTED])
        if workers[0] == 0:
            worklist.clear(of.counters, level)
        for v in range(workers[0], n, workers[1]):
            of.masks[((level + 2) % 3) * n + v] = _0
        at = _step(count, words, bits, level, 1, n)
        if int64(edges) * rule.alpha < rows.starts[n]:
            _push_all(workers, at, rule.long, rows, of)
        else:
            _pull_all(workers, at, rule.long, back, of)
            pulled = int32(pulled + 1)
        level = int32(level + 1)
        grid.sync()
    _sum_up(workers, _step(count, words, bits, level, 1, n), rows.starts, of, sums, shared)
    if workers[0] == 0:
        sums.counted[LEVELS], sums.counted[BOTTOM_UP] = level, pulled


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


class Many(Together):
    """Searches from as many sources at once as the memory of the device has words for."""

    def __init__(
        self, network: Network, threads: int = THREADS, blocks: int | None = BLOCKS, rule: tuple[int, ...] = (),
        most: int = WORDS,
    ):  # fmt: skip
        """threads, blocks: of a block, and blocks of a multiprocessor (None: as many as fit); rule: the first values of
        a `Rule`; most: words of a row at most."""
        self._network, self._most, self._shape = network, most, (threads, blocks)
        self._rule = Rule(*map(np.int32, Rule(*rule)))
        back = 0 if network.symmetric else 4 * (network.vertices + 1 + network.edges)
        rows = upload(network, back + (_MASKS + _WORD) * network.vertices)
        other = turned(network, rows)
        ahead = cuda.to_device(pieces(network.offsets, int(self._rule.long)))
        behind = ahead if network.symmetric else cuda.to_device(pieces(network.reverse[0], int(self._rule.long)))
        self._edges = Edges(rows.starts, rows.targets, ahead), Edges(other.starts, other.targets, behind)
        self._words = 0

    def expect(self, count: int) -> None:
        """Takes memory for rows of so many sources, or of as many as half of what is free has room for."""
        n = self._network.vertices
        wanted = min(self._most, max(1, -(-count // 64)))
        if self._words >= wanted:
            return
        self._words, self._bits, self._levels, self._launch = 0, None, None, None
        words = max(1, min(wanted, (memory()[0] // 2 - _MASKS * n) // (_WORD * n)))
        require_memory(
            (_MASKS + _WORD * words) * n, f"searching {n:,} vertices from 64 sources at once", "fused needs less"
        )
        k = 64 * words
        self._query = cuda.to_device(np.zeros(2 + k, np.int32))
        self._bits = [
            *(cuda.device_array(size * n, np.uint64) for size in (words, 2 * words, 3, 1)),
            cuda.to_device(np.zeros(SLOT * SLOTS, np.int64)),
        ]
        kinds = np.int64, np.int64, np.int32, np.uint32
        self._sums = Sums(*(cuda.device_array(k, kind) for kind in kinds), cuda.to_device(np.zeros(2, np.int32)))
        self._launch = self._prepared(cuda.device_array(1, np.int32))
        self._words = words

    def _prepared(self, levels) -> Prepared:
        args = self._query, *self._edges, Bits(*self._bits, levels), self._sums, self._rule
        return Prepared(_search, args, cooperative_shape(_search, args, *self._shape))

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
            with timer.phase("transfer", excluded=True):
                distances = self._levels.copy_to_host()
            yield from distances[: part.shape[0] * n].reshape(part.shape[0], n)

    def _searched(self, sources: np.ndarray, keeping: Prepared | None = None) -> Found:
        """Searches by one launch, and waits for it. keeping: the launch that keeps distances."""
        k = sources.shape[0]
        header = np.zeros(self._query.shape[0], np.int32)
        header[:2], header[2 : 2 + k] = (k, keeping is not None), sources
        self._query.copy_to_device(header)
        (keeping or self._launch).launch()
        found = Found(*(each.copy_to_host()[:k] for each in self._sums[:4]))
        levels, pulled = self._sums.counted.copy_to_host().tolist()
        self.count(launches=1, levels=levels, bottom_up=pulled)
        return found


def _parts(sources: np.ndarray, most: int) -> list[np.ndarray]:
    """Returns the sources in parts of equal size, but for one, of at most `most`."""
    return np.array_split(sources, max(1, -(-sources.shape[0] // most)))
