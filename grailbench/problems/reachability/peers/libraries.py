"""Adapters of libraries: `peer:networkx`, `peer:igraph`, `peer:rustworkx`, `peer:scipy`, `peer:networkit`, and the
methods of PyReachability (C++17, one thread), `peer:pyreachability-NAME`.

Each is asked as its users ask it. The graph libraries have no index and take any graph, so nothing is condensed. Making
a library's graph is an excluded phase (`load`), and so is pairing sources with targets (`arrange`).
"""

from __future__ import annotations

import inspect
import sys
import tomllib
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from grailbench.errors import MachineLacks, install
from grailbench.graph.csr import Dag, Graph
from grailbench.problems.reachability.index import Implementation, Index, NoTimer, Params, Timer, register
from grailbench.problems.reachability.inserted import parted


def installed(project: str, *modules: str) -> ModuleType:
    """Imports the modules of a project and returns the first. Raises MachineLacks, naming the extra, without them."""
    try:
        return [import_module(name) for name in modules][0]
    except ImportError as error:
        raise MachineLacks(f"{project} is not installed ({error}): {install('peers')}") from error


class Searched(Index):
    """A library's graph, which is asked for every batch, once for each distinct source."""

    index_bytes = 0

    def __init__(self, library: type[Library], graph: Any, vertices: int):
        self.library, self.graph, self.vertices = library, graph, vertices

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Sorts the pairs by source and asks for each source, or one pair at a time where the library does."""
        answers = np.empty(sources.shape[0], np.bool_)
        if self.library.sample is not None:
            order = np.arange(sources.shape[0])
            ends = order[1:]
        else:
            order = np.argsort(sources, kind="stable")
            ends = np.flatnonzero(np.diff(sources[order])) + 1
        for pairs in np.split(order, ends) if order.size else ():
            answers[pairs] = self.library.reached(self, int(sources[pairs[0]]), targets[pairs])
        return answers


class Library(Implementation):
    """Base class of the adapters. `project` and `modules` say what to import, `builds` whether it has an index."""

    needs = ("peers",)
    cost = "nothing to build but the library's graph; a search O(n + m) at most; one thread"
    process = "own"  # some need minutes on large graphs, and only a process of its own can be stopped in their code
    project: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    builds: ClassVar[bool] = False

    @classmethod
    def require(cls) -> None:
        """Imports the library. Raises MachineLacks if it is not installed."""
        installed(cls.project, *cls.modules)

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Index:
        """Makes the library's graph (phase `load`) of the DAG without the super-root, and the index."""
        cls.require()
        with timer.phase("load", excluded=True):
            graph = cls.graph(*dag.edges_without_super_root(), dag.vertices - 1)
        return cls.index_of(graph, dag.vertices - 1, params)

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> Index:
        """Makes the library's graph of the raw edges, and the index."""
        cls.require()
        with timer.phase("load"):
            loaded = cls.graph(graph.sources, graph.targets, graph.vertices)
        with timer.phase("build") if cls.builds else nullcontext():
            return cls.index_of(loaded, graph.vertices, params)

    @classmethod
    def index_of(cls, graph: Any, vertices: int, params: Params) -> Index:
        """Returns the index of a library's graph: there is none, unless the library has one."""
        return Searched(cls, graph, vertices)

    @classmethod
    @abstractmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        """Returns the library's graph. sources, targets: int32[m]."""

    @classmethod
    @abstractmethod
    def reached(cls, index: Searched, source: int, targets: np.ndarray) -> Any:
        """Returns whether the source reaches each target, a sequence of k truth values. targets: int32[k]."""


@register
class NetworkX(Library):
    """NetworkX: `has_path`, one pair at a time; no index.

    It searches from both ends at once, in Python. Only the first 1,000 pairs of a query set are asked: compare it by
    the time of a pair.
    """

    name = "peer:networkx"
    source = "NetworkX, has_path"
    project, modules = "NetworkX", ("networkx",)
    sample = 1_000

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        from networkx import DiGraph

        made = DiGraph()
        made.add_nodes_from(range(vertices))
        made.add_edges_from(zip(sources.tolist(), targets.tolist(), strict=True))
        return made

    @classmethod
    def reached(cls, index: Searched, source: int, targets: np.ndarray) -> Any:
        from networkx import has_path

        return has_path(index.graph, source, int(targets[0]), backend="networkx")


@register
class Igraph(Library):
    """igraph (C): `Graph.subcomponent`, once for each distinct source; no index.

    A breadth-first search that returns all vertices it reaches, in which the source's targets are looked up.
    """

    name = "peer:igraph"
    source = "python-igraph, Graph.subcomponent"
    project, modules = "igraph", ("igraph",)

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        from igraph import Graph as Igraph

        return Igraph(n=vertices, edges=np.stack((sources, targets), axis=1), directed=True)

    @classmethod
    def reached(cls, index: Searched, source: int, targets: np.ndarray) -> Any:
        found = set(index.graph.subcomponent(source, mode="out"))
        return [target in found for target in targets.tolist()]


