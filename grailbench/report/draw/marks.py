"""Draws panels of marks on axes: `report.figure.Marks`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from grailbench.report.draw import style
from grailbench.report.draw.sheet import SMALL, WIDTH, Block, Sheet, Shown, inches, rows
from grailbench.report.figure import Axis, Mark, Marks, Panel
from grailbench.util.words import clip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLOT = 1.9, 2.6  # height in inches of a panel with two numeric axes: side by side with others, or alone


def blocks(form: Marks) -> list[Block]:
    """A block per row of panels."""
    across, named = min(form.across, len(form.panels)), form.y.scale == "names"
    found = []
    for row in rows(form.panels, max(across, 1)):
        over = max(0.24, max(inches(name) for panel in row for _, name in (*panel.above, (0, ""))) * 0.65 + 0.34)
        over = over if any(panel.above for panel in row) else 0.24 if any(panel.title for panel in row) else 0.1
        height = max(_tall(panel) for panel in row) if named else _PLOT[across == 1]
        below = 0.42 if form.x.label or any(panel.x for panel in row) else 0.27

        def draw(sheet: Sheet, top: float, row=row, over=over):
            for i, panel in enumerate(row):
                left = _gutter(panel) if named else 0.5
                wide = WIDTH / across
                tall = _tall(panel) if named else _PLOT[across == 1]
                box = wide - left - _margin(panel), tall
                _panel(sheet, sheet.axes(i * wide + left, top + over, *box), form, panel, *box)

        found.append(Block(over + height + below, draw))
    return found


def _names(panel: Panel) -> list[str]:
    """The names on the axis of names, in order."""
    return list(dict.fromkeys(str(mark.y) for mark in panel.items))


def _tall(panel: Panel) -> float:
    """Height in inches of a panel with names; lines are higher if the panel has more series."""
    several = len({mark.series for mark in panel.items})
    return len(_names(panel)) * min(0.45, max(0.19, 0.06 * several + 0.06))


def _gutter(panel: Panel) -> float:
    """Width in inches of the names on the left of a panel."""
    return max(inches(clip(name, 26)) for name in _names(panel)) + 0.12


def _margin(panel: Panel) -> float:
    """Width in inches of the margin on the right, which has room for the slanted name above the last graph."""
    _, name = max(panel.above, default=(0, ""))
    return max(0.16, inches(name) * 0.77 - 0.1)


def _panel(sheet: Sheet, axes: Axes, form: Marks, panel: Panel, wide: float, tall: float) -> None:
    """Draw one panel in axes of this size in inches."""
    from matplotlib.ticker import NullLocator

    series = [name for name in form.names if any(mark.series == name for mark in panel.items)]
    ranged = [mark for each in form.panels if each is panel or (each.shared and each.shared == panel.shared)
              for mark in each.items if not mark.word]  # fmt: skip
    named = form.y.scale == "names"
    xs = [mark.x for mark in ranged]
    ys = [] if named else [mark.y for mark in ranged]
    (xs if named else ys).extend(bound for mark in ranged for bound in (mark.low, mark.high) if bound is not None)
    if form.square:
        xs = ys = [*xs, *ys]
    across = _scale(axes, "x", replace(form.x, label=panel.x or form.x.label), xs)
    up = None
    if named:
        _lines_of_names(axes, panel)
    else:
        up = _scale(axes, "y", replace(form.y, label=panel.y or form.y.label), ys)
    if form.guided is None or panel.title in form.guided:
        _guides(axes, panel.guides or form.guides, across or 0.0, up or 0.0)
    _steps(axes, [(_put(x, across), _put(y, up)) for x, y in panel.steps])
    for name in series:
        own = [mark._replace(x=_put(mark.x, across), y=_put(mark.y, up), low=_put(mark.low, across if named else up),
                             high=_put(mark.high, across if named else up))
               for mark in panel.items if mark.series == name and not mark.word]  # fmt: skip
        _series(sheet, axes, form, own, form.names.index(name), _places(panel, own, series))
    _graphs(axes, panel, wide)
    for line, place in ((axes.xaxis, (0.5, -0.22 / tall)), (axes.yaxis, (-0.38 / wide, 0.5))):
        line.set_major_locator(NullLocator())
        line.set_minor_locator(NullLocator())
        line.set_label_coords(*place)
    left = _gutter(panel) - 0.05 if named else 0.0  # the title begins above the names
    axes.set_title(clip(panel.title, int((wide + left) * 13)), x=-left / wide, pad=_pad(panel))


def _pad(panel: Panel) -> float:
    """Points between a panel and its title, which has the names of graphs below it."""
    return 4 + (max(inches(name) for _, name in panel.above) * 0.65 * 72 + 5 if panel.above else 0)


def _places(panel: Panel, own: list[Mark], series: list[str]) -> list[float]:
    """The places of the marks of a series on the y axis; on an axis of names each series has a place of its own around
    that of the name."""
    if not own or not isinstance(own[0].y, str):
        return [mark.y for mark in own]
    names, at = _names(panel), series.index(own[0].series)
    return [names.index(str(mark.y)) + 0.76 * (at + 0.5 - len(series) / 2) / len(series) for mark in own]


def _put(value, zero: float | None):
    """A value, or the place of 0 on its axis."""
    return zero if zero is not None and value is not None and value == 0 else value


def _scale(axes: Axes, side: str, axis: Axis, values: list[float]) -> float | None:
    """Set range, ticks and label of an axis of numbers. Returns the place of 0 on a log axis that has one."""
    from matplotlib.ticker import MaxNLocator

    values, zero = [float(value) for value in values], None
    if axis.scale == "linear":
        low, high = 0.0, max(values) * 1.06
        ticks = [tick for tick in MaxNLocator(6).tick_values(low, high) if tick <= high]
    else:
        zeros, values = min(values) <= 0, [value for value in values if value > 0] or [1.0]
        low, high = style.log_range(values)
        ticks = sorted(set(values)) if axis.scale == "log2" else style.log_ticks(low, high, most=5)
        getattr(axes, f"set_{side}scale")("log")
        if axis.zero and zeros:
            zero, low = low / (high / low) ** 0.1, low / (high / low) ** 0.16
    getattr(axes, f"set_{side}lim")(low, high)
    getattr(axes, f"{side}axis").set_label_text(axis.label)
    named = {**({} if zero is None else {zero: "0"}), **{tick: style.tick_label(tick) for tick in ticks}}
    draw_ticks(axes, side, named, list(named.values()))
    return zero


def draw_ticks(axes: Axes, side: str, places: Iterable[float], labels: list[str]) -> None:
    """Draw grid lines and their labels. Matplotlib's own ticks would take ten times as long."""
    from matplotlib.collections import LineCollection

    across = side == "x"
    transform = axes.get_xaxis_transform() if across else axes.get_yaxis_transform()
    ends = [((place, 0), (place, 1)) if across else ((0, place), (1, place)) for place in places]
    lines = LineCollection(ends, colors=style.LINE, linewidths=0.6, transform=transform, zorder=0.5, clip_on=False)
    axes.add_collection(lines, autolim=False)
    for place, label in zip(places, labels, strict=True):
        axes.annotate(
            label, (place, 0) if across else (0, place), (0, -4) if across else (-4, 0), xycoords=transform,
            textcoords="offset points", ha="center" if across else "right", va="top" if across else "center_baseline",
            fontsize=SMALL, color=style.SOFT, annotation_clip=False,
        )  # fmt: skip


