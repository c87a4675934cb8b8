"""Rankings: which configuration of a run is the fastest, on each graph and overall, and the best of two sides.

A ranking compares like with like: one query set, one number of label pairs (configurations without labels are in every
ranking), and either real or generated graphs. Times are medians, divided by the best time on the graph.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from grailbench.compare import ratios
from grailbench.compare.measures import Best, Measure, best, keeps_index, named, of_index, of_phase
from grailbench.compare.ratios import Ratio
from grailbench.graph.generate import catalogue
from grailbench.harness.cells import Cell
from grailbench.harness.rows import STATUSES, grouped
from grailbench.harness.statistics import Interval, Mean, geometric_mean
from grailbench.problems.contract import USUAL, problem


class Over(NamedTuple):
    """A geometric mean over graphs of values / the best value there, its 95 % interval, None without one, and the
    ratio that this is of."""

    mean: Mean
    interval: Interval | None
    ratio: Ratio | None = None

    @property
    def value(self) -> float:
        """The mean."""
        return self.mean.value


def over(own: Mapping[str, Best | None], base: Mapping[str, Best], measure: Measure) -> Over | None:
    """The mean over graphs of own values / those of `base`, of one run. A graph without an own value (None) counts as
    `geometric_mean` says; None without any value."""
    mean = geometric_mean(one and one.value / base[graph].value for graph, one in own.items())
    if mean is None:
        return None
    ratio = ratios.of_cells([(one.cell, base[graph].cell) for graph, one in own.items() if one], measure)
    if ratio is None or ratio.interval is None:
        return Over(mean, None, ratio)
    part = mean.measured / (mean.measured + mean.missing)  # missing graphs have the same ratio in every draw
    return Over(mean, Interval(*(bound**part * mean.penalty ** (1 - part) for bound in ratio.interval)), ratio)


# ------------------------------------------------------------------ rankings by a phase


@dataclass(frozen=True)
class Place:
    """A configuration in a ranking.

    cells  its cell by graph
    over   the mean over the graphs of its time / best time; None without any sound time. A graph without a sound time
           counts as `geometric_mean` says
    """

    name: str
    cells: dict[str, Cell]
    over: Over | None

    @property
    def mean(self) -> Mean | None:
        """The mean of `over`."""
        return self.over and self.over.mean


@dataclass(frozen=True)
class Ranking:
    """The configurations by one phase, the fastest first; those that were not run on every graph are last.

    dim    d of the configurations with labels, None if there are none
    like   True for generated graphs
    best   the cell with the least median ms by graph, in the order of the run
    """

    problem: str
    phase: str
    dim: int | None
    query_set: str
    like: bool
    best: dict[str, Best]
    places: list[Place]

    @property
    def about(self) -> str:
        """What was timed: 'queries (random-10000-s1), d = 2'."""
        parts = [f"{problem(self.problem).ranked[self.phase]} ({self.query_set})", self.dim and f"d = {self.dim}"]
        kind = generated_kind(self.best, alike="generated graphs") if self.like else None
        return ", ".join(part for part in (*parts, kind) if part)

    @property
    def measure(self) -> Measure:
        """What it compares."""
        return _measure(self.problem, self.phase)

    def ratio(self, place: Place, graph: str) -> float | None:
        """A configuration's time on a graph / the best time there; None if it has no time."""
        time = self.measure.value(place.cells[graph]) if graph in place.cells else None
        return time and time / self.best[graph].value


def rankings(cells: Iterable[Cell]) -> list[Ranking]:
    """All rankings with at least two configurations, problem by problem.

    The first is by the last phase of a trial, the second by `ready` or, if that was not timed, by the next phase of
    `Problem.ranked`.
    """
    groups = grouped(cells, lambda cell: (cell.problem, cell.generated, cell.query_set))
    problems = list(dict.fromkeys(solved for solved, *_ in groups))
    out = []
    for (solved, like, query_set), group in sorted(groups.items(), key=lambda g: (problems.index(g[0][0]), g[0][1])):
        last, *rest = problem(solved).ranked
        for dim in sorted({cell.dim for cell in group if cell.dim}) or [None]:
            part = [cell for cell in group if cell.dim in (None, dim)]
            other = next((phase for phase in rest if any(map(_measure(solved, phase).value, part))), None)
            for phase in filter(None, (last, other)):
                built = phase != last and solved == USUAL  # what keeps no index has none to build
                own = [cell for cell in part if keeps_index(cell) or not cell.sound] if built else part
                best_of, places = _places(own, _measure(solved, phase))
                if len(places) > 1 and best_of:
                    out.append(Ranking(solved, phase, dim, query_set, like, best_of, places))
    return out


def _measure(solved: str, phase: str) -> Measure:
    """What a ranking by a phase compares: of the building of an index only cells that keep one."""
    measure = of_phase(phase)
    return of_index(measure) if solved == USUAL and phase != problem(solved).phases[-1] else measure


