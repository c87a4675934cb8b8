"""New edges on top of an index, answered exactly without building it again.

u reaches v if the index says so; or if u reaches the source s of a new edge from which new edges, and paths of the DAG
between them, lead to the target t of a new edge, and t reaches v. Each different source is a bit. A sweep of the DAG
against its edges gives every vertex the sources that it reaches; the rows of the targets say which source can follow
which, and are closed by Warshall's algorithm, since new edges may close cycles. A sweep along the edges then gives
every vertex the sources from which it is reached by new edges. u reaches v if their rows share a bit.

Rows are compared for pairs that the index denies and that have new edges on both sides. At first no rows are made: the
index is asked from each u to every source, and from every target to each v, until that has taken as long as the sweeps
take. Then rows are made, and kept if there is room; without room a batch makes them in blocks, unless asking is faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.csr import VERTEX, Dag
from grailbench.graph.sweeps import number, spread
from grailbench.problems.reachability.core.index import SMALL, fits
from grailbench.problems.reachability.index import Index, NoTimer, OnePair, Params, Timer
from grailbench.util import memory

WIDTH = 8  #: most words of a row of a block: a line of the cache


class Rows(NamedTuple):
    """Some sources, a bit each: those that a vertex reaches, and those from which new edges lead to it.

    up, down  uint64[n, w]
    """

    up: np.ndarray
    down: np.ndarray


class UpdatedIndex(Index):
    """An index of a DAG, and new edges between its vertices or new ones, which are counted from `dag.vertices` on."""

    def __init__(
        self, base: Index, dag: Dag, sources: np.ndarray, targets: np.ndarray,
        added: int = 0, member: np.ndarray | None = None,
    ):  # fmt: skip
        """Raises TooLittleMemory.

        sources, targets  int32[k]: the new edges
        added             how many new vertices there are
        member            int32[dag.vertices]: what stands for each vertex in queries of `base`; None for itself
        """
        self.base, self.dag, self.member = base, dag, member
        self.vertices, self.added, self.concurrent = dag.vertices + added, added, base.concurrent
        new = ~self._asked(sources, targets)
        self.sources, start = np.unique(sources[new], return_inverse=True)
        self.targets, end = np.unique(targets[new], return_inverse=True)
        words = -(-self.sources.size // 64)
        need = 8 * words * (self.sources.size + 2 * self.targets.size)
        if need > SMALL:
            memory.require(need, f"the closure of {start.size:,} new edges")
        self._own = np.zeros((self.sources.size, words), np.uint64)  # the bit of each source
        number(np.arange(self.sources.size, dtype=VERTEX), self._own)
        self._keep = fits(16 * self.vertices * words, Params())  # as the closure of `core`
        self._width = WIDTH if self._keep else min(WIDTH, max(1, SMALL // (16 * self.vertices)))
        below, self._above = np.zeros((2, self.targets.size, words), np.uint64)
        begin = perf_counter()
        for first in range(0, words, self._width):
            below[:, first : first + self._width] = self._up(first)[self.targets]
        self._sweeps, self._spent = 2 * (perf_counter() - begin), 0.0  # seconds of all sweeps, and of asking instead
        _close(start, end, below, self._own.copy(), self._above)
        self._kept: list[Rows] = []

    # ------------------------------------------------------------------ rows

    def _up(self, first: int) -> np.ndarray:
        """Which sources each vertex reaches: those of the words from `first` on, uint64[n, w]."""
        up = np.zeros((self.vertices, min(self._width, self._own.shape[1] - first)), np.uint64)
        number(self.sources[64 * first : 64 * (first + self._width)], up)
        spread(self.dag.parent_offsets, self.dag.parents, self._backwards, up)
        return up

    def _down(self, first: int) -> np.ndarray:
        """From which sources new edges lead to each vertex: those of the words from `first` on, uint64[n, w]."""
        down = np.zeros((self.vertices, min(self._width, self._own.shape[1] - first)), np.uint64)
        down[self.targets] = self._above[:, first : first + self._width]
        spread(self.dag.offsets, self.dag.children, self.dag.order, down)
        return down

    def _rows(self) -> Iterator[Rows]:
        for first in range(0, self._own.shape[1], self._width):
            yield Rows(self._up(first), self._down(first))

    @cached_property
    def _backwards(self) -> np.ndarray:
        return np.ascontiguousarray(self.dag.order[::-1])

    @cached_property
    def _some(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether each vertex reaches a source, and whether it is reached from a target, bool[n] each."""
        up, down = np.zeros((2, self.vertices, 1), np.uint64)
        up[self.sources], down[self.targets] = 1, 1
        spread(self.dag.parent_offsets, self.dag.parents, self._backwards, up)
        spread(self.dag.offsets, self.dag.children, self.dag.order, down)
        return up[:, 0] != 0, down[:, 0] != 0

    # ------------------------------------------------------------------ answers

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Asks the index, and compares the rows of pairs that it denies."""
        answers = self._asked(sources, targets)
        if self._kept:
            _compare(self._kept, sources, targets, answers)
        elif self.sources.size:
            up, down = self._some
            left = np.flatnonzero(~answers & up[sources] & down[targets])
            if left.size:
                answers[left] = self._shared(sources[left], targets[left])
        return answers

    def _shared(self, us: np.ndarray, vs: np.ndarray) -> np.ndarray:
        """Whether rows that are not made yet share a bit, bool[q]."""
        answers = np.zeros(us.size, np.bool_)
        (above, u), (below, v) = (np.unique(ends, return_inverse=True) for ends in (us, vs))
        seconds = self._a_pair * (above.size * self.sources.size + below.size * self.targets.size)
        if self._spent + seconds > self._sweeps:
            rows = self._rows()
            if self._keep:
                rows = self._kept = list(rows)
            _compare(rows, us, vs, answers)
            return answers
        self._spent += seconds * self._keep
        reached = self._asked(np.repeat(above, self.sources.size), np.tile(self.sources, above.size))
        reaching = self._asked(np.tile(self.targets, below.size), np.repeat(below, self.targets.size))
        up = _united(reached.reshape(above.size, -1), self._own)
        down = _united(reaching.reshape(below.size, -1), self._above)
        _compare([Rows(up, down)], u.astype(VERTEX), v.astype(VERTEX), answers)
        return answers

    def _asked(self, us: np.ndarray, vs: np.ndarray) -> np.ndarray:
        """The answers without the new edges; a new vertex reaches itself. Notes the time of a pair."""
        begin = perf_counter()
        inside = (us < self.dag.vertices) & (vs < self.dag.vertices) if self.added else slice(None)
        answers, ends = us == vs, (us[inside], vs[inside])
        asked = ends if self.member is None else (self.member[ends[0]], self.member[ends[1]])
        answers[inside] = self.base.query_batch(*asked, NoTimer())
        self._a_pair = (perf_counter() - begin) / max(1, us.size)
        return answers

    def one_pair(self, component: np.ndarray | None) -> OnePair | None:
        """Returns what asks that of the index first, and then compares two rows."""
        own = None if component is None or self.member is not None else component[: component.size - self.added]
        one = self.base.one_pair(own)
        return None if one is None else _One(self, one, component)

    def stored(self) -> dict[str, np.ndarray] | None:
        """Returns the arrays of the index; None if there are new edges."""
        return None if self.sources.size else self.base.stored()

    @property
    def index_bytes(self) -> int:
        """Bytes of the index, of the rows of sources and targets, and of those that are kept."""
        kept = sum(each.nbytes for rows in self._kept for each in rows)
        return int(self.base.index_bytes or 0) + self._own.nbytes + self._above.nbytes + kept


class _One:
    """Answers queries of two original vertices; see `reachability.index.OnePair`."""

    def __init__(self, index: UpdatedIndex, base: OnePair, component: np.ndarray | None):
        self._index, self._base, self._component, self.at = index, base, component, base.at
        self._old = index.vertices if component is None else component.size - index.added
        self.quick = lambda at, source, target: base.quick(at, source, target) or None

    def search(self, source: int, target: int) -> bool:
        """Asks the index unless it has said yes, and compares the rows."""
        index, base, component = self._index, self._base, self._component
        if source < self._old and target < self._old:
            answer = base.quick(base.at, source, target)
            if base.search(source, target) if answer is None else answer:
                return True
        u, v = (source, target) if component is None else (int(component[source]), int(component[target]))
        if u == v or index._kept or not index.sources.size:
            return u == v or any(bool((rows.up[u] & rows.down[v]).any()) for rows in index._kept)
        up, down = index._some
        return bool(up[u] and down[v] and index._shared(*np.array([[u], [v]], VERTEX))[0])


@njit(cache=True, nogil=True)
def _close(start, end, below, before, above):
    """Sets the row of each target to the sources from which new edges lead to it.

    start, end  int64[k]: the places of the source and of the target of each new edge
    below       uint64[b, w]: the sources that each target reaches without new edges
    before      uint64[a, w]: the bit of each source; afterwards all sources from which new edges lead to it, too
    above       uint64[b, w]: all 0 at first
    """
    for e in range(start.shape[0]):
        for w in range(before.shape[1]):
            word = below[end[e], w]
            for bit in range(64):
                if (word >> np.uint64(bit)) & np.uint64(1):
                    before[w * 64 + bit, start[e] >> 6] |= np.uint64(1) << np.uint64(start[e] & 63)
    for k in range(before.shape[0]):  # Warshall
        for i in range(before.shape[0]):
            if i != k and (before[i, k >> 6] >> np.uint64(k & 63)) & np.uint64(1):
                for w in range(before.shape[1]):
                    before[i, w] |= before[k, w]
    for e in range(start.shape[0]):
        for w in range(before.shape[1]):
            above[end[e], w] |= before[start[e], w]


@njit(cache=True, nogil=True)
def _united(truths, rows):
    """The unions, uint64[q, w], of the rows (uint64[k, w]) that each row of bool[q, k] selects."""
    words = np.zeros((truths.shape[0], rows.shape[1]), np.uint64)
    for i in range(truths.shape[0]):
        for j in range(truths.shape[1]):
            if truths[i, j]:
                for w in range(rows.shape[1]):
                    words[i, w] |= rows[j, w]
    return words


def _compare(blocks, sources, targets, answers):
    """Sets the answer (bool[q]) of each pair (int32[q] each) whose rows share a bit in a block."""
    for up, down in blocks:
        _share(up, down, sources, targets, answers)


@njit(cache=True, nogil=True)
def _share(up, down, sources, targets, answers):
    for i in range(answers.shape[0]):
        if not answers[i]:
            u, v = sources[i], targets[i]
            for w in range(up.shape[1]):
                if up[u, w] & down[v, w]:
                    answers[i] = True
                    break
