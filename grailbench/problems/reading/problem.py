"""The problem `read` for the harness: a graph is written as text once, and that text is read in every trial."""

from collections.abc import Callable

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph
from grailbench.problems import contract
from grailbench.problems.contract import Attempt, Params, Problem, Spec, Trial, Verdict, Workload
from grailbench.problems.reading.index import Implementation, Text


class Reading(Problem):
    """The problem `read`. Its phase `solve` reads a file, which is in the system's cache, into edge arrays."""

    name = "read"
    asks = "edges"
    count = 1
    counted = False
    modules = ("grailbench.problems.reading.index",)
    phases = ("solve",)
    ranked = {"solve": "reading"}
    usual = ("gra", "edges", "mtx", "pandas")
    rate = "MB/s"
    answer = "edges"
    from_edges = False

    def params(self, **axes) -> Params:
        """Implementations take only the seed."""
        return Params(seed=axes["seed"])

    def spec(self, text: str, count: int, seed: int) -> Spec:
        """There is one workload, the whole file. Raises InputError for any other query set."""
        self.only(text, "it takes all edges")
        return Spec("all")

    def data(self, graph, spec: Spec) -> Text:
        """The graph as text."""
        return Text(graph.graph, graph.sha256)

    def workload(self, spec: Spec, graph, data: Text, checks) -> Workload:
        """All edges of the graph. Raises InputError if it has none."""
        if data.graph.edges == 0:
            raise InputError(f"{graph.name} has no edges, so there is nothing to read")
        return Same(data.graph)

    def attempt(
        self, implementation: type[Implementation], params: Params, data: Text, batch: None, peaks: Callable[[], dict]
    ) -> Attempt:
        """Reads the graph once, to be checked."""
        path = data.file(implementation.form)
        found = implementation.read(path, data.graph.vertices)
        return Attempt(found, counters={"text_bytes": path.stat().st_size}, memory=peaks())

    def trial(
        self, implementation: type[Implementation], params: Params, data: Text, batch: None, timer, edges=None
    ) -> Trial:
        """Reads the graph and measures the time; the rate is in bytes of text."""
        path = data.file(implementation.form)
        with timer.phase("solve") as solve:
            found = implementation.read(path, data.graph.vertices)
        return Trial(checksum(found), path.stat().st_size / 1e3 / solve.ms if solve.ms else None)


class Same(Workload):
    """The expected result: the number of vertices, and each edge as often as it was written, in any order."""

    method = "what was written"

    def __init__(self, graph: Graph):
        self._graph, self._right = graph, checksum(graph)

    @property
    def size(self) -> int:
        """Number of edges."""
        return self._graph.edges

    def describe(self) -> str:
        """For example '5,576 edges as text'."""
        return f"{self.size:,} edges as text"

    def judge(self, key: str, attempt: Attempt) -> Verdict:
        """Compares the graph that was read with the one that was written."""
        found: Graph = attempt.answers
        fault = None
        if checksum(found) != self._right:
            fault = (
                f"{found.vertices} vertices and {found.edges} edges were read, and they are not the "
                f"{self._graph.vertices} and {self._graph.edges} that were written"
            )
        return attempt.verdict(fault, found.edges, checksum(found))


def checksum(graph: Graph) -> str:
    """A checksum of 16 hex digits of the number of vertices and the sorted edges."""
    keys = np.sort(graph.sources.astype(np.int64) << 32 | graph.targets)
    return contract.checksum(keys.tobytes() + str(graph.vertices).encode())
