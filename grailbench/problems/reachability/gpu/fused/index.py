"""`gpu-fused`: our own pipeline, with labels and hubs in one launch or two, and searches by all multiprocessors.

Importing this module imports no CUDA module, so that the registry works without one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grailbench.cuda import simulating
from grailbench.errors import InputError
from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.leveled import Leveled, by_level
from grailbench.problems.reachability.index import FILTERS, Implementation, Index, Params, Timer, register

FEWEST = 1 << 17  #: edges from which on the device condenses and renumbers; with fewer, the host is ready before
MOST = 1 << 28  #: vertices that `cuda.edges.walk` can count


class FusedIndex(Index):
    """Graph, labels, hubs and searchers on the devices."""

    def __init__(self, graph: Callable[[], Leveled], edges: int, replicas, params: Params):
        """graph: returns the graph by levels on the host; edges: how many it has."""
        self._graph, self._edges, self._replicas, self._count = graph, edges, replicas, params.count
        self._queries = self._positives = 0

    def query_batch(self, sources: np.ndarray, targets: np.ndarray, timer: Timer) -> np.ndarray:
        """Filters, searches the open queries, then sweeps those that the searches leave open."""
        answers = self._replicas.search(sources, targets, timer)
        if self._count:
            self._queries += sources.shape[0]
            self._positives += int(np.count_nonzero(answers))
        return answers

    def columns(self, queries: int) -> tuple[np.ndarray, np.ndarray] | None:
        return self._replicas.columns(queries)

    def expect(self, queries: int, timer: Timer) -> None:
        """Allocates pinned and device memory for a batch, on each device for its share."""
        self._replicas.expect(queries, timer)

    @property
    def counters(self) -> dict[str, int]:
        if not self._count:
            return {}
        edges, scanned = self._edges, self._replicas.counted("scanned")
        return self._replicas.work | {
            "queries": self._queries,
            "positives": self._positives,
            "queries_open": self._replicas.counted("opened"),
            "queries_searched": self._replicas.counted("searched"),
            "queries_searched_again": self._replicas.counted("searched_again"),
            "queries_swept": self._replicas.counted("swept"),
            "groups": self._replicas.counted("groups"),
            "edges_scanned": scanned,
            # The least traffic: for each edge a child's record for the repair and a parent's word for the hubs; two
            # records per query and one per edge scanned.
            "label_gathers": 2 * edges,
            "label_bytes_streamed": 2 * 8 * edges,
            "label_pass_bytes": 8 * edges,
            "query_gathers": 2 * self._queries + scanned,
            "query_bytes_streamed": 9 * self._queries + 4 * scanned,
            "query_pass_bytes": 9 * self._queries + 4 * scanned,
            "gather_table_bytes": self._replicas.records[0].lanes.nbytes,
        }

    @property
    def index_bytes(self) -> int:
        """Bytes of the records and the hubs' words on all devices, without the graphs and the memory of searches."""
        return sum(each.lanes.nbytes + each.hubs.nbytes for each in self._replicas.records)

    def stored(self) -> dict[str, np.ndarray]:
        """Returns no array: labels and hubs are made again on the GPU."""
        return {}

    def check_labels(self, dag: Dag) -> str | None:
        from grailbench.problems.reachability.gpu.fused.host import label_fault

        return label_fault(*self._replicas.fetch(), len(self._replicas.records[0].pairs), self._graph())


@register
class Fused(Implementation):
    """Ours: breadth-first labels, level filter, tree positive cut and 64 hubs, all on the device.

    In each pair every vertex takes a random parent of the level above; subtrees are sized bottom-up, ranks given
    top-down, and a pass bottom-up over all edges widens the intervals to those of everything reached. The same passes
    make the words of the hubs, in one launch. A batch is filtered by a thread per query; open queries are searched from
    both ends by a warp, then by a block with more memory; the rest is swept, 2,048 queries at a time.
    """

    name = "gpu-fused"
    source = "grailbench (docs/algorithms.md)"
    cost = "labels O(d n + m) work, a few barriers a level; 4 (2 d + 3) bytes a vertex, hubs 16 more"
    counts = ("queries", "positives", "queries_open", "queries_searched", "queries_searched_again", "queries_swept",
              "groups", "edges_scanned", "label_launches", "label_barriers")  # fmt: skip
    needs = ("gpu",)
    axes = frozenset({"dim", "devices"})
    fixed = {"filters": ",".join(FILTERS)}

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> FusedIndex:
        """Has the device renumber by level and label; the host renumbers small graphs and those of several devices.

        Raises MachineLacks for too few devices or too little memory, InputError for a DAG of several roots.
        """
        with timer.phase("allocate", excluded=True):
            cls.require()
        with timer.phase("renumber", excluded=True):
            _require_one_root(dag)
        if _on_the_device(dag, params):
            from grailbench.problems.reachability.gpu.fused import from_edges

            return FusedIndex(*from_edges.built_of_dag(dag, params, timer), params)
        from grailbench.problems.reachability.gpu.fused.replicas import Replicas

        with timer.phase("renumber", excluded=True):
            graph = by_level(dag)
        replicas = Replicas.of_host(graph, params, timer)
        return FusedIndex(lambda: graph, graph.sources.shape[0], replicas, params)

    @classmethod
    def load_ready(cls, params: Params) -> None:
        """Condenses a path, a ring and a deep path on the device, which the simulator need not do."""
        if params.devices == 1 and not simulating():
            cls.require()
            from grailbench.problems.reachability.gpu.fused import from_edges

            from_edges.load(params)

    @classmethod
    def condenses(cls, graph: Graph, params: Params) -> bool:
        return 0 < graph.vertices < MOST and params.devices == 1

    @classmethod
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> FusedIndex:
        """Has the device sort, condense, renumber and label the edges.

        The host numbers and labels deep graphs (`cuda.graphs.Outline.deep`), and numbers small ones (`from_edges`).
        Several devices take the way over the host (`condenses`).
        """
        with timer.phase("allocate", excluded=True):
            cls.require()
        if not cls.condenses(graph, params):
            return super().ready(graph, params, timer)
        from grailbench.problems.reachability.gpu.fused import from_edges

        if graph.edges < FEWEST and not params.count and from_edges.fits_at_once(graph):
            found = from_edges.built_at_once(graph, params, timer)
            if found is not None:
                return FusedIndex(lambda: by_level(condense(graph)), *found, params)
        return FusedIndex(*from_edges.built(graph, params, timer), params)


def _on_the_device(graph: Graph | Dag, params: Params) -> bool:
    """Whether the device renumbers a graph, and condenses it if it is not."""
    least = 2 if isinstance(graph, Dag) else 1  # the walk adds the super-root itself, and begins with another vertex
    return graph.edges >= FEWEST and least <= graph.vertices < MOST and params.devices == 1


def _require_one_root(dag: Dag) -> None:
    roots = np.flatnonzero(dag.levels == 0)
    if not np.array_equal(roots, [dag.super_root]):
        found = f"{roots.size} vertices have no parent" if roots.size != 1 else f"the root is vertex {roots[0]}"
        raise InputError(found, remedy="condense() adds the one super-root, as the last vertex")
