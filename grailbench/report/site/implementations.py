"""The pages of implementations: what each is, how it is run, where it wins and where it loses."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from statistics import median

from grailbench.compare import measures
from grailbench.compare.measures import PLACES, Best
from grailbench.compare.ranking import Duel
from grailbench.compare.ratios import EQUAL, UNCLEAR, span
from grailbench.graph import profile
from grailbench.graph.profile import Outline
from grailbench.harness import axes, plugins
from grailbench.harness.cells import NOT_FROM_EDGES
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import PENALTY, Mean, geometric_mean
from grailbench.problems.contract import PROBLEMS, USUAL, registered
from grailbench.report.page.sections import Block
from grailbench.report.site.entries import Entry, by_implementation
from grailbench.report.site.rounds import (
    LOSES,
    WINS,
    Machine,
    Round,
    graphs_lost,
    graphs_won,
    machine,
    rounds,
    tables,
    to,
)
from grailbench.report.table import Column, Table, of_rows, tabulate
from grailbench.util.visible import quoted
from grailbench.util.words import BLANK, count, grouped, listing, ratio, short

PEERS = "peers"
LEAST = 4  #: graphs won, and lost, from which on their features are compared
_SHORT = 30  # characters of a sentence that says hardly more than a name
CHANCE = 0.05  #: the most probable chance difference of all features together that is named
_FEATURES = {
    "levels": lambda graph: graph.depth, "edges a vertex": lambda graph: graph.density,
    "share in trees": lambda graph: graph.in_trees, "positive share": lambda graph: graph.rate,
}  # fmt: skip


def page(name: str, problem: str, entries: Iterable[Entry], up: str = "../") -> list[Block]:
    """The page of an implementation: what it is, how to run it, and its times against the best others.

    entries  cells of any implementations: those of others are what it is compared with
    up       leads from the page to the folder of the site
    """
    entries = list(entries)
    own = [entry for entry in entries if (entry.cell.impl, entry.cell.problem) == (name, problem)]
    found = rounds(name, problem, entries)
    return [*_about(name, problem, own), *_wins(found), *_compared(found, own, up), *_troubled(own, up)]


# ------------------------------------------------------------------ what it is


def _about(name: str, problem: str, own: list[Entry]) -> Iterator[Block]:
    yield "heading", "What it is"
    known = registered(name, problem)
    if known is None:
        yield "text", "This installation has no implementation of this name; the page is made from its rows alone."
    elif said := _paragraph(known):
        yield "text", said
    facts = [("problem", problem), *(_registered(known) if known is not None else ()), *_measured(name, own)]
    yield "facts", [(key, value) for key, value in facts if value]
    if known is not None and own:
        graph = min((entry.cell.edges or 0, entry.cell.dataset) for entry in own)[1]
        solved = "" if problem == USUAL else f" --problem {problem}"
        yield "text", f"To run it: grailbench run{solved} --dataset {quoted(graph)} --impl {quoted(name)}"


def _paragraph(known: type) -> str:
    """The first paragraph of what its author wrote of it."""
    return " ".join(inspect.cleandoc(known.__doc__ or "").partition("\n\n")[0].split())


def _registered(known: type) -> Iterator[tuple[str, str]]:
    module = known.__module__
    yield "source", getattr(known, "source", "")
    yield "cost", known.cost
    yield "needs", ", ".join(known.needs)
    options = [axis for axis in axes.AXES if axis.name in known.axes]
    yield "options", "; ".join(f"{axis.name} ({axis.help})" for axis in options)
    yield "fixed", ", ".join(f"{axis} {value}" for axis, value in known.fixed.items())
    yield "counts", ", ".join(known.counts).replace("_", " ")
    yield "process", "one of its own for each cell" if known.process == "own" else ""
    yield "right by luck", "as printed: its wrong answers are recorded as such" if known.racy else ""
    yield "module", module if plugins.outside(known) else f"{module.replace('.', '/')}.py"


def _measured(name: str, own: list[Entry]) -> Iterator[tuple[str, str]]:
    cells = [entry.cell for entry in own]
    seen = {axis.name: sorted({cell.axes[axis.name] for cell in cells} - set(axis.unsaid) - {axis.blank},
                              key=axis.rank) for axis in axes.AXES}  # fmt: skip
    yield "measured with", "; ".join(f"{axis} {', '.join(map(str, values))}" for axis, values in seen.items() if values)
    phases = dict.fromkeys(f"{under}/{phase}" if under else phase for cell in cells for under, phase in cell.times)
    yield "phases", ", ".join(phases)
    if not all(cell.ours for cell in cells):
        yield "version", ", ".join(sorted({said for entry in own if (said := _version(name, entry))}))
    statuses = Counter(cell.status for cell in cells)
    yield "cells", f"{_statuses(statuses)}, on {count(len({cell.dataset for cell in cells}), 'graph')}"
    yield "runs", listing(dict.fromkeys(entry.source.name for entry in own), 12)


def _version(name: str, entry: Entry) -> str:
    """The library of a peer or the distribution of a plug-in where it was measured: 'pyreachability 0.2.0'; '' if its
    run does not say."""
    if entry.cell.distribution:
        return entry.cell.distribution
    library = name.partition(":")[2].partition("-")[0]
    version = (entry.source.run.environment.get("packages") or {}).get(library)
    return f"{library} {version}" if version else ""


# ------------------------------------------------------------------ where it wins


def _wins(found: list[Round]) -> Iterator[Block]:
    """How often it wins and loses, in a line for each machine, place and query set; then in which graphs."""
    yield "heading", "Where it wins and where it loses"
    groups: dict[tuple[str, str, str], list[Round]] = {}
    for each in found:
        if each.verdict is not None:
            groups.setdefault((each.place, each.machine.title, each.asked), []).append(each)
    if not groups:
        yield "text", "No other implementation ran on the same machine, graph and queries."
        return
    rows, means = [], []
    for (place, title, asked), group in groups.items():
        verdicts = Counter(each.verdict for each in group)
        row = {"place": place, "machine": title, "queries": asked, "won": verdicts[WINS], "lost": verdicts[LOSES],
               "graphs": len(group)}  # fmt: skip
        edges = [each.whole.value for each in group if each.whole.other and (each.whole.own or each.lost)]
        means.append([geometric_mean(each.answering.value for each in group), geometric_mean(edges)])
        first, whole = means[-1]
        row |= {"mean_ratio": first and first.value, "mean_ratio_from_edges": whole and whole.value}
        rows.append(row | {"graphs_from_edges": _over(whole)})
    notes = [
        "Won: faster than every other; lost: slower than one. Ratio: its time over that of the best other, geometric "
        "mean over so many graphs; below 1 it is faster. From edges: the same by the whole way from edges in memory to "
        "all answers."
    ]
    if any(mean and mean.missing for both in means for mean in both):
        notes.append(f"A graph that only another finished counts as {PENALTY:g} in a mean, or as its worst ratio.")
    if not any(row["graphs_from_edges"] for row in rows):
        notes.append(f"From edges: {NOT_FROM_EDGES}.")
    columns = [
        Column("place", "place"), Column("machine", "machine"), Column("query set", "queries"),
        Column("won", "won", grouped), Column("lost", "lost", grouped), Column("of graphs", "graphs", grouped),
        Column("ratio", "mean_ratio", ratio), Column("over", lambda both: _over(both[0]), grouped),
        Column("from edges: ratio", "mean_ratio_from_edges", ratio),
        Column("from edges: over", "graphs_from_edges", grouped),
    ]  # fmt: skip
    title = "Against the best other, by place and machine"
    yield from tables(of_rows("standing", title, columns, rows, means, keys=3, notes=notes))
    yield from (("text", said) for said in features(found))


def _over(mean: Mean | None) -> int:
    """The number of graphs of a mean."""
    return mean.measured + mean.missing if mean else 0


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def features(found: Iterable[Round]) -> list[str]:
    """A sentence for each feature in which the graphs that it won differ from those that it lost by more than chance:
    Mann and Whitney's test, two-sided, below `CHANCE` divided by the number of features. Empty for less than `LEAST`
    graphs with an outline on either side."""
    from scipy.stats import mannwhitneyu

    found = list(found)
    known = profile.recorded()
    checksums = {each.graph[0]: each.graph[1] for each in found}

    def outlines(names: Iterable[str]) -> list[Outline]:
        return [one for name in sorted(names) if (one := known.get(name)) and checksums[name] in (None, one.sha256)]

    won, lost = outlines(graphs_won(found)[0]), outlines(graphs_lost(found))
    said = []
    for feature, of in _FEATURES.items():
        sides = [[value for graph in side if (value := of(graph)) is not None] for side in (won, lost)]
        if min(map(len, sides)) < LEAST or len({*sides[0], *sides[1]}) == 1:
            continue
        chance = mannwhitneyu(*sides).pvalue
        if chance < CHANCE / len(_FEATURES):
            medians = [short(median(side)) for side in sides]
            said.append(
                f"{_capital(feature)}: median {medians[0]} of the {len(sides[0])} graphs that it won, {medians[1]} of "
                f"the {len(sides[1])} that it lost (Mann-Whitney, p = {chance:.2g}); a correlation, not a cause."
            )
    return said


def _compared(found: list[Round], own: list[Entry], up: str) -> Iterator[Block]:
    """A table for each machine and place: a line for each graph and query set, wins first."""
    groups: dict[tuple[Machine, str], list[Round]] = {}
    for each in found:
        if each.verdict is not None:
            groups.setdefault((each.machine, each.place), []).append(each)
    for number, ((at, place), group) in enumerate(groups.items(), 1):
        yield from tables(_table(f"against-{number}", f"{_capital(place)}, {at.title}", group, up))
    alone = sum(each.verdict is None for each in found)
    if alone:
        yield "text", f"{count(alone, 'graph')} or query sets have no time of it, or of another implementation."
    mixed = sorted({entry.source.name for entry in own if machine(entry) is None})
    if mixed:
        yield "text", f"Not compared, as measured on several machines: {listing(mixed, 6)}."


def _table(name: str, title: str, group: list[Round], up: str) -> Table:
    first = next(side for each in group for side in (each.answering.own, each.answering.other) if side is not None)
    unit = "ns a pair" if measures.by_pair(first.cell) else "ms"
    ordered = sorted(group, key=lambda each: (each.answering.value is None, each.answering.value or 0, each.graph[0],
                                              each.asked))  # fmt: skip

    def rows_of(each: Round) -> str:
        return to(up, (each.lost or each.answering.own.item).address)

    def graph_page(each: Round) -> str:
        return to(up, (each.answering.own or each.answering.other).item.graph_address)

    def side(headers: tuple[str, str], key: str, least: Callable[[Round], Best | None]) -> list[Column]:
        """The columns of one side: its configuration and its time."""
        return [
            Column(headers[0], lambda each: _name(least(each)),
                   link=lambda each: to(up, least(each).item.implementation_address)),
            Column(headers[1], f"{key}_time", short, lambda each: to(up, least(each).item.address)),
        ]  # fmt: skip

    def bounds(header: str, duel: Callable[[Round], Duel]) -> Column:
        """The interval of a ratio, sorted by its low end."""
        return Column(header, lambda each: duel(each).interval, lambda found: span(found, ratio), rows_of)

    columns = [
        Column("graph", "graph", link=graph_page),
        Column("query set", "queries"),
        Column("status", lambda each: each.lost.cell.status if each.lost else each.verdict, link=rows_of,
               notes=lambda each: [each.lost.cell.reason] if each.lost and each.lost.cell.reason else []),
        *side(("configuration", unit), "own", lambda each: each.answering.own),
        *side(("best other", f"other: {unit}"), "other", lambda each: each.answering.other),
        Column("ratio", "ratio", ratio, rows_of), bounds("ratio: 95 %", lambda each: each.answering),
        *side(("from edges by", "from edges: ms"), "from_edges_own", lambda each: each.whole.own),
        *side(("other from edges by", "other from edges: ms"), "from_edges_other", lambda each: each.whole.other),
        Column("from edges: ratio", "from_edges_ratio", ratio, rows_of),
        bounds("from edges: 95 %", lambda each: each.whole),
    ]  # fmt: skip
    notes = [
        "Ratio: its median over that of the best other on the same machine, graph, queries and place, with a 95 % "
        f"interval; below 1 it is faster. Wins: the interval lies below 1; {EQUAL}: 1 is in it; {UNCLEAR}: the times "
        "of a side are unstable, and trials of the two overlap.",
        "From edges: the whole way from edges in memory to all answers of the query set, by the fastest of either side "
        "that way. Times that begin with the graph at hand leave out condensing and, on a GPU, the upload.",
    ]
    return of_rows(name, title, columns, list(map(_record, ordered)), ordered, keys=2, notes=notes)


def _name(least: Best | None) -> str | None:
    return least and measures.named(least.cell)


def _record(each: Round) -> dict:
    """The typed values of a line."""
    found = {"graph": each.graph[0], "sha256": each.graph[1], "queries": each.asked, "machine": each.machine.title,
             "place": each.place, "verdict": each.verdict, "status": each.lost and each.lost.cell.status}  # fmt: skip
    for key, duel in (("", each.answering), ("from_edges_", each.whole)):
        for side, least in (("own", duel.own), ("other", duel.other)):
            found |= {f"{key}{side}": least and least.cell.label, f"{key}{side}_time": least and least.value}
        bounds = duel.interval
        found |= {f"{key}ratio": duel.value, f"{key}low": bounds and bounds.low, f"{key}high": bounds and bounds.high}
    return found


def _troubled(own: list[Entry], up: str) -> Iterator[Block]:
    """Its cells that are wrong, have no times, or were checked by a sample alone."""
    troubled = [entry for entry in own if entry.cell.status != "ok"]
    if not troubled:
        return
    columns = [
        Column("graph", lambda each: each.cell.dataset, link=lambda each: to(up, each.graph_address)),
        Column("configuration", lambda each: each.cell.label),
        Column("query set", lambda each: measures.asked(each.cell)),
        Column("status", lambda each: each.cell.status, link=lambda each: to(up, each.address),
               notes=lambda each: [each.cell.reason] if each.cell.reason else []),
        Column("run", lambda each: each.source.name, link=lambda each: to(up, each.source.address)),
    ]  # fmt: skip
    worst = sorted(troubled, key=lambda each: -STATUSES.index(each.cell.status))
    yield "heading", "Wrong, unfinished or partly checked"
    yield "table", tabulate("troubled", count(len(worst), "cell"), columns, worst, right=frozenset())


# ------------------------------------------------------------------ all implementations


def index(entries: Iterable[Entry], up: str = "") -> list[Block]:
    """Tables of all implementations by problem and place: what each is, how many cells it has, how many graphs it
    won."""
    entries = list(entries)
    groups = by_implementation(entries)
    placed: dict[tuple[str, str], list[str]] = {}
    for (problem, name), own in groups.items():
        placed.setdefault((problem, _place(own)), []).append(name)
    if not placed:
        return [("text", "There is no implementation.")]
    blocks: list[Block] = []
    for problem in PROBLEMS:
        here = [place for place in (*PLACES, PEERS) if (problem, place) in placed]
        blocks += [("heading", _capital(problem))] if here else []
        for place in here:
            named = {name: groups[problem, name] for name in sorted(placed[problem, place])}
            blocks += tables(_listed(problem, place, named, entries, up))
    blocks.append(("text", "Graphs won: where it is faster than every other of the same machine, graph, queries and "
                   "place by the time of its answers, with an interval below 1, and slower nowhere on that graph; of "
                   "those on which there is another. From edges: the same by the whole way."))  # fmt: skip
    return blocks


def _place(own: list[Entry]) -> str:
    """Peers, for whatever others made, or the largest place of its cells."""
    ours = all(each.cell.ours for each in own)
    return max((measures.place(each.cell) for each in own), key=PLACES.index) if ours else PEERS


def _listed(problem: str, place: str, groups: dict[str, list[Entry]], entries: list[Entry], up: str) -> Table:
    rows, lost, won = [], [], []
    for name, own in groups.items():
        found = rounds(name, problem, entries)
        ways = [graphs_won(found), graphs_won(found, whole=True)]
        won.append([f"{len(wins)} of {len(of)}" if of else BLANK for wins, of in ways])
        lost.append(Counter(entry.cell.status for entry in own if not entry.cell.sound))
        row = {"problem": problem, "place": place, "implementation": name, "cells": len(own)}
        for way, (wins, of) in zip(("", "_from_edges"), ways, strict=True):
            row |= {f"graphs_won{way}": len(wins), f"graphs_compared{way}": len(of)}
        rows.append(row)
    columns = [
        Column("implementation", lambda name: name, link=lambda name: to(up, groups[name][0].implementation_address)),
        Column("what it is", lambda name: _line(registered(name, problem))), Column("cells", "cells", grouped),
        Column("not sound", lambda name: _statuses(lost[list(groups).index(name)])),
        *(Column(header, lambda name, at=at: won[list(groups).index(name)][at])
          for at, header in enumerate(("graphs won", "from edges: won"))),
    ]  # fmt: skip
    name = f"implementations-{problem}-{place.lower().replace(' ', '-')}"
    table = of_rows(name, f"{_capital(problem)}, {place}", columns, rows, list(groups))
    return replace(table, right=table.right | {"graphs won", "from edges: won"})


def _statuses(found: Counter) -> str:
    """'3 wrong, 1 failed'."""
    return ", ".join(f"{found[status]} {status}" for status in STATUSES if found[status])


def _line(known: type | None) -> str:
    """What an implementation is in a line: the first sentence of its author, or two if that is short."""
    if known is None:
        return "not part of this installation"
    first, _, rest = _paragraph(known).partition(". ")
    if len(first) < _SHORT:
        first = f"{first}. {rest.partition('. ')[0]}" if rest else first
    return f"{first.rstrip('.')}." if first else getattr(known, "source", "")
