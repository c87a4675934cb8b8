"""The report's figures with matplotlib (the extra `plots`), as SVG and PNG, each with its data as CSV.

The same rows give the same SVG, byte for byte, with the same matplotlib: no dates, and fixed ids.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grailbench.errors import InputError, MachineLacks, NothingMeasured
from grailbench.graph.store import atomic_file
from grailbench.report import document, figures
from grailbench.report import figures_style as style
from grailbench.report.figures import Figure, graph_label, series_label, short

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

FORMATS = ("svg", "png", "both")
FOLDER = "figures"
COLUMNS, PANELS, LINES = 3, 12, 48  #: panels side by side, panels a page, lines a page
_CELL = (0.78, 0.27)  #: inches of a cell of a coloured grid
DPI = 150
INK, SOFT, LINE, BAD = "#1a1f24", "#56606b", "#dfe3e8", "#b3261e"
_RC = {
    "font.size": 9, "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#8a949f", "axes.grid": True,
    "axes.axisbelow": True, "axes.labelcolor": INK, "grid.color": LINE, "grid.linewidth": 0.7, "text.color": INK,
    "xtick.color": SOFT, "ytick.color": SOFT, "hatch.linewidth": 0.5, "legend.frameon": False, "legend.fontsize": 8,
    "figure.facecolor": "white", "font.family": "DejaVu Sans", "svg.hashsalt": "grailbench", "svg.fonttype": "path",
}  # fmt: skip


def write(
    run: str | None,
    names: Iterable[str] = (),
    out: str | Path | None = None,
    form: str = "both",
    reference: str | None = None,
    phase: str = "query",
) -> list[Path]:
    """Draw the figures of a run (None: the latest) into `out`, by default its folder `figures`; returns the paths.

    `names`: which of `figures.FIGURES`, all by default; a long figure has several pages, NAME-2 and so on. Files are
    written atomically. Raises MachineLacks without matplotlib, InputError for a name or reference that is none,
    NothingMeasured when the run has no sound time, or a figure that was asked for has no data.
    """
    _require()
    names = list(names)
    report, folder = document.of_run(run)
    document.check_measured(report)
    drawn = figures.of_report(report.cells, report.tables, reference, phase)
    for name in names:
        if name not in drawn:
            raise InputError(f"no figure {name!r}", remedy=f"choose among {', '.join(drawn)}")
        if not drawable(drawn[name]):
            raise NothingMeasured(f"{report.title}: it has nothing to show in figure {name!r}")
    place = Path(out) if out is not None else folder / FOLDER
    source = f"{report.title}. {report.machine}"
    written = []
    for name in names or drawn:
        if drawable(drawn[name]):
            for file, data in _files(drawn[name], source, form):
                written.append(_save(place / file, data))
    return written


def drawable(figure: Figure) -> bool:
    """True when a figure has a mark to draw."""
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


def rendered(drawing: Drawing, kind: str, figure: Figure) -> bytes:
    """A drawing as the bytes of an SVG or PNG file, without dates."""
    about = {"svg": {"Title": figure.title, "Description": figure.caption, "Date": None, "Creator": "grailbench"},
             "png": {"Title": figure.title, "Description": figure.caption, "Software": "grailbench"}}  # fmt: skip
    buffer = io.BytesIO()
    with _style():
        drawing.savefig(buffer, format=kind, dpi=DPI, metadata=about[kind])
    return buffer.getvalue()


def pages(figure: Figure, source: str) -> Iterator[Drawing]:
    """The drawings of a figure; `source` says at the foot where the numbers come from."""
    for draw in _PAGES[figure.name](figure.frame):
        with _style():
            sheet = Sheet(figure, source)
            draw(sheet)
        yield sheet.drawing


class Sheet:
    """One drawing: a title and a legend above a body, a few lines of small print below it.

    Everything is placed in inches. Matplotlib's own layout solver gives other last bits each time, and with them
    other SVG files.
    """

    def __init__(self, figure: Figure, source: str):
        self.figure, self.source = figure, source
        self.drawing: Drawing = None

    def begin(self, width: float, height: float, names: Iterable[str] = (), hatched: bool = False) -> None:
        """Make the drawing with a body of this size. `names`: the series of the legend."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as New

        figure, names = self.figure, list(names)
        heading = textwrap.wrap(f"{figure.title}. {figure.note}" if figure.note else figure.title, int(width * 9.5))
        small = [figure.caption, _absent(figure), self.source]
        foot = [line for text in small for line in textwrap.wrap(text, int(width * 16))]
        columns = max(1, min(len(names), int(width / (max((_inches(name, 8) for name in names), default=0) + 0.55))))
        title = 0.24 * len(heading) + 0.1
        self.top = title + (0.17 * math.ceil(len(names) / columns) + 0.15 if names else 0.0)
        self.width, self.height = width, self.top + height + 0.13 * len(foot) + 0.18
        self.drawing = New(figsize=(self.width, self.height))
        FigureCanvasAgg(self.drawing)
        left = 0.1 / width
        self.drawing.text(left, 1 - 0.08 / self.height, "\n".join(heading), va="top", fontsize=12, fontweight="bold")
        self.drawing.text(
            left, 0.08 / self.height, "\n".join(foot), va="bottom", fontsize=7, color=SOFT, linespacing=1.25
        )
        if names:
            self.drawing.legend(
                handles=_handles(names, hatched), loc="upper left", ncols=columns, borderaxespad=0, borderpad=0,
                bbox_to_anchor=(left, 1 - title / self.height), handlelength=1.6,
            )  # fmt: skip

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes in the body, in inches from its upper left corner."""
        bottom = self.height - self.top - top - height
        box = [left / self.width, bottom / self.height, width / self.width, height / self.height]
        return self.drawing.add_axes(box)


def _absent(figure: Figure) -> str:
    if "reason" not in figure.frame or figure.name in ("counters", "phase-table", "speedup"):
        return ""
    found = figures.absent(figure.frame)
    more = f"; and {len(found) - 4} more" if len(found) > 4 else ""
    return f"No sound time: {'; '.join(map(str, found[:4]))}{more}." if found else ""


def _require() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MachineLacks(
            "figures as files need matplotlib, the extra 'plots': pip install 'grailbench[plots]' "
            "(in a checkout: pip install -e '.[plots]'); 'grailbench report --html' draws without it"
        ) from None


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_RC, "backend": "agg"}):
        yield


def _inches(text: str, size: float) -> float:
    """Width of a line of text of this size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    return TextPath((0, 0), text or " ", size=size, prop=FontProperties(family="DejaVu Sans")).get_extents().width / 72


