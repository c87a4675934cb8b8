"""`supports`: supportive vertices and searches from both ends, for graphs that need an index."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from threading import Lock

import numpy as np
from numba import carray, njit

from grailbench.errors import InputError
from grailbench.graph.csr import Dag
from grailbench.graph.threads import Lender, blocks, justified, on_threads
from grailbench.problems.reachability.counters import OUTCOMES
from grailbench.problems.reachability.cpu.single import COMPONENT, ORIGINALS, QUICK, components, entry, outside, pointer
from grailbench.problems.reachability.index import (
    Decision,
    Implementation,
    Index,
    Params,
    Timer,
    edge_fault,
    register,
)  # fmt: skip
from grailbench.problems.reachability.supports import build
from grailbench.problems.reachability.supports.build import SHORT, WHOLE, WIDTH, WORDS
from grailbench.problems.reachability.supports.search import (
    AGAINST_TREE,
    BY_LEVEL,
    BY_SUPPORT,
    BY_TREE,
    COUNTS,
    OPEN,
    answer,
    judged,
    scratch,
)  # fmt: skip
from grailbench.util import memory

MOST_EDGES = 2**31 - 1  #: a record numbers them in 31 bits
TRIED = 256  #: random pairs that are searched to tell whether halves pay
ENOUGH = 1 << 14  #: edges that each of them may look at
#: halves are tried from so many edges a vertex on, below which records have trees; and taken if searches look at so
#: many times fewer edges
DENSE, PAYS = 6, 4
DEEP = 4096  #: levels from which on records of dense graphs have trees too: searches go along chains
SMALL = 64 << 20  #: bytes that are taken without asking how many are free
WORK = 64  #: edges of a search in the time that one pair takes, about
_BLOCK = 1 << 12  #: pairs that a thread answers at a time, at most
_ALL = 2**62


class SupportsIndex(Index):
    """Records of the vertices, and the edges that are searched.

    arrays  'lanes', the records; where they are whole, 'chosen' (the supportive vertices in the order of their bits),
            and where they have trees, 'trees' (bool[1]); in halves 'down' and 'up', the edges in the row of one of
            their ends (see `build`)
    """

    concurrent = True

    def __init__(self, dag: Dag, params: Params, arrays: dict[str, np.ndarray]):
        self.dag, self.workers, self.arrays = dag, params.workers, arrays
        self.lanes, self.halves = arrays["lanes"], "down" in arrays
        self.words = self.lanes.view(np.uint64) if "chosen" in arrays else None
        self.trees = True if "trees" in arrays else None  # None, so that kernels are compiled without them
        self.scratches = Lender(partial(scratch, dag.vertices))
        self._counts = np.zeros(len(COUNTS), np.int64) if params.count else None
        self._lock = Lock()

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of edges that are searched down and up; of the whole DAG, its own."""
        return (self.arrays["down"], self.arrays["up"]) if self.halves else (self.dag.children, self.dag.parents)

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answers in blocks, which the threads take in turns."""
        answers = np.empty(sources.shape[0], np.bool_)
        threads = justified(self.workers, answers.size * WORK)

        def work(parts: Iterator[slice]) -> None:
            counts = None if self._counts is None else np.zeros_like(self._counts)
            for part in parts:
                self._answer((sources, targets), (part.start, part.stop), answers, counts)
            if counts is not None:
                with self._lock:
                    self._counts += counts

        on_threads(threads, work, blocks(answers.size, threads, _BLOCK))
        return answers

    def _answer(self, pairs: tuple, block: tuple, answers: np.ndarray, counts: np.ndarray | None, most=_ALL) -> int:
        with self.scratches.lent() as scratch:
            given = self.lanes, self.words, self.trees, self.rows, self.halves, scratch, most
            return answer(pairs, block, *given, answers, counts)

    def one_pair(self, component: np.ndarray | None) -> OnePair:
        """Answers by the records first, then by a search."""
        return OnePair(component, self)

    def decide(self, source: int, target: int) -> Decision:
        """Reads from the records what they say of a pair, or from counters how it was searched for."""
        ends = np.array([source], np.int32), np.array([target], np.int32)
        found, counts = np.empty(1, np.bool_), np.zeros(len(COUNTS), np.int64)
        self._answer(ends, (0, 1), found, counts)
        yes = bool(found[0])
        if source == target:
            return Decision(yes, "same", "{0} and {1} are the same vertex, or in one component", (source, target))
        if source == self.dag.super_root:
            return Decision(yes, "root", "{0} is the super-root, which reaches everything", (source, target))
        by = int(judged(self.lanes, self.words, self.trees, np.uint64(source), np.uint64(target)))
        if by == BY_LEVEL:
            return Decision(yes, "level", "no path leads from {0} to the level or the height of {1}", (source, target))
        if by == OPEN:
            looked = dict(zip(("vertices expanded", "edges scanned"), counts[-2:].tolist(), strict=True))
            end = "they met" if yes else "no vertex was left that could lie between them"
            why = f"the records left it open; breadth-first searches from {{0}} down and from {{1}} up ended when {end}"
            return Decision(yes, "search", why, (source, target), looked)
        if by == BY_TREE:
            return Decision(
                yes, "tree", "a depth-first search went from one of {0} and {1} to the other", (source, target)
            )
        if by == AGAINST_TREE:
            return Decision(yes, "labels", self._against_tree(source, target), (source, target))
        return self._by_support(source, target, by == BY_SUPPORT)

    def _against_tree(self, source: int, target: int) -> str:
        a, b = self.lanes.reshape(-1, WHOLE)[[source, target]]
        if b[build.TREE_DOWN + 1] > a[build.TREE_DOWN + 1] or a[build.TREE_UP + 1] > b[build.TREE_UP + 1]:
            return "a depth-first search numbers {0} and {1} in the order that no path allows"
        if b[build.BELOW] & ~a[build.BELOW]:
            return "{1} reaches vertices in a block of numbers in which {0} reaches none"
        return "vertices reach {0} from a block of numbers from which none reaches {1}"

    def _by_support(self, source: int, target: int, answer: bool) -> Decision:
        words = build.words_of(self.lanes).reshape(-1, 2, WORDS)[:, :, : WORDS - (self.trees is not None)]
        (reached, reaching), (further, to) = words[source], words[target]
        for bits, why in (
            (reached & to, "{0} reaches {2}, and {2} reaches {1}"),
            (further & ~reached, "{1} reaches {2}, which {0} does not reach"),
            (reaching & ~to, "{2} reaches {0} but not {1}"),
        ):  # fmt: skip
            if bits.any():
                bit = int(np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little"))[0])
                return Decision(answer, "hubs", why, (source, target, int(self.arrays["chosen"][bit])))
        raise AssertionError("no supportive vertex settles the pair")

    def check_labels(self, dag: Dag) -> str | None:
        """Checks that every record follows from those of the vertex's children or parents, and the answers to edges."""
        return _record_fault(self, dag) or edge_fault(self.query_batch, dag)

    def stored(self) -> dict[str, np.ndarray]:
        return self.arrays

    @property
    def counters(self) -> dict[str, int]:
        return {} if self._counts is None else dict(zip(COUNTS, self._counts.tolist(), strict=True))

    @property
    def index_bytes(self) -> int:
        """Bytes of the records, and of the edges in halves."""
        return sum(array.nbytes for array in self.arrays.values())