def _lines_of_names(axes: Axes, panel: Panel) -> None:
    """Draw a line per name with the words of its cells that have no mark."""
    names = _names(panel)
    axes.set_ylim(len(names) - 0.5, -0.5)
    draw_ticks(axes, "y", range(len(names)), [clip(name, 26) for name in names])
    for line, name in enumerate(names):
        words: dict[str, list[str]] = {}
        for mark in panel.items:
            if mark.word and str(mark.y) == name:
                words.setdefault(mark.word, []).append(mark.series)
        text = "; ".join(f"{word} {', '.join(series)}" for word, series in words.items())
        if text:
            axes.text(
                1.0, line, clip(text, 40), transform=axes.get_yaxis_transform(), ha="right", va="center",
                fontsize=SMALL, color=style.BAD, fontweight="bold", bbox=style.PATCH, zorder=4,
            )  # fmt: skip


def _series(sheet: Sheet, axes: Axes, form: Marks, own: list[Mark], series: int, ys: list[float]) -> None:
    """Draw the marks of a series and their intervals."""
    from matplotlib.collections import LineCollection

    colour, shape = style.LIGHT[style.colour(series)], style.MARKS[style.mark(series)]
    named = form.y.scale == "names"
    bounded = [(mark, y) for mark, y in zip(own, ys, strict=True) if mark.low is not None and mark.high is not None]
    if form.lines:
        order = sorted(own, key=lambda mark: mark.x)
        (line,) = axes.plot([m.x for m in order], [m.y for m in order], color=colour, linewidth=1, clip_on=False)
        sheet.stand_for(line, Shown(series))
        band = [mark for mark in order if mark.low is not None]
        if len(band) > 1:
            area = axes.fill_between([m.x for m in band], [m.low for m in band], [m.high for m in band], color=colour,
                                     alpha=0.2, linewidth=0, clip_on=False)  # fmt: skip
            sheet.stand_for(area, Shown(series))
    if bounded:
        ends = [((m.low, y), (m.high, y)) if named else ((m.x, m.low), (m.x, m.high)) for m, y in bounded]
        bars = LineCollection(ends, colors=colour, linewidths=0.9, clip_on=False, zorder=2)
        axes.add_collection(bars, autolim=False)
        sheet.stand_for(bars, Shown(series))
    for filled in (True, False):
        some = [(mark, y) for mark, y in zip(own, ys, strict=True) if mark.open != filled]
        if some:
            found = axes.scatter(
                [mark.x for mark, _ in some], [y for _, y in some], s=26 if shape in "PX*" else 18, marker=shape,
                facecolor=colour if filled else style.PAPER, edgecolor=style.PAPER if filled else colour,
                linewidth=0.4 if filled else 0.9, clip_on=False, zorder=3,
            )  # fmt: skip
            links = tuple(mark.link for mark, _ in some)
            sheet.stand_for(found, Shown(series, tuple(mark.hint for mark, _ in some), links=links))


