"""What the text of a paper claims of its results, judged by its own printed tables and by the cells of a run.

`results/published/claims-PAPER.toml` has the claims. No verdict is typed by hand: a claim is confirmed where its value
is within its bounds on every graph, or on the share of them that it is about.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from grailbench.harness.cells import Cell
from grailbench.harness.statistics import geometric_mean
from grailbench.problems.contract import USUAL
from grailbench.report import published
from grailbench.report.papers import Part, Place
from grailbench.report.papers.beside import mark_of, missing
from grailbench.report.papers.computation import of_paper
from grailbench.report.papers.thesis import build
from grailbench.report.table import Column, Table, tabulate
from grailbench.report.values import NO_CELL, Expression, Lines, Source
from grailbench.util.words import BLANK, MARK, count, listing, short, worst

UNKNOWN, UNSTABLE = "cannot be told", "unstable times"
_OF = {
    "thesis": "thesis",
    "computation": "text of Computation 2020",
    "slides": "slides",
    "report": "report on closures",
}


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    place      the section
    says       the claim in brief
    value      what is within the bounds: a sum of columns of the paper's `tables`, or a quotient of two; without tables
               an expression of cells (`report.values`)
    than       an expression whose value on the graph divides it
    problem    of the cells
    graphs     on which it is; () for all of the tables, or of the run
    base       graphs whose geometric mean divides the value
    share      of the graphs on which it has to be within the bounds
    cores      the least threads of a cell that judges it
    absolute   whether it is about times of the paper's machine, which other machines do not judge
    """

    place: str
    says: str
    value: str
    tables: tuple[str, ...] = ()
    than: str = ""
    problem: str = USUAL
    graphs: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    low: float = 0.0
    high: float = math.inf
    share: float = 1.0
    cores: int = 0
    absolute: bool = False

    def printed(self) -> dict[str, float | None]:
        """The value by graph in print; None where a part of it is an erratum or was not printed."""
        tables = [published.table(name) for name in self.tables]

        def cell(graph: str, column: str) -> float | None:
            found = next((each for each in tables if column in each.rows.get(graph, ())), None)
            return None if found is None or found.notes(graph, column) else found.number(graph, column)

        return self._values(cell, self.graphs or [graph for table in tables for graph in table.rows])

    def measured(
        self, cells: list[Cell], filled: Callable[[str], dict], marks: dict[str, str] | None = None
    ) -> dict[str, float | None]:
        """The same by graph as a run has it; None where a part of it was not measured.

        filled    gives the entries of the paper's table of that name by graph, as the cells fill it
        marks     gets the mark of the value of each graph that has times, those of `base` too
        """
        marks = {} if marks is None else marks
        if not self.tables:
            own = [cell for cell in cells if cell.problem == self.problem]
            source = Source(own, self._left_open(self._expressions[0], own), "mean")
            graphs = self.graphs or dict.fromkeys(cell.dataset for cell in source.cells if cell.kind == "real")

            def over(graph: str) -> float | None:
                values = [each.of(source, graph) for each in self._expressions]
                if None in values:
                    return None
                marks[graph] = worst(value.mark for value in values)
                return values[0].number / math.prod(value.number for value in values[1:])

            return self._over_base(over, graphs)
        rows = {name: filled(name) for name in self.tables}

        def cell(graph: str, column: str) -> float | None:
            there = ((name, own[graph][column]) for name, own in rows.items() if column in own.get(graph, ()))
            name, entry = next(there, ("", missing()))
            few = entry.cell is not None and (entry.cell.threads or self.cores) < self.cores
            if few:
                return None
            marks[graph] = worst((marks.get(graph, ""), mark_of(name, entry)))
            return entry.measured

        return self._values(cell, self.graphs or [graph for own in rows.values() for graph in own])

    @property
    def _expressions(self) -> list[Expression]:
        return [Expression.parse(text, {}) for text in (self.value, self.than) if text]

    def _left_open(self, expression: Expression, own: list[Cell]) -> Mapping[str, Any]:
        """What an expression leaves open: of other problems than reachability the queries, those of the first cells."""
        if self.problem == USUAL:
            return _LABELS if expression.of_phase("label") else _USUAL
        return {"queries": [*dict.fromkeys(cell.query_set for cell in own if cell.query_set)]}

    def lacking(self, cells: list[Cell], filled: Callable[[str], dict]) -> str:
        """What a run that measured no value of it lacks: graphs, columns of the tables, or cells."""
        if self.graphs and not any(cell.dataset in self.graphs for cell in cells):
            return f"nothing on {listing(self.graphs, 2)}"
        if not self.tables:
            own = [cell for cell in cells if cell.problem == self.problem]
            whys = [each.unmet(own) for each in self._expressions]
            return next((why for why in whys if why != NO_CELL), NO_CELL)
        columns = [column for part in self.value.split(" / ") for column in part.split(" + ")]
        there = [
            own for name in self.tables for graph, own in filled(name).items() if graph in (self.graphs or (graph,))
        ]
        lost = [column for column in columns if not any(own[column].measured for own in there if column in own)]
        if lost:
            return f"no {listing(lost)}"
        return f"no cell of {self.cores} threads" if self.cores else "not all of it on one graph"

    def _values(self, cell: Callable[[str, str], float | None], graphs) -> dict[str, float | None]:
        def one(graph: str) -> float | None:
            sums = [[cell(graph, column) for column in part.split(" + ")] for part in self.value.split(" / ")]
            if any(value is None for part in sums for value in part) or not all(map(sum, sums[1:])):
                return None
            return sum(sums[0]) / math.prod(map(sum, sums[1:]))

        return self._over_base(one, graphs)

    def _over_base(self, one: Callable[[str], float | None], graphs) -> dict[str, float | None]:
        base = [value for value in map(one, self.base) if value]
        if self.base and not base:
            return dict.fromkeys(graphs)
        over = geometric_mean(base).value if base else 1.0
        return {graph: value and value / over for graph, value in ((graph, one(graph)) for graph in graphs)}

    def verdict(self, found: Mapping[str, float | None]) -> str:
        """'confirmed', 'not confirmed', or that it cannot be told and what lacks."""
        values = {graph: value for graph, value in found.items() if value is not None}
        lacking = len(found) - len(values)
        if not values:
            return UNKNOWN
        inside = sum(self.low <= value <= self.high for value in values.values()) / len(values)
        on = f" ({len(values)} of {count(len(found), 'graph')})" if lacking else ""
        return ("confirmed" if inside >= self.share else "not confirmed") + on


