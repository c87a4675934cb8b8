"""Tables of who is better: rankings by a phase, everybody in one ranking, the best of ours against the best of the
others on each graph, and what workers add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from grailbench.compare import ranking, ratios
from grailbench.compare.measures import ANSWERS, ONE, Best, Measure, of_index, of_phase, of_value, place
from grailbench.compare.ranking import Duel, Over, Ranking, Standing, generated_kind
from grailbench.compare.ratios import Ratio, span
from grailbench.harness.cells import Cell
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import PENALTY, Interval
from grailbench.report.table import Table
from grailbench.util.words import BLANK, count, ms, multiple, ratio, short, size

NOTES = {
    "query": "",
    "ready": "Ready: from edges in memory to a ready index.",
    "label": "A peer's build condenses the graph too, ours is handed a condensed one: --from-edges times the whole way "
    "of both.",
}  # fmt: skip
_INTERVAL = "95 %: the bootstrap interval of the ratio beside it, over the graphs with a time."


def table(found: Ranking) -> Table:
    """One line per configuration, with its times divided by the best time of each graph."""
    lines, partly, lost = [], False, 0
    for number, each in enumerate(found.places, 1):
        whole = len(each.cells) == len(found.best)
        partly |= not whole
        lost = max(lost, each.mean.missing if each.mean else 0)
        mean = "" if each.mean is None else f"{multiple(each.mean.value)}{'' if whole else '*'}"
        mean += _sampled(each.cells.values()) if mean else ""
        lines.append(
            [str(number), each.name, mean, _between(each.over), *(_shown(found, each, graph) for graph in found.best)]
        )
    on = {graph: [p.cells[graph] for p in found.places if graph in p.cells] for graph in found.best}
    bests = (ms(best.value) + _sampled(on[graph]) for graph, best in found.best.items())
    lines.append(["", "best, ms", "", "", *bests])
    notes = ["Times over the best of the graph; all: their geometric mean.", NOTES.get(found.phase, ""), _INTERVAL]
    notes += ["*: over the graphs that it was run on."] if partly else []
    notes += [f"A graph without a sound time counts as {PENALTY:g} times the best, or as the worst of the "
              "configuration's others."] if lost else []  # fmt: skip
    return Table(
        "ranking", found.title, ["", "configuration", "all", "95 %", *found.best], lines,
        frozenset({"", "all", "95 %", *found.best}), keys=2, notes=[note for note in notes if note],
        records=list(_ranked(found)),
    )  # fmt: skip


def _shown(found: Ranking, each: ranking.Place, graph: str) -> str:
    if (value := found.ratio(each, graph)) is not None:
        return multiple(value) + _sampled([each.cells[graph]])
    return each.cells[graph].status if graph in each.cells else ""


def _sampled(cells: Iterable[Cell]) -> str:
    return " (sampled)" if any(cell.status == "sampled" for cell in cells) else ""


def _between(found: Over | Ratio | None) -> str:
    return "" if found is None or found.interval is None else span(found.interval)


def _bounds(found: Over | Duel | Ratio | None) -> dict[str, float | None]:
    interval = found and found.interval
    return {"low": interval and interval.low, "high": interval and interval.high}


def _ranked(found: Ranking) -> Iterator[dict]:
    """One record per configuration and graph, then one with its geometric mean over the graphs (`dataset` null)."""
    base = {"phase": found.phase, "d": found.dim, "queries": found.query_set}
    for number, each in enumerate(found.places, 1):
        line = {**base, "place": number, "configuration": each.name}
        for graph in found.best:
            if graph in each.cells:
                cell = each.cells[graph]
                yield {**line, "dataset": graph, "ms": found.measure.value(cell), "ratio": found.ratio(each, graph),
                       "status": cell.status}  # fmt: skip
        mean = each.mean
        yield {**line, "dataset": None, "geometric_mean": mean and mean.value, **_bounds(each.over),
               "graphs": len(each.cells), "lost": mean.missing if mean else len(each.cells)}  # fmt: skip


# ------------------------------------------------------------------ everybody in one ranking

RIVALS = "rivals"
LEAST = 2  #: implementations of others that a run must have for these tables
SIDES = ("one thread", "all threads")  #: ours; a GPU's threads are all threads
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
    the pairs is compared too, then the building, the way from edges, the size of the index and the peak memory."""
    return [
        *(Compared(name, f"queries, {name}: ns a pair", f"{name.partition('-')[0]}, a pair", ANSWERS, short, name)
          for name in dict.fromkeys(cell.whole_set for cell in cells)),
        Compared("build", "building the index: ms", "build", of_index(of_phase("label")), ms, note=_WAY),
        Compared("ready", "edges in memory to ready index: ms", "ready", of_index(of_phase("ready")), ms),
        Compared("bytes", "size of the index", "index", of_value(lambda c: c.index_bytes), lambda v: size(int(v))),
        Compared("peak", "peak memory", "peak", of_value(lambda c: c.host_peak_bytes), lambda v: size(int(v)),
                 note=_PEAK),
    ]  # fmt: skip


