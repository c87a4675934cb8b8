"""Statistics of trials: intervals by bootstrap, outliers, drift, means of ratios. Pure functions of arrays.

What each means, and why, is in docs/measuring.md ('Statistics and gates'). Everything random is seeded: the same
times give the same interval everywhere. Times are in ms, one a trial, in the order in which the trials were taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.95
RESAMPLES = 2000
FENCE = 1.5  #: Tukey's: interquartile ranges beyond the quartiles
MOST_DRIFT = 0.05  #: of the median: what first and last third may differ by without a warning
LEAST_IN_THIRD = 5  #: trials; the ranges of two samples of four are disjoint by chance in 3 cases of 100
PENALTY = 10.0  #: the ratio that a missing cell counts as in a mean, unless a measured one is worse
_CHUNK = 1 << 21  # picks drawn at once: 16 MB


class Interval(NamedTuple):
    """Bounds of an estimate, both included."""

    low: float
    high: float

    def disjoint(self, other: Interval) -> bool:
        """True when no value lies in both."""
        return self.low > other.high or other.low > self.high


@dataclass(frozen=True)
class Stats:
    """Of one phase over the trials of a cell: its times in ms, one a trial, and what follows from them when asked.

    low, high               bounds of the mean (95 % percentile bootstrap)
    median_low, median_high  those of the median
    outliers                trials outside Tukey's fences; they stay in every other figure
    drift                   median of the last third of the trials / that of the first, less 1, where that is a warning;
                            else None
    """

    times: tuple[float, ...]

    @classmethod
    def of(cls, times: ArrayLike) -> Stats:
        """Statistics of at least one time. Raises ValueError without any, or when one is not finite."""
        return cls(tuple(_sample(times).tolist()))

    @cached_property
    def ms(self) -> np.ndarray:
        """float64[trials]."""
        return np.array(self.times)

    @property
    def trials(self) -> int:
        return len(self.times)

    @cached_property
    def mean(self) -> float:
        return float(self.ms.mean())

    @cached_property
    def median(self) -> float:
        return self._quartiles[1]

    @cached_property
    def least(self) -> float:
        return min(self.times)

    @cached_property
    def most(self) -> float:
        return max(self.times)

    @property
    def iqr(self) -> float:
        return self._quartiles[2] - self._quartiles[0]

    @property
    def low(self) -> float:
        return self._mean_interval.low

    @property
    def high(self) -> float:
        return self._mean_interval.high

    @property
    def median_low(self) -> float:
        return self._median_interval.low

    @property
    def median_high(self) -> float:
        return self._median_interval.high

    @cached_property
    def outliers(self) -> int:
        return int(outliers(self.ms).sum())

    @cached_property
    def drift(self) -> float | None:
        return drift(self.ms)

    @cached_property
    def _quartiles(self) -> tuple[float, float, float]:
        low, middle, high = np.quantile(self.ms, (0.25, 0.5, 0.75))
        return float(low), float(middle), float(high)

    @cached_property
    def _mean_interval(self) -> Interval:
        return interval_of(resampled(self.ms, means))

    @cached_property
    def _median_interval(self) -> Interval:
        return median_interval(self.ms)


def medians(rows: np.ndarray) -> np.ndarray:
    """The median of each row of float64[k, n]; ten times faster than numpy's for the short rows of a bootstrap."""
    ordered, middle = np.sort(rows, axis=1), rows.shape[1] // 2
    return ordered[:, middle] if rows.shape[1] % 2 else (ordered[:, middle - 1] + ordered[:, middle]) / 2.0


def means(rows: np.ndarray) -> np.ndarray:
    """The mean of each row of float64[k, n]."""
    return rows.mean(axis=1)