#: of reachability: the papers' queries, searches and labels, on a device whose memory is not limited
_USUAL = {"queries": "random-100000", "filters": "none", "order": ["random", "lexicographic"], "search": "dfs",
          "trees": "each", "memory": "0"}  # fmt: skip
#: and of times of labels, which do not depend on the queries
_LABELS = _USUAL | {"queries": ["random-100000", "random-1000"]}


@cache
def claims(paper: str) -> tuple[Claim, ...]:
    """The claims of a paper, in the order of its text."""
    found = published.claims_file(paper)["claim"]
    return tuple(Claim(**{key: tuple(v) if isinstance(v, list) else v for key, v in each.items()}) for each in found)


def table(paper: str, cells: list[Cell]) -> Table:
    """The table of a paper's claims: the verdict of its own tables, and that of the cells. Where the cells judge less
    than a third of them, it shows those alone; the records have all."""
    filled = cache(lambda name: {row.dataset: row.entries for row in build(name, cells).rows})
    found = []
    for claim in claims(paper):
        marks: dict[str, str] = {}
        here = claim.measured(cells, filled, marks)
        record = _record(claim, claim.printed(), here)
        judging = {*claim.base, *(graph for graph, value in here.items() if value is not None)}
        judges = record["measured_verdict"] != UNKNOWN and not claim.absolute
        mark = worst(marks.get(graph, "") for graph in judging if judges)
        record["measured_unstable"] = mark == MARK
        unknown = record["measured_verdict"] == UNKNOWN and not claim.absolute
        found.append((claim, record | {"measured_lacks": claim.lacking(cells, filled) if unknown else None}, mark))

    def span(record: dict, side: str) -> str:
        ends = [record[f"{side}_{end}"] for end in ("least", "most")]
        return BLANK if None in ends else " to ".join(dict.fromkeys(map(short, ends)))

    def bounds(claim: Claim) -> str:
        ends = (f"{claim.low:g}" if claim.low else "", f"{claim.high:g}" if claim.high < math.inf else "")
        text = " to ".join(ends) if all(ends) else f"at least {ends[0]}" if ends[0] else f"at most {ends[1]}"
        return text + (f", on {claim.share:.0%}" if claim.share < 1 else "")

    def by_run(claim: Claim, record: dict) -> str:
        lacks = f": {record['measured_lacks']}" if record["measured_lacks"] else ""
        return "of another machine" if claim.absolute else record["measured_verdict"] + lacks

    columns = [
        Column("place", lambda each: each[0].place, key=True),
        Column("claim", lambda each: each[0].says, key=True),
        Column("bounds", lambda each: bounds(each[0])),
        Column("print", lambda each: span(each[1], "printed"), usual=(BLANK,)),
        Column("by print", lambda each: each[1]["printed_verdict"] if each[0].tables else "not printed",
               usual=("not printed",)),
        Column("here", lambda each: span(each[1], "measured"), mark=lambda each: each[2]),
        Column("by this run", lambda each: by_run(*each[:2]), mark=lambda each: each[2]),
    ]  # fmt: skip
    notes = [
        "Values from least to most over the graphs; errata of print are left out. Times of another machine judge no "
        "claim on milliseconds."
    ]
    records = [record for _, record, _ in found]
    judged = [each for each in found if each[1]["measured_verdict"] != UNKNOWN]
    if 3 * len(judged) < len(found):
        notes.append(f"This run cannot tell of {len(found) - len(judged)} more claims.")
        found = judged
    return tabulate(f"claims-{paper}", f"Claims of the {_OF[paper]}", columns, found, notes=notes, records=records,
                    file=f"claims-{paper}", words=[column.header for column in columns])  # fmt: skip


