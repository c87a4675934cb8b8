"""A search from every vertex, one after the other (Fenz et al. 2022, sections 2.3 and 3.10, after Harish and
Narayanan).

The report's vector E is `targets` here, E_idx is `offsets`, C is `found` and M is `mask`. Reachability needs only one
kernel, which updates `found` in place. The device holds O(n + m): each row of the closure is copied to the host as soon
as it is complete.
"""

from __future__ import annotations

import numpy as np

from grailbench.cuda.gateway import cuda
from grailbench.problems.closure.gpu.floyd import THREADS


@cuda.jit(cache=True)
def _start(found, mask, source):
    """Sets found and mask, int32[n], to 1 at the source and 0 elsewhere."""
    v = cuda.grid(1)
    if v < found.shape[0]:
        found[v] = mask[v] = 1 if v == source else 0


@cuda.jit(cache=True)
def _relax(offsets, targets, found, mask, flag):
    """Unmarks each marked vertex, and marks and finds its new children; one thread per vertex. Sets flag, int32[1].

    Two threads may mark the same vertex; both write the same values. A vertex marked in this launch may be processed in
    it or in the next one, so the number of launches per search varies.
    """
    u = cuda.grid(1)
    if u < found.shape[0] and mask[u]:
        mask[u] = 0
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            if not found[v]:
                found[v] = 1
                mask[v] = 1
                flag[0] = 1


class Searches:
    """The arrays on device and host for searches from every vertex.

    offsets: int64[n + 1] and targets: int32[m], on the device.
    """

    def __init__(self, offsets, targets, vertices: int):
        self._graph = offsets, targets
        self._found, self._mask = (cuda.device_array(vertices, np.int32) for _ in range(2))
        self._flag = cuda.device_array(1, np.int32)
        self._host, self._zero = np.zeros(1, np.int32), np.zeros(1, np.int32)
        self._blocks = -(-vertices // THREADS)

    def search(self, source: int) -> None:
        """Finds what `source` reaches, itself included, and waits for the device."""
        _start[self._blocks, THREADS](self._found, self._mask, source)
        self._host[0] = 1
        while self._host[0]:
            self._flag.copy_to_device(self._zero)
            _relax[self._blocks, THREADS](*self._graph, self._found, self._mask, self._flag)
            self._flag.copy_to_host(self._host)

    def fetch(self, row) -> None:
        """Copies the result of the last search to int32[n] on the host."""
        self._found.copy_to_host(row)
