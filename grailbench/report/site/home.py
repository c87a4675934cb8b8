"""The first page of a site: a sentence a class, one picture, and who wins on each graph.

A class is a set of graphs, those of print or the set hard, on one core, on many cores or on a GPU. Its answers to
random pairs are compared on the machine that measured most implementations on its graphs with stable times; the best
configuration of an implementation stands for it. Who is faster is said by `compare.ratios` alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from markupsafe import Markup

from grailbench.compare import ratios
from grailbench.compare.measures import ANSWERS, NS, PLACES, Best, best, grouped, median, place, questions
from grailbench.compare.ratios import Ratio
from grailbench.compare.stability import UNKNOWN, mark
from grailbench.data.registry import registry
from grailbench.graph.generate import catalogue
from grailbench.problems.contract import USUAL
from grailbench.report.page import asset
from grailbench.report.render.html import templates
from grailbench.report.site.board import embedded, natural
from grailbench.report.site.entries import Entry, Machine, first_named
from grailbench.util.visible import visible
from grailbench.util.words import FEW, MARK, count, short

PUBLISHED, HARD = KINDS = ("Published graphs", "Hard graphs")
NAMED = 2  #: winners that a sentence names
LEAST = 3  #: implementations of a picture, at least


class Line(NamedTuple):
    """A graph of a class: how many implementations were measured on it, the best entry of the winner and of the
    runner-up, and the ratio of their times."""

    graph: str
    field: int
    winner: Best
    second: Best
    ratio: Ratio

    @property
    def stable(self) -> bool:
        """True if nothing speaks against the times."""
        return self.ratio.mark != MARK


class Class(NamedTuple):
    """A set of graphs on one kind of place: the machine, and its lines; none where nothing was compared."""

    kind: str
    place: str
    machine: Machine | None
    lines: list[Line]

    @property
    def title(self) -> str:
        return f"{self.kind}, {self.place}"

    @property
    def sentence(self) -> str:
        """'core is the fastest of 38 implementations on 12 of 17 graphs, pll on 1; about equal on 2; no verdict on 2 of
        17.'"""
        if not self.lines:
            return "nothing to compare was measured."
        field = max(line.field for line in self.lines)
        won = Counter(line.winner.cell.impl for line in self.lines if line.ratio.order > 0)
        others = Counter(line.ratio.equal for line in self.lines if line.ratio.order <= 0)
        of = f" of {count(field, 'implementation')} on"
        names = [f"{name} is the fastest{of} {n} of {count(len(self.lines), 'graph')}" if not at else f"{name} on {n}"
                 for at, (name, n) in enumerate(won.most_common(NAMED))]  # fmt: skip
        rest = sum(won.values()) - sum(n for _, n in won.most_common(NAMED))
        parts = [", ".join([*names, *[f"{count(len(won) - NAMED, 'other')} on {rest}"] * (rest > 0)])] if won else []
        parts += [f"about equal on {others[ratios.EQUAL]}"] if others[ratios.EQUAL] else []
        unclear = others[ratios.UNCLEAR]
        shaky = sum(line.ratio.unstable for line in self.lines)
        why = "unstable times" if shaky == unclear else "unstable times or too few trials"
        parts += [f"no verdict on {unclear} of {len(self.lines)}, {why}"] if unclear else []
        return f"{'; '.join(parts)}."


def kind_of(graph: str) -> str | None:
    """The set of graphs of a class that a graph is of."""
    known = registry().get(graph)
    if known is not None:
        return PUBLISHED if known.published else None
    return HARD if graph in catalogue.sets()["hard"].names else None


def classes(entries: Iterable[Entry]) -> list[Class]:
    """The classes of a site, in the order in which they are shown."""
    usual = [each for each in entries if each.cell.problem == USUAL and each.cell.random and each.source.machine
             and ANSWERS.value(each.cell) is not None and kind_of(each.cell.dataset)]  # fmt: skip
    groups = grouped(usual, lambda each: (kind_of(each.cell.dataset), place(each.cell)))
    found = []
    for kind in KINDS:
        for where in PLACES:
            on = grouped(groups.get((kind, where), []), lambda each: each.source.machine)
            made = [Class(kind, where, machine, list(_lines(own))) for machine, own in on.items()]
            most = max(made, key=_telling, default=None)
            found.append(most if most and most.lines else Class(kind, where, None, []))
    return found


def _telling(each: Class) -> tuple[int, int, str]:
    """The order of machines: by the implementations on their graphs, those of graphs with stable times first."""
    stable = sum(line.field for line in each.lines if line.stable)
    return stable, sum(line.field for line in each.lines), each.machine.title if each.machine else ""


