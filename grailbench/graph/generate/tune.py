"""Chooses the knobs of a profile so that look-alikes have the positive rate and the triangles of the original graph."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from grailbench.graph.condense import condense
from grailbench.graph.generate.alike import alike
from grailbench.graph.generate.profiles import Knobs, Profile
from grailbench.graph.generate.reach import plain_graph, positive_rate, triangles

SHARES = (0, 500, 1000)
MOST_ROUNDS = 128
SEEDS = (101, 102)  # seeds that users are unlikely to choose
CLOSE = 0.02  # relative error of the positive rate that is good enough
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fit:
    """Look-alikes with the same knobs: mean positive rate, its relative error, mean number of triangles."""

    knobs: Knobs
    rate: float
    error: float
    triangles: float

    def cost(self, profile: Profile) -> float:
        """The cost to minimise: the error of the rate, and, more weakly, the log of the ratio of the triangles."""
        if profile.triangles is None:
            return self.error
        ratio = (self.triangles + 10) / (profile.triangles + 10)
        return max(self.error, CLOSE) + 0.02 * abs(float(np.log(ratio)))


def fit(profile: Profile, knobs: Knobs, seeds=SEEDS) -> Fit:
    """Generates look-alikes with these knobs and measures them."""
    rates, counted = [], []
    for seed in seeds:
        graph = plain_graph(condense(alike(replace(profile, knobs=knobs), seed)))
        rates.append(positive_rate(graph).value)
        counted.append(triangles(graph))
    rate = float(np.mean(rates))
    found = Fit(knobs, rate, abs(rate / profile.positive_rate - 1), float(np.mean(counted)))
    _log.info("%s: %s, wanted %.6g", profile.name, found, profile.positive_rate)
    return found


def tune(profile: Profile, seeds=SEEDS) -> Profile:
    """The profile with the best knobs.

    The positive rate falls with `heights` and with `rounds`. For each value of `heights` in SHARES, `rounds` is found
    by bisection; if the rate is too low even with 0 rounds, `heights` is found by bisection.
    """
    fits = []
    for share in SHARES:
        at_rest = fit(profile, Knobs(heights=share), seeds)
        fits.append(at_rest)
        if at_rest.rate <= profile.positive_rate * (1 + CLOSE):
            break
        fits += _bisect(profile, lambda rounds, share=share: Knobs(heights=share, rounds=rounds), 0, MOST_ROUNDS, seeds)
    if fits[-1].rate < profile.positive_rate * (1 - CLOSE) and len(fits) > 1:
        fits += _bisect(profile, lambda share: Knobs(heights=share), SHARES[0], share, seeds)
    best = min(fits, key=lambda found: (found.cost(profile), found.knobs.rounds, found.knobs.heights))
    _log.info("%s: %s", profile.name, best)
    return replace(profile, knobs=best.knobs)


def tune_width(profile: Profile, seeds=SEEDS[:1]) -> Profile:
    """The profile with the best width, for graphs that are too large for rounds of swaps."""
    fits = [fit(profile, Knobs(), seeds)]
    if fits[0].rate > profile.positive_rate * (1 + CLOSE):
        fits += _bisect(profile, lambda e: Knobs(width=round(1e6 * 2 ** (-e / 8))), 0, 160, seeds)
    best = min(fits, key=lambda found: found.error)
    return replace(profile, knobs=best.knobs)


def _bisect(profile: Profile, knobs, low: int, high: int, seeds) -> list[Fit]:
    """All fits of a bisection for the least number in (low, high] whose rate does not exceed the graph's.

    The rate must fall with the number; `knobs` makes the knobs of a number.
    """
    fits = [fit(profile, knobs(high), seeds)]
    if fits[0].rate > profile.positive_rate:
        return fits
    while high - low > 1:
        middle = (low + high) // 2
        fits.append(fit(profile, knobs(middle), seeds))
        low, high = (middle, high) if fits[-1].rate > profile.positive_rate else (low, middle)
    return fits
