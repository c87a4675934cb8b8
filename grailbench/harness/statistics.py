"""Statistics of trials: bootstrap intervals, outliers, drift and means of ratios, as pure functions of arrays.

'Statistics and gates' of the docs explains them. Random numbers are seeded, so the same times give the same
interval on every machine. Times are in ms, one for each trial, in the order of the trials.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.95
RESAMPLES = 2000
FENCE = 1.5  #: distance of Tukey's fences from the quartiles, in interquartile ranges
MOST_DRIFT = 0.05  #: largest difference between first and last third without a warning, relative to the median
LEAST_IN_THIRD = 5  #: trials; the ranges of two samples of four are disjoint by chance in 3 cases of 100
PENALTY = 10.0  #: the ratio of a missing cell in a mean, unless a measured ratio is worse
_CHUNK = 1 << 21  # random indices drawn at once: 16 MB
_FEW = 50  # trials whose random indices are kept


class Interval(NamedTuple):
    """Bounds of an estimate, both included."""

    low: float
    high: float

    def disjoint(self, other: Interval) -> bool:
        """True if no value is in both."""
        return self.low > other.high or other.low > self.high


@dataclass(frozen=True)
class Stats:
    """Statistics of one phase over the trials of a cell, computed at the first access.

    times                    in ms, one for each trial
    low, high                bounds of the mean (95 % percentile bootstrap)
    median_low, median_high  bounds of the median
    outliers                 the number of trials outside Tukey's fences; they are part of all other statistics
    drift                    see `drift`
    """

    times: tuple[float, ...]

    @classmethod
    def of(cls, times: ArrayLike) -> Stats:
        """The statistics of at least one time. Raises ValueError without times, or if one is not finite."""
        return cls(tuple(_sample(times).tolist()))

    @cached_property
    def ms(self) -> np.ndarray:
        """float64[trials]."""
        return np.array(self.times)

    trials = property(lambda self: len(self.times))
    mean = property(lambda self: float(self.ms.mean()))
    median = property(lambda self: self._quartiles[1])
    least = property(lambda self: min(self.times))
    most = property(lambda self: max(self.times))
    iqr = property(lambda self: self._quartiles[2] - self._quartiles[0])
    low = property(lambda self: self._mean_interval.low)
    high = property(lambda self: self._mean_interval.high)
    median_low = property(lambda self: self._median_interval.low)
    median_high = property(lambda self: self._median_interval.high)

    @cached_property
    def outliers(self) -> int:
        return int(outliers(self.ms).sum())

    @cached_property
    def drift(self) -> float | None:
        return drift(self.ms)

    @cached_property
    def _quartiles(self) -> tuple[float, float, float]:
        ordered = sorted(self.times)
        return tuple(_quantile(ordered, part) for part in (0.25, 0.5, 0.75))

    @cached_property
    def _mean_interval(self) -> Interval:
        return interval_of(resampled(self.ms, lambda rows: rows.mean(axis=1)))

    @cached_property
    def _median_interval(self) -> Interval:
        return median_interval(self.ms)


def _quantile(ordered: Sequence[float], part: float) -> float:
    """The quantile of ascending numbers, interpolated as `np.quantile` does it, to the last bit; for the few trials of
    a cell that takes a tenth of its time."""
    place = part * (len(ordered) - 1)
    before = int(place)
    low, high = ordered[before], ordered[min(before + 1, len(ordered) - 1)]
    after = place - before
    return high - (high - low) * (1 - after) if after >= 0.5 else low + (high - low) * after


def medians(rows: np.ndarray) -> np.ndarray:
    """The median of each row of float64[k, n]; ten times as fast as numpy's for the short rows of a bootstrap."""
    ordered, middle = np.sort(rows, axis=1), rows.shape[1] // 2
    return ordered[:, middle] if rows.shape[1] % 2 else (ordered[:, middle - 1] + ordered[:, middle]) / 2.0


