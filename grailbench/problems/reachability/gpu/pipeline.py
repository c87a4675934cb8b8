"""The labelings on a GPU: of the thesis (algorithm 8), five BFS per pair, and of Computation 2020 (algorithm 2), four.

In the latter the frontiers of steps 1 and 4 are found for the first pair and reused. If every vertex has one parent,
the DAG is the tree, and step 1 is skipped. Importing this module imports CUDA.
"""

from abc import abstractmethod
from collections import namedtuple
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.cuda.describe import require_memory
from grailbench.cuda.frontier import Enterprise, Frontier, Schedule, usual
from grailbench.cuda.gateway import cuda, require
from grailbench.cuda.graphs import DeviceDag, Rows, rows_bytes, upload_dag, upload_rows
from grailbench.cuda.launch import typed
from grailbench.errors import TooLittleMemory
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.cpu.traverse import shuffle_rows
from grailbench.problems.reachability.gpu import ranks
from grailbench.problems.reachability.gpu.parents import dag_to_dt, parent_sssp
from grailbench.problems.reachability.gpu.search import PathSearcher, Searcher
from grailbench.problems.reachability.index import Params, Timer
from grailbench.problems.reachability.labels import NEVER, Labels, empty, require_super_root


class Built(NamedTuple):
    """The result of a labeling: labels on host and device, the graph on the device, and work counts.

    pairs: starts and ends, int32[d, n] each, on the device; trees: how many pairs have a depth-first tree of their own.
    """

    labels: Labels
    pairs: tuple
    graph: DeviceDag
    counts: dict[str, int]
    shape: Enterprise
    trees: int


