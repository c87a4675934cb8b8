"""The report's figures with matplotlib (the extra `plots`), as SVG and PNG, each with its data as CSV.

The same rows give the same SVG, byte for byte, with the same matplotlib: no dates, and fixed ids.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench.errors import InputError, MachineLacks, NothingMeasured
from grailbench.graph.store import atomic_file
from grailbench.report import document, figures, plots_computation, stalls, suites
from grailbench.report import figures_style as style
from grailbench.report.figures import Figure, graph_label, series_label, short
from grailbench.report.places import WHY, place
from grailbench.report.sheet import (
    BAD,
    COLUMNS,
    INK,
    LINES,
    PANELS,
    SOFT,
    Sheet,
    chunks,
    even,
    inches,
    lay_panels,
    log_axes,
    put_mark,
    rendered,
    styled,
)
from grailbench.runs.rows import SOUND

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FORMATS = ("svg", "png", "both")
FOLDER = "figures"
CELL = (0.78, 0.27)  #: inches of a cell of a coloured grid


def write(
    run: str | None,
    names: Iterable[str] = (),
    out: str | Path | None = None,
    form: str = "both",
    reference: str | None = None,
    phase: str = "query",
    profile: str | Path | None = None,
) -> list[Path]:
    """Draw the figures of a run (None: the latest) into `out`, by default its folder `figures`; returns the paths.

    `names`: which of `figures.FIGURES`, all by default; a long figure has several pages, NAME-2 and so on. Files are
    written atomically. `profile`: the CSV of Nsight Compute for figure 8, by default `ncu.csv` in the run's folder.
    Raises MachineLacks without matplotlib, InputError for a name or reference that is none and for a recorded run
    without `out`, NothingMeasured when the run has no sound time, or a figure that was asked for has no data.
    """
    _require()
    names = list(names)
    suite = suites.of_run(run)
    if suite is not None:
        suite.check_measured()
        report, folder, drawn = suite, suite.folder, suite.figures()
    else:
        report, folder = document.of_run(run)
        document.check_measured(report)
        drawn = figures.of_report(report.cells, report.tables, reference, phase, stalls.of_run(folder, profile))
    for name in names:
        if name not in drawn:
            raise InputError(f"no figure {name!r} of this run", remedy=f"choose among {', '.join(drawn)}")
        if not drawable(drawn[name]):
            raise NothingMeasured(f"{report.title}: it has nothing to show in figure {name!r}")
    where = place(folder, FOLDER, out)
    if where is None:
        raise InputError(WHY, path=folder, remedy="name a folder: --out DIR")
    source = f"{report.title}. {report.machine}"
    written = []
    for name in names or drawn:
        if drawable(drawn[name]):
            for file, data in _files(drawn[name], source, form):
                written.append(_save(where / file, data))
    return written


def drawable(figure: Figure) -> bool:
    """True when a figure has a mark to draw."""
    if figure.name == "weights":
        return bool((figure.frame.source != "printed").any())
    if figure.name in plots_computation.PAGES:
        return plots_computation.drawable(figure)
    if figure.name in suites.pages():
        return not figure.frame.empty
    column = {"printed": "ratio", "phases": "ms", "phase-table": "total", "edges": "median", "speedup": "speedup"}
    return bool(figure.frame[column.get(figure.name, "count")].notna().any())


def _save(path: Path, data: bytes) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            file.write(data)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=path) from None
    return path


def _files(figure: Figure, source: str, form: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents: each page in each format, then the data."""
    for page, drawing in enumerate(pages(figure, source), 1):
        stem = figure.name if page == 1 else f"{figure.name}-{page}"
        for kind in ("svg", "png") if form == "both" else (form,):
            yield f"{stem}.{kind}", rendered(drawing, kind, figure)
    yield f"{figure.name}.csv", figure.csv.encode()


def pages(figure: Figure, source: str) -> Iterator[Drawing]:
    """The drawings of a figure; `source` says at the foot where the numbers come from."""
    make = plots_computation.PAGES.get(figure.name) or suites.pages().get(figure.name)
    for draw in make(figure) if make else _PAGES[figure.name](figure.frame):
        with styled():
            sheet = Sheet(figure, source)
            draw(sheet)
        yield sheet.drawing


def _require() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MachineLacks(
            "figures as files need matplotlib, the extra 'plots': pip install 'grailbench[plots]' "
            "(in a checkout: pip install -e '.[plots]'); 'grailbench report --html' draws without it"
        ) from None


# ------------------------------------------------------------------ scatter figures


