"""Threads that work on parts of arrays: kernels let go of Python's lock, so that they run at the same time."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np

PER_THREAD = 1 << 16  #: work that justifies one more thread, in edges of a search: half a millisecond or more
_PARTS = 8  #: parts for each of several threads, so that none waits long for the last

Part = TypeVar("Part")


@cache
def helpers(threads: int) -> ThreadPoolExecutor:
    """A pool of threads that stays: starting one takes longer than most batches. Work that is given to it waits for
    nothing else that is. A process that is forked has pools of its own, as threads are not in the copy."""
    return ThreadPoolExecutor(threads, thread_name_prefix="grailbench")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=helpers.cache_clear)


class Lender:
    """Lends what `make` makes to one thread at a time; there are as many as were ever lent at once, and `ready` from
    the start."""

    def __init__(self, make: Callable[[], Any], ready: int = 0):
        self.make, self._idle = make, [make() for _ in range(ready)]

    @contextmanager
    def lent(self) -> Iterator[Any]:
        """Lends one for the block of a `with` statement."""
        try:
            one = self._idle.pop()
        except IndexError:
            one = self.make()
        try:
            yield one
        finally:
            self._idle.append(one)


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


def side_by_side(threads: int, one: Callable[[], Any], other: Callable[[], Any]) -> None:
    """Calls both, at the same time if there is more than one thread."""
    waiting = helpers(1).submit(other) if threads > 1 else None
    one()
    other() if waiting is None else waiting.result()


class ThreadPool:
    """At most `threads` threads, the caller's among them; the others start when first needed and end with the block."""

    def __init__(self, threads: int):
        self.threads = threads

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, *_) -> None:
        if "_others" in vars(self):
            self._others.shutdown()

    @cached_property
    def _others(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads - 1)

    def each(self, work: Callable, *columns) -> list:
        """Calls `work` with the first items of the columns, the second, ..., in threads; returns all results."""
        if self.threads == 1:
            return list(map(work, *columns))
        first, *others = zip(*columns, strict=True)
        waiting = [self._others.submit(work, *items) for items in others]
        return [work(*first), *(each.result() for each in waiting)]

    def cuts(self, total: int, least: int) -> list[int]:
        """The limits of equal parts of `total` things, one a thread, but not of fewer than `least` things each."""
        parts = max(1, min(self.threads, total // least))
        return [total * part // parts for part in range(parts + 1)]

    def even_cuts(self, ends: np.ndarray, least: int) -> list[int]:
        """The limits of parts of consecutive items with about equal work, one a thread, but of no less than `least`.

        ends: the work up to the end of each item, ascending.
        """
        if ends.shape[0] == 0:
            return [0, 0]
        total = int(ends[-1])
        inner = np.searchsorted(ends, self.cuts(total, least)[1:-1], "left") + 1
        return [0, *np.minimum(inner, ends.shape[0]).tolist(), ends.shape[0]]
