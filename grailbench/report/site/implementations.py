"""The pages of implementations: what each is, how it is run, where it wins and where it loses.

Every implementation meets the best other on the same machine, graph, queries and place to run.
"""

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from grailbench.compare import measures
from grailbench.compare.measures import ANSWERS, PLACES, Best, Measure, best, from_edges, grouped
from grailbench.compare.ranking import Duel, duel, name_of
from grailbench.compare.ratios import EQUAL, UNCLEAR, span
from grailbench.compare.stability import mark
from grailbench.harness import axes, plugins
from grailbench.harness.cells import NOT_FROM_EDGES
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import PENALTY, geometric_mean
from grailbench.problems.contract import USUAL, registered
from grailbench.report.measured import statuses
from grailbench.report.page.sections import Block
from grailbench.report.site.entries import Entry, Machine, by_implementation, first_named, link, linked_table
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.visible import quoted
from grailbench.util.words import BLANK, count, listing, ratio, short
from grailbench.util.words import grouped as thousands

WINS, LOSES = "wins", "loses"
PEERS = "peers"


@dataclass(frozen=True, eq=False)
class Round:
    """An implementation on one machine, graph, query set and place, against the best other there.

    answering  by the time of a pair, or of the last phase; `whole` from edges to all answers of the set
    lost       its cell with the worst status, if no cell of it is sound
    """

    machine: Machine
    graph: str
    queries: str
    place: str
    answering: Duel
    whole: Duel
    lost: Entry | None

    @property
    def verdict(self) -> str | None:
        """That of `answering`; `LOSES` if it has no sound cell there and another has; None with nothing to compare."""
        if self.answering.own is None:
            return None if self.answering.other is None else LOSES
        return verdict(self.answering)


def verdict(each: Duel) -> str | None:
    """`WINS` or `LOSES`, or why neither is said (`Ratio.equal`); None without a ratio."""
    return each.ratio and {-1: WINS, 1: LOSES}.get(each.ratio.order, each.ratio.equal)


def rounds(entries: Iterable[Entry]) -> dict[tuple[str, str], list[Round]]:
    """Every round of every problem and implementation, in the order of the cells; without runs on several machines."""
    groups = grouped(
        (entry for entry in entries if entry.source.machine is not None),
        lambda entry: (entry.cell.problem, entry.source.machine, measures.graph_of(entry.cell),
                       measures.questions(entry.cell), measures.place(entry.cell)),
    )  # fmt: skip
    found: dict[tuple[str, str], list[Round]] = {}
    for (problem, machine, (graph, _), queries, place), group in groups.items():
        whole = from_edges(max((entry.cell.queries or 0 for entry in group), default=0) or None)
        for name, own in grouped(group, lambda entry: entry.cell.impl).items():
            others = [entry for entry in group if entry.cell.impl != name]
            lost = None if any(each.cell.sound for each in own) else max(
                own, key=lambda each: STATUSES.index(each.cell.status))  # fmt: skip
            made = Round(machine, graph, queries, place, _duel(own, others, ANSWERS), _duel(own, others, whole), lost)
            found.setdefault((problem, name), []).append(made)
    return found


def _duel(own: list[Entry], others: list[Entry], measure: Measure) -> Duel:
    one, other = (best(side, measure, first_named) for side in (own, others))
    return duel(one, other, measure, bool(one and other and one.item.source is other.item.source))


def graphs_won(found: Iterable[Round], whole: bool = False) -> tuple[set[str], set[str]]:
    """The graphs on which an implementation wins a round and loses none, and all on which it had another beside it; by
    the time of the answers or, if `whole`, from edges."""
    verdicts: dict[str, set[str]] = {}
    for each in found:
        if (seen := verdict(each.whole) if whole else each.verdict) is not None:
            verdicts.setdefault(each.graph, set()).add(seen)
    return {graph for graph, seen in verdicts.items() if WINS in seen and LOSES not in seen}, set(verdicts)


def page(name: str, problem: str, own: list[Entry], found: list[Round]) -> list[Block]:
    """The page of an implementation, of its cells and rounds: what it is, how to run it, and its times against the best
    others."""
    return [*_about(name, problem, own), *_compared(found), *_not_compared(own), *_troubled(own)]


# ------------------------------------------------------------------ what it is


def _about(name: str, problem: str, own: list[Entry]) -> Iterator[Block]:
    yield "heading", "What it is"
    known = registered(name, problem)
    if known is None:
        yield "text", "This installation has no implementation of this name; the page is made from its rows alone."
    elif text := _paragraph(known):
        yield "text", text
    facts = {"problem": problem, **(_registered(known) if known is not None else {}), **_measured(name, own)}
    yield "facts", [(key, value) for key, value in facts.items() if value]
    if known is not None and own:
        graph = min((entry.cell.edges or 0, entry.cell.dataset) for entry in own)[1]
        solved = "" if problem == USUAL else f" --problem {problem}"
        yield "text", f"To run it: grailbench run{solved} --dataset {quoted(graph)} --impl {quoted(name)}"