def _places(cells: list[Cell], measure: Measure) -> tuple[dict[str, Best], list[Place]]:
    found: dict[tuple, dict[str, Cell]] = {}
    for cell in cells:
        found.setdefault((cell.label, cell.seed), {}).setdefault(cell.dataset, cell)
    best_of = least_by_graph(cells, measure)
    several = len({label for label, _ in found}) < len(found)
    places = []
    for (label, seed), own in found.items():
        own = {g: cell for g, cell in own.items() if g in best_of and not (cell.sound and measure.value(cell) is None)}
        values = {graph: least_by_graph([cell], measure).get(graph) for graph, cell in own.items()}
        name = f"{label} seed {seed}" if several else label
        places += [Place(name, own, over(values, best_of, measure))] if own else []
    places.sort(key=lambda p: (p.mean is None, len(p.cells) < len(best_of), p.mean and p.mean.value, p.name))
    return best_of, places


# ------------------------------------------------------------------ all configurations by several measures


@dataclass(frozen=True)
class Standing:
    """A configuration over all graphs of a run.

    finished  the graphs on which all of its cells are sound
    lost      the worst status of its cells, by graph, where one is not
    means     by the name of a measure: the mean over its graphs of its value / the best of all; None where it has none
    part      how many pairs of a query set it was asked, if not all
    """

    name: str
    finished: list[str]
    lost: dict[str, str]
    means: dict[str, Over | None]
    part: int | None = None


def standings(cells: Iterable[Cell], measures: Mapping[str, tuple[Measure, str | None]]) -> list[Standing]:
    """Every configuration, by the mean of the first measure; those without a value there come last.

    measures  by name, with the query set that its cells were asked, or a part of it; None if any will do
    """
    every = list(cells)
    groups = grouped(every, lambda cell: cell.label)
    best_of = {name: least_by_graph(every, *measure) for name, measure in measures.items()}
    found = []
    for name, own in groups.items():
        lost: dict[str, str] = {}
        for cell in own:
            if not cell.sound:
                lost[cell.dataset] = max(lost.get(cell.dataset, "ok"), cell.status, key=STATUSES.index)
        graphs, means = list(dict.fromkeys(cell.dataset for cell in own)), {}
        for each, (measure, query_set) in measures.items():
            values = least_by_graph(own, measure, query_set)
            its = {graph: values.get(graph) for graph in graphs if graph in best_of[each]}
            means[each] = over(its, best_of[each], measure)
        part = next((cell.part for cell in own if cell.part is not None), None)
        found.append(Standing(name, [graph for graph in graphs if graph not in lost], lost, means, part))
    first = next(iter(measures))
    return sorted(found, key=lambda s: (s.means[first] is None, s.means[first] and s.means[first].value, s.name))


def least_by_graph(cells: Iterable[Cell], measure: Measure, query_set: str | None = None) -> dict[str, Best]:
    """The least value, by graph, of cells that were asked a query set or a part of it; None: whatever they were. A
    value of 0, which has no ratio, does not count."""
    asked = (cell for cell in cells if query_set in (None, cell.whole_set))
    found = {graph: best(filter(measure.value, own), measure)
             for graph, own in grouped(asked, lambda cell: cell.dataset).items()}  # fmt: skip
    return {graph: least for graph, least in found.items() if least is not None}


# ------------------------------------------------------------------ the best of two sides


@dataclass(frozen=True)
class Duel:
    """The best of one side against the best of another, by one measure; None for a side without a value.

    ratio  own / other; None without both, and for a time of 0
    """

    own: Best | None
    other: Best | None
    ratio: Ratio | None = field(default=None)

    @property
    def value(self) -> float | None:
        """The ratio alone."""
        return self.ratio and self.ratio.value

    @property
    def interval(self) -> Interval | None:
        """The interval of the ratio."""
        return self.ratio and self.ratio.interval


def duel(own: Best | None, other: Best | None, measure: Measure, one_run: bool = True) -> Duel:
    """Compare the best of two sides; trials of one run are drawn together."""
    if own is None or other is None:
        return Duel(own, other)
    return Duel(own, other, ratios.of_cells([(own.cell, other.cell)], measure, one_run))


def name_of(least: Best | None) -> str | None:
    """The configuration of the best, with the part of a query set that it was asked."""
    return least and named(least.cell)


def generated_kind(graphs: Iterable[str], alike: str = "look-alikes") -> str:
    """What generated graphs are, in words for a title: `alike`, 'the set hard' or 'generated graphs'."""
    names = set(graphs)
    if all(name.endswith("-like") for name in names):
        return alike
    return "the set hard" if names <= {*catalogue.sets()["hard"].names} else "generated graphs"
