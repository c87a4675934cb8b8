"""Indexes of parts of one graph by the kinds of its edges: `grailbench.build` with `by`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from grailbench.api.graph import Graph
from grailbench.api.index import Index
from grailbench.errors import InputError
from grailbench.graph.arguments import id_columns, shown
from grailbench.util.words import did_you_mean


class KindIndex:
    """Indexes of parts of one graph, each of the edges of some kinds; `grailbench.build` with `by` makes one.

    An answer is the set of the parts in which there is a path. With by="kind" each part is one kind: its name is in the
    answer if there is a path of edges of this kind alone. A path on which kinds alternate is in a part that has all of
    them, as `by={"any": graph.kinds}`. Every vertex reaches itself in every part.

    `index["runtime"]` is the `Index` of a part, for sets, paths, explanations and `save`.

    >>> sources, targets = ["app", "app", "lib", "lib"], ["lib", "pytest", "zlib", "cc"]
    >>> graph = gb.Graph.from_edges(sources, targets, kinds=["runtime", "dev", "runtime", "dev"])
    >>> kinds = gb.build(graph, by="kind")
    >>> kinds.reaches("app", "zlib"), kinds.reaches("app", "pytest"), kinds.reaches("app", "cc")
    ({'runtime'}, {'dev'}, set())
    >>> gb.build(graph, by={"installed": "runtime", "built": ["runtime", "dev"]}).reaches("app", "cc")
    {'built'}
    >>> kinds["runtime"].descendants("app").tolist()
    ['lib', 'zlib']

    graph  the graph of all edges
    """

    def __init__(self, graph: Graph, indexes: dict[str, Index]):
        self.graph, self._indexes = graph, indexes

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the parts, in the order of the kinds or of the dictionary that was given."""
        return tuple(self._indexes)

    @property
    def nbytes(self) -> int:
        """Bytes of all indexes, without those of their graphs."""
        return sum(index.nbytes for index in self._indexes.values())

    def __getitem__(self, kind: str) -> Index:
        if isinstance(kind, str) and kind in self._indexes:
            return self._indexes[kind]
        remedy = did_you_mean(kind, self.kinds, show=repr) if isinstance(kind, str) else None
        raise InputError(f"{shown(kind)} is no part of this index", remedy=remedy)

    def reaches(self, source: Hashable, target: Hashable) -> set[str]:
        """The parts in which there is a path from `source` to `target`.

        >>> kinds.reaches("app", "lib")
        {'runtime'}
        """
        u, v = self.graph.vertex(source), self.graph.vertex(target)
        return {kind for kind, index in self._indexes.items() if index.reaches_vertices(u, v)}

    def reaches_many(self, sources: Iterable[Any], targets: Iterable[Any]) -> dict[str, np.ndarray]:
        """By the name of each part whether each source reaches its target there, bool[k], for two columns of k ids, as
        `Index.reaches_many` takes them.

        >>> kinds.reaches_many(["app", "lib"], ["zlib", "cc"])
        {'runtime': array([ True, False]), 'dev': array([False,  True])}
        """
        us, vs = (self.graph.vertices_of(column) for column in id_columns(sources, targets))
        return {kind: index.reaches_many_vertices(us, vs) for kind, index in self._indexes.items()}

    def __repr__(self) -> str:
        return f"<grailbench.KindIndex: {self.nbytes:,} bytes, of {', '.join(map(repr, self.kinds))}>"


def built(graph: Any, by: Any, build: Callable[[Graph], Index]) -> KindIndex:
    """Builds an index of each part; `by` is 'kind', or kinds by the name of their part. Raises InputError for anything
    else, for a kind that no edge has, and if edges have no kinds."""
    if not isinstance(graph, Graph):
        raise InputError(f"{shown(graph)} is no Graph, whose edges have kinds")
    parts = dict(zip(graph.kinds, graph.kinds, strict=True)) if isinstance(by, str) and by == "kind" else by
    if not isinstance(parts, Mapping) or not all(isinstance(name, str) for name in parts):
        raise InputError(f"by {shown(by)}: 'kind' is expected, or a dictionary of names and their kinds")
    if not parts:
        graph.only(())  # raises if edges have no kinds
        raise InputError("by {}: no part is named", remedy="{'installed': ['runtime', 'build']}")
    return KindIndex(graph, {name: build(graph.only(kind=kinds)) for name, kinds in parts.items()})
