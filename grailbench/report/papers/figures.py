"""The figures of papers with our results: each takes cells, picks those that the figure is of, and says what stands on
its axes.

Of the thesis printed times against measured ones, and the weight of sub algorithms; figures 4 to 8 of Computation 2020;
figures 5 to 8 of Fenz et al. 2022 and device times; the charts in the slides of Pathak et al.; the times of reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from grailbench.harness.cells import Cell
from grailbench.harness.rows import SOUND
from grailbench.report import stalls
from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Panel, Part, bounded, panels
from grailbench.report.papers import closures as fenz
from grailbench.report.papers import traversals as pathak
from grailbench.report.papers.beside import Entry, Filled
from grailbench.report.papers.computation import Point, chosen, of_paper, points
from grailbench.report.papers.feeds import CPU, FEEDS, WEIGHTS
from grailbench.report.papers.thesis import GPU_TABLES, TIME_TABLES
from grailbench.report.published import PRINTED_QUERIES
from grailbench.util.words import count, short, times

if TYPE_CHECKING:
    import pandas

Bounds = tuple[float | None, float | None]


def _one(marks: Iterable[Mark], names: Iterable[str], x: Axis, y: Axis, lines: bool = False) -> Marks:
    """One panel of marks without a title; no panel if there are no marks."""
    return Marks(panels(("", mark) for mark in marks), tuple(names), x, y, lines=lines, across=1)


# ------------------------------------------------------------------ the thesis: print against measured


def printed(tables: Iterable[Filled], sampled: str = "") -> Figure:
    """A panel per printed column with a series per table; a mark is open if its printed value has an erratum."""
    tables = list(tables)
    frame = printed_frame(tables)
    bounds = {(name, dataset, column): _bounds(name, column, entry) for name, dataset, column, entry in _times(tables)}
    shown = frame[frame.ratio.notna() & (frame.printed > 0)]
    marks = [
        (str(row.column), Mark(
            f"table {row.table}", row.printed, row.measured,
            f"{row.title}: printed {short(row.printed)} ms, measured {short(row.measured)} ms, "
            f"{times(row.ratio)}" + (f" ({row.erratum})" if row.erratum else ""),
            *bounds[row.table, row.dataset, row.column], bool(row.erratum),
        ))
        for row in shown.itertuples()
    ]  # fmt: skip
    names = tuple(dict.fromkeys(f"table {name}" for name in shown.table))
    guides = tuple((10.0**k, "equal" if k == 0 else f"{10.0**k:g}×") for k in range(-9, 10))
    form = Marks(panels(marks), names, Axis("printed ms"), Axis("measured ms"), square=True, guides=guides)
    odd = "An open mark: print is known to be odd there." if shown.erratum.any() else ""
    return Figure("printed", frame, form, _noted(odd, sampled if (frame.status == "sampled").any() else ""))


def _noted(*texts: str) -> str:
    return " ".join(filter(None, texts))


def _times(tables: Iterable[Filled]) -> Iterable[tuple[str, str, str, Entry]]:
    """The printed times of tables 2.4-2.6 and 6.1-6.6 as table, dataset, column, entry; columns of 6.4-6.6 that repeat
    2.4-2.6 are left out."""
    for table in tables:
        for row in table.rows if table.name in TIME_TABLES else ():
            for column, feed in FEEDS[table.name].items():
                entry = row.entries[column]
                if not (feed.counts or entry.printed is None or (table.name in GPU_TABLES and column in CPU)):
                    yield table.name, row.dataset, column, entry


def _bounds(table: str, column: str, entry: Entry) -> Bounds:
    """The 95 % interval of a measured mean, or Nones."""
    stats = None if entry.measured is None or entry.cell is None else FEEDS[table][column].stats(entry.cell)
    return (None, None) if stats is None else (stats.low, stats.high)


def printed_frame(tables: Iterable[Filled]) -> pandas.DataFrame:
    """One row per printed time of `_times`: table, dataset, title, column, config, measured (mean ms, missing if not
    measured), printed (ms), ratio, status, measured_notes, erratum.

    All graphs are real, because only real graphs fill published rows.
    """
    import pandas

    tables = list(tables)
    columns = ["table", "dataset", "title", "column", "config", "measured", "printed", "ratio", "status",
               "measured_notes", "erratum"]  # fmt: skip
    titles = {(table.name, row.dataset): row.title for table in tables for row in table.rows}
    rows = [
        (name, dataset, titles[name, dataset], column, entry.cell.label if entry.cell else None, entry.measured,
         float(entry.printed), entry.ratio, entry.status, "; ".join(entry.measured_notes),
         "; ".join(entry.printed_notes))
        for name, dataset, column, entry in _times(tables)
    ]  # fmt: skip
    return pandas.DataFrame(rows, columns=columns).astype(dict.fromkeys(("measured", "printed", "ratio"), float))


# ------------------------------------------------------------------ the thesis: weight of sub algorithms

_DATA_SETS = {"6.1": "Small sparse", "6.2": "Small dense", "6.3": "Large real"}
WEIGHTS_FRAME = ("level", "table", "name", "generated", "source", "graphs", "phase", "ms", "share")


def weights(tables: Iterable[Filled], sampled: str = "") -> Figure:
    """A panel per data set or graph with two bars of shares: measured and printed."""
    frame = weights_frame(tables)
    bars = []
    for (_, name, source), own in frame.groupby(["level", "name", "source"], sort=False):
        parts = (
            Part(row.phase, row.share, f"{name}, {source}, {row.phase}: {row.share:.0%}") for row in own.itertuples()
        )
        bars.append((str(name), Bar(str(source), tuple(parts))))
    found = panels(bars) if (frame.source != "printed").any() else ()
    form = Bars(found, tuple(dict.fromkeys(frame.phase)), whole=True)
    return Figure("weights", frame, form, "" if frame.empty else sampled)


def weights_frame(tables: Iterable[Filled]) -> pandas.DataFrame:
    """One row per phase of a bar of the thesis's 'weight of sub algorithms': level ('data set' or 'graph'), table,
    name, generated, source ('measured' or 'printed'), number of graphs, phase, ms (mean; None for a data set), share.

    A share is that of the phase in the sum of the seven phases. A data set's share is the mean over its measured
    graphs. Look-alikes are a data set of their own. Graphs that print gives the same name (Citeseer occurs twice) are
    named with their table.
    """
    import pandas

    sets: dict[tuple, list[dict[str, float]]] = {}
    single = []
    tables = [table for table in tables if set(WEIGHTS) <= set(table.columns)]
    titles = Counter(row.title for table in tables for row in table.rows)
    for table in tables:
        for row in table.rows:
            measured = {column: row.entries[column].measured for column in WEIGHTS}
            if None in measured.values():
                continue
            generated = row.entries["Total"].cell.generated
            name = "Generated graphs" if generated else _DATA_SETS.get(table.name, "Other graphs")
            title = row.title if titles[row.title] == 1 else f"{row.title} (table {table.name})"
            in_print = {column: row.entries[column].printed for column in WEIGHTS}
            for source, bar in (("measured", measured), ("printed", in_print)):
                if None in bar.values():
                    continue
                ms = {column: float(value) for column, value in bar.items()}
                shares = {column: value / (sum(ms.values()) or 1.0) for column, value in ms.items()}
                sets.setdefault((table.name, name, generated, source), []).append(shares)
                single += [("graph", table.name, title, generated, source, 1, column, ms[column], shares[column])
                           for column in WEIGHTS]  # fmt: skip
    grouped = [
        ("data set", table, f"{name}, {count(len(graphs), 'graph')}", generated, source, len(graphs), column, None,
         sum(shares[column] for shares in graphs) / len(graphs))
        for (table, name, generated, source), graphs in sets.items() for column in WEIGHTS
    ]  # fmt: skip
    return pandas.DataFrame([*grouped, *single], columns=WEIGHTS_FRAME).astype({"ms": float, "share": float})


# ------------------------------------------------------------------ Computation 2020

MIB = 1 << 20
HEAD = ("set", "dataset", "generated", "vertices", "edges", "series", "d", "status", "reason")


def computation(cells: Iterable[Cell], sampled: str = "", profile: Path | None = None) -> list[Figure]:
    """Figures 4 to 8; all are empty if the run does not repeat the paper's experiments.

    sampled  a sentence on sampled times
    profile  a CSV file of Nsight Compute

    Raises InputError for a profile that cannot be read.
    """
    import pandas

    cells = list(cells)
    found = points(cells) if (taken := of_paper(cells)) else []
    once = chosen(found)
    stalled = pandas.DataFrame(columns=stalls.COLUMNS) if profile is None else stalls.read(profile)
    peaks, steps = memory(once), shares(once)
    shared = "Unavailable: the run's cells had no processes of their own (process = 'own')."
    untimed = "Unavailable: no GPU implementation of the run has timed phases."
    unread = "" if steps.empty or "read" in set(steps.part) else "Reading was not timed in this run."
    unprofiled = f"Unavailable: the run has no {stalls.FILE} of Nsight Compute."
    noted = _noted(unread, "" if steps.empty else sampled)
    return [
        _by_d("computation-4", labeling(once), "mean s", map(_labeling_bounds, once), sampled=sampled),
        _by_d("computation-5", peaks, "MiB", [(None, None)] * len(peaks),
              note="" if not taken or peaks.value.notna().any() else shared),
        _by_d("computation-6", queries(found), "mean ms", map(_query_bounds, found), sampled=sampled),
        Figure("computation-7", steps, _shares(steps), untimed if taken and steps.empty else noted),
        Figure("computation-8", stalled, _stalls(stalled), unprofiled if taken and profile is None else ""),
    ]  # fmt: skip


def _by_d(
    name: str, frame: pandas.DataFrame, unit: str, bounds: Iterable[Bounds], note: str = "", sampled: str = ""
) -> Figure:
    """A panel per set and series, with a line per graph and a mark per number of label pairs. The panels of a set have
    the same range of values. Batches of queries of another size than the paper's have panels of their own at the end.
    """
    kinds = ["set", "series", *(["memory"] if "memory" in frame else [])]
    limits = dict(zip(frame.index, bounds, strict=True))
    found = []
    for number, part in enumerate([] if note else by_batch(frame)):
        for key, own in part.groupby(kinds, sort=False):
            if own.value.notna().any() or (~own.status.isin(SOUND)).any():
                marks = tuple(_mark(row, unit, limits[row.Index]) for row in own.itertuples())
                found.append(Panel(f"{' '.join(key[1:])}: {key[0]}", marks, shared=f"{key[0]} {number}"))
    drawn = {panel.shared for panel in found if any(not mark.word for mark in panel.items)}
    found = tuple(panel for panel in found if panel.shared in drawn)
    form = Marks(found, tuple(f"d = {d}" for d in sorted(set(frame.d))), Axis(unit), Axis(scale="names"))
    missing = lost(frame)
    missing = f"Lost: {missing[:900]}{'…' if len(missing) > 900 else ''}." if missing else ""
    return Figure(name, frame, form, _noted(note, sampled if (frame.status == "sampled").any() else ""), missing)


def _mark(row, unit: str, bounds: Bounds) -> Mark:
    graph, series = batch_label(row), f"d = {row.d}"
    if row.value is None or not row.value > 0:
        return Mark(series, None, graph, word="OOM" if row.status == "out of memory" else row.status.upper())
    hint = f"{graph}, {series}: {short(row.value)} {unit.removeprefix('mean ')}"
    return Mark(series, row.value, graph, hint, *bounds, row.generated)


def _labeling_bounds(point: Point) -> Bounds:
    """Bounds of `Point.labeling_ms` in seconds: sums of the bounds of its phases, at least as wide as exact ones."""
    if point.labeling_ms is None:
        return None, None
    parts = [point.cell.phases["", name] for name in ("label", *point.beside)]
    return sum(part.low for part in parts) / 1e3, sum(part.high for part in parts) / 1e3


def _query_bounds(point: Point) -> Bounds:
    """Bounds of the mean of a batch in milliseconds."""
    query = point.cell.stats("query") if point.cell.sound else None
    return (None, None) if query is None else (query.low, query.high)


def _frame(rows: Iterable[tuple[Point, dict]], *columns: str) -> pandas.DataFrame:
    """A row per point: `HEAD`, then values of its own."""
    import pandas

    rows = [
        {name: getattr(point.cell, name, None) for name in HEAD}
        | {"set": point.set, "series": point.series.name, "d": point.d, **own} for point, own in rows
    ]  # fmt: skip
    return pandas.DataFrame(rows, columns=[*HEAD, *columns])


def labeling(found: list[Point]) -> pandas.DataFrame:
    """Figure 4, one row per cell: `HEAD`, trials, mean seconds of labeling with (`value`) and without (`label_s`)
    transfer and allocation."""
    rows = ((p, {"trials": p.cell.trials, "value": _scaled(p.labeling_ms, 1e-3),
                 "label_s": _scaled(p.mean("label"), 1e-3)}) for p in found)  # fmt: skip
    return _frame(rows, "trials", "value", "label_s")


def memory(found: list[Point]) -> pandas.DataFrame:
    """Figure 5, one row per cell and memory ('host', on GPUs also 'device'): `HEAD`, memory, peak in MiB (`value`)."""
    rows = []
    for p in found:
        peaks = {"host": p.cell.host_peak_bytes}
        peaks |= {"device": p.cell.device_peak_bytes} if p.series.impl.startswith("gpu") else {}
        for name, peak in peaks.items():
            rows.append((p, {"memory": name, "value": _scaled(peak if p.cell.sound else None, 1 / MIB)}))
    return _frame(rows, "memory", "value")


def queries(found: list[Point]) -> pandas.DataFrame:
    """Figure 6, one row per cell: `HEAD`, trials, number of queries in the batch, positive queries, mean ms of the
    batch (`value`)."""
    rows = ((p, {"trials": p.cell.trials, "queries": p.cell.batch, "positives": p.cell.positives,
                 "value": p.mean("query")}) for p in found)  # fmt: skip
    return _frame(rows, "trials", "queries", "positives", "value").astype({"queries": "Int64", "positives": "Int64"})


def batch_label(row) -> str:
    """The graph of a row of a frame, and the size of its batch of queries if it differs from the paper's."""
    return row.dataset if _printed(batch := getattr(row, "queries", None)) else f"{row.dataset}, {batch:,}"


