"""The interface of implementations of `read`, and the implementations: our readers by format, and pandas to compare.
The text is written by this module, independently of any reader, so the original graph serves to check what was read."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np

from grailbench.graph.csr import Graph, rows_of
from grailbench.problems import contract
from grailbench.problems.contract import Params, register
from grailbench.util import caches, paths
from grailbench.util.outputs import atomic_file

__all__ = ["Implementation", "Params", "Text"]


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
    form: ClassVar[str]  #: a format of `FORMS`

    @classmethod
    @abstractmethod
    def read(cls, path: Path, vertices: int) -> Graph:
        """Reads the graph in a file; `vertices` is for readers that do not find their number in the file."""


_READS = "One compiled pass over the bytes turns digits into numbers; the first malformed line is reported."
_COST = "every byte once"


def _ours(name: str) -> None:
    class Ours(Implementation):
        form = name
        source = "ours"
        cost = _COST
        counts = ("text_bytes",)

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
    cost = _COST
    counts = ("text_bytes",)

    @classmethod
    def read(cls, path: Path, vertices: int) -> Graph:
        """Reads two columns after a comment line."""
        import pandas

        found = pandas.read_csv(path, sep=" ", comment="#", header=None, dtype=np.int32)
        return Graph.from_edges(vertices, found[0], found[1])
