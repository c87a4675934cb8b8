"""Label pairs, how they lie in memory, and the predicates on them: written once, for every kernel.

A vertex has one record of `width(d)` int32 lanes, so that one cache line answers for it:

    s_0, -e_0, ..., s_(d-1), -e_(d-1), level, t_0, ..., t_(d-1), padding

Pair i is the interval [s_i, e_i]: e_i the post-order rank in traversal i (from 1), s_i the least rank among all
that the vertex reaches (thesis, algorithm 1). The ends are stored negated, so that every test is the same `<=`:
u's labels contain v's where none of the first 2d + 1 lanes of u exceeds v's. t_i is the least rank in the subtree of
the traversal's spanning tree: what lies in [t_i, e_i] is certainly reached. A filter that is off is data too, not
code: level 0 everywhere excludes nothing, t_i = `NEVER` cuts nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from grailbench.graph.csr import Dag

NEVER = np.int32(2**31 - 1)
_LINE = 16  # int32 lanes in a cache line
_1, _2 = np.uint64(1), np.uint64(2)


class Labels(NamedTuple):
    """The labels of n vertices.

    lanes  int32[n * width], aligned to cache lines: the records, vertex after vertex
    width  uint64: lanes in a record
    pairs  a tuple of d zeros: its length is known to the compiler, so that loops over pairs unroll
    """

    lanes: np.ndarray
    width: np.uint64
    pairs: tuple[int, ...]


def width(dim: int) -> int:
    """Lanes in a record of `dim` pairs: 3 dim + 1, rounded up so that no record straddles two lines needlessly."""
    lanes = 3 * dim + 1
    return 1 << (lanes - 1).bit_length() if lanes <= _LINE else -(-lanes // _LINE) * _LINE


def empty(vertices: int, dim: int) -> Labels:
    """Records of zeros: no vertex is labelled yet."""
    w = width(dim)
    raw = np.zeros(vertices * w + _LINE, np.int32)
    start = -(raw.ctypes.data // 4) % _LINE
    return Labels(raw[start : start + vertices * w], np.uint64(w), (0,) * dim)


def columns(labels: Labels) -> tuple[np.ndarray, np.ndarray]:
    """The starts s and ends e as int32[d, n] each."""
    dim = len(labels.pairs)
    records = labels.lanes.reshape(-1, int(labels.width))
    return records[:, 0 : 2 * dim : 2].T.copy(), -records[:, 1 : 2 * dim : 2].T


@njit(cache=True, inline="always")
def contains(u_lanes, a, v_lanes, b, pairs):
    """Whether the record at `a` of `u_lanes` contains the record at `b` of `v_lanes`: if not, u does not reach v.

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
    """Given that u contains v: whether v lies in u's subtree in some traversal, so that u certainly reaches v."""
    tree = _2 * np.uint64(len(pairs)) + _1
    found = False
    for p in range(len(pairs)):
        found |= u_lanes[a + tree + np.uint64(p)] <= -v_lanes[b + _2 * np.uint64(p) + _1]
    return found


@njit(cache=True)
def _first_violation(offsets, children, lanes, width, dim):
    for u in range(offsets.shape[0] - 1):
        for k in range(offsets[u], offsets[u + 1]):
            for lane in range(2 * dim + 1):
                if lanes[u * width + lane] > lanes[children[k] * width + lane]:
                    return u, children[k], lane
    return -1, -1, -1


def fault(labels: Labels, offsets: np.ndarray, children: np.ndarray) -> str | None:
    """What is wrong with the labels of a DAG rooted in its last vertex, or None.

    Checked are containment on every edge, that the ends of each pair are a permutation of 1..n, and that the root
    has the whole interval: containment alone also holds for intervals too wide to be of use.
    """
    n, dim = offsets.shape[0] - 1, len(labels.pairs)
    u, v, lane = _first_violation(offsets, children, labels.lanes, int(labels.width), dim)
    if u >= 0:
        what = "level" if lane == 2 * dim else f"pair {lane // 2}, {'end' if lane % 2 else 'start'}"
        return f"edge {u} -> {v}: the labels of {u} do not contain those of {v} ({what})"
    starts, ends = columns(labels)
    for pair in range(dim):
        if not np.array_equal(np.sort(ends[pair]), np.arange(1, n + 1)):
            return f"pair {pair}: the ends are no permutation of 1..{n}"
        if (starts[pair, n - 1], ends[pair, n - 1]) != (1, n):
            return f"pair {pair}: the root has [{starts[pair, n - 1]}, {ends[pair, n - 1]}], not [1, {n}]"
    return None


class Labelled:
    """What every index with label records shares, the check of its labels above all; it holds them as `labels`. To be
    named before `Index` among the bases."""

    labels: Labels

    def label_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends of the label pairs, int32[d, n] each."""
        return columns(self.labels)

    def check_labels(self, dag: Dag) -> str | None:
        """What is wrong with the labels, or None (see `fault`)."""
        return fault(self.labels, dag.offsets, dag.children)