def by_batch(frame: pandas.DataFrame) -> list[pandas.DataFrame]:
    """The rows of figures 4 to 6 that are drawn in separate panels: first those with the paper's batch of queries."""
    if "queries" not in frame:
        return [frame]
    usual = frame.queries.map(_printed, na_action=None).astype(bool)
    return [part for part in (frame[usual], frame[~usual]) if not part.empty]


def _printed(batch: int | None) -> bool:
    """True for a batch of the paper's size, and for one of unknown size (None or pandas' NA)."""
    return not isinstance(batch, Integral) or batch == PRINTED_QUERIES


def lost(frame: pandas.DataFrame) -> str:
    """The cells of a frame without a sound time, and why: 'gpu-path d=4,5 on dag_11-like: OUT OF MEMORY, ...'."""
    groups: dict[tuple, dict[int, None]] = {}
    for row in frame[~frame.status.isin(SOUND)].itertuples():
        groups.setdefault((row.series, batch_label(row), row.status, row.reason), {})[row.d] = None
    return "; ".join(
        f"{series} d={','.join(map(str, d))} on {graph}: {status.upper()}{f', {reason}' if reason else ''}"
        for (series, graph, status, reason), d in groups.items()
    )


def _shares(frame: pandas.DataFrame) -> Bars:
    """A panel per series: for each set a bar of the steps of labeling and a bar with reading, allocation and transfer;
    real and generated graphs have separate bars."""
    bars = []
    for (series, name, generated, of), own in frame.groupby(["series", "set", "generated", "of"], sort=False):
        label = f"{name}{', generated' if generated else ''}: {of} ({count(own.cells.iloc[0], 'cell')})"
        parts = (Part(r.part, r.share, f"{series}, {label}, {r.part}: {r.share:.0%}") for r in own.itertuples())
        bars.append((str(series), Bar(label, tuple(parts))))
    return Bars(panels(bars), tuple(dict.fromkeys(frame.part)), whole=True, across=1)


