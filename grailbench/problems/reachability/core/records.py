"""What a query reads of its two vertices: a record of the source and a record of the target.

Vertices are numbered by position (`peel.Peeled`): b of in-trees, k of the core, then the out-trees; the super-root is
number n. A source has four fields, a target two. Both arrays are uint16 where all numbers fit, else uint32:

    sources [n + 1, 4]  place    the position in the in-trees; the greatest number of the type for all other vertices
                        row      the row of the closure of what the vertex reaches; k without one
                        low      the first position of the out-tree that the vertex reaches and no other vertex does
                        length   the size of that out-tree, 0 without one
    targets [n + 1, 2]  low      the position
                        length   in the in-trees the size of the subtree, at most b; b + c, where c is the column of the
                                 closure (from 1) of what reaches the vertex; 0 without one

u reaches v if one of three holds, in unsigned arithmetic: place(u) - low(v) < length(v), which is an interval of the
in-trees; low(v) - low(u) < length(u), an interval of the out-trees; the bit of row(u) and column(v). A vertex reaches
itself by one of them, and the super-root has an interval that contains everything. No step depends on another, so that
the reads of many pairs overlap.

A DAG that is nothing but in-trees, or nothing but out-trees, needs one record for both sides: `tree` [n + 1, 2], the
position and the size of the subtree. u reaches v if position(u) - position(v) < size(v), or the other way round.
"""

import numpy as np
from numba import njit
from numba.extending import overload

from grailbench.problems.reachability.core.closure import row_start
from grailbench.problems.reachability.core.patterns import bit_of
from grailbench.problems.reachability.core.peel import Peeled

SHORT = 2**16  #: numbers below this one fit a short field
_0, _1, _6, _63 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)


def narrow(peeled: Peeled) -> bool:
    """Returns whether the fields fit 16 bits, the greatest number of which never lies in an interval."""
    core = int(peeled.core.shape[0])
    return peeled.vertices + peeled.above + core + 2 < SHORT


def tree_records(peeled: Peeled) -> np.ndarray:
    """Returns `tree`, for a DAG that is nothing but in-trees or nothing but out-trees; the super-root comes last."""
    kind = np.uint16 if peeled.vertices < SHORT - 1 else np.uint32
    tree = np.empty((peeled.vertices + 1, 2), kind)
    _fill_tree(peeled.position, peeled.end, tree)
    return tree


@njit(cache=True, nogil=True)
def _fill_tree(position, end, tree):
    for v in range(position.shape[0]):
        tree[v, 0], tree[v, 1] = position[v], end[v] - position[v]


def records(peeled: Peeled) -> tuple[np.ndarray, np.ndarray]:
    """Returns `sources` and `targets`."""
    kind, n = np.uint16 if narrow(peeled) else np.uint32, peeled.vertices
    sources, targets = np.empty((n + 1, 4), kind), np.empty((n + 1, 2), kind)
    core = int(peeled.core.shape[0])
    _fill(peeled.position, peeled.end, peeled.gate, peeled.above, core, np.iinfo(kind).max, sources, targets)
    return sources, targets


@njit(cache=True, nogil=True)
def _fill(position, end, gate, above, core, never, sources, targets):
    """Fills the records. Arguments are fields of `Peeled` but `never`, the greatest number of the fields."""
    n, below = position.shape[0] - 1, above + core
    for v in range(n):
        at, beyond = position[v], gate[v]
        place, row, low, length = never, core, 0, 0
        column = 0
        if at >= below:
            low, length = at, end[v] - at
            if beyond >= 0:
                column = position[beyond] + 1
        elif at >= above:
            row, column = at - above, at + 1
        else:
            place, column = at, end[v] - at
            if beyond >= 0:
                if position[beyond] >= below:
                    low, length = position[beyond], end[beyond] - position[beyond]
                else:
                    row = position[beyond] - above
        sources[v, 0], sources[v, 1], sources[v, 2], sources[v, 3] = place, row, low, length
        targets[v, 0], targets[v, 1] = at, column
    sources[n, 0], sources[n, 1], sources[n, 2], sources[n, 3] = never, core, 0, never
    targets[n, 0], targets[n, 1] = n, 0


