"""Sweeps groups of sources through a DAG, one bit each, in topological order. A vertex has a reference to a row of
bits, and a row of its own only if no parent has the same one.

What is swept is the part of the DAG between the sources and the targets of a batch, renumbered in topological order: a
vertex is kept if some source reaches it and it reaches some target. No path from a source to its target leaves these.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.graph.instructions import lowest

WORD = 64  #: bits of a word
LANES = 8  #: words that are combined at once; the width of a row is a multiple of it
MOST = 2**30  #: rows that references can name before they begin anew
_0, _1 = np.uint64(0), np.uint64(1)


class Rows(namedtuple("Rows", "words refs marks wanted first")):
    """The memory of one thread for sweeps through a DAG of k vertices, with rows of `width` words.

    words   uint64[(k + 64 * width + 2) * width]: rows, in the order in which they were needed
    refs    int32[k]: the row that a vertex has, as first + place in `words`; less than `first`: no bit is set
    marks   uint64[k // 64 + 1]: a bit for each vertex with a bit set that the sweep has yet to come to
    wanted  uint64[width]: the bits of the sources that have targets ahead
    first   int64[1]: what names the full row; it grows from group to group, so that `refs` need not be cleared
    """


def memory_of(vertices: int, width: int) -> int:
    """Bytes of `Rows` for a DAG of so many vertices."""
    return 8 * width * (vertices + WORD * width + 2) + 4 * vertices + vertices // 8 + 8 * (width + 2)


def rows_for(vertices: int, width: int) -> Rows:
    """New memory, of which only what is used is taken from the system."""
    return Rows(
        np.empty((vertices + WORD * width + 2) * width, np.uint64),
        np.zeros(vertices, np.int32),
        np.zeros(vertices // WORD + 1, np.uint64),
        np.zeros(width, np.uint64),
        np.ones(1, np.int64),
    )


@njit(cache=True, nogil=True)
def sweep(down, up, pairs, ends, answers, rows, counts):
    """Answers the pairs of one group of sources.

    down, up   (int64[k + 1], int32[e]): CSR of children and of parents; every edge leads to a greater number
    pairs      (targets int32[q], bits int32[q], which int64[q]): ascending by target. The bit is that of the pair's
               source, `which` the place of its answer in `answers` (bool)
    ends       (sources int32[s], latest int32[s]), s at most 64 * width: the sources of the bits, ascending, and the
               greatest target of each
    counts     int64[2] or None: vertices that were visited and edges that were looked at
    """
    offsets, children = down
    targets = pairs[0]
    sources, latest = ends
    _, refs, marks, wanted, first = rows
    if first[0] > MOST - refs.shape[0] - sources.shape[0] - 2:
        refs[:] = 0
        first[0] = 1
    full = np.int32(first[0])
    top = full + np.int32(1)
    wanted[:] = _0
    for b in range(sources.shape[0]):
        _set(wanted, b)
        _set(marks, sources[b])
    source, pair, last = 0, 0, targets[targets.shape[0] - 1]
    for block in range(sources[0] >> 6, (last >> 6) + 1):
        while marks[block]:
            word = marks[block]
            marks[block] = word & (word - _1)
            v = np.int32(block * 64) + np.int32(lowest(word))
            if v > last:
                continue
            ref, own, looked = _pulled(v, up, rows, full, top)
            if source < sources.shape[0] and sources[source] == v:
                if ref != full:
                    _add_source(rows.words, ref, own, source, full, top, np.uint64(wanted.shape[0]))
                    own = True
                source += 1
            if own and ref != full:
                ref = full if _covers(rows, top, full) else top
                top += ref == top
            refs[v] = ref
            pair = _answered(v, pair, pairs, latest, answers, rows, full)
            for k in range(offsets[v], offsets[v + 1]):
                _set(marks, children[k])
            if counts is not None:
                counts[0] += 1
                counts[1] += looked + offsets[v + 1] - offsets[v]
    marks[last >> 6 :] = _0
    first[0] = top


@njit(cache=True, inline="always")
def _set(bits, at):
    bits[at >> 6] |= _1 << np.uint64(at & 63)


@njit(cache=True)
def _pulled(v, up, rows, full, top):
    """The union of the rows of the parents of v: a reference, 0 for no bit; whether the union is no parent's row and
    stands where row `top` begins; and how many parents were looked at."""
    offsets, parents = up
    words, refs, width = rows.words, rows.refs, np.uint64(rows.wanted.shape[0])
    ref, own = np.int32(0), False
    k = offsets[v + 1]
    while k > offsets[v]:
        k -= 1
        other = refs[parents[k]]
        if other == full:
            return full, False, offsets[v + 1] - k
        if other > full and other != ref:
            if ref == 0:
                ref = other
            elif own:
                _add(words, np.uint64(top - full) * width, np.uint64(other - full) * width, width)
            else:
                ref, own = _joined(words, ref, other, top, full, width)
    return ref, own, offsets[v + 1] - k


@njit(cache=True)
def _add_source(words, ref, own, source, full, top, width):
    """Makes row `top` that of `ref`, unless it is there already (`own`), with the bit of a source."""
    at = np.uint64(top - full) * width
    if not own:
        for w in range(width):
            words[at + w] = _0 if ref == 0 else words[np.uint64(ref - full) * width + w]
    words[at + np.uint64(source >> 6)] |= _1 << np.uint64(source & 63)


@njit(cache=True)
def _answered(v, pair, pairs, latest, answers, rows, full):
    """Answers the pairs that ask for v, and passes those of vertices that the sweep did not come to, whose answers stay
    as they are. Sources that have no target ahead are no longer asked for. Returns the next pair."""
    targets, bits, which = pairs
    ref, width = rows.refs[v], np.uint64(rows.wanted.shape[0])
    while pair < targets.shape[0] and targets[pair] <= v:
        b = bits[pair]
        if targets[pair] == v:
            word = rows.words[np.uint64(ref - full) * width + np.uint64(b >> 6)]
            answers[which[pair]] = ref == full or (word >> np.uint64(b & 63)) & _1 != _0
        if latest[b] == targets[pair]:
            rows.wanted[b >> 6] &= ~(_1 << np.uint64(b & 63))
        pair += 1
    return pair


@njit(cache=True)
def _add(words, a, b, width):
    """Adds the bits of the row that begins at word b to those of the row at a."""
    for w in range(np.uint64(0), width, np.uint64(LANES)):
        for j in range(np.uint64(LANES)):
            words[a + w + j] |= words[b + w + j]


@njit(cache=True)
def _joined(words, ref, other, top, full, width):
    """Puts the union of two rows where the next row begins. Returns the reference of one of them, and whether neither
    has all bits of the union."""
    a, b, c = np.uint64(ref - full) * width, np.uint64(other - full) * width, np.uint64(top - full) * width
    more, less = _0, _0
    for w in range(np.uint64(0), width, np.uint64(LANES)):
        for j in range(np.uint64(LANES)):
            x, y = words[a + w + j], words[b + w + j]
            words[c + w + j] = x | y
            more |= y & ~x
            less |= x & ~y
    if more == _0:
        return ref, False
    if less == _0:
        return other, False
    return ref, True


@njit(cache=True)
def _covers(rows, ref, full):
    """Whether a row has every bit that is asked for."""
    words, wanted, width = rows.words, rows.wanted, np.uint64(rows.wanted.shape[0])
    a, missing = np.uint64(ref - full) * width, _0
    for w in range(np.uint64(0), width, np.uint64(LANES)):
        for j in range(np.uint64(LANES)):
            missing |= wanted[w + j] & ~words[a + w + j]
    return missing == _0


class Between(namedtuple("Between", "offsets children sources targets which")):
    """A DAG of k vertices and e edges, all of which lead to a greater number.

    offsets, children   int64[k + 1], int32[e]: CSR
    sources, targets    int32[q]: the ends of the pairs
    which               int64[q]: the places of these pairs in the batch; all others are unreachable
    """

    @property
    def vertices(self) -> int:
        return self.offsets.shape[0] - 1


def between(dag: Dag, sources: np.ndarray, targets: np.ndarray, which: np.ndarray) -> Between:
    """Keeps what lies between the ends of the pairs `which` (int64[k]) of a batch (int32[q] each)."""
    number, vertices, edges = _numbered(dag.offsets, dag.children, dag.order, sources, targets, which)
    offsets, children = _rows(dag.offsets, dag.children, dag.order, number, vertices, edges)
    return Between(offsets, children, *_ends(number, sources, targets, which))


@njit(cache=True, inline="always")
def _bit(bits, v):
    return (bits[v >> 6] >> np.uint64(v & 63)) & np.uint64(1)


@njit(cache=True, nogil=True)
def _numbered(offsets, children, order, sources, targets, which):
    """The new number of each vertex, int32[n], -1 for those left out; how many vertices and edges are kept (at most).

    A pass down the order marks what sources reach; a pass up marks what of that reaches a target.
    """
    n = order.shape[0]
    reached, needed = np.zeros((n >> 6) + 1, np.uint64), np.zeros((n >> 6) + 1, np.uint64)
    for i in range(which.shape[0]):
        _set(reached, sources[which[i]])
        _set(needed, targets[which[i]])
    met, count = np.empty(n, np.int32), 0
    for i in range(n):
        u = order[i]
        if _bit(reached, u):
            met[count] = u
            count += 1
            for k in range(offsets[u], offsets[u + 1]):
                _set(reached, children[k])
    number = np.full(n, -1, np.int32)
    vertices, edges = 0, 0
    for i in range(count - 1, -1, -1):
        u = met[i]
        some = _bit(needed, u)
        for k in range(offsets[u], offsets[u + 1]):
            some |= _bit(reached, children[k]) & _bit(needed, children[k])
        if some:
            _set(needed, u)
            number[u] = vertices
            vertices += 1
            edges += offsets[u + 1] - offsets[u]
    for u in range(n):
        if number[u] >= 0:
            number[u] = vertices - 1 - number[u]
    return number, vertices, edges


@njit(cache=True, nogil=True)
def _rows(offsets, children, order, number, vertices, edges):
    """The CSR (int64[vertices + 1], int32[at most edges]) of the vertices that have a number."""
    starts, kept = np.empty(vertices + 1, np.int64), np.empty(edges, np.int32)
    at, row = 0, 0
    for i in range(order.shape[0]):
        u = order[i]
        if number[u] >= 0:
            starts[row] = at
            row += 1
            for k in range(offsets[u], offsets[u + 1]):
                v = number[children[k]]
                if v >= 0:
                    kept[at] = v
                    at += 1
    starts[vertices] = at
    return starts, kept[:at]


@njit(cache=True, nogil=True)
def _ends(number, sources, targets, which):
    """The ends of the pairs both of whose ends have a number, and the places of these pairs."""
    u, v, kept = np.empty(which.shape[0], np.int32), np.empty(which.shape[0], np.int32), np.empty_like(which)
    count = 0
    for i in range(which.shape[0]):
        a, b = number[sources[which[i]]], number[targets[which[i]]]
        if a >= 0 and b > a:
            u[count], v[count], kept[count] = a, b, which[i]
            count += 1
    return u[:count], v[:count], kept[:count]


@njit(cache=True, nogil=True)
def mirrored(offsets, targets):
    """The CSR (int64[k + 1], int32[e]) whose vertex v is vertex k - 1 - v of another one."""
    k, at = offsets.shape[0] - 1, 0
    starts, found = np.empty_like(offsets), np.empty_like(targets)
    for v in range(k):
        starts[v] = at
        for i in range(offsets[k - v] - 1, offsets[k - 1 - v] - 1, -1):
            found[at] = k - 1 - targets[i]
            at += 1
    starts[k] = at
    return starts, found


def grouped(
    vertices: int, sources: np.ndarray, targets: np.ndarray, which: np.ndarray, size: int
) -> list[tuple[tuple[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]]:
    """Divides pairs (int32[q], int32[q], and their places, int64[q]) of a DAG of so many vertices among groups of
    `size` sources, the earliest first; returns `pairs` and `ends` of each (see `sweep`)."""
    *pairs, distinct, latest, begins = _grouped(vertices, sources, targets, which, size)
    cuts, found = begins.tolist(), []
    for turn, (low, high) in enumerate(zip(cuts, cuts[1:], strict=False)):
        own = slice(turn * size, (turn + 1) * size)
        found.append((tuple(each[low:high] for each in pairs), (distinct[own], latest[own])))
    return found


@njit(cache=True, nogil=True)
def _grouped(vertices, sources, targets, which, size):
    pairs = sources.shape[0]
    number, starts = np.zeros(vertices, np.int32), np.zeros(vertices + 1, np.int64)
    for q in range(pairs):
        number[sources[q]] = 1
        starts[targets[q] + 1] += 1
    distinct, count = np.empty(min(pairs, vertices), np.int32), 0
    for v in range(vertices):
        starts[v + 1] += starts[v]
        if number[v]:
            number[v], distinct[count] = count, v
            count += 1
    by_target = np.empty(pairs, np.int64)
    for q in range(pairs):
        by_target[starts[targets[q]]] = q
        starts[targets[q]] += 1
    begins = np.zeros((count + size - 1) // size + 1, np.int64)
    for q in range(pairs):
        begins[number[sources[q]] // size + 1] += 1
    for group in range(begins.shape[0] - 1):
        begins[group + 1] += begins[group]
    at, latest = begins.copy(), np.empty(count, np.int32)
    ends, bits, places = np.empty(pairs, np.int32), np.empty(pairs, np.int32), np.empty(pairs, np.int64)
    for i in range(pairs):
        q = by_target[i]
        source = number[sources[q]]
        group = source // size
        ends[at[group]], bits[at[group]], places[at[group]] = targets[q], source - group * size, which[q]
        at[group] += 1
        latest[source] = targets[q]
    return ends, bits, places, distinct[:count], latest, begins


@njit(cache=True, nogil=True)
def distinct(vertices, ends):
    """The number of different values in int32[q] of numbers below `vertices`."""
    seen, count = np.zeros(vertices, np.bool_), 0
    for q in range(ends.shape[0]):
        count += not seen[ends[q]]
        seen[ends[q]] = True
    return count