def shares(found: list[Point]) -> pandas.DataFrame:
    """Figure 7: series, set, generated, of ('steps': the labeling; 'all': also reading, allocation and transfer),
    number of cells, part, and the mean over the cells of the part's share.

    Reading is the time to load the graph from the cache; it is in 'all' only if all of the cells have it.
    """
    import pandas

    groups: dict[tuple, list[Point]] = {}
    for point in found:
        if point.series.impl.startswith("gpu") and point.steps:
            groups.setdefault((point.series.name, point.set, point.cell.generated), []).append(point)
    rows = []
    for key, own in groups.items():
        reading = all(point.cell.read_ms is not None for point in own)
        for of in ("steps", "all"):
            parts = [_parts(point, of, reading) for point in own]
            for name in dict.fromkeys(name for part in parts for name in part):
                mean = sum(part.get(name, 0.0) / sum(part.values()) for part in parts) / len(parts)
                rows.append((*key, of, len(own), name.replace("_", " "), mean))
    return pandas.DataFrame(rows, columns=["series", "set", "generated", "of", "cells", "part", "share"])


def _parts(point: Point, of: str, reading: bool) -> dict[str, float]:
    """The parts of a point's time by name, in ms."""
    if of == "steps":
        return point.steps
    read = {"read": point.cell.read_ms or 0.0} if reading else {}
    return {**read, **point.beside, **point.steps}


