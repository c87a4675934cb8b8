"""`gpu-path`: the CUDA pipeline of Computation 2020, labels and search. Imports no CUDA module."""

from __future__ import annotations

from grailbench.graph.csr import Dag
from grailbench.reachability.gpu.index import OnGpu
from grailbench.reachability.index import Params, Timer, register


@register
class Path(OnGpu):
    """Labels by a path-based tree and four BFS a pair, searches in groups of 64."""

    name = "gpu-path"
    source = "Quer and Calabrese 2020, algorithms 2-7"

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
