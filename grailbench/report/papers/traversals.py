"""Runs of `--problem bfs`, `sssp` and `apsp`: the charts of the slides of Pathak et al. with ours beside, a table of
all cells, and how often what is known to be wrong is wrong.

Times are medians over a cell's trials, a search each (`solve` over the sources; one matrix for `apsp`). They are host
times around searches on a network that is on the device already; results stay there. Beside them stands the way from
edges (`ready`), all searches of a cell and the copies of their results included, where it was timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from grailbench.report import measured
from grailbench.report.footnotes import Footnotes
from grailbench.report.table import Table, numbers
from grailbench.runs.cells import NOT_FROM_EDGES, Cell
from grailbench.runs.statistics import Stats
from grailbench.words import BLANK, ms, short

if TYPE_CHECKING:
    import pandas

PROBLEM = "traversal"
PROBLEMS = ("bfs", "sssp", "apsp")
#: the slides' implementations in their order, after the CPU's and before ours
ORDER = (
    "sequential", "dijkstra",
    "level", "queue", "scan",
    "harish-racy", "harish-atomic", *(f"coarsened-{factor}" for factor in (1, 2, 4, 8, 16)),
    "sssp-each", "floyd-warshall", "floyd-warshall-blocked",
    "enterprise", "fused", "near-far",
)  # fmt: skip
_STEPS = ("levels", "rounds")  #: counters that say how many steps, one after another, the searches took
_BESIDE = ("prepare", "transfer", "ready")  #: phases beside the searches
_COLUMNS = ("problem", "dataset", "vertices", "edges", "impl", "status", "reason", "trials", "searches", "wrong",
            "prepare", "ms", "least", "most", "transfer", "ready", "rate", "steps", "launches")  # fmt: skip
#: sizes, and the bounds of the medians `ms` and `rate`, 95 % bootstrap
MORE = ("sizes", "low", "high", "rate_low", "rate_high")


def cells(found: Iterable[Cell], full: bool = False) -> pandas.DataFrame:
    """A line a cell: `_COLUMNS`, and if `full` its `measured.sizes` and the bounds of its medians. `searches` is the
    number timed in a trial; for a wrong cell the number checked, of which `wrong` were wrong. Times in ms a search, but
    `ready`, which is of all of them, `rate` in edges a second, `steps` levels or rounds a search.

    A graph that a problem has with several sets of sources is a graph a set, 'kegg, random-64-s1', and one that it has
    with several seeds, and hence weights, a graph a seed: 'kegg, seed 2'. A set's name says the seed that drew it."""
    import pandas

    own = [cell for cell in found if cell.problem in PROBLEMS]
    sets: dict[tuple, set] = {}
    for cell in own:
        sets.setdefault((cell.problem, cell.dataset), set()).add(cell.query_set)
        sets.setdefault((cell.problem, cell.dataset, cell.query_set), set()).add(cell.seed)
    lines = []
    for cell in own:
        dataset = cell.dataset
        if len(sets[cell.problem, cell.dataset]) > 1:
            dataset = f"{dataset}, {cell.query_set}"
        if len(sets[cell.problem, cell.dataset, cell.query_set]) > 1:
            dataset = f"{dataset}, seed {cell.seed}"
        lines.append({"dataset": dataset, **_line(cell)})
    found = pandas.DataFrame(lines, columns=[*_COLUMNS, *(MORE if full else [])])
    graphs = list(dict.fromkeys(found.dataset))
    found["_at"] = [(PROBLEMS.index(r.problem), graphs.index(r.dataset), *_rank(r.impl)) for r in found.itertuples()]
    return found.sort_values("_at").drop(columns="_at").reset_index(drop=True)


def _line(cell: Cell) -> dict:
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
    medians = {phase: None if (s := cell.stats(phase)) is None else s.median for phase in _BESIDE}
    counted = {name: None if count is None else count / searches for name, count in _steps(counters).items()}
    transfer = None if medians["transfer"] is None else medians["transfer"] / searches
    rates = Stats.of(list(cell.rates.values())) if cell.rates else None
    times = {"trials": each.trials, "ms": each.median, "least": each.least, "most": each.most}
    times |= {"low": each.median_low, "high": each.median_high}
    if rates is not None:
        times |= {"rate": rates.median, "rate_low": rates.median_low, "rate_high": rates.median_high}
    return line | times | medians | counted | {"transfer": transfer}


def _steps(counters: dict) -> dict[str, int | None]:
    """How many steps, one after another, the searches of a cell took, and how many launches."""
    steps = next((counters[name] for name in _STEPS if name in counters), None)
    return {"steps": steps, "launches": counters.get("launches")}


def _rank(impl: str) -> tuple[int, str]:
    return (ORDER.index(impl) if impl in ORDER else len(ORDER), impl)


def wrong_shares(found: pandas.DataFrame) -> list[str]:
    """'harish-racy on kegg: 12 of 160 searches wrong' for each cell of which that is known."""
    wrong = found[found.wrong.notna()]
    return [f"{r.impl} on {r.dataset}: {int(r.wrong)} of {int(r.searches)} searches wrong" for r in wrong.itertuples()]


# ------------------------------------------------------------------ the table

HEADERS = ["Graph", "problem", "implementation", "n", "prepare ms", "ms a search", "steps a search", "us a step",
           "launches", "transfer ms", "MTEPS", "CPU / this", "from edges ms", "CPU / this, from edges",
           "status"]  # fmt: skip
_CPU = {"bfs": "sequential", "sssp": "dijkstra", "apsp": "dijkstra"}


def table(measurements: Iterable[Cell]) -> Table:
    """Medians of every cell, problem by problem and graph by graph; records and CSV are `cells`."""
    found = cells(measurements, full=True)
    cpu = {(r.problem, r.dataset): (r.ms, r.ready) for r in found.itertuples() if r.impl == _CPU[r.problem]}
    lines, foot = [], Footnotes()
    for r in found.itertuples():
        base, whole = cpu.get((r.problem, r.dataset), (None, None))
        lines.append([
            r.dataset, r.problem, r.impl, _said("{:.0f}".format, r.trials, "0"), _said(ms, r.prepare), _said(ms, r.ms),
            _said("{:,.0f}".format, r.steps), _said(short, 1000 * r.ms / r.steps if r.steps else None),
            _said("{:,.0f}".format, r.launches), _said(ms, r.transfer), _said(short, r.rate / 1e6),
            _said(short, base and base / r.ms), _said(ms, r.ready, BLANK),
            _said(short, whole and whole / r.ready, _said(lambda _: "", r.ready, BLANK)),
            foot.status(r.status, r.reason),
        ])  # fmt: skip
    notes = [
        "Medians over n trials of one search (of the whole matrix for apsp), host time, the network on the device and "
        "the result left there; a step is a level or a round.",
        "MTEPS: million edges of the part reached a second, each once, harmonic mean over the sources (Graph500).",
        "From edges: all searches of a trial, from raw edges in memory to distances on the host."
        if found.ready.notna().any()
        else f"From edges: {NOT_FROM_EDGES}.",
        *wrong_shares(found),
        *foot.lines(),
    ]
    headers, lines, more = measured.with_sizes(HEADERS, lines, found.sizes)
    data = found.drop(columns=list(MORE))
    return Table(
        PROBLEM, PROBLEM, headers, lines, numbers(headers), keys=3, notes=[*notes, *more], records=measured.plain(data),
        file=PROBLEM, data=data,
    )  # fmt: skip


def _said(text: Callable[[float], str], value: float | None, none: str = "") -> str:
    """A value as text; `none` for None and NaN."""
    return none if value is None or value != value else text(value)
