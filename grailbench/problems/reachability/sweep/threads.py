"""The threads of a batch: how many its work justifies, and how they take their parts of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeVar

from grailbench.graph.threads import helpers

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


def on(threads: int, work: Callable[[Iterator[Part]], None], parts: list[Part]) -> None:
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
