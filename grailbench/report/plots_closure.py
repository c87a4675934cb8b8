"""The closure report's figures with matplotlib: a panel a kind of graph, a line an implementation, its range shaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from grailbench.report import figures_style as style
from grailbench.report.figures import Figure
from grailbench.report.papers import closures as closure
from grailbench.report.sheet import Sheet, even, lay_panels, log_axes

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_COPIES = {"host_to_device": "host to device", "device_to_host": "device to host"}


def _by_graph(figure: Figure) -> Iterator[Callable]:
    frame = figure.frame
    panels = list(dict.fromkeys(closure.panel_name(row) for row in frame.itertuples()))
    panels = [(name, frame[[closure.panel_name(row) == name for row in frame.itertuples()]]) for name in panels]
    yield _draw(frame, panels, figure.name == "closure-kernels")


def _copies(figure: Figure) -> Iterator[Callable]:
    frame = figure.frame
    yield _draw(frame, [(word, frame[frame.phase == phase]) for phase, word in _COPIES.items()], False)


def _draw(frame: pandas.DataFrame, panels: list[tuple[str, pandas.DataFrame]], both_log: bool) -> Callable:
    names = closure.order(frame.impl)

    def draw(sheet: Sheet):
        labels = [closure.series_name(name) for name in names]
        drawn = lay_panels(sheet, len(panels), 4.2, even(len(panels), 3.6), labels, (0.65, 0.2, 0.35, 0.5))
        for axes, (title, part) in zip(drawn, panels, strict=True):
            _lines(axes, part, names, both_log)
            axes.set(xlabel="vertices", ylabel="ms")
            axes.set_title(title)

    return draw


def _lines(axes: Axes, part: pandas.DataFrame, names: list[str], both_log: bool) -> None:
    from matplotlib.ticker import NullLocator

    shown = part[part["mean"] > 0]
    if shown.empty:
        axes.text(0.5, 0.5, "nothing measured", ha="center", va="center", transform=axes.transAxes)
        return
    values = [*shown["mean"], *shown.least[shown.least > 0], *shown.most]
    if both_log:
        log_axes(axes, [float(x) for x in shown.vertices], values)
    else:
        low, high = style.log_range(values)
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        ticks = style.log_ticks(low, high, most=6)
        axes.yaxis.set_ticks(ticks, labels=[style.tick_label(tick) for tick in ticks])
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_xlim(0, 1.05 * float(shown.vertices.max()))
    for impl, own in shown.groupby("impl", sort=False):
        series = names.index(impl)
        own = own.sort_values("vertices")
        colour, xs = style.LIGHT[style.colour(series)], own.vertices.astype(float)
        if len(own) > 1:
            axes.fill_between(xs, own.least.clip(lower=1e-6), own.most, color=colour, alpha=0.18, linewidth=0)
        axes.plot(
            xs, own["mean"], color=colour, linewidth=1.1, marker=style.MARKS[style.mark(series)], markersize=4,
            markeredgecolor="white", markeredgewidth=0.4, clip_on=False,
        )  # fmt: skip


#: name of a figure to what draws its pages
PAGES = dict.fromkeys(("closure-5", "closure-7", "closure-8", "closure-kernels"), _by_graph) | {"closure-6": _copies}
