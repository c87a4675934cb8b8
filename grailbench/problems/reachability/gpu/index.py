"""The index and the base class that `gpu`, `gpu-32` and `gpu-path` share.

Importing this module imports no CUDA module, so that the registry works without one.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from grailbench.errors import MachineLacks
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer
from grailbench.problems.reachability.labels import Labelled

#: the counters of both pipelines
COUNTS = ("queries", "queries_on_gpu", "positives", "groups", "search_levels", "search_launches", "label_launches",
          "label_generations")  # fmt: skip
MOST_QUERIES = 2**31 - 1  #: of a batch: the places of open queries are int32


class GpuIndex(Labelled, Index):
    """Labels on host and device, the graph on the device, and a searcher."""

    def __init__(self, dag: Dag, params: Params, built, searcher):
        self.dag, self.labels, self._searcher = dag, built.labels, searcher
        self._counts = built.counts if params.count else None
        self._queries = self._on_gpu = self._positives = 0

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Filters on the CPU, then searches the open queries on the GPU, group by group. Raises MachineLacks if there
        are more queries than their places can represent."""
        if sources.shape[0] > MOST_QUERIES:
            remedy = "ask fewer at once with --count"
            raise MachineLacks(f"up to {MOST_QUERIES:,} queries at once, not {sources.shape[0]:,} ({remedy})")
        from grailbench.problems.reachability.gpu.search import cpu_filter

        answers, left = np.empty(sources.shape[0], np.bool_), np.empty(sources.shape[0] + 1, np.int32)
        with timer.phase("cpu_filter"):
            lanes, width, pairs = self.labels
            count = cpu_filter(sources, targets, lanes, width, pairs, answers, left)
            left = left[:count]
        with timer.phase("gpu_search"):
            found, positives = self._searcher.search(sources[left], targets[left])
            answers[left] = found
        self._queries += sources.shape[0]
        self._on_gpu += count
        self._positives += positives
        return answers

    @property
    def counters(self) -> dict[str, int]:
        if self._counts is None:
            return {}
        return self._counts | {
            "queries": self._queries,
            "queries_on_gpu": self._on_gpu,
            "positives": self._positives,
            "groups": self._searcher.groups,
            "search_levels": self._searcher.levels,
            "search_launches": self._searcher.launches,
        }

    @property
    def index_bytes(self) -> int:
        """Bytes of the labels on host and device, without the graph on the device."""
        return self.labels.lanes.nbytes + 8 * len(self.labels.pairs) * self.dag.vertices

    def stored(self) -> dict[str, np.ndarray]:
        """Returns no array: labels are made again on the GPU."""
        return {}


class OnGpu(Implementation):
    """An implementation that labels and searches on a GPU; subclasses define `label` and `searcher`."""

    needs = ("gpu",)
    axes = frozenset({"dim", "order"})
    unfiltered = True

    @classmethod
    def require(cls) -> None:
        from grailbench.cuda.gateway import require

        require()

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> GpuIndex:
        """Labels on the GPU, pair by pair, and allocates the searcher."""
        cls.require()
        from grailbench.cuda.gateway import cuda

        built = cls.label(dag, params, timer)
        with timer.phase("allocate", apart=True):
            searcher = cls.searcher(built)
            cuda.synchronize()
        return GpuIndex(dag, params, built, searcher)

    @classmethod
    @abstractmethod
    def label(cls, dag: Dag, params: Params, timer: Timer):
        """Labels the DAG, and returns a `labeling.Built`."""

    @classmethod
    @abstractmethod
    def searcher(cls, built):
        """Returns a `search.Searcher` of the labelled graph."""
