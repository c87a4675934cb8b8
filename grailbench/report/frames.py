"""The data of a run's figures as data frames, one row per mark.

Every frame begins with the columns of `HEAD`: the graph, whether it is generated, its size, the query set ('' if the
run has only uniform random pairs), the configuration and its status. A cell without a sound time has a row that says
why, without a time. Look-alikes are marked `generated`; they are never compared with printed numbers.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pandas

from grailbench.compare.measures import GPU, median, place
from grailbench.errors import InputError
from grailbench.harness.cells import Cell
from grailbench.harness.rows import TIMED
from grailbench.harness.statistics import Mean, geometric_mean
from grailbench.util.words import count

HEAD = ("dataset", "generated", "vertices", "edges", "queries", "config", "status", "reason")
#: the phases that the runner times itself; `ready` and `label` are two ways to time the building of the index
TOP_PHASES = ("label", "query", "ready")
REST = "rest"


# ------------------------------------------------------------------ names


def ordered(cells: Iterable[Cell]) -> list[Cell]:
    """The cells by graph, in the order of the run. For each graph unguided searches are first, then one thread before
    many, few label pairs before many, dfs before bfs; peers are last."""
    cells = list(cells)
    graphs = {name: i for i, name in enumerate(dict.fromkeys(cell.dataset for cell in cells))}
    return sorted(cells, key=lambda cell: (graphs[cell.dataset], not cell.random, cell.query_set, *_rank(cell)))


def _rank(cell: Cell) -> tuple:
    return (
        not cell.ours, cell.dim is not None, cell.threads > 0, cell.impl, cell.dim or 0,
        {"bfs": 1, "bbfs": 2}.get(cell.search, 0), cell.filters, cell.order or "", cell.threads, cell.seed or 0,
    )  # fmt: skip


def headed(cells: Iterable[Cell]) -> list[tuple[dict, Cell]]:
    """Each cell after its `HEAD` columns, in which configurations name the seed if the run has several."""
    cells = list(cells)
    kinds = Counter(kind for kind, _ in {(_kind(cell), cell.query_set) for cell in cells})
    seeds = {(cell.dataset, cell.label, cell.query_set, cell.seed) for cell in cells}
    several_seeds = len({key[:-1] for key in seeds}) < len(seeds)
    out = []
    for cell in cells:
        kind = _kind(cell)
        queries = cell.query_set if kinds[kind] > 1 else "" if kind == "random" else kind
        config = f"{cell.label}, seed {cell.seed}" if several_seeds else cell.label
        values = (cell.dataset, cell.generated, cell.vertices, cell.edges, queries, config, cell.status, cell.reason)
        out.append((dict(zip(HEAD, values, strict=True)), cell))
    return out


def frame(rows: list[dict], *columns: str, numbers: Iterable[str] = ()) -> pandas.DataFrame:
    """The rows as a data frame with the columns of `HEAD` and more, of which `numbers` are floats."""
    found = pandas.DataFrame(rows, columns=[*HEAD, *columns])
    return found.astype({**dict.fromkeys(numbers, float), "vertices": "Int64", "edges": "Int64"})


def _kind(cell: Cell) -> str:
    """'random', 'balanced', or the name of a query file."""
    if cell.random:
        return "random"
    kind = cell.query_set.partition("-")[0]
    return kind if kind == "balanced" else cell.query_set


def labels(frame: pandas.DataFrame, of: str) -> list[str]:
    """Graph ('dataset') or configuration ('config') and query set of each row, for axes, headings and legends."""
    return [", ".join(filter(None, names)) for names in zip(frame[of], frame.queries, strict=True)]


# ------------------------------------------------------------------ phases


@dataclass(frozen=True)
class Segment:
    """A part of a trial: the phase that it is a part of ('' for a phase itself), its name, and its mean ms."""

    under: str
    phase: str
    ms: float

    @property
    def label(self) -> str:
        """'query', 'label: sort'."""
        return f"{self.under}: {self.phase}" if self.under else self.phase


def segments(cell: Cell) -> list[Segment]:
    """The parts that add up to one trial, in mean ms (medians would not add up); [] for a cell without sound times.

    The label is first and the queries are last. A phase with parts is replaced by its parts and their remainder
    ('rest', never negative). `ready` is a second measurement of building and is left out.
    """
    if not cell.sound:
        return []
    found = []
    tops = [(top, stats) for (under, top), stats in cell.phases.items() if not under and top != "ready"]
    for top, stats in sorted(tops, key=lambda each: {"label": 0, "query": 2}.get(each[0], 1)):
        parts = [Segment(top, name, s.mean) for (above, name), s in cell.phases.items() if above == top]
        if parts:
            found += [*parts, Segment(top, REST, max(0.0, stats.mean - sum(part.ms for part in parts)))]
        else:
            found.append(Segment("", top, stats.mean))
    return found


def phases(cells: Iterable[Cell]) -> pandas.DataFrame:
    """One row per cell and part of its trial: `HEAD`, under, phase, segment, ms (mean), share of the trial."""
    out = []
    for head, cell in headed(cells):
        parts = segments(cell)
        total = sum(part.ms for part in parts) or 1.0
        out += [head | {"under": part.under, "phase": part.phase, "segment": part.label, "ms": part.ms,
                        "share": part.ms / total} for part in parts]  # fmt: skip
        if not parts:
            out.append(head | {"under": "", "phase": "", "segment": "", "ms": None, "share": None})
    return frame(out, "under", "phase", "segment", "ms", "share", numbers=("ms", "share"))


# ------------------------------------------------------------------ times


def edges(cells: Iterable[Cell]) -> pandas.DataFrame:
    """One row per cell and timed phase: `HEAD`, phase, trials, median and its bounds, mean, min, iqr (ms)."""
    out, numbers = [], ("trials", "median", "median_low", "median_high", "mean", "min", "iqr")
    for head, cell in headed(cells):
        timed = [(phase, cell.stats(phase)) for phase in TOP_PHASES if cell.sound and cell.stats(phase)]
        for phase, s in timed:
            times = {name: getattr(s, "least" if name == "min" else name) for name in numbers}
            out.append(head | {"phase": phase} | times)
        if not timed:
            out.append(head | {"phase": "", "trials": 0})
    return frame(out, "phase", *numbers, numbers=numbers)


def choose_reference(cells: Iterable[Cell], wanted: str | None = None) -> str:
    """The configuration that others are compared with, as `headed` names it.

    `wanted` is a configuration, or words that only one configuration contains. Without it the reference is the fastest
    on a CPU, by the geometric mean of its answers, of those with sound times on most graphs. Raises InputError if no
    configuration, or more than one, matches.
    """
    times: dict[str, list[float]] = {}
    on_gpu: dict[str, bool] = {}
    for head, cell in headed(cells):
        on_gpu[head["config"]] = place(cell) == GPU
        found = times.setdefault(head["config"], [])
        if (ms := median(cell, cell.last_phase)) is not None:
            found.append(math.log(ms or 1e-6))
    names = list(times)
    if wanted is None:
        return min(names, key=lambda name: (on_gpu[name], -len(times[name]), math.fsum(times[name])), default="")
    words = set(wanted.lower().replace(",", " ").split())
    having = [name for name in names if words <= set(name.lower().replace(",", " ").split())]
    fits = [name for name in names if name.lower() == wanted.strip().lower()] or having
    if len(fits) == 1:
        return fits[0]
    problem = "several configurations are" if fits else "no configuration of the run is"
    shown = "; ".join((fits or names)[:8])
    raise InputError(f"reference {wanted!r}: {problem} meant", remedy=f"choose one of: {shown}")


def speedup(cells: Iterable[Cell], reference: str, phase: str = "query") -> pandas.DataFrame:
    """One row per cell: `HEAD`, phase, median ms, the reference and its ms on the same graph and queries, speedup.

    `speedup` is the reference's ms / the cell's ms, None if either has no sound time.
    """
    named = headed(cells)
    times = {
        (head["dataset"], cell.query_set): stats.median
        for head, cell in named
        if head["config"] == reference and cell.sound and (stats := cell.stats(phase))
    }
    out = []
    for head, cell in named:
        stats = cell.stats(phase) if cell.sound else None
        base = times.get((head["dataset"], cell.query_set))
        ratio = base / stats.median if base is not None and stats and stats.median > 0 else None
        compared = {"phase": phase, "ms": stats and stats.median, "reference": reference, "reference_ms": base}
        out.append(head | compared | {"speedup": ratio})
    return frame(out, "phase", "ms", "reference", "reference_ms", "speedup", numbers=("ms", "reference_ms", "speedup"))


def mean_slowdowns(frame: pandas.DataFrame) -> dict[str, Mean]:
    """The geometric mean of 1 / speed-up of each configuration over the rows of a `speedup` frame in which the
    reference has a time.

    `statistics.geometric_mean` says how a missing time counts. A graph on which a configuration was not planned is left
    out of its mean. Callers separate generated graphs and query sets.
    """
    rows = frame[frame.reference_ms.notna() & (frame.speedup.notna() | ~frame.status.isin(TIMED))]
    means = {str(config): geometric_mean(1 / ratio if ratio > 0 else None for ratio in own.speedup)
             for config, own in rows.groupby("config", sort=False)}  # fmt: skip
    return {config: mean for config, mean in means.items() if mean is not None}


def over(mean: Mean) -> str:
    """The number of graphs of a mean: '17 graphs', '8 graphs, 1 lost'."""
    lost = f", {mean.missing} lost" if mean.missing else ""
    return count(mean.measured + mean.missing, "graph") + lost


# ------------------------------------------------------------------ counters


def counters(cells: Iterable[Cell]) -> pandas.DataFrame:
    """One row per cell and counter: `HEAD`, query_set, batch (number of queries), counter, count. Wrong cells have no
    rows."""
    out = []
    for head, cell in headed(cells):
        for name, number in (cell.counters or {}).items() if cell.status != "wrong" else ():
            counted = {"query_set": cell.query_set, "batch": cell.queries, "counter": name, "count": int(number)}
            out.append(head | counted)
    return frame(out, "query_set", "batch", "counter", "count")


# ------------------------------------------------------------------ lost cells


@dataclass(frozen=True)
class Absent:
    """The cells of one graph that have no sound time, or are sampled or incomplete, for the same reason."""

    graph: str
    status: str
    reason: str
    configs: tuple[str, ...]

    def __str__(self) -> str:
        which = self.configs[0] if len(self.configs) == 1 else f"{len(self.configs)} configurations"
        return f"{self.graph}, {which}: {self.status.upper()}" + (f", {self.reason}" if self.reason else "")


def absent(frame: pandas.DataFrame, incomplete: bool = False) -> list[Absent]:
    """The cells of a frame without a sound time, grouped by graph, status and reason; with `incomplete` also those that
    are sampled or have fewer trials than planned."""
    sound = ("ok",) if incomplete else TIMED
    found: dict[tuple, dict[str, None]] = {}
    for graph, row in zip(labels(frame, "dataset"), frame.itertuples(), strict=True):
        if row.status not in sound:
            found.setdefault((graph, row.status, row.reason), {})[row.config] = None
    return [Absent(*key, tuple(configs)) for key, configs in found.items()]


def missing(frame: pandas.DataFrame) -> str:
    """A sentence on the cells of a frame without a sound time, which names the first four; '' if there are none."""
    found = absent(frame)
    more = f"; and {len(found) - 4} more" if len(found) > 4 else ""
    return f"No sound time: {'; '.join(map(str, found[:4]))}{more}." if found else ""