def resampled(times: ArrayLike, statistic=medians, seed: int = 1, beside: ArrayLike | None = None) -> np.ndarray:
    """Bootstrap: `statistic` of `RESAMPLES` samples of n, drawn from n times with replacement; float64[RESAMPLES].

    With `beside`, as many times of another cell in the same trials: the statistic of the times over that of the
    others, both of the same trials, so that what slowed a trial down for both cancels. `statistic` takes
    float64[k, n] to float64[k]. Raises ValueError for an empty or infinite sample, or two of different sizes.
    """
    ms = _sample(times)
    other = None if beside is None else _sample(beside)
    if other is not None and other.size != ms.size:
        raise ValueError(f"{ms.size} times beside {other.size}")
    generator, out = np.random.default_rng(seed), np.empty(RESAMPLES)
    rows = max(1, _CHUNK // ms.size)
    for start in range(0, RESAMPLES, rows):
        picks = generator.integers(0, ms.size, (min(rows, RESAMPLES - start), ms.size))
        found = statistic(ms[picks])
        out[start : start + rows] = found if other is None else found / statistic(other[picks])
    return out


def interval_of(draws: np.ndarray, level: float = LEVEL) -> Interval:
    """The middle `level` of a bootstrap's draws: the percentile interval."""
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(draws, (tail, 1.0 - tail))
    return Interval(float(low), float(high))


def median_interval(times: ArrayLike, level: float = LEVEL, seed: int = 1) -> Interval:
    """The percentile bootstrap interval of the median; of one time, that time twice."""
    return interval_of(resampled(times, seed=seed), level)


def ratio_interval(draws: np.ndarray, base: np.ndarray, level: float = LEVEL) -> Interval:
    """Bounds of the ratio of two estimates, from the draws of each; the two are independent of one another."""
    shuffled = np.random.default_rng(2).permutation(draws)  # equal seeds drew equal places: part them
    return interval_of(shuffled / base, level)


def outliers(times: ArrayLike) -> np.ndarray:
    """bool[n]: which times lie outside Tukey's fences, `FENCE` interquartile ranges beyond the quartiles."""
    ms = _sample(times)
    q1, q3 = np.quantile(ms, (0.25, 0.75))
    reach = FENCE * (q3 - q1)
    return (ms < q1 - reach) | (ms > q3 + reach)


def drift(times: ArrayLike) -> float | None:
    """How much slower the last third of the trials was than the first (0.2: by 20 %), when that is a warning.

    It is when the bootstrap intervals of the two thirds' medians are disjoint and the medians differ by more than
    `MOST_DRIFT` of the median of all. None otherwise, and with fewer than `LEAST_IN_THIRD` trials a third.
    """
    ms = _sample(times)
    size = ms.size // 3
    if size < LEAST_IN_THIRD:
        return None
    first, last = ms[:size], ms[-size:]
    before, after = float(np.median(first)), float(np.median(last))
    small = abs(after - before) <= MOST_DRIFT * float(np.median(ms))
    if small or before == 0.0 or not median_interval(first).disjoint(median_interval(last)):
        return None
    return after / before - 1.0


class Mean(NamedTuple):
    """A geometric mean of ratios: over how many measured ones, and how many that were missing and how counted."""

    value: float
    measured: int
    missing: int
    penalty: float


def geometric_mean(ratios: Iterable[float | None]) -> Mean | None:
    """The geometric mean of ratios, one a graph; a missing one (None) counts as `PENALTY`, or as the worst of the
    measured ones where that is worse: no cell that was measured counts for more than one that was lost.

    None without any measured ratio. Raises ValueError for a ratio that is not positive and finite.
    """
    values = list(ratios)
    measured = [value for value in values if value is not None]
    if not all(value > 0.0 and math.isfinite(value) for value in measured):
        raise ValueError("ratios must be positive and finite")
    if not measured:
        return None
    missing, penalty = len(values) - len(measured), max(PENALTY, *measured)
    total = math.fsum(map(math.log, measured)) + missing * math.log(penalty)
    return Mean(math.exp(total / len(values)), len(measured), missing, penalty)


def _sample(times: ArrayLike | Sequence[float]) -> np.ndarray:
    ms = np.asarray(times, dtype=np.float64)
    if ms.ndim != 1 or ms.size == 0 or not np.isfinite(ms).all():
        raise ValueError("a sample is one finite time or more")
    return ms
