"""A NetworkX graph as arrays, with what is computed from them once: generations, components, the index."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from grailbench.api.nx.walks import breadth_first, generations, strong_components
from grailbench.errors import InputError
from grailbench.graph import csr
from grailbench.graph.csr import VERTEX
from grailbench.graph.ids import Counted
from grailbench.graph.rows import transpose
from grailbench.util.guard import interruptible_but

if TYPE_CHECKING:
    from grailbench.api import Index

_STAMP = "grailbench"  #: key in `G.__networkx_cache__`, which NetworkX empties when a method changes the graph


@interruptible_but("is_directed", "is_multigraph", "check", "edges")
class Converted:
    """A NetworkX graph of any class, as NetworkX's dispatching passes it to this backend.

    source    the NetworkX graph itself: attributes are read from it when they are asked for, so they are never old
    nodes     its nodes in its order; vertex v is `nodes[v]`
    vertex_of  vertex by node
    offsets   int64[n + 1]   CSR of neighbours (of an undirected graph: both ways); parallel edges are one
    targets   int32[m]

    Every answer is refused with InputError once `source` was changed, see `check`. Queries are safe from many threads.
    """

    __networkx_backend__ = "grailbench"

    def __init__(self, source: Any):
        self.source = source
        rows = source._adj
        self.nodes = list(rows)
        self.vertex_of = {node: vertex for vertex, node in enumerate(self.nodes)}
        neighbours = _neighbours(rows)
        self.offsets = np.zeros(len(self.nodes) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, neighbours), np.int64, len(self.nodes)), out=self.offsets[1:])
        found = map(self.vertex_of.__getitem__, chain.from_iterable(neighbours))
        self.targets = np.fromiter(found, VERTEX, int(self.offsets[-1]))
        self._rows = rows if type(rows) is dict else None  # the rows of a view are counted one by one
        # A view has the cache of its own, which a change of the graph that it shows does not empty.
        while hasattr(source, "_graph"):
            source = source._graph
        self._origin = source
        cache = getattr(source, "__networkx_cache__", None)
        self._stamp = None if cache is None else cache.setdefault(_STAMP, object())
        self._lock = Lock()
        self._index: Index | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled or copied with the NetworkX graph: all but the lock and the index."""
        return {name: value for name, value in vars(self).items() if name not in ("_lock", "_index")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock(), _index=None)

    def is_directed(self) -> bool:
        """Whether the NetworkX graph is directed; NetworkX asks this before it calls the backend."""
        return bool(self.source.is_directed())

    def is_multigraph(self) -> bool:
        """Whether the NetworkX graph may have parallel edges; NetworkX asks this too."""
        return bool(self.source.is_multigraph())

    @property
    def changed(self) -> bool:
        """Whether a method of the NetworkX graph changed it since it was converted, or its number of nodes differs."""
        if self._stamp is not None:
            cache = getattr(self._origin, "__networkx_cache__", None)
            if cache is None or cache.get(_STAMP) is not self._stamp:
                return True
        return self._rows is not None and len(self._rows) != len(self.nodes)

    def check(self, edges: bool = False) -> None:
        """Raises InputError if the NetworkX graph was changed since it was converted.

        `edges` counts the edges too, which sees most changes that no method made, but takes time for every node.
        """
        if self.changed or (edges and sum(map(len, _neighbours(self.source._adj))) != self.targets.size):
            raise InputError(
                "the NetworkX graph was changed after grailbench had converted it",
                remedy="G.__networkx_cache__.clear() has the next call convert it again; methods of G do so themselves",
            )

    @cached_property
    def backward(self) -> tuple[np.ndarray, np.ndarray]:
        """The CSR of predecessors: int64[n + 1], int32[m]."""
        rows: tuple[np.ndarray, np.ndarray] = transpose(self.offsets, self.targets)
        return rows

    @cached_property
    def generations(self) -> tuple[np.ndarray, np.ndarray]:
        """See `walks.generations`."""
        found: tuple[np.ndarray, np.ndarray] = generations(self.offsets, self.targets)
        return found

    @property
    def acyclic(self) -> bool:
        """Whether no vertex reaches itself by an edge."""
        return self.generations[0].size == len(self.nodes)

    @cached_property
    def components(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `walks.strong_components`."""
        found: tuple[np.ndarray, np.ndarray, np.ndarray] = strong_components(self.offsets, self.targets)
        return found

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Sources and targets, each int32[m], in the order of `G.edges` of a directed graph."""
        sources = np.repeat(np.arange(len(self.nodes), dtype=VERTEX), np.diff(self.offsets))
        return sources, self.targets

    @property
    def index(self) -> Index:
        """The index of the vertices, built at the first access; other threads wait for it."""
        if self._index is None:
            from grailbench.api import Graph, build  # here, because other answers need no index

            with self._lock:
                if self._index is None:
                    raw = csr.Graph(len(self.nodes), *self.edges())
                    self._index = build(Graph(raw, Counted(raw.vertices)))
        return self._index


def _neighbours(rows: Mapping[Any, Mapping[Any, Any]]) -> list[Collection[Any]]:
    """The neighbours of each node. The length of a row of a view of a multigraph counts nodes to which all edges are
    hidden, so that rows of views are counted as they are iterated over."""
    return [row if type(row) is dict else list(row) for row in rows.values()]


class Search:
    """Breadth-first searches of one thread, which share their memory."""

    def __init__(self, offsets: np.ndarray, targets: np.ndarray):
        self.rows = offsets, targets
        n = offsets.size - 1
        self.marks, self.mark = np.zeros(n, np.int32), 0
        self.found, self.levels = np.empty(n, VERTEX), np.empty(n, np.int32)

    def reach(self, source: int, deepest: int, again: bool = False) -> np.ndarray:
        """The vertices that are found, of the levels that `levels` begins with; see `walks.breadth_first`."""
        self.mark += 1
        offsets, targets = self.rows
        marks, mark, found, levels = self.marks, self.mark, self.found, self.levels
        return found[: breadth_first(offsets, targets, source, deepest, again, marks, mark, found, levels)]