def _steps(axes: Axes, points: list[tuple[float, float]]) -> None:
    """Draw a staircase from point to point and on to the borders: what is above it is dominated."""
    if not points:
        return
    points = sorted(set(points))
    (_, right), (_, top) = axes.get_xlim(), axes.get_ylim()
    xs, ys = zip((points[0][0], top), *points, (right, points[-1][1]), strict=True)
    axes.plot(xs, ys, color=style.EDGE, linewidth=0.9, drawstyle="steps-post", zorder=1.2)


def _guides(axes: Axes, guides: Iterable[tuple[float, str]], left: float = 0.0, bottom: float = 0.0) -> None:
    """Draw lines y = factor * x with labels at their ends; a line that only cuts a corner of the panel is left out.
    Left of and below the places of 0 there are none."""
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    x0, y0 = (x0 if not left else left * (x1 / left) ** 0.1), (y0 if not bottom else bottom * (y1 / bottom) ** 0.1)
    for factor, label in guides:
        low, high = max(x0, y0 / factor), min(x1, y1 / factor)
        if low >= high or math.log(high / low) < 0.25 * math.log(x1 / x0):
            continue
        strong = label == "equal"
        axes.plot([low, high], [low * factor, high * factor], color=style.SOFT if strong else style.GUIDE,
                  linewidth=0.8, linestyle="-" if strong else (0, (4, 4)), zorder=1)  # fmt: skip
        axes.annotate(label, (high, high * factor), (-3, -7), textcoords="offset points", ha="right", va="center",
                      fontsize=SMALL, color=style.SOFT, bbox=style.PATCH, zorder=1.5)  # fmt: skip


def _graphs(axes: Axes, panel: Panel, wide: float) -> None:
    """Draw names of graphs above the panel, of those that have room."""
    if not panel.above:
        return
    scale = math.log if axes.get_xscale() == "log" else float
    low, high = map(scale, axes.get_xlim())
    last = -1.0
    for x, name in sorted(panel.above):
        place = (scale(x) - low) / (high - low)
        if (place - last) * wide > 0.14:
            axes.text(
                place, 1.02, name, transform=axes.transAxes, rotation=40, fontsize=SMALL, color=style.SOFT, ha="left",
                va="bottom", rotation_mode="anchor",
            )  # fmt: skip
            last = place