def resampled(times: ArrayLike, statistic=medians, seed: int = 1, beside: ArrayLike | None = None) -> np.ndarray:
    """Bootstrap: float64[RESAMPLES], `statistic` of samples of n times, drawn from the n times with replacement.

    statistic  maps float64[k, n] to float64[k]
    beside     as many times of another cell, from the same trials: each value is divided by the statistic of these over
               the same trials, so that disturbances of both cells cancel

    Raises ValueError for an empty or infinite sample, and for samples of different sizes.
    """
    ms = _sample(times)
    other = None if beside is None else _sample(beside)
    if other is not None and other.size != ms.size:
        raise ValueError(f"{ms.size} times beside {other.size}")
    out, rows = np.empty(RESAMPLES), max(1, _CHUNK // ms.size)
    for start, picks in zip(range(0, RESAMPLES, rows), _picks(ms.size, rows, seed), strict=True):
        found = statistic(ms[picks])
        out[start : start + rows] = found if other is None else found / statistic(other[picks])
    return out


def _picks(size: int, rows: int, seed: int) -> Iterable[np.ndarray]:
    """The numbers of the drawn times, int64[at most `rows`, size] for each chunk of samples. Those of as few trials as
    most cells have are drawn once."""
    return _few_picks(size, seed) if size <= _FEW else _drawn(size, rows, seed)


@lru_cache(64)  # at most 50 MB
def _few_picks(size: int, seed: int) -> tuple[np.ndarray, ...]:
    return tuple(_drawn(size, RESAMPLES, seed))


def _drawn(size: int, rows: int, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    for start in range(0, RESAMPLES, rows):
        yield generator.integers(0, size, (min(rows, RESAMPLES - start), size))


def interval_of(draws: np.ndarray) -> Interval:
    """The percentile interval: the middle fraction `LEVEL` of the draws of a bootstrap."""
    tail = (1.0 - LEVEL) / 2.0
    ordered = np.sort(draws)
    return Interval(float(_quantile(ordered, tail)), float(_quantile(ordered, 1.0 - tail)))


def median_interval(times: ArrayLike, seed: int = 1) -> Interval:
    """The percentile bootstrap interval of the median. A single time is both bounds."""
    return interval_of(resampled(times, seed=seed))


def outliers(times: ArrayLike) -> np.ndarray:
    """bool[n]: which times are outside Tukey's fences, `FENCE` interquartile ranges beyond the quartiles."""
    ms = _sample(times)
    q1, q3 = (_quantile(sorted(ms.tolist()), part) for part in (0.25, 0.75))
    reach = FENCE * (q3 - q1)
    return (ms < q1 - reach) | (ms > q3 + reach)


def drift(times: ArrayLike) -> float | None:
    """How much slower the last third of the trials was than the first (0.2 for 20 %), if that deserves a warning.

    It does if the bootstrap intervals of the medians of both thirds are disjoint and the medians differ by more than
    `MOST_DRIFT` of the median of all. None otherwise, and if a third has fewer than `LEAST_IN_THIRD` trials.
    """
    ms = _sample(times)
    size = ms.size // 3
    if size < LEAST_IN_THIRD:
        return None
    first, last = ms[:size], ms[-size:]
    before, after, middle = (float(medians(part[None])[0]) for part in (first, last, ms))
    small = abs(after - before) <= MOST_DRIFT * middle
    if small or before == 0.0 or not median_interval(first).disjoint(median_interval(last)):
        return None
    return after / before - 1.0


class Mean(NamedTuple):
    """A geometric mean of ratios, the numbers of measured and missing ones, and the ratio used for missing ones."""

    value: float
    measured: int
    missing: int
    penalty: float


def geometric_mean(ratios: Iterable[float | None]) -> Mean | None:
    """The geometric mean of ratios, one for each graph. A missing ratio (None) counts as `PENALTY`, or as the worst
    measured ratio if that is worse.

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
