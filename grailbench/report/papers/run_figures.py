"""The figures of any run of reachability: time by phase, time by number of edges, speed-up, counters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench.harness.cells import Cell
from grailbench.harness.rows import SOUND
from grailbench.report import figures
from grailbench.report.draw import style
from grailbench.report.figure import Axis, Bar, Bars, Figure, Grid, Mark, Marks, Panel, Part, Tile
from grailbench.report.figures import graph_label, series_label
from grailbench.report.papers import computation_figures, thesis_figures
from grailbench.report.papers.beside import Filled
from grailbench.report.papers.thesis import others
from grailbench.util.words import BLANK, clip, short, times

if TYPE_CHECKING:
    import pandas


def of_report(
    cells: Iterable[Cell],
    tables: Iterable[Filled],
    reference: str | None = None,
    phase: str = "query",
    profile: Path | None = None,
) -> dict[str, Figure]:
    """Every figure of a run by name, in the order of `captions.CAPTIONS`; a figure without data has an empty form.

    tables     the published tables of the run
    reference  the configuration for speed-ups, as `figures.choose_reference` takes it
    phase      the phase for speed-ups
    profile    the CSV file of Nsight Compute for figure 8 of Computation 2020

    Raises InputError for a reference that is not exactly one configuration, or a profile that cannot be read.
    """
    cells = figures.ordered(cells)
    chosen = figures.choose_reference(cells, reference)
    tables = list(tables)
    sampled, speedup = _sampled(cells), figures.speedup(cells, chosen, phase)
    noted = f"Reference: {chosen}. Phase: {phase}.{figures.beside_the_device(cells, chosen, phase)}"
    found = [
        thesis_figures.printed(tables, sampled),
        phases(figures.phases(cells), sampled),
        phase_table(figures.phase_table(cells), sampled),
        thesis_figures.weights([*tables, *others(cells)], sampled),
        edges(figures.edges(cells), sampled),
        Figure("speedup", speedup, _speedups(speedup), _notes(speedup, noted, sampled)),
        counters(figures.counters(cells)),
        *computation_figures.figures(cells, sampled, profile),
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
    shown = texts if (frame.status == "sampled").any() else texts[:-1]
    return " ".join(filter(None, shown))


def phases(frame: pandas.DataFrame, sampled: str) -> Figure:
    """A panel per graph and query set with any time: a bar per configuration with the total at its end."""
    names = tuple(dict.fromkeys(frame.segment[frame.segment != ""]))
    panels = []
    for _, part in frame.groupby(["dataset", "queries"], sort=False):
        if part.ms.notna().any():
            title = graph_label(next(part.itertuples()))
            groups = part.groupby("config", sort=False)
            panels.append(Panel(title, tuple(_bar(title, str(config), [*own.itertuples()]) for config, own in groups)))
    return Figure("phases", frame, Bars(tuple(panels), names), _notes(frame, sampled), figures.missing(frame))


def _bar(title: str, config: str, rows: list) -> Bar:
    first = rows[0]
    if all(math.isnan(row.ms) for row in rows):
        return Bar(config, (), lost=first.status.upper() + (f": {first.reason}" if first.reason else ""))
    head = f"{title}, {config}"
    parts = (Part(row.segment, row.ms, f"{head}, {row.segment}: {short(row.ms)} ms, {row.share:.0%}") for row in rows)
    status = "" if first.status == "ok" else f" ({first.status})"
    return Bar(config, tuple(parts), f"{short(sum(row.ms for row in rows))} ms{status}")


def phase_table(frame: pandas.DataFrame, sampled: str) -> Figure:
    """A heading per graph with a line per cell below it; a column per part, with a deeper colour for a larger share."""
    parts = [name for name in frame.columns if name not in figures.HEAD and frame[name].notna().any()]
    lines, graph = [], None
    for shown, (_, row) in zip(frame.itertuples(), frame.iterrows(), strict=True):
        if graph_label(shown) != graph:
            graph = graph_label(shown)
            lines.append((graph, ()))
        lines.append((shown.config, tuple(_share(row, part, parts) for part in parts)))
    return Figure("phase-table", frame, Grid(tuple(parts), tuple(lines) if parts else ()), _notes(frame, sampled))


def _share(row, part: str, parts: list[str]) -> Tile:
    """The tile of a part of a cell; a cell without a sound time has its status in the first column."""
    if row.status not in SOUND:
        return Tile(_word(row.status), bad=True) if part == parts[0] else Tile("")
    value = row[part] / row["total"] if part not in ("total", "ready") and row["total"] else math.nan
    return Tile(short(row[part]), 0.0 if math.isnan(value) else math.sqrt(value))


def _word(status: str) -> str:
    """A status in as few letters as fit a tile."""
    return {"out of memory": "OOM", "incomplete": "INCOMPL."}.get(status, status.upper())


def edges(frame: pandas.DataFrame, sampled: str) -> Figure:
    """A panel per phase with medians and their intervals."""
    shown = frame[(frame["median"] > 0) & (frame.edges > 0)]
    names = tuple(dict.fromkeys(series_label(row) for row in shown.itertuples()))
    panels = []
    for phase, part in shown.groupby("phase", sort=False):
        marks = tuple(
            Mark(
                series_label(row), float(row.edges), row.median,
                f"{row.dataset}, {series_label(row)}: {short(row.median)} ms (95 %: {short(row.median_low)} to "
                f"{short(row.median_high)}), {row.edges:,} edges",
                row.median_low, row.median_high, row.generated,
            )
            for row in part.itertuples()
        )  # fmt: skip
        graphs = part.drop_duplicates("dataset").sort_values(["edges", "dataset"])
        above = tuple((float(row.edges), clip(row.dataset, 16)) for row in graphs.itertuples())
        panels.append(Panel(str(phase), marks, above=above))
    words = [*(f"{10**k} ns an edge" for k in range(3)), *(f"{10**k} µs an edge" for k in range(4))]
    guides = tuple((10.0 ** (k - 6), word) for k, word in enumerate(words))
    form = Marks(tuple(panels), names, Axis("edges"), Axis("median ms"), guides=guides, guided=("label", "ready"),
                 across=1)  # fmt: skip
    return Figure("edges", frame, form, _notes(frame, sampled), figures.missing(frame))


def counters(frame: pandas.DataFrame) -> Figure:
    """A panel per counter that is not the same for all cells, with a line per graph."""
    names = tuple(dict.fromkeys(series_label(row) for row in frame.itertuples()))
    panels = []
    for counter, part in frame[frame["count"] > 0].groupby("counter", sort=False):
        if part["count"].nunique() > 1:
            marks = [
                Mark(name := series_label(row), float(row.count), row.dataset, f"{row.dataset}, {name}: {row.count:,}",
                     open=row.generated)
                for row in part.itertuples()
            ]  # fmt: skip
            panels.append(Panel(str(counter).replace("_", " "), tuple(marks)))
    return Figure("counters", frame, Marks(tuple(panels), names, y=Axis(scale="names")))


def _speedups(frame: pandas.DataFrame) -> Grid:
    """For each query set a line per graph, then their geometric mean; generated graphs stand after real ones."""
    if not frame.speedup.notna().any():
        return Grid((), ())
    configs = tuple(dict.fromkeys(frame.config))
    lines = []
    for (generated, queries), group in frame.groupby(["generated", "queries"]):
        for _, part in group.groupby("dataset", sort=False):
            own = {row.config: row for row in part.itertuples()}
            tiles = tuple(_ratio(own.get(config)) for config in configs)
            lines.append((graph_label(next(part.itertuples())), tiles))
        means = {mean.config: mean for mean in figures.mean_speedups(group)}
        words = ("geometric mean", queries, "generated" if generated else "")
        lines.append((", ".join(filter(None, words)), tuple(_mean(means.get(config)) for config in configs)))
    return Grid(configs, tuple(lines))


def _ratio(row) -> Tile:
    if row is None:
        return Tile("")
    if not row.speedup > 0:
        return Tile(BLANK) if row.status in SOUND else Tile(_word(row.status), bad=True)
    return _tinted(times(row.speedup), row.speedup)


def _mean(mean: figures.MeanSpeedup | None) -> Tile:
    if mean is None:
        return Tile(BLANK)
    return _tinted(f"{times(mean.speedup)}\n{figures.over(mean)}".replace(", ", "\n"), mean.speedup)


def _tinted(text: str, speedup: float) -> Tile:
    return Tile(text, math.copysign(style.depth(speedup), speedup - 1.0))