def _stalls(frame: pandas.DataFrame) -> Bars:
    """A bar with a part for each of the paper's kinds of stalls, and a bar for each stall reason."""
    if frame.empty:
        return Bars()
    words = frame.groupby("word", sort=False).share.sum().sort_values(ascending=False, kind="stable")
    parts = tuple(Part(word, share, f"{word}: {share:.1%}") for word, share in words.items())
    bars = [("in the paper's words", Bar("all stalls", parts))]
    for row in frame.itertuples():
        part = Part(row.word, row.share, f"{row.reason}: {row.share:.1%}")
        bars.append(("by stall reason", Bar(f"{row.reason}: {row.meaning}", (part,), f"{row.share:.1%}")))
    return Bars(panels(bars), tuple(words.index), whole=True, across=1)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


# ------------------------------------------------------------------ Fenz et al. 2022: closures

SMALL = 1000  #: the most vertices of a graph in figures 5 and 6, and the fewest in figures 7 and 8
FAST = ("tiled", "managed", "sssp-each", *fenz.OURS)  #: the implementations in figure 8
TITLES = {"custom": "custom graph", "erdos-renyi": "Erdős-Rényi graph", "random-tree": "random tree",
          "scale-free": "scale-free graph"}  # fmt: skip
_COPIES = {"host_to_device": "host to device", "device_to_host": "device to host"}


