"""The thesis's labeling on a GPU (algorithm 8): its buffers and its phases. Importing this module imports CUDA."""

from __future__ import annotations

import numpy as np

from grailbench.cuda.frontier import Enterprise, Frontier, usual
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import DeviceDag, rows_bytes, upload_rows
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.gpu.labeling import Built, Clock, common_bytes, label_by
from grailbench.problems.reachability.gpu.parents import parent_sssp
from grailbench.problems.reachability.gpu.ranks import min_post, post_order, tree_rows
from grailbench.problems.reachability.gpu.search import Searcher
from grailbench.problems.reachability.gpu.sizes import CEILING, subsizes_dag, subsizes_tree
from grailbench.problems.reachability.index import Params, Timer


class Work:
    """The device arrays for labeling one pair, allocated once for all pairs."""

    order_phase = None  # the thesis does not time it

    def __init__(self, vertices: int, edges: int, shape: Enterprise, ceiling: np.uint64 = CEILING):
        n, m = vertices, max(edges, 1)
        self.vertices, self.edges, self.ceiling = n, m, ceiling
        self.saturated = 0
        self.frontier = Frontier(n, shape)
        self.status = cuda.device_array(n, np.uint8)
        self.visited = cuda.device_array(n, np.int32)
        self.sizes = cuda.device_array(n, np.uint64)
        self.prefix = cuda.device_array(m, np.uint64)
        self.cost = cuda.device_array(n, np.uint64)
        self.costs = cuda.device_array(m, np.uint64)
        self.candidates = cuda.device_array(m, np.int32)
        self.parent = cuda.device_array(n, np.int32)
        self.ranks = cuda.device_array(1, np.int32)
        self.path = cuda.device_array((1, 4), np.int32)
        self.compared = cuda.to_device(np.zeros(1, np.int64))
        self.grid = min(shape.blocks, -(-n // shape.threads)), shape.threads

    @staticmethod
    def bytes(vertices: int, edges: int, shape: Enterprise) -> int:
        """Returns the device bytes of all arrays, including the paths."""
        return Frontier.bytes(vertices, shape) + (1 + 4 + 8 + 8 + 4 + 16) * vertices + (8 + 8 + 4 + 4) * edges

    @property
    def keeps_paths(self) -> bool:
        """Whether the arrays for comparing paths are allocated."""
        return self.path.shape[0] > 1

    def keep_paths(self) -> None:
        """Allocates the arrays for comparing paths."""
        self.path = cuda.device_array((max(self.vertices, 2), 4), np.int32)
        self.ranks = cuda.device_array(max(self.edges, 2), np.int32)

    def label_pair(self, dag: Dag, order: np.ndarray, graph: DeviceDag, labels: tuple, clock: Clock) -> None:
        """Runs the five BFS and, between them, makes the rows of the tree on the CPU."""
        (least, post), (children, parents) = labels, graph
        with clock.phase("subsizes_dag"):
            subsizes_dag(self, children, parents, self.ceiling)
        saturated = self.sizes[dag.vertices - 1] == self.ceiling  # the root's size is the largest of all
        self.saturated += int(saturated)
        if saturated and not self.keeps_paths:
            with clock.phase("allocate", apart=True):
                self.keep_paths()
        with clock.phase("parent_sssp"):
            parent_sssp(self, children, parents, self.ceiling)
        parent = self.parent.copy_to_host()
        with clock.phase("edges_rc"):
            offsets, edges = tree_rows(dag.offsets, order, parent)
        tree = upload_rows(offsets, edges)
        with clock.phase("subsizes_dt"):
            subsizes_tree(self, tree, CEILING)
        with clock.phase("post_order"):
            post_order(self, tree, post)
        with clock.phase("min_post"):
            min_post(self, children, parents, post, least)

    def counts(self) -> dict[str, int]:
        """Returns the numbers of comparisons of paths and of pairs with weights at the ceiling."""
        return {"settled_comparisons": int(self.compared.copy_to_host()[0]), "saturated_pairs": self.saturated}


def device_bytes(dag: Dag, dim: int, shape: Enterprise) -> int:
    """Returns the device bytes for labeling `dag` with `dim` pairs and for searching it afterwards."""
    n, m = dag.vertices, dag.edges
    searching = Searcher.bytes(n, shape, 64)
    return common_bytes(dag, dim, Work.bytes(n, m, shape) + rows_bytes(n, n), searching)


def label(
    dag: Dag, params: Params, timer: Timer, shape: Enterprise | None = None, ceiling: np.uint64 = CEILING
) -> Built:
    """Labels `dag` (see `label_by`); tests pass a `shape` of small blocks and queues and a low `ceiling`."""
    shape = shape or usual()
    need = device_bytes(dag, params.dim, shape)
    return label_by(lambda: Work(dag.vertices, dag.edges, shape, ceiling), need, dag, params, timer, shape)
