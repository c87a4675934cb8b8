"""Runs of `--problem bfs`, `sssp` and `apsp`: the table of all cells, and how often racy implementations are wrong.

Times are medians over a cell's trials for one search (`solve` divided by the number of sources; for `apsp` the whole
matrix). They are host times of searches on a graph that is on the device already, whose results stay there. Beside them
is the time from edges (`ready`) where it was timed: all searches of a trial, with the copies of their results.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import pandas

from grailbench.compare.stability import Verdict
from grailbench.harness.cells import NOT_FROM_EDGES, Cell
from grailbench.harness.statistics import Stats
from grailbench.report import measured
from grailbench.report.papers import Part, Place
from grailbench.report.table import Column, Table, tabulate
from grailbench.util.words import BLANK, ms, short, size, worst

PROBLEM = "traversal"
PROBLEMS = ("bfs", "sssp", "apsp")
#: implementations in the order of tables: those on the CPU, those of the slides of Pathak et al., ours
ORDER = (
    "sequential", "many", "dijkstra", "buckets",
    "level", "queue", "scan",
    "harish-racy", "harish-atomic", *(f"coarsened-{factor}" for factor in (1, 2, 4, 8, 16)),
    "sssp-each", "floyd-warshall", "floyd-warshall-blocked",
    "enterprise", "fused", "fused-many", "near-far", "floyd-warshall-registers",
)  # fmt: skip
_STEPS = ("levels", "rounds")  #: counters of the consecutive steps of the searches
_BESIDE = ("prepare", "transfer", "ready")  #: phases other than the searches
_COLUMNS = ("problem", "dataset", "vertices", "edges", "impl", "status", "reason", "trials", "searches", "wrong",
            "prepare", "ms", "least", "most", "transfer", "ready", "rate", "steps", "launches",
            "stability", "unstable_by")  # fmt: skip
#: sizes, and the 95 % bootstrap bounds of the medians `ms` and `rate`
MORE = ("sizes", "mark", "low", "high", "rate_low", "rate_high")


def cells(found: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> pandas.DataFrame:
    """A line per cell: `_COLUMNS` and `MORE`.

    searches  the number of searches timed in a trial; for a wrong cell the number checked, of which `wrong` were wrong
    ms        of one search, as all times except `ready`, which is the time of all searches
    rate      edges a second
    steps     levels or rounds of a search
    stability, unstable_by  of the verdicts on cells, by key (`measured.stability_columns`)

    If a run has a graph with several sets of sources, `dataset` names the set too ('kegg, random-64-s1'); with several
    seeds, and therefore weights, it names the seed ('kegg, seed 2').
    """
    own = [cell for cell in found if cell.problem in PROBLEMS]
    sets = Counter(key[:2] for key in {(c.problem, c.dataset, c.query_set) for c in own})
    seeds = Counter(key[:3] for key in {(c.problem, c.dataset, c.query_set, c.seed) for c in own})
    lines = []
    for cell in own:
        dataset = cell.dataset
        if sets[cell.problem, cell.dataset] > 1:
            dataset = f"{dataset}, {cell.query_set}"
        if seeds[cell.problem, cell.dataset, cell.query_set] > 1:
            dataset = f"{dataset}, seed {cell.seed}"
        lines.append({"dataset": dataset, **_line(cell), **measured.stability_columns((verdicts or {}).get(cell.key))})
    found = pandas.DataFrame(lines, columns=[*_COLUMNS, *MORE])
    graphs = list(dict.fromkeys(found.dataset))
    found["_at"] = [(PROBLEMS.index(r.problem), graphs.index(r.dataset), *rank(r.impl)) for r in found.itertuples()]
    return found.sort_values("_at").drop(columns="_at").reset_index(drop=True)


def _line(cell: Cell) -> dict:
    """The values of a cell's line by column; of a cell that is not sound, without times."""
    counters, searches = cell.counters or {}, 1 if cell.problem == "apsp" else cell.queries
    line = {
        "problem": cell.problem, "vertices": cell.vertices, "edges": cell.edges, "impl": cell.impl,
        "status": cell.status, "reason": cell.reason, "searches": counters.get("searches", searches),
        "wrong": counters.get("wrong_searches"), "sizes": measured.sizes(cell),
    }  # fmt: skip
    solved, searches = cell.times.get(("", "solve")), searches or 1
    if not cell.sound or not solved:
        return line
    each = Stats.of([ms / searches for ms in solved.values()])
    line |= {phase: measured.median(cell, phase) for phase in _BESIDE}
    line |= {"steps": next((counters[name] for name in _STEPS if name in counters), None),
             "launches": counters.get("launches")}  # fmt: skip
    line |= {name: line[name] / searches for name in ("transfer", "steps", "launches") if line[name] is not None}
    line |= {"trials": each.trials, "ms": each.median, "least": each.least, "most": each.most, "low": each.median_low,
             "high": each.median_high}  # fmt: skip
    if cell.rates:
        rates = Stats.of(list(cell.rates.values()))
        line |= {"rate": rates.median, "rate_low": rates.median_low, "rate_high": rates.median_high}
    return line