def _panels(
    sheet: Sheet,
    count: int,
    width: float,
    heights: list[float],
    names: list[str],
    margins: tuple[float, float, float, float] = (0.65, 0.15, 0.32, 0.5),
    hatched: bool = False,
) -> list[Axes]:
    """`count` panels, at most `COLUMNS` side by side, `width` inches each, with the heights of their rows in inches;
    `margins` left, right, above and below are part of both."""
    columns = min(COLUMNS, count)
    left, right, above, below = margins
    sheet.begin(max(6.0, width * columns), sum(heights), names, hatched)
    found = []
    for i in range(count):
        row, column = divmod(i, columns)
        x, y = column * width + left, sum(heights[:row]) + above
        found.append(sheet.axes(x, y, width - left - right, heights[row] - above - below))
    return found


def _even(count: int, height: float) -> list[float]:
    return [height] * math.ceil(count / COLUMNS)


def _chunks(items: list, size: int) -> list[list]:
    return [items[i : i + size] for i in range(0, len(items), size)]


# ------------------------------------------------------------------ scatter figures


def _log_axes(axes: Axes, xs: list[float], ys: list[float] | None) -> None:
    """Log axes with the ticks of the HTML report."""
    from matplotlib.ticker import NullLocator

    sides = [(axes.xaxis, axes.set_xscale, axes.set_xlim, xs)]
    if ys is not None:
        sides.append((axes.yaxis, axes.set_yscale, axes.set_ylim, ys))
    for axis, scale, limit, values in sides:
        low, high = style.log_range(values)
        scale("log")
        limit(low, high)
        ticks = style.log_ticks(low, high, most=6)
        axis.set_ticks(ticks, labels=[style.tick_label(tick) for tick in ticks])
        axis.set_minor_locator(NullLocator())


def _mark(axes: Axes, x: float, y: float, series: int, filled: bool) -> None:
    colour = style.LIGHT[style.colour(series)]
    axes.plot(
        [x], [y], linestyle="none", marker=(shape := style.MARKS[style.mark(series)]),
        markersize=7.5 if shape in "PX*" else 6, color=colour,
        markerfacecolor=colour if filled else "white", markeredgecolor="white" if filled else colour,
        markeredgewidth=0.5 if filled else 1.2, clip_on=False, zorder=3,
    )  # fmt: skip


def _handles(names: list[str], hatched: bool) -> list:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = []
    for i, name in enumerate(names):
        colour = style.LIGHT[style.colour(i)]
        if hatched:
            handles.append(Patch(facecolor=colour, edgecolor="white", hatch=style.HATCHES[style.mark(i)], label=name))
        else:
            shape = style.MARKS[style.mark(i)]
            handles.append(Line2D([], [], linestyle="none", marker=shape, color=colour, label=name))
    return handles


