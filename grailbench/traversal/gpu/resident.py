"""A network on the device, and what its solvers share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grailbench.device.describe import require_memory
from grailbench.device.gateway import cuda, simulated
from grailbench.device.launch import Prepared
from grailbench.errors import MachineLacks
from grailbench.traversal.index import Network, Solver, Timer

MOST_EDGES = 2**31 - 1


class Rows(NamedTuple):
    """starts int32[n + 1], targets int32[m], weights int32[m] (or one element where there are none), on the device."""

    starts: object
    targets: object
    weights: object


def upload(network: Network, more: int = 0) -> Rows:
    """Copy a network to the device. `more`: bytes that the solver will take besides.

    Raises MachineLacks when it does not fit, or has more edges than 32-bit row starts can count.
    """
    if network.edges > MOST_EDGES:
        raise MachineLacks(f"{network.edges:,} edges are more than 32-bit row starts can count")
    arrays = 2 if network.weights is None else 3
    require_memory(4 * (network.vertices + 1) + 4 * (arrays - 1) * network.edges + more, "the network and its search")
    return Rows(
        cuda.to_device(network.offsets.astype(np.int32)),
        _there(network.targets),
        _there(np.empty(0, np.int32) if network.weights is None else network.weights),
    )


def turned(network: Network, rows: Rows) -> Rows:
    """The rows of the edges turned round; the same arrays where every edge is there both ways."""
    if network.symmetric:
        return rows
    offsets, sources = network.reverse
    return Rows(cuda.to_device(offsets.astype(np.int32)), _there(sources), rows.weights)


def _there(values: np.ndarray):
    return cuda.to_device(values if values.size else np.zeros(1, values.dtype))  # no empty arrays on the device


def usual_threads() -> int:
    """Threads of a block; a simulated thread is a Python thread: few of them."""
    return 4 if simulated else 256


def blocks_for(items: int, threads: int) -> int:
    """Blocks that give each of `items` a thread."""
    return max(1, -(-items // threads))


class OnDevice(Solver):
    """Leaves the distances on the device, where `solve` fetches them from in a phase apart.

    Subclasses set `distances` (int32 on the device) and `search`, which waits until the device has done.
    """

    distances: object

    def __init__(self):
        self.counters: dict[str, int] = {}

    def search(self, source: int) -> None:
        """Fill `distances`."""
        raise NotImplementedError

    def count(self, **more: int) -> None:
        """Add to the counters."""
        for name, value in more.items():
            self.counters[name] = self.counters.get(name, 0) + int(value)

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        """Search; copying the distances to the host is phase `transfer`."""
        self.search(source)
        with timer.phase("transfer", apart=True):
            return self.distances.copy_to_host()


class OneLaunch(OnDevice):
    """One prepared launch a search; what its kernel counts is read when the distances are.

    Subclasses set `counts`, the places of each count in `_counted`, and `_launch`, which reads the source in `_asked`.
    """

    counts: dict[str, int]
    _launch: Prepared

    def __init__(self, counted: int):
        """counted: the length of `_counted`, int32 on the device."""
        super().__init__()
        self._asked = cuda.mapped_array(1, np.int32)
        self._counted = cuda.to_device(np.zeros(counted, np.int32))

    def search(self, source: int) -> None:
        """One launch."""
        self._asked[0] = source
        self._launch.launch()
        cuda.synchronize()
        self.count(launches=1)

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        """Search; what it did is read when the distances are."""
        found = super().solve(source, timer)
        counted = self._counted.copy_to_host()
        self.count(**{name: counted[place] for name, place in self.counts.items()})
        return found


@cuda.jit(cache=True)
def fill(values, value):
    """values[...] = value; values int32[n]."""
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        values[i] = value
