"""The result of a run in sentences: 'gpu-fused d=2 is 2.9 to 3.3 times as fast as parallel d=2', overall and by graph.

The configurations come from a `ranking`, which compares like with like and puts the fastest first. A ratio is one of
medians; over several graphs it is the geometric mean over the graphs on which both have a sound time. Its interval and
its words are those of `compare.ratios`.
"""

from collections.abc import Iterable, Iterator, Mapping

from grailbench.compare import ratios
from grailbench.compare.ranking import Place, Ranking, rankings
from grailbench.compare.ratios import EQUAL, UNCLEAR, Ratio
from grailbench.harness.cells import NOT_FROM_EDGES, Cell
from grailbench.problems import contract
from grailbench.util.visible import quoted
from grailbench.util.words import count, listing

TITLE = "Who is fastest"
OTHERS = 3  #: configurations that the fastest is compared with in a sentence
GRAPHS = 5  #: up to this many graphs have a line each; of more graphs, only the least and greatest ratio are given
RIVALS = 4  #: lines of other configurations that are the fastest on some graphs
_NONE_IS_FASTER = {
    EQUAL: f"The first two are {EQUAL}",
    UNCLEAR: f"Which of the first two is faster is {UNCLEAR}",
}
LONGEST = 30  #: lines; a longer answer has none on single graphs


def sentences(cells: Iterable[Cell]) -> list[str]:
    """The answer of a run, one sentence per line; [] if there is nothing to compare. Lines on graphs are indented."""
    found = rankings(cells)
    lines = [line for ranking in found for line in _of(ranking)]
    if len(lines) > LONGEST:
        lines = [line for line in lines if not line.startswith(" ")]
    whole = {ranking.problem for ranking in found if ranking.phase == "ready"}
    if any(each.problem not in whole and contract.problem(each.problem).from_edges for each in found):
        lines.append(f"From edges: {NOT_FROM_EDGES}.")
    return lines


def _ends(found: Mapping[str, Ratio]) -> str:
    """The least and the greatest of some ratios and what they are of: 'at least 1.9 to 2.1 (kegg), at most 3.0 to 3.3
    (human)'."""
    least, most = (f"{found[name]} ({name})" for name in (pick(found, key=lambda name: found[name].value)
                                                          for pick in (min, max)))  # fmt: skip
    return least if least == most else f"at least {least}, at most {most}"


def _of(ranking: Ranking) -> Iterator[str]:
    """The sentences of one ranking."""
    indexed = ranking.places
    timed = [place for place in indexed if place.mean is not None]
    if len(indexed) < 2 or not timed:
        return
    about = f"{ranking.about[0].upper()}{ranking.about[1:]}"
    if len(ranking.best) == 1:
        (graph,) = ranking.best
        yield f"{about}, {graph}: {_over(ranking, *timed)}"
        return
    yield f"{about}, over {count(len(ranking.best), 'graph')}: {_over(ranking, *timed)}"
    found = {}
    for graph in ranking.best:
        others = [place for place in indexed if ranking.ratio(place, graph)]
        two = sorted(others, key=lambda place: ranking.ratio(place, graph))[:2]
        if len(two) == 2:
            value = ratios.of_cells([(two[1].cells[graph], two[0].cells[graph])], ranking.measure)
            found |= {} if value is None else {graph: (two, value)}
    if len(found) <= GRAPHS:
        yield from (f"  {graph}: {one.name} is {value.as_fast_as(other.name)}."
                    for graph, ((one, other), value) in found.items())  # fmt: skip
        return
    won: dict[str, dict[str, Ratio]] = {}
    for graph, ((one, _), value) in found.items():
        if value.order:
            won.setdefault(one.name, {})[graph] = value
    if own := won.pop(timed[0].name, None):
        ends = _ends(own)
        yield f"  {timed[0].name} is the fastest on {len(own)} of {len(found)}: {ends} times as fast as the next."
    most = sorted(won, key=lambda name: len(won[name]), reverse=True)
    yield from (f"  {name} is the fastest on {listing(won[name], GRAPHS)}." for name in won if name in most[:RIVALS])
    if rest := most[RIVALS:]:
        graphs = count(sum(len(won[name]) for name in rest), "graph")
        yield f"  {count(len(rest), 'more configuration')} won on {graphs}."
    for word in (EQUAL, UNCLEAR):
        if equal := [graph for graph, (_, value) in found.items() if not value.order and value.equal == word]:
            yield f"  {_NONE_IS_FASTER[word]} on {listing(equal, GRAPHS)}."


def _over(ranking: Ranking, first: Place, *others: Place) -> str:
    """'A is 2.9 to 3.3 times as fast as B, about equal to C (0.9 to 1.2 times as fast); 2 more configurations behind.'
    What is faster over the graphs that both finished, and has none on others, has a part of its own."""
    parts, ahead = [], []
    for place in others[:OTHERS]:
        common = [graph for graph in ranking.best if ranking.ratio(first, graph) and ranking.ratio(place, graph)]
        if value := ratios.of_cells([(place.cells[graph], first.cells[graph]) for graph in common], ranking.measure):
            partly = f" (over {count(len(common), 'graph')})" if len(common) < len(ranking.best) else ""
            if value.order < 0:
                ahead.append(f"{place.name} is {value.inverse.as_fast_as(first.name)}{partly}")
            else:
                parts.append(f"{value.as_fast_as(place.name)}{partly}")
    more = len(others) - OTHERS
    behind = [f"{count(more, 'more configuration')} behind"] if more > 0 else []
    start = [f"{first.name} is {', '.join(parts)}"] if parts else [] if ahead else [f"{first.name} alone has times"]
    return f"{'; '.join([*start, *ahead, *behind])}."


def next_steps(run: str) -> list[str]:
    """What to look at next, one line each; `run` is the name or path of the run."""
    run = quoted(run)
    return [
        f"figures and tables in one file: grailbench report {run} --html=report.html",
        f"what changed since another run: grailbench compare OTHER {run}",
    ]
