"""Adapters of PyReachability's methods (C++17, one thread): `peer:pyreachability-NAME`.

PyReachability condenses in its `build`, from its own graph type. Making that graph is a phase apart (`load`), and so is
pairing sources with targets (`arrange`): neither counts in `label` or `query`. Edges of our super-root are left out.
"""

from __future__ import annotations

import inspect

import numpy as np

from grailbench.graph.csr import Dag, Graph
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer, register
from grailbench.problems.reachability.peers.installed import installed

#: every method of the catalog of version 0.2.0: what it does, and its source
METHODS = {
    "3hop": "Chains are highways: u goes to one, along it, and from it to v (Jin et al., SIGMOD 2009).",
    "bfl": "Interval labels and two Bloom filters a vertex; a search where they cannot tell (Su et al., TKDE 2017).",
    "bfsdfs": "No index: one search per query.",
    "chaincover": "The DAG in chains; a vertex keeps the first place it reaches on each (Jagadish, TODS 1990).",
    "dl": "Two-hop labels, distributed vertex by vertex in order of degree (Jin and Wang, PVLDB 2013).",
    "dual": "Intervals of a spanning tree and the closure of the other edges (Wang et al., ICDE 2006).",
    "feline": "Two topological orders as coordinates; a search where both allow (Veloso et al., EDBT 2014).",
    "feline-pk": "FELINE kept up under changes of the graph (Veloso's thesis).",
    "ferrari": "A few exact or approximate intervals a vertex, by budget (Seufert et al., ICDE 2013).",
    "grail": "d random interval labels, positive cut, level filter, search (Yildirim, Chaoji, Zaki, PVLDB 2010).",
    "gripp": "A pre- and post-order tree with an instance an edge, hopped through (Trissl and Leser, SIGMOD 2007).",
    "hl": "Two-hop labels from a hierarchy of backbones (Jin and Wang, PVLDB 2013).",
    "ip": "Independent permutations: least ranks of what is reached, and a search (Wei et al., PVLDB 2014).",
    "optchain": "As chaincover, with the least number of chains (Chen and Chen, ICDE 2008).",
    "oreach": "Supportive vertices and orders answer most at once, else a search (Hanauer et al., SEA 2021).",
    "pathhop": "Spanning trees are highways, as chains are for 3hop (Cai and Poon, CIKM 2010).",
    "pathtree": "The DAG in paths, a tree of the paths, and what that leaves (Jin et al., TODS 2011).",
    "pll": "Two-hop labels by pruned searches from landmarks (Yano et al., CIKM 2013).",
    "preach": "Contraction hierarchies and two-ended pruned search (Merz and Sanders, ESA 2014).",
    "sspi": "Intervals of a spanning tree, and lists of predecessors for the rest (Chen et al., VLDB 2005).",
    "tc": "The whole transitive closure, one bit per pair (Warshall, JACM 1962).",
    "tfl": "Two-hop labels by folding the levels in halves (Cheng et al., SIGMOD 2013).",
    "tol": "Two-hop labels in an order by how many pairs a vertex covers (Zhu et al., SIGMOD 2014).",
    "treecover": "All that a vertex reaches as intervals of a post-order (Agrawal et al., SIGMOD 1989).",
    "twohop": "The nearly least two-hop cover, by greedy set cover (Cohen et al., SIAM J. Comput. 2003).",
}
_STEPS = (
    "The peer's own C++ code makes a graph of the edges, condenses it and builds the index; one call passes all "
    "queries. Its answers are checked like all others; the contents of its index are not."
)


class PeerIndex(Index):
    """A built index of the peer."""

    def __init__(self, method):
        self.method = method

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Answers by one call of the peer's `query_batch`."""
        with timer.phase("arrange", apart=True):
            pairs = np.stack((sources, targets), axis=1)
        return self.method.query_batch(pairs)

    def check_labels(self, dag) -> None:
        """Returns None: the peer's labels are not accessible; its answers are checked."""

    @property
    def index_bytes(self) -> int:
        """Bytes of the index as the peer reports them."""
        return int(self.method.index_size_bytes)


class PyReachability(Implementation):
    """Base class of all methods; `method` is the name in the peer's catalog."""

    method: str
    needs = ("peers",)
    process = "own"  # some methods take minutes on small graphs, and only a process of its own can be stopped in C++

    @classmethod
    def require(cls) -> None:
        """Imports PyReachability. Raises MachineLacks if it is not installed."""
        _peer()

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> PeerIndex:
        """Builds by the peer's own `build`, which condenses, on the edges of the DAG without the super-root."""
        with timer.phase("load", apart=True):
            graph = _peer().Graph.from_edges(*dag.edges_without_super_root(), dag.vertices - 1)
        return cls._index(graph, params)

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> PeerIndex:
        """Builds from the raw edges, which the peer loads and condenses itself."""
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
    return installed("PyReachability", "pyreachability", "pyreachability.dynamic", "pyreachability.static")


for _method, _what in METHODS.items():
    _body = {
        "name": f"peer:pyreachability-{_method}",
        "method": _method,
        "source": "PyReachability 0.2.0",
        "axes": frozenset({"dim"} if _method == "grail" else ()),
        "cost": "one thread; see the paper",
        "__doc__": f"PyReachability's `{_method}`. {_what}\n\n{_STEPS}",
        "__module__": __name__,
    }
    register(type(f"PyReachability_{_method.replace('-', '_')}", (PyReachability,), _body))