@dataclass(frozen=True)
class Contest:
    """The best of ours, by side (one of `SIDES`) and graph, against the best of the others, by one measure."""

    by: Compared
    graphs: list[str]
    ours: dict[str, dict[str, Best]]
    others: dict[str, Best]

    def duel(self, side: str, graph: str) -> Duel:
        """Ours against theirs on a graph."""
        return ranking.duel(self.ours[side].get(graph), self.others.get(graph), self.by.measure)

    def mean(self, side: str) -> Over | None:
        """The geometric mean of the ratios. A graph on which only others have a value counts against us as
        `geometric_mean` says; one on which only we have one is left out."""
        own = {graph: self.ours[side].get(graph) for graph in self.graphs if graph in self.others}
        return ranking.over(own, self.others, self.by.measure)

    @property
    def sides(self) -> list[str]:
        """The sides that have a value."""
        return [side for side in SIDES if self.ours[side]]


def contest(cells: list[Cell], by: Compared) -> Contest:
    """The best of ours and of the others by a measure on each graph."""
    own = {side: [cell for cell in cells if cell.ours and (place(cell) == ONE) == (side == SIDES[0])] for side in SIDES}
    ours = {side: ranking.least_by_graph(of, by.measure, by.query_set) for side, of in own.items()}
    theirs = ranking.least_by_graph([cell for cell in cells if not cell.ours], by.measure, by.query_set)
    return Contest(by, list(dict.fromkeys(cell.dataset for cell in cells)), ours, theirs)


def rivals(cells: list[Cell]) -> list[Table]:
    """The ranking of all, then a table for each measure that both sides have values of. None without ours, or with
    fewer than `LEAST` implementations of others. Real and generated graphs have tables apart; of a run with both, the
    names of those of generated graphs end in '-generated'."""
    out: list[Table] = []
    for like in (False, True):
        part = [cell for cell in cells if cell.generated is like]
        if len(others(part)) >= LEAST and any(cell.ours for cell in part):
            found = [contest(part, by) for by in compared(part)]
            found = [each for each in found if each.others and each.sides]
            if found:
                measures = {each.by.name: (each.by.measure, each.by.query_set) for each in found}
                places = ranking.standings(part, measures)
                made = [_overall(places, found, like), *(_contest_table(each, like) for each in found)]
                out += [replace(each, name=f"{each.name}-generated") for each in made] if out else made
    return out


def others(cells: Iterable[Cell]) -> list[str]:
    """The names of the implementations of others, each once."""
    return list(dict.fromkeys(cell.impl for cell in cells if not cell.ours))


def _named(title: str, like: bool, graphs: Iterable[str]) -> str:
    """A title that says what its graphs are, if they are generated."""
    return f"{title} ({generated_kind(graphs)})" if like else title


