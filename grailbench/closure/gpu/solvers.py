"""The solvers of the closures on a GPU: what each allocates, copies, launches and counts.

The phases `host_to_device`, `kernel`, `count_edges` and `device_to_host` are timed by events (`device.timers`).
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from grailbench.closure import bits as packed
from grailbench.closure.condense import condense
from grailbench.closure.gpu import floyd, matmul, sssp, sweep, warshall
from grailbench.closure.index import Closed, Relation, Solver, Timer
from grailbench.device.arrays import Managed, Mapped, Pitched
from grailbench.device.describe import require_memory
from grailbench.device.gateway import cuda, simulated
from grailbench.device.timers import Phases

_COUNTING = (2, 16) if simulated else (528, 256)  #: blocks and threads of the kernels that count


def _require(size: int, vertices: int) -> None:
    require_memory(size, f"the closure of {vertices:,} vertices by this implementation")


class _Total:
    """A counter on the device."""

    def __init__(self):
        self._zero = np.zeros(1, np.int64)
        self.device = cuda.to_device(self._zero)

    def clear(self) -> None:
        self.device.copy_to_device(self._zero)

    def read(self) -> int:
        return int(self.device.copy_to_host()[0])


class _OnMatrix(Solver):
    """Copies a matrix of 32-bit integers to the device, closes it there, by `naive` unless a subclass says otherwise,
    and copies it back."""

    def __init__(self, relation: Relation):
        self.vertices = relation.vertices
        self._given = relation.matrix
        self.held_bytes = self._device_bytes()
        _require(self.held_bytes, self.vertices)
        self._total = _Total()
        self._allocate()
        cuda.synchronize()

    def solve(self, timer: Timer) -> Closed:
        """Copies in, closes, counts, copies out."""
        phases, n = Phases(), self.vertices
        with phases.phase("host_to_device"):
            self._upload()
        with phases.phase("kernel"):
            self._close()
        self._total.clear()
        with phases.phase("count_edges"):
            floyd.count_entries[_COUNTING](self._counted(), self._pitch(), n, self._total.device)
        with phases.phase("device_to_host"):
            found = self._download()
        phases.hand_over(timer.record)
        return Closed(n, self._total.read(), matrix=found)

    def _device_bytes(self) -> int:
        return 4 * self.vertices**2

    @abstractmethod
    def _allocate(self) -> None: ...

    @abstractmethod
    def _upload(self) -> None: ...

    def _close(self) -> None:
        floyd.run_naive(self._counted(), self.vertices)
        self.counters = {"launches": self.vertices}

    @abstractmethod
    def _counted(self):
        """The closure on the device, int32[rows * pitch]."""

    def _pitch(self) -> int:
        return self.vertices

    @abstractmethod
    def _download(self) -> np.ndarray: ...


class _Plain(_OnMatrix):
    """A device array of numba, and pageable memory on the host."""

    def _allocate(self) -> None:
        self._host = self._input = np.ascontiguousarray(self._given)
        self._device = cuda.device_array(self._host.shape, np.int32)
        self._found = np.empty_like(self._host)

    def _upload(self) -> None:
        self._device.copy_to_device(self._input)

    def _counted(self):
        return self._device.reshape(self._device.size)

    def _download(self) -> np.ndarray:
        self._device.copy_to_host(self._found)
        return self._found


class _Pinned(_Plain):
    def _allocate(self) -> None:
        super()._allocate()
        self._input, self._found = (cuda.pinned_array(self._given.shape, np.int32) for _ in range(2))
        self._input[:] = self._given


class _ZeroCopy(_OnMatrix):
    """The kernel works on host memory: nothing is copied, and the closure overwrites the input."""

    def _device_bytes(self) -> int:
        return 0

    def _allocate(self) -> None:
        self._mapped = Mapped(self._given.size, np.int32)

    def solve(self, timer: Timer) -> Closed:
        """Restores the input first, apart: in the report the program reads the graph into this memory."""
        with timer.phase("refill", apart=True):
            self._mapped.host[:] = self._given.ravel()
        return super().solve(timer)

    def _upload(self) -> None:
        pass

    def _counted(self):
        return self._mapped.array

    def _download(self) -> np.ndarray:
        return self._mapped.host.reshape(self._given.shape)


class _Pitched(_OnMatrix):
    kernel = staticmethod(lambda array, n: floyd.run_naive(array, n, floyd.pitched))

    def _device_bytes(self) -> int:
        return 4 * self.vertices * Pitched.pitch_of(self.vertices, np.int32)

    def _allocate(self) -> None:
        self._device = Pitched(self.vertices, self.vertices, np.int32)
        self._found = np.empty_like(self._given)

    def _upload(self) -> None:
        self._device.upload(self._given)

    def _close(self) -> None:
        self.kernel(self._device.array, self.vertices)
        self.counters = {"launches": self.vertices}

    def _counted(self):
        return self._device.array.reshape(self._device.array.size)

    def _pitch(self) -> int:
        return self._device.array.shape[1]

    def _download(self) -> np.ndarray:
        self._device.download(self._found)
        return self._found


class _Pitched2d(_Pitched):
    kernel = staticmethod(floyd.run_pitched_2d)


class _Tiled(_Plain):
    """The matrix padded to whole tiles by the host."""

    def _pitch(self) -> int:
        return floyd.EDGE * floyd.tiles(self.vertices)

    def _device_bytes(self) -> int:
        return 4 * self._pitch() ** 2

    def _allocate(self) -> None:
        n, side = self.vertices, self._pitch()
        self._input = np.zeros((side, side), np.int32)
        self._input[:n, :n] = self._given
        self._device = cuda.device_array((side, side), np.int32)
        self._found = np.empty((side, side), np.int32)

    def _close(self) -> None:
        self.counters = {"launches": floyd.run_tiled(self._device)}


class _Managed(_OnMatrix):
    def _allocate(self) -> None:
        self._device = Managed(self._given.size, np.int32)
        self._found = np.empty_like(self._given)

    def _upload(self) -> None:
        self._device.upload(self._given.ravel())

    def _counted(self):
        return self._device.array

    def _download(self) -> np.ndarray:
        self._device.download(self._found.ravel())
        return self._found


class _Matmul(_Plain):
    """Four matrices, as in the report."""

    def _device_bytes(self) -> int:
        return 16 * self.vertices**2

    def _allocate(self) -> None:
        super()._allocate()
        self._adjacency, self._power, self._following = (
            cuda.device_array(self._given.shape, np.int32) for _ in range(3)
        )

    def _upload(self) -> None:
        super()._upload()
        self._adjacency.copy_to_device(self._device)
        self._power.copy_to_device(self._device)

    def _close(self) -> None:
        products = matmul.run_powers(self._adjacency, self._power, self._following, self._device)
        self.counters = {"launches": products, "products": products}


class _SsspEach(Solver):
    """Searches from every vertex, and copies each row to the host when it is complete."""

    def __init__(self, relation: Relation):
        self.vertices = relation.vertices
        offsets, targets = relation.rows
        self._rows = offsets, targets if targets.size else np.zeros(1, np.int32)
        self.held_bytes = self._rows[0].nbytes + self._rows[1].nbytes + 8 * self.vertices
        _require(self.held_bytes, self.vertices)
        self._device = tuple(cuda.device_array(rows.shape, rows.dtype) for rows in self._rows)
        self._found = np.empty((self.vertices, self.vertices), np.int32)
        self._searches = sssp.Searches(*self._device, self.vertices)
        cuda.synchronize()

    def solve(self, timer: Timer) -> Closed:
        """Copies the edges in, then searches and copies out in turns, both timed by the host's clock."""
        phases, searches = Phases(), self._searches
        with phases.phase("host_to_device"):
            for device, host in zip(self._device, self._rows, strict=True):
                device.copy_to_device(host)
        phases.hand_over(timer.record)
        for source in range(self.vertices):
            with timer.phase("kernel"):
                searches.search(source)
            with timer.phase("device_to_host"):
                searches.fetch(self._found[source])
        with timer.phase("count_edges"):
            edges = int(np.count_nonzero(self._found)) - self.vertices
        return Closed(self.vertices, edges, matrix=self._found)


