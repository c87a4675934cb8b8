"""Condensation, then a bit set per component of the vertices that it reaches, from the last component to the first.

The components are in topological order (`closure.condense`), so the components that one leads to are complete before
it. Its set begins as the union of its members' rows. For each bit in it, the set of the component of that vertex is
or'ed in, unless a set or'ed in before already held the bit (Goralcikova and Koubek 1979).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.closure.bits import lowest
from grailbench.closure.condense import Condensed


def sweep(bits: np.ndarray, condensed: Condensed) -> np.ndarray:
    """Returns the closure of uint64[n, words] as a new matrix with a clear diagonal."""
    reach = _reach(bits, condensed.component, condensed.starts, condensed.members)
    return _spread(reach, condensed.component)


@njit(cache=True)
def _reach(bits, component, starts, members):
    """Returns the vertices that each component reaches, its own members included, as uint64[k, words]."""
    count, width = starts.shape[0] - 1, bits.shape[1]
    reach = np.zeros((count, width), np.uint64)
    done = np.empty(width, np.uint64)
    for c in range(count - 1, -1, -1):
        row = reach[c]
        done[:] = np.uint64(0)
        for k in range(starts[c], starts[c + 1]):
            u = members[k]
            done[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
            for w in range(width):
                row[w] |= bits[u, w]
        for w in range(width):
            row[w] |= done[w]
        for w in range(width):
            left = row[w] & ~done[w]
            while left:
                other = reach[component[w * 64 + lowest(left)]]
                for x in range(width):
                    row[x] |= other[x]
                    done[x] |= other[x]
                left = row[w] & ~done[w]
    return reach


@njit(cache=True)
def _spread(reach, component):
    """Returns the row of each vertex, uint64[n, words]: the row of its component without the vertex itself."""
    n = component.shape[0]
    out = np.empty((n, reach.shape[1]), np.uint64)
    for u in range(n):
        out[u] = reach[component[u]]
        out[u, u >> 6] &= ~(np.uint64(1) << np.uint64(u & 63))
    return out
