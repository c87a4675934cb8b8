"""From how many queries a build pays: the front of build and query, who is cheapest for how many, and sentences of it.

A configuration costs its build once and the time of a query of its batch for every query. Each configuration of the
front is compared with the one before it there, which is faster to build, and with the best searching method, which
keeps no index.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from grailbench.compare.costs import Step, envelope, front, pays_from, pays_interval
from grailbench.harness.cells import NOT_FROM_EDGES, Cell
from grailbench.harness.statistics import Interval
from grailbench.problems.contract import USUAL
from grailbench.report.asked import BUILDS, NS, Group, Point, groups
from grailbench.report.papers.thesis import on_gpu
from grailbench.report.table import Table
from grailbench.util.words import BLANK, count, short, size

NAME = "tradeoffs"
TITLE = "The front of build and query, and from how many queries a build pays"
ASKED = "From how many queries a build pays"
LEAST = 1  #: queries: for none nothing is built
GRAPHS = 5  #: graphs of a query set that have a sentence, the largest
NEVER = "never"
WORDS = {"ready": "from edges", "label": "labels"}


class Pays(NamedTuple):
    """From how many queries on one configuration costs no more than another: `inf` for never; its 95 % interval, None
    with too few trials."""

    against: Point
    queries: float
    interval: Interval | None

    @property
    def text(self) -> str:
        return _number(self.queries)

    @property
    def between(self) -> str:
        """'38,000 to 42,000', '' without an interval."""
        if self.interval is None:
            return ""
        low, high = map(_number, self.interval)
        return low if low == high else f"{low} to {high}"


def _number(queries: float) -> str:
    """A number of queries with three significant digits: '39,800', or 'never'."""
    return NEVER if queries == math.inf else f"{float(f'{queries:.3g}'):,.0f}"


class Front(NamedTuple):
    """The front of a group: its configurations, those faster to build first, what is cheapest for how many queries, and
    the best searching method, None if nothing is known to keep no index."""

    group: Group
    points: list[Point]
    steps: list[Step]
    search: Point | None

    def pays(self, point: Point, other: Point | None) -> Pays | None:
        """From how many queries on the longer build of `point` pays against `other`; None for itself or nothing."""
        if other is None or other is point:
            return None
        build = self.group.build
        queries = pays_from(point.cost(build), other.cost(build), LEAST)
        return Pays(other, queries, pays_interval(point.timed(build), other.timed(build), LEAST))

    @property
    def indexed(self) -> bool:
        """True if it has both a searching method and an index."""
        return self.search is not None and any(point.cell.index_bytes for point in self.group.points)


def fronts(cells: Iterable[Cell], machine: Callable[[Cell], str] | None = None) -> list[Front]:
    """The fronts of the groups of reachability in which at least two configurations have a build and a query."""
    found = []
    for group in groups((cell for cell in cells if cell.problem == USUAL), machine):
        points = [point for point in group.points if point.cost(group.build) is not None]
        if len(points) < 2:
            continue

        def cost(point: Point, build: str = group.build):
            return point.cost(build)

        best = [point for point, kept in zip(points, front(list(map(cost, points))), strict=True) if kept]
        none = [point for point in points if point.cell.index_bytes == 0]
        search = min(none, key=lambda point: cost(point)[::-1], default=None)
        found.append(Front(group, sorted(best, key=cost), envelope(points, cost, LEAST), search))
    return found


# ------------------------------------------------------------------ sentences


def sentences(found: Iterable[Front]) -> list[str]:
    """What is cheapest for how many queries, a sentence for each of the `GRAPHS` largest graphs of a query set."""
    kinds: dict[tuple, list[Front]] = {}
    for each in found:
        kinds.setdefault((each.group.machine, each.group.queries), []).append(each)
    lines = []
    for own in kinds.values():
        largest = sorted(own, key=lambda each: -each.group.edges)[:GRAPHS]
        lines += [_sentence(each) for each in own if each in largest]
        if more := len(own) - len(largest):
            lines.append(f"{count(more, 'more graph')}: see the table.")
    return lines


def _sentence(found: Front) -> str:
    """'kegg, from edges: dfs for fewer; from 40,000 (95 %: 38,000 to 42,000) queries on gpu-fused d=2 pays, against
    dfs.'"""
    start = f"{found.group.title}, {WORDS[found.group.build]}: "
    first, *later = found.steps
    if not later:
        return f"{start}{first.option.name} is the cheapest for any number of queries."
    parts = [f"{first.option.name} for fewer"]
    for before, step in zip(found.steps, later, strict=False):
        pays = found.pays(step.option, before.option)
        bounds = f" (95 %: {pays.between})" if pays.between else ""
        perhaps = " if at all" if pays.interval is not None and pays.interval.high == math.inf else ""
        parts.append(
            f"from {pays.text}{bounds} queries on {step.option.name} pays{perhaps}, against {before.option.name}"
        )
    return f"{start}{'; '.join(parts)}."


