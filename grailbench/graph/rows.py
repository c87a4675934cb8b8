"""The edges of a graph as CSR: grouped by their sources, and turned round."""

import numpy as np

from grailbench.graph.instructions import prefetch
from grailbench.util.compiled import njit

_SOON, _FAR = 16, 32  #: edges by which `transpose` loads ahead: where a parent is put, and before that the place for it


@njit(cache=True)
def lightest_first(offsets, targets, weights):
    """Sorts the weights (int32[m]) of duplicate edges within the rows (int64[n + 1], int32[m])."""
    for u in range(offsets.shape[0] - 1):
        first = offsets[u]
        while first < offsets[u + 1]:
            last = first + 1
            while last < offsets[u + 1] and targets[last] == targets[first]:
                last += 1
            if last - first > 1:
                weights[first:last].sort()
            first = last


@njit(cache=True)
def bucketed(n, keys, values):
    """Groups values (any[m]) by key (int32[m]) as a CSR (int64[n + 1], any[m]); rows keep the order of the values."""
    offsets = np.zeros(n + 1, np.int64)
    for k in range(keys.shape[0]):
        offsets[keys[k] + 1] += 1
    for v in range(n):
        offsets[v + 1] += offsets[v]
    at, found = offsets[:n].copy(), np.empty_like(values)
    for k in range(keys.shape[0]):
        found[at[keys[k]]] = values[k]
        at[keys[k]] += 1
    return offsets, found


@njit(cache=True)
def transpose(offsets, targets):
    """Reverses a CSR (offsets int64[n + 1], targets int32[m]). Returns the same shapes with ascending rows."""
    n, m = offsets.shape[0] - 1, targets.shape[0]
    at = np.zeros(n + 1, np.int64)
    for k in range(m):
        at[targets[k]] += 1
    total = np.int64(0)
    for v in range(n + 1):
        total, at[v] = total + at[v], total
    sources = np.empty(m, np.int32)
    for u in range(n):
        for k in range(offsets[u], offsets[u + 1]):
            if k + _FAR < m:
                prefetch(at, np.int64(targets[k + _FAR]))
                prefetch(sources, at[targets[k + _SOON]])
            v = targets[k]
            sources[at[v]] = u
            at[v] += 1
    # Filling moved each row's start to its end, which is the next row's start.
    starts = np.empty(n + 1, np.int64)
    starts[0] = 0
    for v in range(n):  # numba compiles an assignment of slices, with its error for other lengths, for seconds
        starts[v + 1] = at[v]
    return starts, sources
