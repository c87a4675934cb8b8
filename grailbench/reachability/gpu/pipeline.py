"""The thesis's labeling on a GPU, end to end (algorithm 8): phases, buffers, and the labels they leave.

Importing this imports CUDA (`device.gateway`).
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np
from numba import njit

from grailbench.device.csr import DeviceDag, Rows, rows_bytes, upload, upload_rows
from grailbench.device.describe import require_memory
from grailbench.device.frontier import Enterprise, Frontier, usual
from grailbench.device.gateway import cuda, require
from grailbench.errors import InputError
from grailbench.graph.csr import Dag
from grailbench.reachability.cpu.traverse import shuffle_rows
from grailbench.reachability.gpu import sizes as subsizes
from grailbench.reachability.gpu.parents import parent_sssp
from grailbench.reachability.gpu.ranks import min_post, post_order, tree_rows
from grailbench.reachability.gpu.sizes import CEILING, subsizes_dag, subsizes_tree
from grailbench.reachability.index import Params, Timer
from grailbench.reachability.labels import NEVER, Labels, empty


class Clock:
    """Phases of a build by the host's clock, each ended by a synchronize; what no phase covers is the overhead."""

    def __init__(self, timer: Timer):
        self._timer, self._began, self._covered = timer, perf_counter_ns(), 0

    @contextmanager
    def phase(self, name: str, apart: bool = False):
        """Time the body, the device's work included."""
        began = perf_counter_ns()
        with self._timer.phase(name, apart):
            yield
            cuda.synchronize()
        self._covered += perf_counter_ns() - began

    def close(self) -> None:
        """Record what lies between the phases as `overhead`."""
        cuda.synchronize()
        self._timer.record("overhead", (perf_counter_ns() - self._began - self._covered) / 1e6)


