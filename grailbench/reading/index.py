"""The contract of an implementation of `read`, and the readers by name: ours by format, and pandas as a yardstick.

An implementation names the form of text it wants and reads a file of it. What the text says is written here, apart from
any reader, so that a reader is checked by what went in.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

import numpy as np

from grailbench import contract, paths
from grailbench.contract import Params, register
from grailbench.graph.csr import Graph, rows_of
from grailbench.graph.store import atomic_file

__all__ = ["Implementation", "Params", "Text"]


class Text:
    """A graph as text, in whatever form somebody will ask for; the files are in the cache."""

    def __init__(self, graph: Graph, sha256: str):
        self.graph, self._sha256 = graph, sha256

    def file(self, form: str) -> Path:
        """The graph in a form of `FORMS`, written when it is first asked for."""
        path = paths.cache_dir() / "texts" / f"{self._sha256[:16]}.{form}"
        if not path.is_file():
            with atomic_file(path) as stream:
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


#: forms of text -> what writes one
FORMS = {"gra": _gra, "edges": _edges, "mtx": _mtx}


class Implementation(contract.Implementation):
    """A way to read a graph. Subclasses set the class variables and `read`; `@register` files them."""

    problem: ClassVar[str] = "read"
    form: ClassVar[str]  #: of `FORMS`

    @classmethod
    @abstractmethod
    def read(cls, path: Path, vertices: int) -> Graph:
        """The graph in a file of the form; `vertices` for readers that cannot know."""


_READS = "One compiled pass over the bytes turns digits into numbers; the first line that does not fit is named."
_COST = "every byte once"


def _ours(name: str) -> None:
    class Ours(Implementation):
        form = name
        source = "ours"
        cost = _COST
        counts = ("text_bytes",)

        @classmethod
        def read(cls, path: Path, vertices: int) -> Graph:
            """By `graph.readers`."""
            from grailbench.graph.readers import read_graph

            return read_graph(path, cls.form)

    Ours.name, Ours.__doc__ = name, f"Our reader of the format `{name}`.\n\n{_READS}"
    register(Ours)


for _name in FORMS:
    _ours(_name)


@register
class Pandas(Implementation):
    """`pandas.read_csv`, with its parser in C, on an edge list: the unit in which others are told.

    Two columns of 32-bit integers, after a line of comment.
    """

    name = "pandas"
    form = "edges"
    source = "pandas"
    cost = _COST
    counts = ("text_bytes",)

    @classmethod
    def read(cls, path: Path, vertices: int) -> Graph:
        """Two columns, after a line of comment."""
        import pandas

        found = pandas.read_csv(path, sep=" ", comment="#", header=None, dtype=np.int32)
        return Graph.from_edges(vertices, found[0], found[1])
