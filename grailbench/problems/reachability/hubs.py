"""The hubs filter: two words per vertex whose bits say which of 64 hubs it reaches, and which reach it.

Hubs are the (at most 64) vertices of largest (in-degree + 1) * (out-degree + 1) without the super-root, ties by lower
id. The forward word F(v) holds the hubs that v reaches, the backward word B(v) those that reach v. u reaches v if F(u)
and B(v) share a hub; it does not if v reaches a hub that u does not reach, or if a hub reaches u but not v.

Sources: the landmarks of 2-hop covers (Cohen, Halperin, Kaplan and Zwick, SIAM J. Comput. 32(5), 2003), stored as bits
like the supportive vertices of Hanauer, Schulz and Trummer (*O'Reach*, SEA 2021).
"""

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag
from grailbench.problems.reachability.counters import HUB_SCANNED

MOST = 64
_0, _1 = np.uint64(0), np.uint64(1)


@njit(cache=True, inline="always")
def joined(u_forward, v_backward):
    """Returns whether a hub lies between u and v, which proves that u reaches v. uint64 words."""
    return (u_forward & v_backward) != _0


@njit(cache=True, inline="always")
def parted(u_forward, u_backward, v_forward, v_backward):
    """Returns whether some hub proves that u does not reach v. uint64 words."""
    return ((v_forward & ~u_forward) | (u_backward & ~v_backward)) != _0


def choose(dag: Dag) -> np.ndarray:
    """Returns the hubs, int32[h] with h = min(64, vertices without the super-root), hub j at position j."""
    return heaviest(weights(dag.offsets, dag.children)[:-1])


def heaviest(weight: np.ndarray, ids: np.ndarray | None = None) -> np.ndarray:
    """Returns the places of the at most 64 greatest weights, int32[h], the greatest first.

    ids: what decides between equal weights, the lower before; None for the places themselves.
    """
    count = min(MOST, weight.shape[0])
    if count == 0:
        return np.empty(0, np.int32)
    least = np.partition(weight, weight.shape[0] - count)[weight.shape[0] - count]
    candidates = np.flatnonzero(weight >= least)
    order = np.lexsort((candidates if ids is None else ids[candidates], -weight[candidates]))
    return candidates[order[:count]].astype(np.int32)


@njit(cache=True, nogil=True)
def weights(offsets, children):
    """Returns (in-degree + 1) * (out-degree + 1), int64[n]; edges of the super-root count."""
    n = offsets.shape[0] - 1
    weight = np.ones(n, np.int64)
    for k in range(children.shape[0]):
        weight[children[k]] += 1
    for v in range(n):
        weight[v] *= offsets[v + 1] - offsets[v] + 1
    return weight


def seeded(dag: Dag) -> np.ndarray:
    """Returns the words before any sweep, uint64[2 n], F(v) at 2 v and B(v) at 2 v + 1: each hub has its own bit."""
    return marked(dag.vertices, choose(dag))


def marked(vertices: int, chosen: np.ndarray) -> np.ndarray:
    """Returns the words of so many vertices, uint64[2 n], in which the hubs `chosen` have their own bits."""
    words = np.zeros(2 * vertices, np.uint64)
    hubs = chosen.astype(np.int64)
    bits = _1 << np.arange(hubs.shape[0], dtype=np.uint64)
    words[2 * hubs] = bits
    words[2 * hubs + 1] = bits
    return words


@njit(cache=True, nogil=True)
def sweep_forward(offsets, children, order, words, counts):
    """Completes the forward words, children before parents. words: uint64[2 n], from `seeded`.

    order int32[n]: a topological order. counts: see `counters`, or None.
    """
    for i in range(order.shape[0] - 1, -1, -1):
        u = np.uint64(order[i])
        word = words[u + u]
        for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _1])):
            c = np.uint64(children[k])
            word |= words[c + c]
        words[u + u] = word
    if counts is not None:
        counts[HUB_SCANNED] += children.shape[0]


@njit(cache=True, nogil=True)
def sweep_backward(offsets, children, order, words, counts):
    """Completes the backward words, parents before children. Shapes as in `sweep_forward`."""
    for i in range(order.shape[0]):
        u = np.uint64(order[i])
        word = words[u + u + _1]
        if word != _0:
            for k in range(np.uint64(offsets[u]), np.uint64(offsets[u + _1])):
                c = np.uint64(children[k])
                words[c + c + _1] |= word
            if counts is not None:
                counts[HUB_SCANNED] += offsets[u + _1] - offsets[u]
