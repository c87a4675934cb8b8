"""Best of each budget: which implementation gives 1, 10,000, ... answers on a graph first, and which takes least."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from grailbench.compare import measures
from grailbench.compare.measures import AT_HAND, FROM_EDGES, Best, Measure, best, of_value, total
from grailbench.compare.ratios import span
from grailbench.harness.cells import NOT_FROM_EDGES, Cell
from grailbench.harness.statistics import Interval
from grailbench.report.site.entries import Entry
from grailbench.report.site.rounds import first_named, to
from grailbench.report.table import Column, Table, of_rows
from grailbench.util.words import grouped, short, size

BUDGETS = (1, 10_000, 1_000_000, 1_000_000_000)  #: answers
NO_SEARCH = "from edges, no search"
ALL = "all"  #: answers of a problem without pairs
#: what must be known to read the tables, once a page
NOTES = {
    True: [
        "From edges: the way from edges in memory to an index that is ready, and the answers. Graph at hand: the index "
        "alone, of a condensed graph in memory, on a GPU in the GPU's. Medians over the trials of build + answers × "
        "time of a pair, with 95 % intervals.",
        "A pair is taken to cost what it did in the batch that was measured; in a smaller batch it costs more, most of "
        "all on a GPU. A peer condenses the graph in its build too: compare it with others from edges.",
        "No search: it counted its work, and no pair of the batch was left to a search. Peers count nothing.",
    ],
    False: [
        "Of problems without pairs: from edges is the way from edges in memory to all answers on the host, graph at "
        "hand the last phase alone, of a graph that is prepared, on a GPU in the GPU's memory. Medians over the "
        "trials, with 95 % intervals.",
    ],
}
RESOURCES = (
    "Least memory and energy: beside each, how long that configuration takes from edges to the answers of its whole "
    "batch. What keeps no index (0 bytes) is left out. The peak is that of the cell's process, with the interpreter "
    "and the graph, and that of its GPU's memory if it uses one."
)


def pairs(name: str, title: str, entries: list[Entry], up: str) -> Table | None:
    """The best of each of `BUDGETS` among cells of one machine, graph and kind of queries; None without times."""
    ways = {FROM_EDGES: entries, AT_HAND: entries}
    if any(measures.searchless(each.cell) for each in entries):
        searchless = [each for each in entries if measures.searchless(each.cell)]
        ways = {FROM_EDGES: entries, NO_SEARCH: searchless, AT_HAND: entries}
    found = [(answers, way, _least(of, way, answers)) for answers in BUDGETS for way, of in ways.items()]
    return _table(name, title, found, up)


def whole(name: str, title: str, entries: list[Entry], up: str) -> Table | None:
    """The best from edges and with the graph at hand among cells of one machine, graph and query set of a problem
    without pairs; None without times."""
    found = [(ALL, way, _least(entries, way, None)) for way in (FROM_EDGES, AT_HAND)]
    return _table(name, title, found, up)


def _least(entries: Iterable[Entry], way: str, answers: int | None) -> Best | None:
    start = AT_HAND if way == AT_HAND else FROM_EDGES
    return best(entries, total(start, answers), first_named)


def _table(name: str, title: str, found: list[tuple[str | int, str, Best | None]], up: str) -> Table | None:
    """A line for each (answers, way, best of it): what is least in this way and, beside it, how long that takes in the
    other. What is least in several ways has one line."""
    merged: dict[tuple[str | int, Entry], list[str]] = {}
    for answers, way, least in found:
        if least is not None:
            merged.setdefault((answers, least.item), []).append(way)
    if not merged:
        return None
    rows = []
    for (answers, entry), ways in merged.items():
        row = {"answers": None if answers == ALL else answers, "least": ", ".join(ways),
               "configuration": entry.cell.label}  # fmt: skip
        for way, key in ((FROM_EDGES, "from_edges_ms"), (AT_HAND, "at_hand_ms")):
            time, bounds = _time(entry.cell, way, row["answers"])
            row |= {key: time, f"{key}_low": bounds and bounds.low, f"{key}_high": bounds and bounds.high}
        rows.append(row | {"queries": entry.cell.query_set, "run": entry.source.name})

    def times(header: str, key: str, way: str) -> list[Column]:
        return [
            Column(f"{header}: ms", key, short, lambda each: to(up, each[1].address)),
            Column(f"{header}: 95 %", lambda each: _time(each[1].cell, way, None if each[0] == ALL else each[0])[1],
                   lambda bounds: span(bounds, short), lambda each: to(up, each[1].address)),
        ]  # fmt: skip

    columns = [
        Column("answers", lambda each: each[0], grouped), Column("least", "least"),
        Column("configuration", "configuration", link=lambda each: to(up, each[1].implementation_address)),
        *times("from edges", "from_edges_ms", FROM_EDGES), *times("graph at hand", "at_hand_ms", AT_HAND),
        Column("queries", lambda each: measures.asked(each[1].cell)),
    ]  # fmt: skip
    timed = any(total(FROM_EDGES).trials(entry.cell) for _, entry in merged)
    notes = [] if timed else [f"From edges: {NOT_FROM_EDGES}."]
    return of_rows(name, title, columns, rows, list(merged), keys=3, notes=notes)


def _time(cell: Cell, way: str, answers: int | None) -> tuple[float | None, Interval | None]:
    """The median of the times to so many answers, and its interval."""
    found = total(way, answers).stats(cell)
    if found is None:
        return None, None
    return found.median, Interval(found.median_low, found.median_high) if found.trials > 1 else None


# ------------------------------------------------------------------ memory and energy


def _memory(cell: Cell) -> int | None:
    if cell.host_peak_bytes is None:
        return None
    return cell.host_peak_bytes + (cell.device_peak_bytes or 0 if measures.place(cell) == measures.GPU else 0)


def _energy(cell: Cell) -> float | None:
    spent = cell.joules(cell.last_phase)
    if spent is None or not measures.by_pair(cell):
        return spent
    return spent * 1e6 / cell.queries if cell.queries else None


def _resources(pairwise: bool) -> Iterator[tuple[str, Measure, Callable[[float], str]]]:
    index = "bytes of the index" if pairwise else "bytes held"
    yield index, of_value(lambda cell: cell.index_bytes), lambda value: size(int(value))
    yield "peak memory", of_value(_memory), lambda value: size(int(value))
    yield ("joules of a million pairs" if pairwise else "joules"), of_value(_energy), short


def resources(name: str, title: str, entries: list[Entry], up: str) -> Table | None:
    """The least index, peak memory and energy among cells of one machine and graph; None if none is known."""
    pairwise = all(measures.by_pair(each.cell) for each in entries)
    rows, things = [], []
    for what, measure, text in _resources(pairwise):
        least = best(entries, measure, first_named)
        if least is not None:
            rows.append({"least": what, "value": least.value, "configuration": least.cell.label,
                         "from_edges_ms": total(FROM_EDGES).value(least.cell), "queries": least.cell.query_set,
                         "run": least.item.source.name})  # fmt: skip
            things.append((least.item, text(least.value)))
    if not rows:
        return None
    columns = [
        Column("least", "least"), Column("value", lambda each: each[1], str, lambda each: to(up, each[0].address)),
        Column("configuration", "configuration", link=lambda each: to(up, each[0].implementation_address)),
        Column("its batch from edges: ms", "from_edges_ms", short, lambda each: to(up, each[0].address)),
        Column("queries", lambda each: measures.asked(each[0].cell)),
    ]  # fmt: skip
    return of_rows(name, title, columns, rows, things)
