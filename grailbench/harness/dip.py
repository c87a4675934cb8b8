"""Hartigan's dip test of unimodality (J. A. Hartigan, P. M. Hartigan: The Dip Test of Unimodality, Annals of Statistics
13, 1985; the algorithm is AS 217, P. M. Hartigan, Applied Statistics 34, 1985, with the corrections of M. Maechler).

The dip of a sample is the largest distance between its distribution function and the nearest unimodal one. Small ones
are what a single mode gives; two modes that are well apart give up to 1/4. Random numbers are seeded.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

SAMPLES = 2000  #: uniform samples of which a p-value is made
_LARGEST = 100  # times of a sample that is drawn; dips of larger ones are scaled, as sqrt(n) times the dip converges


def dip(times: ArrayLike) -> float:
    """The dip of at least one time, 1 / 2n at least. Raises ValueError for an empty sample."""
    x = sorted(map(float, np.asarray(times).ravel()))
    n = len(x)
    if n == 0:
        raise ValueError("the dip is of one time or more")
    if n < 4 or x[0] == x[-1]:
        return 0.5 / n
    below, above = _hull(x), _hull([-value for value in reversed(x)])
    minorant, majorant = below, [n - 1 - at for at in reversed(above)]
    low, high, found = 0, n - 1, 1.0
    while True:
        gcm, lcm = _chain(minorant, high, low), _chain(majorant, low, high)
        apart, g, h = _widest(x, gcm, lcm)
        if apart < found:
            break
        found = max(found, _within(x, gcm[g:][::-1], 1), _within(x, lcm[h:], -1))
        if (low, high) == (gcm[g], lcm[h]):
            break
        low, high = gcm[g], lcm[h]
    return found / (2 * n)


def p_value(times: ArrayLike) -> float:
    """How often a uniform sample of this size has a dip that is as large: the test of unimodality, as the uniform
    distribution is the unimodal one with the largest dips (asymptotically)."""
    size = np.asarray(times).size
    drawn = min(size, _LARGEST)
    scaled = dip(times) * (size / drawn) ** 0.5
    null = _uniform(drawn)
    return (1 + len(null) - bisect_left(null, scaled - 1e-12)) / (1 + len(null))


@lru_cache(None)
def _uniform(size: int) -> tuple[float, ...]:
    """The dips of `SAMPLES` uniform samples of this size, in ascending order."""
    return tuple(sorted(map(dip, np.random.default_rng(size).random((SAMPLES, size)))))


def _hull(x: list[float]) -> list[int]:
    """For each point of the distribution function the one before it on the greatest convex minorant up to it."""
    before = [0] * len(x)
    for j in range(1, len(x)):
        at = j - 1
        while at and (x[j] - x[at]) * (at - before[at]) >= (x[at] - x[before[at]]) * (j - at):
            at = before[at]
        before[j] = at
    return before


def _chain(following: list[int], start: int, end: int) -> list[int]:
    """The points from `start` to `end`, each followed by that which `following` has for it."""
    found = [start]
    while found[-1] != end:
        found.append(following[found[-1]])
    return found


def _widest(x: list[float], gcm: list[int], lcm: list[int]) -> tuple[float, int, int]:
    """The greatest distance of minorant (`gcm`, from its end on) and majorant, and the places in both where it is."""
    if len(gcm) == 2 and len(lcm) == 2:
        return 1.0, 1, 1
    apart, g, h = 0.0, len(gcm) - 1, len(lcm) - 1
    i, v = len(gcm) - 2, 1
    while True:
        a, b = gcm[i], lcm[v]
        if a > b:
            start = gcm[i + 1]
            found = (b - start + 1) - (x[b] - x[start]) * (a - start) / (x[a] - x[start])
            v += 1
            if found >= apart:
                apart, g, h = found, i + 1, v - 1
        else:
            start = lcm[v - 1]
            found = (x[a] - x[start]) * (b - start) / (x[b] - x[start]) - (a - start - 1)
            i -= 1
            if found >= apart:
                apart, g, h = found, i + 1, v
        i, v = max(i, 0), min(v, len(lcm) - 1)
        if gcm[i] == lcm[v]:
            return apart, g, h


def _within(x: list[float], chain: list[int], sign: int) -> float:
    """The greatest distance between the distribution function and the lines that join the points of a chain."""
    most = 0.0
    for start, end in zip(chain, chain[1:], strict=False):
        most = max(most, 1.0)
        if end - start > 1 and x[end] != x[start]:
            slope = (end - start) / (x[end] - x[start])
            for at in range(start, end + 1):
                most = max(most, sign * ((at - start) - (x[at] - x[start]) * slope) + 1)
    return most
