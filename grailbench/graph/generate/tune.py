"""Measures how near a look-alike comes to its graph, and chooses the knobs of a profile so that positive rate and
triangles are those of the original graph.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from grailbench.graph.condense import condense
from grailbench.graph.csr import Dag, Graph
from grailbench.graph.generate.profiles import Knobs, Profile, plain_graph, positive_rate, triangles

# ---------------------------------------------------------------------------------------- comparing


PAIRS = 100_000  # the papers' batch


@dataclass(frozen=True)
class Difference:
    """One quantity as wanted by the profile and as found in the generated graph.

    `relative` is generated / wanted - 1, or None if `wanted` is 0 or None.
    """

    quantity: str
    wanted: float | None
    generated: float

    @property
    def relative(self) -> float | None:
        return self.generated / self.wanted - 1 if self.wanted else None


def compare(profile: Profile, graph: Graph) -> list[Difference]:
    """Measures a look-alike and compares it with its profile.

    Vertices and edges include the super-root, its edges and duplicate edges, as in the thesis. 'vertices at another
    level' is the number of vertices that would have to change their level to make the numbers per level equal.
    """
    dag = condense(graph)
    plain = plain_graph(dag)
    ins = np.bincount(plain.targets, minlength=plain.vertices)
    outs = np.bincount(plain.sources, minlength=plain.vertices)
    levels = dag.levels[:-1] - 1
    spans = levels[plain.targets] - levels[plain.sources]
    wanted_span = float(np.average(np.arange(len(profile.spans)), weights=profile.spans)) if profile.edges else 0.0
    rows = [
        ("vertices", profile.printed[0], dag.vertices),
        ("edges", profile.printed[1], dag.printed_edges),
        ("distinct edges", profile.edges + profile.roots, dag.edges),
        ("roots", profile.roots, int(dag.roots.size)),
        ("sinks", profile.sinks, int((outs == 0).sum())),
        ("levels", len(profile.levels), dag.depth - 1),
        ("vertices at another level", 0, _moved(profile.levels, dag)),
        ("largest in-degree", profile.max_in_degree, int(ins.max(initial=0))),
        ("largest out-degree", profile.max_out_degree, int(outs.max(initial=0))),
        ("mean span of an edge", wanted_span, float(spans.mean()) if spans.size else 0.0),
        ("triangles", profile.triangles, triangles(plain)),
        ("positives in 100,000 pairs", _pairs(profile.positive_rate), _pairs(positive_rate(plain).value)),
    ]
    return [Difference(*row) for row in rows]


def _pairs(rate: float | None) -> float | None:
    return None if rate is None else PAIRS * rate


def _moved(wanted: np.ndarray, dag: Dag) -> int:
    found = np.bincount(dag.levels[:-1] - 1)
    depth = max(wanted.size, found.size)
    return int(np.abs(np.pad(wanted, (0, depth - wanted.size)) - np.pad(found, (0, depth - found.size))).sum() // 2)


# ---------------------------------------------------------------------------------------- choosing the knobs


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
    from grailbench.graph.generate.alike import alike  # whose kernels only this needs

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
