"""`gpu` and `gpu-32`: the thesis's CUDA pipeline, labels and search. Importing this imports no CUDA module."""

from __future__ import annotations

from grailbench.graph.csr import Dag
from grailbench.problems.reachability.gpu.index import COUNTS, OnGpu
from grailbench.problems.reachability.index import Params, Timer, register


class _Thesis(OnGpu):
    group: int
    cost = "labels 5 passes over the edges per pair, 1 launch or more per level; a search takes all levels of its group"
    counts = (*COUNTS, "saturated_pairs", "settled_comparisons")

    @classmethod
    def label(cls, dag: Dag, params: Params, timer: Timer):
        """Labels by five BFS per pair."""
        from grailbench.problems.reachability.gpu.pipeline import label

        return label(dag, params, timer)

    @classmethod
    def searcher(cls, built):
        """Returns a searcher of groups of `group` queries that does not remember visits."""
        from grailbench.problems.reachability.gpu.search import Searcher

        return Searcher(built.graph.children, built.pairs, built.shape, cls.group)


@register
class Thesis(_Thesis):
    """The thesis's pipeline: labels by five breadth-first passes a pair, searches in groups of 64.

    The labels are those of `sequential`, found without a depth-first search. Bottom-up, every vertex counts the paths
    below it. Top-down, the cheapest path by these counts gives each vertex its DFS parent; the host makes the rows of
    that tree. Bottom-up its subtrees are sized, top-down vertices get their post-order ranks, and bottom-up the least
    rank that each reaches. Counts stop at 2^64 - 1; equal ones there are decided by root paths. Queries that a
    comparison on the host does not decide are searched 64 at a time, one bit per query, level by level from all sources
    at once.
    """

    name = "gpu"
    source = "Caiazza 2019, algorithms 4-12"
    group = 64


@register
class Thesis32(_Thesis):
    """As `gpu`, with searches in groups of 32: the thesis's alternative (chapter 7).

    Labels are made as in `gpu`. Half as many queries share a mask of bits, so there are twice as many groups.
    """

    name = "gpu-32"
    source = "Caiazza 2019, algorithms 4-12, masks of 32 bits"
    group = 32