# ------------------------------------------------------------------ table


def table(cells: Iterable[Cell], machine: Callable[[Cell], str] | None = None) -> Table:
    """A line for each configuration of the front of each group; no lines where no two have a build and a query. The
    notes begin with `sentences`."""
    return table_of(fronts(cells, machine))


def table_of(found: list[Front]) -> Table:
    """The table of some fronts."""
    import pandas

    several = any(each.group.machine for each in found)
    headers = ["graph", *(["machine"] if several else []), "queries", "configuration", "build", "build ms",
               "ns a query", "index size", "pays from", "95 %", "over searching from", "95 % of it",
               "cheapest for"]  # fmt: skip
    lines, values, records, ends = [], [], [], set()
    for each in found:
        before = None
        for point in each.points:
            line, value, record = _line(each, point, before)
            where = [each.group.machine] if several else []
            lines.append([line[0], *where, *line[1:]])
            values.append([value[0], *where, *value[1:]])
            records.append(record)
            before = point
        ends.add(len(lines) - 1)
    right = frozenset(headers[headers.index("build ms") :]) - {"cheapest for"}
    notes = [*sentences(found), *notes_of(found)] if found else []
    return Table(
        NAME, TITLE, headers, lines, right, keys=headers.index("build"), ends=frozenset(ends), notes=notes,
        values=values, records=records, file=NAME, data=pandas.DataFrame(records),
    )  # fmt: skip


def tables(cells: Iterable[Cell]) -> list[Table]:
    """The table of the graphs and query sets on which both an index and a search without one were timed; none where
    there is no such."""
    found = [each for each in fronts(cells) if each.indexed]
    return [table_of(found)] if found else []


def _line(found: Front, point: Point, before: Point | None) -> tuple[list[str], list, dict]:
    """Texts, sort keys and the record of a configuration of a front."""
    group, cell = found.group, point.cell
    cost, pays, searched = point.cost(group.build), found.pays(point, before), found.pays(point, found.search)
    cheapest, since = _cheapest(found, point)
    texts = [
        group.graph, group.queries or cell.whole_set, point.name, WORDS[group.build], short(cost.once),
        short(cost.each * NS), BLANK if cell.index_bytes is None else size(cell.index_bytes),
        *(text for one in (pays, searched) for text in ((one.text, one.between) if one else (BLANK, ""))), cheapest,
    ]  # fmt: skip
    values = [*texts[:4], cost.once, cost.each * NS, cell.index_bytes,
              *(value for one in (pays, searched) for value in ((_finite(one), None) if one else (None, None))),
              since]  # fmt: skip
    record = {
        "dataset": group.graph, "generated": cell.generated, "machine": group.machine or None,
        "queries": cell.query_set, "configuration": cell.label, "build_phase": group.build, "build_ms": cost.once,
        "query_ns": cost.each * NS, "asked": cell.queries, "index_bytes": cell.index_bytes,
    }  # fmt: skip
    for name, one in (("neighbour", pays), ("search", searched)):
        low, high = one.interval if one and one.interval else (None, None)
        record |= {name: one and one.against.name, f"{name}_from": one and _finite(one),
                   f"{name}_low": low, f"{name}_high": None if high == math.inf else high}  # fmt: skip
    return texts, values, record | {"cheapest_from": since}


def _finite(pays: Pays) -> int | None:
    return None if pays.queries == math.inf else int(pays.queries)


def _cheapest(found: Front, point: Point) -> tuple[str, int | None]:
    """For how many queries a configuration is the cheapest of all: '1 to 1,230', '1,230 on', '' for none; and the
    first of them."""
    for at, step in enumerate(found.steps):
        if step.option is point:
            after = found.steps[at + 1].since if at + 1 < len(found.steps) else None
            return f"{_number(step.since)} {'on' if after is None else f'to {_number(after)}'}", step.since
    return "", None


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
    labels = [each for each in found if each.group.build == BUILDS[-1]]
    if labels:
        gpu = any(on_gpu([point.cell]) for each in labels for point in each.points)
        yield f"Builds of the labels alone{', on a GPU of a graph that is there already' * gpu}: from edges " \
              f"{NOT_FROM_EDGES}."  # fmt: skip
    lost = dict.fromkeys(p.name for each in found for p in each.group.points if p.cost(each.group.build) is None)
    if lost:
        yield f"Without that build, and so not in the table: {count(len(lost), 'configuration')}."
