"""GRAIL on the CPU: `sequential` and the thesis's query-parallel `parallel` (section 2.4)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from time import perf_counter

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.reachability.counters import NAMES, named, with_traffic, zeros
from grailbench.reachability.cpu.search import BLOCK, NO_LEVELS, Scratch, answer_blocks, scratch
from grailbench.reachability.cpu.traverse import Pair, label_pair, set_levels, shuffle_rows
from grailbench.reachability.hubs import seeded, sweep_backward, sweep_forward
from grailbench.reachability.index import Implementation, Index, Params, Timer, register
from grailbench.reachability.labels import Labelled, Labels, empty

ALONE = 5e-4  #: seconds that the calling thread spends on a small batch before it asks for help
_FEW = 64  #: queries that it then begins with


@cache
def _helpers(threads: int) -> ThreadPoolExecutor:
    """Threads beside the calling one; kept, because starting one costs more than a batch on a small graph."""
    return ThreadPoolExecutor(threads, thread_name_prefix="grailbench")


class GrailIndex(Labelled, Index):
    """d label pairs on a DAG, and what its threads need to search it."""

    def __init__(self, dag: Dag, params: Params, labels: Labels, hubs: np.ndarray | None, workers: int, counts: list):
        self.dag = dag
        self.labels = labels
        self.hubs = hubs
        self.breadth_first = params.search == "bfs"
        levels = _narrow_levels(dag) if "level" in params.filters else NO_LEVELS
        self.rows = dag.offsets, dag.children, levels
        self.scratches: list[Scratch] = [scratch(dag.vertices, int(labels.width)) for _ in range(workers)]
        self.counts = [zeros() for _ in range(workers)] if params.count else [None] * workers
        self.label_counts = counts

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Filter, then search what is left; the calling thread takes its share of the blocks.

        All threads get blocks of one size. A batch of less than a whole block for each is begun by one thread: most are
        over before the others would be awake, but a thousand hard queries take seconds.
        """
        answers = np.empty(sources.shape[0], np.bool_)
        batch = sources, targets, answers
        threads, done = len(self.scratches), 0
        if threads > 1 and answers.size < threads * BLOCK:
            done = self._begin(batch)
        left = answers.size - done
        if not left:
            return answers
        rounds = -(-left // (threads * BLOCK))
        size = -(-left // (threads * rounds))
        workers = min(threads, -(-left // size))
        shares = [(done + worker * size, size, workers * size) for worker in range(workers)]
        others = [
            _helpers(workers - 1).submit(self._answer, worker, shares[worker], batch) for worker in range(1, workers)
        ]
        self._answer(0, shares[0], batch)
        for other in others:
            other.result()
        return answers

    def _begin(self, batch: tuple) -> int:
        """Answer the first queries of a batch, for as long as `ALONE`; returns how many."""
        queries, done, ends = batch[0].shape[0], 0, perf_counter() + ALONE
        while done < queries and perf_counter() < ends:
            size = min(max(3 * done, _FEW), BLOCK, queries - done)
            self._answer(0, (done, size, queries), batch)
            done += size
        return done

    def _answer(self, worker: int, share: tuple[int, int, int], batch: tuple) -> None:
        index = self.rows, self.labels, self.hubs
        answer_blocks(share, batch, *index, self.scratches[worker], self.breadth_first, self.counts[worker])

    @property
    def counters(self) -> dict[str, int]:
        """Work so far by name, and its least traffic; empty unless it was built to count."""
        if self.counts[0] is None:
            return {}
        work, pairs = named(*self.label_counts, *self.counts), len(self.labels.pairs)
        return with_traffic(work, pairs, 4 * (3 * pairs + 1), self.labels.lanes.nbytes, self.rows[2].itemsize)

    @property
    def index_bytes(self) -> int:
        """Bytes of the label records, of the levels and of the hubs' words."""
        return self.labels.lanes.nbytes + self.rows[2].nbytes + (0 if self.hubs is None else self.hubs.nbytes)


def _narrow_levels(dag: Dag) -> np.ndarray:
    """The levels in as few bytes as hold them: the filter gathers them at random."""
    return dag.levels.astype(np.int16) if dag.depth < 2**15 else dag.levels


def _label(dag: Dag, params: Params, labels: Labels, pair: int, counts: np.ndarray | None) -> None:
    """Label pair `pair`. Lexicographic: pair 0 visits children ascending, pair 1 descending, so that two pairs differ
    as much as two can; later ones, and all pairs in random order, visit them in a seeded random order."""
    lexicographic = params.order == "lexicographic" and pair < 2
    children = dag.children if lexicographic else shuffle_rows(dag.offsets, dag.children, params.seed, pair)
    where = Pair(labels.lanes, int(labels.width), params.dim, pair, "tree" in params.filters)
    label_pair(dag.offsets, children, dag.depth, lexicographic and pair == 1, where, counts)


def _label_counts(params: Params) -> list[np.ndarray | None]:
    return [zeros() if params.count else None for _ in range(params.dim)]


def _hub_words(dag: Dag, params: Params, helpers: int) -> tuple[np.ndarray | None, list]:
    """The hubs' words, on two threads where there is a helper, and what they count; None without that filter."""
    if "hubs" not in params.filters:
        return None, []
    words, counts = seeded(dag), [zeros() if params.count else None for _ in range(2)]
    graph = dag.offsets, dag.children, dag.order, words
    other = _helpers(helpers).submit(sweep_forward, *graph, counts[0]) if helpers else None
    sweep_backward(*graph, counts[1])
    if other is not None:
        other.result()
    else:
        sweep_forward(*graph, counts[0])
    return words, counts


def _empty_labels(dag: Dag, params: Params) -> Labels:
    labels = empty(dag.vertices, params.dim)
    if "level" in params.filters:
        set_levels(dag.levels, labels.lanes, int(labels.width), params.dim)
    return labels


@register
class Sequential(Implementation):
    """GRAIL on one thread: d depth-first traversals make the labels, and searches are pruned by them.

    Each traversal visits the children of a vertex in another order and gives every vertex an interval: the rank at
    which it is left, and the least rank among all that it reaches. A query u -> v is 'no' where an interval of v does
    not lie inside that of u. What the labels (and the filters, where there are some) leave open is searched from u,
    depth first or breadth first, and a child whose labels exclude v is never entered. Each vertex is visited once a
    query.
    """

    name = "sequential"
    source = "Caiazza 2019, algorithms 1-3"
    cost = "labels O(d (n + m)), a query O(d) or a search of O(d (n + m)) at most; 4 (3 d + 1) bytes a vertex"
    counts = NAMES
    axes = frozenset({"dim", "search", "filters", "order"})

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> GrailIndex:
        """d depth-first traversals, one after the other."""
        labels, counts = _empty_labels(dag, params), _label_counts(params)
        for pair in range(params.dim):
            _label(dag, params, labels, pair, counts[pair])
        hubs, more = _hub_words(dag, params, 0)
        return GrailIndex(dag, params, labels, hubs, 1, counts + more)


@register
class Parallel(Implementation):
    """GRAIL with a thread a label pair, and queries in blocks over `threads` threads.

    The labels are those of `sequential`, one traversal a thread. The batch is cut into blocks, which the threads take
    in turns, each with visit stamps and a stack of its own; a small batch is begun by one thread alone, since most
    are over before the others would be awake.
    """

    name = "parallel"
    source = "Caiazza 2019, section 2.4 ('query parallel')"
    cost = "labels O(d (n + m)), a query O(d) or a search of O(d (n + m)) at most; 4 (3 d + 1) bytes a vertex"
    counts = NAMES
    axes = frozenset({"dim", "search", "filters", "order", "threads"})

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> GrailIndex:
        """d depth-first traversals at once, on d threads as the thesis has it."""
        labels, counts = _empty_labels(dag, params), _label_counts(params)
        others = [
            _helpers(params.dim - 1).submit(_label, dag, params, labels, pair, counts[pair])
            for pair in range(1, params.dim)
        ]
        _label(dag, params, labels, 0, counts[0])
        for other in others:
            other.result()
        hubs, more = _hub_words(dag, params, min(params.workers - 1, 1))
        return GrailIndex(dag, params, labels, hubs, params.workers, counts + more)
