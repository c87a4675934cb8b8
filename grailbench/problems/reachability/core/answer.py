"""Answers batches from the records of `records`, pair by pair and without branches.

A closure is a tuple of a uint64 and plain arrays: (width, bits), the triangle of `closure`; or (grid, table, owner,
words, usual), the rows of `patterns`.

`size_counters` says which form the index of a core has: it differs between graphs and budgets.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.graph.threads import helpers
from grailbench.problems.reachability.core.inner import Inner
from grailbench.problems.reachability.core.patterns import Patterns
from grailbench.problems.reachability.core.records import reaches
from grailbench.problems.reachability.index import Index, Params, Timer

#: What `sizes` returns. Where all bytes are 0, trees answer everything; else the one that is not 0 tells the form.
SIZES = (
    "peeled_above", "peeled_below", "core_vertices", "closure_rows", "closure_columns",
    "bytes_of_bits", "bytes_of_patterns", "bytes_of_labels",
)  # fmt: skip


def size_counters(
    vertices: int, above: int, core: int, shape: tuple[int, int], bits: int = 0, patterns: int = 0, labels: int = 0
) -> dict[str, int]:
    """Returns the counters named in `SIZES`.

    vertices: of the DAG without its super-root; above, core: of them, as in `Peeled`; shape: rows and columns of the
    closure, 0 without one; bits, patterns, labels: bytes of the closure as plain bits, of the closure of the contracted
    core, or of the labels, filters and edges of a core that has no closure.
    """
    return dict(zip(SIZES, (above, vertices - above - core, core, *shape, bits, patterns, labels), strict=True))


_16, _32, _48 = np.uint64(16), np.uint64(32), np.uint64(48)
_SHORT, _LONG = np.uint64(2**16 - 1), np.uint64(2**32 - 1)
_PER_THREAD = 1 << 16  #: pairs of a batch that justify one more thread
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


@njit(cache=True, nogil=True)
def settle(sources, targets, batch, above, opened, rows, columns):
    """Answers what the forests decide, and lists the pairs of the core that they leave open; returns how many.

    sources, targets: the records [n + 1, 4] and [n + 1, 2] without a closure. opened int64[q], rows and columns
    int32[q] get the number of each open pair in the batch, its row and its column, from 0.
    """
    us, vs, answers = batch
    left, above = 0, np.uint64(above)
    for i in range(answers.shape[0]):
        u, v = np.uint64(us[i]), np.uint64(vs[i])
        place, row = np.uint64(sources[u, 0]), np.uint64(sources[u, 1])
        u_low, u_length = np.uint64(sources[u, 2]), np.uint64(sources[u, 3])
        low, length = np.uint64(targets[v, 0]), np.uint64(targets[v, 1])
        column = max(length, above) - above
        answers[i] = (place - low < length) | (low - u_low < u_length)
        opened[left], rows[left], columns[left] = i, row, np.int64(column) - 1
        left += column > row
    return left


class PeeledIndex(Index):
    """The records of the vertices, and the closure or another index of the core: what answers batches.

    arrays  'shape': int64[2], b and k of `Peeled`, and with 'table' int64[5]: then the grid of `patterns`, and how
            many rows and columns the closure has; either 'tree' alone or 'sources' and 'targets' (see `records`);
            unless there is an inner index, the closure: 'bits' (see `closure`), or 'table', 'owner', 'words' and
            'usual' (see `patterns`)
    inner   the index of the core where its closure does not fit the budget, else None
    """

    concurrent = True

    def __init__(self, dag: Dag, params: Params, arrays: dict[str, np.ndarray], inner: Inner | None):
        self.dag, self.workers, self.arrays, self.inner = dag, params.workers, arrays, inner
        self.tree, self.bits = arrays.get("tree"), arrays.get("bits")
        self._counts, self._queries = params.count, 0
        if self.tree is None:
            self.sources, self.targets = arrays["sources"], arrays["targets"]
            if self.sources.dtype == np.uint16:
                self._answer = answer_narrow
                self._seen = self.sources.view(np.uint64).reshape(-1), self.targets.view(np.uint32).reshape(-1)
            else:
                self._answer = answer_wide
                self._seen = self.sources.view(np.uint64), self.targets.view(np.uint64).reshape(-1)

    @property
    def above(self) -> int:
        """Number of vertices in the in-trees."""
        return int(self.arrays["shape"][0])

    @property
    def core(self) -> int:
        """Number of vertices of the core."""
        return int(self.arrays["shape"][1])

    @cached_property
    def closure(self) -> tuple:
        """The closure as kernels take it (see `answer`); (0,) without one."""
        if self.bits is not None:
            return np.uint64(self.core // 64 + 1), self.bits
        if "table" not in self.arrays:
            return (0,)
        return np.uint64(self.arrays["shape"][2]), *(self.arrays[name] for name in Patterns._fields[1:])

    @property
    def upward(self) -> bool:
        """Whether a DAG that is a forest has in-trees."""
        return self.above > 0

    def gates(self, source: int, target: int) -> tuple[int, int]:
        """Returns the vertex of the core whose row a source has, and the one whose column a target has."""
        places, columns = self.targets[:, 0], self.targets[:, 1]
        _, row, low, length = self.sources[source].tolist()
        sharing = np.flatnonzero((columns == columns[target]) & (places >= self.above))
        first = low if length else self.above + row
        return int(np.flatnonzero(places == first)[0]), int(sharing[np.argmin(places[sharing])])

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answers on one thread, or on more where each gets 65,536 pairs or more."""
        answers = np.empty(sources.shape[0], np.bool_)
        if self._counts:
            self._queries += answers.size
        if self.inner is not None:
            self._answer_inside((sources, targets, answers))
            return answers
        shares = max(1, min(self.workers, answers.size // _PER_THREAD))
        if shares == 1:
            self._answer_share((sources, targets, answers))
            return answers
        cuts = np.linspace(0, answers.size, shares + 1).astype(np.int64).tolist()
        parts = [slice(low, high) for low, high in zip(cuts, cuts[1:], strict=False)]
        batches = [(sources[part], targets[part], answers[part]) for part in parts]
        others = [helpers(shares - 1).submit(self._answer_share, batch) for batch in batches[1:]]
        self._answer_share(batches[0])
        for other in others:
            other.result()
        return answers

    def _answer_share(self, batch: tuple) -> None:
        if self.tree is not None:
            answer_tree(self.tree, batch, self.dag.super_root, self.upward)
        else:
            self._answer(*self._seen, batch, self.above, self.closure)

    def _answer_inside(self, batch: tuple) -> None:
        """Has the inner index answer the pairs of the core that the forests leave open."""
        size = batch[0].shape[0] + 1  # the kernel writes one entry too many
        opened, rows, columns = np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size, np.int32)
        left = settle(self.sources, self.targets, batch, self.above, opened, rows, columns)
        if left:
            batch[2][opened[:left]] = self.inner.answer(rows[:left], columns[:left])
