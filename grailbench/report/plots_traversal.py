"""The figures of `report.traversal` with matplotlib: a mark a graph and implementation; coarsening, a line a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from grailbench.report import figures_style as style
from grailbench.report.figures import Figure
from grailbench.report.papers.traversals import ORDER
from grailbench.report.sheet import Sheet, put_mark

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_HEIGHT, _COLUMN, _LEFT, _BELOW = 3.4, 1.35, 0.75, 0.75
_MILLION = 1e6


def _order(names) -> list[str]:
    return sorted(set(names), key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def _by_graph(figure: Figure) -> Iterator[Callable]:
    frame = figure.frame
    if figure.name == "traversal-teps":
        frame = frame.assign(ms=frame.rate / _MILLION, least=None, most=None)
        frame["dataset"] = frame.problem + " " + frame.dataset
    yield _draw(frame, "million edges a second" if figure.name == "traversal-teps" else "ms")


def _draw(frame: pandas.DataFrame, unit: str) -> Callable:
    names, graphs = _order(frame.impl), list(dict.fromkeys(frame.dataset))

    def draw(sheet: Sheet):
        width = max(6.0, _LEFT + _COLUMN * len(graphs) + 0.2)
        sheet.begin(width, _HEIGHT + _BELOW, names)
        axes = sheet.axes(_LEFT, 0.1, width - _LEFT - 0.2, _HEIGHT)
        _log(axes, [*frame.ms, *frame.least.dropna(), *frame.most.dropna()])
        axes.set_ylabel(unit)
        axes.set_xlim(-0.5, len(graphs) - 0.5)
        axes.set_xticks(range(len(graphs)), labels=[name.replace(" ", "\n") for name in graphs], rotation=15)
        for row in frame.itertuples():
            series = names.index(row.impl)
            x = graphs.index(row.dataset) + (series - (len(names) - 1) / 2) * 0.7 / max(len(names) - 1, 1)
            if row.least and row.least == row.least:
                colour = style.LIGHT[style.colour(series)]
                axes.plot([x, x], [row.least, row.most], color=colour, linewidth=1.0, zorder=2)
            put_mark(axes, x, row.ms, series, filled=True)

    return draw


def _coarsening(figure: Figure) -> Iterator[Callable]:
    frame = figure.frame
    graphs = list(dict.fromkeys(frame.dataset))

    def draw(sheet: Sheet):
        sheet.begin(6.4, _HEIGHT + 0.5, graphs)
        axes = sheet.axes(_LEFT, 0.1, 6.4 - _LEFT - 0.2, _HEIGHT)
        for series, name in enumerate(graphs):
            own = frame[frame.dataset == name].sort_values("factor")
            axes.plot(
                own.factor, own.relative, color=style.LIGHT[style.colour(series)], linewidth=1.2,
                marker=style.MARKS[style.mark(series)], markersize=5,
            )  # fmt: skip
        factors = sorted(set(frame.factor))
        axes.set_xscale("log", base=2)
        axes.set_xticks(factors, labels=[str(factor) for factor in factors])
        axes.set(xlabel="vertices a thread", ylabel="time over that of one vertex a thread")
        axes.set_ylim(bottom=0)

    yield draw


def _log(axes: Axes, values: list[float]) -> None:
    from matplotlib.ticker import NullLocator

    low, high = style.log_range([value for value in values if value > 0])
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    ticks = style.log_ticks(low, high, most=6)
    axes.yaxis.set_ticks(ticks, labels=[style.tick_label(tick) for tick in ticks])
    axes.yaxis.set_minor_locator(NullLocator())


#: name of a figure to what draws its pages
PAGES = dict.fromkeys(("traversal-bfs", "traversal-sssp", "traversal-apsp", "traversal-teps"), _by_graph) | {
    "traversal-coarsening": _coarsening
}
