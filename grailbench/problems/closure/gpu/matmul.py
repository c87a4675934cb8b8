"""Powers of the adjacency matrix until they stop changing (Fenz et al. 2022, sections 2.1 and 3.2)."""

from __future__ import annotations

import numpy as np

from grailbench.cuda.gateway import cuda
from grailbench.problems.closure.gpu.floyd import EDGE


@cuda.jit(cache=True)
def _multiply(adjacency, power, following, result, flag):
    """Computes following = adjacency times power, ors it into result, and sets flag[0] if it differs from power.

    All matrices are int32[n, n], flag is int32[1]; one thread per entry.
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
    """Multiplies until a power equals the one before it, and returns the number of products.

    `adjacency`, `power` and `result` begin as the adjacency matrix; `following` is scratch. A path to another vertex
    has at most n - 1 edges, so n - 2 products suffice. As in the report, the host reads a flag after each product.
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
