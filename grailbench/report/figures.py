"""The figures of a run by name, and as files: SVG and PNG, each with its data as CSV.

Here are those that any run of reachability has, and the trials of any run; `papers.figures` has those of papers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench.errors import InputError, NothingMeasured
from grailbench.harness.cells import Cell
from grailbench.harness.rows import SOUND
from grailbench.harness.statistics import Mean, Stats
from grailbench.problems import contract
from grailbench.problems.contract import USUAL
from grailbench.report import document, draw, frames, stalls, tradeoffs
from grailbench.report.captions import CAPTIONS
from grailbench.report.destination import WHY, folder_for, save
from grailbench.report.document import Report
from grailbench.report.draw import style
from grailbench.report.figure import Axis, Bar, Bars, Figure, Grid, Mark, Marks, Part, Tile, bounded, of_trials, panels
from grailbench.report.frames import graph_label, series_label
from grailbench.report.papers import figures as papers
from grailbench.report.papers import wording
from grailbench.report.papers.beside import Filled
from grailbench.util.words import BLANK, clip, short, times

if TYPE_CHECKING:
    import pandas

FOLDER = "figures"
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
) -> list[Path]:
    """Draw figures of a run (None: the latest) into a folder, each file atomically; returns the paths.

    names    which of `captions.CAPTIONS`, all by default; further pages of a long figure are NAME-2 and so on
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
    chosen = [drawn[name] for name in names or drawn if drawn[name].drawable]
    return [save(where / file, data) for figure in chosen for file, data in draw.files(figure, source, form)]


def of_report(
    report: Report, reference: str | None = None, phase: str = "query", profile: Path | None = None
) -> dict[str, Figure]:
    """Every figure of every problem of a report's run, by name; a figure without data has an empty form.

    `reference`, `phase` and `profile` apply to reachability. Raises the errors of `of_cells`.
    """
    found: dict[str, Figure] = {}
    if report.cells:
        found |= of_cells(report.cells, report.tables, reference, phase, profile)
    for figures in dict.fromkeys(wording(name).figures for name in report.run.problems):
        found |= figures(report.run.cells) if figures else {}
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


def _notes(frame: pandas.DataFrame, *texts: str) -> str:
    """The texts that are not empty, in one line; the last one, on sampled times, only if the frame has such times."""
    return " ".join(filter(None, texts if (frame.status == "sampled").any() else texts[:-1]))


# ------------------------------------------------------------------ phases


def phases(frame: pandas.DataFrame, sampled: str) -> Figure:
    """A panel per graph and query set with any time: a bar per configuration with the total at its end."""
    bars = []
    for _, part in frame.groupby(["dataset", "queries"], sort=False):
        if part.ms.notna().any():
            title = graph_label(next(part.itertuples()))
            bars += [(title, _bar(title, str(config), [*own.itertuples()]))
                     for config, own in part.groupby("config", sort=False)]  # fmt: skip
    form = Bars(panels(bars), tuple(dict.fromkeys(frame.segment[frame.segment != ""])))
    return Figure("phases", frame, form, _notes(frame, sampled), frames.missing(frame))


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
    """A panel per phase with medians and their intervals."""
    rows = frame[(frame["median"] > 0) & (frame.edges > 0)]
    marks = [
        (str(row.phase), Mark(
            series_label(row), float(row.edges), row.median, f"{row.dataset}, {series_label(row)}: "
            f"{bounded(row.median, row.median_low, row.median_high)}, {row.edges:,} edges",
            row.median_low, row.median_high, row.generated,
        ))
        for row in rows.itertuples()
    ]  # fmt: skip
    found = []
    for panel in panels(marks):
        graphs = rows[rows.phase == panel.title].drop_duplicates("dataset").sort_values(["edges", "dataset"])
        above = tuple((float(row.edges), clip(row.dataset, 16)) for row in graphs.itertuples())
        found.append(replace(panel, above=above))
    words = [*(f"{10**k} ns an edge" for k in range(3)), *(f"{10**k} µs an edge" for k in range(4))]
    guides = tuple((10.0 ** (k - 6), word) for k, word in enumerate(words))
    form = Marks(tuple(found), tuple(dict.fromkeys(mark.series for _, mark in marks)), Axis("edges"), Axis("median ms"),
                 guides=guides, guided=("label", "ready"), across=1)  # fmt: skip
    return Figure("edges", frame, form, _notes(frame, sampled), frames.missing(frame))


def counters(frame: pandas.DataFrame) -> Figure:
    """A panel per counter that is not the same for all cells, with a line per graph."""
    several = frame[frame["count"] > 0].groupby("counter")["count"].nunique()
    marks = [
        (row.counter.replace("_", " "), Mark(
            series_label(row), float(row.count), row.dataset, f"{row.dataset}, {series_label(row)}: {row.count:,}",
            open=row.generated,
        ))
        for row in frame.itertuples() if row.count > 0 and several[row.counter] > 1
    ]  # fmt: skip
    names = tuple(dict.fromkeys(series_label(row) for row in frame.itertuples()))
    return Figure("counters", frame, Marks(panels(marks), names, y=Axis(scale="names")))


