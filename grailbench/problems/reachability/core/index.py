"""`core`: forests peeled off both ends of the DAG as intervals, and the closure of what is left as packed bits."""

from __future__ import annotations

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.core import answer, checked, rows
from grailbench.problems.reachability.core.answer import PeeledIndex
from grailbench.problems.reachability.core.closure import close, words
from grailbench.problems.reachability.core.inner import Inner
from grailbench.problems.reachability.core.patterns import Patterns
from grailbench.problems.reachability.core.peel import Peeled, peel
from grailbench.problems.reachability.core.records import records, tree_records
from grailbench.problems.reachability.core.single import OnePair
from grailbench.problems.reachability.index import Decision, Implementation, Params, Timer, register
from grailbench.util import memory

PLAIN = 4  #: bytes a vertex up to which the closure of the core is kept as bits, without contraction
PAGES = 64 << 10  #: bytes that patterns may always take, if the closure as bits fits: their pages are whole
SMALL = 64 << 20  #: bytes of a closure that is made without asking how much memory is free
SHARE = 4  #: a larger one may take this part of the free memory, unless `Params.memory` says otherwise
#: of the counters of labels on the core, those that `core` repeats
SEARCHED = "queries", "searches", "vertices_expanded", "edges_scanned"


class CoreIndex(PeeledIndex):
    """As `PeeledIndex`, with what else is asked of an index: single pairs, explanations, checks, counters."""

    def one_pair(self, component: np.ndarray | None) -> OnePair | None:
        """Answers by the same records; None where the core has an index of its own."""
        return None if self.inner is not None else OnePair(component, self)

    def decide(self, source: int, target: int) -> Decision:
        """Reads from the records which step answers."""
        return _decide(self, source, target)

    def check_labels(self, dag: Dag) -> str | None:
        """Compares answers with every edge, and for some targets with those of children."""
        return checked.fault(self, dag)

    def stored(self) -> dict[str, np.ndarray]:
        """Returns all arrays, those of an inner index with the prefix 'inner_'."""
        inner = {} if self.inner is None else {f"inner_{name}": each for name, each in self.inner.stored().items()}
        return self.arrays | inner

    @property
    def counters(self) -> dict[str, int]:
        """The pairs asked, the form of the index (`size_counters`), and what was searched where the core has labels."""
        if not self._counts:
            return {}
        k, sizes = self.core, [self.arrays[name].nbytes for name in Patterns._fields[1:] if name in self.arrays]
        bits, labels = (0 if each is None else each.nbytes for each in (self.bits, self.inner))
        shape = self.arrays["shape"][3:].tolist() if sizes else (k, k) if bits else (0, 0)
        searched = dict.fromkeys(SEARCHED, 0) if self.inner is None else self.inner.counters
        return {
            "queries": self._queries,
            **answer.size_counters(self.dag.vertices - 1, self.above, k, shape, bits, sum(sizes), labels),
            "queries_to_labels": searched["queries"],
            **{name: searched[name] for name in SEARCHED[1:]},
        }

    @property
    def index_bytes(self) -> int:
        """Bytes of the records and of the closure, or of the inner index with the edges that it searches."""
        own = sum(array.nbytes for name, array in self.arrays.items() if name != "shape")
        return own + (0 if self.inner is None else self.inner.nbytes)


