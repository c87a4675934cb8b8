"""Keys of vertices, by which kernels choose among them: a hash that can be undone, `graph.hashing.mixed`."""

from __future__ import annotations

import numpy as np

from grailbench.cuda.gateway import cuda, of_cpu
from grailbench.graph import hashing

mixed = of_cpu(hashing.mixed)
_unmixed = of_cpu(hashing.unmixed)


@cuda.jit(device=True)
def priority(vertex, salt):
    """Returns the key of a vertex, int32; no two vertices have the same."""
    return np.int32(np.int64(mixed(vertex, salt)) - 2147483648)


@cuda.jit(device=True)
def unmixed(key, salt):
    """Returns the vertex whose key is `key`, int32."""
    return np.int32(_unmixed(np.uint64(np.int64(key) + 2147483648), salt))
