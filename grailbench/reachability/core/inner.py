"""What answers pairs of the core where its closure does not fit the budget."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from grailbench.contract import NoTimer
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.reachability.core.peel import Peeled
from grailbench.reachability.cpu.grail import GrailIndex, Parallel
from grailbench.reachability.index import FILTERS, Params

_DAG = "offsets", "children", "levels", "order"


class Inner(ABC):
    """An index of the core alone. Vertices of the core are numbered 0 to k - 1 in topological order."""

    #: in words, for `info` and the reasons of answers
    words: str

    @abstractmethod
    def answer(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Returns whether each row reaches its column, bool[q], itself included. int32[q] each, in range."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the index, including the edges of the core if it searches them."""

    @abstractmethod
    def fault(self) -> str | None:
        """Returns what is wrong with the index, compared with the edges of the core, or None."""

    @abstractmethod
    def stored(self) -> dict[str, np.ndarray]:
        """Returns the arrays from which the index can be made again."""


class Grail(Inner):
    """Label pairs, levels, tree intervals and hubs on the core, and a search where they leave a pair open."""

    words = "labels, filters and searches on the core"

    def __init__(self, index: GrailIndex):
        self.index, self.dag = index, index.dag

    @classmethod
    def build(cls, dag: Dag, peeled: Peeled, params: Params) -> Grail:
        """Makes the graph of the core, and its index."""
        core = core_dag(dag, peeled)
        return cls(Parallel.build(core, _own(params), NoTimer()))

    @classmethod
    def restored(cls, params: Params, arrays: dict[str, np.ndarray]) -> Grail:
        """Returns the index whose arrays these are."""
        dag = Dag(*(arrays[name] for name in _DAG), np.arange(arrays["offsets"].shape[0] - 2, dtype=np.int32))
        return cls(Parallel.restored(dag, _own(params), arrays))

    def answer(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.index.query_batch(rows, columns, NoTimer())

    @property
    def nbytes(self) -> int:
        return self.index.index_bytes + self.dag.offsets.nbytes + self.dag.children.nbytes

    def fault(self) -> str | None:
        return self.index.check_labels(self.dag)

    def stored(self) -> dict[str, np.ndarray]:
        return {name: getattr(self.dag, name) for name in _DAG} | self.index.stored()


def core_dag(dag: Dag, peeled: Peeled) -> Dag:
    """Returns the graph of the core, with a super-root of its own; vertex i is the i-th of `Peeled.core`."""
    sources, targets = dag.edges_without_super_root()
    places = peeled.position - np.int32(peeled.above)
    inside = (places >= 0) & (places < peeled.core.shape[0])
    kept = inside[sources] & inside[targets]
    return condense(Graph.from_edges(int(peeled.core.shape[0]), places[sources[kept]], places[targets[kept]]))


def _own(params: Params) -> Params:
    return Params(params.workers, params.seed, dim=2, filters=FILTERS)