def _paragraph(known: type) -> str:
    """The first paragraph of what its author wrote of it."""
    return " ".join(inspect.cleandoc(known.__doc__ or "").partition("\n\n")[0].split())


def _registered(known: type) -> dict[str, str]:
    module = known.__module__
    return {
        "source": getattr(known, "source", ""), "cost": known.cost, "needs": ", ".join(known.needs),
        "options": "; ".join(f"{axis.name} ({axis.help})" for axis in axes.AXES if axis.name in known.axes),
        "module": module if plugins.outside(known) else f"{module.replace('.', '/')}.py",
    }  # fmt: skip


def _measured(name: str, own: list[Entry]) -> dict[str, str]:
    cells = [entry.cell for entry in own]
    values = {axis.name: sorted({cell.axes[axis.name] for cell in cells} - set(axis.unsaid) - {axis.blank},
                                key=axis.rank) for axis in axes.AXES}  # fmt: skip
    versions = {_version(name, entry) for entry in own if not entry.cell.ours} - {""}
    graphs = count(len({cell.dataset for cell in cells}), "graph")
    return {
        "measured with": "; ".join(f"{axis} {', '.join(map(str, found))}" for axis, found in values.items() if found),
        "version": ", ".join(sorted(versions)),
        "cells": f"{statuses(cell.status for cell in cells)}, on {graphs}",
        "runs": listing(dict.fromkeys(entry.source.name for entry in own), 12),
    }


def _version(name: str, entry: Entry) -> str:
    """The library of a peer or the distribution of a plug-in where it was measured: 'pyreachability 0.2.0'; '' if its
    run does not say."""
    library = name.partition(":")[2].partition("-")[0]
    version = (entry.source.run.environment.get("packages") or {}).get(library)
    return entry.cell.distribution or (f"{library} {version}" if version else "")


# ------------------------------------------------------------------ where it wins


def _compared(found: list[Round]) -> Iterator[Block]:
    """A line for each machine, place, graph and query set, wins first, and how many are won."""
    yield "heading", "Where it wins and where it loses"
    compared = [each for each in found if each.verdict is not None]
    if not compared:
        yield "text", "No other implementation ran on the same machine, graph and queries."
        return
    for place, own in grouped(compared, lambda each: each.place).items():
        tally = Counter(each.verdict for each in own)
        mean = geometric_mean(each.answering.value for each in own)
        ratio_of = f"; its time over that of the best other, geometric mean: {ratio(mean.value)}" if mean else ""
        won = f"{tally[WINS]} won and {tally[LOSES]} lost of {len(own)}{ratio_of}"
        yield "text", f"{place[0].upper()}{place[1:]}: {won}."
    yield "table", _against(compared)
    if alone := len(found) - len(compared):
        yield "text", f"{count(alone, 'graph')} or query sets have no time of it, or of another implementation."