def closures(measured: Iterable[Cell]) -> dict[str, Figure]:
    """Every figure of a run by name; a figure without data has an empty form. They show graphs that
    `grailbench.graph.generate.shapes` generates from their names. A mark is the mean over the trials of a cell, and its
    band the 95 % bootstrap interval of the mean."""
    measured = fenz.ordered(measured)
    found = fenz.cells(measured)
    solved = found[(found.phase == "solve") & found.kind.isin(list(TITLES))]
    copied = found[found.phase.isin(list(_COPIES)) & (found.kind != "")]
    renyi = solved[solved.kind == "erdos-renyi"]
    frames = {
        "closure-5": solved[solved.vertices <= SMALL],
        "closure-6": _copies(copied[copied.vertices <= SMALL]),
        "closure-7": renyi[renyi.impl.isin(["floyd-warshall", *FAST]) & (renyi.vertices >= SMALL)],
        "closure-8": solved[solved.impl.isin(FAST) & (solved.vertices >= SMALL) & (solved.vertices > SMALL).any()],
        "closure-kernels": found[(found.phase == "kernel") & found.kind.isin(list(TITLES))],
    }
    bounds = {
        (cell.dataset, cell.impl, cell.threads or None, phase): (stats.low, stats.high)
        for cell in measured if cell.sound for (under, phase), stats in cell.phases.items()
        if phase in ("solve", "kernel") and under != "ready"
    }  # fmt: skip
    return {name: Figure(name, frame, _by_vertices(name, frame, bounds)) for name, frame in frames.items()}


