"""Ratios of times: how many times as fast one is as another, with the interval of that, and the words for it.

Whatever says in words that one is faster than another has the ratio, its interval and the words from here. A ratio is
shown as its 95 % bootstrap interval, from low to high. With 1 in the interval, no difference was measured: `EQUAL`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from grailbench.harness.statistics import Interval, interval_of, ratio_interval, resampled
from grailbench.util.words import BLANK, multiple

EQUAL = "about equal"
FEW = 3  #: with fewer trials of one side there is no interval

#: ms by trial
Trials = Mapping[int, float]


class Ratio(NamedTuple):
    """How many times as fast one is as another, or how many times as long it takes.

    interval  the 95 % bootstrap interval; None with fewer than `FEW` trials of one side
    sampled   True if not every answer of both was checked
    """

    value: float
    interval: Interval | None = None
    sampled: bool = False

    @property
    def order(self) -> int:
        """1 if it is above 1, -1 if below, 0 if 1 is in the interval; by the value alone without an interval."""
        low, high = self.interval or (self.value, self.value)
        return 1 if low > 1 else -1 if high < 1 else 0

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
        return f"{self} times as fast as {other}" if self.order else f"{EQUAL} to {other} ({self} times as fast)"


def of_run(pairs: Iterable[tuple[Trials, Trials]], sampled: bool = False) -> Ratio:
    """The geometric mean of ratios of medians: ms of the one / ms of the other, a pair a graph, all of one run.

    Both of a pair with the same trial numbers are drawn by the same trials, so that what slowed a trial down for both
    cancels.
    """
    pairs = [(list(over.values()), list(under.values()), over.keys() == under.keys()) for over, under in pairs]
    logs = [math.log(float(np.median(over)) / float(np.median(under))) for over, under, _ in pairs]
    value = math.exp(sum(logs) / len(logs))
    if any(min(len(over), len(under)) < FEW for over, under, _ in pairs):
        return Ratio(value, None, sampled)
    draws = [
        resampled(over, seed=2 * at, beside=under) if paired
        else resampled(over, seed=2 * at) / resampled(under, seed=2 * at + 1)
        for at, (over, under, paired) in enumerate(pairs, 1)
    ]  # fmt: skip
    return Ratio(value, interval_of(np.exp(np.mean(np.log(draws), axis=0))), sampled)


def of_samples(over: tuple[float, ...], under: tuple[float, ...]) -> Ratio | None:
    """The ratio of the medians of two samples, which may be of different runs; None if a sample is empty or has a value
    that is not positive."""
    if not over or not under or min(*over, *under) <= 0:
        return None
    enough = min(len(over), len(under)) >= FEW
    interval = ratio_interval(_draws(over), _draws(under)) if enough else None
    return Ratio(float(np.median(over)) / float(np.median(under)), interval)


@lru_cache(maxsize=512)
def _draws(sample: tuple[float, ...]) -> np.ndarray:
    return resampled(sample)


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
