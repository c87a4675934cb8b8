"""What drawings with matplotlib share: a sheet with title, legend and small print, panels on it, log axes, marks.

The same data give the same SVG, byte for byte, with the same matplotlib: no dates, and fixed ids.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from grailbench.report import figures
from grailbench.report import figures_style as style
from grailbench.report.figures import Figure
from grailbench.report.papers import computation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing
    from pandas import DataFrame

COLUMNS, PANELS, LINES = 3, 12, 48  #: panels side by side, panels a page, lines a page
DPI = 150
INK, SOFT, LINE, BAD = "#1a1f24", "#56606b", "#dfe3e8", "#b3261e"
RC = {
    "font.size": 9, "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#8a949f", "axes.grid": True,
    "axes.axisbelow": True, "axes.labelcolor": INK, "grid.color": LINE, "grid.linewidth": 0.7, "text.color": INK,
    "xtick.color": SOFT, "ytick.color": SOFT, "hatch.linewidth": 0.5, "legend.frameon": False, "legend.fontsize": 8,
    "figure.facecolor": "white", "font.family": "DejaVu Sans", "svg.hashsalt": "grailbench", "svg.fonttype": "path",
}  # fmt: skip


def rendered(drawing: Drawing, kind: str, figure: Figure) -> bytes:
    """A drawing as the bytes of an SVG or PNG file, without dates."""
    about = {"svg": {"Title": figure.title, "Description": figure.caption, "Date": None, "Creator": "grailbench"},
             "png": {"Title": figure.title, "Description": figure.caption, "Software": "grailbench"}}  # fmt: skip
    buffer = io.BytesIO()
    with styled():
        drawing.savefig(buffer, format=kind, dpi=DPI, metadata=about[kind])
    return buffer.getvalue()


class Sheet:
    """One drawing: a title and a legend above a body, a few lines of small print below it.

    Everything is placed in inches. Matplotlib's own layout solver gives other last bits each time, and with them
    other SVG files.
    """

    def __init__(self, figure: Figure, source: str):
        self.figure, self.source = figure, source
        self.drawing: Drawing = None

    def begin(
        self,
        width: float,
        height: float,
        names: Iterable[str] = (),
        hatched: bool = False,
        frame: DataFrame | None = None,
    ) -> None:
        """Make the drawing with a body of this size. `names`: the series of the legend; `frame`: what of the figure's
        the page shows, and whose lost cells it names, where that is not all of it."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as New

        figure, names = self.figure, list(names)
        heading = textwrap.wrap(f"{figure.title}. {figure.note}" if figure.note else figure.title, int(width * 9.5))
        small = [figure.caption, _absent(figure if frame is None else replace(figure, frame=frame)), self.source]
        foot = [line for text in small for line in textwrap.wrap(text, int(width * 16))]
        columns = max(1, min(len(names), int(width / (max((inches(name, 8) for name in names), default=0) + 0.55))))
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
                handles=legend_handles(names, hatched), loc="upper left", ncols=columns, borderaxespad=0, borderpad=0,
                bbox_to_anchor=(left, 1 - title / self.height), handlelength=1.6,
            )  # fmt: skip

    def axes(self, left: float, top: float, width: float, height: float) -> Axes:
        """Axes in the body, in inches from its upper left corner."""
        bottom = self.height - self.top - top - height
        box = [left / self.width, bottom / self.height, width / self.width, height / self.height]
        return self.drawing.add_axes(box)


def _absent(figure: Figure) -> str:
    if figure.name in ("counters", "phase-table", "speedup"):
        return ""
    if {"series", "status"} <= set(figure.frame):
        found = computation.lost(figure.frame)
        return f"Lost: {style.clip(found, 900)}." if found else ""
    if not set(figures.HEAD) <= set(figure.frame):
        return ""
    found = figures.absent(figure.frame)
    more = f"; and {len(found) - 4} more" if len(found) > 4 else ""
    return f"No sound time: {'; '.join(map(str, found[:4]))}{more}." if found else ""


@contextmanager
def styled() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **RC, "backend": "agg"}):
        yield


def inches(text: str, size: float) -> float:
    """Width of a line of text of this size in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    return TextPath((0, 0), text or " ", size=size, prop=FontProperties(family="DejaVu Sans")).get_extents().width / 72


def lay_panels(
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


def even(count: int, height: float) -> list[float]:
    return [height] * math.ceil(count / COLUMNS)


def chunks(items: list, size: int) -> list[list]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def log_axes(axes: Axes, xs: list[float], ys: list[float] | None) -> None:
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


def put_mark(axes: Axes, x: float, y: float, series: int, filled: bool) -> None:
    colour = style.LIGHT[style.colour(series)]
    axes.plot(
        [x], [y], linestyle="none", marker=(shape := style.MARKS[style.mark(series)]),
        markersize=7.5 if shape in "PX*" else 6, color=colour,
        markerfacecolor=colour if filled else "white", markeredgecolor="white" if filled else colour,
        markeredgewidth=0.5 if filled else 1.2, clip_on=False, zorder=3,
    )  # fmt: skip


def legend_handles(names: list[str], hatched: bool) -> list:
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
