"""The figures of a run by name, and as files: SVG and PNG, each with its data as CSV.

Here are those that any run of reachability has, and the trials of any run; `papers.figures` has those of papers.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pandas

from grailbench.errors import InputError, NothingMeasured
from grailbench.harness.cells import Cell
from grailbench.harness.rows import TIMED
from grailbench.problems import contract
from grailbench.report import document, draw, frames, stalls, tradeoffs
from grailbench.report.captions import CAPTIONS
from grailbench.report.destination import WHY, folder_for
from grailbench.report.figure import Axis, Bar, Bars, Figure, Mark, Marks, Part, alone, bounded, marks, noted, panels
from grailbench.report.papers import figures as papers
from grailbench.report.papers.beside import Filled
from grailbench.util.words import clip, count, short

FOLDER = "figures"
FEW = 4  #: figures that are drawn of a run unless some are named
_FIRST = ("speedup", "edges", "tradeoff-build", "printed")  #: those of reachability that come first
TRIALS = "strips"  #: the name of the figure of every trial


def write(
    run: str | None,
    names: Iterable[str] = (),
    out: str | Path | None = None,
    form: str = "both",
    reference: str | None = None,
    phase: str = "query",
    profile: str | Path | None = None,
    machine: str | None = None,
    everything: bool = False,
) -> list[Path]:
    """Draw figures of a run (None: the latest) into a folder, each file atomically; returns the paths.

    names    which of `captions.CAPTIONS`, by default the `FEW` that say most, or with `everything` all; further pages
             of a long figure are NAME-2 and so on
    out      the folder, by default `figures` in the run's folder
    profile  the CSV of Nsight Compute for figure 8, by default `ncu.csv` in the run's folder
    machine  of a run on unlike workers, that whose measurements are drawn

    Raises InputError for an unknown name or reference and for a recorded run without `out`, NothingMeasured if the run
    has no sound time or a figure of `names` has no data.
    """
    report, names = document.of_run(run, machine=machine), list(names)
    document.check_measured(report)
    found = report.run
    drawn = of_report(report, reference, phase, stalls.of_run(found.folder, profile))
    for name in names:
        if name not in drawn:
            raise InputError(f"no figure {name!r} of this run", remedy=f"choose among {', '.join(drawn)}")
        if not drawn[name].drawable:
            raise NothingMeasured(f"{found.title}: it has nothing to show in figure {name!r}")
    where = folder_for(found.folder, FOLDER, out)
    if where is None:
        raise InputError(WHY, path=found.folder, remedy="name a folder: --out DIR")
    source = f"{report.title}. {report.machine}"
    if not names and not everything:
        rank = {name: at for at, name in enumerate(_FIRST)} | {TRIALS: FEW + 1}  # it has a page for each few graphs
        names = sorted((name for name in drawn if drawn[name].drawable), key=lambda name: rank.get(name, FEW))[:FEW]
    return draw.save([drawn[name] for name in names or drawn], where, source, form)


def of_report(
    report: document.Report, reference: str | None = None, phase: str = "query", profile: Path | None = None
) -> dict[str, Figure]:
    """Every figure of every problem of a report's run, by name; a figure without data has an empty form.

    `reference`, `phase` and `profile` apply to reachability. Raises the errors of `of_cells`.
    """
    found = of_cells(report.cells, report.tables, reference, phase, profile) if report.cells else {}
    for figures in dict.fromkeys(papers.FIGURES[name] for name in report.run.problems if name in papers.FIGURES):
        found |= figures(report.run.cells)
    of_all = [*tradeoffs.of_run(report.run), trials(report.run.cells)]
    found |= {figure.name: figure for figure in of_all}
    return {name: found[name] for name in CAPTIONS if name in found}


def of_cells(
    cells: Iterable[Cell],
    tables: Iterable[Filled],
    reference: str | None = None,
    phase: str = "query",
    profile: Path | None = None,
) -> dict[str, Figure]:
    """Every figure of cells of reachability by name, in the order of `captions.CAPTIONS`; a figure without data has an
    empty form.

    tables     the published tables of the run
    reference  the configuration for speed-ups, as `frames.choose_reference` takes it
    phase      the phase for speed-ups
    profile    the CSV file of Nsight Compute for figure 8 of Computation 2020

    Raises InputError for a reference that is not exactly one configuration, or a profile that cannot be read.
    """
    cells, tables = frames.ordered(cells), list(tables)
    sampled = _sampled(cells)
    found = [
        papers.printed(tables, sampled),
        phases(frames.phases(cells), sampled),
        papers.weights(tables, sampled),
        edges(frames.edges(cells), sampled),
        speedup(cells, frames.choose_reference(cells, reference), phase, sampled),
        counters(frames.counters(cells)),
        *papers.computation(cells, sampled, profile),
    ]
    return {figure.name: figure for figure in found}


def _sampled(cells: list[Cell]) -> str:
    """A sentence on the graphs with sampled times, '' if there are none. A graph of which other cells were fully
    checked is named with the query set."""
    checked = {cell.dataset for cell in cells if cell.sound and cell.status != "sampled"}
    found = dict.fromkeys(
        f"{cell.dataset} ({cell.query_set})" if cell.dataset in checked else cell.dataset
        for cell in cells
        if cell.status == "sampled"
    )
    return f"Sampled, not every answer checked: {', '.join(found)}." if found else ""


# ------------------------------------------------------------------ phases


def phases(frame: pandas.DataFrame, sampled: str) -> Figure:
    """A panel per graph and query set with any time: a bar per configuration with the total at its end."""
    bars = []
    for _, part in frame.groupby(["dataset", "queries"], sort=False):
        if part.ms.notna().any():
            title = frames.labels(part, "dataset")[0]
            bars += [(title, _bar(title, str(config), [*own.itertuples()]))
                     for config, own in part.groupby("config", sort=False)]  # fmt: skip
    form = Bars(panels(bars), tuple(dict.fromkeys(frame.segment[frame.segment != ""])))
    return Figure("phases", frame, form, noted(frame, sampled), frames.missing(frame))


def _bar(title: str, config: str, rows: list) -> Bar:
    first = rows[0]
    if all(math.isnan(row.ms) for row in rows):
        return Bar(config, (), lost=first.status.upper() + (f": {first.reason}" if first.reason else ""))
    head = f"{title}, {config}"
    parts = (Part(row.segment, row.ms, f"{head}, {row.segment}: {short(row.ms)} ms, {row.share:.0%}") for row in rows)
    status = "" if first.status == "ok" else f" ({first.status})"
    return Bar(config, tuple(parts), f"{short(sum(row.ms for row in rows))} ms{status}")


# ------------------------------------------------------------------ edges, counters, trials


def edges(frame: pandas.DataFrame, sampled: str) -> Figure:
    """A panel per phase with medians and their intervals, below the names of the graphs."""
    rows = frame[(frame["median"] > 0) & (frame.edges > 0)]
    rows = rows.assign(series=frames.labels(rows, "config"))
    words = [*(f"{10**k} ns an edge" for k in range(3)), *(f"{10**k} µs an edge" for k in range(4))]
    guides = tuple((10.0 ** (k - 6), word) for k, word in enumerate(words))
    found = []
    for panel in marks(rows, "series", "edges", "median", panel="phase", bounds=("median_low", "median_high"),
                       opened="generated"):  # fmt: skip
        graphs = rows[rows.phase == panel.title].drop_duplicates("dataset").sort_values(["edges", "dataset"])
        above = tuple((float(row.edges), clip(row.dataset, 16)) for row in graphs.itertuples())
        found.append(replace(panel, above=above, guides=guides if panel.title in ("label", "ready") else ()))
    form = alone(tuple(found), Axis("edges"), Axis("median ms"), dict.fromkeys(rows.series))
    return Figure("edges", frame, form, noted(frame, sampled), frames.missing(frame))


def counters(frame: pandas.DataFrame) -> Figure:
    """A panel per counter that is not the same for all cells, with a line per graph."""
    frame = frame.assign(series=frames.labels(frame, "config"))
    counted = frame[frame["count"] > 0].assign(title=frame.counter.str.replace("_", " "))
    several = counted.groupby("counter")["count"].transform("nunique") > 1
    found = marks(counted[several], "series", "dataset", "count", panel="title", bounds=None, unit="",
                  opened="generated", named=True)  # fmt: skip
    form = Marks(found, tuple(dict.fromkeys(frame.series)), y=Axis(scale="names"))
    return Figure("counters", frame.drop(columns="series"), form)


def trials(cells: Iterable[Cell], link: Callable[[Cell], str] | None = None) -> Figure:
    """Every trial of every phase, in panels of graphs and phases; without a sound time its form is empty.

    link  gives the address behind a cell's trials
    """
    found: dict[tuple[str, str], list[Mark]] = {}
    lines, last = [], {}
    for head, cell in frames.headed(frames.ordered(cells)):
        problem, queries = ("" if word in (contract.USUAL, "all") else word for word in (cell.problem, head["queries"]))
        title, address = ", ".join(filter(None, (problem, head["dataset"], queries))), link(cell) if link else ""
        timed = [name for name in (*contract.problem(cell.problem).phases, "ready") if cell.sound and cell.stats(name)]
        last[title] = cell.last_phase
        for phase in timed:
            s = cell.stats(phase)
            low, high = (s.median_low, s.median_high) if s.trials > 1 else (None, None)
            span = f", {short(s.least)} to {short(s.most)} ms" if s.trials > 1 else ""
            hint = f"{title}, {head['config']}, {phase}: {count(s.trials, 'trial')}{span}, median "
            hint += bounded(s.median, low, high)
            mark = Mark(cell.impl, s.median, head["config"], hint, low, high, link=address, trials=s.times)
            found.setdefault((title, phase), []).append(mark)
            lines += [head | {"phase": phase, "trial": at, "ms": ms} for at, ms in cell.times["", phase].items()]
        if not timed:
            word = cell.status.upper() + (f": {cell.reason}" if cell.reason else "")
            mark = Mark(cell.impl, None, head["config"], word=word, link=address)
            found.setdefault((title, cell.last_phase), []).append(mark)
            lines.append(head | {"phase": "", "trial": None, "ms": None})
    titles = list(dict.fromkeys(title for title, _ in found))
    order = sorted(found, key=lambda key: (titles.index(key[0]), key[1] == "ready", key[1] == last[key[0]]))
    plotted = [key for key in order if any(mark.trials for mark in found[key])]
    drawn = panels((f"{title}: {phase}", mark) for title, phase in plotted for mark in found[title, phase])
    frame = frames.frame(lines, "phase", "trial", "ms", numbers=["ms"]).astype({"trial": "Int64"})
    missing = frames.missing(frame) if drawn else ""
    return Figure(TRIALS, frame, alone(drawn, Axis("ms"), Axis(scale="names")), missing=missing)


# ------------------------------------------------------------------ speed-ups


def speedup(cells: Iterable[Cell], reference: str, phase: str, sampled: str = "", problem: str = "") -> Figure:
    """The speed-ups over a configuration in a phase, and their geometric means: a line per graph with a mark per
    configuration."""
    cells = frames.ordered(cells)
    frame = frames.speedup(cells, reference, phase)
    note = f"Reference: {reference}. Phase: {phase}."
    title, caption = CAPTIONS["speedup"]
    name, words = ("speedup", None) if not problem else (f"speedup-{problem}", (f"{title}, {problem}", caption))
    names = frames.labels(frame, "dataset")
    plotted = frame.assign(graph=names, name=names)
    means = []
    for (generated, queries), part in frame.groupby(["generated", "queries"], sort=False):
        of = ", ".join(filter(None, ("geometric mean", queries, "generated graphs" if generated else "")))
        means += [{"graph": of, "name": f"{of} over {frames.over(mean)}", "config": config, "speedup": 1 / mean.value,
                   "status": "ok"} for config, mean in frames.mean_slowdowns(part).items()]  # fmt: skip
    plotted = pandas.concat([plotted[plotted.speedup.notna() | ~plotted.status.isin(TIMED)], pandas.DataFrame(means)])
    found = marks(plotted, "config", "graph", "speedup", name="name", bounds=None, unit=" times as fast", named=True)
    form = alone(found if means else (), Axis("times as fast as the reference"), Axis(scale="names"))
    return Figure(name, frame, form, noted(frame, sampled, note), words=words)