def _printed(frame: pandas.DataFrame) -> Iterator[Callable]:
    def draw(sheet):
        shown = frame[frame.ratio.notna() & (frame.printed > 0)]
        tables = list(dict.fromkeys(shown.table))
        groups = list(shown.groupby("column", sort=False))
        panels = _panels(sheet, len(groups), 3.6, _even(len(groups), 3.1), [f"table {name}" for name in tables])
        for axes, (column, part) in zip(panels, groups, strict=True):
            both = [*part.printed, *part.measured]
            _log_axes(axes, both, both)
            _slopes(axes, ((10.0**k, "equal" if k == 0 else f"{10.0**k:g}×") for k in range(-6, 7)))
            for row in part.itertuples():
                _mark(axes, row.printed, row.measured, tables.index(row.table), not row.erratum)
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
        panels = _panels(sheet, len(groups), 4.4, _even(len(groups), 4.3), names, (0.65, 0.35, 0.85, 0.5))
        for axes, (phase, part) in zip(panels, groups, strict=True):
            _log_axes(axes, list(part.edges.astype(float)), list(part["median"]))
            if phase in ("label", "ready"):
                words = [*(f"{10**k} ns an edge" for k in range(3)), *(f"{10**k} µs an edge" for k in range(4))]
                _slopes(axes, ((10.0 ** (k - 6), word) for k, word in enumerate(words)))
            for row in part.itertuples():
                _mark(axes, float(row.edges), row.median, names.index(series_label(row)), not row.generated)
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
    left = max((_inches(style.clip(name, 20), 9) for name in graphs), default=0.0) + 0.2
    for chunk in _chunks(groups, PANELS):

        def draw(sheet, chunk=chunk):
            heights = _even(len(chunk), 0.8 + 0.2 * len(graphs))
            panels = _panels(sheet, len(chunk), 3.9, heights, names, (left, 0.25, 0.3, 0.35))
            for axes, (counter, part) in zip(panels, chunk, strict=True):
                _log_axes(axes, list(part["count"].astype(float)), None)
                own = [graph for graph in graphs if graph in set(part.dataset)]
                for row in part.itertuples():
                    where = own.index(row.dataset)
                    _mark(axes, float(row.count), where, names.index(series_label(row)), not row.generated)
                axes.set_yticks(range(len(own)), labels=[style.clip(name, 20) for name in own])
                axes.set_ylim(len(own) - 0.5, -0.5)
                axes.set_title(str(counter).replace("_", " "))

        yield draw


# ------------------------------------------------------------------ bars and maps


def _phases(frame: pandas.DataFrame) -> Iterator[Callable]:
    names = list(dict.fromkeys(frame.segment[frame.segment != ""]))
    groups = [part for _, part in frame.groupby(["dataset", "queries"], sort=False) if part.ms.notna().any()]
    for chunk in _chunks(groups, PANELS):

        def draw(sheet, chunk=chunk):
            most = [max(part.config.nunique() for part in row) for row in _chunks(chunk, COLUMNS)]
            heights = [0.45 + 0.33 * bars for bars in most]
            panels = _panels(sheet, len(chunk), 3.8, heights, names, (0.1, 0.05, 0.27, 0.1), hatched=True)
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
        few = " (incomplete)" if own[0].status == "incomplete" else ""
        axes.text(start + longest * 0.015, i, f"{short(total)} ms{few}", fontsize=7, va="center")


def _phase_table(frame: pandas.DataFrame) -> Iterator[Callable]:
    for rows in _chunks(list(range(len(frame))), LINES):

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
    if row.status not in figures.SOUND:
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
    for chunk in _chunks(lines, LINES):

        def draw(sheet, chunk=chunk):
            _map(sheet, chunk, configs, [style.SLOWER, "white", style.FASTER], (-1.6, 1.6))

        yield draw


def _ratio(row) -> tuple[float, str]:
    """Depth of the colour, below zero for slower, and text."""
    if row is None:
        return 0.0, ""
    if not row.speedup > 0:
        return 0.0, "–" if row.status in figures.SOUND else row.status.upper()
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
    left = max(_inches(name, 7.5) for name in names) + 0.2
    above = 0.125 * max(label.count("\n") + 1 for label in wrapped) + 0.15
    wide, tall = _CELL[0] * len(columns), _CELL[1] * len(lines)
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
    "phase-table": _phase_table,
    "edges": _edges,
    "speedup": _speedup,
    "counters": _counters,
}
