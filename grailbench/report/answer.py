"""What a run comes to, in words: 'gpu-fused d=2 is 3.1 ± 0.2 times as fast as parallel d=2', over all and by graph.

The configurations are those of a `ranking`: like stands with like, and the fastest comes first. A ratio is one of
medians; over several graphs it is the geometric mean over those on which both have a sound time. The ± is half the 95 %
bootstrap interval of that ratio, drawn from the trials: from the same trials of both where they were timed in the same,
so that what slowed a trial down for both cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from grailbench import contract
from grailbench.contract import USUAL
from grailbench.report.measured import median
from grailbench.report.papers.peers import PREFIX
from grailbench.report.ranking import Place, Ranking, every
from grailbench.runs.cells import NOT_FROM_EDGES, Cell
from grailbench.runs.statistics import interval_of, resampled
from grailbench.words import count, estimate, some

TITLE = "Who is fastest"
OTHERS = 3  #: configurations that the fastest is compared with in a sentence
GRAPHS = 5  #: graphs that have a sentence each; of more, the least and the greatest ratio are said
FEW = 3  #: trials below which a ± would say nothing


class Ratio(NamedTuple):
    """How many times as fast, and half its 95 % interval; None where there are too few trials. `sampled`: not every
    answer of its cells was checked."""

    value: float
    plus: float | None
    sampled: bool = False

    def __str__(self) -> str:
        return estimate(self.value, self.plus) + (" (sampled)" if self.sampled else "")


def ratio(slow: Iterable[Cell], fast: Iterable[Cell], phase: str) -> Ratio:
    """How many times as fast `fast` is as `slow`: two lists of cells, graph by graph, all with sound times."""
    logs, draws, few, sampled = [], [], False, False
    for seed, (one, other) in enumerate(zip(slow, fast, strict=True), 1):
        long, short = one.times["", phase], other.times["", phase]
        logs.append(math.log(median(one, phase) / median(other, phase)))
        draws.append(np.log(_draws(long, short, seed)))
        few |= min(len(long), len(short)) < FEW
        sampled |= "sampled" in (one.status, other.status)
    value = math.exp(sum(logs) / len(logs))
    if few:
        return Ratio(value, None, sampled)
    low, high = interval_of(np.exp(np.mean(draws, axis=0)))
    return Ratio(value, (high - low) / 2, sampled)


def _draws(long: Mapping[int, float], short: Mapping[int, float], seed: int) -> np.ndarray:
    """Draws of the ratio of the medians of two cells on one graph; of each graph others."""
    over, under = list(long.values()), list(short.values())
    if long.keys() == short.keys():
        return resampled(over, seed=2 * seed, beside=under)
    return resampled(over, seed=2 * seed) / resampled(under, seed=2 * seed + 1)


def sentences(cells: Iterable[Cell]) -> list[str]:
    """The answer of a run, a line a sentence; [] where it has nothing to compare. Lines on one graph are indented."""
    rankings = every(cells)
    lines = [line for ranking in rankings for line in _of(ranking)]
    whole = {ranking.problem for ranking in rankings if ranking.phase == "ready"}
    if any(each.problem not in whole and contract.problem(each.problem).from_edges for each in rankings):
        lines.append(f"From edges: {NOT_FROM_EDGES}.")
    return lines


def _of(ranking: Ranking) -> Iterator[str]:
    """The sentences of one ranking."""
    places = [place for place in ranking.places if _indexed(ranking, place)]
    timed = [place for place in places if place.mean is not None]
    if len(places) < 2 or not timed:
        return
    fastest, *others = timed
    about = f"{ranking.about[0].upper()}{ranking.about[1:]}"
    if len(ranking.best) == 1:
        (graph,) = ranking.best
        yield f"{about}, {graph}: {_over(ranking, fastest, others)}"
        return
    yield f"{about}, over {count(len(ranking.best), 'graph')}: {_over(ranking, fastest, others)}"
    winners = {graph: _best_two(ranking, graph) for graph in ranking.best}
    ratios = {graph: ratio([two[1].cells[graph]], [two[0].cells[graph]], ranking.phase)
              for graph, two in winners.items() if len(two) == 2}  # fmt: skip
    if len(ratios) <= GRAPHS:
        for graph, found in ratios.items():
            yield f"  {graph}: {winners[graph][0].name} is {found} times as fast as {winners[graph][1].name}."
        return
    won = [graph for graph in ratios if winners[graph][0] is fastest]
    if won:
        ends = [pick(won, key=lambda graph: ratios[graph].value) for pick in (min, max)]
        told = " to ".join(f"{ratios[graph]} ({graph})" for graph in dict.fromkeys(ends))
        yield f"  {fastest.name} is the fastest on {len(won)} of {len(ratios)}: {told} times as fast as the next."
    rest: dict[str, list[str]] = {}
    for graph in ratios:
        if graph not in won:
            rest.setdefault(winners[graph][0].name, []).append(graph)
    for name, graphs in rest.items():
        yield f"  {name} is the fastest on {some(graphs, GRAPHS)}."


def _over(ranking: Ranking, fastest: Place, others: list[Place]) -> str:
    """'A is 3.1 ± 0.2 times as fast as B, 4.0 ± 0.1 times as fast as C (over 3 graphs), and 2 more are slower.'"""
    parts = []
    for place in others[:OTHERS]:
        common = [graph for graph in ranking.best if _timed(ranking, fastest, graph) and _timed(ranking, place, graph)]
        if not common:
            continue
        found = ratio([place.cells[g] for g in common], [fastest.cells[g] for g in common], ranking.phase)
        partly = f" (over {count(len(common), 'graph')})" if len(common) < len(ranking.best) else ""
        parts.append(f"{found} times as fast as {place.name}{partly}")
    more = len(others) - OTHERS
    tail = f"; {count(more, 'more configuration')} behind" if more > 0 else ""
    return f"{fastest.name} is {', '.join(parts)}{tail}." if parts else f"{fastest.name} alone has times{tail}."


def _indexed(ranking: Ranking, place: Place) -> bool:
    """Whether a configuration may be called fast at building: one that builds nothing may not."""
    built = ranking.problem != USUAL or ranking.phase == "query"
    return built or any(cell.dim or cell.index_bytes or cell.impl.startswith(PREFIX) for cell in place.cells.values())


def _timed(ranking: Ranking, place: Place, graph: str) -> bool:
    return ranking.ratio(place, graph) is not None


def _best_two(ranking: Ranking, graph: str) -> list[Place]:
    """The fastest configuration on a graph and the next, as far as there are any."""
    timed = [place for place in ranking.places if _timed(ranking, place, graph) and _indexed(ranking, place)]
    return sorted(timed, key=lambda place: ranking.ratio(place, graph))[:2]


def next_steps(run: str) -> list[str]:
    """What to open next, a line each; `run` as a user names it."""
    return [
        f"figures and tables in one file: grailbench report {run} --html=report.html",
        f"what changed since another run: grailbench compare OTHER {run}",
    ]