def _lines(own: list[Entry]) -> Iterator[Line]:
    """A line of each graph that two implementations or more were measured on, with the same questions."""
    for graph, there in sorted(grouped(own, lambda each: each.cell.dataset).items(), key=lambda each: natural(each[0])):
        asked = grouped(there, lambda each: questions(each.cell))
        same = max(asked.values(), key=lambda each: len({entry.cell.impl for entry in each}))
        bests = [best(its, ANSWERS, first_named) for its in grouped(same, lambda each: each.cell.impl).values()]
        first, second, *_ = [*sorted(filter(None, bests), key=lambda each: each.value), None, None]
        if first and second:
            one_run = first.item.source is second.item.source
            ratio = ratios.of_cells([(second.cell, first.cell)], ANSWERS, one_run)
            if ratio is not None:
                yield Line(graph, len(bests), first, second, ratio)


def block(entries: list[Entry]) -> Markup:
    """The first page of a site, for a page whose script and style are those of this module."""
    found = classes(entries)
    tables = [{"title": each.title, "machine": each.machine.title, "lines": [_cells(line) for line in each.lines],
               "open": at == 0} for at, each in enumerate(each for each in found if each.lines)]  # fmt: skip
    data = Markup(embedded(points(entries)))  # noqa: S704 - JSON without a '<'
    said = [(each.title, each.sentence, each.machine.title if each.machine else "") for each in found]
    template = templates().get_template("site/home.html")
    return Markup(template.render(said=said, tables=tables, data=data))  # noqa: S704 - an autoescaped template


def _cells(line: Line) -> dict[str, Any]:
    """The six columns of a line, with addresses."""
    time = ANSWERS.stats(line.winner.cell)
    span = f" ({short(time.median_low)} to {short(time.median_high)})" if time.trials > 1 else ""
    its = mark(line.winner.cell, phases=ANSWERS.phases)
    ratio = f"{line.ratio}× as long" if line.ratio.order > 0 else line.ratio.equal
    return {
        "graph": line.graph, "page": line.winner.item.graph_address, "winner": line.winner.cell.label,
        "rows": line.winner.item.address, "time": f"{short(line.winner.value)} ns{span}{its}",
        "second": line.second.cell.label, "second_rows": line.second.item.address, "ratio": ratio,
        "clear": line.ratio.order > 0, "stable": {"": "yes", FEW: UNKNOWN, MARK: "no"}[line.ratio.mark],
    }  # fmt: skip


# ------------------------------------------------------------------ the picture


def points(entries: Iterable[Entry]) -> dict[str, Any]:
    """The data of the picture: names of implementations, and for each graph on a machine a list of marks, the best
    configuration of an implementation at a place: its index and that of the place, queries a second, ms of the build
    from edges or of the labels, bytes of the index, the mark of its times, and where its rows are."""
    groups = grouped(
        (each for each in entries if each.cell.problem == USUAL and each.cell.random and each.source.machine
         and ANSWERS.value(each.cell)),
        lambda each: (each.source.machine, each.cell.dataset, questions(each.cell)),
    )  # fmt: skip
    names: dict[str, int] = {}
    shown: dict[tuple[Machine, str], dict[str, Any]] = {}
    for (machine, graph, _), own in groups.items():
        kinds = grouped(own, lambda each: (each.cell.impl, place(each.cell)))
        marks = []
        for (impl, where), its in kinds.items():
            fastest = best(its, ANSWERS, first_named)
            cell = fastest.cell
            ready = median(cell, "ready") or median(cell, "label")
            rate, its = float(f"{NS * 1e3 / fastest.value:.4g}"), mark(cell, phases=ANSWERS.phases)
            name, built = names.setdefault(visible(impl), len(names)), ready and float(f"{ready:.4g}")
            marks.append([name, PLACES.index(where), rate, built, cell.index_bytes, its, fastest.item.address])
        if len(marks) >= LEAST and len(marks) > len(shown.get((machine, graph), {}).get("marks", ())):
            title = f"{visible(graph)} ({visible(machine.title)})"
            shown[machine, graph] = {"title": title, "marks": marks, "hard": kind_of(graph) == HARD}
    groups_ = sorted(shown.values(), key=lambda each: natural(each["title"]))
    usual = max(range(len(groups_)), key=lambda at: (groups_[at]["hard"], len(groups_[at]["marks"])), default=0)
    return {"names": list(names), "places": list(PLACES), "groups": groups_, "usual": usual}


def scripts() -> list[str]:
    """The JavaScript of the page: uPlot, and what draws the picture with it."""
    return [asset("site/vendor/uPlot.iife.min.js"), asset("site/home.js")]


def styles() -> list[str]:
    return [asset("site/vendor/uPlot.min.css"), asset("site/home.css")]
