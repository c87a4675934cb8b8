"""Computation 2020 from a run: the cells that belong in its figures 4 to 7, and its claims beside our results.

The paper has two sets of graphs: the benchmark (table 1) and the home-made DAGs (table 2). Its home-made DAGs were
never published, so ours are generated with the printed numbers of vertices and edges. Look-alikes replace benchmark
graphs that cannot be downloaded. All of these are marked as generated, and no average mixes them with real graphs.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from grailbench.compare.measures import grouped
from grailbench.compare.stability import mark
from grailbench.harness import statistics
from grailbench.harness.cells import NOT_FROM_EDGES, Cell, together
from grailbench.report import published
from grailbench.report.papers import Part, Place
from grailbench.report.papers.feeds import LIKE, Series
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import BLANK, MARK, count

TITLE = "Claims of Computation 2020"
PAPER = "gpu-path"  #: the implementation of the paper's pipeline
REFERENCE, AUTHORS = "sequential", "program:grail"  #: one core: ours, and GRAIL of its authors, which the paper ran
SETS = {"benchmark": "computation-1", "home-made": "computation-2"}
#: phases at the top of a trial that do not count as transfer or allocation of the labeling
_NOT_APART = ("query", "ready", "label")


@cache
def place(dataset: str) -> tuple[str, int] | None:
    """The set of a graph (or of the graph that it looks like) and its row in the paper's table; None if it is in
    neither table."""
    base = dataset.removesuffix(LIKE)
    for name, table in SETS.items():
        rows = list(published.table(table).rows)
        if base in rows:
            return name, rows.index(base)
    return None


def of_paper(cells: Iterable[Cell]) -> bool:
    """True for a run that repeats the paper's experiments: its pipeline or one of its home-made DAGs has a cell."""
    return any(
        (found := place(cell.dataset)) is not None and (cell.impl == PAPER or found[0] == "home-made") for cell in cells
    )


@dataclass(frozen=True)
class Point:
    """A cell of the evaluation: a configuration (`series`) with d label pairs on a graph of the paper.

    Times are means in ms, None where the cell has no sound time.
    """

    set: str
    dataset: str
    series: Series
    d: int
    cell: Cell

    def mean(self, phase: str) -> float | None:
        """The mean of `label` (without transfer and allocation), of `ready` (from edges), or of the batch (`query`)."""
        stats = self.cell.stats(phase) if self.cell.sound else None
        return None if stats is None else stats.mean

    @property
    def labeling_ms(self) -> float | None:
        """The mean of labeling with transfer and allocation."""
        label = self.mean("label")
        return None if label is None else label + sum(self.beside.values())

    @property
    def beside(self) -> dict[str, float]:
        """The phases that are timed separately from `label`, such as transfer and allocation, by name; of a program
        none, as what is timed beside it is the harness's."""
        phases = self.cell.phases.items() if self.cell.sound and self.cell.impl != AUTHORS else ()
        return {name: s.mean for (under, name), s in phases if not under and name not in _NOT_APART}

    @property
    def steps(self) -> dict[str, float]:
        """The phases within `label` by name, and the `rest` of its time if that is over 0.1 %."""
        label = self.mean("label")
        if label is None:
            return {}
        found = {name: s.mean for (under, name), s in self.cell.phases.items() if under == "label"}
        rest = label - sum(found.values())
        return {**found, "rest": rest} if found and rest > 0.001 * label else found


def points(cells: Iterable[Cell]) -> list[Point]:
    """The cells that belong in the paper's figures, ordered by set, graph, series and d: our GRAIL implementations and
    that of its authors on random queries, depth-first where the search order can be chosen."""
    found = []
    for cell in cells:
        where = place(cell.dataset)
        ours = cell.impl.startswith("gpu") or cell.impl in (REFERENCE, AUTHORS, "parallel")
        if where and ours and cell.dim and cell.random and cell.search in (None, "dfs"):
            point = Point(where[0], cell.dataset, Series.of(cell, searching=False), cell.dim, cell)
            found.append(((list(SETS).index(where[0]), where[1], cell.dataset), point))
    order = {series: i for i, series in enumerate(series_of(point for _, point in found))}
    found.sort(key=lambda each: (*each[0], order[each[1].series], each[1].d, each[1].cell.seed or 0))
    return [point for _, point in found]


def chosen(found: Iterable[Point]) -> list[Point]:
    """One point per graph, series and d, for values that do not depend on the queries: a sound one if there is one,
    with random child order, with the largest batch."""
    graphs = grouped((point.cell for point in found), lambda cell: cell.dataset)
    best: dict[tuple, Point] = {}
    for point in points(cell for own in graphs.values() for cell in together(own)):
        key = (point.dataset, point.series, point.d)
        best[key] = max(best.get(key, point), point, key=lambda each: (
            each.cell.sound, each.cell.order in (None, "random"), each.cell.batch or 0))  # fmt: skip
    return list(best.values())


