"""`gpu`: the thesis's CUDA pipeline, labels and search, as faithful as it can be said. Imports no CUDA module."""

from __future__ import annotations

from grailbench.graph.csr import Dag
from grailbench.reachability.gpu.index import OnGpu
from grailbench.reachability.index import Params, Timer, register


class _Thesis(OnGpu):
    group: int

    @classmethod
    def label(cls, dag: Dag, params: Params, timer: Timer):
        """Five BFS a pair."""
        from grailbench.reachability.gpu.pipeline import label

        return label(dag, params, timer)

    @classmethod
    def searcher(cls, built):
        """Groups of `group` queries, that forget where they were."""
        from grailbench.reachability.gpu.search import Searcher

        return Searcher(built.graph.children, built.pairs, built.shape, cls.group)


@register
class Thesis(_Thesis):
    """Labels by five BFS a pair, searches in groups of 64."""

    name = "gpu"
    source = "Caiazza 2019, algorithms 4-12"
    group = 64


@register
class Thesis32(_Thesis):
    """As `gpu`, searches in groups of 32: the thesis's alternative (chapter 7)."""

    name = "gpu-32"
    source = "Caiazza 2019, algorithms 4-12, masks of 32 bits"
    group = 32
