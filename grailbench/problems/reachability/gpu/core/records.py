"""The packed closure of the core, in the layout of `reachability.core.closure`: one cooperative launch, level by level.

The rows of the deepest level come first. A thread unites one word of the rows of the children of one vertex, so that
neighbouring threads read neighbouring words. In levels that leave threads idle, the children of a vertex are shared
among several.

The records of `reachability.core.records`, each packed into one number or two, which a thread loads at once.

Narrow records have fields of 16 bits and wide ones of 32, the first field lowest, so that the bytes are those of the
CPU's arrays: a source is int64[1] or int64[2], a target and a record of a tree uint32 or int64.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, cooperative_shape
from grailbench.problems.reachability.gpu.core.peel import OF_ABOVE, OF_CORE, Given, Parts

CLOSING_THREADS = 4 if simulated else 512
_LEAST = 2 if simulated else 32  #: children that a thread unites if a vertex is shared
_TASKS = 8  #: with so many words for each thread of the grid, no vertex is shared
_1 = np.uint64(1)


@cuda.jit(device=True)
def row_start(row, width):
    """As `reachability.core.closure.row_start`, for int64."""
    block = row >> 6
    return row * (width - block) + block * (32 * block + 31)


@cuda.jit(device=True)
def _unite(word, begin, end, width, edges, bits):
    """Returns the union of one word of the rows of the children edges[begin:end]."""
    found = np.uint64(0)
    for k in range(begin, end):
        child = np.int64(edges[k])
        if word >= (child + 1) >> 6:
            found |= bits[row_start(child, width) + word]
    return found


@cuda.jit(cache=True)
def close(levels, parts, most, bits):
    """Fills the closure: bits uint64[words]. levels: as in `Dag`; most int32[depth]: scratch. Any cooperative grid."""
    grid = cuda.cg.this_grid()
    thread, threads = cuda.grid(1), cuda.gridsize(1)
    core, depth = np.int64(parts.totals[OF_CORE]), most.shape[0]
    width = core // 64 + 1
    for level in range(thread, depth, threads):
        most[level] = 0
    for i in range(thread, bits.shape[0], threads):
        bits[i] = 0
    grid.sync()
    for row in range(thread, core, threads):
        degree, level = parts.ends[row] - parts.starts[row], levels[parts.core[row]]
        if degree > most[level]:
            cuda.atomic.max(most, level, degree)
        column = np.int64(row) + 1
        bits[row_start(np.int64(row), width) + (column >> 6)] = _1 << np.uint64(column & 63)
    grid.sync()
    for level in range(depth - 1, -1, -1):
        first, last = np.int64(parts.bounds[level]), np.int64(parts.bounds[level + 1])
        longest = np.int64(most[level])
        if longest > 0:
            before = (first + 1) >> 6
            words = width - before
            pieces = min((longest + _LEAST - 1) // _LEAST, _TASKS * threads // ((last - first) * words) + 1)
            each = (longest + pieces - 1) // pieces
            for task in range(thread, (last - first) * words * pieces, threads):
                piece, word = np.int64(task) // words, before + np.int64(task) % words
                row = first + piece // pieces
                begin = parts.starts[row] + each * (piece % pieces)
                end = min(begin + each, np.int64(parts.ends[row]))
                found = _unite(word, begin, end, width, parts.edges, bits)
                if found:
                    at = row_start(row, width) + word
                    if pieces > 1:
                        cuda.atomic.or_(bits, at, found)
                    else:
                        bits[at] |= found
            grid.sync()


def closing(graph: Given, parts: Parts, words: int) -> tuple[Prepared, object]:
    """Returns the launch that fills the closure of one core, and its bits, uint64[words]."""
    bits = cuda.device_array(words, np.uint64)
    args = graph.levels, parts, cuda.device_array(parts.bounds.shape[0] - 1, np.int32), bits
    return Prepared(close, args, cooperative_shape(close, args, CLOSING_THREADS)), bits


_SHORT, LONG = np.int64(2**16 - 1), np.int64(2**32 - 1)
OPEN = np.uint8(2)  #: an answer that only the index of the core can give


@cuda.jit(cache=True)
def fill_records(parts, narrow, sources, targets):
    """Fills all records. sources: int64[n] if narrow, else int64[2 n]; targets: uint32[n] or int64[n]."""
    n = parts.position.shape[0]
    above, core = parts.totals[OF_ABOVE], parts.totals[OF_CORE]
    never = _SHORT if narrow else LONG
    for v in range(cuda.grid(1), n, cuda.gridsize(1)):
        at, size, beyond = np.int64(parts.position[v]), np.int64(parts.end[v] - parts.position[v]), parts.gate[v]
        place, row, low, length, column = never, core, np.int64(0), np.int64(0), np.int64(0)
        gate, size_of_gate = np.int64(-1), np.int64(0)
        if beyond >= 0:
            gate, size_of_gate = np.int64(parts.position[beyond]), np.int64(parts.end[beyond] - parts.position[beyond])
        if v == n - 1:
            length = never
        elif at >= above + core:
            low, length, column = at, size, gate + 1
        elif at >= above:
            row, column = at - above, at + 1
        else:
            place, column = at, size
            if gate >= above + core:
                low, length = gate, size_of_gate
            elif gate >= 0:
                row = gate - above
        if narrow:
            sources[v] = place | row << 16 | low << 32 | length << 48
            targets[v] = at | column << 16
        else:
            sources[2 * v], sources[2 * v + 1] = place | row << 32, low | length << 32
            targets[v] = at | column << 32


@cuda.jit(cache=True)
def fill_tree(parts, narrow, tree):
    """Fills the records of a forest. tree: uint32[n] if narrow, else int64[n]."""
    for v in range(cuda.grid(1), parts.position.shape[0], cuda.gridsize(1)):
        at, size = np.int64(parts.position[v]), np.int64(parts.end[v] - parts.position[v])
        tree[v] = at | size << (16 if narrow else 32)


@cuda.jit(device=True)
def _reaches(place, row, u_low, u_length, low, length, above, width, bits):
    """Returns the answer to one pair, from fields of int64."""
    found = (low <= place) & (place - low < length) | (u_low <= low) & (low - u_low < u_length)
    column = max(length - above, np.int64(0))
    if column > row:  # else nothing is read
        found |= bits[row_start(row, width) + (column >> 6)] >> np.uint64(column & 63) & np.uint64(1) != 0
    return found


@cuda.jit(cache=True)
def answer_narrow(us, vs, sources, targets, above, width, bits, answers):
    """Answers a batch by narrow records, one thread a pair. us, vs: int32[k]; answers: uint8[k]."""
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        u, v = sources[us[i]], np.int64(targets[vs[i]])
        low, length = v & _SHORT, v >> 16
        answers[i] = _reaches(
            u & _SHORT, u >> 16 & _SHORT, u >> 32 & _SHORT, u >> 48 & _SHORT, low, length, above, width, bits
        )


@cuda.jit(cache=True)
def answer_wide(us, vs, sources, targets, above, width, bits, answers):
    """As `answer_narrow`, by wide records."""
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        at = 2 * np.int64(us[i])
        first, second, v = sources[at], sources[at + 1], targets[vs[i]]
        low, length = v & LONG, v >> 32 & LONG
        answers[i] = _reaches(
            first & LONG, first >> 32 & LONG, second & LONG, second >> 32 & LONG, low, length, above, width, bits
        )


@cuda.jit(cache=True)
def answer_tree(us, vs, tree, upward, narrow, answers):
    """Answers a batch on a forest, of in-trees if `upward`. us, vs: int32[k]; answers: uint8[k]."""
    mask, shift = (_SHORT, 16) if narrow else (LONG, 32)
    root = tree.shape[0] - 1
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        inner, outer = us[i], vs[i]
        from_root = inner == root
        if not upward:
            inner, outer = outer, inner
        place, other = np.int64(tree[inner]) & mask, np.int64(tree[outer])
        low, size = other & mask, other >> shift & mask
        answers[i] = (low <= place) & (place - low < size) | from_root


@cuda.jit(cache=True)
def settle(us, vs, sources, targets, above, narrow, answers, rows, columns):
    """Answers what the forests decide; pairs of the core are left `OPEN`, with their places in it.

    us, vs, rows, columns: int32[k]; answers: uint8[k].
    """
    mask, shift = (_SHORT, 16) if narrow else (LONG, 32)
    for i in range(cuda.grid(1), us.shape[0], cuda.gridsize(1)):
        target = np.int64(targets[vs[i]])
        low, length = target & mask, target >> shift & mask
        if narrow:
            first = sources[us[i]]
            second = first >> 32
        else:
            at = 2 * np.int64(us[i])
            first, second = sources[at], sources[at + 1]
        place, row, u_low, u_length = first & mask, first >> shift & mask, second & mask, second >> shift & mask
        column = max(length - above, np.int64(0))
        if column > row:
            answers[i], rows[i], columns[i] = OPEN, np.int32(row), np.int32(column - 1)
        else:
            answers[i] = (low <= place) & (place - low < length) | (u_low <= low) & (low - u_low < u_length)
