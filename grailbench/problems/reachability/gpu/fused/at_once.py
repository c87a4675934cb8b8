"""Small graphs from edges: the host numbers them in one call, one copy brings them, and one launch labels them.

A graph of a few thousand edges is condensed and labelled sooner than its arrays are allocated and its launches are
prepared. So both are kept, with room for any such graph, and serve one index after the other.

Importing this module imports CUDA.
"""

from __future__ import annotations

import weakref
from functools import cache

import numpy as np

from grailbench.cuda import describe, device_arrays
from grailbench.cuda.allocator import Reused
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.graphs import DeviceLeveled, Outline
from grailbench.cuda.launch import SIMULATED_THREADS, Moving, Prepared, Shape, cooperative_shape, moved
from grailbench.cuda.timers import Span
from grailbench.graph import numbering
from grailbench.graph.csr import Graph
from grailbench.problems.reachability.gpu.fused import grid, small
from grailbench.problems.reachability.gpu.fused.batch import Searcher
from grailbench.problems.reachability.gpu.fused.hubs import Chooser, HubArrays
from grailbench.problems.reachability.gpu.fused.layout import record_width, salts
from grailbench.problems.reachability.gpu.fused.records import records_of
from grailbench.problems.reachability.gpu.fused.replicas import Replicas
from grailbench.problems.reachability.gpu.fused.search import Adjacency
from grailbench.problems.reachability.index import Params, Timer

MOST_EDGES = MOST_VERTICES = 1 << 17  #: below both is a graph that is built here; the super-root counts as a vertex

_spares = Reused()


def fits(graph: Graph) -> bool:
    """Returns whether a graph is small enough for `built`; a larger one is ready sooner on the device."""
    return graph.edges < MOST_EDGES and graph.vertices < MOST_VERTICES


@cache
def _most_in_shared_memory(_device: int) -> int:
    return small.most_vertices()


def built(graph: Graph, params: Params, timer: Timer) -> tuple[int, Replicas] | None:
    """Builds the index of a graph that `fits`, with vertices. None if it is deep: other ways are faster.

    Returns the number of edges of its DAG, and the index, which is asked vertices of `graph`.
    """
    with timer.phase("allocate"):
        space = _workspace(params, graph.vertices < _most_in_shared_memory(describe.current_device()))
    with timer.phase("condense"):
        fields, component = numbering.number(graph, space.given)
        outline = _outline(space.given, fields)
    if outline.deep:
        _spares.give(space.kind, space)
        return None
    with timer.phase("label"):
        replicas, ms = space.label(fields, outline, component)
        timer.record("on_device", ms)
    weakref.finalize(replicas, _spares.give, space.kind, space).atexit = False
    return outline.edges, replicas


def _outline(words: np.ndarray, fields: numbering.Fields) -> Outline:
    lengths = (part.stop - part.start for part in (fields.vertex, fields.sources, fields.deep_sources))
    levels = words[fields.level_starts].copy()
    return Outline(*lengths, levels, words[fields.edge_starts].copy(), words[fields.deep_starts][levels])


def _workspace(params: Params, shared: bool) -> Workspace:
    kind = describe.current_device(), params.dim, params.seed, shared
    return _spares.take(kind) or Workspace(kind)


class Workspace:
    """Memory for one small index, pinned memory `given` in which its graph is numbered, and launches."""

    def __init__(self, kind: tuple[int, int, int, bool]):
        """kind: the device, the number of label pairs, the seed, and whether graphs fit into shared memory."""
        self.kind = kind
        _, dim, seed, shared = kind
        self._most = n = _most_in_shared_memory(kind[0]) if shared else MOST_VERTICES
        size = numbering.most_words(n - 1, MOST_EDGES) + 2 * n  # and `grid.wide_levels`, and numbers of components
        self.given = cuda.pinned_array(size, np.int32)
        rows = (size, np.int32), (n * record_width(dim), np.int32), (2 * n, np.int64)
        self._there, self._lanes, self._hubs = device_arrays.allocate(*rows)
        (salt,) = device_arrays.copied(salts(seed, range(dim)))
        self._moving = tuple(Moving(self._there[:1]) for _ in numbering.Fields._fields)
        fields = numbering.Fields._make(self._moving)
        graph = DeviceLeveled(*(getattr(fields, name) for name in DeviceLeveled._fields))
        prepare = self._prepare_in_shared_memory if shared else self._prepare_on_the_grid
        self._launches = prepare(graph, fields.edge_starts, salt, dim)
        self._span, self._searcher = Span(), None

    def _prepare_in_shared_memory(self, graph: DeviceLeveled, edge_starts, salt, dim: int) -> tuple:
        args = graph, edge_starts, HubArrays.make(2), salt, self._lanes, self._hubs.view(np.int32)
        shape = Shape(dim + 2, SIMULATED_THREADS if simulated else small.THREADS)
        return (Prepared(small.kernel(dim), args, shape, small.shared_bytes(self._most), moving=self._moving),)

    def _prepare_on_the_grid(self, graph: DeviceLeveled, edge_starts, salt, dim: int) -> tuple:
        self._moving += (wide := Moving(device_arrays.reshaped(self._there[:1], (1, 1), np.int8)),)
        hubs = Chooser(graph, moving=self._moving)
        trees, sums = grid.rooms(self._most, dim)
        written = grid.Written(self._lanes, self._lanes.view(np.int64), self._hubs)
        args, code = (graph, wide, hubs.chosen, salt, trees, sums, written), grid.kernel(dim)
        shape = cooperative_shape(code, args, grid.THREADS, grid.PER_MULTIPROCESSOR)
        return hubs, Prepared(code, args, shape, moving=self._moving)

    def label(self, fields: numbering.Fields, outline: Outline, component=None) -> tuple[Replicas, float]:
        """Labels the graph in `given`; returns the index and the milliseconds of the device.

        component int32[n]: of each vertex that queries name, the vertex of the DAG; None if they name these.
        """
        _, dim, _, shared = self.kind
        end, n, barriers = fields.deep_targets.stop, outline.vertices, 0
        arrays = numbering.Fields._make([self._there[field] for field in fields])
        moving = tuple(arrays)
        if not shared:
            wide, begin = grid.wide_levels(outline), end
            end += -(-wide.size // 4)
            self.given[begin:end].view(np.int8)[: wide.size] = wide.reshape(-1)
            moving += (device_arrays.reshaped(self._there[begin:end], wide.shape, np.int8),)
            barriers = grid.barriers(wide)
        rank = arrays.rank
        if component is not None:
            begin, end = end, end + component.shape[0]
            self.given[begin:end] = self.given[fields.rank][component]
            rank = self._there[begin:end]
        device_arrays.bring(self._there, self.given, end)
        words = moved(self._moving, moving)
        with self._span:
            for launch in self._launches:
                launch.move(words)
                launch.launch()
        records = records_of(self._lanes[: n * record_width(dim)], dim, self._hubs[: 2 * n])
        adjacency = Adjacency(arrays.starts, arrays.targets, arrays.parent_starts, arrays.parents)
        given = rank, outline.level_starts, adjacency, records
        if self._searcher is None:
            self._searcher = Searcher(*given, vertices=self._most)
        else:
            self._searcher.serve(*given)
        work = {"label_launches": len(self._launches), "label_barriers": barriers}
        return Replicas.alone(self._searcher, records, work), self._span.ms
