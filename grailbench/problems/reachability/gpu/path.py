"""`gpu-path`: the CUDA pipeline of Computation 2020, labels and search. Imports no CUDA module."""

from __future__ import annotations

from grailbench.graph.csr import Dag
from grailbench.problems.reachability.gpu.index import COUNTS, OnGpu
from grailbench.problems.reachability.index import Params, Timer, register


@register
class Path(OnGpu):
    """The pipeline of Computation 2020: labels by a path-based tree and four passes a pair, searches in groups of 64.

    The labels are those of `sequential`. Top-down, each vertex takes as DFS parent the one whose path from the root
    comes first. Paths are compared through one jump pointer per vertex, without weights that could overflow. Bottom-up,
    each vertex gets the size of its subtree and the sum of its earlier siblings; top-down, its rank; bottom-up, the
    least rank that it reaches. Frontiers found for the first pair are reused for the others. Queries that a comparison
    on the host does not decide are searched 64 at a time; a query visits a vertex once.
    """

    name = "gpu-path"
    source = "Quer and Calabrese 2020, algorithms 2-7"
    cost = "labels 4 passes over the edges a pair, a comparison of paths O(log depth); 16 bytes a vertex for the paths"
    counts = COUNTS

    @classmethod
    def label(cls, dag: Dag, params: Params, timer: Timer):
        """Labels by four BFS per pair."""
        from grailbench.problems.reachability.gpu.path_pipeline import label

        return label(dag, params, timer)

    @classmethod
    def searcher(cls, built):
        """Returns a searcher of groups of 64 queries that remembers visited vertices."""
        from grailbench.problems.reachability.gpu.path_search import PathSearcher

        return PathSearcher(built.graph.children, built.pairs, built.shape)
