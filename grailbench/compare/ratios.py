"""Ratios of what two cells took, with the interval and the verdict: the one rule of who is faster.

A ratio is one of medians, over several graphs the geometric mean of these, and is shown as its 95 % bootstrap interval,
from low to high. Where 1 lies in the interval the two are `EQUAL`. Where a side is unstable (`compare.stability`) and
trials of the two overlap, so that its interval says less than it seems to, the verdict is `UNCLEAR`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from grailbench.compare.measures import Measure, Trials
from grailbench.compare.stability import verdict
from grailbench.harness.cells import Cell
from grailbench.harness.statistics import Interval, interval_of, resampled
from grailbench.util.words import BLANK, multiple

EQUAL, UNCLEAR = "about equal", "unclear"
FEW = 3  #: with fewer trials of one side there is no interval


class Ratio(NamedTuple):
    """How many times as fast one is as another, or how many times as long it takes.

    interval  the 95 % bootstrap interval; None with fewer than `FEW` trials of one side
    sampled   True if not every answer of both was checked
    unstable  True if the times of a side are unstable, and 1 may lie in the interval for that
    """

    value: float
    interval: Interval | None = None
    sampled: bool = False
    unstable: bool = False

    @property
    def order(self) -> int:
        """1 if it is above 1, -1 if below, 0 if 1 is in the interval or may be; by the value alone without an
        interval."""
        return 0 if self.unstable else order(self.interval or Interval(self.value, self.value))

    @property
    def equal(self) -> str:
        """Why there is no order: `EQUAL` or `UNCLEAR`."""
        return UNCLEAR if self.unstable and self.interval and order(self.interval) else EQUAL

    @property
    def inverse(self) -> Ratio:
        """The ratio of the other to the one."""
        turned = None if self.interval is None else Interval(1 / self.interval.high, 1 / self.interval.low)
        return self._replace(value=1 / self.value, interval=turned)

    def __str__(self) -> str:
        notes = ["no interval"] * (self.interval is None) + ["sampled"] * self.sampled
        shown = _bound(self.value) if self.interval is None else span(self.interval, _bound)
        return f"{shown} ({', '.join(notes)})" if notes else shown

    def as_fast_as(self, other: str) -> str:
        """'2.95 to 3.10 times as fast as dfs', 'about equal to dfs (0.93 to 1.10 times as fast)'."""
        if self.order:
            return f"{self} times as fast as {other}"
        if self.equal == UNCLEAR:
            return f"not clearly faster or slower than {other} ({self} times as fast, by unstable times)"
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
    if measure.exact or any(min(map(len, both)) < FEW for both in trials):
        return Ratio(value, None, sampled)
    draws = []
    for at, (one, other) in enumerate(trials, 1):
        same = paired and one.keys() == other.keys()
        draws.append(_draws(tuple(one.values()), 2 * at) / _draws(tuple(other.values()), 2 * at + (not same)))
    interval = interval_of(np.exp(np.mean(np.log(draws), axis=0)))
    return Ratio(value, interval, sampled, bool(order(interval)) and _unstable(pairs, trials, draws, measure))


def _median(trials: Trials) -> float:
    return float(np.median(list(trials.values())))


@lru_cache(maxsize=1024)  # a cell is compared with many
def _draws(times: tuple[float, ...], seed: int) -> np.ndarray:
    """float64[RESAMPLES]: bootstrap draws of a median."""
    return resampled(times, seed=seed)


def _unstable(
    pairs: list[tuple[Cell, Cell]], trials: list[tuple[Trials, Trials]], draws: list, measure: Measure
) -> bool:
    """Whether 1 would lie in the interval if each pair with an unstable side whose trials overlap were taken at its
    least and at its greatest ratio of single trials."""
    least, most = [*map(np.log, draws)], [*map(np.log, draws)]
    for at, (pair, (one, other)) in enumerate(zip(pairs, trials, strict=True)):
        low, high = min(one.values()) / max(other.values()), max(one.values()) / min(other.values())
        if low <= 1 <= high and any(is_unstable(cell, measure.phases) for cell in pair):
            least[at], most[at] = np.full_like(draws[at], math.log(low)), np.full_like(draws[at], math.log(high))
    bounds = Interval(interval_of(np.exp(np.mean(least, axis=0))).low, interval_of(np.exp(np.mean(most, axis=0))).high)
    return order(bounds) == 0


@lru_cache(maxsize=1024)
def is_unstable(cell: Cell, phases: tuple[str, ...]) -> bool:
    """Whether the trials of a cell's phases drift, have two modes or vary too much; other work on the machine
    does not count here."""
    found = verdict(cell)
    return any(found.of(phase) for phase in phases)


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
