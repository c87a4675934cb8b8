"""The problem `closure`: raw graphs, one closure per trial, and a check of every bit of it."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.graph.ids import Ids
from grailbench.problems import contract
from grailbench.problems.closure import bits as packed
from grailbench.problems.closure.check import Difference, Reference, cyclic
from grailbench.problems.closure.index import Block, Closed, Params, Relation, Solver
from grailbench.problems.contract import Attempt, SolverProblem, Spec, Verdict, Workload
from grailbench.util.cores import usable_cores


class Closure(SolverProblem):
    """The problem `closure`. A closure in blocks (`Params.memory`) is computed and counted, block by block, and none is
    kept. Phase `input` of `ready` makes the matrix, bits or rows that the implementation takes."""

    name = "closure"
    asks = "vertices"
    count = 1
    counted = False
    modules = ("grailbench.problems.closure.catalog",)
    parameters = Params
    ranked = {"solve": "closures", "ready": "closures from edges"}
    usual = ("condense-bits", "warshall-bits")
    answer = "edges of the closure"
    counts = ("pairs_with_cycles",)

    def spec(self, text: str, count: int, seed: int) -> Spec:
        """Returns the only workload: all pairs. Raises InputError for any query set but 'random'."""
        self.only(text, "it takes all pairs")
        return Spec("all")

    def data(self, graph, spec: Spec) -> Relation:
        """Returns the graph as a relation."""
        return Relation(graph.graph)

    def workload(self, spec: Spec, graph, data: Relation, checks) -> Workload:
        """Returns the workload: the closure of the graph.

        Raises InputError if the graph has no vertices.
        """
        if data.vertices == 0:
            raise InputError(f"{graph.name} has no vertices, so there is nothing to close")
        return Whole(data, graph.ids)

    def solve(self, solver: Solver, data: Relation, batch: None, timer) -> Closed:
        return solver.solve(timer)

    def data_of(self, edges: Graph, params: Params, batch: None, timer) -> Relation:
        return Relation(edges, timer)

    def checksum(self, found: Closed) -> str:
        """The checksum of a closure; of one in blocks, that of how many vertices each reaches."""
        return checksum(found.packed() if found.parts is None else found.reached.astype(np.int64))

    def answers(self, data: Relation, found: Closed) -> tuple[np.ndarray | Compared, int]:
        """The bits of a closure, or, of one in blocks, `Compared`; and the edges that the implementation counted."""
        if found.parts is None:
            return found.packed(), found.edges
        return Compared(Reference(data).compare(found.parts()), self.checksum(found)), found.edges


class Compared(NamedTuple):
    """What is left of a closure in blocks: its difference from the reference, and its checksum."""

    difference: Difference
    checksum: str


class Whole(Workload):
    """The closure of a graph."""

    method = "oracle, rows of it by searches"

    def __init__(self, relation: Relation, ids: Ids):
        self._relation, self._ids = relation, ids
        self._reference: Reference | None = None
        self._edges = self._cyclic = 0

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self._relation.vertices

    def describe(self) -> str:
        """Returns a description, such as '100 vertices, 9,900 edges in the closure'."""
        known = f", {self._edges:,} edges in the closure" if self._edges else ""
        return f"{self.size:,} vertices{known}"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Compares every bit with the reference, and the edge count of the implementation with the true one.

        The counter `pairs_with_cycles` is that count with a pair (v, v) for every vertex on a cycle, as Datalog systems
        count.
        """
        found, edges = attempt.answers
        fault, mark = self._compared(found)
        if fault is None and edges != self._edges:
            fault = f"{edges} edges were counted, and the closure has {self._edges}"
        if fault:
            return attempt.verdict(fault, None, "")
        counters = attempt.counters | {"pairs_with_cycles": edges + self._cyclic}
        return attempt.verdict(None, edges, mark, counters=counters)

    def _compared(self, found: np.ndarray | Compared) -> tuple[str | None, str]:
        """Returns what is wrong, or None, and the checksum of what was found."""
        n = self.size
        if isinstance(found, Compared):
            difference, mark = found
        else:
            if found.shape != (n, packed.words(n)) or found.dtype != np.uint64:
                shape = n, packed.words(n)
                return f"a closure of shape {found.shape} and dtype {found.dtype}, not {shape} and uint64", ""
            if self._reference is None:
                self._reference = Reference(self._relation)
            difference = self._reference.compare([Block(np.arange(n, dtype=np.int32), found)])
            mark = "" if difference.wrong else checksum(found)
        self._edges, self._cyclic = difference.edges, cyclic(self._relation.graph)
        if not difference.wrong:
            return None, mark
        u, v, path = difference.first
        pair = f"{self._ids.label_of(u)}, {self._ids.label_of(v)}"
        return f"{difference.wrong} pairs are wrong, the first ({pair}): there is {'a' if path else 'no'} path", ""


PIECE = 1 << 26  #: bytes of which a larger matrix has one checksum each, taken on all cores


def checksum(array: np.ndarray) -> str:
    """Returns the first 16 hex digits of the sha256 of an array, or of those of its pieces of `PIECE` bytes."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if flat.shape[0] <= PIECE:
        return contract.checksum(flat.data)
    pieces = (flat[low : low + PIECE] for low in range(0, flat.shape[0], PIECE))
    with ThreadPoolExecutor(usable_cores(), thread_name_prefix="checksum") as pool:
        digests = pool.map(lambda piece: hashlib.sha256(piece.data).digest(), pieces)
        return contract.checksum(b"".join(digests))
