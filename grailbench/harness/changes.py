"""Steps in a series of numbers: E-divisive (D. S. Matteson, N. A. James: A Nonparametric Approach for Multiple Change
Point Analysis of Multivariate Data, Journal of the American Statistical Association 109, 2014), as MongoDB and Hunter
use it on histories of benchmarks.

A segment is cut where the energy distance of its two parts is largest, if a permutation test finds it larger than
chance; then each part is looked at alike. Permutations are seeded, so the same numbers give the same steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.01  #: the largest p-value of a step
PERMUTATIONS = 499
LEAST = 2  #: numbers of a segment
_CHUNK = 1 << 22  # distances that are permuted at once: 32 MB


class Change(NamedTuple):
    """A step: the place of the first number after it, and its p-value."""

    at: int
    p: float


def e_divisive(values: ArrayLike, level: float = LEVEL) -> list[Change]:
    """The steps in a series of finite numbers, by place. Raises ValueError if one is not finite."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError("a series is of finite numbers")
    found: list[Change] = []
    parts = [(0, x.size)]
    while parts:
        start, end = parts.pop()
        if end - start < 2 * LEAST:
            continue
        apart = np.abs(x[start:end, None] - x[None, start:end])
        scores = divergences(apart[None])[0]
        at, best = int(scores.argmax()) + LEAST, scores.max()
        p = _p_value(apart, best)
        if best > 0.0 and p <= level:
            found.append(Change(start + at, p))
            parts += [(start, start + at), (start + at, end)]
    return sorted(found)


def divergences(apart: np.ndarray) -> np.ndarray:
    """float64[k, n - 2 LEAST + 1]: for k matrices of distances, float64[k, n, n], the scaled energy distance of the
    first m numbers and the others, for m = LEAST to n - LEAST."""
    n = apart.shape[1]
    m = np.arange(LEAST, n - LEAST + 1)
    sums = apart.cumsum(axis=1).cumsum(axis=2)  # sums[i, j]: of the first i + 1 by the first j + 1
    first, whole = sums[:, m - 1, m - 1], sums[:, -1, -1, None]
    beside = sums[:, m - 1, -1] - first
    last = whole - first - 2 * beside
    size, rest = m, n - m
    energy = 2 * beside / (size * rest) - first / (size * (size - 1)) - last / (rest * (rest - 1))
    return energy * (size * rest / n)


def _p_value(apart: np.ndarray, best: float) -> float:
    n = apart.shape[0]
    generator, larger, left = np.random.default_rng(n), 0, PERMUTATIONS
    while left:
        rows = min(left, max(1, _CHUNK // (n * n)))
        order = generator.permuted(np.tile(np.arange(n), (rows, 1)), axis=1)
        drawn = apart[order[:, :, None], order[:, None, :]]
        larger += int((divergences(drawn).max(axis=1) >= best * (1 - 1e-9)).sum())
        left -= rows
    return (1 + larger) / (1 + PERMUTATIONS)
