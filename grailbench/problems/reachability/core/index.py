"""`core`: forests peeled off both ends of the DAG as intervals, and the closure of what is left as packed bits."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.graph.threads import helpers
from grailbench.problems.reachability.core import checked, decided, form, packing
from grailbench.problems.reachability.core.answer import answer_narrow, answer_tree, answer_wide, settle
from grailbench.problems.reachability.core.closure import close, words
from grailbench.problems.reachability.core.inner import Grail, Inner
from grailbench.problems.reachability.core.patterns import Patterns
from grailbench.problems.reachability.core.peel import Peeled, peel
from grailbench.problems.reachability.core.records import records, tree_records
from grailbench.problems.reachability.core.single import OnePair
from grailbench.problems.reachability.index import Decision, Implementation, Index, Params, Timer, register
from grailbench.util import memory

PLAIN = 4  #: bytes a vertex up to which the closure of the core is kept as bits, without contraction
PAGES = 64 << 10  #: bytes that patterns may always take, if the closure as bits fits: their pages are whole
SMALL = 64 << 20  #: bytes of a closure that is made without asking how much memory is free
SHARE = 4  #: a larger one may take this part of the free memory, unless `Params.memory` says otherwise
#: of the counters of labels on the core, those that `core` repeats
SEARCHED = "queries", "searches", "vertices_expanded", "edges_scanned"
_PER_THREAD = 1 << 16  #: pairs of a batch that justify one more thread


class CoreIndex(Index):
    """The records of the vertices, and the closure or another index of the core.

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

    def one_pair(self, component: np.ndarray | None) -> OnePair | None:
        """Answers by the same records; None where the core has an index of its own."""
        return None if self.inner is not None else OnePair(component, self)

    def decide(self, source: int, target: int) -> Decision:
        """Reads from the records which step answers."""
        return decided.decide(self, source, target)

    def check_labels(self, dag: Dag) -> str | None:
        """Compares the records and the rows of the closure with every edge."""
        return checked.fault(self, dag)

    def stored(self) -> dict[str, np.ndarray]:
        """Returns all arrays, those of an inner index with the prefix 'inner_'."""
        inner = {} if self.inner is None else {f"inner_{name}": each for name, each in self.inner.stored().items()}
        return self.arrays | inner

    @property
    def counters(self) -> dict[str, int]:
        """The pairs asked, the form of the index (see `form`), and what was searched where the core has labels."""
        if not self._counts:
            return {}
        k, held = self.core, [self.arrays[name].nbytes for name in Patterns._fields[1:] if name in self.arrays]
        bits, labels = (0 if each is None else each.nbytes for each in (self.bits, self.inner))
        shape = self.arrays["shape"][3:].tolist() if held else (k, k) if bits else (0, 0)
        searched = dict.fromkeys(SEARCHED, 0) if self.inner is None else self.inner.counters
        return {
            "queries": self._queries,
            **form.sizes(self.dag.vertices - 1, self.above, k, shape, bits, sum(held), labels),
            "queries_to_labels": searched["queries"],
            **{name: searched[name] for name in SEARCHED[1:]},
        }

    @property
    def index_bytes(self) -> int:
        """Bytes of the records and of the closure, or of the inner index with the edges that it searches."""
        own = sum(array.nbytes for name, array in self.arrays.items() if name != "shape")
        return own + (0 if self.inner is None else self.inner.nbytes)


