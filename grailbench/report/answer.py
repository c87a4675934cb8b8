"""The result of a run in sentences: 'gpu-fused d=2 is 3.1 ± 0.2 times as fast as parallel d=2', overall and by graph.

The configurations come from a `ranking`, which compares like with like and puts the fastest first. A ratio is a ratio
of medians; over several graphs it is the geometric mean over the graphs on which both have a sound time. The ± is half
the 95 % bootstrap interval of the ratio. Where two configurations have the same trial numbers, both are resampled by
the same trials, so that whatever slowed a trial down for both cancels out.
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
from grailbench.visible import quoted
from grailbench.words import count, estimate, some

TITLE = "Who is fastest"
OTHERS = 3  #: configurations that the fastest is compared with in a sentence
GRAPHS = 5  #: up to this many graphs have a line each; of more graphs, only the least and greatest ratio are given
RIVALS = 4  #: lines of other configurations that are the fastest on some graphs
LONGEST = 30  #: lines; in a longer answer, rankings that differ only in d share one line
FEW = 3  #: with fewer trials there is no ±


class Ratio(NamedTuple):
    """How many times as fast one configuration is as another.

    plus     half the 95 % interval, None where there are too few trials
    sampled  True when not every answer of the cells was checked
    """

    value: float
    plus: float | None
    sampled: bool = False

    def __str__(self) -> str:
        return estimate(self.value, self.plus) + (" (sampled)" if self.sampled else "")


def ratio(slow: Iterable[Cell], fast: Iterable[Cell], phase: str) -> Ratio:
    """How many times as fast `fast` is as `slow`. Both have one cell per graph, in the same order, with sound times."""
    pairs = list(zip(slow, fast, strict=True))
    value = math.exp(sum(math.log(median(one, phase) / median(other, phase)) for one, other in pairs) / len(pairs))
    sampled = any(cell.status == "sampled" for pair in pairs for cell in pair)
    times = [(one.times["", phase], other.times["", phase]) for one, other in pairs]
    if any(len(each) < FEW for pair in times for each in pair):
        return Ratio(value, None, sampled)
    draws = [np.log(_draws(long, short, seed)) for seed, (long, short) in enumerate(times, 1)]
    low, high = interval_of(np.exp(np.mean(draws, axis=0)))
    return Ratio(value, (high - low) / 2, sampled)


def _draws(long: Mapping[int, float], short: Mapping[int, float], seed: int) -> np.ndarray:
    """float64[RESAMPLES]: bootstrap draws of the ratio of the medians of two cells on one graph; `seed` differs by
    graph."""
    over, under = list(long.values()), list(short.values())
    if long.keys() == short.keys():
        return resampled(over, seed=2 * seed, beside=under)
    return resampled(over, seed=2 * seed) / resampled(under, seed=2 * seed + 1)


def sentences(cells: Iterable[Cell]) -> list[str]:
    """The answer of a run, one sentence per line; [] if there is nothing to compare. Lines on graphs are indented."""
    rankings = every(cells)
    lines = [line for ranking in rankings for line in _of(ranking)]
    if len(lines) > LONGEST:
        lines = [line for alike in _by_dim(rankings) for line in (_of_dims(alike) if len(alike) > 1 else _of(alike[0]))]
    whole = {ranking.problem for ranking in rankings if ranking.phase == "ready"}
    if any(each.problem not in whole and contract.problem(each.problem).from_edges for each in rankings):
        lines.append(f"From edges: {NOT_FROM_EDGES}.")
    return lines


def _by_dim(rankings: Iterable[Ranking]) -> list[list[Ranking]]:
    """The rankings in groups that differ only in d."""
    groups: dict[tuple, list[Ranking]] = {}
    for each in rankings:
        groups.setdefault((each.problem, each.phase, each.query_set, each.like), []).append(each)
    return list(groups.values())


def _of_dims(rankings: list[Ranking]) -> Iterator[str]:
    """One sentence per configuration that is the fastest with some d, for rankings that differ only in d."""
    ratios: dict[str, dict[int, Ratio]] = {}
    over: set[int] = set()
    for ranking in rankings:
        fastest, *others = _timed_places(ranking) or [None]
        found = next(filter(None, (_ratio_over_graphs(ranking, fastest, place) for place in others)), None)
        if found:
            value, graphs = found
            ratios.setdefault(fastest.name.replace(f" d={ranking.dim}", "", 1), {})[ranking.dim] = value
            over.add(graphs)
    if not over:
        return
    graphs = f"{min(over)} to " * (min(over) < max(over)) + count(max(over), "graph")
    about = f"{_start(rankings[0]).replace(f', d = {rankings[0].dim}', '', 1)}, over {graphs}"
    for name, own in ratios.items():
        dims, ends = ", ".join(map(str, own)), _ends({f"d = {dim}": found for dim, found in own.items()})
        yield f"{about}: {name} is the fastest with d = {dims}: {ends} times as fast as the next."


def _start(ranking: Ranking) -> str:
    """What was timed, as the start of a sentence."""
    return f"{ranking.about[0].upper()}{ranking.about[1:]}"


def _timed_places(ranking: Ranking) -> list[Place]:
    """The configurations with a mean, the fastest first; [] where there are fewer than two to compare."""
    places = [place for place in ranking.places if _indexed(ranking, place)]
    return [place for place in places if place.mean is not None] if len(places) > 1 else []


def _ends(ratios: Mapping[str, Ratio]) -> str:
    """The least and the greatest of some ratios and what they are of: '2.0 ± 0.1 (kegg) to 3.1 ± 0.2 (human)'."""
    ends = dict.fromkeys(pick(ratios, key=lambda name: ratios[name].value) for pick in (min, max))
    return " to ".join(f"{ratios[name]} ({name})" for name in ends)


def _of(ranking: Ranking) -> Iterator[str]:
    """The sentences of one ranking."""
    if not (timed := _timed_places(ranking)):
        return
    fastest, *others = timed
    about = _start(ranking)
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
    won: dict[str, list[str]] = {}
    for graph in ratios:
        won.setdefault(winners[graph][0].name, []).append(graph)
    if own := won.pop(fastest.name, None):
        ends = _ends({graph: ratios[graph] for graph in own})
        yield f"  {fastest.name} is the fastest on {len(own)} of {len(ratios)}: {ends} times as fast as the next."
    most = sorted(won, key=lambda name: len(won[name]), reverse=True)
    yield from (f"  {name} is the fastest on {some(won[name], GRAPHS)}." for name in won if name in most[:RIVALS])
    if rest := most[RIVALS:]:
        graphs = count(sum(len(won[name]) for name in rest), "graph")
        yield f"  {count(len(rest), 'more configuration')} won on {graphs}."


def _over(ranking: Ranking, fastest: Place, others: list[Place]) -> str:
    """'A is 3.1 ± 0.2 times as fast as B, 4.0 ± 0.1 times as fast as C (over 3 graphs), and 2 more are slower.'"""
    parts = []
    for place in others[:OTHERS]:
        if found := _ratio_over_graphs(ranking, fastest, place):
            value, graphs = found
            partly = f" (over {count(graphs, 'graph')})" if graphs < len(ranking.best) else ""
            parts.append(f"{value} times as fast as {place.name}{partly}")
    more = len(others) - OTHERS
    tail = f"; {count(more, 'more configuration')} behind" if more > 0 else ""
    return f"{fastest.name} is {', '.join(parts)}{tail}." if parts else f"{fastest.name} alone has times{tail}."


def _ratio_over_graphs(ranking: Ranking, fastest: Place, other: Place) -> tuple[Ratio, int] | None:
    """How many times as fast `fastest` is as `other` over the graphs on which both have a time, and how many graphs
    those are; None without any."""
    common = [graph for graph in ranking.best if _timed(ranking, fastest, graph) and _timed(ranking, other, graph)]
    if not common:
        return None
    found = ratio([other.cells[g] for g in common], [fastest.cells[g] for g in common], ranking.phase)
    return found, len(common)


def _indexed(ranking: Ranking, place: Place) -> bool:
    """False for a configuration without an index in a ranking by building time: it has nothing to build."""
    built = ranking.problem != USUAL or ranking.phase == "query"
    return built or any(cell.dim or cell.index_bytes or cell.impl.startswith(PREFIX) for cell in place.cells.values())


def _timed(ranking: Ranking, place: Place, graph: str) -> bool:
    return ranking.ratio(place, graph) is not None


def _best_two(ranking: Ranking, graph: str) -> list[Place]:
    """The fastest configuration on a graph and the next, or those of them that exist."""
    timed = [place for place in ranking.places if _timed(ranking, place, graph) and _indexed(ranking, place)]
    return sorted(timed, key=lambda place: ranking.ratio(place, graph))[:2]


def next_steps(run: str) -> list[str]:
    """What to look at next, one line each; `run` is the name or path of the run."""
    run = quoted(run)
    return [
        f"figures and tables in one file: grailbench report {run} --html=report.html",
        f"what changed since another run: grailbench compare OTHER {run}",
    ]
