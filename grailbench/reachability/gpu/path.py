"""`gpu-path`: the CUDA pipeline of Computation 2020, labels and search. Imports no CUDA module."""

from __future__ import annotations

from grailbench.graph.csr import Dag
from grailbench.reachability.gpu.index import COUNTS, OnGpu
from grailbench.reachability.index import Params, Timer, register


@register
class Path(OnGpu):
    """The pipeline of Computation 2020: labels by a path-based tree and four passes a pair, searches in groups of 64.

    The labels are those of `sequential`. Top-down, each vertex takes as DFS parent the one whose path from the root
    comes first, told by comparing paths through one jump pointer a vertex; nothing is weighed, so nothing overflows.
    Bottom-up, subtrees are sized, with the sum of earlier siblings; top-down, ranks are given; bottom-up, each vertex
    gets the least rank that it reaches. Frontiers found for the first pair are replayed for the others. Queries that
    a comparison on the host does not settle are searched 64 at a time; a query visits a vertex once.
    """

    name = "gpu-path"
    source = "Quer and Calabrese 2020, algorithms 2-7"
    cost = "labels 4 passes over the edges a pair, a comparison of paths O(log depth); 16 bytes a vertex for the paths"
    counts = COUNTS

    @classmethod
    def label(cls, dag: Dag, params: Params, timer: Timer):
        """Four BFS a pair."""
        from grailbench.reachability.gpu.path_pipeline import label

        return label(dag, params, timer)

    @classmethod
    def searcher(cls, built):
        """Groups of 64 queries, that remember where they were."""
        from grailbench.reachability.gpu.path_search import PathSearcher

        return PathSearcher(built.graph.children, built.pairs, built.shape)