def rank(impl: str) -> tuple[int, str]:
    """Orders implementations as in `ORDER`, then others by name."""
    return (ORDER.index(impl) if impl in ORDER else len(ORDER), impl)


def wrong_shares(found: pandas.DataFrame) -> list[str]:
    """'harish-racy on kegg: 12 of 160 searches wrong' for each cell whose wrong searches were counted."""
    wrong = found[found.wrong.notna()]
    return [f"{r.impl} on {r.dataset}: {int(r.wrong)} of {int(r.searches)} searches wrong" for r in wrong.itertuples()]


# ------------------------------------------------------------------ the table

#: implementations on one core, of which the fastest of a run is compared with
_CPU = {"bfs": ("sequential",), "sssp": ("dijkstra", "buckets"), "apsp": ("dijkstra",)}


def table(measurements: Iterable[Cell], verdicts: Mapping[tuple, Verdict] | None = None) -> Table:
    """A line of medians per cell, by problem, then by graph; records and CSV are those of `cells`."""
    found = cells(measurements, verdicts=verdicts)
    lines, cpu = measured.plain(found), {}
    whole = any(line["ready"] is not None for line in lines)
    for line in lines:
        for column in ("ms", "ready") if line["impl"] in _CPU[line["problem"]] else ():
            if (value := line[column]) is not None:
                place, its = (line["problem"], line["dataset"], column), (value, measured.mark_of(line))
                cpu[place] = min(its, cpu.get(place, its))

    def over(column: str) -> dict[str, Callable]:
        """The value and the mark of the ratio of the fastest on one core to this, by their names in a column."""

        def base(line: Mapping) -> tuple[float | None, str]:
            return cpu.get((line["problem"], line["dataset"], column), (None, ""))

        def ratio(line: Mapping) -> float | None:
            own = line[column]
            return base(line)[0] / own if base(line)[0] is not None and own else None

        return {"value": ratio, "mark": lambda line: worst((base(line)[1], measured.mark_of(line)))}

    columns = [
        Column("Graph", "dataset", key=True),
        Column("problem", "problem", key=True),
        Column("implementation", "impl", key=True),
        Column("n", "trials", "{:.0f}".format, none="0"),
        Column("prepare ms", "prepare", ms, mark=measured.mark_of),
        Column("ms a search", "ms", ms, mark=measured.mark_of),
        Column("steps a search", "steps", "{:,.0f}".format),
        Column("us a step", lambda line: 1000 * line["ms"] / line["steps"] if line["steps"] else None, short,
               mark=measured.mark_of),
        Column("launches", "launches", "{:,.0f}".format),
        Column("transfer ms", "transfer", ms, mark=measured.mark_of),
        Column("MTEPS", lambda line: None if line["rate"] is None else line["rate"] / 1e6, short,
               mark=measured.mark_of),
        Column("CPU / this", text=short, **over("ms")),
        Column("from edges ms", "ready", ms, none=BLANK, mark=measured.mark_of),
        Column("CPU / this, from edges", text=short, none=BLANK, **over("ready")),
        *(Column(header, lambda line, name=name: line["sizes"].get(name), size, usual=(None,))
          for name, (header, _) in measured.SIZES.items()),
        Column("status", "status", notes=lambda line: [line["reason"]] if line["reason"] else []),
    ]  # fmt: skip
    notes = [
        "Medians over n trials of one search (of the whole matrix for apsp), host time, the network on the device and "
        "the result left there; a step is a level or a round.",
        "MTEPS: million edges of the part reached a second, each once, harmonic mean over the sources (Graph500). Of "
        "searches together (many, fused-many) it is the edges of all over the time of all, and a search has a share.",
        "From edges: all searches of a trial, from raw edges in memory to distances on the host."
        if whole
        else f"From edges: {NOT_FROM_EDGES}.",
        *wrong_shares(found),
    ]
    after = [note for name, (_, note) in measured.SIZES.items() if any(name in line["sizes"] for line in lines)]
    data = found.drop(columns=list(MORE))
    return tabulate(PROBLEM, PROBLEM, columns, lines, rows=lines, notes=notes, after=after,
                    records=measured.plain(data), file=PROBLEM, data=data)  # fmt: skip


PARTS = (Part(PROBLEM, lambda report: [table(report.run.cells, report.verdicts)], PROBLEMS, Place.PROBLEMS),)
