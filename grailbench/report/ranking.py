"""Rankings: which configuration of a run is the fastest, on each graph and overall.

A ranking compares like with like: one query set, one number of label pairs (configurations without labels are in every
ranking), and either real or generated graphs. Times are medians, divided by the best time on the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grailbench.harness.cells import Cell
from grailbench.harness.statistics import PENALTY, Mean, geometric_mean
from grailbench.problems.contract import OTHERS
from grailbench.report.measured import generated_kind, median
from grailbench.report.papers import wording
from grailbench.report.table import Table
from grailbench.util.words import ms, multiple

NOTES = {
    "query": "",
    "ready": "Ready: from edges in memory to a ready index.",
    "label": "A peer's build condenses the graph too, ours is handed a condensed one: --from-edges times the whole way "
    "of both.",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A configuration in a ranking.

    cells  its cell by graph
    mean   geometric mean over the graphs of its time / best time; None without any sound time. A graph without a sound
           time counts as `geometric_mean` says
    """

    name: str
    cells: dict[str, Cell]
    mean: Mean | None


@dataclass(frozen=True)
class Ranking:
    """The configurations by one phase, the fastest first; those that were not run on every graph are last.

    dim    d of the configurations with labels, None if there are none
    like   True for generated graphs
    best   the least median ms by graph, in the order of the run
    peers  True if the cells include those of a peer
    """

    problem: str
    phase: str
    dim: int | None
    query_set: str
    like: bool
    best: dict[str, float]
    places: list[Place]
    peers: bool

    @property
    def title(self) -> str:
        """'Ranking by queries (random-10000-s1), d = 2'."""
        return f"Ranking by {self.about}"

    @property
    def about(self) -> str:
        """What was timed: 'queries (random-10000-s1), d = 2'."""
        parts = [f"{wording(self.problem).ranked[self.phase]} ({self.query_set})", self.dim and f"d = {self.dim}"]
        kind = generated_kind(self.best, alike="generated graphs") if self.like else None
        return ", ".join(part for part in (*parts, kind) if part)

    def ratio(self, place: Place, graph: str) -> float | None:
        """A configuration's time on a graph / the best time there; None if it has no time."""
        time = median(place.cells[graph], self.phase) if graph in place.cells else None
        return time and time / self.best[graph]


def rankings(cells: Iterable[Cell]) -> list[Ranking]:
    """The rankings of `every` that include peers."""
    return [each for each in every(cells) if each.peers]


def every(cells: Iterable[Cell]) -> list[Ranking]:
    """All rankings with at least two configurations, problem by problem.

    The first is by the last phase of a trial, the second by `ready` or, if that was not timed, by the next phase of
    `problems.SHOWN`.
    """
    groups: dict[tuple, list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.problem, cell.generated, cell.query_set), []).append(cell)
    problems = list(dict.fromkeys(problem for problem, *_ in groups))
    out = []
    for (problem, like, query_set), group in sorted(groups.items(), key=lambda g: (problems.index(g[0][0]), g[0][1])):
        last, *rest = wording(problem).ranked
        for dim in sorted({cell.dim for cell in group if cell.dim}) or [None]:
            part = [cell for cell in group if cell.dim in (None, dim)]
            other = next((phase for phase in rest if any(median(cell, phase) for cell in part)), None)
            for phase in filter(None, (last, other)):
                ranking = _ranking(part, problem, phase, dim, query_set, like)
                out += [ranking] if len(ranking.places) > 1 and ranking.best else []
    return out


def _ranking(cells: list[Cell], problem: str, phase: str, dim: int | None, query_set: str, like: bool) -> Ranking:
    best: dict[str, float] = {}
    found: dict[tuple, dict[str, Cell]] = {}
    for cell in cells:
        found.setdefault((cell.label, cell.seed), {}).setdefault(cell.dataset, cell)
        if (time := median(cell, phase)) is not None and time > 0:
            best[cell.dataset] = min(time, best.get(cell.dataset, time))
    several = len({label for label, _ in found}) < len(found)
    places = []
    for (label, seed), own in found.items():
        own = {g: cell for g, cell in own.items() if g in best and not (cell.sound and median(cell, phase) is None)}
        ratios = [(time := median(cell, phase)) and time / best[graph] for graph, cell in own.items()]
        name = f"{label} seed {seed}" if several else label
        places += [Place(name, own, geometric_mean(ratio or None for ratio in ratios))] if own else []
    places.sort(key=lambda p: (p.mean is None, len(p.cells) < len(best), p.mean and p.mean.value, p.name))
    peers = any(cell.impl.startswith(OTHERS) for cell in cells)
    return Ranking(problem, phase, dim, query_set, like, best, places, peers)


def table(ranking: Ranking) -> Table:
    """One line per configuration, with its times divided by the best time of each graph."""
    lines, partly, lost = [], False, 0
    for number, place in enumerate(ranking.places, 1):
        whole = len(place.cells) == len(ranking.best)
        partly |= not whole
        lost = max(lost, place.mean.missing if place.mean else 0)
        mean = "" if place.mean is None else f"{multiple(place.mean.value)}{'' if whole else '*'}"
        mean += _sampled(place.cells.values()) if mean else ""
        lines.append([str(number), place.name, mean, *(_shown(ranking, place, graph) for graph in ranking.best)])
    on = {graph: [p.cells[graph] for p in ranking.places if graph in p.cells] for graph in ranking.best}
    lines.append(["", "best, ms", "", *(ms(best) + _sampled(on[graph]) for graph, best in ranking.best.items())])
    notes = ["Times over the best of the graph; all: their geometric mean.", NOTES[ranking.phase]]
    notes += ["*: over the graphs that it was run on."] if partly else []
    notes += [f"A graph without a sound time counts as {PENALTY:g} times the best, or as the worst of the "
              "configuration's others."] if lost else []  # fmt: skip
    return Table(
        "ranking", ranking.title, ["", "configuration", "all", *ranking.best], lines,
        frozenset({"", "all", *ranking.best}), keys=2, notes=[note for note in notes if note],
        records=list(_records(ranking)),
    )  # fmt: skip


def _shown(ranking: Ranking, place: Place, graph: str) -> str:
    if (ratio := ranking.ratio(place, graph)) is not None:
        return multiple(ratio) + _sampled([place.cells[graph]])
    return place.cells[graph].status if graph in place.cells else ""


def _sampled(cells: Iterable[Cell]) -> str:
    return " (sampled)" if any(cell.status == "sampled" for cell in cells) else ""


def _records(ranking: Ranking) -> Iterator[dict]:
    """One record per configuration and graph, then one with its geometric mean over the graphs (`dataset` null)."""
    base = {"phase": ranking.phase, "d": ranking.dim, "queries": ranking.query_set}
    for number, place in enumerate(ranking.places, 1):
        line = {**base, "place": number, "configuration": place.name}
        for graph in ranking.best:
            if graph in place.cells:
                cell = place.cells[graph]
                yield {
                    **line, "dataset": graph, "ms": median(cell, ranking.phase), "ratio": ranking.ratio(place, graph),
                    "status": cell.status,
                }  # fmt: skip
        mean = place.mean
        yield {
            **line, "dataset": None, "geometric_mean": mean and mean.value, "graphs": len(place.cells),
            "lost": mean.missing if mean else len(place.cells),
        }  # fmt: skip
