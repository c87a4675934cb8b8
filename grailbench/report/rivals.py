"""Everybody in one ranking: the place of each configuration over all graphs, and the best of ours against the best of
the others on each graph.

Measures are the building of an index, the time of a pair (so that a configuration that was asked only a part of the
pairs is compared too), the way from edges to a ready index, the size of the index and the peak memory. Times are
medians. What keeps no index (0 bytes) has no time to build one and no size, and is never the best at that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from grailbench.harness.cells import Cell
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import PENALTY, Mean, geometric_mean
from grailbench.report.measured import generated_kind, median
from grailbench.report.papers.thesis import on_gpu
from grailbench.report.table import Table
from grailbench.util.words import BLANK, count, ms, multiple, ratio, short, size

NAME = "rivals"
LEAST = 2  #: implementations of others that a run must have for these tables
SIDES = ("one thread", "all threads")  #: ours; a GPU's threads are all threads
_INDEX = "What keeps no index (0 bytes) is left out."
_WAY = "A peer's build condenses the graph too, ours is handed a condensed one: edges to ready index is the whole way."
_PEAK = "The peak is that of the cell's process, with the interpreter, the libraries and the graph."


@dataclass(frozen=True)
class Measure:
    """What is compared.

    name       in records and as the end of the table's name: 'build', 'random-100000-s1'
    title      in words, with the unit
    head       in the header of a column
    of         takes a cell to its value; None if the cell has no sound value or is not to be compared
    text       formats a value
    query_set  the query set that its cells were asked (or a part of it); None if any will do
    note       what must be known to read it
    """

    name: str
    title: str
    head: str
    of: Callable[[Cell], float | None]
    text: Callable[[float], str]
    query_set: str | None = None
    note: str = ""


def _pair(cell: Cell) -> float | None:
    """Nanoseconds a pair."""
    time = median(cell, "query")
    return time * 1e6 / cell.queries if time and cell.queries else None


def _of_index(value: Callable[[Cell], float | None]) -> Callable[[Cell], float | None]:
    return lambda cell: value(cell) if cell.sound and cell.index_bytes else None


def measures(cells: Iterable[Cell]) -> list[Measure]:
    """The measures of a run: the times of a pair by query set, then the others."""
    pairs = [
        Measure(name, f"queries, {name}: ns a pair", f"{name.partition('-')[0]}, a pair", _pair, short, name)
        for name in dict.fromkeys(cell.whole_set for cell in cells)
    ]
    return [
        *pairs,
        Measure("build", "building the index: ms", "build", _of_index(lambda c: median(c, "label")), ms, note=_WAY),
        Measure("ready", "edges in memory to ready index: ms", "ready", _of_index(lambda c: median(c, "ready")), ms),
        Measure("bytes", "size of the index", "index", _of_index(lambda c: c.index_bytes), lambda v: size(int(v))),
        Measure("peak", "peak memory", "peak", lambda c: c.host_peak_bytes if c.sound else None,
                lambda v: size(int(v)), note=_PEAK),
    ]  # fmt: skip


@dataclass(frozen=True)
class Best:
    """The least value of several cells of a graph, and its cell."""

    value: float
    cell: Cell


@dataclass(frozen=True)
class Contest:
    """One measure on every graph of a run. `ours` by side (one of `SIDES`) and graph, `others` by graph."""

    measure: Measure
    graphs: list[str]
    ours: dict[str, dict[str, Best]]
    others: dict[str, Best]

    def ratio(self, side: str, graph: str) -> float | None:
        """Our value / the best value of the others; None if either is missing."""
        ours, others = self.ours[side].get(graph), self.others.get(graph)
        return None if ours is None or others is None else ours.value / others.value

    def mean(self, side: str) -> Mean | None:
        """The geometric mean of the ratios. A graph on which only others have a value counts against us as
        `geometric_mean` says; one on which only we have one is left out."""
        return geometric_mean(self.ratio(side, graph) for graph in self.graphs if graph in self.others)

    def worst(self, side: str) -> tuple[float | None, str]:
        """The largest ratio and its graph."""
        found = [(value, graph) for graph in self.graphs if (value := self.ratio(side, graph)) is not None]
        return max(found, default=(None, ""))

    @property
    def sides(self) -> list[str]:
        """The sides that have a value."""
        return [side for side in SIDES if self.ours[side]]


def contest(cells: list[Cell], measure: Measure) -> Contest:
    """The best of ours and of the others by a measure on each graph."""
    ours: dict[str, dict[str, Best]] = {side: {} for side in SIDES}
    others: dict[str, Best] = {}
    for cell in cells:
        value = measure.of(cell) if measure.query_set in (None, cell.whole_set) else None
        if value:
            side = ours[_side(cell)] if cell.ours else others
            if cell.dataset not in side or value < side[cell.dataset].value:
                side[cell.dataset] = Best(value, cell)
    return Contest(measure, list(dict.fromkeys(cell.dataset for cell in cells)), ours, others)


def _side(cell: Cell) -> str:
    return SIDES[(cell.threads or 1) > 1 or on_gpu([cell])]


@dataclass(frozen=True)
class Standing:
    """A configuration over all graphs of a run.

    finished  the graphs on which all of its cells are sound
    lost      the worst status of its cells, by graph, where one is not
    means     by the name of a measure: the geometric mean over its graphs of its value / the best of all; None where
              it has none. A graph without a value counts as `geometric_mean` says
    part      how many pairs of a query set it was asked, if not all
    """

    name: str
    finished: list[str]
    lost: dict[str, str]
    means: dict[str, Mean | None]
    part: int | None = None


def standings(cells: list[Cell], found: Iterable[Contest]) -> list[Standing]:
    """Every configuration of a run, by the mean of the first measure; those without a value there come last."""
    found = list(found)
    best = {each.measure.name: _best(each) for each in found}
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.label, []).append(cell)
    out = []
    for name, own in groups.items():
        lost: dict[str, str] = {}
        for cell in own:
            if not cell.sound:
                lost[cell.dataset] = max(lost.get(cell.dataset, "ok"), cell.status, key=STATUSES.index)
        graphs = list(dict.fromkeys(cell.dataset for cell in own))
        means = {each.measure.name: _mean(own, graphs, each.measure, best[each.measure.name]) for each in found}
        part = next((cell.part for cell in own if cell.part is not None), None)
        out.append(Standing(name, [graph for graph in graphs if graph not in lost], lost, means, part))
    first = found[0].measure.name
    return sorted(out, key=lambda s: (s.means[first] is None, s.means[first] and s.means[first].value, s.name))


def _best(found: Contest) -> dict[str, float]:
    """The least value of anybody, by graph."""
    sides = (*found.ours.values(), found.others)
    return {g: min(each[g].value for each in sides if g in each) for g in found.graphs if any(g in s for s in sides)}


def _mean(own: list[Cell], graphs: list[str], measure: Measure, best: dict[str, float]) -> Mean | None:
    values: dict[str, float] = {}
    for cell in own:
        value = measure.of(cell) if measure.query_set in (None, cell.whole_set) else None
        if value:
            values[cell.dataset] = min(value, values.get(cell.dataset, value))
    return geometric_mean(values[g] / best[g] if g in values else None for g in graphs if g in best)


# ------------------------------------------------------------------ tables


def tables(cells: list[Cell]) -> list[Table]:
    """The ranking of all, then a table for each measure that both sides have values of. None without ours, or with
    fewer than `LEAST` implementations of others. Real and generated graphs have tables apart; of a run with both, the
    names of those of generated graphs end in '-generated'."""
    out: list[Table] = []
    for like in (False, True):
        part = [cell for cell in cells if cell.generated is like]
        if len(others(part)) >= LEAST and any(cell.ours for cell in part):
            found = [contest(part, measure) for measure in measures(part)]
            found = [each for each in found if each.others and each.sides]
            if found:
                made = [_overall(standings(part, found), found, like), *(_table(each, like) for each in found)]
                out += [replace(table, name=f"{table.name}-generated") for table in made] if out else made
    return out


def others(cells: Iterable[Cell]) -> list[str]:
    """The names of the implementations of others, each once."""
    return list(dict.fromkeys(cell.impl for cell in cells if not cell.ours))


def _named(title: str, like: bool, graphs: Iterable[str]) -> str:
    """A title that says what its graphs are, if they are generated."""
    return f"{title} ({generated_kind(graphs)})" if like else title


def _overall(places: list[Standing], found: list[Contest], like: bool) -> Table:
    heads = [each.measure.head for each in found]
    lines = []
    for number, place in enumerate(places, 1):
        name = place.name if place.part is None else f"{place.name} (first {place.part:,} pairs)"
        every = len(place.finished) + len(place.lost)
        kinds = Counter(place.lost.values())
        lost = ", ".join(f"{kinds[status]} {status}" for status in STATUSES if kinds[status])
        means = [BLANK if mean is None else multiple(mean.value) for mean in place.means.values()]
        lines.append([str(number), name, f"{len(place.finished)} of {every}", lost, *means])
    notes = [
        "Values over the best of all on the graph: geometric means over the graphs that it was run on, ordered by the "
        f"first. A graph without a value counts as {PENALTY:g} times the best, or as the worst of the "
        "configuration's others.", _INDEX,
    ]  # fmt: skip
    if any(place.part for place in places):
        notes.append("What takes one pair at a time was asked the first of a set; the time of a pair is compared.")
    return Table(
        NAME, _named("Everybody in one ranking", like, found[0].graphs),
        ["", "configuration", "graphs", "not finished", *heads], lines,
        frozenset({"", "graphs", *heads}), keys=2, notes=notes, records=list(_places(places, like)),
    )  # fmt: skip


def _table(found: Contest, like: bool) -> Table:
    """A line per graph: the best of ours on one thread and on all, the best of the others, its name, our ratios to it;
    then the geometric means and the largest ratios."""
    import pandas

    measure, sides = found.measure, found.sides
    ratios = ["ratio"] if len(sides) == 1 else [f"ratio, {side}" for side in sides]
    heads = [*(f"ours, {side}" for side in sides), "others", "who", *ratios]
    lines = []
    for graph in found.graphs:
        other = found.others.get(graph)
        who = BLANK if other is None else other.cell.label + (
            "" if other.cell.part is None else f" (first {other.cell.part:,} pairs)")  # fmt: skip
        own = [_text(measure, found.ours[side].get(graph)) for side in sides]
        lines.append([graph, *own, _text(measure, other), who, *(ratio(found.ratio(side, graph)) for side in sides)])
    blank = [""] * len(sides)
    means = [found.mean(side) for side in sides]
    graphs = count(max((mean.measured for mean in means if mean), default=0), "graph")
    worst = [found.worst(side) for side in sides]
    where = ", ".join(dict.fromkeys(graph for _, graph in worst if graph))
    lines.append(["geometric mean", *blank, "", graphs, *(ratio(mean and mean.value) for mean in means)])
    lines.append(["largest ratio", *blank, "", where, *(ratio(value) for value, _ in worst)])
    notes = ["The best of our configurations over the best of the others; below 1 ours is better."]
    notes += [measure.note] if measure.note else []
    notes += [_INDEX] if measure.name in ("build", "ready", "bytes") else []
    if any(mean and mean.missing for mean in means):
        notes.append(f"A graph that only others finished counts as {PENALTY:g}, or as our largest ratio.")
    records = list(_records(found, like))
    title = _named(f"Best of ours against the best of the others, {measure.title}", like, found.graphs)
    return Table(
        f"{NAME}-{measure.name}", title,
        ["graph", *heads], lines, frozenset({*heads} - {"who"}), ends=frozenset([len(found.graphs) - 1]), notes=notes,
        records=records, file=NAME, data=pandas.DataFrame(records),
    )  # fmt: skip


def _text(measure: Measure, best: Best | None) -> str:
    if best is None:
        return BLANK
    return measure.text(best.value) + (" (sampled)" if best.cell.status == "sampled" else "")


def _records(found: Contest, like: bool) -> Iterator[dict]:
    for graph in found.graphs:
        other = found.others.get(graph)
        for side in found.sides:
            own = found.ours[side].get(graph)
            yield {
                "measure": found.measure.name, "generated": like, "dataset": graph, "ours": side,
                "configuration": own and own.cell.label, "value": own and own.value,
                "other": other and other.cell.label, "other_value": other and other.value,
                "other_pairs": other and other.cell.queries, "ratio": found.ratio(side, graph),
            }  # fmt: skip


def _places(places: list[Standing], like: bool) -> Iterator[dict]:
    for number, place in enumerate(places, 1):
        yield {
            "place": number, "generated": like, "configuration": place.name, "finished": len(place.finished),
            "lost": place.lost, "pairs": place.part,
            **{f"{name}_mean": mean and mean.value for name, mean in place.means.items()},
        }  # fmt: skip
