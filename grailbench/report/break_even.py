"""From how many queries a build pays, as tables: against the next on the front of build and query and against the best
searching method, and against `sweep`."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from grailbench.compare import costs
from grailbench.compare.costs import BUILDS, NEVER, THREADS, AgainstSweep, BreakEven, Front, Group, Point, Timed
from grailbench.compare.measures import GPU, NS, grouped, median, named, place
from grailbench.compare.ranking import generated_kind
from grailbench.compare.stability import mark
from grailbench.harness.cells import NOT_FROM_EDGES, Cell
from grailbench.report import frames
from grailbench.report.table import Column, Table, of_rows, tabulate
from grailbench.util.words import BLANK, count, short, size

NAME, SWEPT = "tradeoffs", "pays"
TITLE = "The front of build and query, and from how many queries a build pays"
ASKED = "From how many queries a build pays"
OURS, OTHERS = "ours", "others"


def groups_of(cells: Iterable[Cell]) -> list[Group]:
    """The groups of some cells, named as figures name them."""
    return costs.groups((cell, head["config"], head["queries"]) for head, cell in frames.headed(frames.ordered(cells)))


# ------------------------------------------------------------------ the front


def tables(cells: Iterable[Cell]) -> list[Table]:
    """The table of the graphs and query sets on which both an index and a search without one were timed; none where
    there is no such."""
    found = [each for each in costs.fronts(groups_of(cells)) if each.indexed]
    return [table(found)] if found else []


class Line(NamedTuple):
    """A configuration of a front, and from how many queries it pays against the one before and the best search."""

    front: Front
    point: Point
    over_previous: BreakEven | None
    over_search: BreakEven | None

    @property
    def cheapest(self) -> tuple[str, int | None]:
        """For how many queries it is the cheapest of all: '1 to 1,230', '1,230 on', '' for none; and the first."""
        steps = self.front.steps
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            if step.option is self.point:
                end = "on" if after is None else f"to {costs.number(after.since)}"
                return f"{costs.number(step.since)} {end}", step.since
        return "", None


def table(found: list[Front]) -> Table:
    """A line for each configuration of the front of each group. The notes begin with the sentences on these."""
    lines = [Line(each, point, each.break_even(point, before), each.break_even(point, each.search)) for each in found
             for before, point in zip([None, *each.points], each.points, strict=False)]  # fmt: skip
    columns = [
        Column("graph", "dataset"),
        Column("queries", lambda each: each.front.group.queries or each.point.cell.whole_set),
        Column("configuration", lambda each: each.point.name),
        Column("build", lambda each: BUILDS[each.front.group.build]),
        Column("build ms", "build_ms", short,
               mark=lambda each: mark(each.point.cell, phases=(each.front.group.build,))),
        Column("ns a query", "query_ns", short, mark=lambda each: mark(each.point.cell, phases=("query",))),
        Column("index size", "index_bytes", size),
        *_break_even_columns("pays from", "95 %", lambda each: each.over_previous),
        *_break_even_columns("over searching from", "95 % of it", lambda each: each.over_search),
        Column("cheapest for", lambda each: each.cheapest[0]),
    ]  # fmt: skip
    ends = frozenset(at for at, each in enumerate(lines) if each.point is each.front.points[-1])
    notes = [*costs.sentences(found), *notes_of(found)] if found else []
    return of_rows(NAME, TITLE, columns, list(map(_record, lines)), lines, keys=3, ends=ends, notes=notes, file=NAME)


def _break_even_columns(header: str, interval: str, of: Callable[[Line], BreakEven | None]) -> list[Column]:
    """The number of queries from which it pays, and its interval."""
    return [
        Column(header, lambda line: (one := of(line)) and (one.queries if one.queries < math.inf else NEVER),
               lambda value: value if value == NEVER else costs.number(value),
               mark=lambda line: mark(line.point.cell, of(line).against.cell)),
        Column(interval, lambda line: (one := of(line)) and one.interval, costs.between),
    ]  # fmt: skip


def _record(line: Line) -> dict:
    group, cell = line.front.group, line.point.cell
    cost = line.point.cost(group.build)
    record = {
        "dataset": group.graph, "generated": cell.generated, "machine": None, "queries": cell.query_set,
        "configuration": cell.label, "build_phase": group.build, "build_ms": cost.once, "query_ns": cost.each * NS,
        "asked": cell.queries, "index_bytes": cell.index_bytes,
    }  # fmt: skip
    for name, one in (("neighbour", line.over_previous), ("search", line.over_search)):
        low, high = one.interval if one and one.interval else (None, None)
        record |= {name: one and one.against.name, f"{name}_from": one and _finite(one.queries),
                   f"{name}_low": low, f"{name}_high": None if high == math.inf else high}  # fmt: skip
    return record | {"cheapest_from": line.cheapest[1]}


def _finite(queries: float) -> int | None:
    return None if queries == math.inf else int(queries)


def notes_of(found: list[Front]) -> Iterator[str]:
    """How the table is read, and what is not in it."""
    yield (
        "pays from: the number of queries from which on the build pays against the line above, which is faster to "
        "build; over searching: against the method without an index that has the fastest query. A line is cheapest for "
        "no number where others are cheaper for each. The time of a query is that of the batch over its queries, so "
        "that it takes the time to be proportional to them."
    )
    if any(each.search for each in found):
        none = dict.fromkeys(each.search.name for each in found if each.search)
        yield f"The best searching method: {', '.join(none)}."
    if labels := [each for each in found if each.group.build == "label"]:
        gpu = any(place(point.cell) == GPU for each in labels for point in each.points)
        yield f"Builds of the labels alone{', on a GPU of a graph that is there already' * gpu}: from edges " \
              f"{NOT_FROM_EDGES}."  # fmt: skip
    lost = dict.fromkeys(p.name for each in found for p in each.group.points if p.cost(each.group.build) is None)
    if lost:
        yield f"Without that build, and so not in the table: {count(len(lost), 'configuration')}."


# ------------------------------------------------------------------ against `sweep`


def against_sweep(cells: Iterable[Cell]) -> list[Table]:
    """From how many pairs an index pays against `sweep`: a table for each query set, those of generated graphs apart;
    none for a run without."""
    kinds = grouped(costs.against_sweep(cells), lambda one: (one.swept.generated, one.swept.query_set))
    return [_swept_table(name, like, own) for (like, name), own in sorted(kinds.items(), key=lambda each: each[0][0])]


def _swept_table(query_set: str, like: bool, found: list[AgainstSweep]) -> Table:
    """A line per graph: for each number of threads the time of a swept pair, and whose index pays first, ours and of
    others; records of every index."""
    graphs = list(dict.fromkeys(one.swept.dataset for one in found))
    swept = {(one.swept.dataset, one.threads): _swept_ns(one.swept) for one in reversed(found)}
    latest_first = sorted(found, key=lambda one: one.pairs)[::-1]
    first = {(one.swept.dataset, one.threads, _whose(one)): one for one in latest_first}
    columns = [Column("graph", lambda graph: graph)]
    for threads in THREADS:
        if any(one.threads == threads for one in found):
            head = f"swept, {threads}: ns a pair"
            columns.append(Column(head, lambda graph, at=threads: swept.get((graph, at))))
        for who in (OURS, OTHERS):
            if any((graph, threads, who) in first for graph in graphs):
                of = {graph: first.get((graph, threads, who)) for graph in graphs}
                columns += [
                    Column(
                        f"{who}, {threads}: pays from",
                        lambda graph, of=of: of[graph] and of[graph].text,
                        mark=lambda graph, of=of: mark(of[graph].cell, of[graph].swept),
                    ),
                    Column(f"{who}, {threads}", lambda graph, of=of: of[graph] and named(of[graph].cell)),
                ]
    records = [{
        "dataset": one.swept.dataset, "generated": like, "queries": one.swept.query_set, "threads": one.threads,
        "whose": _whose(one), "configuration": one.cell.label, "index_pairs": one.cell.queries,
        "build_phase": one.phase, "build_ms": median(one.cell, one.phase),
        "swept_build_ms": median(one.swept, one.phase), "pair_ns": _pair_ns(one.cell),
        "swept_pair_ns": _pair_ns(one.swept), "batch": one.swept.queries, "pays_from": _finite(one.pairs),
        "lower_bound": one.beyond,
    } for one in found]  # fmt: skip
    kind = f" ({generated_kind(graphs)})" if like else ""
    numbers = frozenset(each.header for each in columns if each.header.endswith(("ns a pair", "pays from")))
    return tabulate(
        f"{SWEPT}-{query_set}", f"From how many pairs an index pays, {query_set}{kind}", columns, graphs, none=BLANK,
        right=numbers, values=None, notes=_sweep_notes(found), records=records, file=SWEPT,
    )  # fmt: skip


def _whose(one: AgainstSweep) -> str:
    return OURS if one.cell.ours else OTHERS


def _swept_ns(cell: Cell) -> str:
    return short(_pair_ns(cell)) + mark(cell, phases=("query",))


def _pair_ns(cell: Cell) -> float:
    return Timed({0: 0.0}, cell.times["", "query"], cell.queries).cost(NS).each


def _sweep_notes(found: list[AgainstSweep]) -> Iterator[str]:
    batches = sorted({one.swept.queries for one in found})
    batch = f"batch of {batches[0]:,} pairs" if len(batches) == 1 else "run's batch"
    yield (
        "The build of an index beyond what the sweep needs too, over what it saves a pair against the sweep, both "
        f"measured at the {batch}; shown is the index that pays from the fewest pairs on."
    )
    yield (
        "This takes the sweep's time to be proportional to the pairs, which it is not: in a smaller batch a pair takes "
        "another time, searched or swept."
    )
    if any(one.beyond for one in found):
        yield "≥: beyond the batch, where the number is a lower bound, since more pairs can be swept in such batches."
    if any(one.pairs == math.inf for one in found):
        yield f"{NEVER}: at this batch the sweep answers a pair in no more time than the index."
    if any(one.phase == "label" for one in found):
        yield "The way from edges was not timed of all: there the build is the labeling alone, and a peer's has the " \
              "condensing in it."  # fmt: skip
