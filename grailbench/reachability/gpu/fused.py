"""`gpu-fused`: our own pipeline; labels and hubs in one launch or two, searches that keep the whole chip busy.

No CUDA module is imported here but in what `build` calls, so that the registry works without one.
"""

from __future__ import annotations

import numpy as np

from grailbench.errors import InputError
from grailbench.graph.csr import Dag
from grailbench.graph.leveled import Leveled, by_level
from grailbench.reachability.index import FILTERS, Implementation, Index, Params, Timer, register


class FusedIndex(Index):
    """Graph, labels and hubs on the device, and what searches there."""

    def __init__(self, graph: Leveled, labels, searcher, params: Params, work: dict[str, int]):
        self._graph, self._labels, self._searcher = graph, labels, searcher
        self._work = work if params.count else None
        self._queries = self._positives = 0

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """From host to host: filter, then search what that leaves, then sweep what searches leave."""
        answers = self._searcher.search(sources, targets)
        if self._work is not None:
            self._queries += sources.shape[0]
            self._positives += int(np.count_nonzero(answers))
        return answers

    @property
    def counters(self) -> dict[str, int]:
        """What was done so far, exactly, by name (docs/measuring.md); empty unless it was built to count."""
        if self._work is None:
            return {}
        searcher = self._searcher
        return self._work | {
            "queries": self._queries,
            "positives": self._positives,
            "queries_searched": searcher.opened,
            "queries_searched_again": searcher.unsettled,
            "queries_swept": searcher.swept,
            "groups": searcher.groups,
        }

    @property
    def index_bytes(self) -> int:
        """Bytes of the records and the hubs' words; the graph on the device and rooms to search in are not counted."""
        return self._labels.lanes.nbytes + self._labels.hubs.nbytes

    def check_labels(self, dag: Dag) -> str | None:
        """What is wrong with the labels, or None (see `fused_check.fault`)."""
        from grailbench.reachability.gpu.fused_check import fault

        return fault(self._labels, self._graph)


@register
class Fused(Implementation):
    """Breadth-first labels, level filter, tree positive cut and 64 hubs, all on the device."""

    name = "gpu-fused"
    source = "grailbench (docs/algorithms.md)"
    needs = ("gpu",)
    axes = frozenset({"dim"})
    fixed = {"filters": ",".join(FILTERS)}

    @classmethod
    def require(cls) -> None:
        """Raise MachineLacks without a GPU, its driver or the extra; the simulator will do."""
        from grailbench.device.gateway import require

        require()

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> FusedIndex:
        """Renumber by level on the host, copy to the device, label there.

        Raises MachineLacks without a device or with too little memory, InputError for a DAG of several roots.
        """
        cls.require()
        from grailbench.device import leveled
        from grailbench.device.describe import require_memory
        from grailbench.device.gateway import cuda
        from grailbench.device.timers import Phases
        from grailbench.reachability.gpu import fused_labels
        from grailbench.reachability.gpu.fused_batch import Searcher
        from grailbench.reachability.gpu.fused_filter import Records
        from grailbench.reachability.gpu.fused_search import Adjacency

        _require_one_root(dag)
        what = f"labeling {dag.vertices:,} vertices and {dag.edges:,} edges on the GPU, d = {params.dim},"
        require_memory(fused_labels.device_bytes(dag, params.dim), what)
        with timer.phase("renumber", apart=True):
            graph = by_level(dag)
            parents = graph.parents()
        with timer.phase("transfer", apart=True):
            there = leveled.upload(graph, parents)
            cuda.synchronize()
        with timer.phase("allocate", apart=True):
            labeler = fused_labels.Labeler(graph, there, params.dim, params.seed)
            phases = Phases()
            cuda.synchronize()
        with phases.phase("on_device"):
            labels = labeler.run()
        phases.hand_over(timer.record)
        with timer.phase("allocate", apart=True):
            labeler.release()
            adjacency = Adjacency(there.starts, there.targets, there.parent_starts, there.parents)
            records = Records(
                labels.lanes, np.uint64(labels.width), (0,) * params.dim, labels.hubs.view(np.uint64)
            )
            searcher = Searcher(there.rank, graph.level_starts, adjacency, records)
            cuda.synchronize()
        return FusedIndex(graph, labels, searcher, params, labeler.work)


def _require_one_root(dag: Dag) -> None:
    roots = np.flatnonzero(dag.levels == 0)
    if not np.array_equal(roots, [dag.super_root]):
        found = f"{roots.size} vertices have no parent" if roots.size != 1 else f"the root is vertex {roots[0]}"
        raise InputError(found, remedy="condense() adds the one super-root, as the last vertex")
