"""The registered counts, on the CPU and on a GPU. Importing this module imports no CUDA module."""

from abc import abstractmethod
from collections.abc import Iterable
from importlib import import_module

import numpy as np
from numba import njit

from grailbench.errors import MachineLacks, install
from grailbench.graph.threads import ThreadPool
from grailbench.problems.counts import sketch
from grailbench.problems.counts.index import Counted, Implementation, Params, Solver, Task, Timer, register
from grailbench.problems.counts.reduce import expanded, listed, reduced
from grailbench.problems.counts.sweep import swept


@register
class Counts(Solver, Implementation):
    """Sweeps of 2,048 columns at once up a reduced graph, whose bits are counted on the way.

    In-trees above are peeled, and out-trees below vertices weigh what they hold; only vertices with two or more parents
    are columns. Threads take blocks of columns that neighbour in a depth-first order, and visit only vertices that
    reach one of them, each pushing its row of bits to its parents. A vertex that reaches what one child reaches shares
    that child's row, counted once.
    """

    name = "counts"
    source = "after Then et al., The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014; ours"
    cost = "O(n + m) to reduce, then at most O((n + m) n / 64) words; 288 n bytes a thread, fewer if memory is short"
    counts = (
        "vertices_left", "columns", "blocks", "vertices_visited", "edges_pushed", "rows_joined", "rows_made",
    )  # fmt: skip
    axes = frozenset({"threads"})

    def solve(self, batch: np.ndarray | None, timer: Timer) -> Counted:
        """Reduces and sweeps the whole graph, whatever the batch is."""
        with timer.phase("reduce"):
            form = reduced(self._task)
        with timer.phase("sweep"):
            columns, work, self.held_bytes = swept(form, self._workers)
        with timer.phase("expand"):
            counts = expanded(self._task, form, columns)
        self.counters = {"vertices_left": form.vertices, "columns": form.columns.shape[0], **work}
        return Counted(counts if batch is None else counts[batch])


@register
class CountsSketch(Solver, Implementation):
    """Estimates with a standard error of 12.7 %: the least of exponential ranks among what is reached, 64 times.

    The graph is reduced as for `counts`. Each column draws ranks, 16 a pass, and a pass against the topological order
    finds the least that each vertex reaches, whose sum tells the weight of what is reached. What needs no sweep is
    exact. Seeds give other estimates, threads the same.
    """

    name = "counts-sketch"
    source = "Cohen, Size-Estimation Framework with Applications to Transitive Closure and Reachability, JCSS 55, 1997"
    cost = "O(64 (n + m)); 72 bytes a vertex and thread, and 64 a column"
    counts = ("ranks", "error_permille", "seen_permille")
    meaning = {"ranks": "Ranks of a sketch."}
    axes = frozenset({"threads"})

    def __init__(self, task: Task, params: Params):
        super().__init__(task, params)
        self._seed = params.seed

    def solve(self, batch: np.ndarray | None, timer: Timer) -> Counted:
        """Estimates for the whole graph, whatever the batch is."""
        found, _, self.held_bytes = sketch.estimated(self._task, self._workers, self._seed)
        self.counters = {"ranks": sketch.RANKS, "error_permille": round(1000 * sketch.ERROR)}
        counts = np.rint(found).astype(np.int64)
        return Counted(counts if batch is None else counts[batch], sketch.ERROR)


# ------------------------------------------------------------------ a search each


@njit(cache=True, nogil=True)
def searched(offsets, children, sizes, batch):
    """The counts of `batch` (int32[q]), int64[q], by a search from each; and the edges that were looked at. Arrays as
    in `Task`."""
    k = offsets.shape[0] - 1
    seen, queue = np.full(k, -1, np.int64), np.empty(k, np.int32)
    counts, scanned = np.zeros(batch.shape[0], np.int64), 0
    for i in range(batch.shape[0]):
        seen[batch[i]], queue[0] = i, batch[i]
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            counts[i] += sizes[u]
            scanned += offsets[u + 1] - offsets[u]
            for at in range(offsets[u], offsets[u + 1]):
                v = children[at]
                if seen[v] != i:
                    seen[v], queue[tail] = i, v
                    tail += 1
    return counts, scanned


class _Each(Implementation):
    """Implementations that search from each vertex."""

    sample = 10_000
    cost = "O(n (n + m))"


