"""Checks distances by a certificate, which shares no code with the implementations.

Distances d from a source s over positive weights are right if and only if d[s] = 0, no edge u -> v has
d[v] > d[u] + w, and every other vertex v with a distance has an edge u -> v with d[v] = d[u] + w. The first two
conditions give upper bounds. By the third one can walk back from v with falling d to s, which is a path of length d[v].
"""

from collections.abc import Callable

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.hashing import mixed
from grailbench.problems import contract
from grailbench.problems.traversal.index import FAR, Network

SALT = np.uint64(0x9E3779B9)


def shape_fault(distances, shape: tuple[int, ...]) -> str | None:
    """Returns what is wrong with the type or shape of an answer, or None."""
    if not isinstance(distances, np.ndarray) or distances.dtype != np.int32:
        kind = distances.dtype if isinstance(distances, np.ndarray) else type(distances).__name__
        return f"the distances are {kind}, not an int32 array"
    return None if distances.shape == shape else f"{distances.shape} distances, not {shape}"


def fault(network: Network, source: int, distances: np.ndarray, name: Callable[[int], int | str] = int) -> str | None:
    """Returns why int32[n] are not the distances from `source`, or None; `name` gives the id of a vertex."""
    weights = network.weights if network.weights is not None else np.empty(0, np.int32)
    v, kind = _certified(network.offsets, network.targets, weights, source, distances)
    if kind == 0:
        return None
    distance = "no path" if distances[v] == FAR else str(int(distances[v]))
    why = {
        1: "the source is not at distance 0",
        2: f"vertex {name(v)} is nearer than {distance}",
        3: f"vertex {name(v)} has {distance}, which no path has",
    }
    return f"from {name(source)}: {why[kind]}"


def refuse_long(distances: np.ndarray) -> None:
    """Raises InputError if a distance, of any dtype, is at least FAR // 2, which matrices of all pairs use for 'no
    path'; FAR and values that are not finite mean 'no path'."""
    longest = float(np.max(distances, initial=0, where=(distances != FAR) & np.isfinite(distances)))
    if longest >= int(FAR) // 2:
        raise InputError(f"a shortest path has length {longest:,.0f}: too long for 32-bit distances")


@njit(cache=True, nogil=True)
def _certified(offsets, targets, weights, source, distances):
    """Returns (vertex, kind): 0 all is right, 1 the source is not at 0, 2 an edge is shorter, 3 no edge is as short."""
    n = offsets.shape[0] - 1
    if distances[source] != 0:
        return source, 1
    tight = np.zeros(n, np.bool_)
    tight[source] = True
    for u in range(n):
        d = np.int64(distances[u])
        if d == FAR:
            continue
        for k in range(offsets[u], offsets[u + 1]):
            v = targets[k]
            over = d + (np.int64(weights[k]) if weights.shape[0] else 1)
            if distances[v] > over:
                return np.int64(v), 2
            if distances[v] == over:
                tight[v] = True
    for v in range(n):
        if distances[v] != FAR and not tight[v]:
            return v, 3
    return 0, 0


@njit(cache=True, inline="always")
def salt(distance):
    """Returns what the marks of vertices at a distance are made with, a uint64 below 2**32; `mixed(v, salt(d))`."""
    return mixed(distance, SALT)


@njit(cache=True, nogil=True)
def summary(offsets, distances):
    """Returns of the distances from a source, int32[n], what `Found` has. offsets int64[n + 1].

    The mark is the exclusive or of 32 bits of hash for each vertex that is reached, of its number and its distance.
    """
    vertices, edges, farthest, mark = 0, np.int64(0), 0, np.uint64(0)
    for v in range(distances.shape[0]):
        if distances[v] != FAR:
            vertices += 1
            edges += offsets[v + 1] - offsets[v]
            farthest = max(farthest, distances[v])
            mark ^= mixed(v, salt(distances[v]))
    return vertices, edges, farthest, mark


def checksum(distances: np.ndarray) -> str:
    """Returns the first 16 hex digits of the sha256 of an answer."""
    return contract.checksum(np.ascontiguousarray(distances))
