"""Labels one graph on one GPU: chooses the kernel, and has its arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grailbench.device.gateway import cuda, simulated
from grailbench.device.launch import SIMULATED_THREADS, Prepared, Shape, cooperative_shape
from grailbench.device.leveled import DeviceLeveled, leveled_bytes
from grailbench.graph.leveled import Leveled
from grailbench.reachability.gpu.fused import grid, small
from grailbench.reachability.gpu.fused.hubs import Chooser, HubArrays
from grailbench.reachability.gpu.fused.records import Records, record_width, records_of, salts


class Labeler:
    """Labels one graph with the given pairs; allocates the device arrays once, for any number of runs.

    The i-th of `pairs` has lanes 2 i and 2 i + 1, the first one also the interval of its tree. `device` is the graph on
    the device, with its rows of parents. The others are for tests and measurements: `shared` forces or forbids the
    kernel in shared memory; `shape`, `narrow` and `registers` are for the kernel of the grid.
    """

    def __init__(
        self,
        graph: Leveled,
        device: DeviceLeveled,
        pairs: Sequence[int],
        seed: int,
        shared: bool | None = None,
        shape: Shape | None = None,
        narrow: int = grid.NARROW,
        registers: int | None = grid.REGISTERS,
    ):
        self._dim = len(pairs)
        lanes = cuda.device_array(graph.vertex.shape[0] * record_width(self._dim), np.int32)
        self._hubs = cuda.device_array(2 * graph.vertex.shape[0], np.int64)
        self.records = records_of(lanes, self._dim, self._hubs)
        salt = cuda.to_device(salts(seed, pairs))
        if shared if shared is not None else small.fits(graph.vertex.shape[0]):
            self._in_shared_memory(graph, device, salt)
        else:
            self._on_the_grid(graph, device, salt, shape, narrow, registers)

    def _in_shared_memory(self, graph: Leveled, device: DeviceLeveled, salt) -> None:
        n, dim = graph.vertex.shape[0], self._dim
        edge_starts = cuda.to_device(graph.starts[graph.level_starts].astype(np.int32))
        args = device, edge_starts, HubArrays.make(2), salt, self.records.lanes, self._hubs.view(np.int32)
        shape = Shape(dim + 2, SIMULATED_THREADS if simulated else small.THREADS)
        self._launches = [Prepared(small.kernel(dim), args, shape, small.shared_bytes(n))]
        self.work = {"label_launches": 1, "label_barriers": 0}

    def _on_the_grid(self, graph: Leveled, device: DeviceLeveled, salt, shape, narrow: int, registers) -> None:
        n, dim = graph.vertex.shape[0], self._dim
        hubs = Chooser(device)
        wide = grid.wide_levels(graph, narrow)
        trees = grid.Trees(*(cuda.device_array(n * dim, np.int32) for _ in grid.Trees._fields))
        sums = cuda.device_array(4096 * dim, np.int64)
        written = grid.Written(self.records.lanes, self.records.lanes.view(np.int64), self._hubs)
        args = device, cuda.to_device(wide), hubs.chosen, salt, trees, sums, written
        code = grid.kernel(dim, registers)
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


def device_bytes(vertices: int, edges: int, depth: int, dim: int, devices: int = 1) -> int:
    """Returns the most bytes that labeling and searching a DAG take on each of `devices` devices.

    These are the bytes of graph, index, scratch and searches, without batches of queries and sweeps. Each of several
    devices also holds the records of its own pairs, and the columns that they exchange.
    """
    own = -(-dim // devices)
    graph = leveled_bytes(vertices, edges, edges, depth, True)
    labels = vertices * (4 * record_width(own) + 16) + 24 * vertices * own
    exchange = vertices * (4 * record_width(dim) + 8 * (own + 2)) if devices > 1 else 0
    return graph + labels + exchange + 256 * 2**20
