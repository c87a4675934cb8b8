"""Labels one graph on one GPU: chooses the kernel, and has its arrays."""

from __future__ import annotations

import numpy as np

from grailbench.cuda import device_arrays
from grailbench.cuda.edges import library, staging
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.graphs import DeviceLeveled, Outline, leveled_bytes
from grailbench.cuda.launch import SIMULATED_THREADS, Prepared, Shape, cooperative_shape
from grailbench.graph.leveled import Leveled
from grailbench.problems.reachability.gpu.fused import grid, host, small
from grailbench.problems.reachability.gpu.fused.host import record_width, salts
from grailbench.problems.reachability.gpu.fused.hubs import Chooser, HubArrays
from grailbench.problems.reachability.gpu.fused.records import Records, records_of


class Labeler:
    """Labels one graph with `dim` pairs; allocates the device arrays once, for any number of runs.

    `device` is the graph on the device, with its rows of parents; `graph` is what the host knows of it. The others are
    for tests: `shared` forces or forbids the kernel in shared memory; `shape` and `narrow` are for that of the grid.
    """

    def __init__(
        self,
        graph: Outline,
        device: DeviceLeveled,
        dim: int,
        seed: int,
        shared: bool | None = None,
        shape: Shape | None = None,
        narrow: int = grid.NARROW,
    ):
        self._dim, n = dim, graph.vertices
        lanes, self._hubs = device_arrays.allocate((n * record_width(self._dim), np.int32), (2 * n, np.int64))
        self.records = records_of(lanes, self._dim, self._hubs)
        salt = salts(seed, range(dim))
        if shared if shared is not None else small.fits(graph.vertices):
            self._in_shared_memory(graph, device, salt)
        else:
            self._on_the_grid(graph, device, salt, shape, narrow)

    def _in_shared_memory(self, graph: Outline, device: DeviceLeveled, salt) -> None:
        n, dim = graph.vertices, self._dim
        edge_starts, salt = device_arrays.copied(graph.edge_starts.astype(np.int32), salt)
        args = device, edge_starts, HubArrays.make(2), salt, self.records.lanes, self._hubs.view(np.int32)
        shape = Shape(dim + 2, SIMULATED_THREADS if simulated else small.THREADS)
        self._launches = [Prepared(small.kernel(dim), args, shape, small.shared_bytes(n))]
        self.work = {"label_launches": 1, "label_barriers": 0}

    def _on_the_grid(self, graph: Outline, device: DeviceLeveled, salt, shape, narrow: int) -> None:
        n, dim = graph.vertices, self._dim
        hubs = Chooser(device)
        wide = grid.wide_levels(graph, narrow)
        (trees, sums), (on_device, salt) = grid.rooms(n, dim), device_arrays.copied(wide, salt)
        written = grid.Written(self.records.lanes, self.records.lanes.view(np.int64), self._hubs)
        args = device, on_device, hubs.chosen, salt, trees, sums, written
        code = grid.kernel(dim, grid.REGISTERS)
        shape = shape or cooperative_shape(code, args, grid.THREADS, grid.PER_MULTIPROCESSOR)
        self._launches = [hubs, Prepared(code, args, shape)]
        self.work = {"label_launches": 2, "label_barriers": grid.barriers(wide)}

    def release(self) -> None:
        """Frees all device arrays but the labels."""
        self._launches = []

    def run(self) -> Records:
        """Labels; does not wait."""
        for launch in self._launches:
            launch.launch()
        return self.records


@cuda.jit(cache=True)
def _interleave(column, lanes, width, lane):
    """Copies a column, int32[n], to a lane of the records, int32[n * width]."""
    for v in range(cuda.grid(1), column.shape[0], cuda.gridsize(1)):
        lanes[np.int64(v) * width + lane] = column[v]


class HostLabeler:
    """As `Labeler`, for a deep graph: `host` makes the labels, which are copied to the device."""

    work = {"label_launches": 0, "label_barriers": 0}

    def __init__(self, graph: Leveled, dim: int, seed: int):
        self._graph, self._dim, self._seed = graph, dim, seed

    def release(self) -> None:
        """Nothing on the device but the labels is held."""

    def run(self) -> Records:
        """Labels, and waits for the copies."""
        n, dim = self._graph.vertex.shape[0], self._dim
        width = record_width(dim)
        columns, words = host.labels_on_host(self._graph, dim, salts(self._seed, range(dim)))
        (lanes,), (hubs,) = device_arrays.allocate((n * width, np.int32)), device_arrays.copied(words.view(np.int64))
        columns = staging.to_device(*columns)
        for lane in range(width):
            column = columns[lane] if lane < len(columns) else library.full(n, 0, np.int32)
            library.launch(_interleave, n, column, lanes, width, lane)
        return records_of(lanes, dim, hubs)


def device_bytes(vertices: int, edges: int, depth: int, dim: int) -> int:
    """Returns the most bytes of the device for graph, index, scratch and searches of a DAG, without batches of queries
    and sweeps."""
    graph = leveled_bytes(vertices, edges, edges, depth, True)
    return graph + vertices * (4 * record_width(dim) + 16 + 24 * dim) + 256 * 2**20
