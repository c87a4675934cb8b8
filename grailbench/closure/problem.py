"""The problem `closure`: raw graphs, one closure per trial, and a check of every bit of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from grailbench.closure import bits as packed
from grailbench.closure.check import cyclic, reference, require_memory, scipy_suffices
from grailbench.closure.index import Closed, Implementation, NoTimer, Relation, Solver
from grailbench.contract import Attempt, Params, Problem, Spec, Trial, Verdict, Workload
from grailbench.errors import InputError
from grailbench.graph.ids import Ids


class Closure(Problem):
    """The problem `closure`, whose trials have these phases.

    prepare  allocates on host and device, and brings the input into the form of the implementation
    solve    computes the closure from host memory to host memory, and counts its edges
    ready    if asked for: from raw edges in memory to the closure on the host, in the form that the implementation
             gives. Its parts are `input` (make the matrix, bits or rows), `prepare`, `solve` and the phases apart
    """

    name = "closure"
    asks = "vertices"
    count = 1
    counted = False
    modules = ("grailbench.closure.cpu.catalog", "grailbench.closure.gpu.catalog")
    phases = ("prepare", "solve")
    usual = ("condense-bits", "warshall-bits")
    answer = "edges of the closure"

    def params(self, **axes) -> Params:
        return Params(**{name: axes[name] for name in ("threads", "seed") if name in axes})

    def open(self, name: str):
        from grailbench.datasets.library import open_raw

        return open_raw(name)

    def spec(self, text: str, count: int, seed: int) -> Spec:
        """Returns the only workload: all pairs. Raises InputError for any query set but 'random'."""
        if text != "random":
            raise InputError(f"{self.name} has no query set {text!r}", remedy="it takes all pairs")
        return Spec("all")

    def data(self, graph, spec: Spec) -> Relation:
        """Returns the graph as a relation."""
        return Relation(graph.graph)

    def workload(self, spec: Spec, graph, data: Relation, checks) -> Workload:
        """Returns the workload: the closure of the graph.

        Raises InputError if the graph has no vertices, TooLittleMemory if a closure cannot be checked in memory.
        """
        if data.vertices == 0:
            raise InputError(f"{graph.name} has no vertices, so there is nothing to close")
        require_memory(graph.name, data.vertices)
        return Whole(data, graph.ids)

    def attempt(
        self, implementation: type[Implementation], params: Params, data: Relation, asked, peaks: Callable[[], dict]
    ) -> Attempt:
        """Computes one closure; the answers are its bits and the edge count of the implementation."""
        solver = implementation.prepare(data, params, NoTimer())
        closed = solver.solve(NoTimer())
        memory = peaks()
        return Attempt((closed.packed(), closed.edges), None, int(solver.held_bytes), dict(solver.counters), memory)

    def trial(
        self, implementation: type[Implementation], params: Params, data: Relation, asked, timer, edges=None
    ) -> Trial:
        """Prepares and solves; with `edges` does so once more from the raw edges."""
        solver, closed = _closed(implementation, params, data, timer)
        found = checksum(closed.packed())
        if edges is not None:
            del solver, closed
            with timer.whole("ready"):
                solver, closed = _closed(implementation, params, Relation(edges, timer), timer)
            found = checksum(closed.packed())
        return Trial(found)


def _closed(implementation: type[Implementation], params: Params, data: Relation, timer) -> tuple[Solver, Closed]:
    with timer.phase("prepare"):
        solver = implementation.prepare(data, params, timer)
    with timer.phase("solve"):
        return solver, solver.solve(timer)


class Whole(Workload):
    """The closure of a graph. The reference is computed when the first answer is judged."""

    def __init__(self, relation: Relation, ids: Ids):
        self._relation, self._ids = relation, ids
        self._right: np.ndarray | None = None
        self._edges = self._cyclic = 0

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self._relation.vertices

    @property
    def method(self) -> str:
        return "scipy" if scipy_suffices(self._relation) else "oracle, rows of it by searches"

    def describe(self) -> str:
        """Returns a description, such as '100 vertices, 9,900 edges in the closure'."""
        known = "" if self._right is None else f", {self._edges:,} edges in the closure"
        return f"{self.size:,} vertices{known}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Compares every bit with the reference, and the edge count of the implementation with the true one.

        The counter `pairs_with_cycles` is that count with a pair (v, v) for every vertex on a cycle, as Datalog systems
        count.
        """
        if self._right is None:
            self._right = reference(self._relation)
            self._edges = int(packed.count(self._right))
            self._cyclic = cyclic(self._relation.graph)
        found, edges = attempt.answers
        fault = _fault(found, edges, self._right, self._ids)
        if fault:
            return Verdict(fault, None, "", attempt.index_bytes, attempt.counters, attempt.memory)
        counters = attempt.counters | {"pairs_with_cycles": edges + self._cyclic}
        return Verdict(None, edges, checksum(found), attempt.index_bytes, counters, attempt.memory)


def checksum(bits: np.ndarray) -> str:
    """Returns the first 16 hex digits of the sha256 of uint64[n, words]."""
    return hashlib.sha256(np.ascontiguousarray(bits).data).hexdigest()[:16]


def _fault(found: np.ndarray, edges: int, right: np.ndarray, ids: Ids) -> str | None:
    if found.shape != right.shape or found.dtype != right.dtype:
        return f"a closure of shape {found.shape} and dtype {found.dtype}, not {right.shape} and {right.dtype}"
    wrong = found ^ right
    differing = int(packed.count(wrong))
    if differing:
        u, word = (int(place[0]) for place in np.nonzero(wrong))
        v = 64 * word + int(packed.lowest(wrong[u, word]))
        reached = bool((right[u, word] >> np.uint64(v % 64)) & np.uint64(1))
        pair = f"{ids.label_of(u)}, {ids.label_of(v)}"
        return f"{differing} pairs are wrong, the first ({pair}): there is {'a' if reached else 'no'} path"
    expected = int(packed.count(right))
    if edges != expected:
        return f"{edges} edges were counted, and the closure has {expected}"
    return None