class Work:
    """Device arrays that the labeling of one pair needs, allocated once for all pairs."""

    def __init__(self, vertices: int, edges: int, shape: Enterprise):
        n, m = vertices, max(edges, 1)
        self.vertices, self.edges = n, m
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
        self.settled = cuda.to_device(np.zeros(1, np.int64))
        self.grid = min(shape.blocks, -(-n // shape.threads)), shape.threads

    @staticmethod
    def bytes(vertices: int, edges: int, shape: Enterprise) -> int:
        """Device bytes that all of it takes, paths included."""
        return Frontier.bytes(vertices, shape) + (1 + 4 + 8 + 8 + 4 + 16) * vertices + (8 + 8 + 4 + 4) * edges

    @property
    def keeps_paths(self) -> bool:
        """Whether there is room for what compares paths."""
        return self.path.shape[0] > 1

    def keep_paths(self) -> None:
        """Make room for what compares paths."""
        self.path = cuda.device_array((max(self.vertices, 2), 4), np.int32)
        self.ranks = cuda.device_array(max(self.edges, 2), np.int32)

    def begin(self, cards) -> None:
        """A new BFS that starts from whoever has no neighbour in `cards`, int32[n] on the device."""
        subsizes.begin[self.grid](self.status, self.visited, cards)


@dataclass(frozen=True)
class Built:
    """What the labeling leaves: labels on both sides, the graph on the device, and counts of what was done.

    pairs: starts and ends, int32[d, n] each on the device.
    """

    labels: Labels
    pairs: tuple
    graph: DeviceDag
    counts: dict[str, int]
    shape: Enterprise


def device_bytes(dag: Dag, dim: int, shape: Enterprise) -> int:
    """Device bytes of labeling `dag` with `dim` pairs: graph, tree, buffers, labels; and of searching it then."""
    n, m = dag.vertices, dag.edges
    graph = 2 * rows_bytes(n, m) + rows_bytes(n, n)
    searching = Frontier.bytes(n, shape) + 16 * n
    return graph + max(Work.bytes(n, m, shape), searching) + 8 * dim * n


def label(
    dag: Dag, params: Params, timer: Timer, shape: Enterprise | None = None, ceiling: np.uint64 = CEILING
) -> Built:
    """Label `dag` with `params.dim` pairs in the child orders of `sequential`.

    `shape` and `ceiling` are for tests: small blocks and queues, and weights that saturate early.
    Raises MachineLacks without a device or with too little memory, InputError for a DAG of several roots.
    """
    require()
    shape = shape or usual()
    need = device_bytes(dag, params.dim, shape)
    require_memory(need, f"labeling {dag.vertices:,} vertices and {dag.edges:,} edges on the GPU, d = {params.dim},")
    _require_super_root(dag)
    clock = Clock(timer)
    with clock.phase("allocate", apart=True):
        work = Work(dag.vertices, dag.edges, shape)
        pairs = tuple(cuda.device_array((params.dim, dag.vertices), np.int32) for _ in range(2))
    with clock.phase("transfer", apart=True):
        graph = upload(dag)
    labels = empty(dag.vertices, params.dim)
    saturated = 0
    for pair in range(params.dim):
        least, post = (column[pair] for column in pairs)
        children, order = _ordered(dag, graph, params, pair, clock)
        saturated += _label_pair(dag, work, Rows(*children), order, graph.parents, (least, post), ceiling, clock)
        _write(labels.lanes, int(labels.width), params.dim, pair, least.copy_to_host(), post.copy_to_host())
    counts = {
        "settled_comparisons": int(work.settled.copy_to_host()[0]),
        "saturated_pairs": saturated,
        "label_launches": work.frontier.launches,
        "label_generations": work.frontier.generations,
    }
    clock.close()
    return Built(labels, pairs, graph, counts, shape)


def _require_super_root(dag: Dag) -> None:
    """Raise InputError unless the last vertex, and no other, has no parent: there every top-down BFS starts."""
    roots = np.flatnonzero(np.diff(dag.parent_offsets) == 0)
    fault = f"{roots.size} vertices have no parent" if roots.size != 1 else None
    if fault is None and roots[0] != dag.vertices - 1:
        fault = f"vertex {roots[0]} has no parent, and is not the last vertex"
    if fault:
        raise InputError(fault, remedy="condense() adds the one super-root that is needed, as the last vertex")


def _ordered(dag: Dag, graph: DeviceDag, params: Params, pair: int, clock: Clock) -> tuple[Rows, np.ndarray]:
    """The children in the order in which pair `pair` visits them, on the device and on the host (see `cpu.grail`)."""
    if params.order == "lexicographic" and pair == 0:
        return graph.children, dag.children
    if params.order == "lexicographic" and pair == 1:
        order = _reversed_rows(dag.offsets, dag.children)
    else:
        order = shuffle_rows(dag.offsets, dag.children, params.seed, pair)
    with clock.phase("transfer", apart=True):
        if order.size:
            graph.children.edges.copy_to_device(order)
    return graph.children, order


def _label_pair(dag, work: Work, children: Rows, order, parents: Rows, labels, ceiling, clock: Clock) -> bool:
    """One pair: the five BFS and, between them, the tree's rows made on the CPU. Returns whether weights saturated."""
    least, post = labels
    with clock.phase("subsizes_dag"):
        subsizes_dag(work, children, parents, ceiling)
    saturated = work.sizes[dag.vertices - 1] == ceiling  # the root's size is the largest of all
    if saturated and not work.keeps_paths:
        with clock.phase("allocate", apart=True):
            work.keep_paths()
    with clock.phase("parent_sssp"):
        parent_sssp(work, children, parents, ceiling)
    parent = work.parent.copy_to_host()
    with clock.phase("edges_rc"):
        offsets, edges = tree_rows(dag.offsets, order, parent)
    tree = upload_rows(offsets, edges)
    with clock.phase("subsizes_dt"):
        subsizes_tree(work, tree, CEILING)
    with clock.phase("post_order"):
        post_order(work, tree, post)
    with clock.phase("min_post"):
        min_post(work, children, parents, post, least)
    return bool(saturated)


@njit(cache=True, nogil=True)
def _reversed_rows(offsets, children):
    """int32[m]: each row from last to first."""
    turned = np.empty_like(children)
    for u in range(offsets.shape[0] - 1):
        first, last = offsets[u], offsets[u + 1]
        for k in range(first, last):
            turned[k] = children[first + last - 1 - k]
    return turned


@njit(cache=True, nogil=True)
def _write(lanes, width, dim, pair, least, post):
    """Lay pair `pair` into the records of `labels.Labels`; least, post int32[n]. No positive cut: t is `NEVER`."""
    for v in range(least.shape[0]):
        lanes[v * width + 2 * pair] = least[v]
        lanes[v * width + 2 * pair + 1] = -post[v]
        lanes[v * width + 2 * dim + 1 + pair] = NEVER
