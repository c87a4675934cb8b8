"""Computes the correct answers of reachability queries without any code of the implementations under test.

closure  computes the whole transitive closure, one bit for each pair, for graphs of few vertices
sweep    works for any graph: one bit for each of `SOURCES` sources is propagated along the edges in topological order,
         from the first source to the last target. Several sweeps run in parallel, one on each core.

Both are exact. They rely on the topological order of the DAG, which they check.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from threading import local
from time import monotonic

import numpy as np

from grailbench.errors import CheckFailed
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.util import memory
from grailbench.util.compiled import njit
from grailbench.util.cores import usable_cores

SOURCES = 1024  #: sources of one sweep, which takes 16 words a vertex; fewer if memory is short
LONG_SECONDS = 120.0  #: a warning is logged if the sweeps are expected to take longer than this
SURE_SECONDS = 10.0  #: seconds after which that is estimated, without the first sweep, which may include compiling

_log = logging.getLogger(__name__)


def closure_answers(dag: Dag, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Whether u[q] reaches v[q], bool[k], by the transitive closure, which takes n * n / 8 bytes of memory.

    Raises CheckFailed if `dag.order` is not topological.
    """
    position, offsets, children = _by_position(dag)
    bits, places = _columns(offsets, children, np.arange(dag.vertices, dtype=np.int32)), position[v]
    return (bits[position[u], places >> 6] >> (places & 63).astype(np.uint64)) & np.uint64(1) != 0


class Columns:
    """The transitive closure of a raw graph, a few targets at a time.

    Raises CheckFailed if the order of the condensed graph is not topological.
    """

    def __init__(self, graph: Graph):
        dag = condense(graph)
        position, self._offsets, self._children = _by_position(dag)
        #: int32[n]: the row of each vertex
        self.place = position[dag.component]

    def reached(self, targets: np.ndarray) -> np.ndarray:
        """What reaches the vertices targets, int32[t]: uint64[rows, ceil(t / 64)], bit b of row place[u] if u reaches
        targets[b]. Every vertex reaches itself. Rows behind the last that has a bit are left out."""
        return _columns(self._offsets, self._children, self.place[targets])


