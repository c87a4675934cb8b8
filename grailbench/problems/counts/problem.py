"""The problem `counts`: condensed graphs, all descendants or ancestors counted once a trial, and the check: by a plain
closure where that is short, else by searches and what edges imply. Nothing of it is peeled, weighed or shared."""

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.condense import condense, load_kernels
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Ids
from grailbench.graph.profile import reached_from
from grailbench.problems import contract
from grailbench.problems.contract import Attempt, Checks, Params, SolverProblem, Spec, Verdict, Workload
from grailbench.problems.counts.index import Counted, Implementation, NoTimer, Solver, Task, task_of
from grailbench.problems.counts.sketch import bounds

CLOSED = 5 * 10**9  #: the most pairs of two vertices, or a vertex and an edge, of a graph that is closed
SCANNED = 2 * 10**8  #: edges that searches on larger graphs may scan
_ONE = np.uint64(1)


def closure_suffices(task: Task) -> bool:
    """Whether the graph is small enough for a closure."""
    return task.vertices * (task.vertices + task.edges) <= CLOSED


@njit(cache=True, nogil=True)
def closed(offsets, children, order, sizes):
    """The counts of all vertices, int64[k]: 64 of them at a time are one bit each of what every vertex reaches. Arrays
    as in `Task`."""
    k = order.shape[0]
    counts, words = np.zeros(k, np.int64), np.zeros(k, np.uint64)
    for first in range(0, k, 64):
        words[:] = 0
        last = min(first + 64, k)
        for i in range(first, last):
            words[order[i]] = _ONE << np.uint64(i - first)
        for i in range(last - 1, -1, -1):  # none after them reaches them
            u = order[i]
            for at in range(offsets[u], offsets[u + 1]):
                words[u] |= words[children[at]]
            for bit in range(last - first):
                if (words[u] >> np.uint64(bit)) & _ONE:
                    counts[u] += sizes[order[first + bit]]
    return counts


@njit(cache=True, nogil=True)
def against_edges(offsets, children, order, sizes, counts):
    """The first vertex in `order` whose count (int64[k]) cannot be right beside those of its children, or -1: it is at
    least its own size and the greatest of theirs, and at most its size and the sum of theirs."""
    for i in range(order.shape[0]):
        u = order[i]
        most = total = np.int64(0)
        for at in range(offsets[u], offsets[u + 1]):
            most = max(most, counts[children[at]])
            total += counts[children[at]]
        if counts[u] < sizes[u] + most or counts[u] > sizes[u] + total:
            return u
    return -1


ANCESTORS = "ancestors"  #: the query set, and the kind of its `Spec`
UNLIKELY = 1e-6  #: how probable it is that sound estimates are called wrong


class Counts(SolverProblem):
    """The problem `counts`: how many original vertices every vertex reaches, or is reached by (query set `ancestors`),
    itself never counted."""

    name = "counts"
    asks = "vertices"
    count = 1
    counted = False
    modules = ("grailbench.problems.counts.catalog",)
    ranked = {"solve": "counting", "ready": "counting from edges"}
    usual = ("counts",)
    rate = "vertices/s"
    answer = "pairs counted"

    def open(self, name: str):
        """Opens the condensed graph of that name."""
        from grailbench.data.library import open_graph

        return open_graph(name)

    def spec(self, text: str, count: int, seed: int) -> Spec:
        """Returns the workload: the descendants of all vertices ('random', the default, or 'descendants'), or their
        ancestors. Raises InputError for any other query set."""
        if text not in ("random", "descendants", ANCESTORS):
            raise InputError(f"{self.name} has no query set {text!r}", remedy=f"descendants or {ANCESTORS}")
        return Spec(ANCESTORS if text == ANCESTORS else "all", 0, seed)

    def part(self, spec: Spec, implementation: type[Implementation], large: bool = False) -> Spec:
        """So many drawn vertices for an implementation that searches from each."""
        return Spec(spec.kind, implementation.sample or 0, spec.seed)

    def data(self, graph, spec: Spec) -> Task:
        """Returns the condensed graph, its edges reversed for ancestors."""
        return task_of(graph.dag, spec.kind == ANCESTORS)

    def prime(self, implementation: type[Implementation], params: Params, from_edges: bool) -> None:
        """Counts the descendants of a diamond."""
        load_kernels()
        ends = np.array([0, 0, 1, 2], np.int32), np.array([1, 2, 3, 3], np.int32)
        task = task_of(condense(Graph.from_edges(4, *ends)))
        implementation.prepare(task, params, NoTimer()).solve(None, NoTimer())

    def workload(self, spec: Spec, graph, data: Task, checks: Checks) -> Workload:
        """Returns the workload. Raises InputError if the graph has no vertices."""
        if data.vertices == 0:
            raise InputError(f"{graph.name} has no vertices, so there is nothing to count")
        return Every(data, spec, graph.ids)

    def solve(self, solver: Solver, data: Task, batch, timer) -> Counted:
        return solver.solve(_components(data, batch), timer)

    def data_of(self, edges: Graph, params: Params, batch, timer) -> Task:
        """Condenses, which is phase `condense`."""
        with timer.phase("condense"):
            return task_of(condense(edges, params.workers), batch[1])

    def checksum(self, found: Counted) -> str:
        return contract.checksum(np.ascontiguousarray(found.counts).data)

    def rated(self, data: Task, batch) -> int:
        return data.component.shape[0] if batch[0] is None else batch[0].shape[0]


