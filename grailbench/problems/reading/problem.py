"""The problem `read`: a graph is written as text once, and that text is read in every trial, by our readers by format,
and by pandas to compare. The text is written by this module, independently of any reader, so the original graph serves
to check what was read."""

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Graph, rows_of
from grailbench.problems import contract
from grailbench.problems.contract import Attempt, Params, Problem, Spec, Trial, Verdict, Workload, register
from grailbench.util import caches, paths
from grailbench.util.outputs import atomic_file


class Text:
    """A graph as text in any format of `FORMS`; the files are stored in the cache."""

    def __init__(self, graph: Graph, sha256: str):
        self.graph, self._sha256 = graph, sha256

    def file(self, form: str) -> Path:
        """The file with the graph in a format of `FORMS`; it is written on first use."""
        path = paths.cache_dir() / "texts" / f"{self._sha256[:16]}.{form}"
        caches.use(path)
        if not path.is_file():
            with atomic_file(path, added=caches.added) as stream:
                stream.write(FORMS[form](self.graph).encode())
        return path


def _gra(graph: Graph) -> str:
    offsets, targets = rows_of(graph)
    rows = (targets[offsets[u] : offsets[u + 1]].tolist() for u in range(graph.vertices))
    lines = (f"{u}: {''.join(f'{v} ' for v in row)}#" for u, row in enumerate(rows))
    return "\n".join(("graph_for_greach", str(graph.vertices), *lines, ""))


def _pairs(graph: Graph, first: int) -> list[str]:
    return [f"{u} {v}" for u, v in np.column_stack((graph.sources, graph.targets)).astype(np.int64) + first]


def _edges(graph: Graph) -> str:
    return "\n".join((f"# Nodes: {graph.vertices} Edges: {graph.edges}", *_pairs(graph, 0), ""))


def _mtx(graph: Graph) -> str:
    sizes = f"{graph.vertices} {graph.vertices} {graph.edges}"
    return "\n".join(("%%MatrixMarket matrix coordinate pattern general", sizes, *_pairs(graph, 1), ""))


#: formats of text and the functions that write them
FORMS = {"gra": _gra, "edges": _edges, "mtx": _mtx}


class Implementation(contract.Implementation):
    """A way to read a graph. Subclasses define the class variables and `read`, and are registered by `@register`."""

    problem: ClassVar[str] = "read"
    cost = "every byte once"
    counts = ("text_bytes",)
    form: ClassVar[str]  #: a format of `FORMS`

    @classmethod
    @abstractmethod
    def read(cls, path: Path, vertices: int) -> Graph:
        """Reads the graph in a file; `vertices` is for readers that do not find their number in the file."""


_READS = "One compiled pass over the bytes turns digits into numbers; the first malformed line is reported."


def _ours(name: str) -> None:
    class Ours(Implementation):
        form = name
        source = "ours"

        @classmethod
        def read(cls, path: Path, vertices: int) -> Graph:
            """Reads the file with `graph.readers`."""
            from grailbench.graph.readers import read_graph

            return read_graph(path, cls.form)

    Ours.name, Ours.__doc__ = name, f"Our reader of the format `{name}`.\n\n{_READS}"
    register(Ours)


for _name in FORMS:
    _ours(_name)


@register
class Pandas(Implementation):
    """`pandas.read_csv`, with its parser in C, on an edge list, as a basis of comparison.

    It reads two columns of 32-bit integers after a comment line.
    """

    name = "pandas"
    form = "edges"
    source = "pandas"

    @classmethod
    def read(cls, path: Path, vertices: int) -> Graph:
        """Reads two columns after a comment line."""
        import pandas

        found = pandas.read_csv(path, sep=" ", comment="#", header=None, dtype=np.int32)
        return Graph.from_edges(vertices, found[0], found[1])


class Reading(Problem):
    """The problem `read`. Its phase `solve` reads a file, which is in the system's cache, into edge arrays."""

    name = "read"
    asks = "edges"
    count = 1
    counted = False
    modules = ("grailbench.problems.reading.problem",)
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