def tally(found: Mapping[str, Table]) -> Lines:
    """How many claims of a paper are confirmed and how many are not: by its own tables, then by each run, whose table
    of claims stands under its name. Who judges none is left out. What unstable times judge is neither."""
    kinds, first = ("confirmed", "not confirmed", UNSTABLE, UNKNOWN), next(iter(found.values()))

    def kind(record: dict, side: str) -> str:
        shaky = side == "measured_verdict" and record["measured_unstable"]
        return UNSTABLE if shaky else next(each for each in kinds if record[side].startswith(each))

    sides = [("the paper's own tables", first, "printed_verdict")]
    sides += [(name, each, "measured_verdict") for name, each in found.items()]
    values = [
        [name, *(sum(kind(record, side) == each for record in own.records) for each in kinds), len(own.records)]
        for name, own, side in sides
    ]
    values = [line for line in values if any(line[1:4])]
    return Lines(["judged by", *kinds, "claims"], values, [[*map(str, line)] for line in values])


def _record(claim: Claim, printed: Mapping, here: Mapping) -> dict[str, Any]:
    record = {"place": claim.place, "claim": claim.says, "value": claim.value, "low": claim.low,
              "high": None if claim.high == math.inf else claim.high, "share": claim.share}  # fmt: skip
    for side, values in (("printed", printed if claim.tables else {}), ("measured", {} if claim.absolute else here)):
        ends = [value for value in values.values() if value is not None]
        record |= {f"{side}_least": min(ends, default=None), f"{side}_most": max(ends, default=None),
                   f"{side}_verdict": claim.verdict(values)}  # fmt: skip
    return record


def _of_thesis(report) -> Iterator[Table]:
    """The claims, if the run has pure DFS, the thesis's pipeline or its threads on a graph of its tables."""
    graphs = {graph for claim in claims("thesis") for name in claim.tables for graph in published.table(name).rows}
    found = [cell for cell in report.cells if cell.kind == "real" and cell.dataset in graphs]
    many = published.PRINTED_THREADS
    if any(cell.impl in ("dfs", "gpu") or (cell.impl == "parallel" and cell.threads == many) for cell in found):
        yield table("thesis", report.cells)


def _of_problems(paper: str, problems: tuple[str, ...], report) -> Iterator[Table]:
    """The claims that the run can judge, if it can judge some."""
    found = table(paper, [cell for cell in report.run.cells if cell.problem in problems])
    if any(each["measured_verdict"] != UNKNOWN for each in found.records):
        yield found


def _of_pipeline(report) -> Iterator[Table]:
    """The claims, if the run repeats the experiments of Computation 2020."""
    if of_paper(report.cells):
        yield table("computation", report.cells)


PARTS = (
    Part("claims-thesis", _of_thesis, place=Place.CLAIMS),
    Part("claims-computation", _of_pipeline, place=Place.CLAIMS),
    Part("claims-slides", partial(_of_problems, "slides", ("bfs", "sssp", "apsp")), ("bfs", "sssp", "apsp")),
    Part("claims-report", partial(_of_problems, "report", ("closure",)), ("closure",)),
)