@register
class Search(Solver, _Each):
    """A breadth-first search from each vertex, compiled by numba, on all threads.

    Of a graph of more than 10,000 vertices that many are drawn and asked: compare it by its rate.
    """

    name = "search"
    source = "textbook"
    counts = ("edges_scanned",)
    axes = frozenset({"threads"})

    def solve(self, batch: np.ndarray | None, timer: Timer) -> Counted:
        batch = np.arange(self._task.vertices, dtype=np.int32) if batch is None else batch
        threads = max(1, min(self._workers, batch.shape[0]))
        counts = np.empty(batch.shape[0], np.int64)

        def search(turn: int) -> int:
            found, scanned = searched(self._task.offsets, self._task.children, self._task.sizes, batch[turn::threads])
            counts[turn::threads] = found
            return scanned

        with ThreadPool(threads) as pool:
            self.counters = {"edges_scanned": sum(pool.each(search, range(threads)))}
        return Counted(counts)


class _ByLibrary(Solver, _Each):
    """Asks a library what each vertex reaches, one after the other."""

    sample = 1_000

    def solve(self, batch: np.ndarray | None, timer: Timer) -> Counted:
        batch = range(self._task.vertices) if batch is None else batch.tolist()
        sizes = self._task.sizes
        return Counted(np.array([int(sizes[self.reached(u)].sum()) for u in batch], np.int64))

    @abstractmethod
    def reached(self, source: int) -> Iterable:
        """The vertices that `source` reaches, itself included, as an index of arrays."""


@register
class Scipy(_ByLibrary):
    """SciPy (C): `sparse.csgraph.breadth_first_order` from each vertex, one thread.

    Each call prepares arrays of n entries, however little the vertex reaches. Of a graph of more than 1,000 vertices
    that many are drawn and asked: compare it by its rate.
    """

    name = "peer:scipy"
    source = "scipy.sparse.csgraph.breadth_first_order"

    def __init__(self, task: Task, params: Params):
        super().__init__(task, params)
        from scipy.sparse import csr_array

        ones = np.ones(task.edges, np.int8)
        self._matrix = csr_array((ones, task.children, task.offsets), shape=(task.vertices, task.vertices))

    def reached(self, source: int) -> Iterable:
        from scipy.sparse.csgraph import breadth_first_order

        return breadth_first_order(self._matrix, source, return_predecessors=False)


@register
class NetworkX(_ByLibrary):
    """NetworkX: `descendants` of each vertex, one thread.

    Of a graph of more than 1,000 vertices that many are drawn and asked: compare it by its rate.
    """

    name = "peer:networkx"
    needs = ("peers",)
    source = "networkx.descendants"

    @classmethod
    def require(cls) -> None:
        try:
            import_module("networkx")
        except ImportError as error:
            raise MachineLacks(f"NetworkX is not installed ({error}): {install('peers')}") from error

    def __init__(self, task: Task, params: Params):
        super().__init__(task, params)
        import networkx

        self._descendants, self._graph = networkx.descendants, networkx.DiGraph()
        self._graph.add_nodes_from(range(task.vertices))
        sources = np.repeat(np.arange(task.vertices), np.diff(task.offsets))
        self._graph.add_edges_from(zip(sources.tolist(), task.children.tolist(), strict=True))

    def reached(self, source: int) -> Iterable:
        return [source, *self._descendants(self._graph, source)]


@register
class CountsGpu(Solver, Implementation):
    """The columns of `counts`, 65,536 a pass, swept level by level on the device in one cooperative launch.

    The host peels and weighs as `counts` does. A warp takes a vertex: its children tell which of the pass's chunks of
    2,048 columns they reach; it unites their rows in these, and counts bits by planes of weights. What a child reaches
    whole needs no row. A barrier ends a level.
    """

    name = "counts-gpu"
    needs = ("gpu",)
    source = "after Then et al., The More the Merrier: Efficient Multi-Source Graph Traversal, PVLDB 8(4), 2014; ours"
    cost = (
        "O(n + m) on the host; on the device O((n + m) n / 64) words at most, a barrier a level and pass; 8 KiB a "
        "vertex, or half of the device's memory"
    )
    counts = ("vertices_left", "columns", "passes", "levels")

    def solve(self, batch: np.ndarray | None, timer: Timer) -> Counted:
        """Reduces on the host, and sweeps the whole graph on the device, whatever the batch is."""
        from grailbench.cuda.timers import Phases
        from grailbench.problems.counts.gpu.sweep import swept

        phases = Phases()
        with timer.phase("reduce"):
            form = listed(self._task)
        columns, work, self.held_bytes = swept(self._task, form, phases)
        phases.hand_over(timer.record)
        with timer.phase("expand"):
            counts = expanded(self._task, form, columns)
        self.counters = {"vertices_left": form.order.shape[0], "columns": form.columns.shape[0], **work}
        return Counted(counts if batch is None else counts[batch])
