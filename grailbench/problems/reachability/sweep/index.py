"""`sweep`: batches answered without an index."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from threading import Lock

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.graph.rows import transpose
from grailbench.graph.threads import Lender, blocks, justified, on_threads
from grailbench.problems.reachability.index import Decision, Implementation, Index, Params, Timer, register
from grailbench.problems.reachability.sweep.groups import (
    LANES,
    WORD,
    Between,
    between,
    distinct,
    grouped,
    memory_of,
    mirrored,
    rows_for,
    sweep,
)
from grailbench.problems.reachability.sweep.search import REACHED, UNSETTLED, scratch, settle
from grailbench.util import memory

NARROW, WIDE = 512, 2_048  #: sources of a sweep through a DAG with few or many edges
DENSE = 8  #: edges a vertex from which a DAG has many
SAMPLE = 256  #: pairs of a batch that are searched to tell how long the others' searches would be
THROUGH, AGAIN, ASKED = 4, 0.2, 4  #: what a sweep costs, in edges of a search; see `sweeping`
FAR = 1 << 18  #: vertices from which the levels of a pair are seldom in the cache
ALL = 2**62  #: edges that a search may look at which has no bound
_BLOCK = 1 << 12  #: pairs that a thread searches for at a time, at most
_COUNTS = ("queries", "searches", "queries_swept", "vertices_expanded", "edges_scanned")


@register
class Sweep(Index, Implementation):
    """Sweeps with many sources at once, and searches from both ends where few pairs are asked: no index.

    Levels answer first. A sample of the batch is then searched, and all of it if that looks at fewer edges than sweeps
    would. For what is left, the vertices between sources and targets are numbered in topological order, and groups of
    up to 2,048 sources of neighbouring rank are swept down them, one bit each; only vertices whose bits are neither a
    parent's nor full have a row of their own. If there are fewer targets than sources, they are swept upwards.
    """

    name = "sweep"
    source = "after Then et al., The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014"
    cost = (
        "nothing to build, a batch of q pairs O((n + m) (1 + q / 64)) at most; to search 8 bytes a vertex and thread, "
        "to sweep at most 64 a vertex, 16 an edge, and 266 a vertex and thread, these of half of the free memory"
    )
    counts = _COUNTS
    axes = frozenset({"threads"})
    concurrent = rebuilt = True
    index_bytes = 0

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Index:
        """Only makes the rows of parents, if the DAG has not got them; a thread that searches has 8 bytes a vertex."""
        return cls(dag, params)

    def __init__(self, dag: Dag, params: Params):
        self.dag, self.workers = dag, params.workers
        self.ways = (dag.offsets, dag.children), (dag.parent_offsets, dag.parents)
        self.counted = dict.fromkeys(_COUNTS, 0) if params.count else None
        self.scratch = Lender(partial(scratch, dag.vertices)).lent
        self._lock = Lock()

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answers what levels tell; then, if that may be the shorter way, searches of bounded length; then sweeps."""
        answers = np.empty(sources.shape[0], np.bool_)
        unsettled = self._settled_by_level(sources, targets, answers)
        left = self._searched(sources, targets, unsettled, answers) if unsettled.size else unsettled
        if left.size:
            self._sweep(sources, targets, left, answers)
        self._count(queries=sources.shape[0], searches=unsettled.size - left.size, queries_swept=left.size)
        return answers

    def _settled_by_level(self, sources: np.ndarray, targets: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """Answers what levels tell, and returns the places of the other pairs, int64, ascending."""
        pairs = answers.shape[0]
        threads = justified(self.workers, pairs * (ASKED if self.dag.vertices >= FAR else 1))
        parts = blocks(pairs, threads, max(1, pairs))
        found = [np.empty(0, np.int64)] * len(parts)

        def work(numbers: Iterator[int]) -> None:
            for number in numbers:
                part = parts[number]
                batch = sources[part], targets[part], answers[part]
                found[number] = settle_by_level(self.dag.levels, *batch, part.start)

        on_threads(threads, work, list(range(len(parts))))
        return found[0] if len(found) == 1 else np.concatenate(found) if found else np.empty(0, np.int64)

    def _searched(
        self, sources: np.ndarray, targets: np.ndarray, unsettled: np.ndarray, answers: np.ndarray
    ) -> np.ndarray:
        """Answers pairs by searches, and returns those that are better swept.

        A sample is searched. If all pairs at its mean would look at more edges than `sweeping` allows, all that the
        sample left open are swept; else all are searched, and swept are those whose own searches are long. The bounds
        are numbers of edges, so that no clock has a say.
        """
        most = sweeping(self.dag.vertices, self.dag.edges, unsettled.size)
        rest = np.ones(unsettled.size, np.bool_)
        rest[:: -(-unsettled.size // SAMPLE)] = False
        sample, others = unsettled[~rest], unsettled[rest]
        left, looked = self._search(sources, targets, sample, most // (4 * sample.size), answers, 1)
        others = np.concatenate([left, others])
        if looked * unsettled.size > most * sample.size:
            return others
        threads = justified(self.workers, others.size * (ASKED * sample.size + looked) // sample.size)
        return self._search(sources, targets, others, most // 4, answers, threads)[0]

    def _search(
        self, sources: np.ndarray, targets: np.ndarray, which: np.ndarray, most: int, answers: np.ndarray, threads: int
    ) -> tuple[np.ndarray, int]:
        """Answers those of the pairs `which` for which it suffices to look at `most` edges. Returns the others, and how
        many edges were looked at."""
        pairs, found = (sources[which], targets[which]), np.empty(which.shape[0], np.int8)
        looked = []

        def work(parts: Iterator[slice]) -> None:
            counts = None if self.counted is None else np.zeros(2, np.int64)
            with self.scratch() as scratch:
                for part in parts:
                    block = part.start, part.stop
                    looked.append(settle(*self.ways, self.dag.levels, pairs, most, scratch, found, block, counts))
            self._worked(counts)

        on_threads(threads, work, blocks(which.shape[0], threads, _BLOCK))
        answers[which] = found == REACHED
        return which[found == UNSETTLED], sum(looked)

    def _sweep(self, sources: np.ndarray, targets: np.ndarray, which: np.ndarray, answers: np.ndarray) -> None:
        """Answers the pairs `which` by sweeps through what lies between their ends."""
        part = between(self.dag, sources, targets, which)
        if not part.which.size:
            return
        down, up, ends = _directed(part)
        most, threads = fitting(part.vertices, part.children.shape[0], self.workers)
        if not threads:
            self._search(sources, targets, which, ALL, answers, self.workers)  # sweeps would be taken: these are long
            return
        number = distinct(part.vertices, ends[0])
        size = -(-number // -(-number // (WORD * most)))  # of groups as equal as can be
        width = -(-size // (WORD * LANES)) * LANES
        groups = grouped(part.vertices, *ends, part.which, size)

        def work(groups: Iterator[tuple]) -> None:
            counts = None if self.counted is None else np.zeros(2, np.int64)
            rows = rows_for(part.vertices, width)
            for group in groups:
                sweep(down, up, *group, answers, rows, counts)
            self._worked(counts)

        on_threads(justified(threads, len(groups) * (part.vertices + part.children.shape[0])), work, groups)

    def _worked(self, counts: np.ndarray | None) -> None:
        if counts is not None:
            self._count(vertices_expanded=int(counts[0]), edges_scanned=int(counts[1]))

    def _count(self, **more: int) -> None:
        if self.counted is not None:
            with self._lock:
                for name, number in more.items():
                    self.counted[name] += number

    def decide(self, source: int, target: int) -> Decision:
        """Compares levels, and then searches from both ends."""
        u, v = (int(self.dag.levels[end]) for end in (source, target))
        if source != target and u >= v:
            return Decision(False, "level", f"{{0}} is on level {u} and {{1}} on level {v}, and every edge leads to a "
                            "greater level", (source, target))  # fmt: skip
        counts = np.zeros(2, np.int64)
        answer = _found_by_search(self, source, target, counts)
        looked = dict(zip(("vertices expanded", "edges scanned"), counts.tolist(), strict=True))
        end = "they met" if answer else "one of them had no vertex left"
        return Decision(answer, "search", f"breadth-first searches from {{0}} down and from {{1}} up ended when {end}",
                        (source, target), looked)  # fmt: skip

    def one_pair(self, component: np.ndarray | None) -> OnePair:
        """Answers by levels, then by a search from both ends."""
        return OnePair(component, self)

    @property
    def counters(self) -> dict[str, int]:
        return {} if self.counted is None else dict(self.counted)


@njit(cache=True, nogil=True)
def settle_by_level(levels, sources, targets, answers, first):
    """Answers pairs, bool[q], as far as levels tell: a vertex reaches itself, and none that is not on a greater level;
    the super-root, alone on level 0, reaches every vertex. Returns the places of the other pairs plus `first`, int64.

    levels             int32[n]: every edge leads to a greater level
    sources, targets   int32[q]
    """
    pairs = sources.shape[0]
    left, count = np.empty(pairs, np.int64), 0
    for q in range(pairs):
        top, bottom = levels[sources[q]], levels[targets[q]]
        answers[q] = (sources[q] == targets[q]) | (top == 0)
        left[count] = first + q
        count += (top < bottom) & (top > 0)
    return left[:count]


def sweeping(vertices: int, edges: int, pairs: int) -> int:
    """The edges that searches may look at in the time of a sweep, about: `THROUGH` for each vertex and edge, since the
    graph is gone through to find what is between; `AGAIN` of its edges for each group, and there are no more sources
    than vertices; `ASKED` for each pair."""
    again = edges * -(-min(pairs, vertices) // (WIDE if edges >= DENSE * vertices else NARROW))
    return int(THROUGH * (vertices + edges) + AGAIN * again + ASKED * pairs)


def fitting(vertices: int, edges: int, workers: int) -> tuple[int, int]:
    """The words of a row and the threads of sweeps through a DAG that use at most half of the free memory; no thread if
    not even the narrowest rows of one fit."""
    room, width = memory.available() // 2, (WIDE if edges >= DENSE * vertices else NARROW) // WORD
    while width > NARROW // WORD and workers * memory_of(vertices, width) > room:
        width //= 2
    return width, min(workers, room // memory_of(vertices, width))


def _directed(part: Between) -> tuple[tuple, tuple, tuple]:
    """The rows of children, those of parents, and the ends of the pairs. All are reversed if there are fewer targets
    than sources: a sweep up from the targets answers the same."""
    down, sources, targets = (part.offsets, part.children), part.sources, part.targets
    up, last = transpose(*down), np.int32(part.vertices - 1)
    if distinct(part.vertices, targets) < distinct(part.vertices, sources):
        return mirrored(*up), mirrored(*down), (last - targets, last - sources)
    return down, up, (sources, targets)


class OnePair:
    """Answers queries of two original vertices, one at a time; any number of threads may ask.

    component: int32[original n], or None if each vertex is its own component
    """

    __slots__ = ("_component", "_index", "_vertices", "at")

    def __init__(self, component: np.ndarray | None, index: Sweep):
        self._component, self._index, self.at = component, index, 0
        self._vertices = index.dag.vertices - 1 if component is None else component.shape[0]

    def quick(self, at: int, source: int, target: int) -> bool | None:
        """Returns True for a vertex and itself, False where the levels say so, and None else."""
        if not (0 <= source < self._vertices and 0 <= target < self._vertices):
            return None
        source, target = self._ends(source, target)
        levels = self._index.dag.levels
        return True if source == target else False if levels[source] >= levels[target] else None

    def search(self, source: int, target: int) -> bool:
        """Answers by a search from both ends."""
        return _found_by_search(self._index, *self._ends(source, target), None)

    def _ends(self, source: int, target: int) -> tuple[int, int]:
        component = self._component
        return (source, target) if component is None else (int(component[source]), int(component[target]))


def _found_by_search(index: Sweep, source: int, target: int, counts: np.ndarray | None) -> bool:
    """Whether a vertex of the `Dag` reaches another one; `counts` as in `search.settle`."""
    ends, state = (np.array([source], np.int32), np.array([target], np.int32)), np.empty(1, np.int8)
    with index.scratch() as scratch:
        settle(*index.ways, index.dag.levels, ends, ALL, scratch, state, (0, 1), counts)
    return bool(state[0] == REACHED)