def _printed(frame: pandas.DataFrame) -> Iterator[Callable]:
    def draw(sheet):
        shown = frame[frame.ratio.notna() & (frame.printed > 0)]
        tables = list(dict.fromkeys(shown.table))
        groups = list(shown.groupby("column", sort=False))
        panels = lay_panels(sheet, len(groups), 3.6, even(len(groups), 3.1), [f"table {name}" for name in tables])
        for axes, (column, part) in zip(panels, groups, strict=True):
            both = [*part.printed, *part.measured]
            log_axes(axes, both, both)
            _slopes(axes, ((10.0**k, "equal" if k == 0 else f"{10.0**k:g}×") for k in range(-6, 7)))
            for row in part.itertuples():
                put_mark(axes, row.printed, row.measured, tables.index(row.table), not row.erratum)
            axes.set(title=column, xlabel="printed ms", ylabel="measured ms")

    yield draw


def _slopes(axes: Axes, lines: Iterable[tuple[float, str]]) -> None:
    """Lines y = factor * x, labelled where they leave the panel."""
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    for factor, label in lines:
        low, high = max(x0, y0 / factor), min(x1, y1 / factor)
        if low >= high or math.log(high / low) < 0.2 * math.log(x1 / x0):
            continue
        strong = label == "equal"
        axes.plot([low, high], [low * factor, high * factor], color=SOFT if strong else "#a9b1ba",
                  linewidth=0.9, linestyle="-" if strong else (0, (4, 4)), zorder=1)  # fmt: skip
        box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        axes.annotate(label, (high, high * factor), (-4, -8), textcoords="offset points", ha="right", va="center",
                      fontsize=7, color=SOFT, bbox=box, zorder=2)  # fmt: skip


def _edges(frame: pandas.DataFrame) -> Iterator[Callable]:
    def draw(sheet):
        shown = frame[(frame["median"] > 0) & (frame.edges > 0)]
        names = list(dict.fromkeys(series_label(row) for row in shown.itertuples()))
        groups = list(shown.groupby("phase", sort=False))
        panels = lay_panels(sheet, len(groups), 4.4, even(len(groups), 4.3), names, (0.65, 0.35, 0.85, 0.5))
        for axes, (phase, part) in zip(panels, groups, strict=True):
            log_axes(axes, list(part.edges.astype(float)), list(part["median"]))
            if phase in ("label", "ready"):
                words = [*(f"{10**k} ns an edge" for k in range(3)), *(f"{10**k} µs an edge" for k in range(4))]
                _slopes(axes, ((10.0 ** (k - 6), word) for k, word in enumerate(words)))
            for row in part.itertuples():
                put_mark(axes, float(row.edges), row.median, names.index(series_label(row)), not row.generated)
            _name_graphs(axes, part)
            axes.set(xlabel="edges", ylabel="median ms")
            axes.set_title(phase, pad=40)

    yield draw


def _name_graphs(axes: Axes, part: pandas.DataFrame) -> None:
    """Names above the panel, of as many graphs as have room."""
    low, high = (math.log(bound) for bound in axes.get_xlim())
    last = -1.0
    sizes = part.drop_duplicates("dataset").sort_values(["edges", "dataset"])
    for row in sizes.itertuples():
        place = (math.log(row.edges) - low) / (high - low)
        if place - last > 0.035:
            axes.text(
                place, 1.01, style.clip(row.dataset, 16), transform=axes.transAxes, rotation=40, fontsize=6,
                color=SOFT, ha="left", va="bottom", rotation_mode="anchor",
            )  # fmt: skip
            last = place


def _counters(frame: pandas.DataFrame) -> Iterator[Callable]:
    names = list(dict.fromkeys(series_label(row) for row in frame.itertuples()))
    groups = [
        (counter, part)
        for counter, part in frame[frame["count"] > 0].groupby("counter", sort=False)
        if part["count"].nunique() > 1
    ]
    graphs = list(dict.fromkeys(frame.dataset))
    left = max((inches(style.clip(name, 20), 9) for name in graphs), default=0.0) + 0.2
    for chunk in chunks(groups, PANELS):

        def draw(sheet, chunk=chunk):
            heights = even(len(chunk), 0.8 + 0.2 * len(graphs))
            panels = lay_panels(sheet, len(chunk), 3.9, heights, names, (left, 0.25, 0.3, 0.35))
            for axes, (counter, part) in zip(panels, chunk, strict=True):
                log_axes(axes, list(part["count"].astype(float)), None)
                own = [graph for graph in graphs if graph in set(part.dataset)]
                for row in part.itertuples():
                    where = own.index(row.dataset)
                    put_mark(axes, float(row.count), where, names.index(series_label(row)), not row.generated)
                axes.set_yticks(range(len(own)), labels=[style.clip(name, 20) for name in own])
                axes.set_ylim(len(own) - 0.5, -0.5)
                axes.set_title(str(counter).replace("_", " "))

        yield draw


