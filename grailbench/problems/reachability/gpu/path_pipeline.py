"""The labeling of Computation 2020 on a GPU (algorithm 2): four BFS per pair.

The frontiers of steps 1 and 4 do not depend on the order of children, so those of the first pair are reused for the
others. The tree of step 1 and the sizes of step 2 depend on it, so each pair has its own. If every vertex has one
parent, the DAG is the tree, and step 1 is skipped. Importing this module imports CUDA.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda.frontier import Enterprise, Frontier, Schedule, usual
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import DeviceDag, Rows
from grailbench.cuda.launch import typed
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.gpu.labeling import Built, Clock, common_bytes, label_by
from grailbench.problems.reachability.gpu.path_search import PathSearcher
from grailbench.problems.reachability.gpu.ranks import min_post, post_order
from grailbench.problems.reachability.gpu.sizes import CEILING, subsizes_tree
from grailbench.problems.reachability.gpu.trees import dag_to_dt
from grailbench.problems.reachability.index import Params, Timer


class Work:
    """The device arrays for labeling one pair, allocated once for all pairs.

    tree: rows of the tree; row v begins where it begins in the DAG, and has fewer edges.
    """

    order_phase = "child_order"

    def __init__(self, dag: Dag, dim: int, shape: Enterprise):
        n, m = dag.vertices, max(dag.edges, 1)
        self.vertices, self.edges = n, m
        self.frontier = Frontier(n, shape)
        self.down, self.everyone, self.up = (Schedule(self.frontier, n) if dim > 1 else self.frontier for _ in range(3))
        self.status = cuda.device_array(n, np.uint8)
        self.visited = cuda.device_array(n, np.int32)
        self.parent = cuda.device_array(n, np.int32)
        self.sizes = cuda.device_array(n, np.uint64)
        self.prefix = cuda.device_array(m, np.uint32)
        self.cost = cuda.device_array(n, np.uint64)
        self.grid = min(shape.blocks, -(-n // shape.threads)), shape.threads
        self.tree: Rows | None = None
        self.is_tree = dag.edges == n - 1
        if not self.is_tree:
            self.best = cuda.device_array(n, np.int64)
            self.path = cuda.device_array((n, 4), np.int32)
            self.tree_cards, self.tree_edges = cuda.device_array(n, np.int32), cuda.device_array(m, np.int32)

    @staticmethod
    def bytes(vertices: int, edges: int, dim: int, shape: Enterprise) -> int:
        """Returns the device bytes of all arrays."""
        schedules = 3 * Schedule.bytes(vertices) if dim > 1 else 0
        return Frontier.bytes(vertices, shape) + schedules + (1 + 4 + 4 + 8 + 8 + 8 + 16 + 4) * vertices + 8 * edges

    def label_pair(self, dag: Dag, order: np.ndarray, graph: DeviceDag, labels: tuple, clock: Clock) -> None:
        """Runs the four steps."""
        (least, post), (children, parents) = labels, graph
        with clock.phase("dag_to_dt"):
            if not self.is_tree:
                self.tree = typed(Rows(children.starts, self.tree_cards, self.tree_edges))
                dag_to_dt(self, children, parents)
            elif self.tree is None:
                self.tree = children
                self.parent.copy_to_device(np.append(dag.parents, np.int32(-1)))  # the root, the last, has none
        with clock.phase("sizes"):
            subsizes_tree(self, self.tree, CEILING)
        with clock.phase("post_order"):
            post_order(self, self.tree, post)
        with clock.phase("min_post"):
            min_post(self, children, parents, post, least, self.up)

    def counts(self) -> dict[str, int]:
        """Returns no counts: there are none beyond the launches."""
        return {}


def device_bytes(dag: Dag, dim: int, shape: Enterprise) -> int:
    """Returns the device bytes for labeling `dag` with `dim` pairs and for searching it afterwards."""
    n, m = dag.vertices, dag.edges
    return common_bytes(dag, dim, Work.bytes(n, m, dim, shape), PathSearcher.bytes(n, shape))


def label(dag: Dag, params: Params, timer: Timer, shape: Enterprise | None = None) -> Built:
    """Labels `dag` (see `label_by`); tests pass a `shape` of small blocks and queues."""
    shape = shape or usual()
    need = device_bytes(dag, params.dim, shape)
    return label_by(lambda: Work(dag, params.dim, shape), need, dag, params, timer, shape)
