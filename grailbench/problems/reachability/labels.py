"""Label pairs, their layout in memory, and the predicates on them, which all kernels share.

Each vertex has one record of `width(d)` int32 lanes, which fits a cache line for small d:

    s_0, -e_0, ..., s_(d-1), -e_(d-1), level, t_0, ..., t_(d-1), padding

Pair i is the interval [s_i, e_i]: e_i is the post-order rank in traversal i (from 1), s_i the least rank of all
vertices reached (thesis, algorithm 1). Ends are stored negated, so that every test is the same `<=`: the labels of u
contain those of v if none of the first 2d + 1 lanes of u exceeds that of v. t_i is the least rank in the subtree of the
spanning tree of traversal i: u reaches every vertex whose rank is in [t_i, e_i]. Filters are turned off by data, not by
code: level 0 everywhere excludes nothing, and t_i = `NEVER` accepts nothing.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.errors import InputError
from grailbench.graph.csr import Dag
from grailbench.util.cores import usable_cores

NEVER = np.int32(2**31 - 1)
_LINE = 16  # int32 lanes in a cache line
_SHARE = 1 << 22  #: edges to look at from which another thread pays
_1, _2 = np.uint64(1), np.uint64(2)


class Labels(NamedTuple):
    """The labels of n vertices.

    lanes  int32[n * width], aligned to cache lines: the records of all vertices
    width  uint64: lanes per record
    pairs  a tuple of d zeros: the compiler knows its length, and unrolls loops over pairs
    """

    lanes: np.ndarray
    width: np.uint64
    pairs: tuple[int, ...]


def width(dim: int) -> int:
    """Returns the lanes per record of `dim` pairs: 3 dim + 1, rounded up so that records cross few cache lines."""
    lanes = 3 * dim + 1
    return 1 << (lanes - 1).bit_length() if lanes <= _LINE else -(-lanes // _LINE) * _LINE


def empty(vertices: int, dim: int) -> Labels:
    """Returns records of zeros, in which no vertex is labelled."""
    w = width(dim)
    raw = np.zeros(vertices * w + _LINE, np.int32)
    start = -(raw.ctypes.data // 4) % _LINE
    return Labels(raw[start : start + vertices * w], np.uint64(w), (0,) * dim)


def columns(labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Returns the starts s and ends e, int32[d, n] each."""
    dim = len(labels.pairs)
    records = labels.lanes.reshape(-1, int(labels.width))
    return records[:, 0 : 2 * dim : 2].T.copy(), -records[:, 1 : 2 * dim : 2].T


@njit(cache=True, inline="always")
def contains(u_lanes, a, v_lanes, b, pairs):
    """Returns whether the record at `a` of `u_lanes` contains that at `b` of `v_lanes`; if not, u does not reach v.

    Offsets are uint64 positions of the first lane.
    """
    level = _2 * np.uint64(len(pairs))
    inside = u_lanes[a + level] <= v_lanes[b + level]
    for p in range(len(pairs)):
        i = _2 * np.uint64(p)
        inside &= (u_lanes[a + i] <= v_lanes[b + i]) & (u_lanes[a + i + _1] <= v_lanes[b + i + _1])
    return inside


@njit(cache=True, inline="always")
def cuts(u_lanes, a, v_lanes, b, pairs):
    """Returns whether v, which u contains, is in the subtree of u in some traversal; this proves that u reaches v."""
    tree = _2 * np.uint64(len(pairs)) + _1
    found = False
    for p in range(len(pairs)):
        found |= u_lanes[a + tree + np.uint64(p)] <= -v_lanes[b + _2 * np.uint64(p) + _1]
    return found


@njit(cache=True, nogil=True)
def _first_violation(offsets, children, lanes, width, dim, low, high):
    for u in range(low, high):
        for k in range(offsets[u], offsets[u + 1]):
            for lane in range(2 * dim + 1):
                if lanes[u * width + lane] > lanes[children[k] * width + lane]:
                    return u, children[k], lane
    return -1, -1, -1


def first_found(look: Callable[[int, int], tuple], size: int, edges: int) -> tuple:
    """Calls look(low, high) on parts of range(size), on all cores if there are many edges.

    Returns the result of the first part whose first value is not negative, or else that of the last part.
    """
    parts = min(usable_cores(), 1 + edges // _SHARE)
    if parts == 1:
        return look(0, size)
    cuts = [size * part // (4 * parts) for part in range(4 * parts + 1)]
    with ThreadPoolExecutor(parts) as threads:
        found = list(threads.map(look, cuts[:-1], cuts[1:]))
    return next((each for each in found if each[0] >= 0), found[-1])


@njit(cache=True, nogil=True)
def is_permutation(ranks):
    """Returns whether ranks, int32[n], are a permutation of 1..n."""
    n = ranks.shape[0]
    seen = np.zeros(n + 1, np.bool_)
    for rank in ranks:
        if rank < 1 or rank > n or seen[rank]:
            return False
        seen[rank] = True
    return True


def fault(labels: Labels, offsets: np.ndarray, children: np.ndarray, trees: int | None = None) -> str | None:
    """Returns what is wrong with the labels of a DAG rooted in its last vertex, or None.

    It checks containment on every edge, that the root has the interval [1, n], and that the ends of each pair are a
    permutation of 1..n, or of the first `trees` pairs where others have the ranks of another pair's tree. Containment
    alone also holds for intervals that are too wide to be useful.
    """
    n, dim = offsets.shape[0] - 1, len(labels.pairs)
    given = offsets, children, labels.lanes, int(labels.width), dim
    u, v, lane = first_found(lambda low, high: _first_violation(*given, low, high), n, children.shape[0])
    if u >= 0:
        what = "level" if lane == 2 * dim else f"pair {lane // 2}, {'end' if lane % 2 else 'start'}"
        return f"edge {u} -> {v}: the labels of {u} do not contain those of {v} ({what})"
    starts, ends = columns(labels)
    for pair in range(dim):
        if pair < (dim if trees is None else trees) and not is_permutation(ends[pair]):
            return f"pair {pair}: the ends are no permutation of 1..{n}"
        if (starts[pair, n - 1], ends[pair, n - 1]) != (1, n):
            return f"pair {pair}: the root has [{starts[pair, n - 1]}, {ends[pair, n - 1]}], not [1, {n}]"
    return None


def require_super_root(dag: Dag) -> None:
    """Raises InputError unless the last vertex is the only one without a parent: every top-down BFS starts there."""
    roots = np.flatnonzero(dag.levels == 0)
    if roots.size != 1:
        found = f"{roots.size} vertices have no parent"
    elif roots[0] != dag.super_root:
        found = f"vertex {roots[0]} has no parent, and is not the last vertex"
    else:
        return
    raise InputError(found, remedy="condense() adds the one super-root that is needed, as the last vertex")