# ------------------------------------------------------------------ bars and maps


def _phases(frame: pandas.DataFrame) -> Iterator[Callable]:
    names = list(dict.fromkeys(frame.segment[frame.segment != ""]))
    groups = [part for _, part in frame.groupby(["dataset", "queries"], sort=False) if part.ms.notna().any()]
    for chunk in chunks(groups, PANELS):

        def draw(sheet, chunk=chunk):
            most = [max(part.config.nunique() for part in row) for row in chunks(chunk, COLUMNS)]
            heights = [0.45 + 0.33 * bars for bars in most]
            panels = lay_panels(sheet, len(chunk), 3.8, heights, names, (0.1, 0.05, 0.27, 0.1), hatched=True)
            for i, (axes, part) in enumerate(zip(panels, chunk, strict=True)):
                _bars(axes, part, names)
                axes.set_ylim(most[i // COLUMNS] - 0.25, -0.75)
                axes.set_title(graph_label(next(part.itertuples())))

        yield draw


def _bars(axes: Axes, part: pandas.DataFrame, names: list[str]) -> None:
    """A bar a configuration, its name above it, its total at its end."""
    axes.set_axis_off()
    totals = part.groupby("config", sort=False).ms.sum(min_count=1)
    longest = max(totals.max(), 1e-9)
    axes.set_xlim(0, longest * 1.3)
    for i, (config, total) in enumerate(totals.items()):
        own = list(part[part.config == config].itertuples())
        axes.text(0, i - 0.42, style.clip(config, 62), fontsize=6.5, color=SOFT, va="center")
        if math.isnan(total):
            why = own[0].status.upper() + (f": {own[0].reason}" if own[0].reason else "")
            axes.text(0, i, style.clip(why, 50), fontsize=7, color=BAD, va="center", fontweight="bold")
            continue
        start = 0.0
        for row in own:
            number = names.index(row.segment)
            thin = row.ms < longest * 0.01
            axes.barh(
                i, row.ms, 0.42, start, color=style.LIGHT[style.colour(number)], edgecolor="white",
                linewidth=0 if thin else 0.4, clip_on=False,  # a clip path's id is another one each time
                hatch="" if thin else style.HATCHES[style.mark(number)],
            )  # fmt: skip
            start += row.ms
        mark = "" if own[0].status == "ok" else f" ({own[0].status})"
        axes.text(start + longest * 0.015, i, f"{short(total)} ms{mark}", fontsize=7, va="center")


def _weights(frame: pandas.DataFrame) -> Iterator[Callable]:
    """A bar a data set and source, then pages of bars a graph and source."""
    names = list(dict.fromkeys(frame.phase))
    for level, own in frame.groupby("level", sort=False):
        bars = list(own.groupby(["name", "source"], sort=False))
        for chunk in chunks(bars, LINES):

            def draw(sheet, chunk=chunk, level=level):
                labels = [f"{name}, {source}" for (name, source), _ in chunk]
                left = max(inches(label, 7.5) for label in labels) + 0.25
                sheet.begin(left + 5.6, 0.24 * len(chunk) + 0.6, names, hatched=True)
                axes = sheet.axes(left, 0.05, 5.0, 0.24 * len(chunk))
                for i, (_, part) in enumerate(chunk):
                    start = 0.0
                    for row in part.itertuples():
                        number = names.index(row.phase)
                        axes.barh(
                            i, row.share, 0.72, start, color=style.LIGHT[style.colour(number)], edgecolor="white",
                            linewidth=0.4 if row.share > 0.005 else 0, clip_on=False,
                            hatch=style.HATCHES[style.mark(number)] if row.share > 0.01 else "",
                        )  # fmt: skip
                        start += row.share
                axes.set(xlim=(0, 1), ylim=(len(chunk) - 0.5, -0.5))
                axes.set_yticks(range(len(chunk)), labels=labels, fontsize=7.5)
                axes.set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25 %", "50 %", "75 %", "100 %"])
                axes.grid(axis="y", visible=False)
                axes.set_xlabel(f"share of the labeling, a bar a {level}")

            yield draw


def _phase_table(frame: pandas.DataFrame) -> Iterator[Callable]:
    for rows in chunks(list(range(len(frame))), LINES):

        def draw(sheet, own=frame.iloc[rows]):
            parts = [name for name in own.columns if name not in figures.HEAD and own[name].notna().any()]
            lines = [
                (f"{graph_label(shown)}: {shown.config}", [_phase_cell(row, part, parts) for part in parts])
                for shown, (_, row) in zip(own.itertuples(), own.iterrows(), strict=True)
            ]
            _map(sheet, lines, parts, ["white", "#9cc3e6"], (0.0, 1.0))

        if frame.iloc[rows].total.notna().any():
            yield draw


def _phase_cell(row, part: str, parts: list[str]) -> tuple[float, str]:
    """Share of the trial and text."""
    if row.status not in SOUND:
        return 0.0, row.status.upper() if part == parts[0] else ""
    value = row[part] / row["total"] if part not in ("total", "ready") and row["total"] else math.nan
    return 0.0 if math.isnan(value) else value, short(row[part])


def _speedup(frame: pandas.DataFrame) -> Iterator[Callable]:
    configs = list(dict.fromkeys(frame.config))
    lines = []
    for (generated, queries), group in sorted(
        frame.groupby(["generated", "queries"], sort=False), key=lambda each: each[0]
    ):
        for _, part in group.groupby("dataset", sort=False):
            own = {row.config: row for row in part.itertuples()}
            cells = [_ratio(own.get(config)) for config in configs]
            lines.append((graph_label(next(part.itertuples())), cells))
        means = {mean.config: mean for mean in figures.mean_speedups(group)}
        words = ("geometric mean", queries, "generated" if generated else "")
        lines.append((", ".join(filter(None, words)), [_mean(means.get(config)) for config in configs]))
    for chunk in chunks(lines, LINES):

        def draw(sheet, chunk=chunk):
            _map(sheet, chunk, configs, [style.SLOWER, "white", style.FASTER], (-1.6, 1.6))

        yield draw


def _ratio(row) -> tuple[float, str]:
    """Depth of the colour, below zero for slower, and text."""
    if row is None:
        return 0.0, ""
    if not row.speedup > 0:
        return 0.0, "–" if row.status in SOUND else row.status.upper()
    return math.copysign(style.depth(row.speedup), row.speedup - 1.0), style.times(row.speedup)


def _mean(mean: figures.MeanSpeedup | None) -> tuple[float, str]:
    if mean is None:
        return 0.0, "–"
    text = f"{style.times(mean.speedup)}\n{figures.over(mean)}"
    return math.copysign(style.depth(mean.speedup), mean.speedup - 1.0), text


def _map(
    sheet: Sheet, lines: list[tuple[str, list[tuple[float, str]]]], columns: list[str], colours: list[str],
    bounds: tuple[float, float],
) -> None:  # fmt: skip
    """A coloured grid with a text in each cell; `lines`: name, then depth and text of each column. Colours stay light
    enough for dark text."""
    from matplotlib.colors import LinearSegmentedColormap

    names = [style.clip(name, 60) for name, _ in lines]
    wrapped = ["\n".join(textwrap.wrap(column, 13, break_long_words=False)) for column in columns]
    left = max(inches(name, 7.5) for name in names) + 0.2
    above = 0.125 * max(label.count("\n") + 1 for label in wrapped) + 0.15
    wide, tall = CELL[0] * len(columns), CELL[1] * len(lines)
    sheet.begin(max(6.5, left + wide + 0.3), above + tall + 0.05)
    axes = sheet.axes(left, above, wide, tall)
    shades = LinearSegmentedColormap.from_list("shades", colours)
    depths = [[depth for depth, _ in cells] for _, cells in lines]
    axes.pcolormesh(depths, cmap=shades, vmin=bounds[0], vmax=bounds[1], edgecolors="white", linewidth=0.6)
    for y, (_, cells) in enumerate(lines):
        for x, (_, text) in enumerate(cells):
            bad = text.isupper()
            axes.text(
                x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=6 if "\n" in text else 6.5 if bad else 7,
                color=BAD if bad else INK, fontweight="bold" if bad else "normal",
            )  # fmt: skip
    axes.set_xticks([x + 0.5 for x in range(len(columns))], labels=wrapped, fontsize=6.5)
    axes.set_yticks([y + 0.5 for y in range(len(lines))], labels=names, fontsize=7.5)
    axes.set_ylim(len(lines), 0)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)


_PAGES: dict[str, Callable] = {
    "printed": _printed,
    "phases": _phases,
    "weights": _weights,
    "phase-table": _phase_table,
    "edges": _edges,
    "speedup": _speedup,
    "counters": _counters,
}