def _record_fault(index: SupportsIndex, dag: Dag) -> str | None:
    """Returns the first thing that is wrong with the records, or None."""
    height = build.heights(dag)
    if index.halves:
        right = build.halved(dag, height)
    else:
        chosen = index.arrays["chosen"]
        if not np.all((chosen >= 0) & (chosen < dag.super_root)):
            return "a supportive vertex is none of the graph"
        right = (build.records(dag, height, WHOLE),)
        build.fill(dag, right[0], chosen, index.trees is not None)
    own = (index.lanes, *index.rows) if index.halves else (index.lanes,)
    same = all(np.array_equal(mine, made) for mine, made in zip(own, right, strict=True))
    return None if same else "a record or a row does not follow from the edges"


#: further places in a block, behind `COMPONENT`: the super-root, and the address of the records
ROOT, LANES, FIELDS = range(2, 5)


class OnePair:
    """Answers queries of two original vertices, one at a time; see `reachability.index.OnePair`."""

    __slots__ = ("_component", "_index", "_kept", "at", "quick")

    def __init__(self, component: np.ndarray | None, index: SupportsIndex):
        """component: int32[original n], or None if each vertex is its own component."""
        block = np.zeros(FIELDS, np.int64)
        block[ORIGINALS] = index.dag.super_root if component is None else component.shape[0]
        block[COMPONENT] = 0 if component is None else component.ctypes.data
        block[ROOT], block[LANES] = index.dag.super_root, index.lanes.ctypes.data
        self._component, self._index, self._kept = component, index, block
        quick = _by_level if index.words is None else _by_words if index.trees is None else _by_trees
        self.quick, self.at = entry(quick, QUICK), block.ctypes.data

    def search(self, source: int, target: int) -> bool:
        """Answers as a batch of one pair does."""
        if self._component is not None:
            source, target = self._component[source], self._component[target]
        answers = np.empty(1, np.bool_)
        self._index._answer((np.array([source], np.int32), np.array([target], np.int32)), (0, 1), answers, None)
        return bool(answers[0])


