"""The packed closure of the core, in the layout of `reachability.core.closure`: one cooperative launch, level by level.

The rows of the deepest level come first. A thread unites one word of the rows of the children of one vertex, so that
neighbouring threads read neighbouring words. In levels that leave threads idle, the children of a vertex are shared
among several.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared, cooperative_shape
from grailbench.problems.reachability.gpu.core.peel import OF_CORE, Given, Parts

THREADS = 4 if simulated else 512
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


class Closer:
    """Fills the closure of one core on the device; allocates once, for any number of runs."""

    def __init__(self, graph: Given, parts: Parts, words: int):
        self.bits = cuda.device_array(words, np.uint64)
        most = cuda.device_array(parts.bounds.shape[0] - 1, np.int32)
        args = graph.levels, parts, most, self.bits
        self._launch = Prepared(close, args, cooperative_shape(close, args, THREADS))

    def run(self) -> None:
        """Fills `bits`, uint64[words]; does not wait."""
        self._launch.launch()