def bit(row, column, closure):
    """Returns whether the closure has a row and a column, counted from 1; both uint64. See `reaches` for closures."""
    raise NotImplementedError("only kernels call it")


@overload(bit, inline="always")
def _bit(row, column, closure):
    """The bit of a triangle of bits, or of the rows of a contracted core."""

    def of_bits(row, column, closure):
        width, bits = closure
        word = bits[row_start(row, width) + (column >> _6)]
        return ((word >> (column & _63)) & _1 != _0) & (column > row)

    def of_rows(row, column, closure):
        grid, table, owner, words, usual = closure
        return bit_of(row, column, grid, table, owner, words, usual) != _0

    return of_bits if len(closure) == 2 else of_rows


@njit(cache=True, inline="always")
def reaches(place, row, u_low, u_length, low, length, above, closure):
    """Returns the answer to one pair. Fields and b are uint64.

    A closure is a tuple of a uint64 and plain arrays: (width, bits), the triangle of `closure`; or (grid, table, owner,
    words, usual), the rows of `patterns`.
    """
    column = max(length, above) - above
    return (place - low < length) | (low - u_low < u_length) | bit(row, column, closure)


_16, _32, _48 = np.uint64(16), np.uint64(32), np.uint64(48)
_SHORT, _LONG = np.uint64(2**16 - 1), np.uint64(2**32 - 1)
OPEN = 2  #: an answer that only the index of the core can give


@njit(cache=True, nogil=True)
def answer_narrow(sources, targets, batch, above, closure):
    """Answers a batch by records of 16-bit fields.

    sources: uint64[n + 1] and targets: uint32[n + 1], the records seen as one number each; batch: (int32[k], int32[k],
    bool[k]); above: b.
    """
    us, vs, answers = batch
    above = np.uint64(above)
    for i in range(answers.shape[0]):
        u, v = sources[np.uint64(us[i])], np.uint64(targets[np.uint64(vs[i])])
        answers[i] = reaches(
            u & _SHORT, (u >> _16) & _SHORT, (u >> _32) & _SHORT, u >> _48, v & _SHORT, v >> _16, above, closure
        )


@njit(cache=True, nogil=True)
def answer_wide(sources, targets, batch, above, closure):
    """As `answer_narrow`, by records of 32-bit fields: sources uint64[n + 1, 2], targets uint64[n + 1]."""
    us, vs, answers = batch
    above = np.uint64(above)
    for i in range(answers.shape[0]):
        u, v = np.uint64(us[i]), targets[np.uint64(vs[i])]
        first, second = sources[u, 0], sources[u, 1]
        answers[i] = reaches(
            first & _LONG, first >> _32, second & _LONG, second >> _32, v & _LONG, v >> _32, above, closure
        )


@njit(cache=True, nogil=True)
def answer_tree(tree, batch, root, upward):
    """Answers a batch on a forest. tree: [n + 1, 2] of uint16 or uint32; upward: whether it is of in-trees."""
    us, vs, answers = batch
    if upward:
        for i in range(answers.shape[0]):
            u, v = np.uint64(us[i]), np.uint64(vs[i])
            inside = np.uint64(tree[u, 0]) - np.uint64(tree[v, 0]) < np.uint64(tree[v, 1])
            answers[i] = inside | (us[i] == root)
    else:
        for i in range(answers.shape[0]):
            u, v = np.uint64(us[i]), np.uint64(vs[i])
            inside = np.uint64(tree[v, 0]) - np.uint64(tree[u, 0]) < np.uint64(tree[u, 1])
            answers[i] = inside | (us[i] == root)
