"""What answers pairs of the core where its closure does not fit the budget."""

from __future__ import annotations

import numpy as np

from grailbench.graph.condense import rooted
from grailbench.graph.csr import Dag, transpose
from grailbench.problems.contract import NoTimer
from grailbench.problems.reachability.core.peel import Peeled
from grailbench.problems.reachability.core.rows import graph_of_core
from grailbench.problems.reachability.cpu.grail import GrailIndex, Parallel, Sequential
from grailbench.problems.reachability.index import FILTERS, Params

_DAG = "offsets", "children", "levels", "order"


class Inner:
    """Label pairs, levels, tree intervals and hubs on the core alone, and a search where they leave a pair open.

    Its graph numbers the core by ascending ids of the DAG, since what an edge connects often lies together in a file:
    searches on commits-2m took three times as long in topological order. `number` has the numbers, int32[k].
    """

    def __init__(self, index: GrailIndex, number: np.ndarray):
        self.index, self.dag, self.number = index, index.dag, number

    @classmethod
    def build(cls, dag: Dag, peeled: Peeled, params: Params) -> Inner:
        """Makes the graph of the core, and its index."""
        kind = Parallel if params.workers > 1 else Sequential  # `parallel` has a thread for each label pair
        starts, targets, place = _rows(dag, np.sort(peeled.core))
        return cls(kind.build(rooted(starts, targets), _own(params), NoTimer()), place[peeled.core])

    @classmethod
    def restored(cls, params: Params, arrays: dict[str, np.ndarray]) -> Inner:
        """Returns the index whose arrays these are."""
        dag = Dag(*(arrays[name] for name in _DAG), np.arange(arrays["offsets"].shape[0] - 2, dtype=np.int32))
        return cls(Parallel.restored(dag, _own(params), arrays), arrays["number"])

    def answer(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Returns whether each row reaches its column, bool[q], itself included. int32[q] each: vertices of the core, 0
        to k - 1 in topological order."""
        return self.index.query_batch(self.number[rows], self.number[columns], NoTimer())

    @property
    def nbytes(self) -> int:
        """Bytes of the index, with the edges that it searches."""
        return self.index.index_bytes + self.dag.offsets.nbytes + self.dag.children.nbytes + self.number.nbytes

    def stored(self) -> dict[str, np.ndarray]:
        return {name: getattr(self.dag, name) for name in _DAG} | self.index.stored() | {"number": self.number}


def core_dag(dag: Dag, peeled: Peeled) -> Dag:
    """Returns the graph of the core, with a super-root of its own; vertex i is the i-th of `Peeled.core`."""
    starts, targets, _ = _rows(dag, peeled.core)
    return rooted(*transpose(*transpose(starts, targets)))  # twice, so that rows ascend


def _rows(dag: Dag, core: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the edges among the vertices of the core as a CSR (int64[k + 1], int32[e]) in that order, and the number
    of each vertex of the DAG there (int32[n + 1]), k if it has none. Rows ascend if `core` does."""
    k = core.shape[0]
    place = np.full(dag.vertices, k, np.int32)
    place[core] = np.arange(k, dtype=np.int32)
    starts, targets, _, _ = graph_of_core(dag.offsets, dag.children, core, place, 0)
    return starts, targets, place


def _own(params: Params) -> Params:
    return Params(params.workers, params.seed, params.count, dim=2, filters=FILTERS, order="lexicographic")
