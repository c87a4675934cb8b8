"""The solvers of the closures on a GPU: what each allocates, copies, launches and counts.

The phases `host_to_device`, `kernel`, `count_edges` and `device_to_host` are timed by events (`device.timers`).
"""

from collections.abc import Iterator

import numpy as np

from grailbench.cuda import device_arrays
from grailbench.cuda.describe import memory as free_on_device
from grailbench.cuda.describe import require_memory
from grailbench.cuda.floyd_warshall import TILES, Closing
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.timers import Phases
from grailbench.problems.closure import bits as packed
from grailbench.problems.closure.gpu import dense, sweep, warshall
from grailbench.problems.closure.gpu.sweep import Sets
from grailbench.problems.closure.index import Closed, Params, Relation, Solver, Streaming, Timer, block_words, remedy
from grailbench.problems.closure.index import require_memory as require_on_host

_COUNTING = (2, 16) if simulated else (528, 256)  #: blocks and threads of the kernels that count


def _require(size: int, vertices: int, remedy: str = "take a smaller graph, or a GPU with more") -> None:
    require_memory(size, f"the closure of {vertices:,} vertices by this implementation", remedy)


class Naive(Solver):
    """Copies a matrix to the device, closes it there and copies it back: in a device array of numba, from and to
    pageable memory of the host, by `naive`.

    form   the field of `Relation` that is copied, and of `Closed` that is found
    array  makes what holds it on the device, of a shape and a type of elements
    """

    form, array = "matrix", device_arrays.Plain

    def __init__(self, relation: Relation, params: Params):
        self.vertices = relation.vertices
        self._given = self._input = np.ascontiguousarray(getattr(relation, self.form))
        self.held_bytes = self._device_bytes()
        _require(self.held_bytes, self.vertices)
        self._zero = np.zeros(1, np.int64)
        self._total = cuda.to_device(self._zero)
        self._allocate()
        cuda.synchronize()

    def solve(self, timer: Timer) -> Closed:
        """Copies in, closes, counts, copies out."""
        phases = Phases()
        with phases.phase("host_to_device"):
            self._upload()
        with phases.phase("kernel"):
            self._close()
        self._total.copy_to_device(self._zero)
        with phases.phase("count_edges"):
            self._count()
        with phases.phase("device_to_host"):
            found = self._download()
        phases.hand_over(timer.record)
        return Closed(self.vertices, int(self._total.copy_to_host()[0]), **{self.form: found})

    def _device_bytes(self) -> int:
        return 4 * self.vertices * self._pitch()

    def _pitch(self) -> int:
        return self.vertices

    def _allocate(self) -> None:
        self._device, self._found = self.array(self._given.shape, np.int32), np.empty_like(self._given)

    def _upload(self) -> None:
        self._device.upload(self._input)

    def _close(self) -> None:
        dense.run_naive(self._row(), self.vertices)
        self.counters = {"launches": self.vertices}

    def _row(self):
        """Returns the matrix on the device, int32[rows * pitch]."""
        return self._device.array.reshape(self._device.array.size)

    def _count(self) -> None:
        dense.count_entries[_COUNTING](self._row(), self._pitch(), self.vertices, self._total)

    def _download(self) -> np.ndarray:
        self._device.download(self._found)
        return self._found


class Managed(Naive):
    array = device_arrays.Plain if simulated else device_arrays.Managed


class Pinned(Naive):
    def _allocate(self) -> None:
        super()._allocate()
        self._input, self._found = (cuda.pinned_array(self._given.shape, np.int32) for _ in range(2))
        self._input[:] = self._given


class ZeroCopy(Naive):
    """The kernel works on host memory: nothing is copied, and the closure overwrites the input."""

    def _device_bytes(self) -> int:
        return 0

    def _allocate(self) -> None:
        self._mapped = device_arrays.Mapped(self._given.size, np.int32)

    def solve(self, timer: Timer) -> Closed:
        """Restores the input first, in an excluded phase: the report's program reads the graph into this memory."""
        with timer.phase("refill", excluded=True):
            self._mapped.host[:] = self._given.ravel()
        return super().solve(timer)

    def _upload(self) -> None:
        pass

    def _row(self):
        return self._mapped.array

    def _download(self) -> np.ndarray:
        return self._mapped.host.reshape(self._given.shape)


class Pitched(Naive):
    array = device_arrays.Pitched
    kernel = staticmethod(lambda array, n: dense.run_naive(array, n, dense.pitched))

    def _pitch(self) -> int:
        return device_arrays.Pitched.pitch_of(self.vertices, np.int32)

    def _close(self) -> None:
        self.kernel(self._device.array, self.vertices)
        self.counters = {"launches": self.vertices}


class Pitched2D(Pitched):
    kernel = staticmethod(dense.run_pitched_2d)


