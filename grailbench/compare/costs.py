"""What is worth its price, as pure functions: Pareto fronts, and from how many queries a longer build pays.

A configuration costs a straight line: its build once, and so much for each query (`Cost`). From how many queries one
pays against another is where two lines cross; its interval is a bootstrap of the four medians (docs/measuring.md,
'From how many queries an index pays').
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from grailbench.compare.ratios import FEW, Trials
from grailbench.harness.statistics import LEVEL, Interval, resampled

T = TypeVar("T")


class Cost(NamedTuple):
    """What a configuration costs: `once` for its build, and `each` for every query, in the same unit."""

    once: float
    each: float

    def of(self, queries: float) -> float:
        """The build and so many queries."""
        return self.once + queries * self.each


def front(points: Sequence[Sequence[float]]) -> list[bool]:
    """Which points are on the Pareto front, of points with as many coordinates each, where less is better.

    A point is on it unless another one is nowhere more and somewhere less; of equal points all are, or none.
    """

    def beaten(point: Sequence[float]) -> bool:
        return any(
            tuple(other) != tuple(point) and all(its <= own for its, own in zip(other, point, strict=True))
            for other in points
        )

    return [not beaten(point) for point in points]


def pays_from(own: Cost, other: Cost, least: int = 0) -> float:
    """The least whole number of queries, `least` or more, from which on `own` costs no more than `other`; `inf` if its
    queries take as long, so that it never pays for a longer build."""
    if own.each >= other.each:
        return math.inf
    crossing = (own.once - other.once) / (other.each - own.each)
    return max(least, math.ceil(crossing)) if math.isfinite(crossing) else math.inf


class Step(NamedTuple):
    """What is cheapest from so many queries on, up to the next step."""

    option: Any
    since: int


def envelope(items: Iterable[T], cost: Callable[[T], Cost], least: int = 0) -> list[Step]:
    """What is cheapest for how many queries, from `least` on: the lower envelope of the lines."""
    steps: list[Step] = []
    for item in sorted(items, key=cost):
        if steps and cost(item).each >= cost(steps[-1].option).each:
            continue  # dearer to build, and never cheaper to ask
        since: float = least
        while steps and (since := pays_from(cost(item), cost(steps[-1].option), least)) <= steps[-1].since:
            steps.pop()
        if since < math.inf:
            steps.append(Step(item, int(since) if steps else least))
    return steps


class Timed(NamedTuple):
    """The trials behind a `Cost`: of the build, and of a batch of so many queries."""

    build: Trials
    batch: Trials
    queries: int


def pays_interval(own: Timed, other: Timed, least: int = 0) -> Interval | None:
    """The 95 % interval of `pays_from`: its percentiles over bootstrap draws of the four medians, where times of the
    same trial numbers are drawn by the same trials, so that what slowed a trial down cancels. The upper bound is `inf`
    if too many draws never pay. None where a time has fewer than `FEW` trials."""
    times = (own.build, own.batch, other.build, other.batch)
    if min(map(len, times)) < FEW:
        return None
    seeds: dict[tuple[int, ...], int] = {}
    draws = [resampled(list(each.values()), seed=seeds.setdefault(tuple(each), len(seeds) + 1)) for each in times]
    saved = draws[3] / other.queries - draws[1] / own.queries
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.maximum(np.ceil((draws[0] - draws[2]) / saved), least)
    found = np.sort(np.where(saved > 0, crossing, np.inf))
    tail = (1.0 - LEVEL) / 2.0 * (found.size - 1)
    return Interval(float(found[math.floor(tail)]), float(found[found.size - 1 - math.floor(tail)]))