def series_of(found: Iterable[Point]) -> list[Series]:
    """The series of some points, each once: one core, parallel, the paper's pipeline, then the others."""
    first = {impl: place for place, impl in enumerate((REFERENCE, AUTHORS, "parallel", PAPER))}
    return sorted({point.series for point in found}, key=lambda s: (first.get(s.impl, len(first)), *s.rank))


# ------------------------------------------------------------------ claims


class Claim(NamedTuple):
    """A claim of the paper on the ratio of its GPU version to one core, GRAIL of its authors.

    what   'labeling' or 'query': the core's time / GPU time; 'memory': GPU peak / the core's peak
    bound  the least ratio that meets the claim; for 'memory' the largest
    """

    what: str
    set: str
    printed: str
    bound: float


@cache
def ratios() -> tuple[Claim, ...]:
    """The claims on ratios, of `results/published/claims-computation.toml`."""
    return tuple(Claim(**each) for each in published.claims_file("computation")["ratio"])


FEWER = "other batches of queries"
WHOLE = "from edges"
#: the ways to read a claim on labeling, query or memory: name to the ms or bytes of a point
_READINGS: dict[str, dict[str, Callable[[Point], float | None]]] = {
    "labeling": {
        "with transfer and allocation": lambda p: p.labeling_ms,
        "device resident": lambda p: p.mean("label"),
        WHOLE: lambda p: p.mean("ready"),
    },
    "query": dict.fromkeys((f"{published.PRINTED_QUERIES:,} queries", FEWER), lambda p: p.mean("query")),
    "memory": {
        "device peak": lambda p: p.cell.device_peak_bytes if p.cell.sound else None,
        "host and device peaks": lambda p: (p.cell.host_peak_bytes + p.cell.device_peak_bytes if p.cell.sound
                                            and None not in (p.cell.host_peak_bytes, p.cell.device_peak_bytes)
                                            else None),
    },
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    """A claim beside our result for one series and one reading, on real or on generated graphs, over `reference`.

    ours       geometric mean of the ratio over graphs and d; None when nothing can be compared
    kind       of its graphs: 'real' or 'generated'
    graphs     the number of graphs in the mean
    cells      the number of ratios in the mean, lost ones included
    lost       the number of cells in which only the reference succeeded; `runs.statistics.geometric_mean` documents how
               they count
    unmatched  the number of cells in which only the GPU succeeded, or that the reference did not run; in no mean
    sampled    the number of ratios of which a time was sampled
    mark       that of their cells (`stability.mark`)
    """

    claim: Claim
    reference: str
    series: str
    reading: str
    kind: str
    ours: float | None
    graphs: int
    cells: int
    lost: int
    unmatched: int
    sampled: int = 0
    mark: str = ""

    @property
    def verdict(self) -> str:
        """'confirmed', 'not confirmed' or 'not measured'."""
        if self.ours is None:
            return "not measured"
        met = self.ours <= self.claim.bound if self.claim.what == "memory" else self.ours >= self.claim.bound
        return "confirmed" if met else "not confirmed"

    def record(self) -> dict:
        """The check as plain values."""
        return {
            "claim": self.claim.what, "set": self.claim.set, "printed": self.claim.printed, "series": self.series,
            "reference": self.reference, "reading": self.reading, "graphs": self.kind, "ours": self.ours,
            "graph_count": self.graphs, "cells": self.cells, "lost": self.lost, "unmatched": self.unmatched,
            "sampled": self.sampled, "unstable": self.mark == MARK, "verdict": self.verdict,
        }  # fmt: skip

    @property
    def over(self) -> str:
        """What the mean is of: '4 graphs, 12 cells, 1 lost'."""
        parts = [count(self.graphs, "graph"), count(self.cells, "cell"), *([f"{self.lost} lost"] if self.lost else [])]
        parts += [f"{self.sampled} sampled"] if self.sampled else []
        return ", ".join(parts) + (f"; {self.unmatched} unmatched" if self.unmatched else "")


def checks(cells: Iterable[Cell]) -> list[Check]:
    """The paper's claims beside our results, for each GPU series of a run; empty if the run does not repeat the
    paper's experiments."""
    cells = list(cells)
    if not of_paper(cells):
        return []
    found, out = points(cells), []
    references = [impl for impl in (REFERENCE, AUTHORS) if impl == REFERENCE or any(c.impl == impl for c in cells)]
    for claim, reference in product(ratios(), references):
        own = [p for p in (found if claim.what == "query" else chosen(found)) if p.set == claim.set]
        gpu = [series for series in series_of(own) if series.impl.startswith("gpu")]
        for series, generated, reading in product(gpu, (False, True), _READINGS[claim.what]):
            # readings of queries are of a batch of print's size or of others, readings of all else of any batch
            group = [p for p in own if p.cell.generated == generated and (claim.what != "query" or (
                (p.cell.batch == published.PRINTED_QUERIES) == (reading != FEWER)))]  # fmt: skip
            if any(p.series == series for p in group):
                out.append(_check(claim, reference, series, generated, group, reading))
    return out


def _check(claim: Claim, reference: str, series: Series, generated: bool, group: list[Point], reading: str) -> Check:
    """The check of one series, which has a cell in the group."""
    value, memory = _READINGS[claim.what][reading], claim.what == "memory"

    def key(point: Point) -> tuple:
        order = point.cell.order or "random"  # a pipeline without child orders is compared with the usual one
        return point.dataset, point.d, order, point.cell.query_set if claim.what == "query" else None

    base = {key(p): p for p in group if p.series == Series(reference)}
    slowdowns: list[float | None] = []  # GPU / reference
    graphs, unmatched, sampled, timed = set(), 0, 0, []
    for point in (p for p in group if p.series == series):
        other, ours = base.get(key(point)), value(point)
        theirs = None
        if other is not None:
            theirs = other.cell.host_peak_bytes if memory and other.cell.sound else None if memory else value(other)
        if not theirs:
            unmatched += ours is not None
        elif ours or not point.cell.sound:
            graphs.add(point.dataset)
            slowdowns.append(ours / theirs if ours else None)
            sampled += not memory and "sampled" in (point.cell.status, other.cell.status)
            timed += [] if memory else [point.cell, other.cell]
    mean = statistics.geometric_mean(slowdowns)
    ratio = None if mean is None else mean.value if memory else 1 / mean.value
    lost = slowdowns.count(None)
    kind = "generated" if generated else "real"
    return Check(claim, reference, series.name, reading, kind, ratio, len(graphs), len(slowdowns), lost, unmatched,
                 sampled, mark(*timed))  # fmt: skip


def claims_table(found: list[Check]) -> Table:
    """The table of claims, with a line, a record and a row of the CSV for each check."""
    columns = [
        Column("Claim", lambda each: f"{each.claim.what}, {each.claim.set}", key=True),
        Column("of", lambda each: each.reading),
        Column("implementation", lambda each: each.series),
        Column("over", lambda each: each.reference),
        Column("graphs", lambda each: each.kind),
        Column("theirs", lambda each: f"{each.claim.printed}×"),
        Column("ours", lambda each: each.ours, lambda ours: f"{ours:.2f}×" if ours >= 0.1 else f"{ours:.3f}×",
               none=BLANK, mark=lambda each: each.mark),
        Column("of how many", lambda each: each.over),
        Column("verdict", lambda each: each.verdict, mark=lambda each: each.mark),
    ]  # fmt: skip
    notes = [
        f"Theirs: {published.COMPUTATION}, section 6; {published.PRINTED_MACHINE} and a GTX 980. Ours: geometric means "
        "over graphs and d, GPU and one core on the machine of this run: `sequential` without filters, or GRAIL of its "
        "authors (`program:grail`), which the paper ran; its time from edges is not measured. Labeling and query: "
        "one core / GPU; with transfer and allocation all excluded phases count, gpu-fused's renumbering on the "
        "host too; from edges all from the file's edges in memory to an index does, condensing on either side. Memory: "
        "the GPU's peak / the resident peak of the core's process, of ours with interpreter and libraries.",
        f"A lost cell, which only one core managed, counts as {1 / statistics.PENALTY:.2g}× or as the worst; "
        "unmatched ones, which it did not manage or run, are in no mean.",
    ]
    whole = [each for each in found if each.reading == WHOLE]
    notes += [f"From edges: {NOT_FROM_EDGES}."] if whole and not any(each.ours for each in whole) else []
    records = [each.record() for each in found]
    measured = [each for each in found if each.ours is not None] or found
    notes += [f"Not measured: {count(rest, 'more reading')}."] if (rest := len(found) - len(measured)) else []
    return tabulate("claims", TITLE, columns, measured, notes=notes, records=records, file="claims",
                    right=frozenset({"theirs", "ours"}))  # fmt: skip


PARTS = (Part("claims", lambda report: map(claims_table, filter(None, [checks(report.cells)])), place=Place.CLAIMS,
              title=TITLE, figures="computation-"),)  # fmt: skip
