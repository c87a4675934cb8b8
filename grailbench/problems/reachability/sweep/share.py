"""Divides the pairs of a batch into groups of sources of neighbouring rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import njit


class Group(NamedTuple):
    """The pairs of one sweep; see `groups.sweep` for `pairs` and `ends`."""

    pairs: tuple[np.ndarray, np.ndarray, np.ndarray]
    ends: tuple[np.ndarray, np.ndarray]


class Shares(NamedTuple):
    """All pairs, ascending by group and within a group by target.

    targets, bits, which   int32[q], int32[q], int64[q]: see `groups.sweep`
    distinct, latest       int32[s]: the different sources, ascending, and the greatest target of each
    begins                 int64[g + 1]: the first pair of each group
    size                   sources of a group; the last may have fewer
    """

    targets: np.ndarray
    bits: np.ndarray
    which: np.ndarray
    distinct: np.ndarray
    latest: np.ndarray
    begins: np.ndarray
    size: int

    def groups(self) -> Iterator[Group]:
        """Gives the groups, those of the earliest sources first."""
        for turn in range(self.begins.shape[0] - 1):
            mine = slice(int(self.begins[turn]), int(self.begins[turn + 1]))
            own = slice(turn * self.size, (turn + 1) * self.size)
            yield Group((self.targets[mine], self.bits[mine], self.which[mine]), (self.distinct[own], self.latest[own]))


def shared(vertices: int, sources: np.ndarray, targets: np.ndarray, which: np.ndarray, size: int) -> Shares:
    """Divides pairs (int32[q], int32[q], and their places, int64[q]) of a DAG of so many vertices among groups of
    `size` sources."""
    return Shares(*_shared(vertices, sources, targets, which, size), size)


@njit(cache=True, nogil=True)
def _shared(vertices, sources, targets, which, size):
    pairs = sources.shape[0]
    number, starts = np.zeros(vertices, np.int32), np.zeros(vertices + 1, np.int64)
    for q in range(pairs):
        number[sources[q]] = 1
        starts[targets[q] + 1] += 1
    distinct, count = np.empty(min(pairs, vertices), np.int32), 0
    for v in range(vertices):
        starts[v + 1] += starts[v]
        if number[v]:
            number[v], distinct[count] = count, v
            count += 1
    by_target = np.empty(pairs, np.int64)
    for q in range(pairs):
        by_target[starts[targets[q]]] = q
        starts[targets[q]] += 1
    begins = np.zeros((count + size - 1) // size + 1, np.int64)
    for q in range(pairs):
        begins[number[sources[q]] // size + 1] += 1
    for group in range(begins.shape[0] - 1):
        begins[group + 1] += begins[group]
    at, latest = begins.copy(), np.empty(count, np.int32)
    ends, bits, places = np.empty(pairs, np.int32), np.empty(pairs, np.int32), np.empty(pairs, np.int64)
    for i in range(pairs):
        q = by_target[i]
        source = number[sources[q]]
        group = source // size
        ends[at[group]], bits[at[group]], places[at[group]] = targets[q], source - group * size, which[q]
        at[group] += 1
        latest[source] = targets[q]
    return ends, bits, places, distinct[:count], latest, begins


@njit(cache=True, nogil=True)
def distinct(vertices, ends):
    """The number of different values in int32[q] of numbers below `vertices`."""
    seen, count = np.zeros(vertices, np.bool_), 0
    for q in range(ends.shape[0]):
        count += not seen[ends[q]]
        seen[ends[q]] = True
    return count
