"""GRAIL on the CPU: `sequential` and the thesis's query-parallel `parallel` (section 2.4)."""

from functools import partial
from time import perf_counter

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.graph.threads import Lender, helpers
from grailbench.problems.reachability.counters import NAMES, named, with_traffic, zeros
from grailbench.problems.reachability.cpu.search import BLOCK, NO_LEVELS, answer_blocks, scratch
from grailbench.problems.reachability.cpu.single import OnePair
from grailbench.problems.reachability.cpu.traverse import Pair, label_pair, set_levels, shuffle_rows
from grailbench.problems.reachability.hubs import choose, seeded, sweep_backward, sweep_forward
from grailbench.problems.reachability.index import Decision, Implementation, Index, Params, Timer, register
from grailbench.problems.reachability.labels import Labels, empty, fault, width

ALONE = 5e-4  #: seconds that the calling thread works on a small batch before other threads help
_FEW = 64  #: queries of its first block


class GrailIndex(Index):
    """d label pairs on a DAG, and the scratch memory of its search threads.

    levels: those of the level filter, in as few bytes as possible; None to make them.
    """

    concurrent = True

    def __init__(
        self, dag: Dag, params: Params, labels: Labels, hubs: np.ndarray | None, workers: int, counts: list,
        levels: np.ndarray | None = None,
    ):  # fmt: skip
        self.dag, self.labels, self.hubs, self.workers, self.search = dag, labels, hubs, workers, params.search
        self.parents = (dag.parent_offsets, dag.parents) if params.search == "bbfs" else None
        if levels is None:
            narrow = np.int16 if dag.depth < 2**15 else np.int32  # the filter reads them at random places
            levels = dag.levels.astype(narrow, copy=False) if "level" in params.filters else NO_LEVELS
        self.rows = dag.offsets, dag.children, levels
        self.scratches = Lender(partial(scratch, dag.vertices, int(labels.width)), workers)
        self.counts = [zeros() for _ in range(workers)] if params.count else [None] * workers
        self.label_counts = counts

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Filters, then searches the open queries; the calling thread takes its share of the blocks.

        All threads get blocks of the same size. A batch of less than a whole block per thread is begun by one thread,
        which finishes most of them before the others would have started.
        """
        answers = np.empty(sources.shape[0], np.bool_)
        batch = sources, targets, answers
        threads, done = self.workers, 0
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
            helpers(workers - 1).submit(self._answer, worker, shares[worker], batch) for worker in range(1, workers)
        ]
        self._answer(0, shares[0], batch)
        for other in others:
            other.result()
        return answers

    def _begin(self, batch: tuple) -> int:
        """Answers the first queries of a batch for `ALONE` seconds, and returns how many."""
        queries, done, ends = batch[0].shape[0], 0, perf_counter() + ALONE
        while done < queries and perf_counter() < ends:
            size = min(max(3 * done, _FEW), BLOCK, queries - done)
            self._answer(0, (done, size, queries), batch)
            done += size
        return done

    def _answer(self, worker: int, share: tuple[int, int, int], batch: tuple) -> None:
        with self.scratches.lent() as scratch:
            answer_blocks(share, batch, *self._arrays, scratch, self.search == "bfs", self.counts[worker])

    @property
    def _arrays(self) -> tuple:
        return self.rows, self.parents, self.labels, self.hubs

    def one_pair(self, component: np.ndarray | None) -> OnePair:
        """Answers by the filters first, then by a search."""
        return OnePair(component, *self._arrays, self.search == "bfs")

    def decide(self, source: int, target: int) -> Decision:
        """Asks one query by the counting variant of the kernels, and reads from its counts which step answered it."""
        counts, answers = zeros(), np.empty(1, np.bool_)
        batch = np.array([source], np.int32), np.array([target], np.int32), answers
        with self.scratches.lent() as scratch:
            answer_blocks((0, 1, 1), batch, *self._arrays, scratch, self.search == "bfs", counts)
        found, answer = dict(zip(NAMES, counts.tolist(), strict=True)), bool(answers[0])
        if found["excluded_by_level"]:
            u, v = (int(self.dag.levels[end]) for end in (source, target))
            return Decision(answer, "level", f"{{0}} is on level {u} and {{1}} on level {v}, and every edge leads to a "
                            "greater level", (source, target))  # fmt: skip
        if found["excluded_by_labels"]:
            return Decision(answer, "labels", _excluding(self, source, target), (source, target))
        if found["accepted_by_tree"]:
            return Decision(answer, "tree", "{1} is below {0} in the spanning tree of a label pair", (source, target))
        if found["accepted_by_hubs"] or found["excluded_by_hubs"]:
            return _by_hub(self, source, target, answer)
        search = _SEARCHES[self.search]
        looked = {"vertices expanded": found["vertices_expanded"], "edges scanned": found["edges_scanned"]}
        met = "they met" if self.parents else "it arrived at {1}"
        end = met if answer else "no vertex was left that could reach {1}"
        return Decision(answer, "search", f"the filters left it open; a {search} ended when {end}",
                        (source, target), looked)  # fmt: skip

    def check_labels(self, dag: Dag) -> str | None:
        return fault(self.labels, dag.offsets, dag.children)

    def stored(self) -> dict[str, np.ndarray]:
        """Returns the label records, the levels of the level filter, and the hubs' words if there are some."""
        hubs = {} if self.hubs is None else {"hubs": self.hubs}
        return {"labels": self.labels.lanes, "narrow_levels": self.rows[2], **hubs}

    @property
    def counters(self) -> dict[str, int]:
        if self.counts[0] is None:
            return {}
        work, pairs = named(*self.label_counts, *self.counts), len(self.labels.pairs)
        return with_traffic(work, pairs, 4 * (3 * pairs + 1), self.labels.lanes.nbytes, self.rows[2].itemsize)

    @property
    def index_bytes(self) -> int:
        """Bytes of the label records, the levels and the hubs' words."""
        return self.labels.lanes.nbytes + self.rows[2].nbytes + (0 if self.hubs is None else self.hubs.nbytes)


