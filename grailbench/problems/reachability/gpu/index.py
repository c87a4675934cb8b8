"""`gpu`, `gpu-32` and `gpu-unfiltered`, the thesis's CUDA pipeline, and `gpu-path`, that of Computation 2020.

Importing this module imports no CUDA module, so that the registry works without one.
"""

import numpy as np

from grailbench.errors import MachineLacks
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.index import Implementation, Index, Params, Timer, register
from grailbench.problems.reachability.labels import fault

#: the counters of both pipelines
COUNTS = ("queries", "queries_on_gpu", "positives", "groups", "search_levels", "search_launches", "label_launches",
          "label_generations")  # fmt: skip
MOST_QUERIES = 2**31 - 1  #: of a batch: the places of open queries are int32


class GpuIndex(Index):
    """Labels on host and device, the graph on the device, and a searcher."""

    rebuilt = True

    def __init__(self, dag: Dag, params: Params, built, searcher, compare: bool):
        """compare: whether the labels of each query are compared on the CPU before the GPU searches."""
        self.dag, self.labels, self._searcher, self._compare = dag, built.labels, searcher, compare
        self._trees = built.trees
        self._counts = built.counts if params.count else None
        self._queries = self._on_gpu = self._positives = 0

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Filters on the CPU, if the index does, then searches the open queries on the GPU, group by group. Raises
        MachineLacks if there are more queries than their places can represent."""
        if sources.shape[0] > MOST_QUERIES:
            remedy = "ask fewer at once with --count"
            raise MachineLacks(f"up to {MOST_QUERIES:,} queries at once, not {sources.shape[0]:,} ({remedy})")
        from grailbench.problems.reachability.gpu.search import cpu_filter

        with timer.phase("cpu_filter"):
            if self._compare:
                answers, left = np.empty(sources.shape[0], np.bool_), np.empty(sources.shape[0] + 1, np.int32)
                left = left[: cpu_filter(sources, targets, *self.labels, answers, left)]
            else:
                answers = sources == targets
                left = np.flatnonzero(~answers)
        with timer.phase("gpu_search"):
            found, positives = self._searcher.search(sources[left], targets[left])
            answers[left] = found
        self._queries += sources.shape[0]
        self._on_gpu += left.shape[0]
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

    def check_labels(self, dag: Dag) -> str | None:
        return fault(self.labels, dag.offsets, dag.children, self._trees)


class Pipeline(Implementation):
    """An implementation that labels and searches on a GPU.

    work      name of the `pipeline.Work` that labels
    searcher  name of the `search.Searcher` that searches groups of `group` queries
    compare   whether the labels of each query are compared on the CPU before the GPU searches
    """

    needs = ("gpu",)
    axes = frozenset({"dim", "order"})
    unfiltered = True
    work, searcher, group, compare = "ThesisWork", "Searcher", 64, True
    parts = 6  # the five steps of a pair, and the search
    cost = "labels 5 passes over the edges per pair, 1 launch or more per level; a search takes all levels of its group"
    counts = (*COUNTS, "saturated_pairs", "settled_comparisons")

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> GpuIndex:
        """Labels on the GPU, pair by pair, and allocates the searcher."""
        cls.require()
        from grailbench.cuda.gateway import cuda
        from grailbench.problems.reachability.gpu import pipeline, search

        work = "OneTreeWork" if "trees" in cls.axes and params.trees == "one" else cls.work
        budget = params.memory if "memory" in cls.axes else 0
        built = pipeline.label(getattr(pipeline, work), dag, params, timer, budget=budget)
        with timer.phase("allocate", excluded=True):
            searcher = getattr(search, cls.searcher)(built.graph.children, built.pairs, built.shape, cls.group)
            cuda.synchronize()
        return GpuIndex(dag, params, built, searcher, cls.compare)

    @classmethod
    def load_part(cls, part: int, params: Params) -> None:
        """Runs one step on a small graph."""
        cls.require()
        from grailbench.problems.reachability.gpu import pipeline

        pipeline.steps(getattr(pipeline, cls.work), params.dim, cls.group)[part]()


@register
class Thesis(Pipeline):
    """The thesis's pipeline: labels by five breadth-first passes a pair, searches in groups of 64.

    The labels are those of `sequential`. Bottom-up, every vertex counts the paths below it; top-down, the cheapest path
    by these counts gives its DFS parent; bottom-up the subtrees of that tree are sized, top-down come post-order ranks,
    and bottom-up the least rank that each reaches. Counts stop at 2^64 - 1; equal ones there are decided by root paths.
    Queries that a comparison on the host does not decide are searched 64 at a time, one bit each. A vertex with less
    than 32 neighbours is one thread's, with more than 256 a block's, any other a warp's; in the simulator with less
    than 3 and more than 6, so that small graphs have all three.
    """

    name = "gpu"
    source = "Caiazza 2019, algorithms 4-12; labels after Naumov et al. 2017, queues as Quer 2020 (ICSOFT)"


@register
class Thesis32(Pipeline):
    """As `gpu`, with searches in groups of 32: the thesis's alternative (chapter 7).

    Labels are made as in `gpu`. Half as many queries share a mask of bits, so there are twice as many groups.
    """

    name = "gpu-32"
    source = "Caiazza 2019, algorithms 4-12, masks of 32 bits"
    group = 32


@register
class ThesisUnfiltered(Pipeline):
    """As `gpu`, but the GPU searches every query: what the comparison on the host saves (section 5.2).

    Labels are made as in `gpu`. The host answers only the queries of a vertex with itself.
    """

    name = "gpu-unfiltered"
    source = "Caiazza 2019, algorithms 4-12, without the comparison on the host"
    compare = False


@register
class Path(Pipeline):
    """The pipeline of Computation 2020: labels by a path-based tree and four passes a pair, searches in groups of 64.

    The labels are those of `sequential`. Top-down, each vertex takes as DFS parent the one whose path from the root
    comes first, compared by jump pointers; bottom-up come sizes of subtrees, top-down ranks, bottom-up the least rank
    that each reaches. Frontiers of the first pair serve the others. With `trees` = 'one' later pairs have the tree of
    the first, with siblings in other orders, and the ends of their intervals are the greatest ranks reached. Queries
    that a comparison on the host does not decide are searched 64 at a time; a query visits a vertex once. Where
    `memory`, in bytes of the device, is too little for all pairs, finished ones wait on the host.
    """

    name = "gpu-path"
    axes = Pipeline.axes | {"trees", "memory"}
    source = "Quer and Calabrese 2020, algorithms 2-7, after Naumov et al. 2017"
    cost = "labels 4 passes over the edges a pair, a comparison of paths O(log depth); 16 bytes a vertex for the paths"
    counts = COUNTS
    work, searcher, parts = "PathWork", "PathSearcher", 5