class Tiled(Naive):
    """The matrix padded to whole tiles by the host."""

    side = dense.EDGE  #: of a tile

    def _pitch(self) -> int:
        return -(-self.vertices // self.side) * self.side

    def _device_bytes(self) -> int:
        return 4 * self._pitch() ** 2

    def _allocate(self) -> None:
        n, shape = self.vertices, (self._pitch(),) * 2
        self._input = np.zeros(shape, np.int32)
        self._input[:n, :n] = self._given
        self._device, self._found = self.array(shape, np.int32), np.empty(shape, np.int32)

    def _close(self) -> None:
        self.counters = {"launches": dense.run_tiled(self._device.array)}


class TiledRegisters(Tiled):
    """The same, padded to larger tiles."""

    side = TILES.side

    def _allocate(self) -> None:
        super()._allocate()
        self._closing = Closing(dense.or_both, self._device.array)

    def _close(self) -> None:
        self.counters = {"launches": self._closing.run()}


class Matmul(Naive):
    """Four matrices, as in the report."""

    def _device_bytes(self) -> int:
        return 16 * self.vertices**2

    def _allocate(self) -> None:
        super()._allocate()
        self._powers = [cuda.device_array(self._given.shape, np.int32) for _ in range(3)]

    def _upload(self) -> None:
        super()._upload()
        for power in self._powers[:2]:
            power.copy_to_device(self._device.array)

    def _close(self) -> None:
        products = dense.run_powers(*self._powers, self._device.array)
        self.counters = {"launches": products, "products": products}


class WarshallBitsGpu(Naive):
    """Packed rows, padded to whole tiles, copied from and to pinned memory."""

    form = "bits"

    def _device_bytes(self) -> int:
        return warshall.device_bytes(self.vertices)

    def _allocate(self) -> None:
        n, shape = self.vertices, warshall.padded(self.vertices)
        self._input, self._found = (cuda.pinned_array(shape, np.uint64) for _ in range(2))
        self._input[:] = 0
        self._input[:n, : packed.words(n)] = self._given
        self._device = self.array(shape, np.uint64)

    def _close(self) -> None:
        warshall.close(self._device.array)
        self.counters = {"launches": 1, "steps": self._device.array.shape[0] // warshall.PIVOTS}

    def _count(self) -> None:
        warshall.count_and_clear[_COUNTING](self._device.array, self.vertices, self._total)


class SsspEach(Solver):
    """Searches from every vertex, and copies each row to the host when it is complete."""

    def __init__(self, relation: Relation, params: Params):
        self.vertices = n = relation.vertices
        offsets, targets = relation.rows
        self._rows = offsets, targets if targets.size else np.zeros(1, np.int32)
        self.held_bytes = self._rows[0].nbytes + self._rows[1].nbytes + 8 * n
        _require(self.held_bytes, n)
        self._device = tuple(cuda.device_array(rows.shape, rows.dtype) for rows in self._rows)
        self._reached, self._mask = (cuda.device_array(n, np.int32) for _ in range(2))
        self._flag, self._found = cuda.device_array(1, np.int32), np.empty((n, n), np.int32)
        cuda.synchronize()

    def solve(self, timer: Timer) -> Closed:
        """Copies the edges in, then searches and copies out in turns, both timed by the host's clock."""
        phases = Phases()
        with phases.phase("host_to_device"):
            for device, host in zip(self._device, self._rows, strict=True):
                device.copy_to_device(host)
        phases.hand_over(timer.record)
        for source in range(self.vertices):
            with timer.phase("kernel"):
                self._search(source)
            with timer.phase("device_to_host"):
                self._reached.copy_to_host(self._found[source])
        with timer.phase("count_edges"):
            edges = int(np.count_nonzero(self._found)) - self.vertices
        return Closed(self.vertices, edges, matrix=self._found)

    def _search(self, source: int) -> None:
        """Finds what `source` reaches, itself included, and waits for the device."""
        grid = -(-self.vertices // dense.THREADS), dense.THREADS
        dense.start[grid](self._reached, self._mask, source)
        growing, none = np.ones(1, np.int32), np.zeros(1, np.int32)
        while growing[0]:
            self._flag.copy_to_device(none)
            dense.relax[grid](*self._device, self._reached, self._mask, self._flag)
            self._flag.copy_to_host(growing)


class _Condensing(Solver):
    """From edges: the device condenses, or the host what is small, and fills the sets of all targets, or of blocks."""

    def __init__(self, relation: Relation, params: Params):
        self.vertices, self._graph, self._memory = relation.vertices, relation.graph, params.memory

    def _sets(self, timer: Timer) -> Sets:
        """Orders the components and allocates sets."""
        n = self.vertices
        ordered = sweep.ordered(self._graph, timer)
        with timer.phase("allocate"):
            row = 8 * ordered.places
            if not self._memory:
                _require(row * packed.words(n), n, remedy(free_on_device()[0], row))
            sets = Sets(ordered, n, block_words(self._memory, row, n) if self._memory else packed.words(n))
            cuda.synchronize()
        self.held_bytes = sets.bytes
        # A block is filled by one launch and counted by another.
        self.counters = {"components": ordered.places - 1, "levels": ordered.levels - 1,
                         "component_edges": ordered.edges, "blocks": len(sets),
                         "launches": 2 * len(sets)}  # fmt: skip
        return sets


class CondenseBitsGpu(_Condensing):
    """Bits of all pairs, which are copied to pinned memory, or counted blocks."""

    def __init__(self, relation: Relation, params: Params):
        super().__init__(relation, params)
        n, self._found = self.vertices, None
        size = 8 * (n + 1) * packed.words(n)
        if not self._memory or self._memory >= size:
            require_on_host(packed.size(n), n, 8 * (n + 1))
            self._found = cuda.pinned_array((n, packed.words(n)), np.uint64)
        cuda.synchronize()

    def solve(self, timer: Timer) -> Closed:
        """Copies edges in and orders components, then fills, counts and copies out the sets."""
        sets = self._sets(timer)
        with timer.phase("kernel"):
            edges = sets.count()
        if self._found is None or not sets.whole:
            return Closed(self.vertices, edges, parts=sets.spread, reached=sets.reached)
        with timer.phase("device_to_host"):
            sets.bits_to(self._found)
        return Closed(self.vertices, edges, bits=self._found)


class CondensePairsGpu(_Condensing, Streaming):
    """All pairs, listed on the device and handed over in pinned memory."""

    def pairs(self, timer: Timer) -> Iterator[np.ndarray]:
        """Copies edges in and orders components, then fills sets and copies out pairs."""
        sets = self._sets(timer)
        with timer.phase("pairs"):
            yield from sets.pairs()
        self.reached = sets.reached