_SEARCHES = {
    "dfs": "depth-first search from {0}",
    "bfs": "breadth-first search from {0}",
    "bbfs": "breadth-first search down from {0} and one up from {1}",
}


def _excluding(index: GrailIndex, source: int, target: int) -> str:
    """The first label pair that excludes the target, in words."""
    records = index.labels.lanes.reshape(-1, int(index.labels.width))
    for pair in range(len(index.labels.pairs)):
        start, end = records[source, 2 * pair], -records[source, 2 * pair + 1]
        first, last = records[target, 2 * pair], -records[target, 2 * pair + 1]
        if not (start <= first and last <= end):
            return (
                f"label pair {pair + 1} of {{0}}, the interval [{start}, {end}], does not contain that of {{1}}, "
                f"[{first}, {last}]"
            )
    raise AssertionError("no label pair excludes the target")


def _by_hub(index: GrailIndex, source: int, target: int, answer: bool) -> Decision:
    def lowest(word) -> int:
        """The hub of the lowest bit that is set."""
        return int(choose(index.dag)[(int(word) & -int(word)).bit_length() - 1])

    words = index.hubs.reshape(-1, 2)
    (forward, backward), (to_forward, to_backward) = words[source], words[target]
    if answer:
        between = lowest(forward & to_backward)
        return Decision(True, "hubs", "{0} reaches {2}, and {2} reaches {1}", (source, target, between))
    if beyond := to_forward & ~forward:
        return Decision(False, "hubs", "{1} reaches {2}, which {0} does not reach", (source, target, lowest(beyond)))
    hub = lowest(backward & ~to_backward)
    return Decision(False, "hubs", "{2} reaches {0} but not {1}", (source, target, hub))