def _copies(frame: pandas.DataFrame) -> pandas.DataFrame:
    """One row per phase, implementation and number of vertices: the times over all kinds of graphs."""
    import pandas

    lines = [
        ("", None, vertices, impl, phase, own.trials.sum(), own["mean"].mean(), own.least.min(), own.most.max())
        for (phase, impl, vertices), own in frame.groupby(["phase", "impl", "vertices"], sort=False)
    ]
    columns = ["kind", "density", "vertices", "impl", "phase", "trials", "mean", "least", "most"]
    return pandas.DataFrame(lines, columns=columns)


def _by_vertices(name: str, frame: pandas.DataFrame, bounds: dict[tuple, tuple[float, float]]) -> Marks:
    """A panel per kind of graph (in figure 6 per direction of copying), with a line per implementation."""
    copies, marks = name == "closure-6", []
    for row in frame[frame["mean"] > 0].itertuples():
        series = fenz.series_name(row.impl)
        if copies:
            title, (low, high) = _COPIES[row.phase], (row.least, row.most)
        else:
            density = "" if row.density is None or row.density != row.density else f", density {row.density:g}"
            threads = int(row.threads) if row.threads == row.threads and row.threads is not None else None
            title, (low, high) = f"{TITLES[row.kind]}{density}", bounds[row.dataset, row.impl, threads, row.phase]
        hint = f"{series}, {row.vertices:,} vertices: {short(row.mean)} ms ({short(low)} to {short(high)})"
        marks.append((title, Mark(series, float(row.vertices), row.mean, hint, low, high)))
    across = Axis("vertices", "log" if name == "closure-kernels" else "linear")
    names = tuple(map(fenz.series_name, fenz.order(frame.impl)))
    return Marks(panels(marks), names, across, Axis("ms"), lines=True)


# ------------------------------------------------------------------ Pathak et al.: searches and shortest paths

_MILLION = 1e6


def traversals(measured: Iterable[Cell]) -> dict[str, Figure]:
    """Every figure of a run by name; a figure without data has an empty form. A mark is the median over the trials of a
    cell, with its 95 % bootstrap interval."""
    found = pathak.cells(measured, full=True)
    timed = found[found.ms.notna()]
    shown = [(f"traversal-{problem}", timed[timed.problem == problem], _searches) for problem in pathak.PROBLEMS]
    shown += [("traversal-coarsening", _coarsening(timed), _coarse)]
    shown += [("traversal-teps", timed[timed.rate.notna()], _rates)]
    notes = {"traversal-sssp": "; ".join(pathak.wrong_shares(found))}
    return {
        name: Figure(name, frame.drop(columns=list(pathak.MORE)), form(frame), notes.get(name, ""))
        for name, frame, form in shown
    }


