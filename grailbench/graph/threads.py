"""Threads that work on parts of arrays: kernels let go of Python's lock, so that they run at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any

import numpy as np


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