def budget(params: Params) -> int:
    """Returns how many bytes the closure of the core may take at most."""
    return params.memory or max(SMALL, memory.available() // SHARE)


def fits(size: int, params: Params) -> bool:
    """Returns whether a closure of that many bytes fits the budget; free memory is asked for only where it matters."""
    return size <= (params.memory or SMALL) or size <= budget(params)


def needed(dag: Dag, peeled: Peeled) -> int:
    """Returns how many bytes the closure takes as bits, contracted or not: these are asked whether they fit."""
    size = 8 * words(int(peeled.core.shape[0])) if peeled.core.shape[0] else 0
    return size if size <= PLAIN * peeled.vertices else min(size, packing.needed(dag, peeled))


def _closed(dag: Dag, peeled: Peeled, params: Params) -> dict[str, np.ndarray] | None:
    """Returns the records and the closure; None if the closure does not fit the budget, or memory runs out."""
    size = 8 * words(int(peeled.core.shape[0]))
    try:
        if size > PLAIN * peeled.vertices:
            most = max(params.memory or max(size, SMALL), PAGES)
            arrays = packing.contracted(dag, peeled, lambda least: fits(min(size, least), params), most)
            if arrays is not None:
                return arrays
        if peeled.core.shape[0] and not fits(size, params):
            return None
        bits = packing.empty_bits(size // 8, np.uint64)
    except MemoryError:
        return None
    close(dag.offsets, dag.children, peeled.core, peeled.position, peeled.above, bits)
    sources, targets = records(peeled)
    return {"sources": sources, "targets": targets, "bits": bits}


def _shape(peeled: Peeled) -> dict[str, np.ndarray]:
    return {"shape": np.array([peeled.above, peeled.core.shape[0]], np.int64)}


@register
class Core(Implementation):
    """Exact answers without search: intervals for the forests at both ends, and a closure of packed bits between them.

    Sources with at most one child are peeled again and again, then sinks with at most one parent: in-trees above, and
    out-trees below, in which an interval of a pre-order answers. A vertex of an in-tree reaches what the vertex at
    which its tree points reaches; a vertex of an out-tree is reached by what reaches the vertex at which its tree
    points. So every other pair is one of the core, the vertices that are left. The index has one of four forms, which
    the counters of a row tell. Forest: no core is left, and intervals are all. Bits: where the closure of the core
    takes few bytes a vertex, it is a triangle of bits. Patterns: else the core loses its chains first; only vertices of
    two parents have a column, seldom one of a single child has a row; equal rows and equal words of 64 bits are kept
    once, empty ones not at all, and rows fill each other's holes. Labels: if the closure does not fit `memory`, or
    memory runs out while it is made, it is given up; then the core alone is labelled and pairs that labels and filters
    leave open are searched as by `parallel`, so that queries are no longer O(1). A query of the other forms reads a
    record of each end and one bit, and has no branch.
    """

    name = "core"
    source = "after Agrawal et al. 1989 (trees), Zhou et al. 2017 (DAG reduction), Tarjan and Yao 1979 (sparse tables)"
    cost = (
        "O(n + m), and k^2 / 16 bytes at most and O(k m / 64) for a core of k; a query O(1), but a search where the "
        "closure is given up; 4 to 24 bytes a vertex"
    )
    counts = ("queries", *form.SIZES, "queries_to_labels", *SEARCHED[1:])
    axes = frozenset({"threads", "memory"})

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> CoreIndex:
        """Peels, writes the records, and closes the core."""
        peeled = peel(dag)
        found = cls.exact(dag, peeled, params)
        if found is not None:
            return found
        sources, targets = records(peeled)
        arrays = _shape(peeled) | {"sources": sources, "targets": targets}
        return CoreIndex(dag, params, arrays, Grail.build(dag, peeled, params))

    @classmethod
    def exact(cls, dag: Dag, peeled: Peeled, params: Params) -> CoreIndex | None:
        """Returns the index that needs no search; None if the closure does not fit the budget, or memory runs out."""
        if peeled.vertices in (peeled.above, peeled.below):
            return CoreIndex(dag, params, _shape(peeled) | {"tree": tree_records(peeled)}, None)
        arrays = _closed(dag, peeled, params)
        return None if arrays is None else CoreIndex(dag, params, _shape(peeled) | arrays, None)

    @classmethod
    def restored(cls, dag: Dag, params: Params, arrays: dict[str, np.ndarray]) -> CoreIndex:
        """Returns the index whose arrays these are; nothing is read or copied."""
        inner = {name.removeprefix("inner_"): each for name, each in arrays.items() if name.startswith("inner_")}
        own = {name: each for name, each in arrays.items() if not name.startswith("inner_")}
        return CoreIndex(dag, params, own, Grail.restored(params, inner) if inner else None)
