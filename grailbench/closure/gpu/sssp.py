"""A search from every vertex, one after the other (Fenz et al. 2022, sections 2.3 and 3.10, after Harish and
Narayanan).

Vector E of the report is `targets`, E_idx `offsets`, C `found`, M `mask`. Only reachability is asked, so one kernel
does, which updates `found` in place. The device holds O(|V| + |E|): a row of the closure goes to the host as soon
as it is made.
"""

from __future__ import annotations

import numpy as np

from grailbench.closure.gpu.floyd import THREADS
from grailbench.device.gateway import cuda


@cuda.jit(cache=True)
def _start(found, mask, source):
    """found, mask: int32[n]; both get 1 at the source and 0 elsewhere."""
    v = cuda.grid(1)
    if v < found.shape[0]:
        found[v] = mask[v] = 1 if v == source else 0


@cuda.jit(cache=True)
def _relax(offsets, targets, found, mask, flag):
    """A thread a vertex: one that is marked is unmarked, and marks what it finds first; int32[1] flag says 'some'.

    Two threads may mark one vertex; both write the same. A vertex marked in this launch may be taken in it or in
    the next, so how many launches a search takes is not the same each time.
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
    """Arrays of the device and the host for searches from every vertex.

    offsets: int64[n + 1], targets: int32[m], on the device; `row` is int32[n] on the host, the last row made.
    """

    def __init__(self, offsets, targets, vertices: int):
        self._graph = offsets, targets
        self._found, self._mask = (cuda.device_array(vertices, np.int32) for _ in range(2))
        self._flag = cuda.device_array(1, np.int32)
        self._host, self._zero = np.zeros(1, np.int32), np.zeros(1, np.int32)
        self._blocks = -(-vertices // THREADS)

    def search(self, source: int) -> None:
        """Mark what `source` reaches, itself included; has waited when it returns."""
        _start[self._blocks, THREADS](self._found, self._mask, source)
        self._host[0] = 1
        while self._host[0]:
            self._flag.copy_to_device(self._zero)
            _relax[self._blocks, THREADS](*self._graph, self._found, self._mask, self._flag)
            self._flag.copy_to_host(self._host)

    def fetch(self, row) -> None:
        """Copy what the last search found to int32[n] of the host."""
        self._found.copy_to_host(row)
