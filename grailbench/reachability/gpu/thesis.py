"""`gpu`: the thesis's CUDA pipeline, labels and search, as faithful as it can be said. Imports no CUDA module."""

from __future__ import annotations

from grailbench.graph.csr import Dag
from grailbench.reachability.gpu.index import COUNTS, OnGpu
from grailbench.reachability.index import Params, Timer, register


class _Thesis(OnGpu):
    group: int
    cost = "labels 5 passes over the edges a pair, one launch or more a level; a search as many levels as its group has"
    counts = (*COUNTS, "saturated_pairs", "settled_comparisons")

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
    """The thesis's pipeline: labels by five breadth-first passes a pair, searches in groups of 64.

    The labels are those of `sequential`, found without a depth-first search. Bottom-up, every vertex counts the paths
    below it; top-down, the cheapest path by these counts gives each its DFS parent; the host makes rows of that tree;
    bottom-up its subtrees are sized, top-down vertices get their post-order ranks, and bottom-up the least rank that
    each reaches. Counts stop at 2^64 - 1; what that leaves equal, root paths decide. Queries that a comparison on the
    host does not settle are searched 64 at a time, a bit a query, level by level from all sources at once.
    """

    name = "gpu"
    source = "Caiazza 2019, algorithms 4-12"
    group = 64


@register
class Thesis32(_Thesis):
    """As `gpu`, searches in groups of 32: the thesis's alternative (chapter 7).

    Labels are made as by `gpu`. Half as many queries share a mask of bits, so there are twice as many groups.
    """

    name = "gpu-32"
    source = "Caiazza 2019, algorithms 4-12, masks of 32 bits"
    group = 32