class _WarshallBits(Solver):
    """Packed rows, padded to whole tiles, copied from and to pinned memory."""

    def __init__(self, relation: Relation):
        self.vertices = n = relation.vertices
        self.held_bytes = warshall.device_bytes(n)
        _require(self.held_bytes, n)
        shape = warshall.padded(n)
        self._input, self._found = (cuda.pinned_array(shape, np.uint64) for _ in range(2))
        self._input[:] = 0
        self._input[:n, : packed.words(n)] = relation.bits
        self._device, self._total = cuda.device_array(shape, np.uint64), _Total()
        self.counters = {"launches": 1, "steps": shape[0] // warshall.PIVOTS}
        cuda.synchronize()

    def solve(self, timer: Timer) -> Closed:
        """Copies in, closes, counts, copies out."""
        phases = Phases()
        with phases.phase("host_to_device"):
            self._device.copy_to_device(self._input)
        with phases.phase("kernel"):
            warshall.close(self._device)
        self._total.clear()
        with phases.phase("count_edges"):
            warshall.count_and_clear[_COUNTING](self._device, self.vertices, self._total.device)
        with phases.phase("device_to_host"):
            self._device.copy_to_host(self._found)
        phases.hand_over(timer.record)
        return Closed(self.vertices, self._total.read(), bits=self._found)


class _CondenseBits(Solver):
    """The host condenses; the device computes the closure from the graph of the components."""

    def __init__(self, relation: Relation):
        self.vertices = n = relation.vertices
        self._bits = relation.bits
        self.held_bytes = 2 * self._bits.nbytes
        _require(self.held_bytes + relation.graph.targets.nbytes, n)
        self._reach = cuda.device_array(self._bits.size, np.uint64)
        self._closure, self._total = cuda.device_array(self._bits.shape, np.uint64), _Total()
        self._found = cuda.pinned_array(self._bits.shape, np.uint64)
        cuda.synchronize()

    def solve(self, timer: Timer) -> Closed:
        """Condenses, copies in, sweeps and counts, copies out."""
        phases, width = Phases(), self._bits.shape[1]
        with timer.phase("condense"):
            condensed = condense(self._bits)
            levels = sweep.levels(self._bits, condensed)
        self._total.clear()
        with phases.phase("host_to_device"):
            children = levels.children if levels.children.size else np.zeros(1, np.int32)
            arrays = (condensed.component, levels.starts, children, levels.order, levels.bounds)
            given = [cuda.to_device(array) for array in arrays]
        reach = self._reach[: condensed.count * width].reshape(condensed.count, width)
        with phases.phase("kernel"):
            sweep.sweep((*given, reach, self._closure, self._total.device))
        with phases.phase("device_to_host"):
            self._closure.copy_to_host(self._found)
        phases.hand_over(timer.record)
        self.counters = {
            "launches": 1,
            "components": condensed.count,
            "levels": levels.bounds.shape[0] - 1,
            "component_edges": int(levels.children.size),
        }
        return Closed(self.vertices, self._total.read(), bits=self._found)


#: the solver of each implementation in `catalog`
SOLVERS = {
    "matmul": _Matmul,
    "naive": _Plain,
    "pinned": _Pinned,
    "zero-copy": _ZeroCopy,
    "pitched": _Pitched,
    "pitched-2d": _Pitched2d,
    "tiled": _Tiled,
    "managed": _Managed,
    "sssp-each": _SsspEach,
    "warshall-bits-gpu": _WarshallBits,
    "condense-bits-gpu": _CondenseBits,
}