def _overall(places: list[Standing], found: list[Contest], like: bool) -> Table:
    heads = [head for each in found for head in (each.by.head, f"{each.by.head}: 95 %")]
    lines, records = [], []
    for number, each in enumerate(places, 1):
        name = each.name if each.part is None else f"{each.name} (first {each.part:,} pairs)"
        kinds = Counter(each.lost.values())
        lost = ", ".join(f"{kinds[status]} {status}" for status in STATUSES if kinds[status])
        means = [text for mean in each.means.values()
                 for text in (BLANK if mean is None else multiple(mean.value), _between(mean))]  # fmt: skip
        every = len(each.finished) + len(each.lost)
        lines.append([str(number), name, f"{len(each.finished)} of {every}", lost, *means])
        records.append({
            "place": number, "generated": like, "configuration": each.name, "finished": len(each.finished),
            "lost": each.lost, "pairs": each.part,
            **{f"{key}_mean": mean and mean.value for key, mean in each.means.items()},
        })  # fmt: skip
    notes = [
        "Values over the best of all on the graph: geometric means over the graphs that it was run on, ordered by the "
        f"first. A graph without a value counts as {PENALTY:g} times the best, or as the worst of the "
        "configuration's others.", _INTERVAL, _INDEX,
    ]  # fmt: skip
    if any(each.part for each in places):
        notes.append("What takes one pair at a time was asked the first of a set; the time of a pair is compared.")
    heads, title = ["", "configuration", "graphs", "not finished", *heads], "Everybody in one ranking"
    right = frozenset(heads) - {"configuration", "not finished"}
    title = _named(title, like, found[0].graphs)
    return Table(RIVALS, title, heads, lines, right, keys=2, notes=notes, records=records)


def _contest_table(found: Contest, like: bool) -> Table:
    """A line per graph: the best of ours on one thread and on all, the best of the others, its name, our ratios to it;
    then the geometric means and the largest ratios."""
    import pandas

    by, sides = found.by, found.sides
    ends = [""] if len(sides) == 1 else [f", {side}" for side in sides]
    heads = [*(f"ours, {side}" for side in sides), "others", "who",
             *(head for end in ends for head in (f"ratio{end}", f"95 %{end}"))]  # fmt: skip
    lines, worst, records = [], dict.fromkeys(sides, (0.0, "")), []
    for graph in found.graphs:
        other, duels = found.others.get(graph), {side: found.duel(side, graph) for side in sides}
        ratios_of = [text for each in duels.values() for text in (ratio(each.value), _between(each.ratio))]
        own = [_text(by, each.own) for each in duels.values()]
        lines.append([graph, *own, _text(by, other), ranking.name_of(other) or BLANK, *ratios_of])
        for side, each in duels.items():
            worst[side] = max(worst[side], (each.value or 0.0, graph))
            records.append({
                "measure": by.name, "generated": like, "dataset": graph, "ours": side,
                "configuration": each.own and each.own.cell.label, "value": each.own and each.own.value,
                "other": other and other.cell.label, "other_value": other and other.value,
                "other_pairs": other and other.cell.queries, "ratio": each.value, **_bounds(each),
            })  # fmt: skip
    blank, means = [""] * len(sides), [found.mean(side) for side in sides]
    graphs = count(max((each.mean.measured for each in means if each), default=0), "graph")
    of_means = [text for each in means for text in (ratio(each and each.value), _between(each))]
    lines.append(["geometric mean", *blank, "", graphs, *of_means])
    where = ", ".join(dict.fromkeys(graph for value, graph in worst.values() if value))
    largest = [text for value, _ in worst.values() for text in (ratio(value or None), "")]
    lines.append(["largest ratio", *blank, "", where, *largest])
    notes = ["The best of our configurations over the best of the others; below 1 ours is better.", _INTERVAL]
    notes += [by.note] if by.note else []
    notes += [_INDEX] if by.name in ("build", "ready", "bytes") else []
    if any(each and each.mean.missing for each in means):
        notes.append(f"A graph that only others finished counts as {PENALTY:g}, or as our largest ratio.")
    title = _named(f"Best of ours against the best of the others, {by.title}", like, found.graphs)
    return Table(
        f"{RIVALS}-{by.name}", title, ["graph", *heads], lines, frozenset({*heads} - {"who"}),
        ends=frozenset([len(found.graphs) - 1]), notes=notes, records=records, file=RIVALS,
        data=pandas.DataFrame(records),
    )  # fmt: skip