class Work:
    """The device arrays of a pipeline, allocated once for all pairs, and how it labels one pair.

    order_phase  the phase that times the child order; None to count it as overhead
    one_tree     whether the first pair's tree is that of all
    searcher     what searches the graph with these labels
    """

    order_phase: str | None = None
    searcher: type[Searcher] = Searcher
    one_tree = False

    def __init__(self, dag: Dag, dim: int, shape: Enterprise, prefix: type = np.uint64):
        """prefix: the type of prefix sums."""
        self.vertices, self.edges = n, m = dag.vertices, max(dag.edges, 1)
        self.frontier = Frontier(n, shape)
        self.status = cuda.device_array(n, np.uint8)
        self.visited = cuda.device_array(n, np.int32)
        self.parent = cuda.device_array(n, np.int32)
        self.sizes = cuda.device_array(n, np.uint64)
        self.prefix = cuda.device_array(m, prefix)
        self.cost = cuda.device_array(n, np.uint64)
        self.grid = min(shape.blocks, -(-n // shape.threads)), shape.threads

    @staticmethod
    @abstractmethod
    def bytes(vertices: int, edges: int, dim: int, shape: Enterprise) -> int:
        """Returns the device bytes of all arrays of the labeling."""

    def rows(self, dag: Dag, graph: DeviceDag) -> tuple:
        """Returns the rows whose children the next pair puts in order: `offsets` and `children` on the host, and the
        `Rows` on the device."""
        return dag, graph.children

    @abstractmethod
    def label_pair(self, dag: Dag, order: np.ndarray, graph: DeviceDag, labels: tuple, phase: Callable) -> None:
        """Labels one pair. order int32[m]: the children of `rows` in visiting order, the same as on the device.

        labels: least and post, int32[n] each, on the device; they are written. phase: times a step, given its name.
        """

    def steps(self, graph: DeviceDag, tree: Rows, labels: tuple) -> list[Callable]:
        """Returns what does each step of `label_pair` by itself, on arrays of other content than they have then."""
        (least, post), (children, parents) = labels, graph
        return [
            partial(ranks.subsizes_tree, self, tree, ranks.CEILING), partial(ranks.post_order, self, tree, post),
            partial(ranks.min_post, self, children, parents, post, least),
        ]  # fmt: skip

    def counts(self) -> dict[str, int]:
        """Returns the work counts for all pairs, by name, beside those of launches."""
        return {}


class ThesisWork(Work):
    """The arrays of the thesis's pipeline, which does not time the order of children. Weights end at `ceiling`."""

    ceiling = ranks.CEILING

    def __init__(self, dag: Dag, dim: int, shape: Enterprise):
        super().__init__(dag, dim, shape)
        self.saturated = 0
        self.costs = cuda.device_array(self.edges, np.uint64)
        self.candidates = cuda.device_array(self.edges, np.int32)
        self.ranks = cuda.device_array(1, np.int32)
        self.path = cuda.device_array((1, 4), np.int32)
        self.compared = cuda.to_device(np.zeros(1, np.int64))

    @staticmethod
    def bytes(vertices: int, edges: int, dim: int, shape: Enterprise) -> int:
        n, m = vertices, edges
        arrays = (1 + 4 + 8 + 8 + 4 + 16) * n + (8 + 8 + 4 + 4) * m + rows_bytes(n, n)  # with the paths
        return Frontier.bytes(n, shape) + arrays

    def label_pair(self, dag: Dag, order: np.ndarray, graph: DeviceDag, labels: tuple, phase: Callable) -> None:
        """Runs the five BFS and, between them, makes the rows of the tree on the CPU."""
        (least, post), (children, parents) = labels, graph
        with phase("subsizes_dag"):
            ranks.subsizes_dag(self, children, parents, self.ceiling)
        saturated = self.sizes[dag.vertices - 1] == self.ceiling  # the root's size is the largest of all
        self.saturated += int(saturated)
        if saturated and self.path.shape[0] == 1:  # ties are decided by paths (`parent_sssp`)
            with phase("allocate", excluded=True):
                self.path = cuda.device_array((max(self.vertices, 2), 4), np.int32)
                self.ranks = cuda.device_array(max(self.edges, 2), np.int32)
        with phase("parent_sssp"):
            parent_sssp(self, children, parents, self.ceiling)
        parent = self.parent.copy_to_host()
        with phase("edges_rc"):
            offsets, edges = ranks.tree_rows(dag.offsets, order, parent)
        tree = upload_rows(offsets, edges)
        with phase("subsizes_dt"):
            ranks.subsizes_tree(self, tree, ranks.CEILING)
        with phase("post_order"):
            ranks.post_order(self, tree, post)
        with phase("min_post"):
            ranks.min_post(self, children, parents, post, least)

    def steps(self, graph: DeviceDag, tree: Rows, labels: tuple) -> list[Callable]:
        first = (partial(step, self, *graph, self.ceiling) for step in (ranks.subsizes_dag, parent_sssp))
        return [*first, *super().steps(graph, tree, labels)]

    def counts(self) -> dict[str, int]:
        """Returns the numbers of comparisons of paths and of pairs with weights at the ceiling."""
        return {"settled_comparisons": int(self.compared.copy_to_host()[0]), "saturated_pairs": self.saturated}


class PathWork(Work):
    """The arrays of the pipeline of Computation 2020.

    tree: rows of the tree; row v begins where it begins in the DAG, and has fewer edges.
    """

    order_phase = "child_order"
    searcher = PathSearcher

    def __init__(self, dag: Dag, dim: int, shape: Enterprise):
        super().__init__(dag, dim, shape, np.uint32)
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
        arrays = (1 + 4 + 4 + 8 + 8 + 8 + 16 + 4) * vertices + 8 * edges
        schedules = 3 * Schedule.bytes(vertices) if dim > 1 else 0
        return Frontier.bytes(vertices, shape) + schedules + arrays

    def label_pair(self, dag: Dag, order: np.ndarray, graph: DeviceDag, labels: tuple, phase: Callable) -> None:
        """Runs the four steps."""
        (least, post), (children, parents) = labels, graph
        with phase("dag_to_dt"):
            if not self.is_tree:
                self.tree = typed(Rows(children.starts, self.tree_cards, self.tree_edges))
                dag_to_dt(self, children, parents)
            elif self.tree is None:
                self.tree = children
                self.parent.copy_to_device(np.append(dag.parents, np.int32(-1)))  # the root, the last, has none
        with phase("sizes"):
            ranks.subsizes_tree(self, self.tree, ranks.CEILING)
        with phase("post_order"):
            ranks.post_order(self, self.tree, post)
        with phase("min_post"):
            ranks.min_post(self, children, parents, post, least, self.up)

    def steps(self, graph: DeviceDag, tree: Rows, labels: tuple) -> list[Callable]:
        self.tree = typed(Rows(graph.children.starts, self.tree_cards, self.tree_edges))
        return [partial(dag_to_dt, self, *graph), *super().steps(graph, tree, labels)]


class HostRows(namedtuple("HostRows", "offsets children")):
    """The rows of a tree: offsets int64[n + 1], children int32[n - 1]."""


class OneTreeWork(PathWork):
    """As `PathWork` with one tree for all pairs, so that d pairs take 2 + 2 d passes (sections 4.6 and 6.1).

    Siblings are in another order for each pair. Then ranks of the tree no longer fall along every edge of the DAG, so
    the end of an interval is the greatest rank that is reached; it is found in the pass that finds the least.
    """

    one_tree = True

    def __init__(self, dag: Dag, dim: int, shape: Enterprise):
        super().__init__(dag, dim, shape)
        self.pairs, self.first = dim, True

    @staticmethod
    def bytes(vertices: int, edges: int, dim: int, shape: Enterprise) -> int:
        return PathWork.bytes(vertices, edges, dim, shape) + rows_bytes(vertices, vertices)

    def rows(self, dag: Dag, graph: DeviceDag) -> tuple:
        return super().rows(dag, graph) if self.first else (self.own, self.tree)

    def label_pair(self, dag: Dag, order: np.ndarray, graph: DeviceDag, labels: tuple, phase: Callable) -> None:
        """Runs the four steps for the first pair, and the last two for others, with new sums over siblings."""
        if self.first:
            super().label_pair(dag, order, graph, labels, phase)
            self.first = False
            if self.pairs > 1:
                with phase("dag_to_dt"):
                    self.own = HostRows(*ranks.tree_rows(dag.offsets, order, self.parent.copy_to_host()))
                    self.tree = upload_rows(*self.own)
            return
        (least, post), (children, parents) = labels, graph
        with phase("sizes"):
            ranks.sibling_sums(self, self.tree, ranks.CEILING)
        with phase("post_order"):
            ranks.post_order(self, self.tree, post)
        with phase("min_post"):
            ranks.min_post(self, children, parents, post, least, self.up, both=True)


def steps(kind: type[Work], dim: int, group: int) -> list[Callable]:
    """Returns what runs each step of a labeling by itself, and at last a search, on a graph whose vertices are one
    thread's, a warp's and a block's in both directions: to compile their kernels."""
    shape = usual()
    dag = _of_all_degrees(shape.small, shape.large)
    n, graph, work = dag.vertices, upload_dag(dag), kind(dag, dim, shape)
    parent = np.append(dag.parents[dag.parent_offsets[:-2]], np.int32(-1))
    work.parent.copy_to_device(parent)
    for each in (work.sizes, work.prefix, work.cost):  # what earlier steps would have made
        each.copy_to_device(np.zeros(each.shape, each.dtype))
    tree = upload_rows(*ranks.tree_rows(dag.offsets, dag.children, parent))
    pairs = tuple(cuda.to_device(np.zeros((dim, n), np.int32)) for _ in range(2))

    def search() -> None:
        kind.searcher(graph.children, pairs, shape, group).search(*np.array([[n - 1], [n - 2]], np.int32))

    return [*work.steps(graph, tree, tuple(each[0] for each in pairs)), search]


def _of_all_degrees(small: int, large: int) -> Dag:
    """Returns a DAG of two sources, vertices between, and two sinks; an end has `small` of these, or more than `large`,
    also without those that it shares. It is made without kernels, for which processes would wait."""
    many = small + large + 1
    middle, root = 2 + np.arange(many), 4 + many
    pairs = [(end, v) for end, degree in ((0, small), (1, many)) for v in middle[:degree]]
    pairs += [(v, 2 + many + end) for end, v in pairs] + [(root, 0), (root, 1)]
    sources, targets = np.array(pairs, np.int32).T
    sizes = 1, 2, many, 2
    levels, order = np.repeat(np.arange(4, dtype=np.int32), sizes), np.append(root, np.arange(root)).astype(np.int32)
    return Dag(*_rows(sources, targets), np.roll(levels, -1), order, order[1:], reverse=_rows(targets, sources))


def _rows(sources: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the CSR of the edges of a graph whose greatest vertex is in one of them."""
    vertices = max(sources.max(), targets.max()) + 1
    offsets = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=vertices))])
    return offsets.astype(np.int64), targets[np.lexsort((targets, sources))]


def device_bytes(kind: type[Work], dag: Dag, dim: int, shape: Enterprise, one_pair: bool = False) -> int:
    """Returns the device bytes for labeling `dag` with `dim` pairs and for searching it afterwards.

    one_pair  whether finished pairs are on the host until all are
    """
    n, m = dag.vertices, dag.edges
    labeling, searching, pairs = kind.bytes(n, m, dim, shape), kind.searcher.bytes(n, shape, 64), 8 * dim * n
    labeling += 8 * n if one_pair else pairs
    return 2 * rows_bytes(n, m) + max(labeling, pairs + searching)


@contextmanager
def _phase(timer: Timer, name: str, excluded: bool = False):
    """Times the body, including the device's work."""
    with timer.phase(name, excluded):
        yield
        cuda.synchronize()


def label(
    kind: type[Work], dag: Dag, params: Params, timer: Timer, shape: Enterprise | None = None, budget: int = 0
) -> Built:
    """Labels `dag` with `params.dim` pairs in the child orders of `sequential`; tests pass a `shape` of small blocks.

    budget  device bytes that may be taken, 0 for all that are free. If it is too small for all pairs, finished ones are
            moved to the host, and back for the searches, as in Computation 2020 (section 6.1)

    Raises MachineLacks without a device, TooLittleMemory if fewer than `device_bytes` are free there, before allocating
    any, and InputError for a DAG of several roots.
    """
    require()
    shape, dim, n = shape or usual(), params.dim, dag.vertices
    what = f"labeling {n:,} vertices and {dag.edges:,} edges on the GPU, d = {dim},"
    need, one_pair = device_bytes(kind, dag, dim, shape), False
    if budget and need > budget:
        need, one_pair = device_bytes(kind, dag, dim, shape, True), True
        if need > budget:
            raise TooLittleMemory(f"{what} needs {need:,} bytes of device memory with finished pairs on the host (give "
                                  f"more than --memory {budget:,}, or fewer label pairs)")  # fmt: skip
    require_memory(need, what)
    require_super_root(dag)
    phase = partial(_phase, timer)
    with phase("allocate", excluded=True):
        work = kind(dag, dim, shape)
        pairs = tuple(cuda.device_array((1 if one_pair else dim, n), np.int32) for _ in range(2))
    with phase("transfer", excluded=True):
        graph = upload_dag(dag)
    labels, finished = empty(n, dim), []
    for pair in range(dim):
        least, post = (column[0 if one_pair else pair] for column in pairs)
        with phase(work.order_phase) if work.order_phase else nullcontext():
            host, device = work.rows(dag, graph)
            order = _ordered(host, params, pair)
        if order is not host.children and order.size:
            with phase("transfer", excluded=True):
                device.edges.copy_to_device(order)
        work.label_pair(dag, order, graph, (least, post), phase)
        columns = least.copy_to_host(), post.copy_to_host()
        _write(labels.lanes, int(labels.width), dim, pair, *columns)
        finished += [columns] if one_pair else []
    launches = {"label_launches": work.frontier.launches, "label_generations": work.frontier.generations}
    counts = work.counts() | launches
    if one_pair:
        del work, pairs, least, post  # their memory is what the pairs take now
        pairs = tuple(cuda.to_device(np.stack(column)) for column in zip(*finished, strict=True))
    cuda.synchronize()
    timer.record("overhead", 0.0)  # the timer adds the time outside the phases
    return Built(labels, pairs, graph, counts, shape, 1 if kind.one_tree else dim)


def _ordered(rows: Dag | HostRows, params: Params, pair: int) -> np.ndarray:
    """Returns the children in the order in which pair `pair` visits them, int32[m] (see `cpu.grail`)."""
    if params.order == "lexicographic" and pair == 0:
        return rows.children
    if params.order == "lexicographic" and pair == 1:
        return _reversed_rows(rows.offsets, rows.children)
    return shuffle_rows(rows.offsets, rows.children, params.seed, pair, params.workers)


@njit(cache=True, nogil=True)
def _reversed_rows(offsets, children):
    """Returns the children with each row reversed, int32[m]."""
    turned = np.empty_like(children)
    for u in range(offsets.shape[0] - 1):
        first, last = offsets[u], offsets[u + 1]
        for k in range(first, last):
            turned[k] = children[first + last - 1 - k]
    return turned


@njit(cache=True, nogil=True)
def _write(lanes, width, dim, pair, least, post):
    """Writes pair `pair` into the records of `labels.Labels`. least, post int32[n]. t is `NEVER`: no positive cut."""
    for v in range(least.shape[0]):
        lanes[v * width + 2 * pair] = least[v]
        lanes[v * width + 2 * pair + 1] = -post[v]
        lanes[v * width + 2 * dim + 1 + pair] = NEVER
