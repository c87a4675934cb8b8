"""`gpu-fused`: our own pipeline, with labels and hubs in one launch or two, and searches by all multiprocessors.

Importing this module imports no CUDA module, so that the registry works without one.
"""

from grailbench.cuda import simulating
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.leveled import by_level
from grailbench.problems.reachability.gpu.fused import FEWEST, small_below
from grailbench.problems.reachability.index import FILTERS, Implementation, Index, Params, Timer, register
from grailbench.problems.reachability.labels import require_super_root

MOST = 1 << 28  #: vertices that `cuda.edges.walk` can count


@register
class Fused(Implementation):
    """Ours: breadth-first labels, level filter, tree positive cut and 64 hubs, all on the device.

    In each pair every vertex takes a random parent of the level above; subtrees are sized bottom-up, ranks given
    top-down, and a pass bottom-up over all edges widens the intervals to those of everything reached. The same passes
    make the words of the hubs, in one launch. A batch is filtered by a thread per query; open queries are searched from
    both ends by a warp, then by a block with more memory; the rest is swept, 2,048 queries at a time.
    """

    name = "gpu-fused"
    source = "grailbench"
    cost = "labels O(d n + m) work, a few barriers a level; 4 (2 d + 3) bytes a vertex, hubs 16 more"
    counts = ("queries", "positives", "queries_open", "queries_searched", "queries_searched_again", "queries_swept",
              "groups", "edges_scanned", "label_launches", "label_barriers")  # fmt: skip
    needs = ("gpu",)
    axes = frozenset({"dim", "devices"})
    fixed = {"filters": ",".join(FILTERS)}

    @classmethod
    def build(cls, dag: Dag, params: Params, timer: Timer) -> Index:
        """Has the device renumber by level and label; the host renumbers small graphs and those of several devices.

        Raises MachineLacks for too few devices or too little memory, InputError for a DAG of several roots.
        """
        with timer.phase("allocate", excluded=True):
            cls.require()
        with timer.phase("renumber", excluded=True):
            require_super_root(dag)
        if on_the_device(dag, params):
            from grailbench.problems.reachability.gpu.fused import from_edges

            return from_edges.built_of_dag(dag, params, timer)
        from grailbench.problems.reachability.gpu.fused.replicas import index_of

        with timer.phase("renumber", excluded=True):
            graph = by_level(dag)
        return index_of(graph, params, timer)

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
    def ready(cls, graph: Graph, params: Params, timer: Timer) -> Index:
        """Has the device sort, condense, renumber and label the edges.

        The host numbers and labels deep graphs (`cuda.graphs.Outline.deep`), and numbers small ones (`from_edges`).
        Several devices take the way over the host (`condenses`).
        """
        with timer.phase("allocate", excluded=True):
            cls.require()
        if not cls.condenses(graph, params):
            return super().ready(graph, params, timer)
        from grailbench.problems.reachability.gpu.fused import from_edges

        vertices, edges = small_below(FEWEST)
        small = graph.vertices < vertices and graph.edges < edges and not params.count
        return (from_edges.built_at_once if small else from_edges.built)(graph, params, timer)


def on_the_device(graph: Graph | Dag, params: Params) -> bool:
    """Whether the device renumbers a graph, and condenses it if it is not."""
    least = 2 if isinstance(graph, Dag) else 1  # the walk adds the super-root itself, and begins with another vertex
    return graph.edges >= FEWEST and least <= graph.vertices < MOST and params.devices == 1
