"""PyReachability's methods (C++17 core, single thread) behind our contract: `peer:pyreachability-NAME`.

Its `build` takes a graph of its own, made from edges, and condenses it. Making that graph is a phase apart (`load`),
and so is pairing sources with targets (`arrange`): neither is counted in `label` or `query`. The edges handed over are
those without our super-root, which it has no use for.
"""

from __future__ import annotations

import inspect

import numpy as np

from grailbench.errors import MachineLacks
from grailbench.graph.csr import Dag, Graph
from grailbench.reachability.index import Implementation, Index, Params, Timer, register

#: every method of the catalog of version 0.2.0
METHODS = (
    "3hop",
    "bfl",
    "bfsdfs",
    "chaincover",
    "dl",
    "dual",
    "feline",
    "feline-pk",
    "ferrari",
    "grail",
    "gripp",
    "hl",
    "ip",
    "optchain",
    "oreach",
    "pathhop",
    "pathtree",
    "pll",
    "preach",
    "sspi",
    "tc",
    "tfl",
    "tol",
    "treecover",
    "twohop",
)


class PeerIndex(Index):
    """A built index of the peer."""

    def __init__(self, method):
        self.method = method

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """One call of the peer's `query_batch`."""
        with timer.phase("arrange", apart=True):
            pairs = np.stack((sources, targets), axis=1)
        return self.method.query_batch(pairs)

    def check_labels(self, dag) -> None:
        """What the peer keeps is its own: its answers are checked."""

    @property
    def index_bytes(self) -> int:
        """The bytes that the peer says its index has."""
        return int(self.method.index_size_bytes)


class PyReachability(Implementation):
    """What all methods share; `method` is the name in the peer's catalog."""

    method: str
    needs = ("peers",)
    process = "own"  # some methods take minutes on small graphs, and nothing else stops C++

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> PeerIndex:
        """The peer's own `build`, condensation included, on the edges of the DAG without the super-root."""
        with timer.phase("load", apart=True):
            graph = _peer().Graph.from_edges(*dag.edges_without_super_root(), dag.vertices - 1)
        return cls._index(graph, params)

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> PeerIndex:
        """From the edges as read: the peer loads and condenses them itself."""
        with timer.phase("load"):
            loaded = _peer().Graph.from_edges(graph.sources, graph.targets, graph.vertices)
        with timer.phase("build"):
            return cls._index(loaded, params)

    @classmethod
    def _index(cls, graph, params: Params) -> PeerIndex:
        method = _peer().catalog.get(cls.method)
        offered = inspect.signature(method).parameters
        chosen = {"d": params.dim, "seed": params.seed}
        index = method(**{name: value for name, value in chosen.items() if name in offered})
        index.build(graph)
        return PeerIndex(index)


def _peer():
    try:
        import pyreachability
        import pyreachability.dynamic
        import pyreachability.static
    except ImportError as error:
        raise MachineLacks(f"PyReachability is not installed ({error}): pip install 'grailbench[peers]'") from error
    return pyreachability


for _method in METHODS:
    register(
        type(
            f"PyReachability_{_method.replace('-', '_')}",
            (PyReachability,),
            {
                "name": f"peer:pyreachability-{_method}",
                "method": _method,
                "source": "PyReachability 0.2.0",
                "axes": frozenset({"dim"} if _method == "grail" else ()),
                "__doc__": f"PyReachability's `{_method}`.",
                "__module__": __name__,
            },
        )
    )
