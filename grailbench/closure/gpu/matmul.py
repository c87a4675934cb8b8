"""Powers of the adjacency matrix until they stop changing (Fenz et al. 2022, sections 2.1 and 3.2)."""

from __future__ import annotations

import numpy as np

from grailbench.closure.gpu.floyd import EDGE
from grailbench.device.gateway import cuda


@cuda.jit(cache=True)
def _multiply(adjacency, power, following, result, flag):
    """following = adjacency times power, or'ed into result; flag[0] = 1 where it differs from power.

    All int32[n, n], a thread an entry; int32[1].
    """
    j, i = cuda.grid(2)
    n = adjacency.shape[0]
    if i < n and j < n:
        found = 0
        for k in range(n):
            found |= adjacency[i, k] & power[k, j]
        following[i, j] = found
        if found:
            result[i, j] = 1
        if found != power[i, j]:
            flag[0] = 1


def run_powers(adjacency, power, following, result) -> int:
    """From three copies of the adjacency matrix and room for one more; returns how many products were made.

    A path to another vertex has at most n - 1 edges, so n - 2 products suffice; they end early when a power equals the
    one before it, which the host reads back after each, as in the report.
    """
    n = adjacency.shape[0]
    blocks = (-(-n // EDGE), -(-n // EDGE))
    flag, host = cuda.device_array(1, np.int32), np.zeros(1, np.int32)
    zero = np.zeros(1, np.int32)
    for product in range(1, n - 1):
        flag.copy_to_device(zero)
        _multiply[blocks, (EDGE, EDGE)](adjacency, power, following, result, flag)
        flag.copy_to_host(host)
        if not host[0]:
            return product
        power.copy_to_device(following)
    return max(n - 2, 0)
