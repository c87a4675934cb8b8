"""Correct answers of many queries on a large DAG, on the device, without any code of the implementations under test.

Of each group of targets every vertex has a row of bits, whether it reaches each; rows of children are or-ed level by
level from the deepest up. Levels that rise along every edge are checked first. Importing this module imports CUDA.
"""

from time import monotonic

import numpy as np

from grailbench.cuda import allocator
from grailbench.cuda.describe import memory
from grailbench.cuda.gateway import cuda, require, simulated
from grailbench.errors import CheckFailed, TooLittleMemory
from grailbench.graph.csr import Dag

MOST_WORDS = 1 if simulated else 64  #: of a row
LONG = 4 if simulated else 4096  #: rows of more children are shared among threads, in pieces of so many
_GRID = (2, 4) if simulated else (132 * 16, 256)
_1 = np.uint64(1)


@cuda.jit(cache=True)
def _count_falling(offsets, children, levels, falling):
    """Counts the edges along which the level does not rise."""
    for u in range(cuda.grid(1), levels.shape[0], cuda.gridsize(1)):
        for k in range(offsets[u], offsets[u + 1]):
            if levels[children[k]] <= levels[u]:
                cuda.atomic.add(falling, 0, 1)


@cuda.jit(cache=True)
def _clear(rows):
    for i in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        rows[i] = np.uint64(0)


@cuda.jit(cache=True)
def _mark(targets, shift, rows):
    """Gives target number b, int32[k] different vertices, bit b of its own row of 2^shift words."""
    for b in range(cuda.grid(1), targets.shape[0], cuda.gridsize(1)):
        rows[(np.int64(targets[b]) << shift) + (b >> 6)] = _1 << np.uint64(b & 63)


@cuda.jit(cache=True)
def _pull(order, first, last, offsets, children, shift, long, rows):
    """Ors the rows of their children into those of order[first : last] with at most `long` of them, a thread a word."""
    words = np.int64(1) << shift
    for t in range(cuda.grid(1), np.int64(last - first) << shift, cuda.gridsize(1)):
        u, word = np.int64(order[first + (t >> shift)]), t & (words - 1)
        begin, end = offsets[u], offsets[u + 1]
        if end - begin <= long:
            found = rows[(u << shift) + word]
            for k in range(begin, end):
                found |= rows[(np.int64(children[k]) << shift) + word]
            rows[(u << shift) + word] = found


@cuda.jit(cache=True)
def _pull_long(u, offsets, children, shift, long, rows):
    """The same for one vertex, a thread a word and a piece of its row."""
    words = np.int64(1) << shift
    begin, end = offsets[u], offsets[u + 1]
    pieces = (end - begin + long - 1) // long
    for t in range(cuda.grid(1), pieces << shift, cuda.gridsize(1)):
        word, a = t & (words - 1), begin + (t >> shift) * long
        found = np.uint64(0)
        for k in range(a, min(a + long, end)):
            found |= rows[(np.int64(children[k]) << shift) + word]
        if found != np.uint64(0):
            cuda.atomic.or_(rows, (np.int64(u) << shift) + word, found)


@cuda.jit(cache=True)
def _read(sources, bits, shift, rows, answers):
    for q in range(cuda.grid(1), sources.shape[0], cuda.gridsize(1)):
        word = rows[(np.int64(sources[q]) << shift) + (bits[q] >> 6)]
        answers[q] = (word >> np.uint64(bits[q] & 63)) & _1


def swept_answers(dag: Dag, u: np.ndarray, v: np.ndarray, seconds: float | None = None):
    """As `graph.oracle.swept_answers`: whether u[q] reaches v[q], and whether that is known; two arrays bool[k].

    Raises MachineLacks without CUDA, TooLittleMemory if the graph and rows of one word do not fit the device,
    CheckFailed as the other does.
    """
    try:
        return _swept(dag, u, v, seconds)
    finally:
        for manager in allocator.managers:  # another process may want the memory
            manager.flush()


def _swept(dag: Dag, u: np.ndarray, v: np.ndarray, seconds: float | None):
    require()
    began = monotonic()
    level_starts = _level_starts(dag)
    words = _words(dag)
    shift, bits = words.bit_length() - 1, 64 * words
    edges = dag.children if dag.edges else np.zeros(1, np.int32)  # the device has no empty arrays
    offsets, children, order, levels = map(cuda.to_device, (dag.offsets, edges, dag.order, dag.levels))
    falling, rows = cuda.to_device(np.zeros(1, np.int32)), cuda.device_array(dag.vertices * words, np.uint64)
    _count_falling[_GRID](offsets, children, levels, falling)
    if int(falling.copy_to_host()[0]):
        raise CheckFailed("the levels of the condensed graph do not rise along every edge")
    del levels
    long = np.flatnonzero(np.diff(dag.offsets) > LONG)
    long_of = {level: long[dag.levels[long] == level] for level in np.unique(dag.levels[long]).tolist()}
    ends, which = np.unique(v, return_inverse=True)
    by_target = np.argsort(which, kind="stable")
    cuts = np.searchsorted(which[by_target], np.arange(0, ends.size + bits, bits))
    answers, known = np.zeros(u.shape[0], np.bool_), np.zeros(u.shape[0], np.bool_)
    turns = np.random.default_rng(1).permutation(cuts.size - 1).tolist()
    for turn in turns:
        if seconds is not None and turn != turns[0] and monotonic() - began > seconds:
            break
        batch = by_target[cuts[turn] : cuts[turn + 1]]
        _clear[_GRID](rows)
        _mark[_GRID](cuda.to_device(ends[turn * bits : (turn + 1) * bits]), shift, rows)
        for level in range(dag.depth - 2, -1, -1):  # the deepest has no children
            first, last = int(level_starts[level]), int(level_starts[level + 1])
            _pull[_GRID](order, first, last, offsets, children, shift, LONG, rows)
            for each in long_of.get(level, ()):
                _pull_long[_GRID](int(each), offsets, children, shift, LONG, rows)
        found = cuda.to_device(np.zeros(batch.size, np.uint8))
        _read[_GRID](cuda.to_device(u[batch]), cuda.to_device(which[batch] - turn * bits), shift, rows, found)
        answers[batch], known[batch] = found.copy_to_host() != 0, True
    return answers, known


def _level_starts(dag: Dag) -> np.ndarray:
    """Where each level begins in the order, and its end. Raises CheckFailed if the order is not one by level of all
    vertices."""
    seen = np.zeros(dag.vertices, np.bool_)
    seen[dag.order] = True
    if dag.order.shape != (dag.vertices,) or not seen.all() or (np.diff(dag.levels[dag.order]) < 0).any():
        raise CheckFailed("the order of the condensed graph's vertices is not one by level")
    return np.concatenate([[0], np.cumsum(np.bincount(dag.levels))])


def _words(dag: Dag) -> int:
    """The words of a row, a power of two, that fit what is free of the device beside the graph."""
    room = 0.9 * memory()[0] - 4 * dag.edges - 16 * dag.vertices
    words = MOST_WORDS
    while words > 1 and 8 * words * dag.vertices > room:
        words //= 2
    if 8 * words * dag.vertices > room:
        raise TooLittleMemory("the graph and its rows do not fit the device")
    return words
