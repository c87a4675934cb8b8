"""How a batch of pairs is divided: what levels tell at once, groups of sources of neighbouring rank, and the parts of
threads, as many as the work justifies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit

from grailbench.graph.threads import helpers


@njit(cache=True, nogil=True)
def settle_by_level(levels, sources, targets, answers, first):
    """Answers pairs, bool[q], as far as levels tell: a vertex reaches itself, and none that is not on a greater level;
    the super-root, alone on level 0, reaches every vertex. Returns the places of the other pairs plus `first`, int64.

    levels             int32[n]: every edge leads to a greater level
    sources, targets   int32[q]
    """
    pairs = sources.shape[0]
    left, count = np.empty(pairs, np.int64), 0
    for q in range(pairs):
        top, bottom = levels[sources[q]], levels[targets[q]]
        answers[q] = (sources[q] == targets[q]) | (top == 0)
        left[count] = first + q
        count += (top < bottom) & (top > 0)
    return left[:count]


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


PER_THREAD = 1 << 16  #: work that justifies one more thread, in edges of a search: half a millisecond or more
_PARTS = 8  #: parts for each of several threads, so that none waits long for the last

Part = TypeVar("Part")


def justified(workers: int, work: int) -> int:
    """Returns how many of `workers` threads get `PER_THREAD` of so much work each, at least 1."""
    return max(1, min(workers, work // PER_THREAD))


def blocks(size: int, threads: int, most: int) -> list[slice]:
    """Divides 0 .. size - 1 into blocks of at most `most`, several for each thread if there is more than one."""
    length = most if threads == 1 else max(1, min(most, -(-size // (_PARTS * threads))))
    return [slice(first, min(first + length, size)) for first in range(0, size, length)]


def on_threads(threads: int, work: Callable[[Iterator[Part]], None], parts: list[Part]) -> None:
    """Calls `work` on at most so many threads, of which the calling one is the first. Each call is given an iterator;
    together they give every part once, the first parts first."""
    todo = deque(parts)

    def taken() -> Iterator[Part]:
        while todo:
            try:
                part = todo.popleft()
            except IndexError:  # another thread has taken the last one
                return
            yield part

    others = [helpers(threads - 1).submit(work, taken()) for _ in range(1, min(threads, len(parts)))]
    work(taken())
    for other in others:
        other.result()