@njit(cache=True)
def _by_level(at, source, target):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if outside(block, source, target):
        return None
    u, v = components(block, source, target)
    if u == v:
        return True
    lanes = carray(pointer(block[LANES]), ((block[ROOT] + 2) * SHORT,), np.int32)
    return None if judged(lanes, None, None, np.uint64(u), np.uint64(v)) == OPEN else False


@njit(cache=True, inline="always")
def _by_records(at, source, target, trees):
    block = carray(pointer(at), (FIELDS,), np.int64)
    if outside(block, source, target):
        return None
    u, v = components(block, source, target)
    if u == v:
        return True
    lanes = carray(pointer(block[LANES]), ((block[ROOT] + 2) * WHOLE,), np.int32)
    words = carray(pointer(block[LANES]), ((block[ROOT] + 2) * WIDTH,), np.uint64)
    by = judged(lanes, words, trees, np.uint64(u), np.uint64(v))
    return None if by == OPEN else by >= BY_SUPPORT


@njit(cache=True)
def _by_words(at, source, target):
    return _by_records(at, source, target, None)


@njit(cache=True)
def _by_trees(at, source, target):
    return _by_records(at, source, target, True)


@register
class Supports(Implementation):
    """Supportive vertices, levels, and searches from both ends with what is read next loaded ahead.

    A record, one cache line, says of each vertex its level and height, and which of 192 supportive vertices it reaches
    and is reached by; those are chosen greedily, so that they settle most reachable pairs of a sample. On graphs of few
    edges a vertex they are 128, and in place of levels there are post-order numbers and subtrees of two depth-first
    searches, down from the roots and up from the sinks, and which of 32 blocks of these numbers a vertex sees. What
    records leave open is searched breadth first from both ends, on the side that has looked at fewer edges after its
    next row, and vertices whose records exclude a path are not entered. Where a sample of pairs says that it pays, as
    on sparse random DAGs of a few edges a vertex, records are levels and heights alone, and each edge is in the row of
    one of its ends: the one nearer to the roots, or to the sinks, than the other.
    """

    name = "supports"
    source = (
        "after Hanauer, Schulz and Trummer 2021 (O'Reach), Merz and Sanders 2014 (PReaCH), Su et al. 2017 (BFL), "
        "Cohen, Halperin, Kaplan and Zwick 2003 (2-hop covers)"
    )
    cost = "O(n + m) to build, a query O(1) or a search of O(n + m) at most; 64 bytes a vertex, or 16 and 4 an edge"
    counts = COUNTS
    neutral = OUTCOMES
    axes = frozenset({"threads"})

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> SupportsIndex:
        """Makes short records, tries some pairs, and makes halves or labels. Raises InputError for a graph of too many
        edges, TooLittleMemory before anything is allocated."""
        if dag.edges > MOST_EDGES:
            raise InputError(
                f"a graph of {dag.edges:,} edges; `supports` numbers {MOST_EDGES:,}", remedy="name `sequential`"
            )
        need = 4 * (WHOLE + SHORT + 4) * dag.vertices + 12 * dag.edges
        if need > SMALL:
            memory.require(need, f"the index of {dag.vertices:,} vertices")
        sparse = dag.edges < DENSE * dag.vertices
        height = None if sparse or dag.levels.max() >= DEEP else build.heights(dag)
        if height is not None and (found := _halves(dag, params, height)) is not None:
            return found
        lanes = build.records(dag, height, WHOLE)
        trees = {"trees": np.ones(1, np.bool_)} if height is None else {}
        chosen = build.add_words(dag, lanes, params.seed, bool(trees), params.workers)
        return SupportsIndex(dag, params, {"lanes": lanes, "chosen": chosen, **trees})

    @classmethod
    def restored(cls, dag: Dag, params: Params, arrays: dict[str, np.ndarray]) -> SupportsIndex:
        """Returns the index whose arrays these are; nothing is copied."""
        return SupportsIndex(dag, params, arrays)


def _halves(dag: Dag, params: Params, height: np.ndarray) -> SupportsIndex | None:
    """Returns the index in halves if searches look at far fewer edges there than with all rows, else None."""
    quiet, sample = Params(threads=1, seed=params.seed), build.drawn_pairs(dag.vertices - 1, TRIED, params.seed)
    halves = dict(zip(("lanes", "down", "up"), build.halved(dag, height), strict=True))
    few = _edges(SupportsIndex(dag, quiet, halves), sample)
    most = _edges(SupportsIndex(dag, quiet, {"lanes": build.records(dag, height, SHORT)}), sample)
    return SupportsIndex(dag, params, halves) if PAYS * few < most else None


def _edges(index: SupportsIndex, pairs: tuple[np.ndarray, np.ndarray]) -> int:
    """How many edges an index looks at for some pairs, of each `ENOUGH` at most."""
    return index._answer(pairs, (0, pairs[0].shape[0]), np.empty(pairs[0].shape[0], np.bool_), None, ENOUGH)
