"""The labelings on a GPU: of the thesis (algorithm 8), and of Computation 2020 (algorithm 2), four BFS per pair.

In the latter the frontiers of steps 1 and 4 are found for the first pair and reused. If every vertex has one parent,
the DAG is the tree, and step 1 is skipped. Importing this module imports CUDA.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda.frontier import Enterprise, Frontier, Schedule, usual
from grailbench.cuda.gateway import cuda
from grailbench.cuda.graphs import DeviceDag, Rows, rows_bytes, upload_rows
from grailbench.cuda.launch import typed
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.gpu.labeling import Built, Clock, Work, common_bytes, label_by
from grailbench.problems.reachability.gpu.parents import dag_to_dt, parent_sssp
from grailbench.problems.reachability.gpu.ranks import (
    CEILING,
    min_post,
    post_order,
    subsizes_dag,
    subsizes_tree,
    tree_rows,
)
from grailbench.problems.reachability.gpu.search import PathSearcher, Searcher
from grailbench.problems.reachability.index import Params, Timer


class ThesisWork(Work):
    """The arrays of the thesis's pipeline, which does not time the order of children."""

    def __init__(self, dag: Dag, shape: Enterprise, ceiling: np.uint64 = CEILING):
        super().__init__(dag, shape, np.uint64)
        self.ceiling, self.saturated = ceiling, 0
        self.costs = cuda.device_array(self.edges, np.uint64)
        self.candidates = cuda.device_array(self.edges, np.int32)
        self.ranks = cuda.device_array(1, np.int32)
        self.path = cuda.device_array((1, 4), np.int32)
        self.compared = cuda.to_device(np.zeros(1, np.int64))

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
            with clock.phase("allocate", excluded=True):
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
    return common_bytes(dag, dim, ThesisWork.bytes(n, m, shape) + rows_bytes(n, n), searching)


def label(
    dag: Dag, params: Params, timer: Timer, shape: Enterprise | None = None, ceiling: np.uint64 = CEILING
) -> Built:
    """Labels `dag` (see `label_by`); tests pass a `shape` of small blocks and queues and a low `ceiling`."""
    shape = shape or usual()
    need = device_bytes(dag, params.dim, shape)
    return label_by(lambda: ThesisWork(dag, shape, ceiling), need, dag, params, timer, shape)


class PathWork(Work):
    """The arrays of the pipeline of Computation 2020.

    tree: rows of the tree; row v begins where it begins in the DAG, and has fewer edges.
    """

    order_phase = "child_order"

    def __init__(self, dag: Dag, dim: int, shape: Enterprise):
        super().__init__(dag, shape, np.uint32)
        n, m = self.vertices, self.edges
        self.down, self.everyone, self.up = (Schedule(self.frontier, n) if dim > 1 else self.frontier for _ in range(3))
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


def path_device_bytes(dag: Dag, dim: int, shape: Enterprise) -> int:
    """Returns the device bytes for labeling `dag` with `dim` pairs and for searching it afterwards."""
    n, m = dag.vertices, dag.edges
    return common_bytes(dag, dim, PathWork.bytes(n, m, dim, shape), PathSearcher.bytes(n, shape))


def label_by_paths(dag: Dag, params: Params, timer: Timer, shape: Enterprise | None = None) -> Built:
    """Labels `dag` (see `label_by`); tests pass a `shape` of small blocks and queues."""
    shape = shape or usual()
    need = path_device_bytes(dag, params.dim, shape)
    return label_by(lambda: PathWork(dag, params.dim, shape), need, dag, params, timer, shape)