def _against(found: list[Round]) -> Table:
    first = next(side for each in found for side in (each.answering.own, each.answering.other) if side is not None)
    unit = "ns a pair" if measures.by_pair(first.cell) else "ms"

    def rows_of(each: Round) -> str:
        return link((each.lost or each.answering.own.item).address)

    def side(name: str, time: str, of: Callable[[Round], Best | None]) -> list[Column]:
        """The configuration of one side and its time."""
        return [
            Column(name, lambda each: name_of(of(each)), link=lambda each: link(of(each).item.implementation_address)),
            Column(
                time,
                lambda each: of(each) and of(each).value,
                short,
                lambda each: link(of(each).item.address),
                mark=lambda each: mark(of(each).cell, phases=ANSWERS.phases),
            ),
        ]

    def ratio_of(start: str, of: Callable[[Round], Duel]) -> list[Column]:
        return [
            Column(
                f"{start}ratio",
                lambda each: of(each).value,
                ratio,
                rows_of,
                mark=lambda each: of(each).ratio.mark if of(each).ratio else "",
            ),
            Column(f"{start}95 %", lambda each: of(each).interval, lambda bounds: span(bounds, ratio), rows_of),
        ]

    columns = [
        Column("graph", lambda each: each.graph,
               link=lambda each: link((each.answering.own or each.answering.other).item.graph_address)),
        Column("query set", lambda each: each.queries),
        Column("status", lambda each: each.lost.cell.status if each.lost else each.verdict, link=rows_of,
               notes=lambda each: [each.lost.cell.reason] if each.lost and each.lost.cell.reason else []),
        *side("configuration", unit, lambda each: each.answering.own),
        *side("best other", f"other: {unit}", lambda each: each.answering.other),
        *ratio_of("", lambda each: each.answering), *ratio_of("from edges: ", lambda each: each.whole),
        Column("place", lambda each: each.place), Column("machine", lambda each: each.machine.title),
    ]  # fmt: skip
    notes = [
        "Ratio: its median over that of the best other on the same machine, graph, queries and place, with a 95 % "
        f"interval; below 1 it is faster. Wins: the interval lies below 1; {EQUAL}: 1 is in it; {UNCLEAR}: the times "
        "of a side are unstable, or there are fewer than three trials.",
        "From edges: the same by the whole way from edges in memory to all answers of the query set. Times that begin "
        "with the graph at hand leave out condensing and, on a GPU, the upload.",
        *([] if any(each.whole.own for each in found) else [f"From edges: {NOT_FROM_EDGES}."]),
    ]
    if any(each.lost for each in found):
        notes.append(f"A graph that only another finished counts as {PENALTY:g} in a mean, or as its worst ratio.")
    ordered = sorted(found, key=lambda each: (each.answering.value is None, each.answering.value or 0, each.graph,
                                              each.queries))  # fmt: skip
    title = "Against the best other of the same machine, graph, queries and place"
    return linked_table("against", title, columns, ordered, keys=2, notes=notes)


def _not_compared(found: Iterable[Entry]) -> list[Block]:
    """A text on the runs that were measured on several machines; none without such."""
    mixed = sorted({entry.source.name for entry in found if entry.source.machine is None})
    return [("text", f"Not compared, as measured on several machines: {listing(mixed, 6)}.")] if mixed else []


def _troubled(own: list[Entry]) -> Iterator[Block]:
    """Its cells that are wrong, have no times, or were checked by a sample alone."""
    worst = sorted((each for each in own if each.cell.status != "ok"), key=lambda e: -STATUSES.index(e.cell.status))
    if not worst:
        return
    columns = [
        Column("graph", lambda each: each.cell.dataset, link=lambda each: link(each.graph_address)),
        Column("configuration", lambda each: each.cell.label),
        Column("query set", lambda each: measures.query_set_of(each.cell)),
        Column("status", lambda each: each.cell.status, link=lambda each: link(each.address),
               notes=lambda each: [each.cell.reason] if each.cell.reason else []),
        Column("run", lambda each: each.source.name, link=lambda each: link(each.source.address)),
    ]  # fmt: skip
    yield "heading", "Wrong, unfinished or partly checked"
    yield "table", tabulate("troubled", count(len(worst), "cell"), columns, worst, right=frozenset())


# ------------------------------------------------------------------ all implementations


def index(entries: Iterable[Entry], found: dict[tuple[str, str], list[Round]]) -> list[Block]:
    """A table of the implementations: what each is, how many cells it has, how many graphs it won."""
    groups = by_implementation(entries)

    def won(key: tuple[str, str], whole: bool) -> str:
        wins, among = graphs_won(found.get(key, ()), whole)
        return f"{len(wins)} of {len(among)}" if among else BLANK

    columns = [
        Column("implementation", lambda key: key[1], link=lambda key: link(groups[key][0].implementation_address)),
        Column("problem", lambda key: key[0]), Column("place", lambda key: _place(groups[key])),
        Column("what it is", lambda key: _line(registered(*key[::-1]))),
        Column("cells", lambda key: len(groups[key]), thousands),
        Column("not sound", lambda key: statuses(e.cell.status for e in groups[key] if not e.cell.sound)),
        Column("graphs won", lambda key: won(key, False)), Column("from edges: won", lambda key: won(key, True)),
    ]  # fmt: skip
    notes = [
        "Graphs won: where it is faster than every other of the same machine, graph, queries and place by the time of "
        "its answers, with an interval below 1, and slower nowhere on that graph; of those on which there is another. "
        "From edges: the same by the whole way."
    ]
    title = count(len(groups), "implementation")
    return [("table", linked_table("implementations", title, columns, list(groups), keys=2, notes=notes))]


def _place(own: list[Entry]) -> str:
    """Peers, for whatever others made, or the largest place of its cells."""
    ours = all(each.cell.ours for each in own)
    return max((measures.place(each.cell) for each in own), key=PLACES.index) if ours else PEERS


def _line(known: type | None) -> str:
    """The first sentence of what its author wrote of an implementation."""
    return "not part of this installation" if known is None else f"{_paragraph(known).partition('. ')[0].rstrip('.')}."