def _components(task: Task, batch) -> np.ndarray | None:
    where, _ = batch
    return None if where is None else task.component[where]


class Every(Workload):
    """The counts of all vertices, or of drawn ones.

    batch  the original vertices, int32[q], or None for all; and whether ancestors are counted
    """

    def __init__(self, task: Task, spec: Spec, ids: Ids):
        self._task, self._ids = task, ids
        n, some = task.component.shape[0], None
        if 0 < spec.count < n:
            some = np.sort(np.random.default_rng(spec.seed).choice(n, spec.count, replace=False)).astype(np.int32)
        self.batch = some, spec.kind == ANCESTORS
        self._right: np.ndarray | None = None
        self._drawn: tuple[np.ndarray, np.ndarray] | None = None
        self._pairs: int | None = None
        self._sums: dict[str, str] = {}
        self._seen = 0

    @property
    def size(self) -> int:
        """Number of vertices whose counts are asked."""
        where, _ = self.batch
        return self._task.component.shape[0] if where is None else where.shape[0]

    @property
    def method(self) -> str:
        return "closure" if closure_suffices(self._task) else "searches"

    def describe(self) -> str:
        """Returns a description, such as 'descendants of 100 vertices, 2,310 pairs'."""
        known = "" if self._pairs is None else f", {self._pairs:,} pairs"
        return f"{'ancestors' if self.batch[1] else 'descendants'} of {self.size:,} vertices{known}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Compares every count with the closure, or those of drawn vertices with searches.

        The counter `seen_permille` of estimates is the root mean square of their relative errors, of those compared.
        """
        found: Counted = attempt.answers
        where = _components(self._task, self.batch)
        fault = self._fault(found, where)
        if fault:
            return attempt.verdict(fault, None, "")
        each = found.counts[self._task.component] if where is None else found.counts
        pairs, total, method = int(each.sum()) - each.shape[0], Counts().checksum(found), None
        counters = attempt.counters if found.error is None else attempt.counters | {"seen_permille": self._seen}
        if found.error is None:
            self._pairs, self._sums[key] = pairs, total
        if self._drawn is not None and self._drawn[0].shape[0] < found.counts.shape[0]:
            method = f"sample of {self._drawn[0].shape[0]:,}"
        return attempt.verdict(None, pairs, total, counters=counters, method=method)

    def compare(self) -> dict[str, str]:
        """On a graph of which not every count was checked, implementations that count exactly must agree on all."""
        if len(set(self._sums.values())) < 2:
            return {}
        return dict.fromkeys(self._sums, "implementations differ in counts that no search checked")

    def _fault(self, found: Counted, where: np.ndarray | None) -> str | None:
        task = self._task
        arrays = task.offsets, task.children, task.order, task.sizes
        counts, batch = found.counts, task.vertices if where is None else where.shape[0]
        if counts.shape != (batch,) or counts.dtype != np.int64:
            return f"counts of shape {counts.shape} and dtype {counts.dtype}, not ({batch},) and int64"
        if closure_suffices(task):
            if self._right is None:
                self._right = closed(*arrays)
            return self._differ(found, counts, self._right if where is None else self._right[where], where)
        if where is None and found.error is None:
            wrong = against_edges(*arrays, counts)
            if wrong >= 0:
                return f"{self._name(wrong)}: its count does not go with those of its children"
        drawn, right = self._searched(where)
        return self._differ(found, counts[drawn], right, drawn if where is None else where[drawn])

    def _searched(self, where: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Places of drawn vertices among those asked, int32[d], and their counts, int64[d]."""
        if self._drawn is None:
            task, batch = self._task, self._task.vertices if where is None else where.shape[0]
            drawn = np.random.default_rng(1).permutation(batch).astype(np.int32)
            asked = drawn if where is None else where[drawn]
            right = reached_from(task.offsets, task.children, asked, SCANNED - 1, task.sizes)
            self._drawn = drawn[: right.shape[0]], right
        return self._drawn

    def _differ(self, found: Counted, counts: np.ndarray, right: np.ndarray, which: np.ndarray | None) -> str | None:
        """What is wrong with counts of the components `which` (None: all). Estimates are right between bounds that are
        true of all of them but for a probability of `UNLIKELY`."""
        low, high = right, right
        if found.error is not None:
            least, most = bounds(round(found.error**-2) + 2, UNLIKELY / right.shape[0])
            low, high = np.floor(right * least), np.ceil(right * most)
            self._seen = round(1000 * float(np.sqrt(np.mean((counts / right - 1) ** 2))))
        wrong = np.flatnonzero((counts < low) | (counts > high))
        if not wrong.size:
            return None
        at = int(wrong[0])
        name = self._name(at if which is None else int(which[at]))
        return f"{wrong.size} of {right.size} counts are wrong; {name}: {counts[at] - 1} others, not {right[at] - 1}"

    def _name(self, component: int) -> str:
        return self._ids.label_of(int(np.flatnonzero(self._task.component == component)[0]))
