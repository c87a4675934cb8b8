"""The figures of papers with our results: each takes cells, picks those that the figure is of, and says what stands on
its axes.

Of the thesis printed times against measured ones, and the weight of sub algorithms; figures 4 to 8 of Computation 2020;
figures 5 to 8 of Fenz et al. 2022 and device times; the charts in the slides of Pathak et al.; the times of reading.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from statistics import median

import pandas

from grailbench.compare.measures import grouped
from grailbench.harness.cells import Cell
from grailbench.harness.rows import TIMED
from grailbench.report import stalls
from grailbench.report.figure import Axis, Bar, Bars, Figure, Marks, Part, alone, marks, noted, panels, stacked
from grailbench.report.papers import closures as fenz
from grailbench.report.papers import traversals as pathak
from grailbench.report.papers.beside import Filled
from grailbench.report.papers.computation import Point, chosen, of_paper, points
from grailbench.report.papers.feeds import CPU, FEEDS, WEIGHTS
from grailbench.report.papers.thesis import GPU_TABLES, TIME_TABLES
from grailbench.report.published import PRINTED_QUERIES
from grailbench.util.words import count

# ------------------------------------------------------------------ the thesis: print against measured


def printed(tables: Iterable[Filled], sampled: str = "") -> Figure:
    """A panel per printed column with a series per table; errata of print have no mark."""
    frame = printed_frame(tables)
    plotted = frame[frame.ratio.notna() & (frame.printed > 0)]
    plotted = plotted.assign(series="table " + plotted.table)
    guides = tuple((10.0**k, "equal" if k == 0 else f"{10.0**k:g}×") for k in range(-9, 10))
    found = marks(plotted, "series", "printed", "measured", panel="column", name="title")
    found = tuple(replace(panel, guides=guides) for panel in found)
    form = Marks(found, tuple(dict.fromkeys(plotted.series)), Axis("printed ms"), Axis("measured ms"), square=True)
    return Figure("printed", frame, form, noted(frame, sampled))


def printed_frame(tables: Iterable[Filled]) -> pandas.DataFrame:
    """One row per printed time of tables 2.4-2.6 and 6.1-6.6: table, dataset, title, column, config, measured (mean ms,
    missing if not measured) and the bounds of its 95 % interval, printed (ms), ratio, status, measured_notes, erratum.

    Columns of 6.4-6.6 that repeat 2.4-2.6 are left out. All graphs are real, because only real graphs fill published
    rows.
    """
    columns = ["table", "dataset", "title", "column", "config", "measured", "low", "high", "printed", "ratio", "status",
               "measured_notes", "erratum"]  # fmt: skip
    rows = []
    for table, row in ((each, row) for each in tables if each.name in TIME_TABLES for row in each.rows):
        for column, feed in FEEDS[table.name].items():
            entry = row.entries[column]
            if feed.counts or entry.printed is None or (table.name in GPU_TABLES and column in CPU):
                continue
            stats = None if entry.measured is None or entry.cell is None else feed.stats(entry.cell)
            rows.append((
                table.name, row.dataset, row.title, column, entry.cell.label if entry.cell else None, entry.measured,
                stats and stats.low, stats and stats.high, float(entry.printed), entry.ratio, entry.status,
                "; ".join(entry.measured_notes), "; ".join(entry.printed_notes),
            ))  # fmt: skip
    frame = pandas.DataFrame(rows, columns=columns)
    return frame.astype(dict.fromkeys(("measured", "low", "high", "printed", "ratio"), float))


# ------------------------------------------------------------------ the thesis: weight of sub algorithms

_DATA_SETS = {"6.1": "Small sparse", "6.2": "Small dense", "6.3": "Large real"}
WEIGHTS_FRAME = ("level", "table", "name", "generated", "source", "graphs", "phase", "ms", "share")


def weights(tables: Iterable[Filled], sampled: str = "") -> Figure:
    """A panel per data set or graph with two bars of shares: measured and printed."""
    frame = weights_frame(tables)
    form = stacked(frame, "name", "source", "phase", 2) if (frame.source != "printed").any() else Bars()
    return Figure("weights", frame, form, "" if frame.empty else sampled)


def weights_frame(tables: Iterable[Filled]) -> pandas.DataFrame:
    """One row per phase of a bar of the thesis's 'weight of sub algorithms': level ('data set' or 'graph'), table,
    name, generated, source ('measured' or 'printed'), number of graphs, phase, ms (mean; None for a data set), share.

    A share is that of the phase in the sum of the seven phases. A data set's share is the mean over its measured
    graphs. Look-alikes are a data set of their own. Graphs that print gives the same name (Citeseer occurs twice) are
    named with their table.
    """
    rows, set_of = [], {}
    tables = [table for table in tables if set(WEIGHTS) <= set(table.columns)]
    titles = Counter(row.title for table in tables for row in table.rows)
    for table, row in ((each, row) for each in tables for row in each.rows):
        measured = {column: row.entries[column].measured for column in WEIGHTS}
        if None in measured.values():
            continue
        generated = row.entries["Total"].cell.generated
        title = row.title if titles[row.title] == 1 else f"{row.title} (table {table.name})"
        set_of[title] = "Generated graphs" if generated else _DATA_SETS.get(table.name, "Other graphs")
        for source, bar in (("measured", measured), ("printed", {c: row.entries[c].printed for c in WEIGHTS})):
            if None not in bar.values():
                ms = {column: float(value) for column, value in bar.items()}
                rows += [("graph", table.name, title, generated, source, 1, *each, each[1] / (sum(ms.values()) or 1.0))
                         for each in ms.items()]  # fmt: skip
    single = pandas.DataFrame(rows, columns=WEIGHTS_FRAME).astype({"ms": float, "share": float})
    sets = single.assign(name=single.name.map(set_of)).groupby(
        ["table", "name", "generated", "source", "phase"], sort=False).share  # fmt: skip
    means = sets.agg(graphs="size", share="mean").reset_index().assign(level="data set", ms=float("nan"))
    means["name"] = [f"{name}, {count(graphs, 'graph')}" for name, graphs in zip(means.name, means.graphs, strict=True)]
    return pandas.concat([means, single], ignore_index=True)[list(WEIGHTS_FRAME)] if rows else single


# ------------------------------------------------------------------ Computation 2020

MIB = 1 << 20
HEAD = ("set", "dataset", "generated", "vertices", "edges", "series", "d", "status", "reason")


def computation(cells: Iterable[Cell], sampled: str = "", profile: Path | None = None) -> list[Figure]:
    """Figures 4 to 8; all are empty if the run does not repeat the paper's experiments.

    sampled  a sentence on sampled times
    profile  a CSV file of Nsight Compute

    Raises InputError for a profile that cannot be read.
    """
    cells = list(cells)
    found = points(cells) if (taken := of_paper(cells)) else []
    once = chosen(found)
    stalled = pandas.DataFrame(columns=stalls.COLUMNS) if profile is None else stalls.read(profile)
    peaks, steps = memory(once), shares(once)
    shared = "Unavailable: the run's cells had no processes of their own (process = 'own')."
    untimed = "Unavailable: no GPU implementation of the run has timed phases."
    unread = "" if steps.empty or "read" in set(steps.part) else "Reading was not timed in this run."
    unprofiled = f"Unavailable: the run has no {stalls.FILE} of Nsight Compute."
    note = " ".join(filter(None, (unread, "" if steps.empty else sampled)))
    bars = steps.assign(bar=[f"{row.set}{', generated' * row.generated}: {row.of} ({count(row.cells, 'cell')})"
                             for row in steps.itertuples()])  # fmt: skip
    return [
        _by_d("computation-4", labeling(once), "mean s", sampled),
        _by_d("computation-5", peaks, "MiB", note=shared if taken and peaks.value.isna().all() else ""),
        _by_d("computation-6", queries(found), "mean ms", sampled),
        Figure("computation-7", steps, stacked(bars, "series", "bar"), untimed if taken and steps.empty else note),
        Figure("computation-8", stalled, _stalls(stalled), unprofiled if taken and profile is None else ""),
    ]


def _by_d(name: str, frame: pandas.DataFrame, unit: str, sampled: str = "", note: str = "") -> Figure:
    """A panel per set and series, with a line per graph and a mark per number of label pairs. The panels of a set have
    the same range of values. Batches of queries of another size than the paper's have panels of their own at the end.
    """
    plotted = frame.assign(graph=[batch_label(row) for row in frame.itertuples()], by=[f"d = {d}" for d in frame.d])
    plotted = plotted.assign(
        value=plotted.value.where(plotted.value > 0), other=plotted.graph != plotted.dataset,
        title=[f"{' '.join(filter(None, (row.series, getattr(row, 'memory', ''))))}: {row.set}"
               for row in frame.itertuples()],
    ).sort_values("other", kind="stable")  # fmt: skip
    found = []
    for shared, own in plotted.groupby(["set", "other"], sort=False) if not note else ():
        rows = own[own.groupby("title").value.transform("count") + (~own.status.isin(TIMED)) > 0]
        if own.value.notna().any():
            made = marks(rows, "by", "graph", "value", panel="title", name="graph", unit=f" {unit}", opened="generated",
                         named=True)  # fmt: skip
            found += [replace(panel, shared=str(shared)) for panel in made]
    form = Marks(tuple(found), tuple(f"d = {d}" for d in sorted(set(frame.d))), Axis(unit), Axis(scale="names"))
    missing = lost(frame)
    missing = f"Lost: {missing[:900]}{'…' if len(missing) > 900 else ''}." if missing else ""
    return Figure(name, frame, form, noted(frame, sampled, note), missing)


def _frame(rows: Iterable[tuple[Point, dict]], *columns: str) -> pandas.DataFrame:
    """A row per point: `HEAD`, then values of its own with the bounds of their 95 % interval."""
    lines = [
        {name: getattr(point.cell, name, None) for name in HEAD}
        | {"set": point.set, "series": point.series.name, "d": point.d, **own} for point, own in rows
    ]  # fmt: skip
    frame = pandas.DataFrame(lines, columns=[*HEAD, *columns, "low", "high"])
    return frame.astype(dict.fromkeys(("value", "low", "high"), float))


def labeling(found: list[Point]) -> pandas.DataFrame:
    """Figure 4, one row per cell: `HEAD`, trials, mean seconds of labeling with (`value`) and without (`label_s`)
    transfer and allocation. Bounds are sums of those of the phases, at least as wide as exact ones."""

    def line(p: Point) -> dict:
        if p.labeling_ms is None:
            return {"trials": p.cell.trials}
        parts = [p.cell.phases["", name] for name in ("label", *p.beside)]
        low, high = (sum(getattr(part, end) for part in parts) / 1e3 for end in ("low", "high"))
        return {"trials": p.cell.trials, "value": p.labeling_ms / 1e3, "label_s": p.mean("label") / 1e3,
                "low": low, "high": high}  # fmt: skip

    return _frame(((p, line(p)) for p in found), "trials", "value", "label_s").astype({"label_s": float})


def memory(found: list[Point]) -> pandas.DataFrame:
    """Figure 5, one row per cell and memory ('host', on GPUs also 'device'): `HEAD`, memory, peak in MiB (`value`)."""
    peaks = ((p, name, getattr(p.cell, f"{name}_peak_bytes")) for p in found for name in ("host", "device")
             if name == "host" or p.series.impl.startswith("gpu"))  # fmt: skip
    rows = ((p, {"memory": name, "value": peak / MIB if peak is not None and p.cell.sound else None})
            for p, name, peak in peaks)  # fmt: skip
    return _frame(rows, "memory", "value")


def queries(found: list[Point]) -> pandas.DataFrame:
    """Figure 6, one row per cell: `HEAD`, trials, number of queries in the batch, positive queries, mean ms of the
    batch (`value`)."""
    rows = []
    for p in found:
        s = p.cell.stats("query") if p.cell.sound else None
        rows.append((p, {"trials": p.cell.trials, "queries": p.cell.batch, "positives": p.cell.positives,
                         "value": s and s.mean, "low": s and s.low, "high": s and s.high}))  # fmt: skip
    return _frame(rows, "trials", "queries", "positives", "value").astype({"queries": "Int64", "positives": "Int64"})


def batch_label(row) -> str:
    """The graph of a row of a frame, and the size of its batch of queries if it differs from the paper's; one of
    unknown size (None or pandas' NA) is taken for that."""
    batch = getattr(row, "queries", None)
    usual = not isinstance(batch, Integral) or batch == PRINTED_QUERIES
    return row.dataset if usual else f"{row.dataset}, {batch:,}"


def lost(frame: pandas.DataFrame) -> str:
    """The cells of a frame without a sound time, and why: 'gpu-path d=4,5 on dag_11-like: OUT OF MEMORY, ...'."""
    groups: dict[tuple, dict[int, None]] = {}
    for row in frame[~frame.status.isin(TIMED)].itertuples():
        groups.setdefault((row.series, batch_label(row), row.status, row.reason), {})[row.d] = None
    return "; ".join(
        f"{series} d={','.join(map(str, d))} on {graph}: {status.upper()}{f', {reason}' if reason else ''}"
        for (series, graph, status, reason), d in groups.items()
    )


def shares(found: list[Point]) -> pandas.DataFrame:
    """Figure 7: series, set, generated, of ('steps': the labeling; 'all': also reading, allocation and transfer),
    number of cells, part, and the mean over the cells of the part's share.

    Reading is the time to load the graph from the cache; it is in 'all' only if all of the cells have it.
    """
    stepped = (point for point in found if point.series.impl.startswith("gpu") and point.steps)
    groups = grouped(stepped, lambda point: (point.series.name, point.set, point.cell.generated))
    rows = []
    for key, own in groups.items():
        reading = all(point.cell.read_ms is not None for point in own)
        read = [{"read": point.cell.read_ms} if reading else {} for point in own]
        whole = [{**each, **point.beside, **point.steps} for each, point in zip(read, own, strict=True)]
        for of, parts in (("steps", [point.steps for point in own]), ("all", whole)):
            for name in dict.fromkeys(name for part in parts for name in part):
                mean = sum(part.get(name, 0.0) / sum(part.values()) for part in parts) / len(parts)
                rows.append((*key, of, len(own), name.replace("_", " "), mean))
    return pandas.DataFrame(rows, columns=["series", "set", "generated", "of", "cells", "part", "share"])


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
    return {name: Figure(name, frame, _by_vertices(name, frame)) for name, frame in frames.items()}


def _copies(frame: pandas.DataFrame) -> pandas.DataFrame:
    """One row per phase, implementation and number of vertices: the times over all kinds of graphs, whose bounds are
    the least and the greatest."""
    groups = frame.groupby(["phase", "impl", "vertices"], sort=False)
    found = groups.agg(trials=("trials", "sum"), mean=("mean", "mean"), least=("least", "min"), most=("most", "max"))
    return found.reset_index().assign(low=found.least.array, high=found.most.array)


def _by_vertices(name: str, frame: pandas.DataFrame) -> Marks:
    """A panel per kind of graph (in figure 6 per direction of copying), with a line per implementation."""
    frame = frame[frame["mean"] > 0]
    if name == "closure-6":
        titles = frame.phase.map(_COPIES)
    else:
        titles = [TITLES[row.kind] + ("" if pandas.isna(row.density) else f", density {row.density:g}")
                  for row in frame.itertuples()]  # fmt: skip
    frame = frame.assign(title=titles, series=_series(frame), graph=frame.vertices.map(str))
    found = marks(frame, "series", "vertices", "mean", panel="title", name="graph")
    across = Axis("vertices", "log" if name == "closure-kernels" else "linear")
    order, named = fenz.order(frame.impl), dict(zip(frame.series, frame.impl, strict=True))
    ranked = sorted(named, key=lambda series: order.index(named[series]))
    return Marks(found, tuple(ranked), across, Axis("ms"), lines=True)


def _series(frame: pandas.DataFrame) -> list[str]:
    """The name of each row's implementation, with its threads unless it never has more than one."""
    threads = frame.threads.fillna(1).astype(int) if "threads" in frame else [1] * len(frame)
    rows = list(zip(frame.impl, threads, strict=True))
    several = {impl for impl, number in rows if number > 1}
    return [fenz.series_name(impl) + (f", {count(number, 'thread')}" if impl in several else "")
            for impl, number in rows]  # fmt: skip


# ------------------------------------------------------------------ Pathak et al.: searches and shortest paths


def traversals(measured: Iterable[Cell]) -> dict[str, Figure]:
    """Every figure of a run by name; a figure without data has an empty form. A mark is the median over the trials of a
    cell, with its 95 % bootstrap interval."""
    found = pathak.cells(measured)
    timed = found[found.ms.notna()]
    wrong = {"traversal-sssp": "; ".join(pathak.wrong_shares(found))}
    figures = []
    for problem in pathak.PROBLEMS:
        own = timed[timed.problem == problem]
        form = alone(marks(own, "impl", "dataset", "ms", named=True), Axis("ms"), Axis(scale="names"), _ranked(own))
        figures.append((f"traversal-{problem}", own, form))
    coarse = _coarsening(timed)
    plotted = coarse.assign(
        low=coarse.low * coarse.relative / coarse.ms, high=coarse.high * coarse.relative / coarse.ms
    )
    x, y = Axis("vertices a thread", "log2"), Axis("time over that of one vertex a thread", "linear")
    form = alone(marks(plotted, "dataset", "factor", "relative", name="impl", unit=""), x, y, lines=True)
    figures.append(("traversal-coarsening", coarse, form))
    rated = timed[timed.rate.notna()]
    plotted = rated.assign(graph=rated.problem + " " + rated.dataset, rate=rated.rate / 1e6, low=rated.rate_low / 1e6,
                         high=rated.rate_high / 1e6)  # fmt: skip
    found = marks(plotted, "impl", "graph", "rate", name="graph", unit=" million edges a second", named=True)
    form = alone(found, Axis("million edges a second"), Axis(scale="names"), _ranked(rated))
    figures.append(("traversal-teps", rated, form))
    return {name: Figure(name, frame.drop(columns=list(pathak.MORE)), form, wrong.get(name, ""))
            for name, frame, form in figures}  # fmt: skip


def _ranked(frame: pandas.DataFrame) -> list[str]:
    return sorted(set(frame.impl), key=pathak.rank)


def _coarsening(timed: pandas.DataFrame) -> pandas.DataFrame:
    """The cells of the coarsened implementations, with `factor` and with `relative`, the time divided by that with
    factor 1 on the same graph."""
    part = timed[timed.impl.str.startswith("coarsened-")].copy()
    part["factor"] = [int(impl.rpartition("-")[2]) for impl in part.impl]
    part["relative"] = part.ms / part.dataset.map(part[part.factor == 1].set_index("dataset").ms)
    return part[part.relative.notna()]


# ------------------------------------------------------------------ reading

_READING = ("dataset", "vertices", "edges", "impl", "status", "reason", "trials", "median", "median_low", "median_high",
            "rate")  # fmt: skip


def reading(measured: Iterable[Cell]) -> dict[str, Figure]:
    """The figure of problem `read` by its name: the time to read a graph from its file."""
    lines = []
    for cell in (cell for cell in measured if cell.problem == "read"):
        s = cell.stats("solve") if cell.sound else None
        rate = median(cell.rates.values()) if s and cell.rates else None
        times = (s.trials, s.median, s.median_low, s.median_high, rate) if s else (0, None, None, None, None)
        lines.append((cell.dataset, cell.vertices, cell.edges, cell.impl, cell.status, cell.reason, *times))
    frame = pandas.DataFrame(lines, columns=list(_READING))
    timed = frame[frame["median"].notna()].sort_values("impl", kind="stable")
    found = marks(timed, "impl", "edges", "median", bounds=("median_low", "median_high"))
    return {"reading": Figure("reading", frame, alone(found, Axis("edges"), Axis("median ms")))}


#: the function that makes the figures from cells, by problem; those of reachability are in `report.figures`
FIGURES = {"bfs": traversals, "sssp": traversals, "apsp": traversals, "closure": closures, "read": reading}
