"""Condensation, then bit sets of what each component reaches, last component first.

Components come in topological order (`closure.condense`), so when one is swept, all that it leads to are done. Its set
starts as the union of its members' rows. The set of a component that a bit of it names is or'ed in, unless an
earlier one held that bit already (Goralcikova and Koubek 1979): what is reached through another needs no union of
its own.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from grailbench.closure.bits import lowest
from grailbench.closure.condense import Condensed


def sweep(bits: np.ndarray, condensed: Condensed) -> np.ndarray:
    """The closure of uint64[n, words], as a new matrix, the diagonal clear."""
    reach = _reach(bits, condensed.component, condensed.starts, condensed.members)
    return _spread(reach, condensed.component)


@njit(cache=True)
def _reach(bits, component, starts, members):
    """uint64[k, words]: what each component reaches, its own members included."""
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
    """uint64[n, words]: every vertex gets its component's row, less itself."""
    n = component.shape[0]
    out = np.empty((n, reach.shape[1]), np.uint64)
    for u in range(n):
        out[u] = reach[component[u]]
        out[u, u >> 6] &= ~(np.uint64(1) << np.uint64(u & 63))
    return out
