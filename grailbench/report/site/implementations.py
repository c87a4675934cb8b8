"""The pages of implementations: what each is, how it is run, where it wins and where it loses."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator
from statistics import median
from typing import NamedTuple

from grailbench.compare.ratios import EQUAL, span
from grailbench.graph import profile
from grailbench.graph.profile import Outline
from grailbench.harness import axes, plugins
from grailbench.harness.cells import NOT_FROM_EDGES
from grailbench.harness.rows import STATUSES
from grailbench.harness.statistics import PENALTY, geometric_mean
from grailbench.problems.contract import PROBLEMS, USUAL, registered
from grailbench.report.page.sections import Block
from grailbench.report.site import measures
from grailbench.report.site.entries import Entry, by_implementation
from grailbench.report.site.measures import PEERS, PLACES, Best, Machine, tables, to
from grailbench.report.site.rounds import LOSES, WINS, Duel, Round, graphs_lost, graphs_won, rounds
from grailbench.report.table import Footnotes, Table
from grailbench.util.visible import quoted
from grailbench.util.words import BLANK, count, grouped, listing, ratio, short

LEAST = 4  #: graphs won, and lost, from which on their features are compared
_SHORT = 30  # characters of a sentence that says hardly more than a name
CHANCE = 0.05  #: the most probable chance difference of all features together that is told
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
    return [*_about(name, problem, own), *_standing(found), *_compared(found, own, up), *_troubled(own, up)]


# ------------------------------------------------------------------ what it is


def _about(name: str, problem: str, own: list[Entry]) -> Iterator[Block]:
    yield "heading", "What it is"
    known = registered(name, problem)
    if known is None:
        yield "text", "This installation has no implementation of this name: the page is made from its rows alone."
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
    kinds = ", ".join(f"{statuses[status]} {status}" for status in STATUSES if statuses[status])
    yield "cells", f"{kinds}, on {count(len({cell.dataset for cell in cells}), 'graph')}"
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


def _standing(found: list[Round]) -> Iterator[Block]:
    """How often it wins and loses, in a line for each machine, place and query set; then in which graphs."""
    import pandas

    yield "heading", "Where it wins and where it loses"
    groups: dict[tuple[str, Machine, str], list[Round]] = {}
    for each in found:
        if each.verdict is not None:
            groups.setdefault((each.place, each.machine, each.asked), []).append(each)
    if not groups:
        yield "text", "There is no other on the same machine, graph and questions to compare it with."
        return
    lines, values, rows, notes = [], [], [], []
    for (place, at, asked), group in groups.items():
        won, lost = (sum(each.verdict == verdict for each in group) for verdict in (WINS, LOSES))
        first = geometric_mean(each.answering.ratio for each in group)
        edges = [each for each in group if each.whole.other and (each.whole.own or each.lost)]
        whole = geometric_mean(each.whole.ratio for each in edges)
        ways = [(each and each.value, each.measured + each.missing if each else 0) for each in (first, whole)]
        lines.append([place, at.title, asked, *map(grouped, (won, lost, len(group))),
                      *(text for mean, graphs in ways for text in (ratio(mean), grouped(graphs)))])  # fmt: skip
        values.append([None, None, None, won, lost, len(group), *(value for way in ways for value in way)])
        rows.append({"place": place, "machine": at.title, "queries": asked, "won": won, "lost": lost,
                     "graphs": len(group), "mean_ratio": ways[0][0], "mean_ratio_from_edges": ways[1][0],
                     "graphs_from_edges": ways[1][1]})  # fmt: skip
        if any(mean and mean.missing for mean in (first, whole)):
            notes = [f"A graph that only another finished counts as {PENALTY:g} in a mean, or as its worst ratio."]
    heads = ["won", "lost", "of graphs", "ratio", "over", "from edges: ratio", "from edges: over"]
    notes = [
        "Won: faster than every other; lost: slower than one. Ratio: its time over that of the best other, geometric "
        "mean over so many graphs; below 1 it is faster. From edges: the same by the whole way from edges in memory to "
        "all answers.", *notes,
    ]  # fmt: skip
    if not any(row["graphs_from_edges"] for row in rows):
        notes.append(f"From edges: {NOT_FROM_EDGES}.")
    yield from tables(Table("standing", "Against the best other, by place and machine",
                            ["place", "machine", "query set", *heads], lines, frozenset(heads), keys=3, notes=notes,
                            values=values, records=rows, data=pandas.DataFrame(rows)))  # fmt: skip
    yield from (("text", said) for said in features(found))


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
                f"the {len(sides[1])} that it lost (Mann-Whitney, p = {chance:.2g}); that names no cause."
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
        yield "text", f"{count(alone, 'graph')} or query sets have no other to compare it with, or no time of it."
    mixed = sorted({entry.source.name for entry in own if measures.machine(entry) is None})
    if mixed:
        yield "text", f"In no comparison, since measured on several machines: {listing(mixed, 6)}."


def _table(name: str, title: str, group: list[Round], up: str) -> Table:
    import pandas

    pairwise = measures.by_pair(next(side.cell for each in group for side in (each.answering.own, each.answering.other)
                                     if side is not None))  # fmt: skip
    unit = "ns a pair" if pairwise else "ms"
    heads = [unit, f"other: {unit}", "ratio", "ratio: 95 %", "from edges: ms", "other from edges: ms",
             "from edges: ratio", "from edges: 95 %"]  # fmt: skip
    ordered = sorted(group, key=lambda each: (each.answering.ratio is None, each.answering.ratio or 0, each.graph[0],
                                              each.asked))  # fmt: skip
    foot, lines, links, values, rows = Footnotes(), [], [], [], []
    for each in ordered:
        first, whole = each.answering, each.whole
        own, other = _side(first.own, up), _side(first.other, up)
        sides = _side(whole.own, up), _side(whole.other, up)
        lost = each.lost and each.lost.cell
        verdict = each.verdict if lost is None else foot.status(lost.status, lost.reason)
        at = to(up, (each.lost or first.own.entry).address)
        page_of = to(up, (first.own or first.other).entry.graph_address)
        cells: list[tuple[str, str | None, object]] = [
            (each.graph[0], page_of, None), (each.asked, None, None), (verdict, at, None),
            own.name, own.time, other.name, other.time,
            (ratio(first.ratio), at if first.ratio else None, first.ratio), _bounds(first, at),
            sides[0].name, sides[0].time, sides[1].name, sides[1].time,
            (ratio(whole.ratio), at if whole.ratio else None, whole.ratio), _bounds(whole, at),
        ]  # fmt: skip
        lines.append([text for text, _, _ in cells])
        links.append([link for _, link, _ in cells])
        values.append([value for *_, value in cells])
        rows.append(_record(each))
    headers = ["graph", "query set", "status", "configuration", unit, "best other", f"other: {unit}", "ratio",
               "ratio: 95 %", "from edges by", "from edges: ms", "other from edges by", "other from edges: ms",
               "from edges: ratio", "from edges: 95 %"]  # fmt: skip
    notes = [
        "Ratio: its median over that of the best other on the same machine, graph, queries and place, with a 95 % "
        f"interval; below 1 it is faster. Wins: the interval lies below 1; {EQUAL}: 1 is in it.",
        "From edges: the whole way from edges in memory to all answers of the query set, by the fastest of either side "
        "that way. Times that begin with the graph at hand leave out condensing and, on a GPU, the upload.",
        *foot.lines(),
    ]
    return Table(
        name, title, headers, lines, frozenset(heads), keys=2, notes=notes,
        values=values, links=links, records=rows, data=pandas.DataFrame(rows),
    )  # fmt: skip


class _Side(NamedTuple):
    """Text, link and sort key of the columns of one side: its configuration and its time."""

    name: tuple[str, str | None, object]
    time: tuple[str, str | None, object]


def _side(least: Best | None, up: str) -> _Side:
    if least is None:
        return _Side((BLANK, None, None), (BLANK, None, None))
    part = "" if least.cell.part is None else f" (first {least.cell.part:,} pairs)"
    name = least.cell.label + part, to(up, least.entry.implementation_address), None
    return _Side(name, (short(least.value), to(up, least.entry.address), least.value))


def _bounds(duel: Duel, link: str) -> tuple[str, str | None, object]:
    found = duel.interval
    return span(found, ratio), link if found else None, found and found.low


def _record(each: Round) -> dict:
    """The typed values of a line."""
    found = {"graph": each.graph[0], "sha256": each.graph[1], "queries": each.asked, "machine": each.machine.title,
             "place": each.place, "verdict": each.verdict, "status": each.lost and each.lost.cell.status}  # fmt: skip
    for key, duel in (("", each.answering), ("from_edges_", each.whole)):
        for side, least in (("own", duel.own), ("other", duel.other)):
            found |= {f"{key}{side}": least and least.cell.label, f"{key}{side}_time": least and least.value}
        bounds = duel.interval
        found |= {f"{key}ratio": duel.ratio, f"{key}low": bounds and bounds.low, f"{key}high": bounds and bounds.high}
    return found


def _troubled(own: list[Entry], up: str) -> Iterator[Block]:
    """Its cells that are wrong, have no times, or were checked by a sample alone."""
    troubled = [entry for entry in own if entry.cell.status != "ok"]
    if not troubled:
        return
    foot, lines, links = Footnotes(), [], []
    for entry in sorted(troubled, key=lambda each: -STATUSES.index(each.cell.status)):
        cell = entry.cell
        lines.append([cell.dataset, cell.label, measures.asked(cell), foot.status(cell.status, cell.reason),
                      entry.source.name])  # fmt: skip
        links.append([to(up, entry.graph_address), None, None, to(up, entry.address), to(up, entry.source.address)])
    yield "heading", "Not right, not finished, or checked in part"
    yield "table", Table("troubled", count(len(lines), "cell"),
                         ["graph", "configuration", "query set", "status", "run"], lines, notes=foot.lines(),
                         links=links)  # fmt: skip


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
    import pandas

    lines, links, values, rows = [], [], [], []
    for name, own in groups.items():
        found = rounds(name, problem, entries)
        won, compared = graphs_won(found)
        edges_won, edges = graphs_won(found, whole=True)
        known = registered(name, problem)
        bad = Counter(entry.cell.status for entry in own if not entry.cell.sound)
        lines.append([
            name, _line(known) if known is not None else "not part of this installation", f"{len(own):,}",
            ", ".join(f"{bad[status]} {status}" for status in STATUSES if bad[status]),
            f"{len(won)} of {len(compared)}" if compared else BLANK,
            f"{len(edges_won)} of {len(edges)}" if edges else BLANK,
        ])  # fmt: skip
        links.append([to(up, own[0].implementation_address), *[None] * 5])
        values.append([None, None, len(own), None, len(won), len(edges_won)])
        rows.append({"problem": problem, "place": place, "implementation": name, "cells": len(own),
                     "graphs_won": len(won), "graphs_compared": len(compared), "graphs_won_from_edges": len(edges_won),
                     "graphs_compared_from_edges": len(edges)})  # fmt: skip
    headers = ["implementation", "what it is", "cells", "not sound", "graphs won", "from edges: won"]
    return Table(
        f"implementations-{problem}-{PLACE_NAMES[place]}", f"{_capital(problem)}, {place}", headers, lines,
        frozenset({"cells", "graphs won", "from edges: won"}), values=values, links=links, records=rows,
        data=pandas.DataFrame(rows),
    )  # fmt: skip


PLACE_NAMES = {place: place.lower().replace(" ", "-") for place in (*PLACES, PEERS)}  #: in names of files


def _line(known: type) -> str:
    """What an implementation is in a line: the first sentence of its author, or two if that is short."""
    first, _, rest = _paragraph(known).partition(". ")
    if len(first) < _SHORT:
        first = f"{first}. {rest.partition('. ')[0]}" if rest else first
    return f"{first.rstrip('.')}." if first else getattr(known, "source", "")
