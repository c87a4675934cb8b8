"""Who is fastest: the configurations of a run with peers, graph by graph and over all.

Like stands with like: one set of queries, as many label pairs (configurations that have none stand beside each), real
graphs or generated ones. Times are medians; a graph's unit is its best one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from grailbench.report.measured import median
from grailbench.report.papers.peers import PREFIX
from grailbench.report.table import Table
from grailbench.runs.cells import Cell
from grailbench.runs.statistics import PENALTY, Mean, geometric_mean
from grailbench.words import ms, multiple

NOTES = {
    "query": "",
    "ready": "Ready: from edges in memory to a ready index.",
    "label": "A peer's build condenses the graph too, ours is handed a condensed one: --from-edges times the whole way "
    "of both.",
}  # fmt: skip
_TITLES = {"query": "queries", "ready": "edges to ready index", "label": "building the index"}


@dataclass(frozen=True)
class Place:
    """A configuration: its cell on each graph that it was run on, and the geometric mean of its times over the best of
    each graph. A graph on which it has no sound time counts as `geometric_mean` says; `mean` is None when
    it has none at all."""

    name: str
    cells: dict[str, Cell]
    mean: Mean | None


@dataclass(frozen=True)
class Ranking:
    """The configurations by one phase, the fastest first, those that were not run on every graph last.

    `best` is the least median ms of each graph, in the order in which the graphs came.
    """

    phase: str
    dim: int | None
    query_set: str
    like: bool
    best: dict[str, float]
    places: list[Place]

    @property
    def title(self) -> str:
        """'Ranking by queries (random-10000-s1), d = 2'."""
        parts = [f"Ranking by {_TITLES[self.phase]} ({self.query_set})", self.dim and f"d = {self.dim}"]
        return ", ".join(part for part in (*parts, "generated graphs" if self.like else None) if part)

    def ratio(self, place: Place, graph: str) -> float | None:
        """A configuration's time on a graph over the best; None where it has none."""
        time = median(place.cells[graph], self.phase) if graph in place.cells else None
        return time and time / self.best[graph]


def rankings(cells: Iterable[Cell]) -> list[Ranking]:
    """Of a run with peers, else none: by queries, then by `ready` where it was timed, else by `label`."""
    cells = list(cells)
    groups: dict[tuple, list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.generated, cell.query_set), []).append(cell)
    out = []
    for (like, query_set), group in sorted(groups.items(), key=lambda each: each[0][0]):
        for dim in sorted({cell.dim for cell in group if cell.dim}) or [None]:
            part = [cell for cell in group if cell.dim in (None, dim)]
            if not any(cell.impl.startswith(PREFIX) for cell in part):
                continue
            for phase in ("query", "ready" if any(median(cell, "ready") for cell in part) else "label"):
                ranking = _ranking(part, phase, dim, query_set, like)
                out += [ranking] if len(ranking.places) > 1 and ranking.best else []
    return out


def _ranking(cells: list[Cell], phase: str, dim: int | None, query_set: str, like: bool) -> Ranking:
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
    return Ranking(phase, dim, query_set, like, best, places)


def table(ranking: Ranking) -> Table:
    """A line a configuration, its times over the best of each graph."""
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
    """One plain record a configuration and graph, then one with its geometric mean over them (`dataset` null)."""
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
