"""Ratios of what two cells took, with the interval and the verdict: the one rule of who is faster.

A ratio is one of medians, over several graphs the geometric mean of these, and is shown as its 95 % bootstrap interval,
from low to high. Where 1 lies in the interval the two are `EQUAL`. The verdict is `UNCLEAR` where there is no interval,
as of one or two trials, and above unstable cells (`compare.stability`): of one graph, or where every graph has one, or
where 1 may lie in the interval because of some. A ratio carries the mark of its cells (`stability.mark`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from grailbench.compare.measures import Measure, Trials
from grailbench.compare.stability import is_unstable, mark
from grailbench.harness.cells import Cell
from grailbench.harness.statistics import Interval, interval_of, resampled
from grailbench.util.words import BLANK, multiple

EQUAL, UNCLEAR = "about equal", "unclear"
FEW = 3  #: with fewer trials of one side there is no interval


class Ratio(NamedTuple):
    """How many times as fast one is as another, or how many times as long it takes.

    interval  the 95 % bootstrap interval; None with fewer than `FEW` trials of one side
    sampled   True if not every answer of both was checked
    mark      that of the cells, '' for none (`stability.mark`)
    unstable  True if no verdict can be given for that
    exact     True of sizes, which have no interval and need none
    """

    value: float
    interval: Interval | None = None
    sampled: bool = False
    mark: str = ""
    unstable: bool = False
    exact: bool = False

    @property
    def order(self) -> int:
        """1 if it is above 1, -1 if below, 0 without a verdict, as where 1 is in the interval."""
        if self.exact:
            return order(Interval(self.value, self.value))
        return 0 if self.unstable or self.interval is None else order(self.interval)

    @property
    def equal(self) -> str:
        """Why there is no order: `EQUAL` or `UNCLEAR`."""
        return UNCLEAR if self.unstable or (self.interval is None and not self.exact) else EQUAL

    @property
    def inverse(self) -> Ratio:
        """The ratio of the other to the one."""
        turned = None if self.interval is None else Interval(1 / self.interval.high, 1 / self.interval.low)
        return self._replace(value=1 / self.value, interval=turned)

    def __str__(self) -> str:
        notes = ["no interval"] * (self.interval is None and not self.exact) + ["sampled"] * self.sampled
        shown = _bound(self.value) if self.interval is None else span(self.interval, _bound)
        return shown + self.mark + (f" ({', '.join(notes)})" if notes else "")

    def as_fast_as(self, other: str) -> str:
        """'2.95 to 3.10 times as fast as dfs', 'about equal to dfs (0.93 to 1.10 times as fast)', or
        'not ranked against dfs' and why."""
        if self.order:
            return f"{self} times as fast as {other}"
        if self.equal == UNCLEAR:
            why = "unstable times" if self.unstable else "too few trials"
            return f"not ranked against {other} ({self} times as fast, by {why})"
        return f"{EQUAL} to {other} ({self} times as fast)"


def order(interval: Interval) -> int:
    """1 if an interval lies above 1, -1 if below, 0 if 1 is in it."""
    return 1 if interval.low > 1 else -1 if interval.high < 1 else 0


def of_cells(pairs: Iterable[tuple[Cell, Cell]], measure: Measure, paired: bool = True) -> Ratio | None:
    """The geometric mean, over graphs, of ratios of medians: of the one / of the other, a pair of cells a graph. None
    if a cell has no value, or one that is not positive.

    paired  both cells of a pair were measured in one run: those with the same numbers of trials are drawn by the same
            trials, so that what slowed a trial down for both cancels
    """
    pairs = list(pairs)
    trials = [(measure.trials(one), measure.trials(other)) for one, other in pairs]
    if not pairs or any(not side or min(side.values()) <= 0 for both in trials for side in both):
        return None
    values = [_median(one) / _median(other) for one, other in trials]
    value = values[0] if len(values) == 1 else math.exp(math.fsum(map(math.log, values)) / len(values))
    sampled = any(cell.status == "sampled" for pair in pairs for cell in pair)
    if measure.exact:
        return Ratio(value, sampled=sampled, exact=True)
    shaky = [any(is_unstable(cell, measure.phases) for cell in pair) for pair in pairs]
    its = mark(*chain(*pairs), phases=measure.phases)
    if any(min(map(len, both)) < FEW for both in trials):
        return Ratio(value, None, sampled, its, any(shaky))
    draws = []
    for at, (one, other) in enumerate(trials, 1):
        same = paired and one.keys() == other.keys()
        draws.append(_draws(tuple(one.values()), 2 * at) / _draws(tuple(other.values()), 2 * at + (not same)))
    interval = interval_of(np.exp(np.mean(np.log(draws), axis=0)))
    return Ratio(value, interval, sampled, its, all(shaky) or (any(shaky) and _may_be_1(trials, draws, shaky)))


def _median(trials: Trials) -> float:
    return float(np.median(list(trials.values())))


@lru_cache(maxsize=1024)  # a cell is compared with many
def _draws(times: tuple[float, ...], seed: int) -> np.ndarray:
    """float64[RESAMPLES]: bootstrap draws of a median."""
    return resampled(times, seed=seed)


def _may_be_1(trials: list[tuple[Trials, Trials]], draws: list, shaky: list[bool]) -> bool:
    """Whether 1 would lie in the interval if each pair with an unstable side were taken at its least and at its
    greatest ratio of single trials."""
    least, most = [*map(np.log, draws)], [*map(np.log, draws)]
    for at, (one, other) in enumerate(trials):
        if shaky[at]:
            low, high = min(one.values()) / max(other.values()), max(one.values()) / min(other.values())
            least[at], most[at] = np.full_like(draws[at], math.log(low)), np.full_like(draws[at], math.log(high))
    bounds = Interval(interval_of(np.exp(np.mean(least, axis=0))).low, interval_of(np.exp(np.mean(most, axis=0))).high)
    return order(bounds) == 0


# ------------------------------------------------------------------ texts


def span(interval: Interval | None, text: Callable[[float], str] = multiple) -> str:
    """An interval as text: '1.20 to 1.31', or one number where both bounds are written alike."""
    if interval is None:
        return BLANK
    low, high = map(text, interval)
    return low if low == high else f"{low} to {high}"


def _bound(value: float) -> str:
    """A bound of a ratio; more digits where it is not 1 but would be written so."""
    text = multiple(value)
    return f"{value:.6g}" if text == "1.00" and value != 1 else text
