"""`gpu`: the thesis's CUDA pipeline, labels and search, as faithful as it can be said.

No CUDA module is imported here but in what `build` calls, so that the registry works without one.
"""

from __future__ import annotations

import numpy as np

from grailbench.graph.csr import Dag
from grailbench.reachability.index import Implementation, Index, Params, Timer, register
from grailbench.reachability.labels import Labelled


class ThesisIndex(Labelled, Index):
    """Labels on both sides, the graph on the device, and what searches there."""

    def __init__(self, dag: Dag, params: Params, built, searcher):
        self.dag, self.labels, self._searcher = dag, built.labels, searcher
        self._counts = built.counts if params.count else None
        self._queries = self._on_gpu = self._positives = 0

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Filter on the CPU, then search what is left on the GPU, a group after the other."""
        from grailbench.reachability.gpu.search import cpu_filter

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
        """What was done so far, exactly, by name (docs/measuring.md); empty unless it was built to count."""
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
        """Bytes of the labels on the host and on the device; the copy of the graph there is not counted."""
        return self.labels.lanes.nbytes + 8 * len(self.labels.pairs) * self.dag.vertices


class _OnGpu(Implementation):
    needs = ("gpu",)
    axes = frozenset({"dim", "order"})
    group: int

    @classmethod
    def require(cls) -> None:
        """Raise MachineLacks without a GPU, its driver or the extra; the simulator will do."""
        from grailbench.device.gateway import require

        require()

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> ThesisIndex:
        """Label on the GPU, pair after pair, and make ready to search."""
        cls.require()
        from grailbench.device.gateway import cuda
        from grailbench.reachability.gpu.pipeline import label
        from grailbench.reachability.gpu.search import Searcher

        built = label(dag, params, timer)
        with timer.phase("allocate", apart=True):
            searcher = Searcher(built.graph.children, built.pairs, built.shape, cls.group)
            cuda.synchronize()
        return ThesisIndex(dag, params, built, searcher)


@register
class Thesis(_OnGpu):
    """Labels by five BFS a pair, searches in groups of 64."""

    name = "gpu"
    source = "Caiazza 2019, algorithms 4-12"
    group = 64


@register
class Thesis32(_OnGpu):
    """As `gpu`, searches in groups of 32: the thesis's alternative (chapter 7)."""

    name = "gpu-32"
    source = "Caiazza 2019, algorithms 4-12, masks of 32 bits"
    group = 32
