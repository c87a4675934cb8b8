"""The common part of the labeling pipelines on a GPU: phases, child orders, and labels.

A pipeline is a `Work`: its arrays, and how it labels one pair. Importing this module imports CUDA.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
from numba import njit

from grailbench.cuda.describe import require_memory
from grailbench.cuda.frontier import Enterprise, Frontier
from grailbench.cuda.gateway import cuda, require
from grailbench.cuda.graphs import DeviceDag, rows_bytes, upload_dag
from grailbench.errors import InputError
from grailbench.graph.csr import Dag
from grailbench.problems.reachability.cpu.traverse import shuffle_rows
from grailbench.problems.reachability.index import Params, Timer
from grailbench.problems.reachability.labels import NEVER, Labels, empty


class Clock:
    """Times the phases of a build by the host's clock, each with a final synchronize; the rest is the overhead."""

    def __init__(self, timer: Timer):
        self._timer = timer

    @contextmanager
    def phase(self, name: str, excluded: bool = False):
        """Times the body, including the device's work."""
        with self._timer.phase(name, excluded):
            yield
            cuda.synchronize()

    def close(self) -> None:
        """Records `overhead`, to which the timer adds the time outside the phases."""
        cuda.synchronize()
        self._timer.record("overhead", 0.0)


@dataclass(frozen=True)
class Built:
    """The result of a labeling: labels on host and device, the graph on the device, and work counts.

    pairs: starts and ends, int32[d, n] each, on the device.
    """

    labels: Labels
    pairs: tuple
    graph: DeviceDag
    counts: dict[str, int]
    shape: Enterprise


class Work:
    """The device arrays of a pipeline, allocated once for all pairs, and how it labels one pair.

    order_phase  the phase that times the child order; None to count it as overhead
    """

    order_phase: str | None = None

    def __init__(self, dag: Dag, shape: Enterprise, prefix: type):
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

    @abstractmethod
    def label_pair(self, dag: Dag, order: np.ndarray, graph: DeviceDag, labels: tuple, clock: Clock) -> None:
        """Labels one pair. order int32[m]: the children in visiting order, the same as in `graph.children`.

        labels: least and post, int32[n] each, on the device; they are written.
        """

    def counts(self) -> dict[str, int]:
        """Returns the work counts for all pairs, by name, beside those of launches."""
        return {}


def common_bytes(dag: Dag, dim: int, method_bytes: int, searching_bytes: int) -> int:
    """Returns the device bytes of graph and labels, and of the larger of the method's and the searcher's buffers."""
    return 2 * rows_bytes(dag.vertices, dag.edges) + 8 * dim * dag.vertices + max(method_bytes, searching_bytes)


def label_by(make: Callable[[], Work], need: int, dag: Dag, params: Params, timer: Timer, shape: Enterprise) -> Built:
    """Labels `dag` with `params.dim` pairs in the child orders of `sequential`, by the method that `make` returns.

    Raises MachineLacks without a device, TooLittleMemory if fewer than `need` bytes are free there, before allocating
    any, and InputError for a DAG of several roots.
    """
    require()
    require_memory(need, f"labeling {dag.vertices:,} vertices and {dag.edges:,} edges on the GPU, d = {params.dim},")
    _require_super_root(dag)
    clock = Clock(timer)
    with clock.phase("allocate", excluded=True):
        method = make()
        pairs = tuple(cuda.device_array((params.dim, dag.vertices), np.int32) for _ in range(2))
    with clock.phase("transfer", excluded=True):
        graph = upload_dag(dag)
    labels = empty(dag.vertices, params.dim)
    for pair in range(params.dim):
        least, post = (column[pair] for column in pairs)
        with clock.phase(method.order_phase) if method.order_phase else nullcontext():
            order = _ordered(dag, params, pair)
        if order is not dag.children and order.size:
            with clock.phase("transfer", excluded=True):
                graph.children.edges.copy_to_device(order)
        method.label_pair(dag, order, graph, (least, post), clock)
        _write(labels.lanes, int(labels.width), params.dim, pair, least.copy_to_host(), post.copy_to_host())
    counts = method.counts() | {
        "label_launches": method.frontier.launches,
        "label_generations": method.frontier.generations,
    }
    clock.close()
    return Built(labels, pairs, graph, counts, shape)


def _require_super_root(dag: Dag) -> None:
    """Raises InputError unless the last vertex is the only one without a parent: every top-down BFS starts there."""
    roots = np.flatnonzero(np.diff(dag.parent_offsets) == 0)
    fault = f"{roots.size} vertices have no parent" if roots.size != 1 else None
    if fault is None and roots[0] != dag.vertices - 1:
        fault = f"vertex {roots[0]} has no parent, and is not the last vertex"
    if fault:
        raise InputError(fault, remedy="condense() adds the one super-root that is needed, as the last vertex")


def _ordered(dag: Dag, params: Params, pair: int) -> np.ndarray:
    """Returns the children in the order in which pair `pair` visits them, int32[m] (see `cpu.grail`)."""
    if params.order == "lexicographic" and pair == 0:
        return dag.children
    if params.order == "lexicographic" and pair == 1:
        return _reversed_rows(dag.offsets, dag.children)
    return shuffle_rows(dag.offsets, dag.children, params.seed, pair, params.workers)


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