def trials(cells: Iterable[Cell], link: Callable[[Cell], str] | None = None) -> Figure:
    """Every trial of every phase, in panels of graphs and phases; without a sound time its form is empty.

    link  gives the address behind a cell's trials
    """
    cells = frames.ordered(cells)
    marks: dict[tuple[str, str], list[Mark]] = {}
    lasts = {cell.last_phase for cell in cells}
    for head, cell, phase, stats in timed(cells):
        problem = "" if cell.problem == USUAL else cell.problem
        queries = "" if head["queries"] == "all" else head["queries"]
        title = ", ".join(filter(None, (problem, head["dataset"], queries)))
        more = {"link": link(cell) if link else ""}
        if stats is None:
            word = cell.status.upper() + (f": {cell.reason}" if cell.reason else "")
            mark = Mark(cell.impl, None, head["config"], word=word, **more)
        else:
            low, high = (stats.median_low, stats.median_high) if stats.trials > 1 else (None, None)
            hint = f"{title}, {head['config']}, {phase}: {of_trials(stats.times, stats.median, low, high)}"
            mark = Mark(cell.impl, stats.median, head["config"], hint, low, high, trials=stats.times, **more)
        marks.setdefault((title, phase), []).append(mark)
    titles = list(dict.fromkeys(title for title, _ in marks))
    order = sorted(marks, key=lambda key: (titles.index(key[0]), key[1] == "ready", key[1] in lasts))
    found = panels((f"{title}: {phase}", mark) for title, phase in order for mark in marks[title, phase])
    found = tuple(panel for panel in found if any(mark.trials for mark in panel.items))
    names = tuple(dict.fromkeys(mark.series for panel in found for mark in panel.items))
    frame = _trials(cells)
    form = Marks(found, names, Axis("ms"), Axis(scale="names"), across=1)
    return Figure(TRIALS, frame, form, missing=frames.missing(frame) if found else "")


def timed(cells: list[Cell]) -> Iterator[tuple[dict, Cell, str, Stats | None]]:
    """Each cell with its `frames.HEAD`, for each top phase that it was timed in; of one without a sound time the last
    phase, without statistics."""
    for head, cell in frames.headed(cells):
        found = [
            phase for phase in (*contract.problem(cell.problem).phases, "ready") if cell.sound and cell.stats(phase)
        ]
        for phase in found:
            yield head, cell, phase, cell.stats(phase)
        if not found:
            yield head, cell, cell.last_phase, None


def _trials(cells: list[Cell]) -> pandas.DataFrame:
    """A row per cell, phase and trial: `frames.HEAD`, phase, trial, ms."""
    lines = []
    for head, cell, phase, stats in timed(cells):
        each = cell.times["", phase] if stats else {None: None}
        lines += [head | {"phase": phase if stats else "", "trial": trial, "ms": ms} for trial, ms in each.items()]
    return frames.frame(lines, "phase", "trial", "ms", numbers=["ms"]).astype({"trial": "Int64"})


# ------------------------------------------------------------------ speed-ups


def speedup(cells: list[Cell], reference: str, phase: str, sampled: str = "") -> Figure:
    """The speed-ups over a configuration in a phase."""
    frame = frames.speedup(cells, reference, phase)
    noted = f"Reference: {reference}. Phase: {phase}."
    return Figure("speedup", frame, speedups(cells, reference, phase), _notes(frame, noted, sampled))


def speedups(cells: Iterable[Cell], reference: str, phase: str, others: Iterable[str] = ()) -> Grid:
    """A line per graph and a column per configuration; after the graphs of each query set their geometric mean, apart
    for generated graphs. Empty if no cell can be compared with the reference.

    others  the phases whose medians the tiles have too
    """
    cells = frames.ordered(cells)
    each = {name: frames.speedup(cells, reference, name) for name in dict.fromkeys([*others, phase])}
    chosen = each[phase]
    if not chosen.speedup.notna().any():
        return Grid((), ())
    configs, lines, ends = tuple(dict.fromkeys(chosen.config)), [], []
    medians: dict[tuple, list[tuple[str, str]]] = {}
    for name, frame in each.items():
        for row in frame[frame.ms.notna()].itertuples():
            medians.setdefault((row.dataset, row.queries, row.config), []).append((name, repr(float(row.ms))))
    for (generated, queries), part in chosen.groupby(["generated", "queries"], sort=False):
        for dataset, own in part.groupby("dataset", sort=False):
            rows = {row.config: row for row in own.itertuples()}
            tiles = (_ratio(rows.get(config), medians.get((dataset, queries, config), ())) for config in configs)
            lines.append((graph_label(next(own.itertuples())), tuple(tiles)))
        means = frames.mean_slowdowns(part)
        ends.append(len(lines))
        words = ("geometric mean", queries, "generated graphs" if generated else "")
        lines.append((", ".join(filter(None, words)), tuple(_mean(means.get(config)) for config in configs)))
    return Grid(configs, tuple(lines), frozenset(ends))


def _ratio(row, medians: Iterable[tuple[str, str]]) -> Tile:
    if row is None:
        return Tile("", hint="not in the run")
    if row.status not in SOUND:
        return Tile(row.status.upper(), bad=True, hint=row.reason or row.status)
    text, depth = _tinted(row.speedup)
    return Tile(text, depth, hint=f"{short(row.ms)} ms", times=tuple(medians))


def _mean(mean: Mean | None) -> Tile:
    return Tile(BLANK) if mean is None else Tile(*_tinted(1 / mean.value), over=frames.over(mean))


def _tinted(speedup: float) -> tuple[str, float]:
    """The text and the depth of a speed-up's tint."""
    return (times(speedup), math.copysign(style.depth(speedup), speedup - 1.0)) if speedup > 0 else (BLANK, 0.0)
