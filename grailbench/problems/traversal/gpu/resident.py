"""A network on the device, and the base classes of its solvers."""

from collections import namedtuple

import numpy as np

from grailbench.cuda.describe import require_memory
from grailbench.cuda.gateway import cuda, simulated
from grailbench.cuda.launch import Prepared
from grailbench.errors import MachineLacks
from grailbench.problems.traversal.index import Network, Solver, Timer

MOST_EDGES = 2**31 - 1


class Rows(namedtuple("Rows", "starts targets weights")):
    """Arrays on the device: starts int32[n + 1], targets int32[m], weights int32[m], or one element without weights."""


def upload(network: Network, more: int = 0) -> Rows:
    """Copies a network to the device. `more` is the number of bytes that the solver will take in addition.

    Raises MachineLacks if the network does not fit, or has more edges than 32-bit row starts can count.
    """
    if network.edges > MOST_EDGES:
        raise MachineLacks(f"{network.edges:,} edges are more than 32-bit row starts can count")
    arrays = 2 if network.weights is None else 3
    require_memory(4 * (network.vertices + 1) + 4 * (arrays - 1) * network.edges + more, "the network and its search")
    return Rows(
        cuda.to_device(network.offsets.astype(np.int32)),
        _to_device(network.targets),
        _to_device(np.empty(0, np.int32) if network.weights is None else network.weights),
    )


def turned(network: Network, rows: Rows) -> Rows:
    """Returns the reversed edges; these are the same arrays if the graph is undirected."""
    if network.symmetric:
        return rows
    offsets, sources = network.reverse
    return Rows(cuda.to_device(offsets.astype(np.int32)), _to_device(sources), rows.weights)


def _to_device(values: np.ndarray):
    return cuda.to_device(values if values.size else np.zeros(1, values.dtype))  # numba copies no empty arrays


def usual_threads() -> int:
    """Returns the threads per block; few in the simulator, where each is a Python thread."""
    return 4 if simulated else 256


def blocks_for(items: int, threads: int) -> int:
    """Returns the blocks that give each of `items` one thread, at least 1."""
    return max(1, -(-items // threads))


class OnDevice(Solver):
    """Computes distances on the device; `solve` copies them to the host in an excluded phase.

    Subclasses set `distances` (int32 on the device) and define `search`, which waits for the device.
    """

    distances: object

    def search(self, source: int) -> None:
        """Fills `distances`."""
        raise NotImplementedError

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        """Searches; the copy of the distances to the host is phase `transfer`."""
        self.search(source)
        with timer.phase("transfer", excluded=True):
            return self.distances.copy_to_host()


class OneLaunch(OnDevice):
    """Makes one prepared launch per search; the counts of its kernel are read after the distances. Subclasses set
    `counts`, the position of each in `_counted`, and `_launch`, which reads the source in `_query`."""

    counts: dict[str, int]
    _launch: Prepared

    def __init__(self, counted: int):
        """counted: the length of `_counted`, int32 on the device."""
        self._query = cuda.mapped_array(1, np.int32)
        self._counted = cuda.to_device(np.zeros(counted, np.int32))

    def search(self, source: int) -> None:
        """Searches by one launch."""
        self._query[0] = source
        self._launch.launch()
        cuda.synchronize()
        self.count(launches=1)

    def solve(self, source: int, timer: Timer) -> np.ndarray:
        """Searches, and then reads the counts."""
        found = super().solve(source, timer)
        counted = self._counted.copy_to_host()
        self.count(**{name: counted[place] for name, place in self.counts.items()})
        return found


@cuda.jit(cache=True)
def fill(values, value):
    """Sets all of values, int32[n], to value."""
    for i in range(cuda.grid(1), values.shape[0], cuda.gridsize(1)):
        values[i] = value