@register
class Rustworkx(Library):
    """rustworkx (Rust): `descendants`, once for each distinct source; no index.

    Its `has_path` looks for a shortest path and takes longer for a pair than `descendants` for a source.
    """

    name = "peer:rustworkx"
    source = "rustworkx, descendants"
    project, modules = "rustworkx", ("rustworkx",)

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        from rustworkx import PyDiGraph

        made = PyDiGraph()
        made.add_nodes_from(range(vertices))
        made.extend_from_edge_list(list(zip(sources.tolist(), targets.tolist(), strict=True)))
        return made

    @classmethod
    def reached(cls, index: Searched, source: int, targets: np.ndarray) -> Any:
        from rustworkx import descendants

        found = descendants(index.graph, source)  # without the source
        return [target == source or target in found for target in targets.tolist()]


@register
class Scipy(Library):
    """SciPy (C): `sparse.csgraph.breadth_first_order`, once for each distinct source; no index.

    Each call prepares arrays of n entries, and the source's targets are looked up in one more.
    """

    name = "peer:scipy"
    needs = ()
    source = "SciPy, sparse.csgraph.breadth_first_order"
    project, modules = "SciPy", ("scipy.sparse.csgraph",)

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        from scipy.sparse import csr_array

        # float64 is what csgraph takes without a copy
        return csr_array((np.ones(sources.shape[0]), (sources, targets)), shape=(vertices, vertices))

    @classmethod
    def reached(cls, index: Searched, source: int, targets: np.ndarray) -> Any:
        from scipy.sparse.csgraph import breadth_first_order

        found = np.zeros(index.vertices, np.bool_)
        found[breadth_first_order(index.graph, source, directed=True, return_predecessors=False)] = True
        return found[targets]


@register
class NetworKit(Library):
    """NetworKit (C++): `distance.BFS`, once for each distinct source; no index.

    Its result is the distance of every vertex, so a search takes time O(n) however little the source reaches.
    """

    name = "peer:networkit"
    source = "NetworKit, distance.BFS"
    project, modules = "NetworKit", ("networkit",)

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        from networkit import GraphFromCoo

        ends = sources.astype(np.uint64), targets.astype(np.uint64)
        return GraphFromCoo(ends, n=vertices, directed=True)

    @classmethod
    def reached(cls, index: Searched, source: int, targets: np.ndarray) -> Any:
        from networkit.distance import BFS

        search = BFS(index.graph, source, storePaths=False)
        search.run()
        return np.asarray(search.getDistances(asarray=True))[targets] < sys.float_info.max


METHODS = tomllib.loads(Path(__file__).with_name("methods.toml").read_text(encoding="utf-8"))
_STEPS = (
    "The peer's own C++ code makes a graph of the edges, condenses it and builds the index; one call passes all "
    "queries. Its answers are checked like all others; the contents of its index are not."
)


class PeerIndex(Index):
    """A built index of PyReachability."""

    def __init__(self, method):
        self.method = method

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answers by one call of the peer's `query_batch`."""
        with timer.phase("arrange", excluded=True):
            pairs = np.stack((sources, targets), axis=1)
        return self.method.query_batch(pairs)

    def single(self) -> Callable[[int, int], bool]:
        return self.method.query

    @property
    def index_bytes(self) -> int:
        return int(self.method.index_size_bytes)


class PyReachability(Library):
    """Base class of all methods; `method` is the name in the peer's catalog. It condenses graphs itself."""

    method: str
    builds = True
    project, modules = "PyReachability", ("pyreachability", "pyreachability.dynamic", "pyreachability.static")

    @classmethod
    def graph(cls, sources: np.ndarray, targets: np.ndarray, vertices: int) -> Any:
        return _peer().Graph.from_edges(sources, targets, vertices)

    @classmethod
    def index_of(cls, graph: Any, vertices: int, params: Params) -> PeerIndex:
        """Builds by the peer's own `build`, which condenses."""
        method = _peer().catalog.get(cls.method)
        offered = inspect.signature(method).parameters
        chosen = {"d": params.dim, "seed": params.seed}
        index = method(**{name: value for name, value in chosen.items() if name in offered})
        index.build(graph)
        return PeerIndex(index)


class FelinePK(PyReachability):
    """Base class of the method that takes new edges: one by one, each on its own."""

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Index:
        """Builds as the others; edges to be inserted are left out (phase `base`, excluded), and inserted then."""
        if not params.inserted:
            return super().build(dag, params, timer)
        with timer.phase("base", excluded=True):
            old, sources, targets = parted(dag, params.inserted, params.seed)
            index = super().build(old, params, NoTimer())
            edges = list(zip(sources.tolist(), targets.tolist(), strict=True))
        index.method.insert_edges(edges)
        return index


def _peer():
    return installed(PyReachability.project, *PyReachability.modules)


for _method, _what in METHODS.items():
    _body = {
        "name": f"peer:pyreachability-{_method}",
        "method": _method,
        "source": "PyReachability 0.2.0",
        "axes": frozenset({"grail": ["dim"], "feline-pk": ["inserted"]}.get(_method, ())),
        "cost": "one thread; see the paper",
        "__doc__": f"PyReachability's `{_method}`. {_what}\n\n{_STEPS}",
        "__module__": __name__,
    }
    _base = FelinePK if _method == "feline-pk" else PyReachability
    register(type(f"PyReachability_{_method.replace('-', '_')}", (_base,), _body))