def swept_answers(
    dag: Dag, u: np.ndarray, v: np.ndarray, seconds: float | None = None, sources: int = 0, threads: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Whether u[q] reaches v[q] (u, v int32[k]), and whether that answer is known: two arrays bool[k].

    All answers are known unless `seconds` pass first; no sweep starts after that. Sweeps run in a random order with a
    fixed seed, so that the known answers are spread over the whole graph. By default the number of `sources` of one
    sweep and of `threads` depends on memory and cores. Raises CheckFailed if `dag.order` is not topological.
    """
    began = monotonic()
    position, offsets, children = _by_position(dag)
    begins, which = np.unique(position[u], return_inverse=True)
    ends = position[v]
    if not sources or not threads:
        fits = _fitting(dag.vertices)
        sources, threads = sources or fits[0], threads or fits[1]
    by_source = np.argsort(which, kind="stable")
    cuts = np.searchsorted(which[by_source], np.arange(0, begins.size + sources, sources))
    answers, known = np.zeros(u.shape[0], np.bool_), np.zeros(u.shape[0], np.bool_)
    mine, over = local(), False

    def sweep(turn: int) -> None:
        if over or (seconds is not None and turn != turns[0] and monotonic() - began > seconds):
            return
        if not hasattr(mine, "words"):
            mine.words = np.empty((dag.vertices, -(-sources // 64)), np.uint64)
            mine.stamps = np.zeros(dag.vertices, np.int32)
        first = turn * sources
        pairs = by_source[cuts[turn] : cuts[turn + 1]]
        _push(offsets, children, begins[first : first + sources], ends[pairs].max(), mine.words, mine.stamps, turn + 1)
        bits = (which[pairs] - first).astype(np.uint64)
        answers[pairs] = _read(mine.words, mine.stamps, turn + 1, ends[pairs], bits)
        known[pairs] = True

    def unless_over(turn: int) -> None:
        nonlocal over
        try:
            sweep(turn)
        except BaseException:
            over = True  # whoever waits for the sweeps may not run before the others have begun
            raise

    turns = np.random.default_rng(1).permutation(cuts.size - 1).tolist()
    pool = ThreadPoolExecutor(max(min(threads, len(turns)), 1), thread_name_prefix="grailbench-oracle")
    try:
        first, warned = None, seconds is not None
        for done, _ in enumerate(pool.map(unless_over, turns)):
            first = first or monotonic()
            spent = monotonic() - first
            left = spent / max(done, 1) * (len(turns) - 1 - done)
            if not warned and spent >= SURE_SECONDS and left >= LONG_SECONDS:
                warned = True
                _log.warning(
                    "the oracle needs about %.0f minutes more for %s pairs (--oracle-seconds N: no longer than that, "
                    "and times are then called sampled)", left / 60, f"{u.shape[0]:,}",
                )  # fmt: skip
    finally:
        over = True
        pool.shutdown()
    return answers, known


def _fitting(vertices: int) -> tuple[int, int]:
    """The number of sources of one sweep and of parallel sweeps (at least one) that fit half of the free memory."""
    cores, room = usable_cores(), memory.available() // 2
    sources = SOURCES
    while sources > 64 and vertices * (sources // 8 + 4) > room:
        sources //= 2
    return sources, max(1, min(cores, room // max(vertices * (sources // 8 + 4), 1)))


def _by_position(dag: Dag) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The position of each vertex in the order, int32[n], and the CSR of the graph with positions as vertices
    (int64[n + 1], int32[m]). Raises CheckFailed if the order is not topological."""
    position = np.full(dag.vertices, -1, np.int32)
    position[dag.order] = np.arange(dag.order.shape[0], dtype=np.int32)
    offsets, children, rising = _renumbered(dag.offsets, dag.children, dag.order, position)
    if not rising or position.min() < 0:
        raise CheckFailed("the order of the condensed graph's vertices is not topological")
    return position, offsets, children


@njit(cache=True, nogil=True)
def _renumbered(offsets, children, order, position):
    """The CSR whose row i holds the positions of the children of order[i], and whether all are greater than i."""
    n, at, rising = order.shape[0], 0, True
    starts, found = np.empty(n + 1, np.int64), np.empty_like(children)
    for i in range(n):
        starts[i] = at
        for k in range(offsets[order[i]], offsets[order[i] + 1]):
            found[at] = position[children[k]]
            rising &= found[at] > i
            at += 1
    starts[n] = at
    return starts, found, rising


@njit(cache=True, nogil=True)
def _push(offsets, children, sources, last, words, stamps, stamp):
    """Propagates the bits of `sources` along edges up to vertex `last`; vertices are numbered in topological order.

    sources: int32[at most 64 W], ascending; number b starts with bit b. words: uint64[n, W], valid for vertices with
    stamps (int32[n]) equal to `stamp`; all other vertices have no bit set. So no array is cleared between sweeps.
    """
    width = words.shape[1]
    for b in range(sources.shape[0]):
        words[sources[b]] = 0
        words[sources[b], b >> 6] = np.uint64(1) << np.uint64(b & 63)
        stamps[sources[b]] = stamp
    for i in range(sources[0], last):
        if stamps[i] != stamp:
            continue
        for k in range(offsets[i], offsets[i + 1]):
            child = children[k]
            if stamps[child] == stamp:
                for w in range(width):
                    words[child, w] |= words[i, w]
            else:
                stamps[child] = stamp
                for w in range(width):
                    words[child, w] = words[i, w]


@njit(cache=True, nogil=True)
def _read(words, stamps, stamp, vertices, bits):
    """Whether bit bits[q] of vertex vertices[q] is set in the words of this sweep, bool[k]."""
    answers = np.zeros(vertices.shape[0], np.bool_)
    for q in range(vertices.shape[0]):
        if stamps[vertices[q]] == stamp:
            answers[q] = (words[vertices[q], bits[q] >> np.uint64(6)] >> (bits[q] & np.uint64(63))) & np.uint64(1) != 0
    return answers


@njit(cache=True, nogil=True)
def _columns(offsets, children, ends):
    """The bits of the components `ends` (int32[t], numbered in topological order like `offsets` and `children`) that
    each component up to the last of them reaches."""
    rows = ends.max() + 1
    reached = np.zeros((rows, (ends.shape[0] + 63) // 64), np.uint64)
    for b in range(ends.shape[0]):
        reached[ends[b], b >> 6] |= np.uint64(1) << np.uint64(b & 63)
    for u in range(rows - 1, -1, -1):
        mine = reached[u]
        for k in range(offsets[u], offsets[u + 1]):
            if children[k] < rows:
                other = reached[children[k]]
                for w in range(mine.shape[0]):
                    mine[w] |= other[w]
    return reached
