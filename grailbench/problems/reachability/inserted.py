"""`updated`: how long it takes to insert edges into an index, and to ask it then."""

from __future__ import annotations

import numpy as np

from grailbench.graph.condense import rooted
from grailbench.graph.csr import VERTEX, Dag
from grailbench.problems.reachability.core.index import Core
from grailbench.problems.reachability.index import Implementation, NoTimer, Params, Timer, register
from grailbench.problems.reachability.updated import UpdatedIndex


def parted(dag: Dag, count: int, seed: int) -> tuple[Dag, np.ndarray, np.ndarray]:
    """Takes so many edges, or all, out of a DAG, random ones but equal for equal seeds: the DAG of the others, with the
    same vertices, and the sources and targets of those taken, int32[k] each."""
    us, vs = dag.edges_without_super_root()
    taken = np.zeros(us.size, np.bool_)
    taken[np.random.default_rng(seed).permutation(us.size)[:count]] = True
    offsets = np.searchsorted(us[~taken], np.arange(dag.vertices), side="left").astype(np.int64)
    return rooted(offsets, vs[~taken]), us[taken], vs[taken]


@register
class Updated(Implementation):
    """`core` of a graph without some of its edges, which are inserted afterwards: what an update takes.

    `inserted` edges are taken out of the graph, and `core` is built of the others (phase `base`, excluded). `label` is
    then the time of inserting all of them at once, as `Index.with_edges` of the library does, and queries are answered
    by the index and the new edges. Compare it with the `label` of `core`, which builds anew.
    """

    name = "updated"
    source = "after Warshall (JACM 1962), and the bit masks of Then et al. 2014"
    cost = (
        "for k new edges O(k (n + m) / 64) and at most k^3 / 64 steps; a query that of the index, and k / 64 words; "
        "k / 4 bytes a vertex where they are kept"
    )
    axes = Core.axes | {"inserted"}
    from_edges = False
    label_free = True

    @classmethod
    def restored(cls, dag: Dag, params: Params, arrays: dict[str, np.ndarray]) -> UpdatedIndex:
        """Returns the index into which nothing was inserted, which alone can be stored."""
        nothing = np.empty(0, VERTEX)
        return UpdatedIndex(Core.restored(dag, params, arrays), dag, nothing, nothing)

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> UpdatedIndex:
        """Builds the index of the other edges, and inserts those that were taken out."""
        with timer.phase("base", excluded=True):
            old, sources, targets = parted(dag, params.inserted, params.seed)
            old.parents  # noqa: B018 - made once, as of every graph
            base = Core.build(old, params, NoTimer())
        return UpdatedIndex(base, old, sources, targets)
