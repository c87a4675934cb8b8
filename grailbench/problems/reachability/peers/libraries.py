"""Adapters of graph libraries: `peer:networkx`, `peer:igraph`, `peer:rustworkx`, `peer:scipy`, `peer:networkit`.

None has an index of reachability, so each is asked as its users ask it: networkx one pair at a time, and of a batch
only the first `sample` pairs; the others for all that a source reaches, once for each distinct source of the batch.
They take any graph, so nothing is condensed. Making the library's graph is a phase apart (`load`), which `ready`
counts; there is nothing else to build.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from grailbench.graph.csr import Dag, Graph
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer, register
from grailbench.problems.reachability.peers.installed import installed


class Searched(Index):
    """A library's graph, which is searched for every batch: `index_bytes` is 0."""

    def __init__(self, graph: Any, vertices: int):
        self.graph, self.vertices = graph, vertices

    def check_labels(self, dag: Dag) -> None:
        """Returns None: there are no labels."""

    @property
    def index_bytes(self) -> int:
        return 0


class BySource(Searched):
    """A graph that is asked for all that a source reaches."""

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Sorts the pairs by source and asks once for each distinct source."""
        answers = np.empty(sources.shape[0], np.bool_)
        order = np.argsort(sources, kind="stable")
        ends = np.flatnonzero(np.diff(sources[order])) + 1
        for pairs in np.split(order, ends) if order.size else ():
            answers[pairs] = self.reached(int(sources[pairs[0]]), targets[pairs])
        return answers

    @abstractmethod
    def reached(self, source: int, targets: np.ndarray) -> Any:
        """Returns whether the source reaches each target, a sequence of k truth values. targets: int32[k]."""


class Library(Implementation):
    """Base class of the adapters. `project` and `modules` say what to import, `index` searches the library's graph."""

    needs = ("peers",)
    cost = "nothing to build but the library's graph; a search O(n + m) at most; one thread"
    process = "own"  # some need minutes on large graphs, and only a process of its own can be stopped in their code
    project: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    index: ClassVar[type[Searched]]

    @classmethod
    def require(cls) -> None:
        """Imports the library. Raises MachineLacks if it is not installed."""
        installed(cls.project, *cls.modules)

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Searched:
        """Makes the library's graph (phase `load`) of the DAG without the super-root."""
        cls.require()
        with timer.phase("load", apart=True):
            return cls._loaded(*dag.edges_without_super_root(), dag.vertices - 1)

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> Searched:
        """Makes the library's graph of the raw edges."""
        cls.require()
        with timer.phase("load"):
            return cls._loaded(graph.sources, graph.targets, graph.vertices)

    @classmethod
    def _loaded(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Searched:
        return cls.index(cls.graph(sources, targets, vertices), vertices)

    @classmethod
    @abstractmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        """Returns the library's graph. sources, targets: int32[m]."""


class _HasPath(Searched):
    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        from networkx import has_path

        graph, pairs = self.graph, zip(sources.tolist(), targets.tolist(), strict=True)
        return np.fromiter((has_path(graph, u, v, backend="networkx") for u, v in pairs), np.bool_, sources.shape[0])


@register
class NetworkX(Library):
    """NetworkX: `has_path`, one pair at a time; no index.

    It searches from both ends at once, in Python, each time anew. So only the first 1,000 pairs of a query set are
    asked, checked and timed: compare it by the time of a pair.
    """

    name = "peer:networkx"
    source = "NetworkX, has_path"
    project, modules = "NetworkX", ("networkx",)
    index = _HasPath
    sample = 1_000

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        """Returns a DiGraph."""
        from networkx import DiGraph

        made = DiGraph()
        made.add_nodes_from(range(vertices))
        made.add_edges_from(zip(sources.tolist(), targets.tolist(), strict=True))
        return made


class _Subcomponent(BySource):
    def reached(self, source: int, targets: np.ndarray) -> Any:
        found = set(self.graph.subcomponent(source, mode="out"))
        return [target in found for target in targets.tolist()]


@register
class Igraph(Library):
    """igraph (C): `Graph.subcomponent`, once for each distinct source; no index.

    It is a breadth-first search along the edges that returns all vertices it reaches, in which the source's targets are
    then looked up.
    """

    name = "peer:igraph"
    source = "python-igraph, Graph.subcomponent"
    project, modules = "igraph", ("igraph",)
    index = _Subcomponent

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        """Returns a directed Graph."""
        from igraph import Graph as Igraph

        return Igraph(n=vertices, edges=np.stack((sources, targets), axis=1), directed=True)


class _Descendants(BySource):
    def reached(self, source: int, targets: np.ndarray) -> Any:
        from rustworkx import descendants

        found = descendants(self.graph, source)  # without the source
        return [target == source or target in found for target in targets.tolist()]


@register
class Rustworkx(Library):
    """rustworkx (Rust): `descendants`, once for each distinct source; no index.

    Its `has_path` looks for a shortest path and takes longer for a pair than `descendants` for a source.
    """

    name = "peer:rustworkx"
    source = "rustworkx, descendants"
    project, modules = "rustworkx", ("rustworkx",)
    index = _Descendants

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        """Returns a PyDiGraph."""
        from rustworkx import PyDiGraph

        made = PyDiGraph()
        made.add_nodes_from(range(vertices))
        made.extend_from_edge_list(list(zip(sources.tolist(), targets.tolist(), strict=True)))
        return made


class _BreadthFirstOrder(BySource):
    def __init__(self, graph: Any, vertices: int):
        super().__init__(graph, vertices)
        self.seen = np.full(vertices, -1, np.int64)  # the source that reached a vertex last

    def reached(self, source: int, targets: np.ndarray) -> Any:
        from scipy.sparse.csgraph import breadth_first_order

        self.seen[breadth_first_order(self.graph, source, directed=True, return_predecessors=False)] = source
        return self.seen[targets] == source


@register
class Scipy(Library):
    """SciPy (C): `sparse.csgraph.breadth_first_order`, once for each distinct source; no index.

    Each call prepares arrays of n entries, however little the source reaches. The vertices that it returns are stamped
    with the source, and the source's targets looked up among the stamps.
    """

    name = "peer:scipy"
    needs = ()
    source = "SciPy, sparse.csgraph.breadth_first_order"
    project, modules = "SciPy", ("scipy.sparse.csgraph",)
    index = _BreadthFirstOrder

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        """Returns a csr_array of float64, which csgraph takes without a copy."""
        from scipy.sparse import csr_array

        return csr_array((np.ones(sources.shape[0]), (sources, targets)), shape=(vertices, vertices))


class _Distances(BySource):
    def reached(self, source: int, targets: np.ndarray) -> Any:
        from networkit.distance import BFS

        search = BFS(self.graph, source, storePaths=False)
        search.run()
        return np.asarray(search.getDistances(asarray=True))[targets] < sys.float_info.max


@register
class NetworKit(Library):
    """NetworKit (C++): `distance.BFS`, once for each distinct source; no index.

    Its result is the distance of every vertex, the largest number for those that are not reached, so a search takes
    time O(n) however little the source reaches.
    """

    name = "peer:networkit"
    source = "NetworKit, distance.BFS"
    project, modules = "NetworKit", ("networkit",)
    index = _Distances

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        """Returns a directed Graph."""
        from networkit import GraphFromCoo

        ends = sources.astype(np.uint64), targets.astype(np.uint64)
        return GraphFromCoo(ends, n=vertices, directed=True)