def _decide(index: PeeledIndex, source: int, target: int) -> Decision:
    """Asks one query, and reads from the records which step answered it."""
    ends = np.array([source], np.int32), np.array([target], np.int32)
    answer = bool(index.query_batch(*ends, NoTimer())[0])
    if source == target:
        return Decision(answer, "same", "{0} and {1} are the same vertex, or in one component", (source, target))
    if source == index.dag.super_root:
        return Decision(answer, "root", "{0} is the super-root, which reaches everything", (source, target))
    if index.tree is not None:
        side = "in-tree" if index.upward else "out-tree"
        return Decision(answer, side, _placed(answer, side), (source, target))
    (_, row, low, length), (place, column) = index.sources[source].tolist(), index.targets[target].tolist()
    if place < index.above:
        return Decision(answer, "in-tree", _placed(answer, "in-tree"), (source, target))
    if length and low <= place < low + length:
        return Decision(answer, "out-tree", _placed(answer, "out-tree"), (source, target))
    if row == index.sources[-1, 1] or column <= index.above:
        end = "{0} reaches nothing of the core" if row == index.sources[-1, 1] else "nothing of the core reaches {1}"
        return Decision(answer, "core", f"{end} that lies outside of its trees", (source, target))
    gates = index.gates(source, target)
    whose = "the packed closure of the core" if index.inner is None else "labels, filters and searches on the core"
    word = "yes" if answer else "no"
    why = f"{{0}} reaches what {{2}} does, {{1}} is reached by what {{3}} is, and {whose} says {word}"
    return Decision(answer, "closure" if index.inner is None else "core", why, (source, target, *gates))


def _placed(answer: bool, side: str) -> str:
    if side == "in-tree":
        return f"{{0}} is {'' if answer else 'not '}above {{1}} in an in-tree, the only way to {{1}}"
    return f"{{1}} is {'' if answer else 'not '}below what {{0}} leads to in an out-tree"


def budget(params: Params) -> int:
    """Returns how many bytes the closure of the core may take at most."""
    return params.memory or max(SMALL, memory.available() // SHARE)


def fits(size: int, params: Params) -> bool:
    """Returns whether a closure of that many bytes fits the budget; free memory is asked for only where it matters."""
    return size <= (params.memory or SMALL) or size <= budget(params)


def needed(dag: Dag, peeled: Peeled) -> int:
    """Returns how many bytes the closure takes as bits, contracted or not: these are asked whether they fit."""
    size = 8 * words(int(peeled.core.shape[0])) if peeled.core.shape[0] else 0
    return size if size <= PLAIN * peeled.vertices else min(size, rows.bytes_needed(dag, peeled))


def _closed(dag: Dag, peeled: Peeled, params: Params) -> dict[str, np.ndarray] | None:
    """Returns the records and the closure; None if the closure does not fit the budget, or memory runs out."""
    size = 8 * words(int(peeled.core.shape[0]))
    try:
        if size > PLAIN * peeled.vertices:
            most = max(params.memory or max(size, SMALL), PAGES)
            arrays = rows.contracted(dag, peeled, lambda least: fits(min(size, least), params), most)
            if arrays is not None:
                return arrays
        if peeled.core.shape[0] and not fits(size, params):
            return None
        bits = rows.empty_bits(size // 8, np.uint64)
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

    Sources with at most one child are peeled again and again, then sinks with at most one parent: in-trees above and
    out-trees below, in which intervals of a pre-order answer. Every other pair is one of the core between them. The
    counters tell the form of the index. Forest: no core is left. Bits: the closure of the core is a triangle of bits.
    Patterns: where that takes many bytes, chains are contracted, equal rows and words kept once, and rows fill each
    other's holes. Labels: if the closure does not fit `memory`, the core alone is labelled and searched as by
    `parallel`.
    """

    name = "core"
    source = "after Agrawal et al. 1989 (trees), Zhou et al. 2017 (DAG reduction), Tarjan and Yao 1979 (sparse tables)"
    cost = (
        "O(n + m), and k^2 / 16 bytes at most and O(k m / 64) for a core of k; a query O(1), but a search where the "
        "closure is given up; 4 to 24 bytes a vertex"
    )
    counts = ("queries", *answer.SIZES, "queries_to_labels", *SEARCHED[1:])
    neutral = (*Implementation.neutral, *answer.SIZES, "queries_to_labels")
    axes = frozenset({"threads", "memory"})
    label_free = True

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> CoreIndex:
        """Peels, writes the records, and closes the core."""
        peeled = peel(dag)
        found = cls.exact(dag, peeled, params)
        if found is not None:
            return found
        sources, targets = records(peeled)
        arrays = _shape(peeled) | {"sources": sources, "targets": targets}
        return CoreIndex(dag, params, arrays, Inner.build(dag, peeled, params))

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
        return CoreIndex(dag, params, own, Inner.restored(params, inner) if inner else None)