def _text(by: Compared, least: Best | None) -> str:
    return BLANK if least is None else by.text(least.value) + _sampled([least.cell])


# ------------------------------------------------------------------ what workers add

WORKERS = "workers"
#: what has workers -> how many, and the same index in one process
SAME = {"dask": ("threads", "parallel"), "dask-gpu": ("devices", "gpu-fused")}
_AXES = {(name, other): axis for name, (axis, other) in SAME.items()}
_QUERY = of_phase("query")


def workers(cells: Iterable[Cell]) -> list[Table]:
    """A line for each cell of workers: its rate over W times that of one worker, and over that of as many threads or
    GPUs of one process; no table for a run without."""
    import pandas

    sound = {_setting(cell, cell.impl, _many(cell)): cell for cell in cells if cell.sound}
    records = []
    for cell in sound.values():
        if cell.impl in SAME and (many := _many(cell)) and (rate := _rate(cell)):
            efficiency = _share(sound.get(_setting(cell, cell.impl, 1)), cell, many)
            process = _share(sound.get(_setting(cell, SAME[cell.impl][1], many)), cell, 1)
            records.append((cell, many, rate, efficiency, process))
    if not records:
        return []
    heads = ["graph", "configuration", "workers", "pairs", "M pairs/s", "efficiency", "95 %", "of one process",
             "of it: 95 %"]  # fmt: skip
    lines = [[cell.dataset, cell.label, str(many), f"{cell.queries:,}", short(rate / 1e6),
              *(text for one in shares for text in (short(one and one.value) or BLANK, _between(one)))]
             for cell, many, rate, *shares in records]  # fmt: skip
    data = [{"dataset": cell.dataset, "configuration": cell.label, "queries": cell.query_set, "workers": many,
             "pairs": cell.queries, "pairs_per_second": rate, "efficiency": one and one.value,
             "of_process": process and process.value} for cell, many, rate, one, process in records]  # fmt: skip
    notes = [
        "Efficiency: the rate of W workers over W times the rate of one. Sending and scheduling run in the "
        "process that asks, on the same cores if the workers are on its machine.",
        "Of one process: the rate over that of `parallel` with as many threads, or of `gpu-fused` with as many "
        "GPUs, which ask the same index.",
    ]
    return [Table(WORKERS, "What workers add", heads, lines, frozenset(heads[2:]), keys=3, notes=notes, records=data,
                  file=WORKERS, data=pandas.DataFrame(data))]  # fmt: skip


def _rate(cell: Cell) -> float | None:
    """Pairs a second, by the median of the trials; None without times."""
    time = _QUERY.value(cell)
    return cell.queries / time * 1e3 if time and cell.queries else None


def _share(base: Cell | None, cell: Cell, many: int) -> Ratio | None:
    """The rate of a cell over so many times that of another; None without one."""
    found = ratios.of_cells([(base, cell)], ANSWERS) if base is not None else None
    if found is None:
        return None
    interval = found.interval and Interval(found.interval.low / many, found.interval.high / many)
    return found._replace(value=found.value / many, interval=interval)


def _many(cell: Cell) -> int | None:
    """The workers of a cell, or the threads or GPUs of one in one process."""
    return next((getattr(cell, axis) for names, axis in _AXES.items() if cell.impl in names), None)


def _setting(cell: Cell, impl: str, many: int | None) -> tuple:
    """What two compared cells have in common."""
    axes = tuple(sorted((name, str(value)) for name, value in cell.axes.items() if name not in ("threads", "devices")))
    return cell.dataset, cell.query_set, cell.seed, axes, impl, many
