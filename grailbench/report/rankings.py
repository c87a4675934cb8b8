"""Tables of who is better: everybody in one ranking, the best of ours against the best of the others on each graph, and
what workers add."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from grailbench.compare import ranking, ratios
from grailbench.compare.measures import ANSWERS, ONE, Best, Measure, of_index, of_phase, of_value, place
from grailbench.compare.ranking import Duel, Over, generated_kind
from grailbench.compare.ratios import Ratio, span
from grailbench.compare.stability import mark
from grailbench.harness.cells import Cell
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import PENALTY, Interval
from grailbench.report.measured import statuses
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import BLANK, count, ms, multiple, ratio, short, size

RIVALS = "rivals"
SIDES = ("one thread", "all threads")  #: ours; a GPU's threads are all threads
_INTERVAL = "In brackets: the 95 % bootstrap interval of the ratio, over the graphs with a time."
_INDEX = "What keeps no index (0 bytes) is left out."
_WAY = "A peer's build condenses the graph too, ours is handed a condensed one: edges to ready index is the whole way."
_PEAK = "The peak is that of the cell's process, with the interpreter, the libraries and the graph."


class Compared(NamedTuple):
    """What is compared: its name in records and at the end of the table's name, its title and its header in words, and
    how a value is shown.

    query_set  the query set that its cells were asked, or a part of it; None if any will do
    note       what must be known to read it
    """

    name: str
    title: str
    head: str
    measure: Measure
    text: Callable[[float], str]
    query_set: str | None = None
    note: str = ""


def compared(cells: Iterable[Cell]) -> list[Compared]:
    """What is compared in a run: the time of a pair by query set, so that a configuration that was asked only a part of
    the pairs is compared too; that of pairs one at a time, if it was measured; then the building, the way from edges,
    the size of the index and the peak memory."""
    cells = list(cells)
    sets = dict.fromkeys(cell.whole_set for cell in cells)
    alone = dict.fromkeys(cell.whole_set for cell in cells if ("", "single") in cell.times)
    kinds = Counter(map(_kind, sets))
    heads = {name: _kind(name) if kinds[_kind(name)] == 1 else name for name in sets}
    return [
        *(Compared(name, f"queries, {name}: ns a pair", f"{heads[name]}, a pair", ANSWERS, short, name)
          for name in sets),
        *(Compared(f"single-{name}", f"the first 1,000 pairs of {name} one at a time: ms",
                   f"{heads[name]}, one at a time", of_phase("single"), ms, name) for name in alone),
        Compared("build", "building the index: ms", "build", of_index(of_phase("label")), ms, note=_WAY),
        Compared("ready", "edges in memory to ready index: ms", "ready", of_index(of_phase("ready")), ms),
        Compared("bytes", "size of the index", "index", of_value(lambda c: c.index_bytes), lambda v: size(int(v))),
        Compared("peak", "peak memory", "peak", of_value(lambda c: c.host_peak_bytes), lambda v: size(int(v)),
                 note=_PEAK),
    ]  # fmt: skip


def _kind(name: str) -> str:
    """The kind of a query set, by its name: 'random' of 'random-10000-s1'."""
    return name.partition("-")[0]


@dataclass(frozen=True)
class Contest:
    """The best of ours, by side (those of `SIDES` that have a value) and graph, against the best of the others, by one
    measure."""

    by: Compared
    graphs: list[str]
    ours: dict[str, dict[str, Best]]
    others: dict[str, Best]

    def mean(self, side: str) -> Over | None:
        """The geometric mean of the ratios. A graph on which only others have a value counts against us as
        `geometric_mean` says; one on which only we have one is left out."""
        own = {graph: self.ours[side].get(graph) for graph in self.graphs if graph in self.others}
        return ranking.over(own, self.others, self.by.measure)


def contest(cells: list[Cell], by: Compared) -> Contest:
    """The best of ours and of the others by a measure on each graph."""
    own = {side: [cell for cell in cells if cell.ours and (place(cell) == ONE) == (side == SIDES[0])] for side in SIDES}
    ours = {side: ranking.least_by_graph(of, by.measure, by.query_set) for side, of in own.items()}
    ours = {side: least for side, least in ours.items() if least}
    theirs = ranking.least_by_graph([cell for cell in cells if not cell.ours], by.measure, by.query_set)
    return Contest(by, list(dict.fromkeys(cell.dataset for cell in cells)), ours, theirs)


def rivals(cells: list[Cell]) -> list[Table]:
    """The ranking of all, then a table for each measure that both sides have values of; none without cells of both.

    Real and generated graphs have tables apart; of a run with both, the names of those of generated graphs end in
    '-generated'.
    """
    out: list[Table] = []
    for generated in (False, True):
        part = [cell for cell in cells if cell.generated is generated]
        found = [contest(part, by) for by in compared(part)] if {cell.ours for cell in part} == {True, False} else []
        if found := [each for each in found if each.others and each.ours]:
            made = [_overall(part, found, generated), *(_contest_table(each, generated) for each in found)]
            out += [replace(each, name=f"{each.name}-generated") for each in made] if out else made
    return out


def _named(title: str, generated: bool, graphs: Iterable[str]) -> str:
    """A title that says what its graphs are, if they are generated."""
    return f"{title} ({generated_kind(graphs)})" if generated else title


def _ratio(header: str, of: Callable[[Any], Over | Duel | Ratio | None], text: Callable[[Any], str]) -> Column:
    """A column of ratios, each with its interval in brackets."""

    def shown(thing: object) -> str:
        found = of(thing)
        if found is None or found.value is None:
            return BLANK
        its = found.ratio if isinstance(found, Duel | Over) else found
        return text(found.value) + (its.mark if its else "") + (f" ({span(found.interval)})" if found.interval else "")

    return Column(header, lambda thing: (found := of(thing)) and found.value, display=shown)


def _overall(cells: list[Cell], found: list[Contest], generated: bool) -> Table:
    """A line per configuration: the graphs that it finished and, by each measure, its values over the best of all."""
    measures = {each.by.name: (each.by.measure, each.by.query_set) for each in found}
    places = [*enumerate(ranking.standings(cells, measures), 1)]

    columns = [
        Column("", lambda at: at[0], key=True),
        Column("configuration", lambda at: at[1].name + (f" (first {at[1].part:,} pairs)" if at[1].part else ""),
               key=True),
        Column("graphs", lambda at: len(at[1].finished),
               display=lambda at: f"{len(at[1].finished)} of {len(at[1].finished) + len(at[1].lost)}"),
        Column("not finished", lambda at: statuses(at[1].lost.values())),
        *(_ratio(each.by.head, lambda at, name=each.by.name: at[1].means[name], multiple) for each in found),
    ]  # fmt: skip
    records = [
        {"place": number, "generated": generated, "configuration": each.name, "finished": len(each.finished),
         "lost": each.lost, "pairs": each.part,
         **{f"{key}_mean": mean and mean.value for key, mean in each.means.items()}}
        for number, each in places
    ]  # fmt: skip
    notes = [
        "Values over the best of all on the graph: geometric means over the graphs that it was run on, ordered by the "
        f"first. A graph without a value counts as {PENALTY:g} times the best, or as the worst of the "
        "configuration's others.", _INTERVAL, _INDEX,
    ]  # fmt: skip
    if any(each.part for _, each in places):
        notes.append("What takes one pair at a time was asked the first of a set; the time of a pair is compared.")
    title = _named("Everybody in one ranking", generated, found[0].graphs)
    right = frozenset(column.header for column in columns) - {"configuration", "not finished"}
    return tabulate(RIVALS, title, columns, places, notes=notes, records=records, right=right)


class _Line(NamedTuple):
    """A graph, or a summary of all, in a table of a contest."""

    graph: str
    ours: dict[str, Best | None]
    other: Best | None
    who: str
    ratios: dict[str, Any]


def _contest_table(found: Contest, generated: bool) -> Table:
    """A line per graph: the best of ours on one thread and on all, the best of the others, its name, our ratios to it;
    then the geometric means and the largest ratios."""
    by, sides = found.by, list(found.ours)
    duels = {graph: {side: ranking.duel(own.get(graph), found.others.get(graph), by.measure)
                     for side, own in found.ours.items()} for graph in found.graphs}  # fmt: skip
    means = {side: found.mean(side) for side in sides}
    worst = {side: max(found.graphs, key=lambda graph: duels[graph][side].value or 0.0) for side in sides}
    worst = {side: graph for side, graph in worst.items() if duels[graph][side].value}
    largest = {side: duels[graph][side].ratio._replace(interval=None) for side, graph in worst.items()}
    graphs = count(max((each.mean.measured for each in means.values() if each), default=0), "graph")
    lines = [
        *(_Line(graph, {side: own[side].own for side in sides}, found.others.get(graph),
                ranking.name_of(found.others.get(graph)) or BLANK, own) for graph, own in duels.items()),
        _Line("geometric mean", {}, None, graphs, means),
        _Line("largest ratio", {}, None, ", ".join(dict.fromkeys(worst.values())), largest),
    ]  # fmt: skip

    def best(header: str, of: Callable[[_Line], Best | None]) -> Column:
        def shown(line: _Line) -> str:
            if (least := of(line)) is None:
                return BLANK if line.graph in duels else ""
            its = "" if by.measure.exact else mark(least.cell, phases=by.measure.phases)
            return by.text(least.value) + its + (" (sampled)" if least.cell.status == "sampled" else "")

        return Column(header, lambda line: (least := of(line)) and least.value, display=shown)

    columns = [
        Column("graph", lambda line: line.graph, key=True),
        *(best(f"ours, {side}", lambda line, side=side: line.ours.get(side)) for side in sides),
        best("others", lambda line: line.other),
        Column("who", lambda line: line.who),
        *(_ratio("ratio" if len(sides) == 1 else f"ratio, {side}", lambda line, side=side: line.ratios.get(side), ratio)
          for side in sides),
    ]  # fmt: skip
    records = [
        {"measure": by.name, "generated": generated, "dataset": graph, "ours": side,
         "configuration": each.own and each.own.cell.label, "value": each.own and each.own.value,
         "other": each.other and each.other.cell.label, "other_value": each.other and each.other.value,
         "other_pairs": each.other and each.other.cell.queries, "ratio": each.value,
         "low": each.interval and each.interval.low, "high": each.interval and each.interval.high,
         "status": max((best.cell.status for best in (each.own, each.other) if best), key=STATUSES.index, default=None)}
        for graph, own in duels.items() for side, each in own.items()
    ]  # fmt: skip
    notes = ["The best of our configurations over the best of the others; below 1 ours is better.", _INTERVAL]
    notes += [by.note] if by.note else []
    notes += [_INDEX] if by.name in ("build", "ready", "bytes") else []
    if any(each and each.mean.missing for each in means.values()):
        notes.append(f"A graph that only others finished counts as {PENALTY:g}, or as our largest ratio.")
    title = _named(f"Best of ours against the best of the others, {by.title}", generated, found.graphs)
    return tabulate(f"{RIVALS}-{by.name}", title, columns, lines, notes=notes, words=("graph", "who"),
                    ends=frozenset([len(found.graphs) - 1]), means=True, records=records, file=RIVALS)  # fmt: skip


# ------------------------------------------------------------------ what workers add

WORKERS = "workers"
#: what has workers -> how many, and the same index in one process
SAME = {"dask": ("threads", "parallel"), "dask-gpu": ("devices", "gpu-fused")}
_AXES = {name: axis for dask, (axis, other) in SAME.items() for name in (dask, other)}


def workers(cells: Iterable[Cell]) -> list[Table]:
    """A line for each cell of workers: its rate over W times that of one worker, and over that of as many threads or
    GPUs of one process; no table for a run without."""
    sound = {_setting(cell, cell.impl, _many(cell)): cell for cell in cells if cell.sound}
    found, records = [], []
    for cell in sound.values():
        time = cell.stats("query")
        if cell.impl in SAME and (many := _many(cell)) and time and cell.queries:
            efficiency = _share(sound.get(_setting(cell, cell.impl, 1)), cell, many)
            process = _share(sound.get(_setting(cell, SAME[cell.impl][1], many)), cell, 1)
            rate = cell.queries / time.median * 1e3
            found.append({"rate": rate / 1e6, "efficiency": efficiency, "process": process})
            records.append({
                "dataset": cell.dataset, "configuration": cell.label, "queries": cell.query_set, "workers": many,
                "pairs": cell.queries, "pairs_per_second": rate, "efficiency": efficiency and efficiency.value,
                "of_process": process and process.value,
            })  # fmt: skip
    if not records:
        return []
    columns = [
        Column("graph", "dataset", key=True),
        Column("configuration", "configuration", key=True),
        Column("workers", "workers", key=True),
        Column("pairs", "pairs", "{:,}".format),
        Column("M pairs/s", lambda each: each["rate"], short),
        _ratio("efficiency", lambda each: each["efficiency"], short),
        _ratio("of one process", lambda each: each["process"], short),
    ]
    notes = [
        "Efficiency: the rate of W workers over W times the rate of one. Sending and scheduling run in the "
        "process that asks, on the same cores if the workers are on its machine.",
        "Of one process: the rate over that of `parallel` with as many threads, or of `gpu-fused` with as many "
        "GPUs, which ask the same index.",
        _INTERVAL,
    ]
    return [tabulate(WORKERS, "What workers add", columns, found, rows=records, notes=notes, records=records,
                     file=WORKERS)]  # fmt: skip


def _share(base: Cell | None, cell: Cell, many: int) -> Ratio | None:
    """The rate of a cell over so many times that of another; None without one."""
    found = ratios.of_cells([(base, cell)], ANSWERS) if base is not None else None
    if found is None:
        return None
    interval = found.interval and Interval(found.interval.low / many, found.interval.high / many)
    return found._replace(value=found.value / many, interval=interval)


def _many(cell: Cell) -> int | None:
    """The workers of a cell, or the threads or GPUs of one in one process."""
    return getattr(cell, _AXES[cell.impl]) if cell.impl in _AXES else None


def _setting(cell: Cell, impl: str, many: int | None) -> tuple:
    """What two compared cells have in common."""
    axes = tuple(sorted((name, str(value)) for name, value in cell.axes.items() if name not in ("threads", "devices")))
    return cell.dataset, cell.query_set, cell.seed, axes, impl, many