def _label(dag: Dag, params: Params, labels: Labels, pair: int, counts: np.ndarray | None) -> None:
    """Labels pair `pair`. In lexicographic order, pair 0 visits children ascending and pair 1 descending.

    Later pairs, and all pairs in random order, visit children in a seeded random order.
    """
    lexicographic = params.order == "lexicographic" and pair < 2
    children = dag.children if lexicographic else shuffle_rows(dag.offsets, dag.children, params.seed, pair)
    where = Pair(labels.lanes, int(labels.width), params.dim, pair, "tree" in params.filters)
    label_pair(dag.offsets, children, dag.depth, lexicographic and pair == 1, where, counts)


def _hub_words(dag: Dag, params: Params, others: int) -> tuple[np.ndarray | None, list]:
    """Returns the hubs' words, or None without that filter, and their work counts; `others` is 0 or 1 thread."""
    if "hubs" not in params.filters:
        return None, []
    words, counts = seeded(dag), [zeros() if params.count else None for _ in range(2)]
    graph = dag.offsets, dag.children, dag.order, words
    other = helpers(others).submit(sweep_forward, *graph, counts[0]) if others else None
    sweep_backward(*graph, counts[1])
    if other is not None:
        other.result()
    else:
        sweep_forward(*graph, counts[0])
    return words, counts


class Grail(Implementation):
    """Base class of `sequential` and `parallel`, which differ in their threads."""

    source = "Caiazza 2019, algorithms 1-3"
    cost = "labels O(d (n + m)), a query O(d) or a search of O(d (n + m)) at most; 4 (3 d + 1) bytes a vertex"
    counts = NAMES
    axes = frozenset({"dim", "search", "filters", "order"})

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> GrailIndex:
        """Makes d depth-first traversals: one after the other, or with the axis `threads` on d threads, as in the
        thesis."""
        workers = params.workers if "threads" in cls.axes else 1
        labels, counts = empty(dag.vertices, params.dim), [zeros() if params.count else None for _ in range(params.dim)]
        if "level" in params.filters:
            set_levels(dag.levels, labels.lanes, int(labels.width), params.dim)
        own, others = range(params.dim), []
        if "threads" in cls.axes:
            own, rest = range(1), range(1, params.dim)
            others = [helpers(len(rest)).submit(_label, dag, params, labels, pair, counts[pair]) for pair in rest]
        for pair in own:
            _label(dag, params, labels, pair, counts[pair])
        for other in others:
            other.result()
        hubs, more = _hub_words(dag, params, min(workers - 1, 1))
        return GrailIndex(dag, params, labels, hubs, workers, counts + more)

    @classmethod
    def restored(cls, dag: Dag, params: Params, arrays: dict[str, np.ndarray]) -> GrailIndex:
        """Returns the index whose arrays these are; nothing is copied."""
        labels = Labels(arrays["labels"], np.uint64(width(params.dim)), (0,) * params.dim)
        workers, levels = params.workers if "threads" in cls.axes else 1, arrays["narrow_levels"]
        counts = [zeros() if params.count else None]
        return GrailIndex(dag, params, labels, arrays.get("hubs"), workers, counts, levels)


@register
class Sequential(Grail):
    """GRAIL on one thread: d depth-first traversals make the labels, and searches are pruned by them.

    Each traversal visits the children of a vertex in another order and gives every vertex an interval: the rank at
    which it is left, and the least rank among all that it reaches. A query u -> v is 'no' where an interval of v does
    not lie inside that of u. What the labels (and the filters, where there are some) leave open is searched from u,
    depth first or breadth first, or breadth first from both ends (`search` = 'bbfs'), and a vertex whose labels exclude
    a path from u to v is never entered. Each vertex is visited once a query.
    """

    name = "sequential"


@register
class Parallel(Grail):
    """GRAIL with one thread per label pair, and queries in blocks over `threads` threads.

    The labels are those of `sequential`, one traversal per thread. The batch is divided into blocks, which the threads
    take in turns, each with its own visit stamps and stack. One thread begins a small batch alone, since it finishes
    most of them before the others would have started.
    """

    name = "parallel"
    source = "Caiazza 2019, section 2.4 ('query parallel')"
    axes = Grail.axes | {"threads"}