def _searches(frame: pandas.DataFrame) -> Marks:
    """A line per graph with a mark per implementation, in ms."""
    marks = [Mark(row.impl, row.ms, row.dataset, f"{row.impl} on {row.dataset}: {bounded(row.ms, row.low, row.high)}",
                  row.low, row.high) for row in frame.itertuples()]  # fmt: skip
    return _one(marks, sorted(set(frame.impl), key=pathak.rank), Axis("ms"), Axis(scale="names"))


def _rates(frame: pandas.DataFrame) -> Marks:
    """A line per problem and graph with a mark per implementation, in million edges a second."""
    marks = [
        Mark(row.impl, row.rate / _MILLION, f"{row.problem} {row.dataset}",
             f"{row.impl}, {row.problem} on {row.dataset}: {short(row.rate / _MILLION)} million edges a second",
             row.rate_low / _MILLION, row.rate_high / _MILLION)
        for row in frame.itertuples()
    ]  # fmt: skip
    names = sorted(set(frame.impl), key=pathak.rank)
    return _one(marks, names, Axis("million edges a second"), Axis(scale="names"))


def _coarsening(timed: pandas.DataFrame) -> pandas.DataFrame:
    """The cells of the coarsened implementations, with `factor` and with `relative`, the time divided by that with
    factor 1 on the same graph."""
    part = timed[timed.impl.str.startswith("coarsened-")].copy()
    part["factor"] = [int(impl.rpartition("-")[2]) for impl in part.impl]
    one = part[part.factor == 1].set_index("dataset").ms.to_dict()
    part["relative"] = [ms / one[name] if name in one else None for name, ms in zip(part.dataset, part.ms, strict=True)]
    return part[part.relative.notna()]


def _coarse(frame: pandas.DataFrame) -> Marks:
    """A line per graph of relative times, whose bounds are those of the time divided by the median with factor 1."""
    marks = [
        Mark(row.dataset, float(row.factor), row.relative, f"{row.dataset}, {row.factor} vertices a thread: "
             f"{row.relative:.2f}", row.low * row.relative / row.ms, row.high * row.relative / row.ms)
        for row in frame.itertuples()
    ]  # fmt: skip
    x, y = Axis("vertices a thread", "log2"), Axis("time over that of one vertex a thread", "linear")
    return _one(marks, dict.fromkeys(frame.dataset), x, y, lines=True)


# ------------------------------------------------------------------ reading

_READING = ("dataset", "vertices", "edges", "impl", "status", "reason", "trials", "median", "median_low", "median_high",
            "rate")  # fmt: skip


def reading(measured: Iterable[Cell]) -> dict[str, Figure]:
    """The figure of problem `read` by its name: the time to read a graph from its file."""
    import pandas

    lines, marks = [], []
    for cell in measured:
        if cell.problem != "read":
            continue
        head = (cell.dataset, cell.vertices, cell.edges, cell.impl, cell.status, cell.reason)
        s = cell.stats("solve") if cell.sound else None
        if s is None:
            lines.append((*head, 0, None, None, None, None))
            continue
        rate = median(cell.rates.values()) if cell.rates else None
        lines.append((*head, s.trials, s.median, s.median_low, s.median_high, rate))
        hint = f"{cell.dataset}, {cell.impl}: {short(s.median)} ms" + (f", {short(rate)} MB/s" if rate else "")
        marks.append(Mark(cell.impl, float(cell.edges), s.median, hint, s.median_low, s.median_high))
    form = _one(marks, sorted({mark.series for mark in marks}), Axis("edges"), Axis("median ms"))
    return {"reading": Figure("reading", pandas.DataFrame(lines, columns=list(_READING)), form)}
